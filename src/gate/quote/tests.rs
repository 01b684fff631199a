//! Tables of quotes that stand and that do not, and properties of any text. The mutation matrix is in `mutate`.

mod mutate;

use proptest::prelude::*;
use rstest::rstest;

use super::border::cut;
use super::{Normalisation, QuoteFault, QuoteMatch, find};

const TEXT: &str = "# Keys\n\nThe service keeps a key for 45 days, then rotates it. It must not be shared.\n\n\
    - A token holds 1,500 bytes at -1.5 degrees; error E42 means that `max_chars` was returned.\n- Not supported.\n- Done.\n\n\
    Deprecated.\n\nIt can't be undone: non-negative values cost $5 or 5 % of 5–10 days.\n";

fn exact(quote: &str, text: &str) -> Result<QuoteMatch, QuoteFault> {
    find(quote, text, None, &[], &[])
}

#[rstest]
#[case("The service keeps a key for 45 days, then rotates it.")]
#[case("keeps a key for 45 days")]
#[case("keeps a key for 45 days,")]
#[case("  keeps a key for 45 days\n")]
#[case("A token holds 1,500 bytes at -1.5 degrees")]
#[case("error E42 means that `max_chars` was returned")]
#[case("rotates it. It must not be shared.\n\n- A token holds")]
#[case("non-negative values cost $5 or 5 % of 5–10 days")]
#[case("Not supported.")]
fn a_quote_that_stands(#[case] quote: &str) {
    let found = exact(quote, TEXT).unwrap();
    assert_eq!(&TEXT[found.range], quote.trim());
    assert_eq!(found.normalisations, []);
}

#[rstest]
// Words and identifiers.
#[case("return value of the call", "It is the return value of the callback.")]
#[case("The value was return", "The value was returned by it.")]
#[case("error E4 means a fault", "The error E4 means a fault2 here.")]
#[case("the limit is max", "Here the limit is max_chars of it.")]
#[case("chars is the upper limit", "Here max_chars is the upper limit.")]
#[case("vector is a good container", "A std::vector is a good container.")]
#[case("the program is in C", "Today the program is in C++ only.")]
#[case("the program is in C", "Today the program is in C# only.")]
#[case("the speed of HTTP", "It is about the speed of HTTP/2 only.")]
#[case("2 is faster than before", "HTTP/2 is faster than before.")]
#[case("gitignore is read by git", "The file .gitignore is read by git.")]
#[case("flag is read by the tool", "The --flag is read by the tool.")]
#[case("5 is a bug of the tool", "So #5 is a bug of the tool.")]
// Negation that is part of a word.
#[case("negative values are taken", "Here non-negative values are taken.")]
#[case("This is what you can", "This is what you can't do here.")]
#[case("This is what you can", "This is what you can’t do here.")]
#[case("t be used with the tool", "It can't be used with the tool.")]
// Numbers.
#[case("5 days after the purchase", "It ends 45 days after the purchase.")]
#[case("500 bytes of memory each", "It needs 1,500 bytes of memory each.")]
#[case("500 bytes of memory each", "It needs 1 500 bytes of memory each.")]
#[case("500 bytes of memory each", "It needs 1\u{202f}500 bytes of memory each.")]
#[case("it needs a memory of 1", "So it needs a memory of 1,500 bytes.")]
#[case("it needs a memory of 1,", "So it needs a memory of 1,500 bytes.")]
#[case("it needs a memory of 1", "So it needs a memory of 1 500 bytes.")]
#[case("the offset in metres is 1.5", "Now the offset in metres is 1.50 only.")]
#[case("1.5 is the offset in metres", "Now -1.5 is the offset in metres.")]
#[case("1.5 is the offset in metres", "Now −1.5 is the offset in metres.")]
#[case("1.5 is the offset in metres", "Now –1.5 is the offset in metres.")]
#[case("5 is the offset in metres", "Now .5 is the offset in metres.")]
#[case("5 is the offset in metres", "Now ±5 is the offset in metres.")]
#[case("5 is the offset in metres", "Now ± 5 is the offset in metres.")]
#[case("5 days is the longest time", "Now > 5 days is the longest time.")]
#[case("5 days is the longest time", "Now ≥5 days is the longest time.")]
#[case("10 days is the longest time", "Now 5-10 days is the longest time.")]
#[case("10 days is the longest time", "Now 5 – 10 days is the longest time.")]
#[case("the whole price of it is 5", "But the whole price of it is 5–10 pounds.")]
#[case("the whole price of it is 5", "But the whole price of it is 5 – 10 pounds.")]
#[case("5 is the price of a token", "Only $5 is the price of a token.")]
#[case("5 is the price of a token", "Only $ 5 is the price of a token.")]
#[case("5 is the price of a token", "Only EUR 5 is the price of a token.")]
#[case("the price of a token is 5", "But the price of a token is 5€.")]
#[case("the price of a token is 5", "But the price of a token is 5 € now.")]
#[case("the share of all users is 5", "Now the share of all users is 5% of it.")]
#[case("the share of all users is 5", "Now the share of all users is 5 % of it.")]
#[case("the share of all users is 5", "Now the share of all users is 5 percent.")]
#[case("the share of all users is 5", "Now the share of all users is 5\npercent.")]
#[case("% of all users have it", "Now 5% of all users have it.")]
#[case("the number of users is 5", "Now the number of users is 5 million.")]
#[case("million users have it now", "Now 5 million users have it now.")]
#[case("the time of the backup is 12", "Now the time of the backup is 12:30.")]
#[case("30 is the time of the backup", "Now 12:30 is the time of the backup.")]
#[case("the factor of the scale is 3", "Now the factor of the scale is 3 × 10^5.")]
#[case("the day of the release is 2024", "Now the day of the release is 2024-03-01.")]
// Words that say how a number is meant.
#[case("10 days are allowed in it", "Fewer than 10 days are allowed in it.")]
#[case("10 days are allowed in it", "At least 10 days are allowed in it.")]
#[case("10 days are allowed in it", "At least\n10 days are allowed in it.")]
#[case("the number of users is 5", "Now the number of users is 5 or more.")]
#[case("it needs the version 1.5", "So it needs the version 1.5 or newer.")]
#[case("the rate of requests is 5", "Now the rate of requests is 5 per second.")]
#[case("the day of the release is 3", "Now the day of the release is 3 March.")]
#[case("3 is the day of the release", "So March 3 is the day of the release.")]
#[case("10天以后会被删除的", "至少10天以后会被删除的。")]
#[case("需要更新的用户有5", "需要更新的用户有5以上。")]
// Characters.
#[case("the name of the place is cafe", "Now the name of the place is cafe\u{301}.")]
#[case("the family of them is 👨", "Now the family of them is 👨\u{200d}👩.")]
#[case("the flag of the land is 🇫", "Now the flag of the land is 🇫🇷.")]
#[case("the thumb of them is 👍", "Now the thumb of them is 👍🏽.")]
#[case("the name of it is inter", "Now the name of it is inter\u{ad}national.")]
// Scripts without spaces.
#[case("五天以后会被删除", "数据四十五天以后会被删除。")]
#[case("5天以后会被删除的", "数据45天以后会被删除的。")]
#[case("据库的名称是ragd", "数据库的名称是ragdb。")]
#[case("五的用户需要更新", "百分之五的用户需要更新。")]
#[case("需要更新的用户占5", "需要更新的用户占5个百分点。")]
#[case("需要更新的用户有5", "需要更新的用户有5万。")]
#[case("三月一日的版本发布", "二〇二四年三月一日的版本发布")]
#[case("3月1日的版本发布", "2024年3月1日的版本发布")]
#[case("支持分布式事务处理", "目前不支持分布式事务处理。")]
#[case("支持分布式事务处理", "目前没有支持分布式事务处理。")]
#[case("データベースは使用でき", "データベースは使用できません。")]
#[case("データベースに対応して", "データベースに対応していない。")]
#[case("目前系统已经支持", "目前系统已经支持不了。")]
#[case("모든 데이터베이스를 지원하지", "모든 데이터베이스를 지원하지 않는다.")]
#[case("クラスターの設定はサー", "クラスターの設定はサーバーです。")]
#[case("모든 데이터베이스 지원", "모든 데이터베이스 지원하지 않는다.")]
fn a_quote_that_cuts(#[case] quote: &str, #[case] text: &str) {
    assert!(text.contains(quote), "the case is wrong: {quote}");
    let fault = exact(quote, text).unwrap_err();
    assert!(matches!(&fault, QuoteFault::Altered(why) if why.contains("cuts")), "{fault:?}");
    for allowed in [&Normalisation::ALL[..], &[Normalisation::WhiteSpace]] {
        assert!(matches!(find(quote, text, None, &[], allowed), Err(QuoteFault::Altered(_))));
    }
}

#[rstest]
#[case("默认端口是8080", "服务的默认端口是8080的设置。")]
#[case("数据会在45天以后删除", "注意：数据会在45天以后删除。")]
#[case("使用 max_chars 参数", "可以使用 max_chars 参数。")]
#[case("데이터베이스를 지원하지 않는다", "모든 데이터베이스를 지원하지 않는다.")]
#[case("サーバーの設定を変更します", "次にサーバーの設定を変更します。")]
#[case("5 items were found by it", "- 5 items were found by it")]
#[case("5 items were found by it", "> 5 items were found by it")]
#[case("bold words of the text", "The **bold words of the text** stand.")]
#[case("the text ends with 45", "So the text ends with 45.")]
#[case("10 days are allowed in it", "Then 10 days are allowed in it.")]
#[case("5 may be the value of it", "Here 5 may be the value of it.")]
#[case("the number of users is 5", "Now the number of users is 5 or none.")]
#[case("words of a code span", "The `words of a code span` stand.")]
#[case("words of a quotation", "The \"words of a quotation\" and 'words of a quotation' stand.")]
#[case("an em dash parts words", "So it is—an em dash parts words—in prose.")]
fn a_quote_on_borders(#[case] quote: &str, #[case] text: &str) {
    assert_eq!(exact(quote, text).map(|it| &text[it.range]), Ok(quote));
}

#[rstest]
#[case("", QuoteFault::Empty)]
#[case(" \n\t ", QuoteFault::Empty)]
#[case("\u{200b}\u{3000}", QuoteFault::Empty)]
#[case("45 days", QuoteFault::TooShort)]
#[case("E42", QuoteFault::TooShort)]
#[case("max_chars", QuoteFault::TooShort)]
#[case("Keys", QuoteFault::TooShort)]
#[case("# Keys", QuoteFault::TooShort)]
#[case("a key", QuoteFault::TooShort)]
#[case("Done.", QuoteFault::TooShort)]
#[case("Deprecated.", QuoteFault::TooShort)]
#[case("not be", QuoteFault::TooShort)]
#[case("be undone", QuoteFault::TooShort)]
#[case("not there", QuoteFault::TooShort)]
fn a_quote_that_shows_nothing(#[case] quote: &str, #[case] fault: QuoteFault) {
    assert_eq!(exact(quote, TEXT), Err(fault));
}

#[rstest]
#[case("不支持。", "- 不支持事务。\n", false)]
#[case("不支持事务。", "- 不支持事务。\n- 其他\n", true)]
#[case("不支持事务。", "现在不支持事务。", false)]
#[case("Not supported.", "Not supported.", true)]
#[case("Not supported.", "1. Not supported.\n2. Other.", true)]
#[case("Not supported.", "Text.\n\nNot supported.\r\n\r\nText.", true)]
#[case("Not supported.", "It is a thing\nNot supported.\n", false)]
#[case("Not supported.", "Not supported.\nfor now", false)]
#[case("Not supported.", "# Not supported.\n\nText.", false)]
#[case("Not supported.", "| Not supported. |", false)]
#[case(
    "| Basic | 10 | $5 |",
    "| Plan | Users | Price |\n|---|---|---|\n| Basic | 10 | $5 |\n| Pro | 20 | $9 |\n",
    true
)]
#[case("| Basic | 10", "| Plan | Users |\n|---|---|\n| Basic | 10 |\n", false)]
#[case("| Plan A |", "| Plan A |\n|---|\n| 10 |\n", false)]
#[case("| Basic |", "| Plan |\n|---|\n| Basic |\n", false)]
#[case("retries: 5", "```yaml\nname: x\nretries: 5\nmore: 6\n```\n", true)]
#[case("retries: 5", "name: x\nretries: 5\n", true)]
#[case("retries: 5", "The number of\nretries: 5\nor more\n", false)]
#[case("retries: 5", "The number of\nretries: 5\n\nMore\n", false)]
#[case("retries:", "name: x\nretries:\nmore: 6\n", false)]
#[case("open(file);", "```c\nx();\nopen(file);\n```\n", false)]
#[case("let size = 5;", "```rust\nlet a = 1;\nlet size = 5;\n```\n", true)]
fn a_short_line_stands_where_it_stands_alone(#[case] quote: &str, #[case] text: &str, #[case] stands: bool) {
    assert_eq!(exact(quote, text).is_ok(), stands);
}

#[rstest]
#[case(
    "Never share a secret key",
    "**Never** share a `secret` key.",
    "it stands there without its Markdown marks; quote the marks too"
)]
#[case("Never share a secret word", "**Never** share a `secret` key.", "nothing like it stands in the cited text")]
fn a_quote_without_its_marks_is_named(#[case] quote: &str, #[case] text: &str, #[case] why: &str) {
    assert_eq!(exact(quote, text), Err(QuoteFault::Altered(why.to_owned())));
}

#[test]
fn a_quote_of_another_text() {
    let others = ["Something else of this run.", TEXT];
    let quote = "keeps a key for 45 days";
    assert_eq!(find(quote, others[0], None, &others, &[]), Err(QuoteFault::Misattributed(1)));
    // Held to the same borders there.
    assert!(matches!(find("keeps a key for 45 day", others[0], None, &others, &[]), Err(QuoteFault::Altered(_))));
    let spaced = find("keeps  a key for 45 days", others[0], None, &others, &[Normalisation::WhiteSpace]);
    assert_eq!(spaced, Err(QuoteFault::Misattributed(1)));
}

#[rstest]
#[case("keeps a key for 45 days … must not be shared", true)]
#[case("keeps a key for 45 days... It must not be shared", true)]
#[case("keeps a key for 45 days [...] be shared", true)]
#[case("The service keeps a key for 45 days…", true)]
#[case("The service keeps a key for 45 days It must not be shared.", true)]
#[case("It must not be shared. The service keeps a key for 45 days", true)]
#[case("The service keeps a key for 45, then rotates it.", false)]
#[case("It must be shared, the service keeps a key … for 46 days", false)]
#[case("The service keeps a key for 45 hours, then rotates it.", false)]
fn a_quote_of_pieces(#[case] quote: &str, #[case] stitched: bool) {
    let fault = exact(quote, TEXT).unwrap_err();
    assert_eq!(matches!(fault, QuoteFault::Stitched(_)), stitched, "{fault:?}");
    assert!(stitched || matches!(fault, QuoteFault::Altered(_)), "{fault:?}");
}

#[test]
fn an_ellipsis_of_the_source_is_text() {
    let text = "Wait … and then press the key, or ... leave.";
    assert!(exact("Wait … and then press the key", text).is_ok());
    assert!(exact("press the key, or ... leave.", text).is_ok());
    assert!(matches!(exact("Wait ... and then press the key", text), Err(QuoteFault::Stitched(_))));
}

#[rstest]
#[case(None, 4)]
#[case(Some(0), 4)]
#[case(Some(20), 4)]
#[case(Some(21), 37)]
#[case(Some(1000), 37)]
fn the_nearest_of_several_places(#[case] place: Option<usize>, #[case] start: usize) {
    let text = "The places of it are é; and é é, the places of it are here.";
    let quote = "places of it are";
    let found = find(quote, text, place, &[], &[]).unwrap();
    assert_eq!(text[..found.range.start].chars().count(), start);
    assert_eq!(&text[found.range], quote);
}

#[rstest]
#[case(Normalisation::Nfc, "the café of the village", "So the cafe\u{301} of the village")]
#[case(Normalisation::Nfc, "the cafe\u{301} of the village", "So the café of the village")]
#[case(Normalisation::Nfc, "값은 데이터베이스에 있습니다", "값은 데\u{110b}\u{1175}터베이스에 있습니다")]
#[case(Normalisation::WhiteSpace, "a key for 45 days", "It keeps a key\nfor  45\u{a0}days.")]
#[case(Normalisation::WhiteSpace, "a key for\t45\r\ndays", "It keeps a key for 45 days.")]
#[case(Normalisation::WhiteSpace, "\u{3000}a key for 45 days", "It keeps a key for 45\tdays.")]
#[case(Normalisation::WhiteSpace, "is of use.\n\nThe second", "This is of use.\n\n\n  The second one.")]
#[case(Normalisation::Quotes, "a \"key\" that's mine", "It is a “key” that’s mine.")]
#[case(Normalisation::Quotes, "a “key” that’s mine", "It is a \"key\" that's mine.")]
#[case(Normalisation::Dashes, "a well-known key - or not", "It is a well‐known key – or not.")]
#[case(Normalisation::Dashes, "for 5-10 days of time", "Now for 5–10 days of time.")]
#[case(Normalisation::SoftHyphen, "an international key", "It is an inter\u{ad}natio\u{ad}nal key.")]
#[case(Normalisation::SoftHyphen, "an inter\u{ad}national key", "It is an international key.")]
fn a_listed_normalisation(#[case] it: Normalisation, #[case] quote: &str, #[case] text: &str) {
    let found = find(quote, text, None, &[], &[it]).unwrap();
    assert_eq!(found.normalisations, [it]);
    // Named alone although all are allowed, and refused where it is not.
    assert_eq!(find(quote, text, None, &[], &Normalisation::ALL).as_ref(), Ok(&found));
    let others: Vec<Normalisation> = Normalisation::ALL.into_iter().filter(|other| *other != it).collect();
    for allowed in [&others[..], &[]] {
        let refused = find(quote, text, None, &[], allowed);
        assert!(matches!(&refused, Err(QuoteFault::Altered(why)) if why.contains(it.name())), "{refused:?}");
    }
    let span = &text[found.range];
    assert!(text.contains(span) && !span.starts_with(char::is_whitespace) && !span.ends_with(char::is_whitespace));
}

#[test]
fn several_normalisations_at_once() {
    let text = "It’s a cafe\u{301} –\nan inter\u{ad}national one.";
    let found = find("It's a café - an international one.", text, None, &[], &Normalisation::ALL).unwrap();
    assert_eq!(found.normalisations, Normalisation::ALL);
    assert_eq!(found.range, 0..text.len());
    assert!(find("It's a café - an international one.", text, None, &[], &Normalisation::ALL[1..]).is_err());
}

#[rstest]
// Never across the border of two blocks, and never to nothing.
#[case("ends here. The second begins", "It ends here.\n\nThe second begins.")]
#[case("the value is 5 - 3 retries are", "Now the value is 5\n- 3 retries are made.")]
#[case("the value is 5 2. retries are", "Now the value is 5\n2. retries are made.")]
#[case("the value is five # Retries", "Now the value is five\n# Retries\n")]
#[case("the data base of it", "Now the database of it.")]
#[case("the database of it", "Now the data base of it.")]
#[case("数据 在以后删除", "数据在以后删除。")]
// Never a sign.
#[case("a value of -5 degrees", "It has a value of –5 degrees.")]
#[case("a value of –5 degrees", "It has a value of -5 degrees.")]
#[case("a value of -5 degrees", "It has a value of −5 degrees.")]
#[case("a value of -$5 for it", "It has a value of –$5 for it.")]
#[case("a value of -.5 for it", "It has a value of —.5 for it.")]
#[case("the sum of a - b is", "Now the sum of a − b is it.")]
// Never letters, digits, case or marks.
#[case("The value of it is here", "the value of it is here")]
#[case("the cafe of the village", "the café of the village")]
#[case("the file of the village", "the \u{fb01}le of the village")]
#[case("the value is ４５ days", "the value is 45 days")]
#[case("the vаlue is 45 days", "the value is 45 days")]
#[case("the value is 4\u{ad}5 days", "the value is 45 days")]
#[case("the val\u{200b}ue is 45 days", "the value is 45 days")]
#[case("the value is 45 days", "the **value** is 45 days")]
#[case("the 'value' is 45 days", "the `value` is 45 days")]
#[case("the value is 45 days!", "the value is 45 days！")]
fn what_is_never_overlooked(#[case] quote: &str, #[case] text: &str) {
    let fault = find(quote, text, None, &[], &Normalisation::ALL).unwrap_err();
    assert!(matches!(fault, QuoteFault::Altered(_)), "{fault:?}");
}

#[test]
fn the_words_say_where_the_quote_leaves_the_text() {
    let Err(QuoteFault::Altered(why)) = exact("The service keeps a key for 54 days", TEXT) else { panic!("it stands") };
    assert_eq!(why, "behind its first 28 characters the text has \"45 days, then rotates it\", the quote \"54 days\"");
    let Err(QuoteFault::Altered(why)) = exact("Nothing of the kind is said", TEXT) else { panic!("it stands") };
    assert_eq!(why, "nothing like it stands in the cited text");
}

/// Texts whose every place looks like the quote take no longer than others.
#[test]
fn hostile_sizes_take_linear_time() {
    let size = 1 << 17;
    let repeat = |unit: &str| unit.repeat(size / unit.len());
    let begun = std::time::Instant::now();
    let units =
        ["a", "a b ", " ", "... ", "a...", "e\u{301}", "\u{301}", "\u{ad}", "1 ", "\n", "– ", "数", "不", "x\u{ad}"];
    for unit in units {
        let text = repeat(unit);
        let half = &text[..text.floor_char_boundary(size / 2)];
        for quote in [half.to_owned(), format!("{half}!"), format!("{half} not of it in the text")] {
            let found = find(&quote, &text, Some(size), &[&text], &Normalisation::ALL);
            assert!(found.is_err() || text.contains(quote.trim()), "{unit:?}");
        }
    }
    // In a debug build on a slow machine; quadratic time would be an hour.
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}

/// Pieces of real text: words, numbers with their signs, marks, scripts.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z]{1,8}",
        2 => "[-+$€–−]?[0-9]{1,3}([.,:/][0-9]{1,3})?[%°]?",
        2 => "[数据库删除不没零五十万年月]{1,4}",
        1 => "[ァカサー한국어のない]{1,3}",
        1 => "[._:/'’\"“”()`*#@~^=<>…·\u{ad}\u{200d}\u{301}-]{1,2}",
        1 => Just("\n\n- ".to_owned()),
        3 => "[ \u{a0}\n]{1,2}",
    ];
    proptest::collection::vec(piece, 1..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_span_on_borders_is_found(text in text(), ends in any::<(prop::sample::Index, prop::sample::Index)>()) {
        let places: Vec<usize> =
            (0..=text.len()).filter(|at| text.is_char_boundary(*at) && cut(&text, *at).is_none()).collect();
        let (a, b) = (places[ends.0.index(places.len())], places[ends.1.index(places.len())]);
        let span = &text[a.min(b)..a.max(b)];
        let place = text[..a.min(b)].chars().count();
        match find(span, &text, Some(place), &[], &[]) {
            Ok(found) => {
                prop_assert_eq!(&text[found.range.clone()], span.trim_matches(|c: char| c.is_ascii_whitespace()));
                prop_assert!(cut(&text, found.range.start).is_none() && cut(&text, found.range.end).is_none());
            }
            Err(QuoteFault::Empty | QuoteFault::TooShort) => {}
            // Trimming may lay bare a border that the white space had covered.
            Err(fault) => prop_assert!(span.trim() != span, "{fault:?}"),
        }
    }

    #[test]
    fn what_is_found_is_a_span_on_borders(text in text(), quote in text()) {
        for allowed in [&Normalisation::ALL[..], &[]] {
            for quote in [&quote, &text] {
                if let Ok(found) = find(quote, &text, None, &[&text], allowed) {
                    prop_assert!(cut(&text, found.range.start).is_none() && cut(&text, found.range.end).is_none());
                    let same = &text[found.range] == quote.trim_matches(|c: char| c.is_ascii_whitespace());
                    prop_assert_eq!(found.normalisations.is_empty(), same);
                }
            }
        }
    }

    #[test]
    fn any_text_as_a_quote_of_any_other(quote in any::<String>(), text in any::<String>(), place in any::<usize>()) {
        let _ = find(&quote, &text, Some(place), &[&quote], &Normalisation::ALL);
    }
}

use std::collections::BTreeMap;

use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn terms(text: &str) -> BTreeMap<String, u32> {
    terms_by(&mut Lexer::new(), text)
}

fn terms_by(lexer: &mut Lexer, text: &str) -> BTreeMap<String, u32> {
    let mut counts = TermCounts::new();
    lexer.chunk_terms("", &[], text, &mut counts);
    counts.iter().map(|(term, tf)| (term.to_owned(), tf)).collect()
}

fn term_list(text: &str) -> Vec<String> {
    terms(text).into_keys().collect()
}

/// Whether a chunk of this text has every unit of the query: all its primary terms, or one of its wholes.
fn finds(query: &str, text: &str) -> bool {
    let (query, terms) = (Lexer::new().query(query), terms(text));
    let has = |&index: &usize| terms.contains_key(&query.terms[index].term);
    !query.units.is_empty()
        && query.units.iter().all(|unit| unit.primary.iter().all(has) || unit.wholes.iter().any(has))
}

#[rstest]
#[case("see E42 there", &["E42", "e42"])]
#[case("over HTTP2 now", &["HTTP2", "http2", "HTTP/2"])]
#[case("over HTTP/2 now", &["HTTP/2", "http", "2", "HTTP2"])]
#[case("since v1.2.3 only", &["v1.2.3", "V1.2.3", "v1", "2", "3"])]
#[case("in C++ and", &["C++", "c++", "C"])]
#[case("C++11 too", &["C++", "C++11", "11"])]
#[case("in C# and", &["C#", "c#", "C"])]
#[case("for .NET and", &[".NET", ".net", "NET"])]
#[case("(.NET)", &[".NET"])]
#[case("用.NET写", &[".NET"])]
#[case("the ASP.NET way", &["ASP.NET", "asp", "net", "aspnet"])]
#[case("set max_chars first", &["max_chars", "maxChars", "MaxChars", "max-chars", "max", "chars", "char", "maxchars"])]
#[case("set maxChars first", &["max_chars", "maxChars", "MAX_CHARS", "max", "chars", "maxchars"])]
#[case("an a-b test", &["a-b", "a", "b"])]
#[case("the x.y field", &["x.y", "x", "y"])]
#[case("an A/B test", &["A/B", "a", "b", "a/b"])]
#[case("TCP/IP", &["tcp", "ip", "tcpip"])]
#[case("__init__", &["__init__", "init"])]
#[case("foo__bar", &["foo_bar", "foo", "bar"])]
#[case("src/lexicon/mod.rs", &["src/lexicon/mod.rs", "lexicon/mod.rs", "mod.rs", "lexicon"])]
#[case("Get-ChildItem", &["Get-ChildItem", "ChildItem", "child", "item", "getchilditem", "childitem"])]
#[case("HTTPServer", &["http", "server", "HttpServer", "http_server"])]
#[case("base64Encode", &["base64", "encode", "base64_encode"])]
#[case("the APIs", &["API", "api", "APIs"])]
#[case("e-mails", &["email", "e-mail", "mail"])]
#[case("--no-cache", &["no-cache", "cache", "nocache"])]
#[case("Vec::with_capacity(8)", &["Vec::with_capacity", "with_capacity", "vec", "capacity"])]
#[case("Alzheimer's and Alzheimer’s", &["Alzheimer", "alzheimers"])]
#[case("fn main() {}", &["main", "fn"])]
#[case("running runs", &["run", "runs", "RUNNING"])]
#[case("ship it 🚀 now", &["🚀", "ship"])]
#[case("👍🏽 yes", &["👍", "👍🏿"])]
fn identifiers_are_found_whole_and_by_part(#[case] text: &str, #[case] queries: &[&str]) {
    for query in queries {
        assert!(finds(query, text), "{query:?} in {text:?}: {:?}", term_list(text));
    }
}

#[rstest]
#[case("C++", "C# and C")]
#[case("C#", "C++ and C")]
#[case(".NET", "the net")]
#[case("1.2", "12")]
#[case("v1.23", "v12.3")]
#[case("检索", "索检")]
#[case("người", "nguoi")]
fn different_things_stay_apart(#[case] query: &str, #[case] text: &str) {
    assert!(!finds(query, text), "{query:?} in {text:?}: {:?}", term_list(text));
}

#[rstest]
#[case::case("ÄRGER", "ärger")]
#[case::sharp_s("Straße", "STRASSE")]
#[case::accents("Café naïve façade", "cafe naive facade")]
#[case::decomposed("cafe\u{301}", "caf\u{e9}")]
#[case::full_width("Ｒｕｓｔ２", "rust2")]
#[case::ligature("ﬁle", "file")]
#[case::dotted_i("İstanbul", "istanbul")]
#[case::dotless_i("ılık", "ilik")]
#[case::yo("ёлка", "елка")]
#[case::final_sigma("ΣΊΣΥΦΟΣ", "σισυφος")]
#[case::hamza("أحمد", "احمد")]
#[case::vowel_signs("مُحَمَّد", "محمد")]
#[case::soft_hyphen("co\u{ad}operate", "cooperate")]
#[case::zero_width("max\u{200d}imum", "maximum")]
#[case::byte_order_mark("\u{feff}title", "title")]
#[case::croatian("đak", "dak")]
#[case::vietnamese_decomposed("ngu\u{31b}o\u{31b}\u{300}i", "người")]
#[case::half_width_kana("ｶﾞｲﾄﾞ", "ガイド")]
#[case::decomposed_kana("か\u{3099}", "が")]
#[case::jamo("\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}", "한글")]
#[case::compatibility_ideograph("\u{f900}", "豈")]
#[case::piled_up("e\u{301}\u{308}\u{32e}\u{300}", "e")]
fn folding(#[case] left: &str, #[case] right: &str) {
    assert_eq!(terms(left), terms(right));
    assert!(!terms(left).is_empty());
}

#[rstest]
#[case::han("检索命中", &["检", "检索", "索", "索命", "命", "命中", "中"])]
#[case::one_character("猫", &["猫"])]
#[case::between_words("用Vue组件", &["用", "vue", "组", "组件", "件"])]
#[case::punctuation_parts_runs("检，索", &["检", "索"])]
#[case::katakana("データ", &["デ", "デー", "ー", "ータ", "タ"])]
#[case::kana_and_kanji("東京は", &["東", "東京", "京", "京は", "は"])]
#[case::hangul("서울 시", &["서", "서울", "울", "시"])]
#[case::thai("ไทย", &["ไ", "ไท", "ท", "ทย", "ย"])]
#[case::hindi_is_words("हिन्दी भाषा", &["हिन्दी", "भाषा"])]
#[case::empty("", &[])]
#[case::marks_alone("\u{301} — … \u{200d}", &[])]
fn runs_give_characters_and_pairs(#[case] text: &str, #[case] expected: &[&str]) {
    let mut expected: Vec<_> = expected.iter().map(ToString::to_string).collect();
    expected.sort();
    assert_eq!(term_list(text), expected);
}

fn weights(query: &str) -> Vec<(String, f64)> {
    Lexer::new().query(query).terms.into_iter().map(|term| (term.term, term.weight)).collect()
}

#[rstest]
#[case::stop_words_go("What is the borrow checker?", &[("borrow", 1.0), ("checker", 1.0)])]
#[case::unless_there_is_nothing_else("to be or not to be", &[("to", 2.0), ("be", 2.0), ("or", 1.0), ("not", 1.0)])]
#[case::wholes_weigh_half("max_chars", &[("max", 1.0), ("char", 1.0), ("maxchar", 0.5)])]
#[case::repeats_add_up("rust rust", &[("rust", 2.0)])]
#[case::lone_letters("vitamin D", &[("vitamin", 1.0), ("d", 0.1)])]
#[case::marks("C++", &[("c", 0.5), ("c++", 1.0)])]
#[case::stop_words_in_compounds("state-of-the-art", &[("state", 1.0), ("art", 1.0), ("stateoftheart", 0.5)])]
#[case::run("检索", &[("检", 0.7), ("索", 0.7), ("检索", 1.0)])]
#[case::chinese_question("怎么检索", &[("检", 0.7), ("索", 0.7), ("检索", 1.0)])]
#[case::particle_parts_runs("猫的狗", &[("猫", 1.0), ("狗", 1.0)])]
#[case::chinese_question_alone("什么", &[("什", 0.7), ("么", 0.7), ("什么", 1.0)])]
#[case::hiragana("です", &[("で", 0.1), ("す", 0.1), ("です", 0.5)])]
#[case::nothing(" ?! ", &[])]
fn query_terms(#[case] query: &str, #[case] expected: &[(&str, f64)]) {
    let expected: Vec<_> = expected.iter().map(|&(term, weight)| (term.to_owned(), weight)).collect();
    assert_eq!(weights(query), expected);
}

#[test]
fn units_name_what_the_query_has() {
    let query = Lexer::new().query("Which maxChars for .NET 检索吗, maxChars?");
    let surfaces: Vec<_> = query.units.iter().map(|unit| unit.surface.as_str()).collect();
    assert_eq!(surfaces, ["maxChars", ".NET", "检索"]);
}

#[test]
fn surfaces_are_parts_with_their_bytes() {
    let text = "Max_chars, maxChars: C++’s 检索";
    let surfaces = Lexer::new().surface_terms(text);
    let shown: Vec<_> = surfaces.iter().map(|(surface, at)| (surface.as_str(), &text[at.clone()])).collect();
    let expected = [
        ("max", "Max"),
        ("chars", "chars"),
        ("max", "max"),
        ("chars", "Chars"),
        ("c++", "C++"),
        ("s", "s"),
        ("检", "检"),
        ("索", "索"),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn title_and_headings_count_twice_and_lengthen() {
    let mut counts = TermCounts::new();
    Lexer::new().chunk_terms("Alpha", &["Beta".into(), "Gamma delta".into()], "alpha text", &mut counts);
    let found: Vec<_> = counts.iter().collect();
    assert_eq!(found, [("alpha", 3), ("beta", 2), ("gamma", 2), ("delta", 2), ("text", 1)]);
    assert_eq!(counts.length(), 10);
}

#[test]
fn counts_start_anew_with_each_chunk() {
    let (mut lexer, mut counts) = (Lexer::new(), TermCounts::new());
    for size in [3_u32, 20_000, 5] {
        let text = (0..size).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
        lexer.chunk_terms("", &[], &text, &mut counts);
        assert_eq!((counts.iter().count(), counts.length()), (size as usize, size));
    }
}

#[test]
fn terms_that_are_too_many_are_forgotten_between_chunks() {
    let (mut lexer, mut counts) = (Lexer::new(), TermCounts::for_many());
    let many = (0..140_000).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
    lexer.chunk_terms("title", &[], &many, &mut counts);
    lexer.numbered_terms("title", &[], "w7 new", &mut counts);
    assert_eq!(counts.numbered().collect::<Vec<_>>(), [(0, 2), (8, 1), (140_001, 1)]);
    lexer.chunk_terms("title", &[], "new w7", &mut counts);
    assert_eq!(counts.iter().collect::<Vec<_>>(), [("titl", 2), ("new", 1), ("w7", 1)]);
    assert_eq!(counts.numbered().collect::<Vec<_>>(), [(0, 2), (1, 1), (2, 1)]);
}

/// Counts which words took the short way.
#[derive(Default)]
struct Ways {
    plain: Vec<String>,
    others: usize,
}

impl Visitor for Ways {
    fn word(&mut self, _: &Word<'_>) {
        self.others += 1;
    }

    fn plain_word(&mut self, text: &str, _: usize) {
        self.plain.push(text.to_owned());
    }

    fn run(&mut self, _: char, _: bool, _: Range<usize>) {}

    fn symbol(&mut self, _: char, _: Range<usize>) {}
}

#[test]
fn most_words_are_plain() {
    let mut ways = Ways::default();
    Segmenter::new()
        .segment("The quick (brown) fox, HTTP and x9 -- but maxChars, a_b, .NET and café are not", &mut ways);
    assert_eq!(ways.plain, ["the", "quick", "brown", "fox", "http", "and", "x9", "but", "and", "are", "not"]);
    assert_eq!(ways.others, 5);
}

#[test]
fn a_warm_lexer_gives_the_terms_of_a_fresh_one() {
    let mut warm = Lexer::new();
    let letters: Vec<char> = ('a'..='z').collect();
    for n in 0..3000 {
        let word = String::from_iter([letters[n % 26], 'o', letters[n / 26 % 26], 'a', letters[n / 676], 't']);
        let text = format!("{word}ing {word}ational generali{word} {word}s");
        assert_eq!(terms_by(&mut warm, &text), terms(&text));
        assert_eq!(terms_by(&mut warm, &text), terms(&text));
    }
}

/// So many characters as base64 has them, no stretch like another.
fn blob(len: usize) -> String {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        char::from(letters[(state >> 58) as usize])
    };
    (0..len).map(|_| next()).collect()
}

#[rstest]
#[case::one_word("x".repeat(1 << 20), 1)]
#[case::accents(format!("e{}", "\u{301}".repeat(1 << 19)), 1)]
#[case::base64("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo+/0".repeat(20_000), 11)]
#[case::random_base64(blob(1 << 20), 60)]
#[case::path("a1/".repeat(300_000), 3)]
#[case::camel("aB".repeat(1 << 19), 1)]
#[case::pluses("+".repeat(1 << 20), 0)]
#[case::dots("a.".repeat(1 << 19), 3)]
#[case::quotes("a'".repeat(1 << 19), 1)]
#[case::tags("\u{e0101}".repeat(1 << 17), 0)]
fn hostile_lines_give_few_short_terms(#[case] text: String, #[case] most: usize) {
    let terms = terms(&text);
    assert!(terms.len() <= most, "{}", terms.len());
    assert!(terms.keys().all(|term| term.len() <= 64 + 2));
}

/// A piece of text that the rules are likely to trip over.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9]{1,12}",
        "[a-zA-Z0-9_./+#'=-]{1,12}",
        "[\u{c0}-\u{24f}\u{300}-\u{320}a-z]{1,6}",
        "[一-十ぁ-んァ-ヶ가-각\u{3099}\u{1100}-\u{11ff}a-zA.]{1,6}",
        "[ｦ-ﾟＡ-ｚ๐-๙ก-ฮ🚀👍🏽\u{200d}\u{fe0f}™½①]{1,6}",
        "\\PC{1,8}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..8).prop_map(|pieces| pieces.concat())
}

/// A title or heading; often the same.
fn head() -> impl Strategy<Value = String> {
    prop_oneof![3 => prop::sample::select(vec!["", "Alpha", "Beta Gamma"]).prop_map(str::to_owned), 1 => text()]
}

proptest! {
    #[test]
    fn any_text_gives_bounded_nonempty_terms(text in any::<String>(), other in text()) {
        for text in [text, other] {
            let mut lexer = Lexer::new();
            for term in terms_by(&mut lexer, &text).keys() {
                prop_assert!(!term.is_empty() && term.len() <= 66, "{term:?}");
            }
            let query = lexer.query(&text);
            for unit in &query.units {
                prop_assert!(!unit.primary.is_empty() && text.contains(&unit.surface));
            }
            prop_assert!(query.terms.iter().all(|term| term.weight > 0.0));
            prop_assert_eq!(query.terms.is_empty(), query.units.is_empty());
            for (surface, at) in lexer.surface_terms(&text) {
                prop_assert!(!surface.is_empty() && text.get(at).is_some());
            }
        }
    }

    #[test]
    fn a_word_finds_the_chunk_that_contains_it(before in text(), word in text(), after in text()) {
        let word: String = word.split_whitespace().collect();
        let query = Lexer::new().query(&word);
        let terms = terms(&format!("{before} {word}\n{after}"));
        for term in &query.terms {
            prop_assert!(terms.contains_key(&term.term), "{:?} of {word:?}", term.term);
        }
    }

    #[test]
    fn white_space_keeps_texts_apart(left in text(), right in text(), blank in "[ \n\t]") {
        let mut expected = terms(&left);
        for (term, tf) in terms(&right) {
            *expected.entry(term).or_default() += tf;
        }
        prop_assert_eq!(terms(&format!("{left}{blank}{right}")), expected);
    }

    #[test]
    fn a_chunk_has_the_terms_of_its_parts_whatever_came_before(
        chunks in prop::collection::vec((head(), prop::collection::vec(head(), 0..3), text()), 1..6),
    ) {
        let (mut lexer, mut counts) = (Lexer::new(), TermCounts::for_many());
        for (title, headings, text) in chunks {
            lexer.numbered_terms(&title, &headings, &text, &mut counts);
            let mut expected = terms(&text);
            for head in headings.iter().chain([&title]) {
                for (term, tf) in terms(head) {
                    *expected.entry(term).or_default() += 2 * tf;
                }
            }
            let found: BTreeMap<String, u32> = counts.iter().map(|(term, tf)| (term.to_owned(), tf)).collect();
            prop_assert_eq!(&found, &expected);
            let numbered = counts.numbered().map(|(number, tf)| (counts.term(number).to_owned(), tf));
            prop_assert_eq!(numbered.collect::<BTreeMap<_, _>>(), found);
            let mut fresh = TermCounts::new();
            Lexer::new().chunk_terms(&title, &headings, &text, &mut fresh);
            prop_assert_eq!(fresh.iter().collect::<Vec<_>>(), counts.iter().collect::<Vec<_>>());
            prop_assert_eq!(fresh.length(), counts.length());
        }
    }

    #[test]
    fn the_ascii_path_gives_what_the_general_path_gives(text in "[ -~\n]{0,80}", words in text()) {
        let mut general = Lexer { segmenter: Segmenter::without_ascii_path(), ..Lexer::new() };
        for text in [text, words] {
            prop_assert_eq!(terms_by(&mut general, &text), terms(&text));
            prop_assert_eq!(general.query(&text), Lexer::new().query(&text));
            prop_assert_eq!(general.surface_terms(&text), Lexer::new().surface_terms(&text));
        }
    }
}

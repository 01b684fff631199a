//! The check as a whole, on tables of claims.

use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn judged(claim: &str, text: &str) -> ClaimCheck {
    check(claim, &Cited { text, headings: &[], quote: None }, &WordOverlap, LEAST_SUPPORT)
}

fn judged_quote(claim: &str, text: &str, quote: &str) -> ClaimCheck {
    let start = text.find(quote).unwrap();
    let quote = Some(start..start + quote.len());
    check(claim, &Cited { text, headings: &[], quote }, &WordOverlap, LEAST_SUPPORT)
}

const REFUND: &str = "订单 签收 后 45 天 内可以申请退款。";

#[rstest]
#[case(REFUND, "订单签收后45天内可以申请退款。", Verdict::Verified)]
#[case(REFUND, "订单签收后四十五天内可以申请退款", Verdict::Verified)]
#[case(REFUND, "订单签收后\u{ff14}\u{ff15}天内可以申请退款", Verdict::Verified)]
#[case(REFUND, "訂單簽收後45天內可以申請退款", Verdict::Verified)]
#[case(REFUND, "订单签收后900天内可以申请退款。", Verdict::ValueMismatch)]
#[case(REFUND, "订单签收后45小时内可以申请退款。", Verdict::UnitMismatch)]
#[case(REFUND, "订单签收后45天内不得申请退款。", Verdict::PolarityMismatch)]
fn refunds(#[case] text: &str, #[case] claim: &str, #[case] verdict: Verdict) {
    let whole = judged(claim, text);
    assert_eq!(whole.verdict, verdict, "{whole:?}");
    let quoted = judged_quote(claim, text, text);
    assert_eq!(quoted.verdict, verdict, "{quoted:?}");
}

proptest! {
    #[test]
    fn anything_is_read(
        claim in "[ -~]{0,40}|\\PC{0,40}|[0-9,.%一二十百千万亿点分之天年月日至内~-]{0,40}",
        text in "\\PC{0,120}|[0-9,.%一二十百千万亿点分之天年月日至内~| \n`-]{0,120}",
    ) {
        let check = judged(&claim, &text);
        prop_assert!(text.get(check.span.clone()).is_some());
        prop_assert!((0.0..=1.0).contains(&check.support));
        prop_assert_eq!(check.verdict.is_verified(), !check.span.is_empty());
        if !text.is_empty() {
            let quoted = judged_quote(&claim, &text, &text);
            prop_assert!(quoted.span == (0..0) || quoted.span == (0..text.len()));
        }
    }

    /// What stands word for word is verified, whatever it says.
    #[test]
    fn a_sentence_establishes_itself(words in proptest::collection::vec("[a-z]{2,9}|[0-9]{1,4}|not|must|E42", 1..12)) {
        let sentence = format!("Words {} end.", words.join(" "));
        let check = judged(&sentence, &sentence);
        prop_assert_eq!(check.verdict, Verdict::Verified, "{:?}", check);
    }
}
/// A claim, what it cites, and the verdict both with the whole text as the quote and without a quote.
#[rstest]
// Numbers by value.
#[case("The log is kept for 1,200 days.", "The log is kept for 1200 days.", Verdict::Verified)]
#[case("The log is kept for 1'200 days.", "The log is kept for 1 200 days.", Verdict::Verified)]
#[case("The log is kept for 1_200 days.", "The log is kept for twelve hundred days.", Verdict::Verified)]
#[case("The log is kept for 1.200 days.", "The log is kept for 1200 days.", Verdict::ValueMismatch)]
#[case("The log is kept for 1.200 days.", "The log is kept for 1.200 days.", Verdict::Verified)]
#[case("The log is kept for 1.200 days.", "The log is kept for 1.2 days.", Verdict::ValueMismatch)]
#[case("The log is kept for 45 days.", "The log is kept for forty-five days.", Verdict::Verified)]
#[case("The log is kept for 45 days.", "The log is kept for 45.0 days.", Verdict::Verified)]
#[case("The log is kept for \u{ff14}\u{ff15} days.", "The log is kept for 45 days.", Verdict::Verified)]
#[case("The log is kept for 45 days.", "The log is kept for 54 days.", Verdict::ValueMismatch)]
#[case("The log is kept for 45 days.", "The log is kept for 450 days.", Verdict::ValueMismatch)]
#[case("The log is kept for 45 days.", "The log is kept for a long time.", Verdict::ValueMismatch)]
#[case("The offset is -5 degrees.", "The offset is 5 degrees.", Verdict::ValueMismatch)]
#[case("The offset is -5 degrees.", "The offset is \u{2212}5 degrees.", Verdict::Verified)]
#[case("The offset is -5 degrees.", "The offset is minus 5 degrees.", Verdict::Verified)]
#[case("About 1.2 million users signed up.", "About 1,200,000 users signed up.", Verdict::Verified)]
#[case("It cost $3m in total.", "It cost 3 million dollars in total.", Verdict::Verified)]
#[case("It cost $3 in total.", "It cost €3 in total.", Verdict::UnitMismatch)]
#[case("It cost 300 yuan in total.", "It cost 300 CNY in total.", Verdict::Verified)]
#[case("It cost ¥300 in total.", "It cost 300 CNY in total.", Verdict::UnitMismatch)]
#[case("A box holds a dozen eggs.", "A box holds 12 eggs.", Verdict::Verified)]
#[case("A box holds 12 eggs.", "A box holds 12 spoons.", Verdict::Unsupported)]
#[case("It came 2nd in the race.", "It came 2 in the race.", Verdict::ValueMismatch)]
// Units.
#[case("The limit is 10 GB.", "The limit is 10GB.", Verdict::Verified)]
#[case("The limit is 10 GB.", "The limit is 10 GiB.", Verdict::UnitMismatch)]
#[case("The limit is 10 GB.", "The limit is 10 MB.", Verdict::UnitMismatch)]
#[case("The limit is 10 kB.", "The limit is 10 KiB.", Verdict::UnitMismatch)]
#[case("The limit is 10 Mb.", "The limit is 10 MB.", Verdict::UnitMismatch)]
#[case("The limit is 10.", "The limit is 10 GB.", Verdict::UnitMismatch)]
#[case("The fee is 5%.", "The fee is 5 percent.", Verdict::Verified)]
#[case("The fee is 5%.", "The fee is 5 percentage points.", Verdict::UnitMismatch)]
#[case("The fee is 5%.", "The fee is 5‰.", Verdict::UnitMismatch)]
#[case("The job takes 60 minutes.", "The job takes 1 hour.", Verdict::ValueMismatch)]
#[case("The speed is 90 km/h.", "The speed is 90 km.", Verdict::UnitMismatch)]
#[case("A 45-day period applies.", "A 45 day period applies.", Verdict::Verified)]
// Bounds and ranges.
#[case("It takes at least 45 days.", "It takes no less than 45 days.", Verdict::Verified)]
#[case("It takes at least 45 days.", "It takes at most 45 days.", Verdict::ValueMismatch)]
#[case("It takes at least 45 days.", "It takes 45 days.", Verdict::Unsupported)]
#[case("It takes 45 days.", "It takes more than 45 days.", Verdict::Unsupported)]
#[case("It takes 45 days.", "It takes about 45 days.", Verdict::Unsupported)]
#[case("It takes 30–45 days.", "It takes 30 to 45 days.", Verdict::Verified)]
#[case("It takes between 30 and 45 days.", "It takes 30-45 days.", Verdict::Verified)]
#[case("It takes 45 days.", "It takes 30-45 days.", Verdict::ValueMismatch)]
#[case("It takes 30-45 days.", "It takes 35-45 days.", Verdict::ValueMismatch)]
#[case("Prices rise 10 to 20%.", "Prices rise 10%–20%.", Verdict::Verified)]
// Dates.
#[case("It was released on 3 March 2024.", "It was released on March 3, 2024.", Verdict::Verified)]
#[case("It was released on 3 March 2024.", "It was released on 2024-03-03.", Verdict::Verified)]
#[case("It was released on 3 March 2024.", "It was released on 2024-03-04.", Verdict::ValueMismatch)]
#[case("It was released on 03/04/2024.", "It was released on 03/04/2024.", Verdict::Verified)]
#[case("It was released on 03/04/2024.", "It was released on 3 April 2024.", Verdict::ValueMismatch)]
#[case("It was released in March 2024.", "It was released in March 2023.", Verdict::ValueMismatch)]
#[case("It was released in 2024.", "It was released in 2023.", Verdict::ValueMismatch)]
#[case("It was released in March 2024.", "It was released on 3 March 2024.", Verdict::Unsupported)]
// Identifiers.
#[case("E42 means that the payment timed out.", "E42 means that the payment timed out.", Verdict::Verified)]
#[case("E42 means that the payment timed out.", "E43 means that the payment timed out.", Verdict::IdentifierMismatch)]
#[case("E42 means that the payment timed out.", "E420 means that the payment timed out.", Verdict::IdentifierMismatch)]
#[case("E42 means that the payment timed out.", "e42 means that the payment timed out.", Verdict::IdentifierMismatch)]
#[case("Set max_chars to bound a chunk.", "Set `max_chars` to bound a chunk.", Verdict::Verified)]
#[case("Set max_chars to bound a chunk.", "Set max_chars_total to bound a chunk.", Verdict::IdentifierMismatch)]
#[case("Set `chars` to bound a chunk.", "Set `max_chars` to bound a chunk.", Verdict::IdentifierMismatch)]
#[case("It speaks HTTP/2 only.", "It speaks HTTP/1.1 only.", Verdict::IdentifierMismatch)]
#[case("Pass --dry-run to see it.", "Pass --dry-run-all to see it.", Verdict::IdentifierMismatch)]
#[case("Version 1.2.3 has the fix.", "Version 1.2.30 has the fix.", Verdict::IdentifierMismatch)]
#[case("The entry is src/main.rs here.", "The entry is src/lib.rs here.", Verdict::IdentifierMismatch)]
#[case("NASA measures the temperature.", "ESA measures the temperature.", Verdict::Unsupported)]
#[case("It refers to `y` or `y`.", "It refers to `x` or `y`.", Verdict::Unsupported)]
#[case("Listing 5-5 says it again as Listing 5-5.", "Listing 5-4 says it again as Listing 5-5.", Verdict::Unsupported)]
#[case("Pass -hours 365 to it.", "Pass -days 365 to it.", Verdict::IdentifierMismatch)]
// A word that differs, however long the claim is.
#[case(
    "The office in Bonn keeps the signed paper copies of every contract of the northern branch in a locked steel box.",
    "The office in Kiel keeps the signed paper copies of every contract of the northern branch in a locked steel box.",
    Verdict::Unsupported
)]
// Polarity and modality.
#[case("The module is just another module.", "The module is not just another module.", Verdict::Unsupported)]
#[case("The cache is shared.", "The cache is not shared.", Verdict::PolarityMismatch)]
#[case("The cache is not shared.", "The cache is shared.", Verdict::PolarityMismatch)]
#[case("The cache isn't shared.", "The cache is not shared.", Verdict::Verified)]
#[case("A key must be rotated.", "A key may be rotated.", Verdict::PolarityMismatch)]
#[case("A key must be rotated.", "A key need not be rotated.", Verdict::PolarityMismatch)]
#[case("A key must be rotated.", "A key should be rotated.", Verdict::PolarityMismatch)]
#[case("A key is rotated.", "A key can be rotated.", Verdict::PolarityMismatch)]
#[case("A key must be rotated.", "A key must be rotated.", Verdict::Verified)]
#[case("A key is rotated.", "A key is rotated unless it is pinned.", Verdict::Unsupported)]
#[case("Aspirin reduces the risk.", "Aspirin increases the risk.", Verdict::PolarityMismatch)]
#[case("Aspirin reduces the risk.", "Aspirin might reduce the risk.", Verdict::PolarityMismatch)]
#[case("Smoking causes cancer.", "Cancer causes smoking.", Verdict::Unsupported)]
#[case("Smoking causes cancer.", "Smoking is caused by cancer.", Verdict::Unsupported)]
#[case("Smoking causes cancer.", "Does smoking cause cancer?", Verdict::Unsupported)]
#[case("Smoking causes cancer.", "It is a myth that smoking causes cancer.", Verdict::PolarityMismatch)]
#[case("All users can log in.", "Some users can log in.", Verdict::Unsupported)]
#[case("Enable the flag before a restart.", "Disable the flag before a restart.", Verdict::PolarityMismatch)]
// Which value belongs to what.
#[case("The Pro plan has 20 GB.", "The Free plan has 10 GB, the Pro plan has 20 GB.", Verdict::Verified)]
#[case("The Free plan has 20 GB.", "The Free plan has 10 GB, the Pro plan has 20 GB.", Verdict::Unsupported)]
#[case("The Free plan has 20 GB.", "10 GB for the Free plan, 20 GB for the Pro plan.", Verdict::Unsupported)]
// Chinese.
#[case("日志保留一百八十天。", "日志保留180天。", Verdict::Verified)]
#[case("日志保留180天。", "日志保留180日。", Verdict::Verified)]
#[case("日志保留180天。", "日志保留180小时。", Verdict::UnitMismatch)]
#[case("日志保留180天。", "日志保留90天。", Verdict::ValueMismatch)]
#[case("用户有3万个账号。", "用户有30000个账号。", Verdict::Verified)]
#[case("用户有1.5亿个账号。", "用户有一亿五千万个账号。", Verdict::Verified)]
#[case("手续费为百分之五。", "手续费为5%。", Verdict::Verified)]
#[case("手续费为5个百分点。", "手续费为5%。", Verdict::UnitMismatch)]
#[case("金额不超过500元。", "金额至多500元。", Verdict::Verified)]
#[case("金额不超过500元。", "金额至少500元。", Verdict::ValueMismatch)]
#[case("金额500元以上须审批。", "金额500元以下须审批。", Verdict::ValueMismatch)]
#[case("合同于2024年3月3日生效。", "合同于二〇二四年三月三日生效。", Verdict::Verified)]
#[case("合同于2024年3月3日生效。", "合同于2024年3月4日生效。", Verdict::ValueMismatch)]
#[case("境外差旅不需要审批。", "境外差旅必须审批。", Verdict::PolarityMismatch)]
#[case("境外差旅可以审批。", "境外差旅必须审批。", Verdict::PolarityMismatch)]
#[case("境外差旅需要审批。", "境外差旅必须审批。", Verdict::Verified)]
#[case("账号可以共享。", "账号禁止共享。", Verdict::PolarityMismatch)]
#[case("账号可以共享。", "账号除非获批，可以共享。", Verdict::Unsupported)]
#[case("启用缓存会增加内存占用。", "启用缓存会减少内存占用。", Verdict::PolarityMismatch)]
#[case("缓存不共享。", "缓存共享。", Verdict::PolarityMismatch)]
fn claims(#[case] claim: &str, #[case] text: &str, #[case] verdict: Verdict) {
    let quoted = judged_quote(claim, text, text);
    assert_eq!(quoted.verdict, verdict, "quoted: {quoted:?}");
    let unquoted = judged(claim, text);
    assert_eq!(unquoted.verdict, verdict, "unquoted: {unquoted:?}");
}

/// A quote that is too short to say what the claim says: the sentence around it decides.
#[rstest]
#[case("The Free plan has 20 GB.", "The Free plan has 10 GB, the Pro plan has 20 GB.", "20 GB", Verdict::Unsupported)]
#[case("The Pro plan has 20 GB.", "The Free plan has 10 GB, the Pro plan has 20 GB.", "20 GB", Verdict::Verified)]
#[case("The Pro plan has 10 GB.", "The Free plan has 10 GB, the Pro plan has 20 GB.", "20 GB", Verdict::ValueMismatch)]
#[case("Refunds take 45 days.", "Refunds do not take 45 days.", "45 days", Verdict::PolarityMismatch)]
#[case("Refunds take 45 days.", "Cats purr. Refunds take 45 days. Dogs bark.", "45 days", Verdict::Verified)]
#[case("Refunds take 45 days.", "Cats purr. Refunds take 45 days. Dogs bark.", "Cats purr", Verdict::ValueMismatch)]
fn short_quotes(#[case] claim: &str, #[case] text: &str, #[case] quote: &str, #[case] verdict: Verdict) {
    let check = judged_quote(claim, text, quote);
    assert_eq!(check.verdict, verdict, "{check:?}");
}

#[test]
fn a_denial_in_another_clause_is_a_warning_and_in_the_same_clause_a_refusal() {
    let text = "Refunds take 45 days, but opened vouchers are not refunded.";
    let check = judged_quote("Refunds take 45 days.", text, "Refunds take 45 days");
    assert_eq!(check.verdict, Verdict::Verified, "{check:?}");
    assert_eq!(check.warnings.len(), 1);
    assert!(check.warnings[0].ends_with(text), "{check:?}");
    let text = "Nobody should believe that refunds take 45 days.";
    assert_eq!(judged_quote("Refunds take 45 days.", text, "refunds take 45 days").verdict, Verdict::Unsupported);
    assert_eq!(judged("Refunds take 45 days.", text).verdict, Verdict::PolarityMismatch);
}

#[test]
fn the_sentence_that_establishes_a_claim_is_its_span() {
    let text = "# Keys\n\nKeys are strings. Rotate a key\nevery 90 days, e.g. on Mondays. Old keys expire.\n";
    let check = judged("Rotate a key every 90 days, e.g. on Mondays.", text);
    assert_eq!(check.verdict, Verdict::Verified, "{check:?}");
    assert_eq!(&text[check.span], "Rotate a key\nevery 90 days, e.g. on Mondays.");
    assert_eq!(judged("Rotate a password every 90 days, e.g. on Mondays.", text).span, 0..0);
}

#[test]
fn headings_say_what_a_sentence_is_about() {
    let headings = ["Billing".to_owned(), "Refund period".to_owned()];
    let text = "It is 45 days for physical goods.";
    let check = |claim| check(claim, &Cited { text, headings: &headings, quote: None }, &WordOverlap, LEAST_SUPPORT);
    assert_eq!(check("The refund period is 45 days for physical goods.").verdict, Verdict::Verified);
    assert_eq!(check("The billing refund period.").verdict, Verdict::Unsupported);
}

#[test]
fn a_row_is_read_with_its_headings() {
    let text = "| Plan | Storage (GB) | Logs kept |\n|---|---|---|\n| Free | 10 | 7 days |\n| Pro | 200 | 90 days |\n";
    assert_eq!(judged("Pro: storage 200 GB, logs kept 90 days", text).verdict, Verdict::Verified);
    assert_eq!(judged("Free: storage 200 GB, logs kept 90 days", text).verdict, Verdict::Unsupported);
    assert_eq!(judged("Pro: storage 200 MB, logs kept 90 days", text).verdict, Verdict::UnitMismatch);
}

/// Facts of the kind that assistants get wrong: the source, what an answer says of it, and the verdict.
#[rstest]
#[case("退款", "订单 签收 后 45 天 内可以申请退款。", "订单签收后45天内可以申请退款。", Verdict::Verified)]
#[case("退款", "订单 签收 后 45 天 内可以申请退款。", "订单签收后900天内可以申请退款。", Verdict::ValueMismatch)]
#[case("退款", "订单 签收 后 45 天 内可以申请退款。", "订单签收后45小时内可以申请退款。", Verdict::UnitMismatch)]
#[case("退款", "订单 签收 后 45 天 内可以申请退款。", "订单签收后45天内不可以申请退款。", Verdict::PolarityMismatch)]
#[case("日志", "应用日志保留 30 天，审计日志保留 180 天。", "审计日志保留180天。", Verdict::Verified)]
#[case("日志", "应用日志保留 30 天，审计日志保留 180 天。", "审计日志保留30天。", Verdict::Unsupported)]
#[case("日志", "应用日志保留 30 天，审计日志保留 180 天。", "审计日志保留18天。", Verdict::ValueMismatch)]
#[case("境外审批", "境外出差必须双重批准。", "境外出差必须双重批准。", Verdict::Verified)]
#[case("境外审批", "境外出差必须双重批准。", "境外出差不需要批准。", Verdict::PolarityMismatch)]
#[case("境外审批", "境外出差必须双重批准。", "境内出差必须双重批准。", Verdict::PolarityMismatch)]
#[case("住宿上限", "一线城市住宿上限为每晚 800 元。", "一线城市住宿上限为每晚八百元。", Verdict::Verified)]
#[case("住宿上限", "一线城市住宿上限为每晚 800 元。", "一线城市住宿上限为每晚1800元。", Verdict::ValueMismatch)]
#[case("住宿上限", "一线城市住宿上限为每晚 800 元。", "一线城市住宿上限为每晚800美元。", Verdict::UnitMismatch)]
#[case("住宿上限", "一线城市住宿上限为每晚 800 元。", "一线城市住宿下限为每晚800元。", Verdict::PolarityMismatch)]
#[case("错误码", "错误码 E42 表示支付超时。", "错误码E42表示支付超时。", Verdict::Verified)]
#[case("错误码", "错误码 E42 表示支付超时。", "错误码E43表示支付超时。", Verdict::IdentifierMismatch)]
#[case("错误码", "错误码 E42 表示支付超时。", "错误码E420表示支付超时。", Verdict::IdentifierMismatch)]
fn the_facts_of_s1(#[case] heading: &str, #[case] text: &str, #[case] claim: &str, #[case] verdict: Verdict) {
    let headings = [heading.to_owned()];
    for quote in [None, Some(0..text.len())] {
        let cited = Cited { text, headings: &headings, quote: quote.clone() };
        let check = check(claim, &cited, &WordOverlap, LEAST_SUPPORT);
        assert_eq!(check.verdict, verdict, "{quote:?}: {check:?}");
    }
}

#[test]
fn chinese_sentences_end_at_their_own_marks() {
    let text = "日志保留30天\u{ff01}密钥每90天轮换\u{ff1f}会话60分钟后失效。账号不共享";
    let found: Vec<&str> = sentences(text).into_iter().map(|range| &text[range]).collect();
    let expected = ["日志保留30天\u{ff01}", "密钥每90天轮换\u{ff1f}", "会话60分钟后失效。", "账号不共享"];
    assert_eq!(found, expected);
}

#[rstest]
#[case("It is 1.5 m. long, e.g. here. Next.", &["It is 1.5 m. long, e.g. here.", "Next."])]
#[case("See Fig. 3 by J. Smith et al. (2020). Then \"stop!\" he said.", &["See Fig. 3 by J. Smith et al. (2020).", "Then \"stop!\" he said."])]
#[case("One\nline.\n\n- an item\n- another. With two.\n\n> quoted\n> text", &["One\nline.", "- an item", "- another.", "With two.", "quoted\n> text"])]
#[case("# A title\n```\nlet a = 1. ;\n\nb. C\n```\nText.", &["# A title", "let a = 1. ;", "b. C", "Text."])]
#[case("", &[])]
fn texts_are_split_where_sentences_end(#[case] text: &str, #[case] expected: &[&str]) {
    let found: Vec<&str> = sentences(text).into_iter().map(|range| &text[range]).collect();
    assert_eq!(found, expected);
}

#[test]
fn values_are_reported_with_what_stands() {
    let check = judged(
        "Since 3 March 2024 `max_chars` is 1,200 or 5% of 10 GB.",
        "Since 2024-03-03 `max_chars` is 1200 or 6% of 10 GB.",
    );
    let values: Vec<_> = check
        .values
        .iter()
        .map(|value| {
            (value.kind.as_str(), value.written.as_str(), value.value.as_str(), value.unit.as_deref(), value.stands)
        })
        .collect();
    assert_eq!(
        values,
        [
            ("date", "3 March 2024", "2024-03-03", None, true),
            ("number", "1,200", "1200", None, true),
            ("percent", "5%", "5", Some("%"), false),
            ("number", "10 GB", "10", Some("GB"), true),
            ("identifier", "`max_chars`", "max_chars", None, true),
        ]
    );
}

#[test]
fn hostile_texts_are_read_in_bounded_time() {
    let digits = "9".repeat(10_000);
    let long = format!("The limit is {digits} days.");
    assert_eq!(judged(&long, &long).verdict, Verdict::Unsupported);
    let claim = format!("The limit is {} days.", "9".repeat(3000));
    assert_eq!(judged(&claim, &claim).verdict, Verdict::Verified);
    assert_eq!(judged(&claim, &claim.replace("9 days", "8 days")).verdict, Verdict::ValueMismatch);
    let pile = "1,".repeat(20_000) + &"一二三".repeat(10_000) + &"`".repeat(10_000) + &"| a ".repeat(10_000);
    assert_eq!(judged("The limit is 45 days.", &pile).verdict, Verdict::Unsupported);
    assert_eq!(judged("The limit is 45 days.", &"A b. ".repeat(10_000)).verdict, Verdict::Unsupported);
    for piece in ["a-", "1_", "1.", "a.1-", "`", "``a", "1:", "1-", "-", "一", "E4", "'a", "每", "not ", "E42 "] {
        let long = piece.repeat(20_000 / piece.len());
        let quoted = judged_quote("The limit of E42 is 45 days.", &long, &long);
        assert!(!quoted.verdict.is_verified(), "{piece}");
        assert!(!judged("The limit of E42 is 45 days.", &long).verdict.is_verified(), "{piece}");
    }
    let words = "twenty hundred thousand million and one ".repeat(2000);
    assert_eq!(judged("The limit is 45 days.", &words).verdict, Verdict::Unsupported);
}

#[test]
fn a_scorer_of_ones_own_is_held_to_its_range_and_cannot_overrule_a_value() {
    struct Yes(f64);
    impl SupportScorer for Yes {
        fn score(&self, _: &str, _: &str) -> f64 {
            self.0
        }
        fn name(&self) -> &'static str {
            "yes"
        }
    }
    let text = "Refunds take 45 days.";
    let check = |claim: &str, score| check(claim, &Cited { text, headings: &[], quote: None }, &Yes(score), 0.9);
    assert_eq!(check("Refunds take 900 days.", 1.0).verdict, Verdict::ValueMismatch);
    assert_eq!(check("Refunds take 45 days.", f64::NAN).support.to_bits(), 0.0_f64.to_bits());
    assert_eq!(check("Refunds take 45 days.", 7.0).support.to_bits(), 1.0_f64.to_bits());
}

#[rstest]
#[case("退款政策", "系统日志保留 180 天。", "退款日志保留180天", false)]
#[case("退款政策", "系统日志保留 180 天。", "系统日志保留180天", true)]
#[case("Refunds", "The support window is 45 days.", "The refund window is 45 days.", false)]
#[case("Refunds", "The window is 45 days.", "The refund window is 45 days.", true)]
#[case("Refunds", "Logs of systems are kept for 180 days.", "Logs of refunds are kept for 180 days.", false)]
fn a_heading_replaces_no_word_of_a_sentence(
    #[case] heading: &str,
    #[case] text: &str,
    #[case] claim: &str,
    #[case] verified: bool,
) {
    let headings = [heading.to_owned()];
    for quote in [None, Some(0..text.len())] {
        let cited = Cited { text, headings: &headings, quote };
        let check = check(claim, &cited, &WordOverlap, LEAST_SUPPORT);
        assert_eq!(check.verdict.is_verified(), verified, "{check:?}");
    }
}

/// Claims that take words of a text and say something else with them: none may pass, cited or quoted whole.
#[rstest]
#[case("The warranty lasts 24 months, and the battery warranty lasts 12 months.", "The warranty lasts 12 months.")]
#[case("The warranty lasts 24 months, and the battery warranty lasts 12 months.", "Battery lasts 12 months.")]
#[case(
    "The premium account limit is 500 uploads, the account limit is 50 uploads.",
    "The account limit is 500 uploads."
)]
#[case("Set timeout to 30s; set retries to 5.", "Set timeout to 5.")]
#[case("The key length must be 128 or 256 bits.", "The key length must be 256 bits.")]
#[case("The battery pack charger costs 90 dollars.", "The battery costs 90 dollars.")]
#[case("Customers pay shipping, sellers pay taxes.", "Customers pay taxes.")]
#[case("Admins edit pages, users view logs.", "Admins view logs.")]
#[case("顾客承担运费，公司承担税费。", "顾客承担税费。")]
#[case("甲方支付运费，乙方支付保险。", "甲方支付保险。")]
#[case("The museum is closed on Mondays and open on Sundays.", "The museum is closed on Sundays.")]
#[case("Sarah sued Microsoft, and Oracle countersued Sarah.", "Microsoft countersued Sarah.")]
#[case("Paul runs sales. Anna runs support.", "Paul runs support.")]
#[case("The cat sat. The dog did not sleep.", "The cat did not sleep.")]
#[case("The server refuses to delete old logs.", "The server deletes old logs.")]
#[case("The worker stops deleting logs after 30 days.", "The worker deletes logs after 30 days.")]
#[case("Release 7 drops support for Python 2.7.", "Release 7 supports Python 2.7.")]
#[case("Release 8 removed support for Perl scripts.", "Release 8 supports Perl scripts.")]
#[case("The company plans to open 5 offices.", "The company opens 5 offices.")]
#[case("The default quota used to be 100 requests.", "The default quota is 100 requests.")]
#[case("The default deadline was previously 40 seconds.", "The default deadline is 40 seconds.")]
#[case("The deadline was 40 seconds.", "The deadline is 40 seconds.")]
#[case("The old ceiling was 70 connections.", "The ceiling is 70 connections.")]
#[case("The former director is Alice Smith.", "The director is Alice Smith.")]
#[case("Zero bugs were reported in May.", "Bugs were reported in May.")]
#[case("The index ignores deleted documents.", "The index deleted documents.")]
#[case("The daemon ain't running on port 7070.", "The daemon is running on port 7070.")]
#[case("The non-refundable deposit is 50 dollars.", "The refundable deposit is 50 dollars.")]
#[case("Customers may return unopened goods within 45 days.", "Customers may return goods within 45 days.")]
#[case("Workers under 18 may operate the lift.", "Workers may operate the lift.")]
#[case("Uploads larger than 25 MB are rejected.", "Uploads are rejected.")]
#[case("系统取消了对邮件登录的支持。", "系统对邮件登录的支持")]
#[case("原来的保修期是90天。", "保修期是90天。")]
#[case("公司计划开设50家门店。", "公司开设50家门店。")]
#[case("该功能暂停对外开放。", "该功能对外开放。")]
#[case("请别删除该文件夹。", "请删除该文件夹。")]
#[case("员工满一年后享有10天年假。", "员工享有10天年假。")]
#[case("The table has 10\u{2076} rows.", "The table has 10\u{2079} rows.")]
#[case("It takes 1\u{bd} hours.", "It takes 1\u{bc} hours.")]
#[case("It takes \u{664}\u{665} days.", "It takes \u{665}\u{664} days.")]
#[case("The sensor measures CO\u{2082} levels.", "The sensor measures CO levels.")]
#[case("It holds that alpha \u{2260} beta here.", "It holds that alpha = beta here.")]
#[case("It runs while foo != bar holds.", "It runs while foo == bar holds.")]
#[case("Retries are limited to 3 attempts.", "Retries are limited to \u{2013}3 attempts.")]
#[case("Retries are limited to 3 attempts.", "Retries are limited to 3\u{b2} attempts.")]
#[case("Retries are limited to 3 attempts.", "Retries are limited to 3 attempts \u{1f44e}\u{1f6ab}.")]
#[case("Retries are limited to 3 attempts.", "Retries are limited to 3 attempts.\u{e0069}\u{e0067}")]
#[case("| | Basic | Pro |\n|---|---|---|\n| Export | \u{274c} | \u{2705} |", "Export; Basic \u{2705}; Pro \u{274c}")]
#[case("| | Basic | Pro |\n|---|---|---|\n| SSO | - | + |", "SSO; Basic +; Pro -")]
#[case("Version 2.10 removed the export.", "Version 2.1 removed the export.")]
#[case("The plan costs $5 per user per month.", "The plan costs $5.")]
#[case("The plan costs $5 per user per month.", "The plan costs $5 per user.")]
#[case("参会人数为3万5千人。", "参会人数为5千人。")]
#[case("Der Vertrag ist nicht kündbar.", "Der Vertrag ist kündbar.")]
#[case("Le contrat ne peut pas être résilié.", "Le contrat peut être résilié.")]
#[case("Договор нельзя расторгнуть.", "Договор расторгнуть.")]
#[case("返品に料金は必要ない。", "返品に料金は必要")]
#[case(
    "Never do any of the following:\n\n- Disable the firewall in production.\n",
    "Disable the firewall in production."
)]
#[case(
    "These statements are false:\n\n- The limit is 700 requests per minute.\n",
    "The limit is 700 requests per minute."
)]
#[case("<!--\nThe internal discount is 90 percent.\n-->\n", "The internal discount is 90 percent.")]
#[case("**Is the API limit 400 calls per day?** No, it is 250.", "The API limit is 400 calls per day.")]
#[case("It's not set by default in earlier versions.", "It is set by default in earlier versions.")]
#[case("**/W0** suppresses all warnings.", "/Wall suppresses all warnings.")]
#[case("By default, the `/permissive-` option is set.", "By default, the `/permissive` option is set.")]
#[case(
    "| `/GH` | Calls hook function _pexit. |\n| `/GL` | Enables optimization. |\n",
    "/GL calls hook function _pexit."
)]
#[case("The type was deprecated in C++11 and removed in C++17.", "The type was deprecated in C++17.")]
#[case("其中乐观事务是悲观事务的基础。", "悲观事务是乐观事务的基础。")]
#[case("不支持对聚簇索引表进行降级。", "不支持聚簇索引表。")]
#[case("- 是否受控制：否\n", "是否受控制：是")]
#[case("Passwords are hashed with bcrypt; tokens are stored in plain text.", "Passwords are stored in plain text.")]
#[case(
    "The import fails if the file is large or the header is missing.",
    "The import fails if the file is large and the header is missing."
)]
#[case("It is wrong that the limit is 500 requests per minute.", "The limit is 500 requests per minute.")]
fn words_of_a_text_put_to_another_use_are_no_proof(#[case] text: &str, #[case] claim: &str) {
    let headings = ["Compiler options /W0, /W1, /W2, /Wall".to_owned()];
    for quote in [None, Some(0..text.len())] {
        let cited = Cited { text, headings: &headings, quote };
        let check = check(claim, &cited, &WordOverlap, LEAST_SUPPORT);
        assert!(!check.verdict.is_verified(), "{check:?}");
    }
}

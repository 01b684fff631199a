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
#[case(REFUND, "订单签收后45天内可以申请退款", Verdict::Verified)]
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
    fn anything_is_read(claim in "\\PC{0,60}", text in "\\PC{0,200}") {
        let got = judged(&claim, &text);
        prop_assert!(got.span.end <= text.len());
        let _ = judged_quote(&claim, &text, &text);
    }
}

use rstest::rstest;

use super::*;
use crate::gate::claim::{Cited, LEAST_SUPPORT, WordOverlap, check};
use crate::gate::verdict::Verdict;
use crate::model::{Digest, DocumentId};

#[rstest]
#[case(Mutation::Number, "订单签收后45天内可以申请退款。", Some("订单签收后900天内可以申请退款。"))]
#[case(Mutation::Number, "Keys expire after 90 days.", Some("Keys expire after 1800 days."))]
#[case(Mutation::Number, "Error E42 has 0 retries.", Some("Error E42 has 7 retries."))]
#[case(Mutation::Number, "Error E42 means a timeout.", None)]
#[case(Mutation::Unit, "订单签收后 45 天内可以申请退款。", Some("订单签收后 45 小时内可以申请退款。"))]
#[case(Mutation::Unit, "Keys expire after 90 days.", Some("Keys expire after 90 hours."))]
#[case(Mutation::Unit, "A chunk has 800 msgs.", None)]
#[case(Mutation::Unit, "No number of days.", None)]
#[case(Mutation::Negation, "境外出差必须双重批准。", Some("境外出差不需要批准。"))]
#[case(Mutation::Negation, "Keys must be rotated.", Some("Keys must not be rotated."))]
#[case(Mutation::Negation, "Keys cannot be shared.", Some("Keys can be shared."))]
#[case(Mutation::Negation, "Rotate keys.", None)]
#[case(Mutation::Identifier, "错误码E42表示支付超时。", Some("错误码E43表示支付超时。"))]
#[case(Mutation::Identifier, "Set `max_chars` first.", Some("Set `max_chart` first."))]
#[case(Mutation::Identifier, "Rotate keys.", None)]
#[case(Mutation::DroppedClaim, "Rotate keys every 90 days.", None)]
fn claims_are_broken_in_one_place(#[case] mutation: Mutation, #[case] text: &str, #[case] expected: Option<&str>) {
    assert_eq!(mutation.of_claim(text).as_deref(), expected);
}

#[rstest]
#[case("签收后 45 天内", Some("签收后 55 天内"))]
#[case("a", Some("x"))]
#[case("x", Some("q"))]
#[case("…", None)]
#[case("", None)]
fn quotes_are_changed_by_one_character(#[case] quote: &str, #[case] expected: Option<&str>) {
    assert_eq!(Mutation::QuoteTampering.of_quote(quote).as_deref(), expected);
    assert_eq!(Mutation::Number.of_quote(quote), None);
}

#[test]
fn an_unknown_snapshot_is_well_formed_and_of_the_same_document() {
    let chunk = ChunkId::new(DocumentId::new("docs", "a.md"), &Digest::of(b"text"), 2);
    let other = Mutation::UnknownSnapshot.of_chunk(chunk).unwrap();
    assert_eq!((other.document, other.repeat), (chunk.document, chunk.repeat));
    assert_ne!(other, chunk);
    assert_eq!(ChunkId::parse(&other.to_string()), Some(other));
    assert_eq!(Mutation::Number.of_chunk(chunk), None);
}

#[test]
fn lists_are_swapped_and_shortened() {
    assert_eq!(Mutation::SwappedCitation.of_list(&["a", "a", "b", "c"]), Some(vec!["b", "a", "a", "c"]));
    assert_eq!(Mutation::SwappedCitation.of_list(&["a", "a"]), None);
    assert_eq!(Mutation::SwappedCitation.of_list::<&str>(&[]), None);
    assert_eq!(Mutation::DroppedClaim.of_list(&["a", "b"]), Some(vec!["b"]));
    assert_eq!(Mutation::DroppedClaim.of_list::<&str>(&[]), None);
}

/// A sentence establishes itself and none of the claims that are made of it by breaking it.
#[rstest]
#[case("订单 签收 后 45 天 内可以申请退款。")]
#[case("境外出差必须双重批准。")]
#[case("一线城市住宿上限为每晚 800 元。")]
#[case("错误码 E42 表示支付超时。")]
#[case("Keys must be rotated every 90 days.")]
#[case("`max_chars` is 1200 bytes and cannot be larger.")]
fn the_gate_notices(#[case] text: &str) {
    let judged =
        |claim: &str| check(claim, &Cited { text, headings: &[], quote: None }, &WordOverlap, LEAST_SUPPORT).verdict;
    assert_eq!(judged(text), Verdict::Verified);
    let broken: Vec<String> = Mutation::ALL.iter().filter_map(|mutation| mutation.of_claim(text)).collect();
    assert!(!broken.is_empty());
    for claim in broken {
        assert!(!judged(&claim).is_verified(), "{claim}");
    }
}

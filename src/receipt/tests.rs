//! What a receipt says of files that stayed, moved, changed and went, and of itself.

use std::fs;

use rstest::rstest;
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::gate::verdict::Verdict;
use crate::model::{ChunkId, DocumentId, MANIFEST_FORMAT, Shown};
use crate::verify::{JudgedCitation, JudgedClaim, VerifiedSpan};

const FILE: &str = "# Keys\n\nRotate a key every 90 days.\nOld keys stop after 1,200 hours.\n";
const CHUNK: &str = "Rotate a key every 90 days.\nOld keys stop after 1,200 hours.";
const QUOTE: &str = "Rotate a key every 90 days";

fn source() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("keys.md"), FILE).unwrap();
    folder
}

fn chunk_id() -> String {
    ChunkId::new(DocumentId::new("docs", "keys.md"), &Digest::of(CHUNK), 0).to_string()
}

fn manifest() -> Manifest {
    let start = FILE.find(CHUNK).unwrap() as u64;
    let shown = Shown {
        label: "S1".into(),
        chunk_id: chunk_id(),
        source_id: "docs".into(),
        path: "keys.md".into(),
        start_line: 3,
        end_line: 4,
        start_byte: start,
        end_byte: start + CHUNK.len() as u64,
        content_hash: Digest::of(CHUNK).to_string(),
        document_hash: Digest::of(FILE).to_string(),
        score: 1.0,
    };
    Manifest {
        format: MANIFEST_FORMAT,
        run_id: "ab".repeat(16),
        created_at: "2026-11-30T10:00:00.000Z".into(),
        store_id: "cd".repeat(16),
        query: "how often?".into(),
        generation: 1,
        generation_digest: Digest::of("g").to_string(),
        policy_digest: Digest::of("p").to_string(),
        acl_epoch: 0,
        settings: serde_json::Map::new(),
        nonce: "ef".repeat(16),
        chars: 1,
        tokens: None,
        truncated: false,
        unverified_source: false,
        prompt_hash: Digest::of("").to_string(),
        shown: vec![shown],
        refused: vec![],
        events: vec![],
    }
}

fn span(text: &str) -> VerifiedSpan {
    let (start, in_chunk) = (FILE.find(text).unwrap(), CHUNK.find(text).unwrap() as u64);
    let line = line_of(FILE, start);
    VerifiedSpan {
        chunk_id: chunk_id(),
        source_id: "docs".into(),
        path: "keys.md".into(),
        start_line: line,
        end_line: line_of(FILE, start + text.len()),
        start_byte: start as u64,
        end_byte: (start + text.len()) as u64,
        start_char: None,
        end_char: None,
        chunk_start_byte: in_chunk,
        chunk_end_byte: in_chunk + text.len() as u64,
        chunk_start_char: 0,
        chunk_end_char: 0,
        content_hash: Digest::of(CHUNK).to_string(),
        headings: vec!["Keys".into()],
        text: text.into(),
    }
}

fn judged(verdict: Verdict, text: &str) -> JudgedClaim {
    let citation = JudgedCitation {
        reference: "S1".into(),
        quote: None,
        verdict,
        normalisations: vec![],
        span: verdict.is_verified().then(|| span(text)),
        detail: String::new(),
        warnings: vec!["so it is".into()],
    };
    JudgedClaim { text: text.into(), verdict, values: vec![], support: 1.0, citations: vec![citation] }
}

fn verification(claims: Vec<JudgedClaim>) -> Verification {
    let generation_digest = Digest::of("g").to_string();
    Verification { generation: 1, generation_digest, claims, ..Verification::of_nothing(&manifest()) }
}

fn receipt(text: &str) -> Receipt {
    let claims = vec![judged(Verdict::Unsupported, QUOTE), judged(Verdict::Verified, text)];
    Receipt::from_verification(&manifest(), &verification(claims)).unwrap()
}

fn check(receipt: &Receipt, folder: &TempDir) -> ReceiptReport {
    receipt.check(|source| (source == "docs").then(|| folder.path().to_owned()))
}

#[test]
fn only_what_was_verified_is_in_a_receipt() {
    let receipt = receipt(QUOTE);
    assert_eq!(receipt.claims.len(), 1);
    assert_eq!(receipt.claims[0].spans[0].text, QUOTE);
    let report = check(&receipt, &source());
    assert!(report.holds() && report.intact);
    assert_eq!(report.claims[0].spans[0].lines, (3, 3));
    assert_eq!(Receipt::from_json(&receipt.to_json()).unwrap(), receipt);
}

#[test]
fn a_verification_of_another_run_has_no_receipt() {
    let mut other = verification(vec![]);
    other.run_id = "00".repeat(16);
    assert_eq!(Receipt::from_verification(&manifest(), &other).unwrap_err().code(), "invalid");
    let mut unseen = manifest();
    unseen.shown.clear();
    let claims = verification(vec![judged(Verdict::Verified, QUOTE)]);
    assert_eq!(Receipt::from_verification(&unseen, &claims).unwrap_err().code(), "invalid");
}

#[rstest]
#[case::as_it_was(FILE, SpanStatus::Current, "as it was", (3, 3))]
#[case::appended(&format!("{FILE}\nMore.\n"), SpanStatus::ChangedAround, "so does their chunk", (3, 3))]
#[case::beside(&FILE.replace("1,200", "1,300"), SpanStatus::ChangedAround, "around them changed", (3, 3))]
#[case::pushed_down(&format!("New.\n\n{FILE}"), SpanStatus::Moved, "stood on L3-L3", (5, 5))]
#[case::other_line_ends(&FILE.replace('\n', "\r\n"), SpanStatus::Moved, "stood on L3-L3", (3, 3))]
#[case::on_another_line(&FILE.replacen("# Keys", "#\nKeys", 1), SpanStatus::Moved, "stood on L3-L3", (4, 4))]
#[case::another_number(&FILE.replace("90", "30"), SpanStatus::Changed, "no longer", (3, 3))]
#[case::longer_number(&FILE.replace("every 90", "every 190").replace("key", "a key"), SpanStatus::Changed, "no longer", (3, 3))]
#[case::longer_word(&FILE.replace("a key", "a donkey"), SpanStatus::Changed, "no longer", (3, 3))]
#[case::empty("", SpanStatus::Changed, "no longer", (3, 3))]
fn words_are_looked_for_in_the_file(
    #[case] now: &str,
    #[case] status: SpanStatus,
    #[case] detail: &str,
    #[case] lines: (u32, u32),
) {
    let folder = source();
    fs::write(folder.path().join("keys.md"), now).unwrap();
    let report = check(&receipt(QUOTE), &folder);
    let span = &report.claims[0].spans[0];
    assert_eq!((span.status, span.lines), (status, lines), "{}", span.detail);
    assert!(span.detail.contains(detail), "{}", span.detail);
    assert_eq!(report.holds(), status.holds());
}

#[rstest]
#[case("x 1,200 y", "200", true)]
#[case("x 200,5 y", "200", true)]
#[case("x -200 y", "200", true)]
#[case("x 200. y", "200", false)]
#[case("(200)", "200", false)]
#[case("xy", "y", true)]
#[case("退款期限是九十天", "期限", false)]
#[case("key", "key", false)]
fn words_are_not_cut(#[case] file: &str, #[case] text: &str, #[case] cut: bool) {
    assert_eq!(!is_whole(file, file.find(text).unwrap(), text.len()), cut);
}

#[test]
fn what_can_not_be_read_is_missing() {
    let status = |report: ReceiptReport| {
        assert!(!report.holds());
        report.claims[0].spans[0].status
    };
    let (receipt, folder) = (receipt(QUOTE), source());
    assert_eq!(status(receipt.check(|_| None)), SpanStatus::Missing);
    assert_eq!(status(receipt.check(|_| Some(folder.path().join("none")))), SpanStatus::Missing);
    let moved = folder.path().join("moved");
    fs::rename(folder.path().join("keys.md"), &moved).unwrap();
    assert_eq!(status(check(&receipt, &folder)), SpanStatus::Missing);
    std::os::unix::fs::symlink(&moved, folder.path().join("keys.md")).unwrap();
    assert_eq!(status(check(&receipt, &folder)), SpanStatus::Missing, "a link is not followed");
}

#[rstest]
#[case("../keys.md")]
#[case("/etc/passwd")]
#[case("a/../../keys.md")]
fn a_receipt_leads_nowhere_else(#[case] path: &str) {
    let folder = source();
    fs::create_dir(folder.path().join("inner")).unwrap();
    let mut receipt = receipt(QUOTE);
    receipt.claims[0].spans[0].path = path.into();
    let report = receipt.check(|_| Some(folder.path().join("inner")));
    assert_eq!(report.claims[0].spans[0].status, SpanStatus::Missing);
}

#[rstest]
#[case("/query", "why?")]
#[case("/claims/0/spans/0/headings/0", "Other")]
#[case("/claims/0/spans/0/warnings/0", "Other")]
#[case("/run_id", "00000000000000000000000000000000")]
#[case("/claims/0/text", "It says something else.")]
#[case("/claims/0/verdict", "verified_normalised")]
#[case("/claims/0/spans/0/document_hash", "0000000000000000000000000000000000000000000000000000000000000000")]
#[case("/claims/0/spans/0/text", "Rotate a key every 30 days")]
#[case("/digest", "0000000000000000000000000000000000000000000000000000000000000000")]
fn a_changed_receipt_shows(#[case] place: &str, #[case] value: &str) {
    let mut json: Value = serde_json::from_str(&receipt(QUOTE).to_json()).unwrap();
    *json.pointer_mut(place).unwrap() = value.into();
    let changed = Receipt::from_json(&json.to_string()).unwrap();
    let report = check(&changed, &source());
    assert!(!report.intact && !report.holds());
}

#[test]
fn a_chunk_that_never_stood_there_shows_although_the_digest_was_computed_again() {
    let mut forged = receipt(QUOTE);
    forged.claims[0].spans[0].content_hash = Digest::of("other").to_string();
    forged.digest = forged.computed_digest().to_string();
    let report = check(&forged, &source());
    assert!(report.intact);
    assert_eq!(report.claims[0].spans[0].status, SpanStatus::Changed);
}

#[rstest]
#[case("Rotate a key every 30 days", "value_mismatch")]
#[case("Never rotate a key every 90 days", "polarity_mismatch")]
#[case("The moon is made of green cheese", "unsupported")]
fn a_claim_that_its_words_do_not_state_shows_although_the_digest_was_computed_again(
    #[case] claim: &str,
    #[case] code: &str,
) {
    let mut forged = receipt("Rotate a key every 90 days.");
    assert!(check(&forged, &source()).holds());
    forged.claims[0].text = claim.into();
    forged.claims[0].spans[0].headings = vec![claim.into()];
    forged.digest = forged.computed_digest().to_string();
    let report = check(&forged, &source());
    let span = &report.claims[0].spans[0];
    assert!(report.intact && !report.holds());
    assert_eq!(span.status, SpanStatus::Unsupported);
    assert!(span.detail.contains(code), "{}", span.detail);
}

#[test]
fn an_empty_receipt_proves_nothing() {
    let receipt = Receipt::from_verification(&manifest(), &verification(vec![])).unwrap();
    let report = check(&receipt, &source());
    assert!(report.intact && !report.holds());
}

#[test]
fn a_receipt_says_what_was_not_compared_with_its_source() {
    assert!(receipt(QUOTE).unverified_source, "the span has no place in characters");
    let mut claim = judged(Verdict::Verified, QUOTE);
    claim.citations[0].span.as_mut().unwrap().start_char = Some(15);
    let receipt = Receipt::from_verification(&manifest(), &verification(vec![claim])).unwrap();
    assert!(!receipt.unverified_source);
}

#[rstest]
#[case("/format", Value::from(2), "its format is 2")]
#[case("/run_id", Value::from("x"), "run_id")]
#[case("/digest", Value::from("x"), "digest")]
#[case("/generation", Value::from(-1), "invalid value")]
#[case("/claims/0/verdict", Value::from("unsupported"), "claim 1: its verdict")]
#[case("/claims/0/spans", Value::Array(vec![]), "claim 1: it rests on nothing")]
#[case("/claims/0/spans/0/start_line", Value::from(0), "claim 1: its lines")]
#[case("/claims/0/spans/0/end_byte", Value::from(u64::MAX), "claim 1: its text")]
#[case("/claims/0/spans/0/chunk_end_byte", Value::from(0), "claim 1: it does not lie")]
#[case("/claims/0/spans/0/content_hash", Value::from(""), "claim 1: content_hash")]
fn what_is_no_receipt_is_refused(#[case] place: &str, #[case] value: Value, #[case] message: &str) {
    let mut json: Value = serde_json::from_str(&receipt(QUOTE).to_json()).unwrap();
    *json.pointer_mut(place).unwrap() = value;
    let error = Receipt::from_json(&json.to_string()).unwrap_err();
    assert!(error.code() == "invalid" && error.to_string().contains(message), "{error}");
}

#[test]
fn the_digest_can_be_computed_by_anyone() {
    // As `jq -cj 'del(.digest)' receipt.json | sha256sum` does.
    let mut json: Value = serde_json::from_str(&receipt("Old keys stop after 1,200 hours.").to_json()).unwrap();
    let digest = json.as_object_mut().unwrap().shift_remove("digest").unwrap();
    assert_eq!(Digest::of(json.to_string()).to_string(), digest);
}

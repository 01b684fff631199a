//! The gate after the model, on a store and its files: every verdict has a case that gets it, and the same answer where
//! nothing is wrong does not.

use std::fs;

use ragdb::{
    AnswerRecord, Change, ContextRequest, Error, Manifest, Normalisation, Outcome, Principal, ProposedAnswer,
    ProposedCitation, ProposedClaim, Receipt, Store, SyncRequest, SyncSources, Verdict, Verification, VerifyRequest,
};
use rstest::rstest;
use tempfile::TempDir;

const RETURNS: &str = "# Returns\n\n## Refund window\n\nCustomers can return an order within 45 days of delivery and get a \
                       full refund.\nOpened software can not be returned.\n\n## Charges\n\nReturn shipping costs 4.90 \
                       EUR and fails with error `E42` when unpaid.\n";
const LOGS: &str = "# Logs\n\nAccess logs of the refund service are kept for 180 days.\nThe “audit” log is kept for ten \
                    years.\n";
/// Never shown for the question of these tests.
const KEYS: &str = "# Keys\n\nA key opens the store and must be rotated every quarter.\n";

/// A synced folder and a run that was shown two pages of it.
struct Case {
    folder: TempDir,
    store: Store,
    run: Manifest,
}

impl Case {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("docs")).expect("a folder");
        let store = Store::create(folder.path().join("store.db")).expect("a store");
        let write = |name: &str, text: &str| fs::write(folder.path().join("docs").join(name), text).expect("written");
        [("returns.md", RETURNS), ("logs.md", LOGS), ("keys.md", KEYS)]
            .iter()
            .for_each(|(name, text)| write(name, text));
        let mut case = Self { folder, store, run: blank() };
        case.sync();
        let mut request = ContextRequest::new("refund window days, return charges, logs kept");
        request.search.floor = Some(0.0);
        case.run = case.store.context(&Principal::operator(), &request).expect("evidence").manifest;
        case.store.record_run(&Principal::operator(), &case.run).expect("recorded");
        case
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join("docs").join(name), text).expect("it is written");
    }

    fn sync(&self) {
        let sources = SyncSources::Folders(vec![self.folder.path().join("docs")]);
        self.store.sync(&SyncRequest { sources, ..SyncRequest::default() }).expect("it syncs");
    }

    /// The label of the chunk that holds a text.
    fn label(&self, text: &str) -> &str {
        let holds = |id: &str| {
            self.store.cite(&Principal::operator(), id).expect("a chunk").text.is_some_and(|it| it.contains(text))
        };
        &self.run.shown.iter().find(|shown| holds(&shown.chunk_id)).expect("it was shown").label
    }

    /// The id of a chunk that was not shown.
    fn hidden(&self) -> String {
        let hits = self
            .store
            .search(&Principal::operator(), &ragdb::SearchRequest::new("key rotated quarter"))
            .expect("it searches")
            .hits;
        assert!(self.run.shown.iter().all(|shown| shown.chunk_id != hits[0].chunk_id.to_string()));
        hits[0].chunk_id.to_string()
    }

    fn judge(&self, claim: &str, reference: &str, quote: Option<&str>) -> Verification {
        self.judge_with(claim, reference, quote, Vec::new())
    }

    fn judge_with(
        &self,
        claim: &str,
        reference: &str,
        quote: Option<&str>,
        normalise: Vec<Normalisation>,
    ) -> Verification {
        let answer = answer(claim, reference, quote);
        let request = VerifyRequest { normalise, ..VerifyRequest::new(&self.run, &answer) };
        self.store.verify(&Principal::operator(), &request).expect("it is judged")
    }

    fn tamper(&self, sql: &str) {
        let conn = rusqlite::Connection::open(self.folder.path().join("store.db")).expect("it opens");
        assert!(conn.execute(sql, []).expect("it runs") > 0);
    }
}

fn blank() -> Manifest {
    Manifest {
        format: 1,
        run_id: String::new(),
        created_at: String::new(),
        store_id: String::new(),
        query: String::new(),
        generation: 0,
        generation_digest: String::new(),
        policy_digest: String::new(),
        acl_epoch: 0,
        settings: serde_json::Map::new(),
        nonce: String::new(),
        chars: 0,
        tokens: None,
        truncated: false,
        unverified_source: false,
        prompt_hash: String::new(),
        shown: Vec::new(),
        refused: Vec::new(),
        events: Vec::new(),
    }
}

fn answer(claim: &str, reference: &str, quote: Option<&str>) -> ProposedAnswer {
    let citation = ProposedCitation { reference: reference.into(), quote: quote.map(Into::into), range: None };
    ProposedAnswer { claims: vec![ProposedClaim { text: claim.into(), citations: vec![citation] }] }
}

fn verdict(verification: &Verification) -> Verdict {
    verification.claims[0].citations[0].verdict
}

const WINDOW: &str = "Customers can return an order within 45 days of delivery";
const WINDOW_QUOTE: &str = "return an order within 45 days of delivery";

#[test]
fn a_true_quote_is_verified_and_placed() {
    let case = Case::new();
    let verification = case.judge(WINDOW, case.label("45 days"), Some(WINDOW_QUOTE));
    assert_eq!((verdict(&verification), verification.outcome()), (Verdict::Verified, Outcome::Verified));
    let published = verification.published();
    let span = &published[0].span;
    let at = RETURNS.find(WINDOW_QUOTE).expect("it stands there");
    assert_eq!((span.path.as_str(), span.start_line, span.end_line), ("returns.md", 5, 5));
    assert_eq!((span.start_byte, span.end_byte), (at as u64, (at + WINDOW_QUOTE.len()) as u64));
    assert_eq!((span.start_char, span.end_char), (Some(span.start_byte), Some(span.end_byte)));
    assert_eq!(span.text, WINDOW_QUOTE);
    let start = usize::try_from(span.chunk_start_byte).expect("small");
    let chunk = case.store.cite(&Principal::operator(), &span.chunk_id).expect("a chunk").text.expect("its text");
    assert!(chunk[start..].starts_with(WINDOW_QUOTE));
    assert_eq!((verification.dropped(), verification.text().as_str()), (Vec::new(), WINDOW));
}

#[rstest]
#[case::by_label("45 days", Some(WINDOW_QUOTE), WINDOW, Verdict::Verified)]
#[case::empty("45 days", Some("  "), WINDOW, Verdict::QuoteEmpty)]
#[case::short("45 days", Some("45"), WINDOW, Verdict::QuoteTooShort)]
#[case::altered("45 days", Some("return an order within 54 days of delivery"), WINDOW, Verdict::QuoteAltered)]
#[case::elsewhere("45 days", Some("Access logs of the refund service are kept"), WINDOW, Verdict::QuoteMisattributed)]
#[case::joined(
    "45 days",
    Some("Customers can return an order … and get a full refund"),
    WINDOW,
    Verdict::QuoteStitched
)]
#[case::value("45 days", None, "Customers can return an order within 900 days of delivery", Verdict::ValueMismatch)]
#[case::unit("45 days", None, "Customers can return an order within 45 hours of delivery", Verdict::UnitMismatch)]
#[case::denied(
    "45 days",
    None,
    "Customers can not return an order within 45 days of delivery",
    Verdict::PolarityMismatch
)]
#[case::identifier("E42", None, "Return shipping fails with error `E43` when unpaid", Verdict::IdentifierMismatch)]
#[case::unrelated("45 days", Some(WINDOW_QUOTE), "The moon is made of green cheese", Verdict::Unsupported)]
#[case::no_quote("45 days", None, WINDOW, Verdict::Verified)]
fn a_citation_gets_the_code_of_its_first_failure(
    #[case] chunk: &str,
    #[case] quote: Option<&str>,
    #[case] claim: &str,
    #[case] expected: Verdict,
) {
    let case = Case::new();
    let verification = case.judge(claim, case.label(chunk), quote);
    assert_eq!(verdict(&verification), expected, "{verification:?}");
    assert_eq!(verification.published().is_empty(), !expected.is_verified());
    assert_eq!(verification.dropped().is_empty(), expected.is_verified());
}

#[test]
fn what_was_not_shown_is_not_evidence() {
    let case = Case::new();
    let claim = "A key must be rotated every quarter";
    let hidden = case.hidden();
    assert_eq!(verdict(&case.judge(claim, &hidden, None)), Verdict::NotInContext);
    for unknown in [
        "S9",
        "S0",
        "keys",
        "",
        "0123456789abcdef0123456789abcdef:0123456789abcdef:0",
        "keys.md#L1-L900",
        "none.md#L1-L3",
    ] {
        assert_eq!(verdict(&case.judge(claim, unknown, None)), Verdict::UnknownReference, "{unknown}");
    }
    for known in ["keys.md#L1-L3", "keys.md#L3", "docs:keys.md#L3-L3"] {
        assert_eq!(verdict(&case.judge(claim, known, None)), Verdict::NotInContext, "{known}");
    }
}

#[test]
fn a_chunk_may_be_cited_by_its_label_its_id_or_its_lines() {
    let case = Case::new();
    let shown = &case.run.shown[case.run.shown.iter().position(|it| it.label == case.label("45 days")).expect("shown")];
    let lines = format!("{}#L{}-L{}", shown.path, shown.start_line, shown.end_line);
    let within = format!("{}#L{}", shown.path, shown.end_line);
    let named = format!("{}:{lines}", shown.source_id);
    for reference in [&shown.label, &shown.chunk_id, &lines, &within, &named] {
        assert_eq!(verdict(&case.judge(WINDOW, reference, Some(WINDOW_QUOTE))), Verdict::Verified, "{reference}");
    }
}

#[test]
fn lines_that_stand_in_two_sources_are_ambiguous() {
    let mut case = Case::new();
    let label = case.label("45 days").to_owned();
    let shown = case.run.shown.iter().find(|shown| shown.label == label).expect("shown").clone();
    let lines = format!("{}#L{}-L{}", shown.path, shown.start_line, shown.end_line);
    case.run.shown.push(ragdb::Shown { label: "S99".into(), source_id: "other".into(), ..shown });
    let verification = case.judge(WINDOW, &lines, Some(WINDOW_QUOTE));
    assert_eq!(verdict(&verification), Verdict::UnknownReference);
    assert!(verification.dropped()[0].detail.contains("ambiguous"), "{verification:?}");
}

#[test]
fn a_quote_of_any_length_is_judged_at_once() {
    let case = Case::new();
    let long = "return an order within 45 days of delivery ".repeat(2000);
    let verification = case.judge(WINDOW, case.label("45 days"), Some(&long));
    assert_eq!(verdict(&verification), Verdict::QuoteAltered);
    assert!(verification.dropped()[0].detail.contains("65536"), "{verification:?}");
}

#[rstest]
#[case::removed(false)]
#[case::linked(true)]
fn a_file_that_is_gone_from_its_folder_is_stale_whatever_is_allowed(#[case] linked: bool) {
    let case = Case::new();
    let label = case.label("45 days").to_owned();
    let (here, away) = (case.folder.path().join("docs/returns.md"), case.folder.path().join("away.md"));
    fs::rename(&here, &away).expect("it moves");
    if linked {
        std::os::unix::fs::symlink(&away, &here).expect("a link");
    }
    let answer = answer(WINDOW, &label, Some(WINDOW_QUOTE));
    let request = VerifyRequest { allow_unverified_source: true, ..VerifyRequest::new(&case.run, &answer) };
    assert_eq!(verdict(&case.store.verify(&Principal::operator(), &request).expect("it is judged")), Verdict::Stale);
}

#[rstest]
#[case::edited(Some(RETURNS.replace("45", "60")), false, Verdict::Stale)]
#[case::edited_and_synced(Some(RETURNS.replace("45", "60")), true, Verdict::Stale)]
#[case::edited_elsewhere(Some(format!("{RETURNS}\nMore.\n")), false, Verdict::Stale)]
#[case::edited_elsewhere_and_synced(Some(format!("{RETURNS}\nMore.\n")), true, Verdict::Stale)]
#[case::removed(None, false, Verdict::Stale)]
#[case::removed_and_synced(None, true, Verdict::Deleted)]
#[case::untouched(Some(RETURNS.to_owned()), true, Verdict::Verified)]
fn a_source_that_changed_takes_its_citations_with_it(
    #[case] now: Option<String>,
    #[case] synced: bool,
    #[case] expected: Verdict,
) {
    let case = Case::new();
    match now {
        Some(text) => case.write("returns.md", &text),
        None => fs::remove_file(case.folder.path().join("docs/returns.md")).expect("it is there"),
    }
    if synced {
        case.sync();
    }
    let label = case.run.shown.iter().find(|shown| shown.path == "returns.md" && shown.start_line < 6).expect("shown");
    assert_eq!(verdict(&case.judge(WINDOW, &label.label, Some(WINDOW_QUOTE))), expected);
    // A page that nobody touched stays citable.
    let claim = "Access logs of the refund service are kept for 180 days";
    assert_eq!(verdict(&case.judge(claim, case.label("180 days"), None)), Verdict::Verified);
}

#[test]
fn a_source_that_can_t_be_read_is_stale_unless_that_is_allowed() {
    let case = Case::new();
    fs::rename(case.folder.path().join("docs"), case.folder.path().join("away")).expect("it moves");
    let label = &case.run.shown.iter().find(|shown| shown.path == "returns.md" && shown.start_line < 6).expect("shown");
    assert_eq!(verdict(&case.judge(WINDOW, &label.label, Some(WINDOW_QUOTE))), Verdict::Stale);
    let answer = answer(WINDOW, &label.label, Some(WINDOW_QUOTE));
    let request = VerifyRequest { allow_unverified_source: true, ..VerifyRequest::new(&case.run, &answer) };
    let verification = case.store.verify(&Principal::operator(), &request).expect("it is judged");
    assert_eq!(verdict(&verification), Verdict::Verified);
    assert_eq!(verification.published()[0].span.start_char, None);
    assert!(verification.unverified_source());
}

#[test]
fn tampered_text_has_no_integrity() {
    let case = Case::new();
    let label = case.label("45 days").to_owned();
    case.tamper("UPDATE chunk_rows SET text = replace(text, '45', '54') WHERE text LIKE '%45 days%'");
    let claim = WINDOW.replace("45", "54");
    let quote = WINDOW_QUOTE.replace("45", "54");
    assert_eq!(verdict(&case.judge(&claim, &label, Some(&quote))), Verdict::Integrity);
}

#[test]
fn a_manifest_is_held_to_the_store() {
    let mut case = Case::new();
    let label = case.label("45 days").to_owned();
    for shown in &mut case.run.shown {
        shown.content_hash = "0".repeat(64);
    }
    assert_eq!(verdict(&case.judge(WINDOW, &label, Some(WINDOW_QUOTE))), Verdict::Integrity);
    case.run.store_id = "0".repeat(32);
    let answer = answer(WINDOW, &label, Some(WINDOW_QUOTE));
    let refused = case.store.verify(&Principal::operator(), &VerifyRequest::new(&case.run, &answer));
    assert!(matches!(refused, Err(Error::Invalid { message }) if message.contains("another store")));
}

#[test]
fn a_listed_normalisation_is_named_and_nothing_else_passes() {
    let case = Case::new();
    let (claim, label) = ("The audit log is kept for ten years", case.label("audit").to_owned());
    let quote = Some("The \"audit\" log is kept for ten years");
    assert_eq!(verdict(&case.judge(claim, &label, quote)), Verdict::QuoteAltered);
    let overlooked = case.judge_with(claim, &label, quote, Normalisation::ALL.to_vec());
    assert_eq!(verdict(&overlooked), Verdict::VerifiedNormalised);
    assert_eq!(overlooked.published()[0].normalisations, [Normalisation::Quotes]);
    assert_eq!(overlooked.published()[0].span.text, "The “audit” log is kept for ten years");
    let others = vec![Normalisation::Nfc, Normalisation::Dashes, Normalisation::SoftHyphen];
    assert_eq!(verdict(&case.judge_with(claim, &label, quote, others)), Verdict::QuoteAltered);
}

#[test]
fn a_claim_is_as_good_as_its_best_citation_and_an_answer_as_its_worst() {
    let case = Case::new();
    let good =
        ProposedCitation { reference: case.label("45 days").into(), quote: Some(WINDOW_QUOTE.into()), range: None };
    let bad = ProposedCitation { reference: "S99".into(), quote: None, range: None };
    let claim = |text: &str, citations: &[&ProposedCitation]| ProposedClaim {
        text: text.into(),
        citations: citations.iter().map(|&it| it.clone()).collect(),
    };
    let outcome = |claims: Vec<ProposedClaim>| {
        let answer = ProposedAnswer { claims };
        case.store.verify(&Principal::operator(), &VerifyRequest::new(&case.run, &answer)).expect("it is judged")
    };
    assert_eq!(outcome(vec![claim(WINDOW, &[&good])]).outcome(), Outcome::Verified);
    let both = outcome(vec![claim(WINDOW, &[&bad, &good])]);
    assert_eq!((both.outcome(), both.claims[0].verdict), (Outcome::Partial, Verdict::Verified));
    assert_eq!((both.published().len(), both.dropped().len()), (1, 1));
    let bare = outcome(vec![claim(WINDOW, &[&good]), claim("Everything is free.", &[])]);
    assert_eq!((bare.outcome(), bare.claims[1].verdict), (Outcome::Partial, Verdict::Unsupported));
    assert_eq!(bare.text(), WINDOW);
    assert_eq!(outcome(vec![claim(WINDOW, &[&bad])]).outcome(), Outcome::Rejected);
    assert_eq!(outcome(Vec::new()).outcome(), Outcome::Empty);
}

#[test]
fn warnings_are_kept() {
    let case = Case::new();
    let mut verification = case.judge(WINDOW, case.label("45 days"), Some(WINDOW_QUOTE));
    verification.claims[0].citations[0].warnings = vec!["but not on Sundays".into()];
    let record = AnswerRecord { verification: &verification, synthesiser: "external", stop_reason: None, calls: None };
    case.store.record_answer(&Principal::operator(), &record).expect("kept");
    let audit = ragdb::audits().iter().find(|audit| audit.name == "answers").expect("an audit");
    let kept = format!("{:?}", case.store.sql(&Principal::operator(), audit.sql).expect("rows").rows);
    assert!(kept.contains(r#"[\"but not on Sundays\"]"#), "{kept}");
    let receipt = Receipt::from_verification(&case.run, &verification).expect("a receipt");
    assert_eq!(receipt.claims[0].spans[0].warnings, ["but not on Sundays"]);
    assert!(!receipt.unverified_source);
}

#[test]
fn verdicts_are_rows_and_a_sync_shows_what_they_rest_on() {
    let case = Case::new();
    let verification = case.judge(WINDOW, case.label("45 days"), Some(WINDOW_QUOTE));
    let record = AnswerRecord { verification: &verification, synthesiser: "external", stop_reason: None, calls: None };
    let answer_id = case.store.record_answer(&Principal::operator(), &record).expect("kept");
    let kept = case.store.answers(&Principal::operator(), 10).expect("listed");
    assert_eq!((kept.len(), kept[0].answer_id.as_str(), kept[0].verified), (1, answer_id.as_str(), 1));
    let ledger = "SELECT v.kind, v.value, v.unit, v.stands, a.citation FROM audit_answers a \
                  JOIN claim_values v USING (answer_id, claim_no)";
    let rows = case.store.sql(&Principal::operator(), ledger).expect("rows").rows;
    assert_eq!(format!("{rows:?}").matches("45").count(), 1, "{rows:?}");
    assert_eq!(case.store.impact(&Principal::operator()).expect("listed"), Vec::new());
    for refused in [
        "UPDATE citations SET verdict = 'fine'",
        "UPDATE claims SET verdict = 'fine'",
        "UPDATE citations SET end_byte = NULL",
        "UPDATE citations SET warnings = 'none'",
        "UPDATE answers SET unverified_source = 2",
    ] {
        let conn = rusqlite::Connection::open(case.folder.path().join("store.db")).expect("it opens");
        assert!(conn.execute(refused, []).is_err(), "{refused}");
    }

    case.write("returns.md", &format!("{RETURNS}\nMore.\n"));
    case.sync();
    let changes = |case: &Case| {
        case.store.impact(&Principal::operator()).expect("listed").iter().map(|it| it.change).collect::<Vec<_>>()
    };
    assert_eq!(changes(&case), [Change::DocumentChanged]);
    case.write("returns.md", &RETURNS.replace("45", "60"));
    case.sync();
    assert_eq!(changes(&case), [Change::Gone]);

    let mut unknown = verification.clone();
    unknown.run_id = "0".repeat(32);
    let record = AnswerRecord { verification: &unknown, ..record };
    assert!(matches!(case.store.record_answer(&Principal::operator(), &record), Err(Error::NotFound { .. })));
}

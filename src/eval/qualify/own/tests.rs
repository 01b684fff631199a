use std::fs;

use rstest::rstest;
use tempfile::TempDir;

use super::*;
use crate::sync::{SyncRequest, SyncSources};

fn store(page: &str) -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("docs")).unwrap();
    fs::write(folder.path().join("docs/page.md"), page).unwrap();
    fs::write(folder.path().join("docs/other.md"), "# Other\n\nShips moor at a quay; a key opens its gate.\n").unwrap();
    let store = Store::create(folder.path().join("ragdb.db")).unwrap();
    let sources = SyncSources::Folders(vec![folder.path().join("docs")]);
    store.sync(&SyncRequest { sources, ..SyncRequest::default() }).unwrap();
    (folder, store)
}

const PAGE: &str = "# Keys\n\n- A key must not live longer than 90 days, else error E42 follows.\n";

fn experiments(report: &QualifyReport) -> Vec<(&str, usize, f64, bool)> {
    report.experiments.iter().map(|it| (it.name.as_str(), it.count, it.after, it.passed)).collect()
}

#[test]
fn a_store_s_sentence_is_broken_in_every_way() {
    let (_folder, store) = store(PAGE);
    let report = store.qualify(&QualifyRequest::default()).unwrap();
    assert!(report.passed, "{report:#?}");
    assert_eq!((report.claims, report.not_applicable.as_slice()), (1, &[][..]));
    let expected = [
        ("number", 1, 0.0, true),
        ("unit", 1, 0.0, true),
        ("negation", 1, 0.0, true),
        ("identifier", 1, 0.0, true),
        ("unknown_snapshot", 1, 0.0, true),
        ("swapped_citation", 1, 0.0, true),
        ("quote_tampering", 1, 0.0, true),
        ("dropped_claim", 1, 0.0, true),
    ];
    assert_eq!(experiments(&report), expected);
}

#[test]
fn a_store_that_states_nothing_of_the_kind_proves_nothing() {
    let (_folder, store) = store("# Harbours\n\nCranes lift boxes from ships.\n");
    let report = store.qualify(&QualifyRequest::default()).unwrap();
    assert_eq!((report.passed, report.claims, report.experiments.len()), (false, 0, 0));
    assert_eq!(report.not_applicable.len(), Mutation::ALL.len() - 1);
}

#[rstest]
#[case::established("A key must not live longer than 90 days, else error E42 follows.", true)]
#[case::another_number("A key must not live longer than 91 days, else error E42 follows.", false)]
fn expected_facts_are_broken_once_they_are_established(#[case] fact: &str, #[case] established: bool) {
    let (_folder, store) = store(PAGE);
    let case =
        serde_json::json!({"id": "key", "query": "when does error E42 follow for a key", "expected_facts": [fact]});
    let set = EvalSet::parse(&case.to_string(), "cases").unwrap();
    let report = store.qualify(&QualifyRequest { cases: Some(&set), ..QualifyRequest::default() }).unwrap();
    assert_eq!((report.passed, report.claims, report.tried), (established, usize::from(established), 1), "{report:#?}");
    assert_eq!(report.unestablished.is_empty(), established);
    let baseline = report.experiments.iter().find(|it| it.name == "baseline").unwrap();
    assert_eq!(baseline.passed, established);
}

#[test]
fn what_the_gate_lets_pass_is_named_and_fails() {
    let (_folder, store) = store(PAGE);
    let evidence =
        store.context(&Principal::operator(), &ContextRequest::new("when does error E42 follow for a key")).unwrap();
    let quote = PAGE.lines().last().unwrap().trim_start_matches("- ");
    let citation = ProposedCitation { reference: "S1".into(), quote: Some(quote.into()), range: None };
    let claim = ProposedClaim { text: quote.into(), citations: vec![citation] };
    let answer = ProposedAnswer { claims: vec![claim.clone()] };
    let judged = store
        .verify(&Principal::operator(), &VerifyRequest::new(&evidence.manifest, &answer))
        .unwrap()
        .claims
        .remove(0);
    assert!(judged.verdict.is_verified(), "{judged:?}");

    // A gate that takes a broken claim for verified.
    let mut tally = Tally { claims: 1, tried: 1, ..Tally::default() };
    tally.count(Mutation::Number, &judged, &claim, &judged);
    tally.count(Mutation::UnknownSnapshot, &judged, &claim, &judged);
    let report = tally.report(false);
    assert!(!report.passed);
    assert_eq!(experiments(&report)[..2], [("number", 1, 1.0, false), ("unknown_snapshot", 1, 1.0, false)]);
    let missed: Vec<_> = report.missed.iter().map(|it| (it.mutation, it.claim.as_str(), it.broken.as_str())).collect();
    assert_eq!(missed, [(Mutation::Number, quote, quote), (Mutation::UnknownSnapshot, quote, "S1")]);
    assert_eq!(report.missed[0].chunk_id, evidence.manifest.shown[0].chunk_id);
}

#[rstest]
#[case(0)]
#[case(MOST_SENTENCES + 1)]
fn a_sample_out_of_range_is_refused(#[case] sample: usize) {
    let (_folder, store) = store(PAGE);
    let error = store.qualify(&QualifyRequest { sample, cases: None }).unwrap_err();
    assert_eq!(error.to_string(), "the sample must be 1 to 10000 sentences");
}

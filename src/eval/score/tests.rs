use rstest::rstest;
use serde_json::json;

use super::*;
use crate::eval::cases::EvalSet;
use crate::model::{Manifest, Refused, Shown};

fn hit(number: usize, place: &str) -> Ranked {
    Ranked {
        chunk_id: format!("chunk-{number}"),
        source_id: "docs".into(),
        citation: Citation::parse(place).unwrap(),
        score: 1.0,
    }
}

/// Recall, hit, reciprocal rank and nDCG, as reckoned by hand: a hit at rank r gains 1 / log2(r + 1).
#[rstest]
#[case::all_found("a.md#L1 b.md#L1", "a.md b.md", 2, [1.0, 1.0, 1.0, 1.0])]
#[case::second_place("x.md#L1 a.md#L1", "a.md", 2, [1.0, 1.0, 0.5, 0.630_929_753_571_457_4])]
#[case::nothing_found("x.md#L1", "a.md", 2, [0.0, 0.0, 0.0, 0.0])]
#[case::no_hits("", "a.md", 2, [0.0, 0.0, 0.0, 0.0])]
#[case::fewer_hits_than_k("a.md#L1", "a.md b.md", 10, [0.5, 1.0, 1.0, 0.613_147_192_765_458_5])]
#[case::more_relevant_than_k("a.md#L1", "a.md b.md", 1, [0.5, 1.0, 1.0, 1.0])]
#[case::a_document_gains_once("a.md#L1 a.md#L9 b.md#L1", "a.md b.md", 3, [1.0, 1.0, 1.0, 0.919_720_789_148_187_6])]
#[case::lines_are_met_by_any_of_them("a.md#L1-L9", "a.md#L9-L12", 1, [1.0, 1.0, 1.0, 1.0])]
#[case::lines_beside_them_are_not("a.md#L1-L8", "a.md#L9-L12", 1, [0.0, 0.0, 0.0, 0.0])]
#[case::a_hit_that_meets_two("a.md#L1-L9", "a.md#L2 a.md#L7", 1, [1.0, 1.0, 1.0, 1.0])]
#[case::two_of_three("a.md#L1-L9", "a.md#L2 a.md#L7 b.md", 2, [2.0 / 3.0, 1.0, 1.0, 0.613_147_192_765_458_5])]
fn a_ranking_is_scored_by_what_its_hits_meet(
    #[case] hits: &str,
    #[case] relevant: &str,
    #[case] k: usize,
    #[case] expected: [f64; 4],
) {
    let hits: Vec<Ranked> = hits.split_whitespace().enumerate().map(|(number, place)| hit(number, place)).collect();
    let units: Vec<Unit> = relevant.split_whitespace().map(|label| Unit::parse(label).unwrap()).collect();
    let (found, missed) = rank(&hits, &units, k);
    for (found, expected) in [found.recall, found.hit, found.reciprocal_rank, found.ndcg].into_iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }
    assert_eq!(missed.is_empty(), (expected[0] - 1.0).abs() < f64::EPSILON);
}

fn shown(number: u8, path: &str) -> Shown {
    Shown {
        label: format!("S{number}"),
        chunk_id: format!("chunk-{number}"),
        source_id: "docs".into(),
        path: path.into(),
        start_line: 1,
        end_line: 2,
        start_byte: 0,
        end_byte: 9,
        content_hash: String::new(),
        document_hash: String::new(),
        score: 9.0 - f64::from(number),
    }
}

fn refused(number: u8, path: &str, code: &str) -> Refused {
    let Shown { chunk_id, source_id, path, score, .. } = shown(number, path);
    Refused {
        chunk_id,
        source_id,
        path,
        start_line: 1,
        end_line: 2,
        start_byte: 0,
        end_byte: 9,
        content_hash: String::new(),
        document_hash: String::new(),
        score: Some(score),
        code: code.into(),
        detail: String::new(),
    }
}

fn asked(set: &EvalSet, case: usize, shown: Vec<Shown>, refused: Vec<Refused>) -> Asked {
    let manifest: Manifest = serde_json::from_value(json!({
        "format": 1, "run_id": "", "created_at": "", "store_id": "", "query": "", "generation": 1,
        "generation_digest": "", "policy_digest": "", "acl_epoch": 0, "settings": {}, "nonce": "", "chars": 0,
        "tokens": null, "truncated": false, "unverified_source": false, "prompt_hash": "", "shown": [], "refused": [],
        "events": [],
    }))
    .unwrap();
    let manifest = Manifest { shown, refused, ..manifest };
    let evidence = Evidence { manifest, prompt: "退款 45".into() };
    Asked { request: set.requests()[case].clone(), k: 2, max_chars: 5, evidence, answer: None }
}

const GOOD: Reread = Reread { verbatim: true, stale: false, unsafe_rule: None };

fn value_of(metrics: &[(EvalMetric, Option<f64>)], name: EvalMetric) -> Option<f64> {
    metrics.iter().find(|(metric, _)| *metric == name).unwrap().1
}

#[test]
fn each_fault_lowers_its_metric_and_is_named() {
    let set = EvalSet::parse(
        "{\"id\": \"a\", \"query\": \"q\", \"relevant\": [\"a.md\", \"z.md\"], \"forbidden\": [\"b.md\"]}\n\
         {\"id\": \"b\", \"query\": \"q\", \"relevant\": [\"a.md\"], \"forbidden\": [\"b.md\"]}\n\
         {\"id\": \"c\", \"query\": \"q\", \"relevant\": []}\n\
         {\"id\": \"d\", \"query\": \"q\", \"relevant\": []}\n",
        "cases",
    )
    .unwrap();
    let faulty = [
        Reread { verbatim: false, ..GOOD },
        Reread { stale: true, ..GOOD },
        Reread { unsafe_rule: Some("override.en"), ..GOOD },
    ];
    let runs = [
        (asked(&set, 0, vec![shown(1, "a.md"), shown(2, "b.md"), shown(3, "c.md")], vec![]), &faulty[..]),
        (asked(&set, 1, vec![], vec![refused(1, "x.md", "duplicate")]), &[]),
        (asked(&set, 2, vec![shown(1, "a.md")], vec![]), &[GOOD]),
        (Asked { max_chars: 4, ..asked(&set, 3, vec![], vec![]) }, &[]),
    ];
    let cases: Vec<EvalCase> =
        runs.into_iter().zip(set.labels()).map(|((run, reread), labels)| case(run, reread, labels)).collect();
    let found = totals(&cases, set.labels());
    let expected = [
        (EvalMetric::RecallAtK, 0.25),
        (EvalMetric::HitRate, 0.5),
        (EvalMetric::Mrr, 0.5),
        (EvalMetric::CitationPrecision, 0.75),
        (EvalMetric::StaleCitationRate, 0.25),
        (EvalMetric::NegativeAbstentionAccuracy, 0.5),
        (EvalMetric::FalseAbstentionRate, 0.5),
        (EvalMetric::ForbiddenSourceRate, 0.5),
        (EvalMetric::UnsafeEvidenceRate, 0.25),
        (EvalMetric::PromptBudgetViolationRate, 0.25),
    ];
    for (metric, expected) in expected {
        assert_eq!(value_of(&found, metric), Some(expected), "{metric}");
    }
    let faults: Vec<&str> = cases.iter().flat_map(|case| &case.faults).map(String::as_str).collect();
    let expected = [
        "z.md is not among the hits",
        "S1 (a.md#L1-L2) is not what the source file has there",
        "S2 (b.md#L1-L2) is forbidden",
        "S2 (b.md#L1-L2) is of a source file that is not the indexed one",
        "S3 (c.md#L1-L2) is unsafe by rule override.en",
        "no evidence, although something answers the question",
        "a.md is not among the hits",
        "evidence, although nothing answers the question",
        "the prompt is longer than 4 characters",
    ];
    assert_eq!(faults, expected);
}

#[test]
fn what_the_gate_refused_is_no_hit_and_what_had_no_room_is() {
    let set = EvalSet::parse("{\"id\": \"a\", \"query\": \"q\", \"relevant\": [\"b.md\"]}", "cases").unwrap();
    let refused = vec![
        refused(0, "b.md", "source_changed"),
        refused(2, "b.md", "over_budget"),
        refused(4, "d.md", "over_count"),
        Refused { score: None, ..refused(5, "e.md", "below_floor") },
    ];
    let case = case(asked(&set, 0, vec![shown(1, "a.md"), shown(3, "c.md")], refused), &[GOOD, GOOD], &set.labels()[0]);
    let hits: Vec<_> = case.hits.iter().map(|hit| (hit.citation.path.as_str(), hit.is_relevant)).collect();
    assert_eq!(hits, [("a.md", false), ("b.md", true)]);
    assert_eq!(case.ranking.map(|scores| scores.reciprocal_rank), Some(0.5));
}

#[test]
fn what_nothing_was_counted_for_has_no_value_and_misses_its_threshold() {
    let set = EvalSet::parse("{\"id\": \"a\", \"query\": \"q\"}", "cases").unwrap();
    let case = case(asked(&set, 0, vec![], vec![]), &[], &set.labels()[0]);
    assert_eq!((case.ranking, case.faults.len(), case.abstained()), (None, 0, true));
    let found = totals(&[case], set.labels());
    let counted: Vec<_> = found.iter().filter(|(_, value)| value.is_some()).map(|(metric, _)| *metric).collect();
    assert_eq!(counted, [EvalMetric::PromptBudgetViolationRate]);
    let limits = [
        Threshold::new("mrr", 0.0).unwrap(),
        Threshold::new("forbidden_source_rate", 1.0).unwrap(),
        Threshold::new("prompt_budget_violation_rate", 0.0).unwrap(),
    ];
    assert_eq!(hold(&limits, &found).iter().map(|held| held.passed).collect::<Vec<_>>(), [false, false, true]);
}

#[rstest]
#[case("Orders may be returned within 45 days.", "Orders may be returned within 45 days.", true)]
#[case("# Window\n\nOrders may be returned within 45 days.", "Orders may be returned within 45 days.", true)]
#[case("Orders may be returned within 45 days.", "Orders may be returned within 900 days.", false)]
#[case("Orders may be returned within 45 days.", "Orders may not be returned within 45 days.", false)]
#[case("Orders may be returned within 45 days.", "Orders are free.", false)]
fn a_fact_is_established_by_the_gate_s_own_rule(#[case] text: &str, #[case] fact: &str, #[case] expected: bool) {
    assert_eq!(establishes(text, fact), expected);
}

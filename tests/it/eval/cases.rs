//! `eval FILE`: labelled questions, what is shown for them, and the thresholds that it is held to.

use std::fs;

use ragdb::{EvalMetric, EvalReport, EvalRequest, EvalSet, Manifest, Store, SyncRequest, SyncSources, Threshold};
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Project, data_set, repository};

/// The repository's corpus and a page that nobody should trust, with the cases about them.
fn shipped() -> Project {
    let project = Project::new();
    let folder = |name: &str| repository(name).display().to_string();
    project.ok(&["sync", &folder("fixtures/corpus"), &folder("fixtures/untrusted")]);
    project
}

const CASES: &str = "fixtures/eval/cases.jsonl";

#[test]
fn the_shipped_cases_pass() {
    let project = shipped();
    let (code, report) = project.json(&["eval", &repository(CASES).display().to_string()]);
    assert_eq!((code, &report["passed"]), (0, &Value::from(true)), "{report:#}");
    assert_eq!((&report["retriever"], &report["k"], &report["cases"]), (&json!("bm25"), &json!(10), &json!(9)));
    let names: Vec<&str> = report["metrics"].as_object().expect("metrics").keys().map(String::as_str).collect();
    assert_eq!(names, EvalMetric::ALL.map(EvalMetric::name));
    assert!(
        report["results"].as_array().expect("results").iter().all(|case| case["faults"] == json!([])),
        "{report:#}"
    );
    let tight = &report["results"][6];
    assert_eq!((&tight["id"], &tight["truncated"]), (&json!("small-budget"), &json!(true)));
    let refused = tight["refused"].as_array().expect("refused");
    assert!(refused.iter().any(|it| it["code"] == "over_budget"), "{refused:?}");
    assert!(tight["chars"].as_u64() <= tight["max_chars"].as_u64());
}

#[test]
fn thresholds_of_the_command_line_go_before_those_of_the_file() {
    let project = Project::synced();
    project.write(
        "cases.jsonl",
        "{\"id\": \"keys\", \"query\": \"rotate a key\", \"relevant\": [\"guide/keys.md\", \"guide/none.md\"]}\n\
         {\"thresholds\": {\"recall_at_k\": 0.5, \"mrr\": 1}}\n",
    );
    project.ok(&["eval", "cases.jsonl"]);
    let (code, report) = project.json(&["eval", "cases.jsonl", "--threshold", "recall_at_k=0.51"]);
    assert_eq!((code, &report["passed"]), (1, &json!(false)));
    let held: Vec<_> = report["thresholds"].as_array().expect("thresholds").iter().map(ToString::to_string).collect();
    let expected = [
        r#"{"metric":"recall_at_k","bound":"at_least","limit":0.51,"value":0.5,"passed":false}"#,
        r#"{"metric":"mrr","bound":"at_least","limit":1.0,"value":1.0,"passed":true}"#,
    ];
    assert_eq!(held, expected);
    let unmeasured = project.run(&["eval", "cases.jsonl", "--threshold", "negative_abstention_accuracy=0"]);
    assert_eq!(unmeasured.code, 1, "{}", unmeasured.stdout);
    assert!(
        unmeasured.stdout.contains("negative_abstention_accuracy       -  MISSED: at least 0"),
        "{}",
        unmeasured.stdout
    );
}

#[rstest]
#[case::no_set(&["eval"], "required arguments were not provided")]
#[case::two_sets(&["eval", "cases.jsonl", "--beir", "set"], "cannot be used with")]
#[case::beir_only(&["eval", "cases.jsonl", "--min-ndcg", "0.5"], "cannot be used with")]
#[case::missing(&["eval", "none.jsonl"], "none.jsonl: ")]
#[case::metric(&["eval", "cases.jsonl", "--threshold", "recall=1"], "there is no metric \"recall\"")]
#[case::no_limit(&["eval", "cases.jsonl", "--threshold", "mrr"], "expected METRIC=X")]
#[case::broken(&["eval", "cases.jsonl"], "cases.jsonl:2: unknown field `gold`")]
fn what_can_not_be_evaluated_is_an_error(#[case] arguments: &[&str], #[case] message: &str) {
    let project = Project::synced();
    project.write(
        "cases.jsonl",
        "{\"id\": \"a\", \"query\": \"key\"}\n{\"id\": \"b\", \"query\": \"key\", \"gold\": 1}\n",
    );
    let run = project.run(arguments);
    assert_eq!((run.code, run.stderr.contains(message)), (2, true), "{}", run.stderr);
}

fn store(project: &Project, docs: &[&str]) -> Store {
    let store = Store::create(project.path().join("eval.db")).expect("a store is made");
    let sources = SyncSources::Folders(docs.iter().map(Into::into).collect());
    store.sync(&SyncRequest { sources, ..SyncRequest::default() }).expect("the sync succeeds");
    store
}

/// A run without what is drawn by chance or is the time.
fn trace(manifest: &Manifest) -> Manifest {
    let none = String::new;
    Manifest { run_id: none(), created_at: none(), nonce: none(), prompt_hash: none(), ..manifest.clone() }
}

fn value(report: &EvalReport, metric: EvalMetric) -> Option<f64> {
    report.metrics.iter().find(|(name, _)| *name == metric).and_then(|(_, value)| *value)
}

#[test]
fn other_labels_change_scores_and_not_one_event() {
    let project = Project::new();
    let corpus = repository("fixtures/corpus").display().to_string();
    let store = store(&project, &[&corpus]);
    let text = fs::read_to_string(repository(CASES)).expect("the cases are there");
    let labelled = EvalSet::parse(&text, "cases").expect("cases");
    // The same questions; every label is another one.
    let relabel = |line: &str| {
        let mut case: Value = serde_json::from_str(line).expect("a case");
        if case.get("thresholds").is_none() {
            case["relevant"] = json!(["index.md"]);
            case["forbidden"] = json!(["guide/returns.md", "zh/returns.md"]);
            case["expected_facts"] = json!(["The harbour closes at 9."]);
        }
        case.to_string() + "\n"
    };
    let relabelled = EvalSet::parse(&text.lines().map(relabel).collect::<String>(), "cases").expect("cases");
    assert_eq!(labelled.requests(), relabelled.requests());
    let request = EvalRequest::default();
    let one = store.evaluate(&labelled, &request).expect("it is evaluated");
    let other = store.evaluate(&relabelled, &request).expect("it is evaluated");
    for (one, other) in one.results.iter().zip(&other.results) {
        assert_eq!(trace(&one.evidence.manifest), trace(&other.evidence.manifest), "{}", one.id);
        let nonces = [&one.evidence.manifest.nonce, &other.evidence.manifest.nonce];
        assert_eq!(one.evidence.prompt.replace(nonces[0], ""), other.evidence.prompt.replace(nonces[1], ""));
    }
    let changed = [EvalMetric::RecallAtK, EvalMetric::Mrr, EvalMetric::NdcgAtK, EvalMetric::ForbiddenSourceRate];
    for metric in changed {
        assert_ne!(value(&one, metric), value(&other, metric), "{metric}");
    }
    assert!(one.passed && !other.passed);
}

/// The seed's own cases and thresholds.
#[test]
fn the_seed_cases_pass_its_thresholds() {
    let Some(fixtures) = data_set("s0-fixtures", "S0_fixtures") else { return };
    let cases: Value =
        serde_json::from_slice(&fs::read(fixtures.join("cases.json")).expect("the cases are there")).expect("JSON");
    let lines = cases["cases"].as_array().expect("cases").iter().map(|case| format!("{case}\n"));
    let set = EvalSet::parse(&lines.collect::<String>(), "cases.json").expect("the seed's names are known");
    let project = Project::new();
    let store = store(&project, &[&fixtures.join("corpus").display().to_string()]);
    let wanted = [
        ("recall_at_k", 1.0),
        ("citation_precision", 1.0),
        ("stale_citation_rate", 0.0),
        ("negative_abstention_accuracy", 1.0),
        ("forbidden_source_rate", 0.0),
        ("unsafe_evidence_rate", 0.0),
        ("prompt_budget_violation_rate", 0.0),
    ];
    let thresholds = wanted.map(|(metric, limit)| Threshold::new(metric, limit).expect("a metric")).to_vec();
    let report = store.evaluate(&set, &EvalRequest { thresholds, ..EvalRequest::default() }).expect("it is evaluated");
    assert_eq!(report.results.len(), 4);
    let faults: Vec<_> = report.results.iter().map(|case| (&case.id, &case.faults)).collect();
    assert!(report.passed, "{:#?}\n{faults:#?}", report.thresholds);
    assert_eq!(report.thresholds.len(), 7);
}

#[test]
fn answers_are_scored_by_the_facts_that_they_establish() {
    let project = Project::synced();
    let case = |id: &str, query: &str, facts: &[&str]| json!({"id": id, "query": query, "expected_facts": facts});
    let lines = [
        case("one", "how often to rotate a key", &["Rotate a key every 90 days."]),
        case("other", "how many times may a key be used", &["A key may be used 900 times a minute."]),
        json!({"id": "none", "query": "payroll tax deadline", "relevant": []}),
    ];
    project.write("cases.jsonl", lines.map(|line| format!("{line}\n")).concat());
    let (code, report) = project.json(&["eval", "cases.jsonl", "--answer", "--threshold", "claim_coverage=0.5"]);
    let metrics = &report["metrics"];
    assert_eq!((code, &metrics["claim_coverage"]), (0, &json!(0.5)), "{report:#}");
    assert_eq!((&metrics["claim_citation_precision"], &metrics["citation_resolvability"]), (&json!(1.0), &json!(1.0)));
    assert_eq!(report["results"][0]["answer"]["established"], json!([true]));
    let faults = &report["results"][1]["faults"];
    assert_eq!(*faults, json!(["the answer does not establish: A key may be used 900 times a minute."]));
    assert_eq!(report["results"][2]["answer"]["stop_reason"], json!("abstained_no_evidence"));
    let (code, report) = project.json(&["eval", "cases.jsonl", "--threshold", "claim_coverage=0"]);
    assert_eq!((code, &report["metrics"]["claim_coverage"]), (1, &Value::Null));
}

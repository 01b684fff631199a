//! `qualify`: broken answers are noticed, on ragdb's own set, on a store's sentences, and on the facts of cases.

use serde_json::{Value, json};

use crate::support::{Project, data_set, repository};

/// An experiment's count, and its value after.
fn after(report: &Value, name: &str, metric: &str) -> (u64, f64) {
    let experiments = report["experiments"].as_array().expect("experiments");
    let found = experiments.iter().find(|it| it["name"] == name && it["metric"] == metric);
    let found = found.unwrap_or_else(|| panic!("no {metric} of {name} in {report:#}"));
    (found["count"].as_u64().expect("a count"), found["after"].as_f64().expect("a value"))
}

#[test]
fn the_built_in_set_needs_no_store() {
    let project = Project::new();
    let (code, report) = project.json(&["qualify"]);
    assert_eq!((code, &report["passed"], &report["claims"]), (0, &json!(true), &json!(12)), "{report:#}");
    assert!((after(&report, "number", "citation_precision").1 - 11.0 / 12.0).abs() < 1e-12);
    let first: Vec<&String> = report["experiments"][0].as_object().expect("an experiment").keys().collect();
    let names = ["name", "mutation", "count", "metric", "before", "after", "expected", "bound", "passed"];
    assert_eq!(first, names);
    assert!(!project.has("ragdb.db"));
}

#[test]
fn a_store_s_own_sentences_are_broken() {
    let project = Project::new();
    project.ok(&["sync", &repository("fixtures/corpus").display().to_string()]);
    let (code, report) = project.json(&["qualify", "--corpus"]);
    assert_eq!((code, &report["passed"], &report["missed"]), (0, &json!(true), &json!([])), "{report:#}");
    assert!(report["claims"].as_u64() > Some(50), "{report:#}");
    for mutation in ["number", "unit", "negation", "identifier", "swapped_citation", "quote_tampering"] {
        let (count, value) = after(&report, mutation, "citation_precision");
        assert!(count >= 5 && value == 0.0, "{mutation}: {count} {value}");
    }
    // The same store gives the same sample.
    assert_eq!(project.json(&["qualify", "--corpus"]).1, report);
    let (_, small) = project.json(&["qualify", "--corpus", "--sample", "7"]);
    assert_eq!(small["claims"], json!(7));
}

#[test]
fn the_facts_of_cases_are_broken_and_one_that_is_not_there_fails() {
    let project = Project::synced();
    let case = |fact: &str| json!({"id": "a", "query": "rotate a key", "expected_facts": [fact]}).to_string();
    project.write("good.jsonl", case("Rotate a key every 90 days."));
    project.write("bad.jsonl", case("Rotate a key every 30 days."));
    project.ok(&["qualify", "good.jsonl"]);
    let bad = project.run(&["qualify", "bad.jsonl"]);
    assert_eq!(bad.code, 1, "{}", bad.stdout);
    assert!(bad.stdout.contains("not established: a: Rotate a key every 30 days."), "{}", bad.stdout);
    assert!(bad.stderr.contains("no claim was verified"), "{}", bad.stderr);
    assert_eq!(project.run(&["qualify", "good.jsonl", "--corpus"]).code, 2);
    assert_eq!(project.run(&["qualify", "--sample", "5"]).code, 2);
}

#[test]
fn real_documents_in_two_languages_are_broken() {
    for set in ["small-rust-book/v3", "small-vue-zh/v3"] {
        let Some(folder) = data_set("docs-small", &format!("C_docs/{set}")) else { return };
        let project = Project::new();
        project.ok(&["sync", "--keep-going", &folder.display().to_string()]);
        let (code, report) = project.json(&["qualify", "--corpus", "--sample", "100"]);
        assert_eq!((code, &report["missed"], &report["claims"]), (0, &json!([]), &json!(100)), "{set}: {report:#}");
    }
}

//! Exit codes, and errors as text and as JSON.

use rstest::rstest;
use serde_json::Value;

use crate::support::Project;

#[rstest]
#[case::help(&["--help"], 0)]
#[case::version(&["--version"], 0)]
#[case::help_of_a_verb(&["help", "sync"], 0)]
#[case::no_verb(&[], 2)]
#[case::no_such_verb(&["serach", "key"], 2)]
#[case::no_such_option(&["search", "key", "--tpo-k", "3"], 2)]
#[case::no_query(&["search"], 2)]
#[case::not_a_number(&["search", "key", "--top-k", "many"], 2)]
#[case::out_of_range(&["search", "key", "--top-k", "0"], 2)]
#[case::no_share(&["search", "key", "--floor", "1.5"], 2)]
#[case::no_finite_number(&["search", "key", "--min-score", "NaN"], 2)]
#[case::quiet_and_verbose(&["log", "-q", "-v"], 2)]
#[case::found(&["search", "key"], 0)]
#[case::not_found(&["search", "xyzzy"], 1)]
#[case::not_good_enough(&["search", "key", "--min-score", "1000"], 1)]
#[case::cited(&["cite", "guide/keys.md#L3"], 0)]
#[case::unknown_citation(&["cite", "guide/keys.md#L999"], 1)]
#[case::no_citation(&["cite", "what?"], 2)]
#[case::a_generation(&["show", "1"], 0)]
#[case::no_such_generation(&["show", "7"], 2)]
#[case::difference(&["diff", "0", "1"], 0)]
#[case::backwards_difference(&["diff", "1", "0"], 2)]
#[case::checked(&["check"], 0)]
#[case::deep_without_sources(&["check", "--deep", "--no-sources"], 2)]
#[case::sql(&["sql", "SELECT 1"], 0)]
#[case::sql_from_an_empty_input(&["sql"], 2)]
#[case::bad_sql(&["sql", "SELEC 1"], 2)]
#[case::no_such_audit(&["sql", "--audit", "none"], 2)]
#[case::two_formats(&["sql", "--csv", "--table", "SELECT 1"], 2)]
#[case::missing_folder(&["sync", "nowhere"], 2)]
#[case::folder_and_configuration(&["sync", "docs", "--config", "ragdb.yaml"], 2)]
#[case::missing_configuration(&["status", "--config", "none.yaml"], 2)]
#[case::bad_chunking(&["sync", "docs", "--max-chars", "0"], 2)]
#[case::missing_store(&["log", "--db", "none.db"], 2)]
#[case::missing_store_for_sync(&["sync", "--db", "none.db"], 2)]
#[case::foreign_store(&["log", "--db", "docs/guide/keys.md"], 2)]
#[case::missing_data_set(&["eval", "--beir", "nowhere"], 2)]
#[case::no_such_shell(&["completions", "tcsh"], 2)]
fn exit_codes(#[case] arguments: &[&str], #[case] expected: i32) {
    let project = Project::synced();
    let run = project.run(arguments);
    assert_eq!(run.code, expected, "{arguments:?}\n{}{}", run.stdout, run.stderr);
    if expected == 2 {
        assert_eq!(run.stdout, "", "an error leaves standard output alone");
        assert!(!run.stderr.is_empty());
    }
    if expected < 2 && !arguments.is_empty() && !arguments[0].contains("help") && arguments[0] != "--version" {
        let (code, document) = project.json(arguments);
        assert_eq!(code, expected);
        assert!(document.get("error").is_none(), "{document}");
    }
}

#[rstest]
#[case(&["serach", "key"], "usage")]
#[case(&["search", "key", "--tpo-k", "3"], "usage")]
#[case(&[], "usage")]
#[case(&["sync", "docs", "--config", "ragdb.yaml"], "usage")]
#[case(&["sql", "--audit", "none"], "usage")]
#[case(&["log", "--db", "none.db"], "store_missing")]
#[case(&["log", "--db", "docs/guide/keys.md"], "foreign_store")]
#[case(&["sync", "nowhere"], "root_missing")]
#[case(&["show", "7"], "not_found")]
#[case(&["cite", "what?"], "invalid")]
#[case(&["status", "--config", "none.yaml"], "io")]
fn an_error_is_one_json_document(#[case] arguments: &[&str], #[case] code: &str) {
    let project = Project::synced();
    let run = project.run(&[&["--json"], arguments].concat());
    assert_eq!(run.code, 2);
    assert_eq!(run.stderr, "");
    assert_eq!(run.stdout.lines().count(), 1, "{}", run.stdout);
    let document: Value = serde_json::from_str(&run.stdout).expect("a document");
    assert_eq!(document["error"]["code"], code, "{document}");
    let message = document["error"]["message"].as_str().expect("a message");
    assert!(!message.is_empty() && !message.contains("error:") && !message.contains('\n'), "{message}");
    assert!(document["error"].get("hint").is_some());
}

#[test]
fn an_unpublished_store_can_be_asked() {
    let project = Project::with_docs();
    project.write("docs/bad.md", b"\xff");
    assert_eq!(project.run(&["sync", "docs"]).code, 2);
    assert_eq!(project.json(&["log"]).1["generations"], Value::from(Vec::<Value>::new()));
    assert_eq!(project.json(&["status", "--no-plan"]).1["generation"], Value::Null);
    assert_eq!(project.json(&["search", "key"]).1["error"]["code"], "not_found");
}

#[test]
fn a_mistyped_folder_leaves_no_store_behind() {
    let project = Project::with_docs();
    assert_eq!(project.run(&["sync", "dosc"]).code, 2);
    assert!(!project.has("ragdb.db"));
}

#[test]
fn a_configuration_decides_sources_and_policy() {
    let project = Project::with_docs();
    project.write("ragdb.yaml", "sources:\n  - id: guide\n    path: docs/guide\nchunking:\n  max_chars: 300\n");
    project.write("below/here/x.txt", "");
    let run = |folder: &str, arguments: &[&str]| {
        let output = project.command(arguments).current_dir(project.path().join(folder)).output().expect("ragdb runs");
        crate::support::Run::from(output)
    };
    assert_eq!(run("below/here", &["sync", "--db", "../../ragdb.db"]).code, 0);
    assert_eq!(project.json(&["status"]).1["sources"][0]["source_id"], "guide");
    assert_eq!(project.json(&["status"]).1["policy"]["chunking"]["max_chars"], 300);
    assert_eq!(project.json(&["search", "key"]).0, 0);

    project.write("ragdb.yaml", "sources:\n  - id: guide\n    path: docs/guide\nchunking:\n  max_chars: 400\n");
    assert_eq!(project.json(&["search", "key"]).1["error"]["code"], "policy_mismatch");
    assert_eq!(project.json(&["status"]).1["pending"]["rebuild"].as_array().map(Vec::is_empty), Some(false));
    assert_eq!(project.json(&["sync"]).1["published"], true);
    assert_eq!(project.json(&["search", "key"]).0, 0);

    project.write("ragdb.yaml", "sources: 7\n");
    for verb in [&["search", "key"][..], &["sync"], &["status"]] {
        assert_eq!(project.json(verb).1["error"]["code"], "config", "{verb:?}");
    }
    assert_eq!(project.run(&["sync", "docs"]).code, 0, "with a folder named, ragdb.yaml is not read");
}

#[test]
fn the_environment_names_the_store_unless_it_is_empty() {
    let project = Project::synced();
    let run = |value: &str, arguments: &[&str]| {
        project.command(arguments).env("RAGDB_DB", value).output().expect("ragdb runs").status.code()
    };
    assert_eq!(run("none.db", &["log"]), Some(2));
    assert_eq!(run("none.db", &["log", "--db", "ragdb.db"]), Some(0));
    assert_eq!(run("", &["log"]), Some(0));
}

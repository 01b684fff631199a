//! Readers on the command line.

use rstest::rstest;
use serde_json::Value;

use super::SOURCES;
use crate::support::{Project, Run};

const ALICE: [&str; 6] = ["--tenant", "acme", "--user", "alice", "--group", "staff"];
const BOB: [&str; 6] = ["--tenant", "acme", "--user", "bob", "--group", "hr"];
const ANYONE: [&str; 1] = ["--public"];
const OPERATOR: [&str; 0] = [];

fn project() -> Project {
    let project = Project::new();
    project.write("ragdb.yaml", SOURCES);
    project.write("hr/salaries.md", "# Salaries\n\nA key account earns 90 gold.\n");
    project.write("rival/keys.md", "# Keys\n\nTheir key is a secret.\n");
    project.write("site/keys.md", "# Keys\n\nA key opens the store.\n");
    project.write("staff/leave.md", "# Leave\n\nA key stays at the desk.\n");
    project.ok(&["sync"]);
    project
}

fn json(project: &Project, arguments: &[&str], reader: &[&str]) -> Value {
    project.json(&[arguments, reader].concat()).1
}

fn found(project: &Project, reader: &[&str]) -> Vec<String> {
    let result = json(project, &["search", "key"], reader);
    let hits = result["hits"].as_array().expect("hits").iter();
    let mut found: Vec<String> =
        hits.map(|hit| format!("{}/{}", hit["source_id"].as_str().unwrap(), hit["path"].as_str().unwrap())).collect();
    found.sort();
    found
}

#[test]
fn each_finds_their_own() {
    let project = project();
    assert_eq!(found(&project, &ALICE), ["site/keys.md", "staff/leave.md"]);
    assert_eq!(found(&project, &BOB), ["hr/salaries.md", "site/keys.md"]);
    assert_eq!(found(&project, &ANYONE), ["site/keys.md"]);
    assert_eq!(found(&project, &OPERATOR).len(), 4);
    project.write("alice.json", r#"{"tenant": "acme", "subject": "alice", "groups": ["staff"]}"#);
    assert_eq!(found(&project, &["--as", "alice.json"]), found(&project, &ALICE));
    assert_eq!(found(&project, &["--user", "alice"]), ["site/keys.md"], "she is of no tenant");
    assert_eq!(found(&project, &["--scope", "nowhere"]), [""; 0]);
}

#[test]
fn what_is_wrong_with_the_configuration_is_told_to_the_operator_alone() {
    let project = project();
    project.write("ragdb.yaml", SOURCES.replace("groups: [hr]}", "groups: [board]}"));
    for verb in [&["search", "key"][..], &["context", "key"], &["answer", "key", "--no-record"]] {
        let told = |reader: &[&str]| project.run(&[verb, reader].concat()).stderr;
        for reader in [&ALICE[..], &ANYONE] {
            let told = told(reader);
            assert!(told.contains("the configuration can't be read; ask whoever keeps the store"), "{told}");
            assert!(!told.contains("board") && !told.contains("hr"), "{told}");
        }
        assert!(told(&OPERATOR).contains("board"));
    }
}

#[rstest]
#[case::a_group_of_nobody(&["search", "key", "--group", "staff"])]
#[case::a_tenant_of_nobody(&["search", "key", "--tenant", "acme"])]
#[case::anyone_in_particular(&["search", "key", "--public", "--user", "alice"])]
#[case::a_file_and_a_user(&["search", "key", "--as", "alice.json", "--user", "alice"])]
#[case::a_file_and_a_scope(&["search", "key", "--as", "alice.json", "--scope", "s"])]
#[case::no_file(&["search", "key", "--as", "nobody.json"])]
#[case::no_name(&["search", "key", "--user", ""])]
#[case::no_time(&["search", "key", "--at", "tomorrow"])]
#[case::a_time_ahead(&["search", "key", "--user", "alice", "--at", "2999-01-01"])]
#[case::the_operators_audit(&["sql", "--audit", "terms", "--public"])]
fn a_reader_that_can_t_be_is_an_error(#[case] arguments: &[&str]) {
    let project = project();
    assert_eq!(project.run(arguments).code, 2);
}

#[test]
fn what_is_forbidden_is_unknown() {
    let project = project();
    let said = |arguments: &[&str], name: &str| {
        let Run { code, stdout, stderr } = project.run(&[arguments, &ALICE].concat());
        (code, (stdout + &stderr).replace(name, "NAME"))
    };
    for (forbidden, unknown) in [("hr:salaries.md", "hr:nothing.md"), ("rival:keys.md", "none:keys.md")] {
        let cite = |name: &str| said(&["cite", &format!("{name}#L3")], name);
        assert_eq!(cite(forbidden), cite(unknown));
    }
    assert_eq!(json(&project, &["log"], &ALICE)["generations"][0]["generation"], 1);
    let status = json(&project, &["status"], &ALICE);
    assert_eq!(
        (&status["documents"], &status["file_bytes"], &status["segments"]),
        (&2.into(), &Value::Null, &Value::Null)
    );
    assert_eq!(status["sources"].as_array().expect("sources").len(), 2);
    assert!(status["sources"][0]["root"].is_null() && status.get("pending").is_none());
    assert!(project.ok(&[&["status"][..], &ALICE].concat()).stdout.contains("documents   2"));
    let documents = json(&project, &["sql", "SELECT source_id, path FROM documents ORDER BY 1"], &ALICE);
    assert_eq!(documents["rows"], serde_json::json!([["site", "keys.md"], ["staff", "leave.md"]]));
}

#[test]
fn a_run_is_its_reader_s() {
    let project = project();
    let run = json(&project, &["context", "desk", "key"], &ALICE);
    let id = run["run_id"].as_str().expect("an id");
    assert_eq!(project.run(&[&["cite", "S1", "--run", "last"][..], &ALICE].concat()).code, 0);
    for reader in [&BOB[..], &ANYONE] {
        assert_eq!(project.run(&[&["cite", "S1", "--run", "last"], reader].concat()).code, 2);
        assert_eq!(project.run(&[&["cite", "S1", "--run", id], reader].concat()).code, 2);
    }
    assert_eq!(project.run(&["cite", "S1", "--run", id]).code, 0);
    project.write("answer.txt", "A key stays at the desk [S1].\n");
    let verify = |reader: &[&str]| project.run(&[&["verify", "answer.txt", "--run", id], reader].concat());
    assert_eq!((verify(&ALICE).code, verify(&BOB).code), (0, 2));
    project.write("ragdb.yaml", SOURCES.replace("groups: [staff]", "groups: [hr]"));
    project.ok(&["sync"]);
    let (hers, ours) = (verify(&ALICE), verify(&OPERATOR));
    assert!(hers.code == 1 && hers.stdout.contains("unknown_reference"), "{}", hers.stdout);
    assert!(ours.code == 1 && ours.stdout.contains("forbidden"), "{}", ours.stdout);
    let answers = |reader: &[&str]| json(&project, &["answers"], reader)["answers"].as_array().expect("answers").len();
    assert_eq!((answers(&ALICE), answers(&BOB), answers(&OPERATOR)), (0, 0, 3));
    assert_eq!(project.run(&[&["cite", "S1", "--run", id][..], &ALICE].concat()).code, 2);
}

#[test]
fn nothing_is_recorded_for_who_may_read_nothing() {
    let project = |hidden: bool| {
        let project = Project::new();
        project.write("ragdb.yaml", "sources:\n  - {id: hr, path: hr, visibility: private, groups: [hr]}\n");
        std::fs::create_dir_all(project.path().join("hr")).expect("a folder is made");
        if hidden {
            project.write("hr/salaries.md", "# Salaries\n\nA key account earns 90 gold.\n");
        }
        project.ok(&["sync", "--max-delete", "0"]);
        project
    };
    let said = |hidden: bool, arguments: &[&str]| {
        let Run { code, stdout, stderr } = project(hidden).run(&[arguments, &ALICE].concat());
        let text = (stdout + &stderr).lines().filter(|line| !line.contains("run")).collect::<Vec<_>>().join("\n");
        (code, text.split_whitespace().filter(|word| word.len() < 30).collect::<Vec<_>>().join(" "))
    };
    for arguments in [&["context", "salaries"], &["answer", "salaries"]] {
        let (empty, closed) = (said(false, arguments), said(true, arguments));
        assert_eq!(empty, closed, "{arguments:?}");
        assert!(empty.0 == 1 && empty.1.contains("nothing is recorded"), "{empty:?}");
    }
}

#[test]
fn a_receipt_is_written_for_who_may_read_nothing_any_more() {
    let project = project();
    project.write("ragdb.yaml", SOURCES.replace("groups: [staff]", "groups: [staff], scope: desk"));
    project.ok(&["sync"]);
    let desk = [&ALICE[..], &["--scope", "desk"]].concat();
    let run = json(&project, &["context", "desk", "key"], &desk);
    let id = run["run_id"].as_str().expect("an id");
    project.write("answer.txt", "A key stays at the desk [S1].\n");
    let verify = |receipt: &str| {
        project.run(&[&["verify", "answer.txt", "--run", id, "--receipt", receipt][..], &desk].concat()).code
    };
    assert_eq!(verify("before.json"), 0);
    project.ok(&["acl", "revoke", "staff", "--group", "staff"]);
    assert_eq!(verify("after.json"), 1);
    let receipt = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(project.path().join(name)).expect("a receipt")).expect("JSON")
    };
    let (before, after) = (receipt("before.json"), receipt("after.json"));
    assert_eq!((&before["generation"], &after["generation"]), (&run["generation"], &0.into()));
    assert_eq!((before["claims"].as_array().unwrap().len(), after["claims"].as_array().unwrap().len()), (1, 0));
    assert_ne!(before["generation_digest"], after["generation_digest"]);
}

//! Vectors from the command line: which model, what is printed, what stays where it fails.

use std::fs;

use insta::assert_snapshot;
use rstest::rstest;

use super::snapshot_settings;
use crate::stub::{Reply, Stub};
use crate::support::Project;

/// A snapshot of runs, each with its exit code and both streams.
fn check(name: &str, project: &Project, runs: &[&[&str]]) {
    let transcripts = runs.iter().map(|run| format!("$ ragdb {}\n{}", run.join(" "), project.run(run).transcript()));
    let transcript = transcripts.collect::<Vec<_>>().join("\n");
    snapshot_settings().bind(|| assert_snapshot!(name, transcript));
}

#[test]
fn embed_makes_what_is_new_and_status_tells_what_is_missing() {
    let project = Project::synced();
    check("embed_no_model", &project, &[&["embed"]]);
    check("embed", &project, &[&["embed", "--embedder", "hashing"], &["embed", "--embedder", "hashing", "-q"]]);
    project.write("docs/guide/new.md", "# New\n\nA new page.\n");
    project.ok(&["sync"]);
    check("embed_status", &project, &[&["status", "--no-plan"]]);
    check("embed_json", &project, &[&["embed", "--embedder", "hashing", "--json"]]);
    check("embed_anew", &project, &[&["embed", "--embedder", "hashing", "--anew"]]);
}

#[test]
fn the_configuration_names_a_model_and_the_environment_goes_before_it() {
    let project = Project::synced();
    project.write("ragdb.yaml", "sources:\n  - id: docs\n    path: docs\nembedding:\n  kind: local\n  path: model\n");
    let by_file = project.run(&["embed"]);
    // Without the feature, or without the folder: the model that the file names is the one that can't be used.
    assert_eq!(by_file.code, 2);
    assert!(by_file.stderr.contains("model"), "{}", by_file.stderr);
    let by_variable = project.command(&["embed"]).env("RAGDB_EMBEDDER", "hashing").output().expect("it runs");
    assert!(by_variable.status.success(), "{}", String::from_utf8_lossy(&by_variable.stderr));
}

#[test]
fn sync_makes_vectors_of_what_it_publishes() {
    let project = Project::with_docs();
    check("sync_embed", &project, &[&["sync", "docs", "--embed", "--embedder", "hashing"]]);
    project.write("docs/guide/new.md", "# New\n\nA new page.\n");
    check("sync_embed_json", &project, &[&["sync", "--embed", "--embedder", "hashing", "--json"]]);
    check("sync_embed_dry_run", &project, &[&["sync", "--embed", "--dry-run"]]);
}

#[rstest]
fn what_was_published_stays_where_the_model_fails(#[values(false, true)] json: bool) {
    let stub = Stub::new(vec![Reply::status("401 Unauthorized", "", "{}")]);
    let project = Project::with_docs();
    let url = stub.url();
    project.write(
        "ragdb.yaml",
        format!(
            "sources:\n  - id: docs\n    path: docs\nembedding:\n  kind: endpoint\n  base_url: {url}\n  model: m\n  \
             dimensions: 2\n  floor: 0.3\n  api_key_env: ''\n"
        ),
    );
    let failed = project.run(if json { &["sync", "--embed", "--json"][..] } else { &["sync", "--embed"] });
    assert_eq!(failed.code, 2, "{}", failed.transcript());
    assert_eq!(failed.stdout.contains("published generation 1"), !json);
    assert!(failed.transcript().contains("401"), "{}", failed.transcript());
    assert!(project.ok(&["search", "key"]).stdout.contains("keys.md"));
    assert!(fs::metadata(project.path().join("ragdb.db")).is_ok());
    assert!(project.ok(&["sync"]).stdout.contains("nothing changed"));
}

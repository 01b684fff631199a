//! What each verb prints, as text and as JSON.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use super::snapshot_settings;
use crate::support::Project;

/// A snapshot of a run's exit code and both streams.
fn check(name: &str, project: &Project, arguments: &[&str]) {
    let transcript = format!("$ ragdb {}\n{}", arguments.join(" "), project.run(arguments).transcript());
    snapshot_settings().bind(|| assert_snapshot!(name, transcript));
}

/// A project with three generations: one changed, added and deleted file each, and a file that fails.
fn edited() -> Project {
    let project = Project::synced();
    project.write("docs/guide/limits.md", "# Limits\n\nA request may have 8 parts.\n");
    project.write("docs/guide/new.md", "# New\n\nA new page.\n");
    project.remove("docs/zh/keys.md");
    project.ok(&["sync"]);
    project.write("docs/bad.md", b"# Bad\n\n\xff\n");
    project.write("docs/guide/new.md", "# New\n\nAnother page.\n");
    project.ok(&["sync", "--keep-going"]);
    project
}

#[test]
fn sync_publishes_then_finds_nothing_to_do_then_publishes_changes() {
    let project = Project::with_docs();
    check("sync_dry_run_first", &project, &["sync", "docs", "--dry-run"]);
    assert!(!project.has("ragdb.db"), "a dry run writes nothing");
    check("sync_first", &project, &["sync", "docs"]);
    check("sync_again", &project, &["sync"]);
    project.write("docs/guide/limits.md", "# Limits\n\nA request may have 8 parts.\n");
    project.remove("docs/zh/keys.md");
    check("sync_dry_run", &project, &["sync", "--dry-run"]);
    check("sync_changes_json", &project, &["sync", "--json"]);
    check("sync_rebuild", &project, &["sync", "--max-chars", "200"]);
}

#[test]
fn sync_names_each_failed_file() {
    let project = Project::with_docs();
    project.write("docs/bad.md", b"# Bad\n\n\xff\n");
    project.write("docs/empty.md", "\n");
    check("sync_failed", &project, &["sync", "docs"]);
    check("sync_failed_json", &project, &["sync", "docs", "--json"]);
    check("sync_failed_dry_run", &project, &["sync", "docs", "--dry-run"]);
    check("sync_keep_going", &project, &["sync", "docs", "--keep-going"]);
    check("sync_keep_going_json", &project, &["sync", "docs", "--keep-going", "--json"]);
    check("sync_keep_going_quiet", &project, &["sync", "docs", "--keep-going", "-q"]);
}

#[test]
fn search_shows_where_each_hit_stands() {
    let project = Project::synced();
    check("search", &project, &["search", "rotate", "key"]);
    check("search_chinese", &project, &["search", "撤销的密钥"]);
    check("search_json", &project, &["search", "E42", "--top-k", "1", "--json"]);
    check("search_nothing", &project, &["search", "xyzzy"]);
    check("search_nothing_quiet", &project, &["search", "xyzzy", "-q"]);
    check("search_nothing_json", &project, &["search", "xyzzy", "--json"]);
}

#[test]
fn context_prints_evidence_and_keeps_the_run() {
    let project = Project::synced();
    check("context", &project, &["context", "rotate", "key", "--max-chunks", "1"]);
    check("context_json", &project, &["context", "E42", "--max-chunks", "1", "--json"]);
    check("context_nothing", &project, &["context", "xyzzy"]);
    check("context_small", &project, &["context", "rotate", "key", "--max-chars", "100"]);
    check("context_label", &project, &["cite", "S1"]);
    let (_, runs) = project.json(&["sql", "SELECT run_id FROM runs WHERE query = 'rotate key'"]);
    let run = runs["rows"][0][0].as_str().expect("the run is recorded");
    check("context_cite", &project, &["cite", "[S1]", "--run", run]);
    assert_eq!(project.run(&["cite", "S2", "--run", run]).code, 2, "it is not in the run");
    project.write("docs/guide/keys.md", "# Keys\n");
    let (code, cited) = project.json(&["cite", "S1", "--run", &run[..8]]);
    assert_eq!((code, &cited["status"], &cited["ref"]), (1, &"stale".into(), &"S1".into()));
    check("context_stale", &project, &["context", "rotate", "key", "-v"]);
}

#[test]
fn context_writes_a_manifest_and_nothing_else() {
    let project = Project::synced();
    let before = fs::read(project.path().join("ragdb.db")).expect("the store");
    project.write("run.json", "old");
    let run = project.ok(&["context", "E42", "--manifest", "run.json"]);
    let text = fs::read_to_string(project.path().join("run.json")).expect("the manifest");
    let manifest = ragdb::Manifest::from_json(&text).expect("it is one");
    assert!(run.stderr.contains(&manifest.run_id) && run.stderr.contains("run.json"), "{}", run.stderr);
    assert_eq!(manifest.prompt_hash, ragdb::Digest::of(&run.stdout).to_string(), "the prompt is printed exactly");
    assert_eq!(fs::read(project.path().join("ragdb.db")).expect("the store"), before);
    for own in ["ragdb.db", "./ragdb.db", "docs/../ragdb.db"] {
        let run = project.run(&["context", "E42", "--manifest", own]);
        assert!(
            run.code == 2 && run.stdout.is_empty() && run.stderr.contains("belongs to the store"),
            "{}",
            run.stderr
        );
    }
    assert_eq!(project.run(&["context", "E42", "--manifest", "none/run.json"]).code, 2);
    assert_eq!(fs::read(project.path().join("ragdb.db")).expect("the store"), before);
}

#[test]
fn a_literal_query_has_no_operators() {
    let project = Project::synced();
    let found = |arguments: &[&str]| project.json(arguments).1["hits"].as_array().map(Vec::len);
    assert_eq!(found(&["search", "rotate -grace"]), Some(0), "the word is excluded");
    assert_eq!(found(&["search", "--literal", "rotate -grace"]), Some(1));
}

#[test]
fn an_explanation_adds_up() {
    let project = Project::synced();
    let (code, found) = project.json(&["search", "rotate key", "--explain"]);
    assert_eq!(code, 0);
    let hits = found["hits"].as_array().expect("hits");
    assert!(!hits.is_empty());
    for hit in hits {
        let terms = hit["explanation"]["terms"].as_array().expect("terms");
        let sum: f64 = terms.iter().filter_map(|term| term["contribution"].as_f64()).sum();
        assert!((sum - hit["score"].as_f64().expect("a score")).abs() < 1e-12);
    }
    let text = project.ok(&["search", "rotate key", "--explain"]).stdout;
    assert!(text.contains("of the query's information") && text.contains("refused: "), "{text}");
    let nothing = project.run(&["search", "xyzzy", "--explain"]);
    assert_eq!(nothing.code, 1);
    assert!(nothing.stdout.contains("xyzzy"), "{}", nothing.stdout);
}

#[test]
fn a_hit_s_citation_leads_back_to_its_text() {
    let project = Project::synced();
    let (_, found) = project.json(&["search", "grace period", "--top-k", "1"]);
    let hit = &found["hits"][0];
    for reference in [&hit["citation"], &hit["chunk_id"]] {
        let (code, cited) = project.json(&["cite", reference.as_str().expect("a reference")]);
        assert_eq!((code, &cited["status"]), (0, &Value::from("current")));
        assert_eq!(cited["text"], hit["text"]);
        assert_eq!((&cited["path"], &cited["start_line"]), (&hit["path"], &hit["start_line"]));
    }
}

#[test]
fn cite_tells_what_became_of_the_lines() {
    let project = Project::synced();
    check("cite_current", &project, &["cite", "guide/keys.md#L7-L8"]);
    check("cite_current_json", &project, &["cite", "guide/keys.md#L7", "--json"]);
    check("cite_unknown", &project, &["cite", "guide/none.md#L1"]);
    project.write("docs/guide/limits.md", "# Limits\n\nSomething else.\n");
    check("cite_stale", &project, &["cite", "guide/limits.md#L3"]);
    project.write("docs/guide/keys.md", "A new first line.\n\n# Keys\n\nA key opens the store.\n");
    check("cite_moved", &project, &["cite", "guide/keys.md#L3"]);
    let (_, found) = project.json(&["search", "密钥", "--top-k", "1"]);
    let id = found["hits"][0]["chunk_id"].as_str().expect("an id").to_owned();
    project.remove("docs/zh/keys.md");
    project.ok(&["sync"]);
    check("cite_deleted", &project, &["cite", &id]);
}

#[test]
fn citations_of_prose_are_locked_checked_and_anchored_again() {
    let project = Project::synced();
    project
        .write("notes/a.md", "See `guide/keys.md#L7-L8`, [limits](../docs/guide/limits.md#L3) and zh/keys.md#L3。\n");
    check("cite_check_no_lock", &project, &["cite", "check", "notes"]);
    check("cite_lock", &project, &["cite", "lock", "notes"]);
    let keys = project.path().join("docs/guide/keys.md");
    let text = std::fs::read_to_string(&keys).expect("the file is there");
    project.write("docs/guide/keys.md", text.replace("# Keys\n", "# Keys\n\nTwo lines more.\n"));
    project.write("docs/guide/limits.md", "# Limits\n\nSomething else.\n");
    project.write("notes/b.md", "guide/keys.md#L1 and guide/none.md#L1\n");
    check("cite_check", &project, &["cite", "check", "notes"]);
    check("cite_check_json", &project, &["cite", "check", "notes", "--json"]);
    check("cite_check_reanchor", &project, &["cite", "check", "notes", "--reanchor"]);
    let prose = std::fs::read_to_string(project.path().join("notes/a.md")).expect("the file is there");
    assert!(prose.starts_with("See `guide/keys.md#L9-L10`, [limits](../docs/guide/limits.md#L3) and"), "{prose}");
    // A verb's name is no reference, and neither needs the other.
    assert_eq!(project.run(&["cite", "guide/keys.md#L1", "lock"]).code, 2);
    assert_eq!(project.run(&["cite"]).code, 2);
}

#[test]
fn history_is_listed_compared_and_shown() {
    let project = edited();
    check("log", &project, &["log"]);
    check("log_json", &project, &["log", "-n", "1", "--json"]);
    check("diff", &project, &["diff", "1", "3"]);
    check("diff_json", &project, &["diff", "2", "3", "--json"]);
    check("show", &project, &["show", "3"]);
    check("show_json", &project, &["show", "1", "--json"]);
}

#[test]
fn status_says_what_a_sync_would_change() {
    let project = Project::synced();
    check("status", &project, &["status"]);
    project.write("docs/guide/new.md", "# New\n\nA new page.\n");
    check("status_json", &project, &["status", "--json"]);
    check("status_no_plan", &project, &["status", "--no-plan"]);
    let (_, moved) = {
        std::fs::rename(project.path().join("docs"), project.path().join("elsewhere")).expect("the folder is moved");
        project.json(&["status"])
    };
    assert_eq!(moved["pending"]["error"]["code"], "root_missing", "{moved}");
}

#[test]
fn check_and_maintenance_report() {
    let project = edited();
    check("check", &project, &["check"]);
    let (code, report) = project.json(&["check", "--no-sources"]);
    assert_eq!((code, &report["ok"]), (0, &Value::from(true)), "{report}");
    check("migrate", &project, &["migrate"]);
    check("optimize", &project, &["optimize"]);
    let (_, report) = project.json(&["optimize"]);
    assert_eq!(report["segments_after"], 1);
}

#[test]
fn sql_prints_tables_csv_and_json() {
    let project = Project::synced();
    let query =
        "SELECT path, title, size_bytes, NULL AS absent, x'00ff' AS bytes, '' AS empty FROM documents ORDER BY path";
    check("sql", &project, &["sql", query]);
    check("sql_csv", &project, &["sql", "--csv", query]);
    check("sql_json", &project, &["sql", "--json", query]);
    check("sql_audits", &project, &["sql", "--audits"]);
    check("sql_audit", &project, &["sql", "--audit", "sources"]);
    check("sql_write", &project, &["sql", "DELETE FROM documents"]);
}

#[test]
fn every_named_audit_runs() {
    let project = edited();
    for audit in ragdb::audits() {
        project.ok(&["sql", "--audit", audit.name]);
    }
}

#[test]
fn init_writes_a_file_that_sync_takes() {
    let project = Project::with_docs();
    check("init", &project, &["init", "docs"]);
    check("init_again", &project, &["init", "docs"]);
    let (_, report) = project.json(&["sync"]);
    assert_eq!(report["documents"]["added"], 3, "{report}");
    let (code, document) = project.json(&["init", "--config", "other.yaml"]);
    assert_eq!((code, &document["path"]), (0, &Value::from("other.yaml")));
}

#[test]
fn every_shell_gets_a_script_and_every_verb_a_page() {
    let project = Project::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = project.ok(&["completions", shell]).stdout;
        assert!(script.contains("ragdb") && script.contains("optimize"), "{shell}");
    }
    let pages = project.ok(&["man", "pages"]).stdout;
    assert!(
        pages.contains("ragdb-sync.1") && !pages.contains("ragdb-man.1") && !pages.contains("ragdb-help.1"),
        "{pages}"
    );
    let page = std::fs::read_to_string(project.path().join("pages/ragdb-sync.1")).expect("a page");
    assert!(page.contains("Without DIR") && page.contains(r"\-\-db"), "{page}");
    assert!(project.ok(&["man"]).stdout.starts_with(".ie"));
}

#[test]
fn damage_is_found_and_named() {
    let project = Project::synced();
    let path = project.path().join("ragdb.db");
    let mut bytes = std::fs::read(&path).expect("the store is a file");
    let at = bytes.windows(12).position(|window| window == b"grace period").expect("the text stands in the file");
    bytes[at..at + 5].copy_from_slice(b"grave");
    std::fs::write(&path, bytes).expect("the store is written");
    let (code, report) = project.json(&["check"]);
    assert_eq!((code, &report["ok"]), (1, &Value::from(false)), "{report}");
    check("check_damage", &project, &["check"]);
}

#[test]
fn evaluation_scores_and_holds_thresholds() {
    let project = Project::new();
    let documents =
        [("d1", "Keys", "Rotate a key every ninety days."), ("d2", "Limits", "A request may have four parts.")];
    let corpus =
        documents.map(|(id, title, text)| format!("{{\"_id\":\"{id}\",\"title\":\"{title}\",\"text\":\"{text}\"}}\n"));
    project.write("set/corpus.jsonl", corpus.concat());
    project.write(
        "set/queries.jsonl",
        "{\"_id\":\"q1\",\"text\":\"rotate key\"}\n{\"_id\":\"q2\",\"text\":\"nothing like it\"}\n",
    );
    project.write("set/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n");
    check("eval", &project, &["eval", "--beir", "set", "--min-recall", "0.4"]);
    check("eval_missed", &project, &["eval", "--beir", "set", "--min-ndcg", "0.9"]);
    let (code, report) = project.json(&["eval", "--beir", "set"]);
    assert_eq!((code, &report["cases"], &report["metrics"]["recall_at_k"]), (0, &Value::from(2), &Value::from(0.5)));
    assert!(!project.has("ragdb.db"));
}

#[test]
fn acl_changes_lists_and_explains_rules() {
    let project = Project::with_docs();
    project.write("staff/pay.md", "# Pay\n\nSalaries are paid on day 25.\n");
    project.write("staff/suit.md", "---\ngroups: [legal, ops]\n---\n# Suit\n\nThe suit is settled.\n");
    project.write(
        "ragdb.yaml",
        "access: {groups: [hr, legal, ops]}\nsources:\n  - {id: docs, path: docs, tenant: acme}\n  - {id: staff, path: \
         staff, tenant: acme, visibility: private, groups: [hr, legal], scope: people}\n",
    );
    project.ok(&["sync"]);
    check("acl_list", &project, &["acl", "list"]);
    check("acl_log_nothing", &project, &["acl", "log"]);
    check("acl_grant", &project, &["acl", "grant", "staff", "--group", "ops", "--reason", "audit 7"]);
    check("acl_grant_again", &project, &["acl", "grant", "staff", "--group", "ops"]);
    check("acl_revoke_json", &project, &["acl", "revoke", "pay.md", "--user", "eve", "--json"]);
    check("acl_unknown_group", &project, &["acl", "grant", "staff", "--group", "opps"]);
    check("acl_list_json", &project, &["acl", "list", "--source", "staff", "--json"]);
    let eve = ["--user", "eve", "--tenant", "acme", "--group", "hr"];
    check("acl_explain", &project, &[&["acl", "explain", "staff:pay.md"][..], &eve].concat());
    check("acl_explain_json", &project, &["acl", "explain", "suit.md", "--public", "--scope", "people", "--json"]);
    check("acl_log", &project, &["acl", "log"]);
    check("acl_log_json", &project, &["acl", "log", "-n", "1", "--json"]);
    project.write("eve.json", r#"{"tenant": "acme", "subject": "eve", "groups": ["legal"]}"#);
    assert_eq!(project.run(&["acl", "explain", "suit.md", "--as", "eve.json"]).code, 0);
    assert_eq!(project.run(&["acl", "explain", "suit.md", "--group", "hr"]).code, 2);
    assert_eq!(project.run(&["acl", "explain", "suit.md", "--public", "--user", "eve"]).code, 2);
}

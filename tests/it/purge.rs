//! `purge`: what is removed is in no byte of the store, its log or a fresh copy, in any case or stem; what stays stays;
//! and the proof notices a purge that was none.

use std::fs;
use std::path::Path;
use std::process::Command;

use ragdb::{CheckRequest, Principal, PurgeReport, PurgeRequest, Store, SyncRequest};
use rusqlite::Connection;

use crate::support::Project;
use crate::world::value;

/// What must be gone. No other text has a word of it.
const CANARIES: [&str; 7] =
    ["zebrafish", "okapi4711", "quaggas", "pangolin", "wolpertinger", "鴨嘴獣", "kanarienvögel"];

const SECRET: &str = "---\ntitle: Zebrafish ledger\nowner: okapi4711\nteam: [wolpertinger]\n---\n# Zebrafish ledger\n\n## \
                      Quaggas and pangolins\n\nThe pangolin vault opens for quaggas within 45 days of the Wolpertinger \
                      audit.\n鴨嘴獣は倉庫に住んでいます。\nKANARIENVÖGEL singen im Wolpertinger Keller.\n";

/// A project in which the secret had three revisions and was asked about, answered from and cached; some of it may still
/// be in the log alone.
fn project() -> Project {
    let project = Project::with_docs();
    project.write("docs/secret.md", SECRET.replace("45 days", "30 days of the Okapi4711 calendar"));
    project.ok(&["sync", "docs"]);
    let reader = Connection::open(project.path().join("ragdb.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM documents").unwrap();
    for days in ["40 days", "45 days"] {
        project.write("docs/secret.md", SECRET.replace("45 days", days));
        project.ok(&["sync", "docs"]);
    }
    project.ok(&["answer", "when does the pangolin vault open for quaggas"]);
    project.ok(&["answer", "how often to rotate a key"]);
    project.ok(&["context", "when does the pangolin vault open for quaggas"]);
    assert!(fs::metadata(project.path().join("ragdb.db-wal")).unwrap().len() > 0);
    for canary in CANARIES {
        assert!(!places(&project, canary).is_empty(), "{canary} is not there in the first place");
    }
    project
}

/// The files of the project's folder that have a text in any case.
fn places(project: &Project, text: &str) -> Vec<String> {
    let lower = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_lowercase();
    let files = fs::read_dir(project.path()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let having = files.filter(|path| lower(&fs::read(path).unwrap()).contains(&text.to_lowercase()));
    having.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn promise_14_the_canary_is_gone_from_store_log_and_copy() {
    let project = project();
    let (code, report) = project.json(&["purge", "secret.md", "--prove", "--reason", "ticket 42"]);
    assert_eq!(code, 0, "{report:#}");
    let proof = &report["proof"];
    assert_eq!((&proof["proved"], &report["log_is_empty"]), (&true.into(), &true.into()), "{report:#}");
    assert_eq!((&report["generation"], &report["runs"], &report["answers"]), (&4.into(), &2.into(), &1.into()));
    // Each under its reader's key and under the one of all who may read the same.
    assert_eq!(report["cached"], 4, "{report:#}");
    assert!(proof["lines"].as_u64() > Some(3) && proof["words"].as_u64() > Some(8), "{proof:#}");
    project.ok(&["backup", "fresh.db"]);
    for canary in CANARIES.iter().chain(&["pangolins", "quagga", "wolperting", "canary vault"]) {
        assert_eq!(places(&project, canary), Vec::<String>::new(), "{canary}");
    }
    // What has nothing to do with it is there.
    project.ok(&["check"]);
    project.ok(&["search", "rotate a key"]);
    let (_, answers) = project.json(&["sql", "SELECT count(*) FROM answers JOIN cache USING (answer_id)"]);
    assert_eq!(answers["rows"][0][0], 2, "{answers}");
    let (_, tombs) = project.json(&["sql", "SELECT path, reason FROM tombstones WHERE kind = 'document'"]);
    assert_eq!(tombs["rows"], serde_json::json!([["secret.md", "purged"]]));
    let (_, purges) = project.json(&["sql", "SELECT generation, reason FROM purges"]);
    assert_eq!(purges["rows"], serde_json::json!([[4, "ticket 42"]]));
}

#[test]
fn a_purged_file_stays_out_until_it_changes() {
    let project = project();
    project.ok(&["purge", "docs:secret.md"]);
    let run = project.ok(&["sync", "docs"]);
    assert!(run.stdout.contains("nothing changed; generation 4") && run.stderr.contains("secret.md"), "{}", run.stderr);
    let (_, plan) = project.json(&["sync", "docs", "--dry-run"]);
    assert_eq!((plan["added"].as_array().unwrap().len(), &plan["purged"][0]["path"]), (0, &"secret.md".into()));
    project.write("docs/secret.md", "# Public\n\nNothing to see here.\n");
    assert!(project.ok(&["sync", "docs"]).stdout.contains("generation 5"));
    project.ok(&["check"]);
    // The content comes back, and what had replaced it is not what the file says any more.
    project.write("docs/secret.md", SECRET);
    let (_, report) = project.json(&["sync", "docs"]);
    assert_eq!((&report["documents"]["deleted"], &report["purged"][0]["path"]), (&1.into(), &"secret.md".into()));
    project.ok(&["check"]);
    assert_eq!(places(&project, "pangolin"), Vec::<String>::new());
}

#[test]
fn what_was_recorded_of_a_deleted_document_goes_too() {
    let project = project();
    project.remove("docs/secret.md");
    project.ok(&["sync", "docs"]);
    assert!(!places(&project, "pangolin").is_empty());
    let (code, report) = project.json(&["purge", "secret.md", "--prove"]);
    assert_eq!((code, &report["was_live"], &report["runs"]), (0, &false.into(), &2.into()), "{report:#}");
    for canary in CANARIES {
        assert_eq!(places(&project, canary), Vec::<String>::new(), "{canary}");
    }
    project.ok(&["check"]);
    // Once more there is nothing left to look for, and nothing is claimed.
    let run = project.run(&["purge", "secret.md", "--prove"]);
    assert!(run.code == 1 && run.stdout.contains("nothing to look for"), "{}{}", run.stdout, run.stderr);
}

#[test]
fn names_are_resolved_or_refused() {
    let project = Project::synced();
    project.write("more/guide/keys.md", "# Other keys\n\nAnother page.\n");
    project.ok(&["sync", "docs", "more"]);
    let refused = |arguments: &[&str]| project.json(arguments).1["error"].clone();
    assert_eq!(refused(&["purge", "nowhere.md"])["code"], "not_found");
    let error = refused(&["purge", "guide/keys.md"]);
    assert!(error["code"] == "invalid" && error["message"].as_str().unwrap().contains("more:guide/keys.md"), "{error}");
    assert_eq!(refused(&["purge", "guide/limits.md", "--prove", "--also", "nowhere.db"])["code"], "io");
    let (_, id) = project.json(&["sql", "SELECT document_id FROM documents WHERE path = 'guide/limits.md'"]);
    let (code, report) = project.json(&["purge", id["rows"][0][0].as_str().unwrap()]);
    assert_eq!((code, &report["path"]), (0, &"guide/limits.md".into()), "{report}");
    project.ok(&["purge", "more:guide/keys.md"]);
    project.ok(&["check", "--no-sources"]);
}

#[test]
fn a_reader_in_the_way_is_said() {
    let project = project();
    let reader = Connection::open(project.path().join("ragdb.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM documents").unwrap();
    let (code, error) = project.json(&["purge", "secret.md", "--prove"]);
    assert_eq!((code, &error["error"]["code"]), (2, &"store_is_read".into()), "{error}");
    assert_eq!(project.json(&["log"]).1["generations"].as_array().unwrap().len(), 3, "nothing was purged");
    let (code, report) = project.json(&["purge", "secret.md"]);
    assert_eq!((code, &report["log_is_empty"], &report["proof"]), (0, &false.into(), &serde_json::Value::Null));
    drop(reader);
    project.ok(&["purge", "secret.md"]);
    assert_eq!(places(&project, "pangolin"), Vec::<String>::new());
}

/// Purges the secret and closes the store.
fn purged(project: &Project) -> PurgeReport {
    let store = Store::open(project.path().join("ragdb.db")).unwrap();
    store.purge(&PurgeRequest { document: "secret.md".into(), ..PurgeRequest::default() }).unwrap()
}

#[test]
fn promise_14_the_proof_notices_what_is_still_there() {
    for (name, sql) in [
        ("nothing", ""),
        ("a query", "UPDATE runs SET query = 'where are the ZebraFish'"),
        ("a stem in the index", "INSERT INTO terms SELECT segment, 'pangolin', 1, 0, 1, 0, 0, x'00' FROM segments"),
        ("a claim", "UPDATE claims SET text = 'The pangolin vault opens for Quaggas within 45 days'"),
        (
            "a free page",
            "PRAGMA secure_delete = OFF; CREATE TABLE t (x); \
          INSERT INTO t VALUES (replace(hex(zeroblob(9000)), '0', 'Kanarienvögel ')); DROP TABLE t",
        ),
        ("a title in other letters", "UPDATE documents SET title = '鴨嘴獣'"),
    ] {
        let project = project();
        let db = project.path().join("ragdb.db");
        let report = purged(&project);
        let conn = Connection::open(&db).unwrap();
        conn.execute_batch(sql).unwrap();
        // In the log first, then in the file.
        for file in ["ragdb.db-wal", "ragdb.db"] {
            let proof = report.removed.look_for(&db, &[]).unwrap();
            let places: Vec<_> = proof.found.iter().map(|it| it.file.file_name().unwrap().to_str().unwrap()).collect();
            assert_eq!(places.contains(&file), name != "nothing", "{name}: {proof:?}");
            conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        }
    }
}

#[test]
fn an_old_copy_holds_it_and_the_verb_says_so() {
    let project = project();
    project.ok(&["backup", "old.db"]);
    let run = project.run(&["purge", "secret.md", "--prove", "--also", "old.db"]);
    assert!(run.code == 1 && run.stdout.contains("NOT PROVED") && run.stdout.contains("old.db"), "{}", run.stdout);
    let lower = run.stdout.to_lowercase();
    assert!(!CANARIES.iter().any(|canary| lower.contains(canary)), "{lower}");
}

#[test]
fn lines_of_other_questions_and_failures_go_and_counts_stay() {
    let project = project();
    project.write("docs/bad.md", "---\ntitle: [\n---\n# Bad\n");
    project.ok(&["sync", "docs", "--keep-going"]);
    project.write("docs/secret.md", b"# Bad\n\xff\n");
    project.ok(&["sync", "docs", "--keep-going"]);
    let db = project.path().join("ragdb.db");
    let conn = Connection::open(&db).unwrap();
    conn.execute_batch(
        "UPDATE sync_failures SET message = 'near the pangolin vault' WHERE path = 'secret.md'; \
         UPDATE runs SET query = 'what means: KANARIENVÖGEL singen im Wolpertinger Keller.' WHERE query LIKE '%rotate%'",
    )
    .unwrap();
    drop(conn);
    let report = purged(&project);
    assert_eq!((report.runs, report.answers), (3, 2));
    let store = Store::open(&db).unwrap();
    let check = store.check(&CheckRequest { sources: false, deep: false }).unwrap();
    assert!(check.ok, "{check:#?}");
    assert_eq!(value(&store, "SELECT count(DISTINCT message) FROM sync_failures WHERE path = 'secret.md'"), "1");
    assert_eq!(store.log(&Principal::operator(), None).unwrap()[0].documents.failed, 0);
    drop(store);
    assert_eq!(places(&project, "pangolin"), Vec::<String>::new());
    let store = Store::open(&db).unwrap();
    let request = SyncRequest { keep_going: true, ..SyncRequest::default() };
    store.sync(&request).unwrap();
    assert!(store.check(&CheckRequest { sources: false, deep: false }).unwrap().ok);
}

/// Names the folder in which a copy of this test program is to work.
const CHILD: &str = "RAGDB_TEST_CHILD";

#[test]
#[ignore = "runs in a process of its own: see the test below"]
fn child_purges_with_little_space() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let request = PurgeRequest { document: "secret.md".into(), ..PurgeRequest::default() };
    match Store::open(Path::new(&folder).join("ragdb.db")).and_then(|store| store.purge(&request)) {
        Ok(report) => println!("outcome: {}", report.generation),
        Err(error) => println!("outcome: {} ({error})", error.code()),
    }
}

#[test]
fn a_purge_that_runs_out_of_space_is_done_by_the_next() {
    let project = project();
    let text: String = (0..40_000).map(|word| format!("word{} ", word * 37 % 9000)).collect();
    project.write("docs/large.md", format!("# Large\n\n{text}\n"));
    project.ok(&["sync", "docs"]);
    let (mut failed, mut done) = (0, false);
    for kilobytes in [8, 40, 100, 200, 400, 800, 1600, 3200, 6400] {
        // A write beyond the limit fails as it does on a full disk. The signal that would end the process is ignored.
        let limit = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", kilobytes * 2);
        let output = Command::new("sh")
            .args(["-c", &limit])
            .arg(std::env::current_exe().unwrap())
            .args(["purge::child_purges_with_little_space", "--exact", "--ignored", "--nocapture"])
            .env(CHILD, project.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && said.contains("outcome: "), "{kilobytes} kB: {said}");
        let store = Store::open(project.path().join("ragdb.db")).unwrap();
        assert!(store.check(&CheckRequest { sources: false, deep: false }).unwrap().ok, "{kilobytes} kB");
        let live = value(&store, "SELECT count(*) FROM documents WHERE path = 'secret.md'") == "1";
        let head = store.log(&Principal::operator(), None).unwrap()[0].number;
        assert_eq!(head, if live { 4 } else { 5 }, "{kilobytes} kB: {said}");
        // The old generation, or the new one.
        assert_eq!(value(&store, "SELECT count(*) FROM purges"), if live { "0" } else { "1" });
        drop(store);
        done = said.contains("outcome: 5");
        if done {
            break;
        }
        failed += 1;
    }
    assert!(failed >= 2 && done, "{failed} failed");
    for canary in CANARIES {
        assert_eq!(places(&project, canary), Vec::<String>::new(), "{canary}");
    }
}

#[test]
fn a_proof_can_be_had_later_while_the_file_is_as_it_was() {
    let project = project();
    project.ok(&["purge", "secret.md"]);
    let (code, report) = project.json(&["purge", "secret.md", "--prove"]);
    let proof = &report["proof"];
    assert_eq!((code, &report["was_live"], &proof["proved"]), (0, &false.into(), &true.into()), "{report:#}");
    assert!(proof["lines"].as_u64() > Some(3) && proof["words"].as_u64() > Some(8), "{proof:#}");
    // It is a proof: what still has the text is found.
    let (code, report) = project.json(&["purge", "secret.md", "--prove", "--also", "docs/secret.md"]);
    assert_eq!((code, &report["proof"]["proved"]), (1, &false.into()), "{report:#}");
    project.write("docs/secret.md", SECRET.replace("Wolpertinger", "Basilisk"));
    let (code, report) = project.json(&["purge", "secret.md", "--prove"]);
    assert_eq!((code, &report["proof"]["lines"]), (1, &0.into()), "another text is not what was purged: {report:#}");
}

#[test]
fn a_purge_without_room_to_end_says_that_only_the_proof_is_missing() {
    let project = project();
    project.ok(&["optimize"]);
    let text: String = (0..40_000).map(|word| format!("word{} ", word * 37 % 9000)).collect();
    project.write("docs/large.md", format!("# Large\n\n{text}\n"));
    project.ok(&["sync", "docs"]);
    let prove = |blocks: u32| {
        let limit = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limit]).arg(env!("CARGO_BIN_EXE_ragdb")).current_dir(project.path());
        let output = command.args(["purge", "secret.md", "--prove", "--json"]).output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), report)
    };
    let is_live = || {
        let store = Store::open_read_only(project.path().join("ragdb.db")).unwrap();
        value(&store, "SELECT count(*) FROM documents WHERE path = 'secret.md'") == "1"
    };
    // More and more room, until it is enough for what removes the document and not for what writes the file anew.
    let sizes = (4..14).map(|power| 1_u32 << power);
    let (code, report) = sizes.map(prove).find(|_| !is_live()).unwrap();
    assert_eq!((code, &report["error"]["code"]), (Some(2), &"purge_unfinished".into()), "{report:#}");
    let said = report["error"]["message"].as_str().unwrap();
    assert!(said.contains("secret.md (docs) is purged") && said.contains("nothing is proved"), "{said}");
    assert!(report["error"]["hint"].as_str().unwrap().contains("once more"), "{report:#}");
    let (code, report) = project.json(&["purge", "secret.md", "--prove"]);
    assert_eq!(
        (code, &report["proof"]["proved"], &report["log_is_empty"]),
        (0, &true.into(), &true.into()),
        "{report:#}"
    );
    for canary in CANARIES {
        assert_eq!(places(&project, canary), Vec::<String>::new(), "{canary}");
    }
}

#[test]
fn documents_of_other_access_classes_are_left_alone() {
    let project = Project::new();
    project.write("docs/open.md", "# Open\n\nThe dingo page, and a canary.\n");
    project.write("docs/secret.md", "---\nvisibility: private\n---\n# Secret\n\nThe zebrafish page, and canaries.\n");
    project.write("docs/other.md", "---\nvisibility: private\n---\n# Other\n\nThe numbat page.\n");
    project.ok(&["sync", "docs"]);
    assert_eq!(project.json(&["sql", "SELECT count(DISTINCT class_no) FROM documents"]).1["rows"][0][0], 2);
    let (code, report) = project.json(&["purge", "secret.md", "--prove"]);
    assert_eq!((code, &report["proof"]["proved"]), (0, &true.into()), "{report:#}");
    project.ok(&["check"]);
    assert_eq!(places(&project, "zebrafish"), Vec::<String>::new());
    for (word, path) in [("dingo", "open.md"), ("numbat", "other.md"), ("canary", "open.md")] {
        let (_, found) = project.json(&["search", word]);
        assert_eq!(found["hits"][0]["path"], path, "{found}");
    }
    let (_, classes) = project.json(&["sql", "SELECT count(*), sum(documents_deleted) FROM class_generations"]);
    assert_eq!(classes["rows"], serde_json::json!([[3, 1]]));
}

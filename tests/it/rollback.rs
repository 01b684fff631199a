//! `rollback`: the documents of an earlier generation come back as a new one, and nothing else does.

use ragdb::{Principal, RollbackRequest, Store};
use serde_json::{Value, json};

use crate::support::Project;
use crate::world::{Content, World, answer, assert_sound, rows, value};

const OLD_KEYS: &str = "# Keys\n\nA key opens the store.\n\n## Rotating a key\n\nRotate a key every 90 days.\n\n## \
                        Revoking\n\nA revoked key fails with error `E42`.\n";

fn request(generation: u64) -> RollbackRequest {
    RollbackRequest { generation, ..RollbackRequest::default() }
}

/// The world of three documents, with a copy of generation 1, and two generations behind it: one document changed, one
/// is gone, one is new.
fn changed() -> World {
    let world = World::synced();
    world.store().backup(world.path().join("one.db")).unwrap();
    world.write("guide/keys.md", OLD_KEYS.replace("90", "30"));
    world.remove("guide/limits.md");
    world.sync();
    world.write("new.md", "# New\n\nSomething new.\n");
    assert_eq!(world.sync().generation, Some(3));
    world
}

/// Puts the files back as generation 1 had them; the new file stays.
fn restore_files(world: &World) {
    world.write("guide/keys.md", OLD_KEYS);
    world.write("guide/limits.md", "# Limits\n\nA request may be 4 MB.\nA key may be used 100 times a minute.\n");
}

/// The store has the documents of the copy, as a new generation.
fn assert_is_one(world: &World, store: &Store) {
    let copy = Store::open(world.path().join("one.db")).unwrap();
    Content::of(store).assert_equals(&Content::of(&copy), "rolled back");
    for query in ["rotate a key", "E42", "密钥"] {
        assert_eq!(answer(store, query, None), answer(&copy, query, None), "{query}");
    }
    assert_sound(store);
}

#[test]
fn files_that_are_as_they_were_bring_a_generation_back() {
    let world = changed();
    let store = world.store();
    let error = store.rollback(&request(1)).unwrap_err();
    assert_eq!(error.code(), "sources_differ");
    let message = error.to_string();
    assert!(message.contains("keys.md (changed)") && message.contains("limits.md (missing)"), "{message}");
    assert!(message.contains("them, 2 documents: ") && !message.contains("new.md"), "{message}");
    restore_files(&world);
    let planned = store.rollback(&RollbackRequest { dry_run: true, ..request(1) }).unwrap();
    assert!(!planned.published && planned.generation == 3, "{planned:?}");
    let report = store.rollback(&request(1)).unwrap();
    assert!(report.published && report.generation == 4 && report.to == 1, "{report:?}");
    let counts = (report.documents.added, report.documents.updated, report.documents.deleted);
    assert_eq!(counts, (1, 1, 1));
    assert_eq!((planned.documents.added, planned.documents.updated, planned.documents.deleted), counts);
    assert_eq!(report.left_out.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["new.md"]);
    let tombs = rows(&store, "SELECT path, reason FROM tombstones WHERE kind = 'document' ORDER BY tombstone_no");
    assert_eq!(tombs, [["guide/limits.md", "file_deleted"], ["new.md", "rolled_back"]]);
    assert_is_one(&world, &store);
    // Once more there is nothing to do; the next sync brings in what is in the folder.
    let again = store.rollback(&request(1)).unwrap();
    assert!(!again.published && again.generation == 4 && again.documents.unchanged == 3, "{again:?}");
    assert_eq!(world.sync().documents.added, 1);
}

#[test]
fn a_copy_brings_a_generation_back_without_the_files() {
    let world = changed();
    let store = world.store();
    std::fs::rename(world.docs(), world.path().join("away")).unwrap();
    let from = RollbackRequest { from: Some(world.path().join("one.db")), ..request(1) };
    let planned = store.rollback(&RollbackRequest { dry_run: true, ..from.clone() }).unwrap();
    let report = store.rollback(&from).unwrap();
    for name in ["one.db-wal", "one.db-shm"] {
        assert!(!world.path().join(name).exists(), "{name}");
    }
    assert!(report.published && report.generation == 4 && report.left_out.is_empty(), "{report:?}");
    let counts = (report.documents.added, report.documents.updated, report.documents.deleted);
    assert_eq!(counts, (1, 1, 1));
    assert_eq!((planned.documents.added, planned.documents.updated, planned.documents.deleted), counts);
    let copy = Store::open(world.path().join("one.db")).unwrap();
    Content::of(&store).assert_equals(&Content::of(&copy), "rolled back");
    let check = store.check(&ragdb::CheckRequest { sources: false, deep: false }).unwrap();
    assert!(check.ok, "{check:#?}");
    assert_eq!(answer(&store, "rotate a key", None), answer(&copy, "rotate a key", None));
    assert!(!store.rollback(&from).unwrap().published);
    std::fs::rename(world.path().join("away"), world.docs()).unwrap();
    // What the folder says comes back with the next sync.
    let synced = world.sync().documents;
    assert_eq!((synced.added, synced.updated, synced.deleted), (1, 1, 1), "{synced:?}");
    assert_sound(&store);
}

#[test]
fn other_copies_and_generations_are_refused() {
    let world = changed();
    let store = world.store();
    store.backup(world.path().join("three.db")).unwrap();
    let other = World::synced();
    other.store().backup(world.path().join("other.db")).unwrap();
    let code = |generation: u64, from: Option<&str>| {
        let from = from.map(|name| world.path().join(name));
        store.rollback(&RollbackRequest { from, ..request(generation) }).unwrap_err().code()
    };
    assert_eq!(code(9, None), "not_found");
    assert_eq!(code(1, Some("nowhere.db")), "store_missing");
    assert_eq!(code(1, Some("three.db")), "backup_does_not_fit");
    assert_eq!(code(1, Some("other.db")), "backup_does_not_fit");
    // A copy that somebody changed.
    let conn = rusqlite::Connection::open(world.path().join("one.db")).unwrap();
    conn.execute_batch("UPDATE chunk_rows SET text = replace(text, '90 days', '10 days')").unwrap();
    drop(conn);
    assert_eq!(code(1, Some("one.db")), "damaged");
    assert_eq!(store.log(&Principal::operator(), None).unwrap().len(), 3);
}

#[test]
fn what_was_purged_since_stays_away() {
    let world = changed();
    let store = world.store();
    let purge = ragdb::PurgeRequest { document: "guide/limits.md".into(), ..Default::default() };
    assert!(!store.purge(&purge).unwrap().was_live);
    let purge = ragdb::PurgeRequest { document: "guide/keys.md".into(), ..Default::default() };
    assert!(store.purge(&purge).unwrap().was_live);
    for from in [Some(world.path().join("one.db")), None] {
        restore_files(&world);
        let report = store.rollback(&RollbackRequest { from, ..request(1) }).unwrap();
        let gone: Vec<_> = report.not_revived.iter().map(|it| (it.path.as_str(), it.why.as_str())).collect();
        assert_eq!(gone, [("guide/keys.md", "purged"), ("guide/limits.md", "purged")]);
    }
    assert_eq!(rows(&store, "SELECT path FROM documents ORDER BY path"), [["zh/keys.md"]]);
    // One that came in again, changed, behind the purge is a document like any other.
    world.write("guide/limits.md", "# Limits\n\nOther limits.\n");
    assert_eq!(world.sync().generation, Some(6));
    world.write("guide/limits.md", "# Limits\n\nNo limits.\n");
    world.sync();
    world.write("guide/limits.md", "# Limits\n\nOther limits.\n");
    let report = store.rollback(&request(6)).unwrap();
    assert!(report.published && report.not_revived.is_empty(), "{report:?}");
}

#[test]
fn what_came_back_behind_a_purge_and_was_purged_again_stays_away() {
    let world = World::synced();
    let store = world.store();
    let secret = world.docs().join("guide/limits.md");
    let text = std::fs::read(&secret).unwrap();
    world.remove("guide/limits.md");
    world.sync();
    let purge = ragdb::PurgeRequest { document: "guide/limits.md".into(), ..Default::default() };
    assert!(!store.purge(&purge).unwrap().was_live);
    // By whatever way: here somebody takes the note of the purge out, and puts it back.
    let by_hand = |sql: &str| rusqlite::Connection::open(world.db()).unwrap().execute_batch(sql).unwrap();
    by_hand("CREATE TABLE away AS SELECT * FROM purges; DELETE FROM purges");
    std::fs::write(&secret, &text).unwrap();
    assert_eq!(world.sync().documents.added, 1);
    by_hand("INSERT INTO purges SELECT * FROM away; DROP TABLE away");
    store.backup(world.path().join("three.db")).unwrap();
    // Also as long as the note is the only one: the content then was purged, when is no matter.
    for from in [Some(world.path().join("three.db")), None] {
        let again = store.rollback(&RollbackRequest { from, dry_run: true, ..request(3) }).unwrap();
        assert_eq!(again.not_revived.len(), 1, "{again:?}");
    }
    let again = ragdb::PurgeRequest { reason: Some("again".into()), undisturbed: true, ..purge };
    let report = store.purge(&again).unwrap();
    assert!(report.was_live && report.generation == 4, "{report:?}");
    assert_eq!(rows(&store, "SELECT generation, reason FROM purges"), [["4", "again"]]);
    for from in [Some(world.path().join("three.db")), None] {
        let report = store.rollback(&RollbackRequest { from, ..request(3) }).unwrap();
        let gone: Vec<_> = report.not_revived.iter().map(|it| (it.path.as_str(), it.why.as_str())).collect();
        assert_eq!(gone, [("guide/limits.md", "purged")]);
    }
    assert_eq!(rows(&store, "SELECT path FROM documents ORDER BY path"), [["guide/keys.md"], ["zh/keys.md"]]);
}

/// The documents that anyone may read.
fn open_to_all(project: &Project) -> Vec<String> {
    let store = Store::open(project.path().join("ragdb.db")).unwrap();
    let sql = "SELECT d.path FROM documents d JOIN acl_members m USING (class_no) \
               WHERE m.effect = 'allow' AND m.kind = 'everyone' ORDER BY d.path";
    rows(&store, sql).into_iter().flatten().collect()
}

const CONFIG: &str = "sources:\n  - id: docs\n    path: docs\n    visibility: public\n";

#[test]
fn nobody_reads_more_than_now() {
    for from_copy in [false, true] {
        let project = Project::new();
        project.write("ragdb.yaml", CONFIG);
        project.write("docs/plan.md", "# Plan\n\nThe wombat plan.\n");
        project.write("docs/gone.md", "# Gone\n\nThe numbat list.\n");
        project.write("docs/open.md", "# Open\n\nThe dingo page.\n");
        project.ok(&["sync"]);
        project.ok(&["backup", "one.db"]);
        assert_eq!(open_to_all(&project), ["gone.md", "open.md", "plan.md"]);
        for (name, body) in [("plan", "# Plan\n\nAnother wombat plan.\n"), ("gone", "# Gone\n\nThe numbat list.\n")] {
            project.write(&format!("docs/{name}.md"), format!("---\nvisibility: private\n---\n{body}"));
        }
        project.ok(&["sync"]);
        project.remove("docs/gone.md");
        project.ok(&["sync"]);
        assert_eq!(open_to_all(&project), ["open.md"]);
        let epoch = |project: &Project| {
            project.json(&["sql", "SELECT max(epoch) FROM acl_epochs"]).1["rows"][0][0].as_u64().unwrap_or_default()
        };
        let before = epoch(&project);
        assert!(before > 0);
        project.write("docs/plan.md", "# Plan\n\nThe wombat plan.\n");
        project.write("docs/gone.md", "# Gone\n\nThe numbat list.\n");
        let from: &[&str] = if from_copy { &["--from", "one.db"] } else { &[] };
        let (code, report) = project.json(&[&["rollback", "1"], from].concat());
        assert_eq!((code, &report["published"], &report["generation"]), (0, &true.into(), &4.into()), "{report:#}");
        assert_eq!(open_to_all(&project), ["open.md"]);
        assert!(report["acl_epoch"].as_u64() >= Some(before) && epoch(&project) >= before);
        // The operator sees that they are there.
        let (_, found) = project.json(&["sql", "SELECT count(*) FROM documents"]);
        assert_eq!(found["rows"][0][0], 3);
        let (code, granted) = project.json(&["acl", "grant", "plan.md", "--user", "eve"]);
        assert_eq!(code, 0, "{granted:#}");
        project.ok(&["check", "--no-sources"]);
    }
}

#[test]
fn a_source_that_is_gone_does_not_come_back() {
    let project = Project::new();
    let more = "  - id: more\n    path: more\n    visibility: public\n";
    project.write("ragdb.yaml", format!("{CONFIG}{more}"));
    project.write("docs/a.md", "# A\n\nThe wombat plan.\n");
    project.write("more/b.md", "# B\n\nThe numbat list.\n");
    project.ok(&["sync"]);
    project.ok(&["backup", "one.db"]);
    project.write("ragdb.yaml", CONFIG);
    project.write("docs/c.md", "# C\n\nThe dingo page.\n");
    project.ok(&["sync"]);
    for arguments in [&["rollback", "1", "--dry-run"][..], &["rollback", "1", "--from", "one.db"], &["rollback", "1"]] {
        let (code, report) = project.json(arguments);
        assert_eq!(code, 0, "{report:#}");
        let expected = json!([{ "source_id": "more", "path": "b.md", "why": "source_removed" }]);
        assert_eq!(report["not_revived"], expected);
    }
    assert_eq!(open_to_all(&project), ["a.md"]);
}

#[test]
fn the_verb_says_what_it_does() {
    let world = changed();
    restore_files(&world);
    let project = Project::new();
    let db = world.db();
    let run = |arguments: &[&str]| project.run(&[arguments, &["--db", db.to_str().unwrap()]].concat());
    let dry = run(&["rollback", "1", "--dry-run"]);
    assert!(
        dry.code == 0 && dry.stdout.contains("nothing was written") && dry.stdout.contains("new.md"),
        "{}",
        dry.stdout
    );
    let done = run(&["rollback", "1"]);
    assert!(done.stdout.contains("published generation 4: the documents of generation 1"), "{}", done.stdout);
    assert!(done.stderr.contains("the next sync brings them in again"), "{}", done.stderr);
    let again = run(&["rollback", "1"]);
    assert!(again.code == 0 && again.stdout.contains("nothing to do"), "{}", again.stdout);
    let store = world.store();
    assert_eq!(value(&store, "SELECT count(*) FROM documents"), "3");
    let error: Value = serde_json::from_str(&run(&["rollback", "99", "--json"]).stdout).unwrap();
    assert_eq!(error["error"]["code"], "not_found");
}

//! What another tool did to paths, ids and settings: it is mended, or named with what mends it.

use std::fs;
use std::time::{Duration, SystemTime};

use ragdb::{CheckRequest, Damage, OptimizeRequest, Principal, SearchRequest, Store, SyncRequest};
use rstest::rstest;
use rusqlite::Connection;

use super::mended::{KEYS, QUERIES, checked, kinds, mend, spoil};
use crate::support::Project;
use crate::world::{World, answer, assert_sound};

#[rstest]
fn a_path_that_was_changed_is_written_again(
    #[values("'elsewhere.md'", "CAST(x'ff2e6d64' AS TEXT)")] path: &str,
    #[values(false, true)] checksum: bool,
) {
    let (world, sound) = (World::synced(), World::synced());
    spoil(&world, &format!("UPDATE documents SET path = {path} WHERE path = '{KEYS}'"));
    assert_eq!(
        kinds(&world.store().check(&CheckRequest { sources: false, deep: false }).unwrap()),
        [Damage::Documents]
    );
    let report = world.store().sync(&SyncRequest { checksum, ..world.request() }).unwrap();
    assert_eq!((report.documents.updated, report.documents.added, report.documents.deleted), (1, 0, 0));
    assert_sound(&world.store());
    assert_eq!(kinds(&checked(&world)), []);
    for query in QUERIES {
        assert_eq!(answer(&world.store(), query, None), answer(&sound.store(), query, None), "{query}");
    }
}

#[rstest]
fn a_source_of_another_name_is_refused(#[values(false, true)] registered: bool, #[values(false, true)] checksum: bool) {
    let world = World::synced();
    spoil(&world, "UPDATE sources SET source_id = 'dogs'");
    let before = fs::read(world.db()).unwrap();
    let request = if registered { SyncRequest::default() } else { world.request() };
    let error = world.store().sync(&SyncRequest { checksum, ..request }).unwrap_err();
    assert!(error.code() == "damaged" && error.to_string().contains("source dogs"), "{error}");
    assert_eq!(fs::read(world.db()).unwrap(), before);
    let report = world.store().check(&CheckRequest { sources: false, deep: false }).unwrap();
    assert!(kinds(&report).contains(&Damage::File), "{report:#?}");
}

#[test]
fn a_missing_policy_is_damage_to_every_verb_and_names_what_mends_it() {
    let world = World::synced();
    spoil(&world, "DELETE FROM settings WHERE key = 'policy'");
    let store = world.store();
    let copy = world.path().join("copy.db");
    let reader = Principal::operator();
    let errors = [
        store.sync(&world.request()).map(drop).unwrap_err(),
        store.search(&reader, &SearchRequest::new("key")).map(drop).unwrap_err(),
        store.optimize(&OptimizeRequest::default()).map(drop).unwrap_err(),
        store.optimize(&OptimizeRequest { rebuild: true }).map(drop).unwrap_err(),
        store.status(&reader).map(drop).unwrap_err(),
    ];
    for error in errors {
        assert!(error.code() == "damaged" && error.to_string().contains("settings.policy is missing"), "{error}");
    }
    let error = store.backup(&copy).unwrap_err();
    assert!(error.code() == "backup_unsound" && error.to_string().contains("settings.policy"), "{error}");
    assert!(!copy.exists());
    let report = store.check(&CheckRequest { sources: true, deep: false }).unwrap();
    let found = kinds(&report);
    assert!(!found.is_empty() && found.iter().all(|kind| *kind == Damage::Settings), "{report:#?}");
    drop(store);
    mend(&world, Damage::Forged, b"");
    assert_sound(&world.store());
}

#[test]
fn a_new_store_is_made_by_the_words_of_check_without_a_configuration() {
    let project = Project::synced();
    let conn = Connection::open(project.path().join("ragdb.db")).unwrap();
    conn.execute_batch("DELETE FROM settings WHERE key = 'policy'").unwrap();
    conn.close().unwrap();
    let said = project.run(&["check"]).stdout;
    assert!(said.contains("`ragdb --db NEW sync` (and its folders"), "{said}");
    project.ok(&["--db", "new.db", "sync", "docs"]);
    project.ok(&["--db", "new.db", "check"]);
}

#[rstest]
#[case::no_table("DROP TABLE chunks")]
#[case::a_foreign_one_in_the_way("CREATE TABLE chunk_rows (x)")]
#[case::a_hash_that_is_none("UPDATE documents SET content_hash = 'x'")]
fn an_older_store_that_is_not_what_it_says_is_not_migrated(#[case] sql: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.db");
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(&fs::read_to_string(crate::support::repository("fixtures/db/v3.sql")).unwrap()).unwrap();
    conn.execute_batch("PRAGMA ignore_check_constraints = ON").unwrap();
    conn.execute_batch(sql).unwrap();
    conn.close().unwrap();
    let before = fs::read(&path).unwrap();
    let error = Store::migrate(&path).unwrap_err();
    assert!(error.code() == "damaged" && error.to_string().contains("--db NEW sync"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn what_a_killed_process_left_goes_when_a_store_is_made_there() {
    let world = World::new(&[("a.md", "# A\n\nText.\n")]);
    let long_ago = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    let names =
        [".ragdb-new-old.db", ".ragdb-new-old.db-journal", ".ragdb-new-old.db-wal", ".ragdb-new-young.db", "new.db"];
    for name in names {
        fs::write(world.path().join(name), "x").unwrap();
        if !name.contains("young") {
            fs::File::options().write(true).open(world.path().join(name)).unwrap().set_modified(long_ago).unwrap();
        }
    }
    world.sync();
    let left: Vec<&str> = names.into_iter().filter(|name| world.path().join(name).exists()).collect();
    assert_eq!(left, [".ragdb-new-young.db", "new.db"]);
}

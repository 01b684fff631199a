//! `backup`: a copy is checked, as good as the store, and never over anything.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use ragdb::{Store, SyncRequest, SyncSources};
use rusqlite::Connection;

use crate::support::Project;
use crate::world::{Content, World, answer};

/// The names in the world's folder that are no part of it.
fn strangers(world: &World, known: &[&str]) -> Vec<String> {
    let entries = fs::read_dir(world.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let own = |name: &String| name == "docs" || name.starts_with("ragdb.db") || known.contains(&name.as_str());
    entries.filter(|name| !own(name)).collect()
}

#[test]
fn a_copy_is_as_good_a_store() {
    let world = World::synced();
    let store = world.store();
    let path = world.path().join("copy.db");
    let report = store.backup(&path).unwrap();
    assert_eq!((report.generation, report.documents), (Some(1), 3));
    assert_eq!(report.bytes, fs::metadata(&path).unwrap().len());
    assert_eq!(report.path, path.canonicalize().unwrap());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(strangers(&world, &["copy.db"]), Vec::<String>::new());

    let copy = Store::open(&path).unwrap();
    assert_eq!(
        copy.status(&ragdb::Principal::operator()).unwrap().store_id,
        store.status(&ragdb::Principal::operator()).unwrap().store_id
    );
    assert_eq!(
        copy.log(&ragdb::Principal::operator(), None).unwrap(),
        store.log(&ragdb::Principal::operator(), None).unwrap()
    );
    Content::of(&copy).assert_equals(&Content::of(&store), "the copy");
    assert_eq!(answer(&copy, "rotate a key", None), answer(&store, "rotate a key", None));
    world.write("new.md", "# New\n\nSomething new.\n");
    let request = SyncRequest { sources: SyncSources::Registered, ..SyncRequest::default() };
    assert_eq!(copy.sync(&request).unwrap().generation, Some(2));
    let mode = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
    assert_eq!(Connection::open(&path).unwrap().query_row("PRAGMA journal_mode", [], mode).unwrap(), "wal");
}

#[test]
fn an_empty_store_and_odd_names_are_copied() {
    let world = World::new(&[]);
    let store = world.store();
    for name in ["a?b%41#.db", "with 'quotes'.db", ":memory:", "file:x.db", "知識.db"] {
        let report = store.backup(world.path().join(name)).unwrap();
        assert_eq!((report.generation, report.documents), (None, 0));
        assert!(world.path().join(name).is_file(), "{name}");
        Store::open(world.path().join(name)).unwrap();
    }
}

#[test]
fn nothing_is_written_over() {
    let world = World::synced();
    let store = world.store();
    let at = |name: &str| world.path().join(name);
    fs::write(at("taken.db"), "mine").unwrap();
    symlink(at("nowhere"), at("dangling.db")).unwrap();
    symlink(at("taken.db"), at("link.db")).unwrap();
    // SQLite would play this log into a file of that name.
    fs::write(at("logged.db-wal"), "old").unwrap();
    let own = ["ragdb.db", "ragdb.db-wal", "ragdb.db-shm", "ragdb.db-journal"].map(|name| (name, "invalid"));
    let others = [
        ("taken.db", "store_exists"),
        ("dangling.db", "store_exists"),
        ("link.db", "store_exists"),
        ("logged.db", "store_exists"),
        ("docs", "store_exists"),
        ("no/folder.db", "io"),
        ("..", "invalid"),
    ];
    for (name, code) in own.into_iter().chain(others) {
        let error = store.backup(at(name)).unwrap_err();
        assert_eq!(error.code(), code, "{name}: {error}");
    }
    assert_eq!(fs::read_to_string(at("taken.db")).unwrap(), "mine");
    assert!(!at("nowhere").exists() && !at("ragdb.db-journal").exists() && !at("logged.db").exists());
    let known = ["taken.db", "dangling.db", "link.db", "logged.db-wal"];
    assert_eq!(strangers(&world, &known), Vec::<String>::new());
}

#[test]
fn a_copy_that_is_not_sound_does_not_stay() {
    for (damage, code) in [
        ("UPDATE generations SET digest = printf('%064d', 1)", "backup_unsound"),
        ("CREATE TABLE other (x)", "backup_unsound"),
        ("PRAGMA user_version = 999", "newer_store"),
    ] {
        let world = World::synced();
        let store = world.store();
        let conn = Connection::open(world.db()).unwrap();
        conn.execute_batch(damage).unwrap();
        let error = store.backup(world.path().join("copy.db")).unwrap_err();
        assert_eq!(error.code(), code, "{damage}: {error}");
        assert_eq!(strangers(&world, &[]), Vec::<String>::new(), "{damage}");
    }
}

#[test]
fn readers_and_a_writer_work_meanwhile() {
    let world = World::synced();
    let store = world.store();
    let reader = Connection::open(world.db()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM documents").unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut generations = 1;
            while !done.load(Ordering::Relaxed) {
                world.write("counter.md", format!("# Counter\n\nIt stands at {generations}.\n"));
                generations += u64::from(world.sync().published);
            }
            generations
        });
        for copy in 0..10 {
            let path = world.path().join(format!("copy{copy}.db"));
            let report = store.backup(&path).unwrap();
            let copied = Store::open(&path).unwrap();
            assert_eq!(
                copied.log(&ragdb::Principal::operator(), None).unwrap().len() as u64,
                report.generation.unwrap()
            );
        }
        done.store(true, Ordering::Relaxed);
        assert!(writer.join().unwrap() > 1);
    });
}

#[test]
fn the_verb_says_what_it_made() {
    let project = Project::synced();
    let run = project.ok(&["backup", "copy.db"]);
    assert!(run.stdout.contains("copy.db") && run.stdout.contains("generation 1, 3 documents"), "{}", run.stdout);
    let (code, error) = project.json(&["backup", "copy.db"]);
    assert_eq!((code, &error["error"]["code"]), (2, &"store_exists".into()));
    let (code, report) = project.json(&["backup", "other.db"]);
    assert_eq!((code, &report["documents"]), (0, &3.into()));
    project.ok(&["check", "--db", "other.db"]);
}

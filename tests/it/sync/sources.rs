//! Declared sources from one sync to the next: removed, renamed, read without their configuration.

use std::fs;
use std::os::unix::fs::symlink;

use ragdb::{Config, Error, Store, SyncRequest, SyncSources};
use rstest::rstest;

use crate::world::{Content, World, rows, value, write};

fn config(world: &World, yaml: &str) -> SyncRequest {
    let config = Config::from_yaml(yaml, world.path().join("ragdb.yaml")).expect("a good configuration");
    SyncRequest { sources: SyncSources::Config(config), ..SyncRequest::default() }
}

/// The code of the refusal of a request, which must change nothing.
fn refused(store: &Store, request: &SyncRequest) -> String {
    let before = (Content::of(store), rows(store, "SELECT * FROM sources ORDER BY source_id"));
    let error = store.sync(request).expect_err("it is refused");
    assert!(error.hint().is_some_and(|hint| !hint.is_empty()), "{error}");
    assert_eq!((Content::of(store), rows(store, "SELECT * FROM sources ORDER BY source_id")), before);
    error.code().to_owned()
}

#[rstest]
#[case::none_allowed(Some(0), "")]
#[case::one_allowed(Some(1), "")]
#[case::one_less_than_all(Some(26), "")]
#[case::by_the_configuration(None, "sync:\n  max_delete: 26\n")]
fn a_limit_holds_for_removed_sources_all_together(#[case] max_delete: Option<u64>, #[case] settings: &str) {
    let world = World::new(&[("a.md", "# A\n\nText.\n")]);
    for number in 0..27 {
        write(&world.path().join(format!("{}/{number}.md", ["x", "y", "z"][number % 3])), b"# A\n\nText.\n");
    }
    let yaml = |ids: &[&str]| {
        let sources: String = ids.iter().map(|id| format!("  - id: {id}\n    path: {id}\n")).collect();
        format!("sources:\n{sources}{settings}")
    };
    let store = world.store();
    assert_eq!(store.sync(&config(&world, &yaml(&["docs", "x", "y", "z"]))).unwrap().documents.added, 28);
    let fewer = config(&world, &yaml(&["docs"]));
    assert_eq!(refused(&store, &SyncRequest { max_delete, ..fewer.clone() }), "too_many_deletions");
    assert_eq!(store.sync(&SyncRequest { max_delete: Some(27), ..fewer }).unwrap().documents.deleted, 27);
}

#[test]
fn what_failed_once_is_held_against_the_rules_until_it_passes() {
    let world = World::new(&[("a.md", "Text of a.\n"), ("d/b.md", "Text of b.\n")]);
    let strict = |more: &str| config(&world, &format!("sources:\n  - id: docs\n    path: docs\n{more}"));
    let (free, strict) = (strict(""), strict("    required_metadata: [owner]\n"));
    let store = world.store();
    store.sync(&free).unwrap();
    std::thread::sleep(super::SETTLING);
    store.sync(&free).unwrap();
    assert_eq!(store.sync(&free).unwrap().bytes_read, 0, "the stamps are trusted");
    let going = SyncRequest { keep_going: true, ..strict.clone() };
    assert_eq!(store.sync(&going).unwrap().documents.failed, 2);
    for request in [&strict, &SyncRequest::default(), &SyncRequest { checksum: true, ..strict.clone() }] {
        let Err(Error::SyncFailed { failures }) = store.sync(request) else { panic!("the owner is missing still") };
        assert_eq!(failures.len(), 2);
    }
    let again = store.sync(&going).unwrap();
    assert_eq!((again.published, again.documents.failed), (false, 2));
    // A folder that could not be listed when the rule came: nothing below it was looked at.
    fs::remove_dir_all(world.docs().join("d")).unwrap();
    symlink(world.path(), world.docs().join("d")).unwrap();
    assert_eq!(store.sync(&going).unwrap().failures.len(), 2);
    fs::remove_file(world.docs().join("d")).unwrap();
    world.write("d/b.md", "Text of b.\n");
    let Err(Error::SyncFailed { failures }) = store.sync(&strict) else { panic!("the owner is missing still") };
    assert_eq!(failures.len(), 2);
    for path in ["a.md", "d/b.md"] {
        world.write(path, "---\nowner: ops\n---\n\nText.\n");
    }
    assert_eq!(store.sync(&strict).unwrap().documents.updated, 2);
}

#[test]
fn a_link_in_the_place_of_a_stored_root_is_not_followed() {
    let world = World::new(&[("a.md", "# A\n\nText.\n")]);
    write(&world.path().join("evil/a.md"), b"# A\n\nAnother text.\n");
    let store = world.store();
    store.sync(&config(&world, "sources:\n  - id: docs\n    path: docs\n")).unwrap();
    let docs = world.docs();
    fs::rename(&docs, world.path().join("docs.bak")).unwrap();
    symlink("evil", &docs).unwrap();
    assert_eq!(refused(&store, &SyncRequest::default()), "root_changed");
    fs::remove_file(&docs).unwrap();
    symlink("nowhere", &docs).unwrap();
    assert_eq!(refused(&store, &SyncRequest::default()), "root_missing");
    fs::remove_file(&docs).unwrap();
    fs::rename(world.path().join("docs.bak"), &docs).unwrap();
    assert_eq!(store.sync(&SyncRequest::default()).unwrap().documents.unchanged, 1);
}

#[test]
fn a_folder_argument_does_not_replace_a_declared_source() {
    let world = World::new(&[("a.md", "# A\n\nText.\n"), ("secret/b.md", "# B\n\nText.\n")]);
    let yaml = "sources:\n  - id: docs\n    path: docs\n    visibility: private\n    exclude: [secret/]\n";
    let store = world.store();
    assert_eq!(store.sync(&config(&world, yaml)).unwrap().documents.added, 1);
    assert_eq!(refused(&store, &world.request()), "source_declared_elsewhere");
    assert_eq!(refused(&store, &SyncRequest { reroot: true, ..world.request() }), "source_declared_elsewhere");
    assert!(!store.sync(&SyncRequest::default()).unwrap().published);
    assert_eq!(value(&store, "SELECT visibility FROM sources"), "private");
    // The other way round the declaration says what is wanted.
    let other = Store::create(world.path().join("other.db")).unwrap();
    other.sync(&world.request()).unwrap();
    assert_eq!(other.sync(&config(&world, yaml)).unwrap().documents.deleted, 1);
}

#[test]
fn a_folder_that_became_a_broken_link_keeps_its_documents() {
    let world = World::synced();
    let store = world.store();
    fs::rename(world.docs().join("guide"), world.path().join("away")).unwrap();
    symlink("nowhere", world.docs().join("guide")).unwrap();
    let Err(Error::SyncFailed { failures }) = store.sync(&world.request()) else { panic!("the link is refused") };
    assert_eq!((failures[0].path.as_str(), failures[0].code), ("guide", "symlink"));
    let report = store.sync(&SyncRequest { keep_going: true, ..world.request() }).unwrap();
    assert_eq!((report.documents.deleted, report.documents.unchanged), (0, 3));
}

#[test]
fn a_checksum_of_unchanged_files_writes_nothing() {
    let world = World::synced();
    std::thread::sleep(super::SETTLING);
    world.sync();
    let store = world.store();
    let before = fs::read(world.db()).unwrap();
    let request = SyncRequest { checksum: true, ..world.request() };
    let again = store.sync(&request).unwrap();
    assert!(!again.published && again.bytes_read > 0);
    assert!(again.seconds.write.total_cmp(&0.0).is_eq(), "no transaction was needed");
    // What is only noted reaches the file as well: the log does not stay behind.
    world.write("guide/keys.md", fs::read(world.docs().join("guide/keys.md")).unwrap());
    std::thread::sleep(super::SETTLING);
    assert!(!store.sync(&world.request()).unwrap().published);
    let log = fs::metadata(world.path().join("ragdb.db-wal")).map_or(0, |log| log.len());
    assert_eq!(log, 0);
    assert_ne!(fs::read(world.db()).unwrap(), before);
}

#[test]
fn the_settings_of_a_sync_are_kept_for_syncs_without_the_configuration() {
    let world = World::new(&[("a.md", "# A\n\nText.\n"), (".gitignore", "out/\n"), ("out/b.md", "# B\n\nText.\n")]);
    world.write("large.md", "word ".repeat(100));
    let yaml = |bytes: u32| {
        format!("sources:\n  - id: docs\n    path: docs\nsync:\n  respect_gitignore: true\n  max_file_bytes: {bytes}\n")
    };
    let store = world.store();
    let small = SyncRequest { keep_going: true, ..config(&world, &yaml(100)) };
    let report = store.sync(&small).unwrap();
    assert_eq!((report.documents.added, report.failures[0].code), (1, "too_large"));
    let again = store.sync(&SyncRequest { keep_going: true, ..SyncRequest::default() }).unwrap();
    assert_eq!((again.published, again.failures.len()), (false, 1));
    // A rebuild reads all sources of the store, also those that the request does not name.
    write(&world.path().join("other/c.md"), b"# C\n\nText.\n");
    let rebuild = SyncRequest {
        sources: SyncSources::Folders(vec![world.path().join("other")]),
        chunking: ragdb::ChunkSettings { max_chars: Some(400), ..ragdb::ChunkSettings::default() },
        keep_going: true,
        ..SyncRequest::default()
    };
    let report = store.sync(&rebuild).unwrap();
    assert_eq!((report.documents.added, report.documents.updated, report.failures.len()), (1, 1, 1));
    crate::world::assert_sound(&store);
    assert_eq!(store.sync(&config(&world, &yaml(10_000))).unwrap().documents.added, 1);
    let stored = rows(&store, "SELECT respect_gitignore, max_file_bytes FROM sources ORDER BY source_id");
    assert_eq!(stored, [["1", "10000"], ["0", "67108864"]]);
}

//! What a sync refuses, and that it changes nothing then.

use std::fs;
use std::os::unix::fs::symlink;

use ragdb::{Config, Principal, Store, SyncRequest, SyncSources};
use rstest::rstest;

use crate::world::{Content, World, value, write};

/// The code of the refusal of a request. The store must be as before.
fn refused(store: &Store, request: &SyncRequest) -> String {
    let before = (Content::of(store), value(store, "SELECT count(*) FROM generations"));
    let error = store.sync(request).expect_err("it is refused");
    assert!(error.hint().is_some_and(|hint| !hint.is_empty()), "{error}");
    assert_eq!((Content::of(store), value(store, "SELECT count(*) FROM generations")), before);
    error.code().to_owned()
}

fn config(world: &World, yaml: &str) -> SyncRequest {
    let config = Config::from_yaml(yaml, world.path().join("ragdb.yaml")).expect("a good configuration");
    SyncRequest { sources: SyncSources::Config(config), ..SyncRequest::default() }
}

#[test]
fn a_missing_empty_or_replaced_root() {
    let world = World::synced();
    let (store, request) = (world.store(), world.request());
    let away = world.path().join("away");
    fs::rename(world.docs(), &away).unwrap();
    assert_eq!(refused(&store, &request), "root_missing");
    assert_eq!(refused(&store, &SyncRequest::default()), "root_missing");
    fs::write(world.docs(), "a file").unwrap();
    assert_eq!(refused(&store, &SyncRequest::default()), "root_not_folder");
    fs::remove_file(world.docs()).unwrap();
    fs::create_dir(world.docs()).unwrap();
    assert_eq!(refused(&store, &request), "root_empty");
    assert_eq!(refused(&store, &SyncRequest { keep_going: true, ..request.clone() }), "root_empty");
    let report = store.sync(&SyncRequest { max_delete: Some(3), ..request.clone() }).unwrap();
    assert_eq!((report.generation, report.documents.deleted), (Some(2), 3));
    assert_eq!(store.status(&Principal::operator()).unwrap().documents, 0);
    assert!(store.search(&Principal::operator(), &ragdb::SearchRequest::new("key")).unwrap().hits.is_empty());
    fs::remove_dir(world.docs()).unwrap();
    fs::rename(away, world.docs()).unwrap();
    assert_eq!(store.sync(&request).unwrap().documents.added, 3);
}

#[rstest]
#[case::by_default(None, 6, "too_many_deletions")]
#[case::by_a_limit(Some(5), 6, "too_many_deletions")]
fn too_many_deletions(#[case] max_delete: Option<u64>, #[case] deleted: usize, #[case] code: &str) {
    let world = World::new(&[]);
    for number in 0..12 {
        world.write(&format!("{number:02}.md"), format!("# Document {number}\n\nText.\n"));
    }
    world.sync();
    for number in 0..deleted {
        world.remove(&format!("{number:02}.md"));
    }
    let store = world.store();
    assert_eq!(refused(&store, &SyncRequest { max_delete, ..world.request() }), code);
    let allowed = SyncRequest { max_delete: Some(deleted as u64), ..world.request() };
    assert_eq!(store.sync(&allowed).unwrap().documents.deleted, deleted as u64);
}

#[test]
fn a_folder_that_went_empty_may_be_an_unmounted_one() {
    let world = World::new(&[]);
    for number in 0..30 {
        world.write(&format!("{}/{number:02}.md", if number < 10 { "mount" } else { "rest" }), "# A\n\nText.\n");
    }
    world.sync();
    for number in 0..10 {
        world.remove(&format!("mount/{number:02}.md"));
    }
    let store = world.store();
    assert_eq!(refused(&store, &world.request()), "folder_emptied");
    fs::remove_dir(world.docs().join("mount")).unwrap();
    assert_eq!(store.sync(&world.request()).unwrap().documents.deleted, 10);
}

#[test]
fn two_folders_of_one_name() {
    let world = World::synced();
    write(&world.path().join("other/docs/a.md"), b"# A\n\nText.\n");
    let both = SyncSources::Folders(vec![world.docs(), world.path().join("other/docs")]);
    assert_eq!(refused(&world.store(), &SyncRequest { sources: both, ..SyncRequest::default() }), "source_id_taken");
}

#[test]
fn a_source_that_moved() {
    let world = World::synced();
    write(&world.path().join("other/docs/a.md"), b"# A\n\nText.\n");
    let moved =
        SyncRequest { sources: SyncSources::Folders(vec![world.path().join("other/docs")]), ..SyncRequest::default() };
    let store = world.store();
    assert_eq!(refused(&store, &moved), "root_changed");
    let report = store.sync(&SyncRequest { reroot: true, ..moved.clone() }).unwrap();
    assert_eq!((report.documents.added, report.documents.deleted), (1, 3));
    assert!(!store.sync(&moved).unwrap().published);
    assert!(!store.sync(&SyncRequest::default()).unwrap().published);
    assert_eq!(store.cite(&Principal::operator(), "a.md#L3").unwrap().status, ragdb::CiteStatus::Current);
}

#[test]
fn a_moved_source_with_equal_files_is_noted_without_a_generation() {
    let world = World::synced();
    let to = world.path().join("other/docs");
    fs::create_dir(world.path().join("other")).unwrap();
    fs::rename(world.docs(), &to).unwrap();
    let moved = SyncRequest { sources: SyncSources::Folders(vec![to]), ..SyncRequest::default() };
    let store = world.store();
    assert_eq!(refused(&store, &moved), "root_changed");
    assert!(!store.sync(&SyncRequest { reroot: true, ..moved.clone() }).unwrap().published);
    assert!(!store.sync(&moved).unwrap().published);
    assert_eq!(value(&store, "SELECT root FROM sources"), "other/docs");
}

#[test]
fn a_configured_folder_that_is_missing_is_named_as_missing() {
    let world = World::new(&[("a.md", "# A\n\nText.\n")]);
    // The configuration is reached through a link, so its folder has two names.
    let link = world.path().join("link");
    symlink(world.path(), &link).unwrap();
    let yaml = "sources:\n  - id: docs\n    path: docs\n";
    let config = Config::from_yaml(yaml, link.join("ragdb.yaml")).unwrap();
    let request = SyncRequest { sources: SyncSources::Config(config), ..SyncRequest::default() };
    let store = world.store();
    store.sync(&request).unwrap();
    fs::rename(world.docs(), world.path().join("away")).unwrap();
    assert_eq!(refused(&store, &request), "root_missing");
}

#[test]
fn a_source_that_is_declared_no_longer() {
    let world = World::new(&[]);
    for number in 0..12 {
        write(&world.path().join(format!("many/{number:02}.md")), b"# A\n\nText.\n");
    }
    write(&world.path().join("few/a.md"), b"# A\n\nText.\n");
    write(&world.path().join("docs/a.md"), b"# A\n\nText.\n");
    let source = |id: &str| format!("  - id: {id}\n    path: {id}\n");
    let store = world.store();
    let all = config(&world, &format!("sources:\n{}{}{}", source("docs"), source("few"), source("many")));
    assert_eq!(store.sync(&all).unwrap().documents.added, 14);
    let without_few = config(&world, &format!("sources:\n{}{}", source("docs"), source("many")));
    let report = store.sync(&without_few).unwrap();
    assert_eq!((report.documents.deleted, report.documents.unchanged), (1, 13));
    assert_eq!(value(&store, "SELECT group_concat(DISTINCT reason) FROM tombstones"), "source_removed");
    let without_many = config(&world, &format!("sources:\n{}", source("docs")));
    assert_eq!(refused(&store, &without_many), "source_removed");
    let report = store.sync(&SyncRequest { max_delete: Some(12), ..without_many }).unwrap();
    assert_eq!((report.documents.deleted, report.documents.unchanged), (12, 1));
    assert_eq!(store.status(&Principal::operator()).unwrap().sources.len(), 1);
}

#[test]
fn no_source_at_all() {
    let world = World::new(&[]);
    assert_eq!(refused(&world.store(), &SyncRequest::default()), "no_sources");
    assert_eq!(refused(&world.store(), &world.request()), "root_empty");
}

#[test]
fn a_link_as_a_source_below_a_configuration() {
    let world = World::new(&[("a.md", "# A\n\nText.\n")]);
    symlink(world.docs(), world.path().join("linked")).unwrap();
    assert_eq!(refused(&world.store(), &config(&world, "sources:\n  - id: l\n    path: linked\n")), "root_symlink");
}

//! What a purge leaves to do when its process ends too early.

use std::path::Path;

use super::*;
use crate::check::CheckRequest;
use crate::status::OptimizeRequest;
use crate::sync::{SyncRequest, SyncSources};

/// A store with a document whose earlier revision stands in a page that is free, and that was purged but for all that
/// comes after the transaction.
fn half_purged(folder: &Path) -> Store {
    let docs = folder.join("docs");
    std::fs::create_dir(&docs).unwrap();
    let write = |name: &str, text: &str| std::fs::write(docs.join(name), text).unwrap();
    let store = Store::create(folder.join("ragdb.db")).unwrap();
    let request = SyncRequest { sources: SyncSources::Folders(vec![docs.clone()]), ..SyncRequest::default() };
    write("keys.md", "# Keys\n\nRotate a key.\n");
    for page in ["okapi", "zebrafish"] {
        write("secret.md", &format!("# Secret\n\n{}\n", format!("The {page} page. ").repeat(2000)));
        store.sync(&request).unwrap();
    }
    write("secret.md", "# Secret\n\nThe pangolin page.\n");
    store.sync(&request).unwrap();
    let purge = PurgeRequest { document: "secret.md".into(), ..PurgeRequest::default() };
    store.remove_document(&purge, None).unwrap();
    store.checkpoint().unwrap();
    assert!(is_there(&store), "nothing is left in the first place");
    assert_eq!(store.read(settings::unfinished_purge).unwrap().as_deref(), Some(FILE));
    assert!(store.check(&CheckRequest { sources: false, deep: false }).unwrap().ok);
    store
}

/// Whether an earlier revision stands in the file or its log.
fn is_there(store: &Store) -> bool {
    crate::store::connect::own_files(store.path()).iter().filter_map(|file| std::fs::read(file).ok()).any(|bytes| {
        let text = String::from_utf8_lossy(&bytes);
        text.contains("okapi page") || text.contains("zebrafish page")
    })
}

#[test]
fn the_next_call_that_writes_finishes_a_purge() {
    type Call = (&'static str, fn(&Store));
    let calls: [Call; 4] = [
        ("sync", |store| assert!(!store.sync(&SyncRequest::default()).unwrap().published)),
        ("optimize", |store| assert_eq!(store.optimize(&OptimizeRequest::default()).unwrap().segments_after, 1)),
        ("backup", |store| assert_eq!(store.backup(store.path().with_file_name("copy.db")).unwrap().documents, 1)),
        ("purge", |store| {
            let request = PurgeRequest { document: "keys.md".into(), ..PurgeRequest::default() };
            assert!(store.purge(&request).unwrap().log_is_empty);
        }),
    ];
    for (name, call) in calls {
        let folder = tempfile::tempdir().unwrap();
        let store = half_purged(folder.path());
        call(&store);
        assert!(!is_there(&store), "{name}");
        assert_eq!(store.read(settings::unfinished_purge).unwrap(), None, "{name}");
        assert!(!log::has_log(store.path()), "{name}");
    }
}

#[test]
fn a_copy_of_a_store_that_is_only_read_has_nothing_left_to_do() {
    let folder = tempfile::tempdir().unwrap();
    drop(half_purged(folder.path()));
    let copy = folder.path().join("copy.db");
    Store::open_read_only(folder.path().join("ragdb.db")).unwrap().backup(&copy).unwrap();
    let copy = Store::open(copy).unwrap();
    assert!(!is_there(&copy));
    assert_eq!(copy.read(settings::unfinished_purge).unwrap(), None);
}

#[test]
fn a_log_that_is_read_is_emptied_later() {
    let folder = tempfile::tempdir().unwrap();
    let store = half_purged(folder.path());
    let other = Store::open_read_only(store.path()).unwrap();
    other
        .read(|conn| {
            generations::head(conn)?;
            store.finish_purge()?;
            assert_eq!(store.read(settings::unfinished_purge)?.as_deref(), Some(LOG));
            Ok(())
        })
        .unwrap();
    store.sync(&SyncRequest::default()).unwrap();
    assert_eq!(store.read(settings::unfinished_purge).unwrap(), None);
    assert!(!log::has_log(store.path()));
}

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

//! Rows of access classes that another tool took away.

use std::fs;

use ragdb::{AclChange, CheckRequest, Damage, OptimizeRequest, Principal, SyncRequest, SyncSources};
use rstest::rstest;

use super::history;
use super::mended::{QUERIES, checked, kept, kinds, spoil};
use crate::world::{World, answer, assert_sound, rows};

const ALL: &str = "DELETE FROM acl_classes";
/// As a sync of an earlier build left it.
const ALL_IN_BOTH_PLACES: &str = "DELETE FROM acl_classes; UPDATE settings SET value = '[]' WHERE key = 'acl'";

fn answers(world: &World) -> Vec<String> {
    QUERIES.iter().map(|query| format!("{:?}", answer(&world.store(), query, None))).collect()
}

#[rstest]
fn a_sync_refuses_and_a_rebuild_makes_the_rows_again(
    #[values(
        ALL,
        ALL_IN_BOTH_PLACES,
        "DELETE FROM acl_classes WHERE class_no > 0",
        "DELETE FROM acl_classes WHERE class_no = 0"
    )]
    sql: &str,
    #[values(false, true)] checksum: bool,
) {
    let world = history();
    crate::embed::embed(&world.store(), &ragdb::HashingEmbedder::new()).unwrap();
    let (before, rows_before) = (answers(&world), kept(&world.store()));
    spoil(&world, sql);
    let damaged = fs::read(world.db()).unwrap();
    let request = SyncRequest { checksum, keep_going: true, ..world.request() };
    let synced = world.store().sync(&request);
    if sql.ends_with("= 0") {
        synced.unwrap();
    } else {
        assert_eq!(synced.unwrap_err().code(), "damaged");
        assert_eq!(fs::read(world.db()).unwrap(), damaged);
    }
    let found = kinds(&checked(&world));
    assert!(!found.is_empty() && found.iter().all(|kind| *kind == Damage::Access), "{found:?}");
    world.store().optimize(&OptimizeRequest { rebuild: true }).unwrap();
    assert_sound(&world.store());
    assert_eq!(answers(&world), before);
    assert_eq!(kept(&world.store()), rows_before);
}

#[test]
fn who_searches_where_no_class_is_left_is_told() {
    let world = history();
    spoil(&world, ALL_IN_BOTH_PLACES);
    let error = world.store().search(&Principal::operator(), &ragdb::SearchRequest::new("key")).unwrap_err();
    assert_eq!(error.code(), "damaged");
}

/// A class that nothing is in any more, and one of a document by itself.
#[test]
fn what_is_left_of_classes_without_documents_is_for_nobody_else() {
    let world = history();
    let store = world.store();
    store.grant(&AclChange::user("guide/keys.md", "ada").unwrap()).unwrap();
    crate::embed::embed(&store, &ragdb::HashingEmbedder::new()).unwrap();
    drop(store);
    world.remove("guide/keys.md");
    let sources = SyncSources::Folders(vec![world.docs()]);
    let request = SyncRequest { sources, keep_going: true, max_delete: Some(5), ..SyncRequest::default() };
    world.store().sync(&request).unwrap();
    spoil(&world, ALL);
    world.store().optimize(&OptimizeRequest { rebuild: true }).unwrap();
    assert_sound(&world.store());
    let strays = "SELECT count(*) FROM tombstones WHERE class_no NOT IN (SELECT class_no FROM acl_classes)";
    assert_eq!(rows(&world.store(), strays), [["0"]]);
}

#[test]
fn a_rule_that_reads_use_and_nothing_makes_is_not_replaced() {
    let world = history();
    let narrowed = "UPDATE settings SET value = replace(value, '[\"Tenant\"]', '[]') WHERE key = 'acl'";
    spoil(&world, &format!("{ALL}; {narrowed}"));
    let spoiled = rows(&world.store(), "SELECT value NOT LIKE '%[\"Tenant\"]%' FROM settings WHERE key = 'acl'");
    assert_eq!(spoiled, [["1"]]);
    let error = world.store().optimize(&OptimizeRequest { rebuild: true }).unwrap_err();
    assert_eq!(error.code(), "damaged");
    let report = world.store().check(&CheckRequest { sources: false, deep: false }).unwrap();
    assert!(kinds(&report).contains(&Damage::File), "{report:#?}");
}

//! Which groups there are.

use ragdb::{AclChange, Config, Principal, SyncRequest, SyncSources};

use crate::world::{World, assert_sound, value};

fn request(world: &World, access: &str) -> SyncRequest {
    let yaml = format!("{access}sources:\n  - {{id: docs, path: docs, tenant: acme}}\n");
    let config = Config::from_yaml(&yaml, world.path().join("ragdb.yaml")).expect("a good configuration");
    SyncRequest { sources: SyncSources::Config(config), ..SyncRequest::default() }
}

#[test]
fn an_empty_list_says_that_there_are_no_groups() {
    let world = World::new(&[("a.md", "---\ngroups: [hr]\n---\n# A\n\nText.\n")]);
    let store = world.store();
    let hr = Principal::new("acme", "helen").unwrap().with_group("hr").unwrap();
    let may_read = || store.explain_access("a.md", &hr).unwrap().allowed;
    store.sync(&request(&world, "access: {groups: [hr, ops]}\n")).unwrap();
    assert!(may_read());
    // Whoever takes the last group out of the list means that there is none left.
    let report = store.sync(&request(&world, "access: {groups: []}\n")).unwrap();
    assert_eq!(report.access_notes[0].1, "group \"hr\" is not declared in access.groups: ignored");
    assert!(!may_read());
    assert_eq!(value(&store, "SELECT value FROM settings WHERE key = 'acl_groups'"), "[]");
    let granted = store.grant(&AclChange::group("docs", "hr").unwrap());
    assert_eq!(granted.unwrap_err().code(), "unknown_group");
    // It is what is stored already; and a sync without the configuration leaves it.
    assert!(store.sync(&request(&world, "access: {groups: []}\n")).unwrap().access_notes.is_empty());
    store.sync(&SyncRequest::default()).unwrap();
    assert!(!may_read());
    // Without a list any name is a group.
    store.sync(&request(&world, "")).unwrap();
    assert!(may_read());
    assert_sound(&store);
}

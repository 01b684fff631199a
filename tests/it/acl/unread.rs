//! What is stored does not stay more widely readable than its file says, whatever else is wrong with the file.

use ragdb::{Config, Principal, Store, SyncRequest, SyncSources};
use rstest::rstest;

use crate::world::{World, assert_sound};

fn request(world: &World, source: &str) -> SyncRequest {
    let yaml = format!("sources:\n  - {{id: docs, path: docs, visibility: public{source}}}\n");
    let config = Config::from_yaml(&yaml, world.path().join("ragdb.yaml")).expect("a good configuration");
    SyncRequest { sources: SyncSources::Config(config), keep_going: true, ..SyncRequest::default() }
}

fn may_read(store: &Store) -> bool {
    store.explain_access("a.md", &Principal::public()).expect("an explanation").allowed
}

#[rstest]
#[case::without_a_required_field("---\nvisibility: private\n---\n# A\n\nText.\n", "missing_metadata")]
#[case::a_group_without_a_required_field("---\ngroups: hr\n---\n# A\n\nText.\n", "missing_metadata")]
#[case::a_time_without_a_required_field("---\nvalid_until: 2020-01-01\n---\n# A\n\nText.\n", "missing_metadata")]
#[case::broken("---\nowner: me\nvisibility: private\ntitle: [\n---\n# A\n\nText.\n", "front_matter_invalid")]
#[case::unclosed("---\nvisibility: private\n\n# A\n\nText.\n", "front_matter_unclosed")]
#[case::without_a_body("---\nvisibility: private\n---\n", "empty")]
#[case::nearly_a_key("---\nVisibility: private\nowner: me\n---\n# A\n\nText.\n", "access_invalid")]
#[case::no_rule("---\nvisibility: 7\n---\n\n", "access_invalid")]
fn a_narrower_rule_is_not_lost_to_another_failure(#[case] text: &str, #[case] code: &str) {
    let world = World::new(&[("a.md", "---\nowner: me\n---\n# A\n\nText.\n"), ("b.md", "---\nowner: me\n---\n# B\n")]);
    let (store, request) = (world.store(), request(&world, ", required_metadata: [owner]"));
    store.sync(&request).unwrap();
    assert!(may_read(&store));
    world.write("a.md", text);
    world.write("b.md", "---\nowner: you\n---\n# B\n\nMore.\n");
    let error = store.sync(&request).unwrap_err();
    assert_eq!(error.code(), "rule_unread", "{error}");
    assert!(error.to_string().contains("a.md is stored"), "{error}");
    let plan = store.plan(&request).unwrap();
    assert_eq!(plan.failures[0].code, code);
    // Gone from the folder, it goes from the store.
    world.remove("a.md");
    assert_eq!(store.sync(&request).unwrap().documents.deleted, 1);
    assert_sound(&store);
}

#[rstest]
#[case::as_before("---\nvisibility: internal\n---\n# A\n\nText.\n")]
#[case::wider("# A\n\nText.\n")]
#[case::nothing_at_all("\n")]
fn a_rule_that_is_not_narrower_keeps_what_is_stored(#[case] text: &str) {
    let world = World::new(&[("a.md", "---\nvisibility: internal\nowner: me\n---\n# A\n\nText.\n")]);
    let (store, request) = (world.store(), request(&world, ", required_metadata: [owner]"));
    store.sync(&request).unwrap();
    world.write("a.md", text);
    let report = store.sync(&request).unwrap();
    assert_eq!((report.failures.len(), report.documents.unchanged), (1, 1));
    assert!(!may_read(&store));
}

#[test]
fn a_text_that_says_who_may_read_it_is_no_document() {
    let files = [
        ("a.txt", "---\nvisibility: private\n---\nText.\n"),
        ("b.txt", "---\ntitle: B\nValid-Until: 2030-01-01\n---\nText.\n"),
        ("c.txt", "---\ntitle: C\n---\nText.\n"),
        ("d.txt", "visibility: private\n"),
    ];
    let world = World::new(&files);
    let report = world.store().sync(&request(&world, ", kind: text")).unwrap();
    let failed: Vec<_> = report.failures.iter().map(|failure| (failure.path.as_str(), failure.code)).collect();
    assert_eq!(failed, [("a.txt", "access_invalid"), ("b.txt", "access_invalid")]);
    assert!(report.failures[0].message.contains("\"visibility\""), "{}", report.failures[0].message);
    assert_eq!(report.documents.added, 2);
    assert_sound(&world.store());
}

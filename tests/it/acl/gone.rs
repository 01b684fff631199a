//! Acts on what is stored no longer.

use ragdb::{AclChange, Config, Principal, Store, SyncReport, SyncRequest, SyncSources};

use crate::world::{World, assert_sound, rows, write};

const DOCS: &str = "  - {id: docs, path: docs, tenant: acme}\n";
const MORE: &str = "  - {id: more, path: more, tenant: acme}\n";

fn sync(world: &World, sources: &[&str]) -> SyncReport {
    let yaml = format!("sources:\n{}", sources.concat());
    let config = Config::from_yaml(&yaml, world.path().join("ragdb.yaml")).expect("a good configuration");
    let sources = SyncSources::Config(config);
    let request = SyncRequest { sources, max_delete: Some(9), ..SyncRequest::default() };
    world.store().sync(&request).expect("the sync succeeds")
}

fn world() -> World {
    let world = World::new(&[("a.md", "# A\n\nText.\n"), ("b.md", "# B\n\nText.\n")]);
    write(&world.path().join("more/c.md"), b"# C\n\nText.\n");
    sync(&world, &[DOCS, MORE]);
    world
}

fn may_read(store: &Store, path: &str) -> bool {
    store.explain_access(path, &Principal::new("acme", "eve").unwrap()).unwrap().allowed
}

fn eve(target: &str) -> AclChange {
    AclChange::user(target, "eve").unwrap()
}

#[test]
fn a_deleted_document_is_revoked_before_it_comes_back() {
    let world = world();
    let store = world.store();
    world.remove("a.md");
    sync(&world, &[DOCS, MORE]);
    for target in ["a.md", "docs:a.md"] {
        assert_eq!(store.grant(&eve(target)).unwrap_err().code(), "not_found");
    }
    assert_eq!(store.revoke(&eve("never.md")).unwrap_err().code(), "not_found");
    let report = store.revoke(&eve("docs:a.md")).unwrap();
    assert_eq!((report.changed, report.epoch, report.documents), (true, 1, 0), "{report:?}");
    assert_eq!(report.target, "document docs:a.md");
    assert!(report.notes.iter().any(|note| note.contains("holds when it comes back")), "{report:?}");
    let again = store.revoke(&eve("a.md")).unwrap();
    assert!(!again.changed && again.epoch == 1, "{again:?}");
    assert_sound(&store);
    world.write("a.md", "# A\n\nText.\n");
    sync(&world, &[DOCS, MORE]);
    assert!(!may_read(&store, "a.md") && may_read(&store, "b.md"));
    assert_sound(&store);
}

#[test]
fn a_source_that_is_declared_no_longer_is_revoked_before_it_comes_back() {
    let world = world();
    let store = world.store();
    sync(&world, &[DOCS]);
    assert_eq!(store.grant(&eve("more")).unwrap_err().code(), "not_found");
    let report = store.revoke(&eve("more")).unwrap();
    assert!(report.changed && report.epoch > 0, "{report:?}");
    assert!(!store.revoke(&eve("more")).unwrap().changed);
    let acts = rows(&store, "SELECT target_kind, target, subject, effect FROM acl_acts");
    assert_eq!(acts, [["source", "more", "eve", "deny"]]);
    assert_sound(&store);
    sync(&world, &[DOCS, MORE]);
    assert!(!may_read(&store, "c.md") && may_read(&store, "a.md"));
    assert_sound(&store);
}

#[test]
fn acts_on_a_document_that_is_renamed_are_told_of() {
    let world = world();
    let store = world.store();
    store.revoke(&eve("a.md")).unwrap();
    store.revoke(&eve("c.md")).unwrap();
    std::fs::rename(world.docs().join("a.md"), world.docs().join("z.md")).unwrap();
    world.remove("b.md");
    std::fs::remove_file(world.path().join("more/c.md")).unwrap();
    write(&world.path().join("more/d.md"), b"# D\n\nText.\n");
    let report = sync(&world, &[DOCS, MORE]);
    let notes = [
        ("docs", "acts on docs:a.md stay with that path; docs:z.md has the same content: grant or revoke there"),
        ("more", "acts on more:c.md stay with that path"),
    ];
    assert_eq!(report.access_notes, notes.map(|(source, note)| (source.to_owned(), note.to_owned())));
    assert!(may_read(&store, "z.md"));
    assert_sound(&store);
}

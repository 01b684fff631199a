//! `check` and the audits: what they find, and what they leave alone.

use std::fs;

use ragdb::{Store, SyncRequest, SyncSources, audits};

use crate::world::{World, rows};

fn run_audit(store: &Store, name: &str) -> Vec<Vec<String>> {
    rows(store, audits().iter().find(|audit| audit.name == name).unwrap().sql)
}

fn folder(world: &World, name: &str) -> std::path::PathBuf {
    world.path().join(name)
}

fn sync_folders(world: &World, names: &[&str]) {
    let folders = names.iter().map(|name| folder(world, name)).collect();
    let request = SyncRequest {
        sources: SyncSources::Folders(folders),
        keep_going: true,
        max_delete: Some(0),
        ..SyncRequest::default()
    };
    world.store().sync(&request).unwrap();
}

#[test]
fn the_stale_audit_lists_what_a_failed_folder_holds() {
    let world = World::synced();
    world.write("guidebook.md", "# Guidebook\n\nIt is not in the folder `guide`.\n");
    world.sync();
    fs::rename(world.docs().join("guide"), world.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(world.path().join("moved"), world.docs().join("guide")).unwrap();
    sync_folders(&world, &["docs"]);
    let store = world.store();
    let stale = rows(&store, "SELECT f.path, d.path FROM audit_stale f JOIN documents d USING (document_id)");
    assert_eq!(stale, [["guide", "guide/keys.md"], ["guide", "guide/limits.md"]]);
    assert_eq!(run_audit(&store, "stale").len(), 2);
}

#[test]
fn the_sources_audit_lists_sources_without_documents() {
    let world = World::synced();
    fs::create_dir(folder(&world, "empty")).unwrap();
    sync_folders(&world, &["docs", "empty"]);
    let sources = run_audit(&world.store(), "sources");
    assert_eq!(sources.iter().map(|row| &*row[0]).collect::<Vec<_>>(), ["docs", "empty"]);
    assert_eq!(sources[1][4..], ["0", "0", "0"]);
}

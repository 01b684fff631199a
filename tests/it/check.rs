//! `check` and the audits: what they find, and what they leave alone.

mod columns;
mod lost;
mod mended;
mod strange;
mod texts;

use std::fs;

use ragdb::{Check, CheckRequest, Principal, SearchRequest, Store, SyncRequest, SyncSources, audits};
use rstest::rstest;
use rusqlite::Connection;

use crate::world::{World, assert_sound, rows, write};

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
        max_delete: Some(1),
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
    assert_sound(&store);
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

/// Three generations, with an updated document, a deleted one and one whose file fails.
fn history() -> World {
    let world = World::synced();
    world.remove("guide/limits.md");
    world.write("zh/keys.md", b"\xff");
    sync_folders(&world, &["docs"]);
    world.write("guide/keys.md", "# Keys\n\nA key opens the store.\n\n## Losing a key\n\nReport it.\n");
    sync_folders(&world, &["docs"]);
    assert_eq!(world.store().log(&Principal::operator(), None).unwrap().len(), 3);
    assert_sound(&world.store());
    world
}

fn tamper(world: &World, sql: &str) {
    let conn = Connection::open(world.db()).unwrap();
    assert!(conn.execute(sql, []).unwrap() > 0, "{sql}");
}

/// The check of this name.
fn check(world: &World, name: &str) -> Check {
    let report = world.store().check(&CheckRequest { deep: name == "rebuild", sources: false }).unwrap();
    report.checks.into_iter().find(|check| check.name == name).unwrap()
}

const COPY: &str = "INSERT INTO tombstones SELECT NULL, kind, id, document_id, source_id, path, content_hash, \
    generation_added, generation_deleted, reason, class_no, class_generation FROM tombstones WHERE kind = 'document'";

#[rstest]
#[case("DELETE FROM tombstones WHERE kind = 'document'", "generations", "generation 2: 0 documents were added and 0")]
#[case(COPY, "tombstones", "generation 2 deleted it 2 times")]
#[case(
    "UPDATE tombstones SET generation_deleted = 3 WHERE kind = 'document'",
    "tombstones",
    "none of its chunks was deleted with it"
)]
#[case("UPDATE tombstones SET reason = 'source_removed' WHERE kind = 'document'", "tombstones", "its reason is")]
#[case("UPDATE tombstones SET reason = 'file_deleted' WHERE generation_deleted = 3", "tombstones", "its reason is")]
#[case("DELETE FROM settings WHERE key = 'policy_digest'", "settings", "settings.policy_digest is missing")]
#[case("INSERT INTO settings VALUES ('colour', 'red')", "settings", "settings.colour is foreign")]
#[case("UPDATE segments SET average_length = average_length / 2", "index", "a block has impact")]
#[case("UPDATE segments SET average_length = average_length * 2", "index", "a block has impact")]
#[case("UPDATE terms SET max_impact = 0", "index", "a block has impact 0")]
#[case("UPDATE terms SET dead = dead + 1 WHERE term = 'key'", "index", "term \"key\": its df less its dead")]
#[case(
    "UPDATE chunk_lengths SET lengths = cast(x'00ff' || substr(lengths, 3) AS BLOB)",
    "index",
    "its length in the index is not that of its text"
)]
#[case("INSERT INTO terms VALUES (99, 'x', 0, 0, 0, 0, 0, x'')", "index", "terms: 1 rows belong to no segment")]
#[case("INSERT INTO posting_blocks VALUES (99, x'')", "index", "posting_blocks: 1 rows belong to no segment")]
#[case(
    "INSERT INTO sync_failures VALUES (3, 'docs', 'a.md', 'empty', '')",
    "generations",
    "generation 3: sync_failures lists 2"
)]
#[case("DELETE FROM sync_failures WHERE generation = 3", "generations", "generation 3: sync_failures lists 0")]
fn what_was_changed_by_hand_is_named(#[case] sql: &str, #[case] name: &str, #[case] problem: &str) {
    let world = history();
    tamper(&world, sql);
    let check = check(&world, name);
    assert!(!check.ok, "{sql}");
    assert!(check.problems.iter().any(|found| found.contains(problem)), "{sql}: {:#?}", check.problems);
}

#[test]
fn impacts_of_blocks_and_lists_that_are_too_small_are_named() {
    let world = World::new(&[]);
    let section =
        |number: u32| format!("# Section {number}\n\nA common word {}\n\n", "more ".repeat(number as usize % 7));
    world.write("long.md", (0..400).map(section).collect::<String>());
    world.sync();
    assert_sound(&world.store());
    assert!(!world.store().search(&Principal::operator(), &SearchRequest::new("common")).unwrap().hits.is_empty());
    tamper(&world, "UPDATE terms SET max_impact = 1 WHERE blocks > 0");
    assert!(check(&world, "index").problems[0].contains("max_impact is 1"));
    let zero =
        "UPDATE terms SET data = cast(substr(data, 1, 9) || x'0000' || substr(data, 12) AS BLOB) WHERE blocks > 0";
    tamper(&world, zero);
    assert!(check(&world, "index").problems[0].contains("a block has impact 0"));
}

#[test]
fn failures_carried_on_from_a_source_that_is_not_read_are_sound() {
    let world = World::synced();
    world.write("guide/keys.md", b"\xff");
    sync_folders(&world, &["docs"]);
    write(&folder(&world, "other").join("a.md"), b"# Other\n\nText.\n");
    write(&folder(&world, "other").join("b.md"), b"\xff");
    sync_folders(&world, &["other"]);
    let store = world.store();
    assert_eq!(
        rows(
            &store,
            "SELECT count(*), documents_failed FROM sync_failures JOIN generations USING (generation) \
        WHERE generation = 3"
        ),
        [["2", "1"]]
    );
    assert_sound(&store);
    tamper(&world, "INSERT INTO sync_failures VALUES (3, 'docs', 'a.md', 'empty', '')");
    assert!(!check(&world, "generations").ok);
}

/// Two sources, each with `a.md`.
fn two_sources() -> World {
    let world = World::new(&[("a.md", "# First\n\nOf docs.\n")]);
    write(&folder(&world, "other").join("a.md"), b"# Second\n\nOf other.\n");
    sync_folders(&world, &["docs", "other"]);
    assert_sound(&world.store());
    world
}

#[test]
fn a_source_whose_folder_is_missing_is_named_and_not_compared() {
    let world = two_sources();
    fs::remove_dir_all(folder(&world, "other")).unwrap();
    let found = check(&world, "rebuild");
    assert!(found.ok && found.count == 1, "{found:#?}");
    assert!(found.detail.contains("not all could be compared"), "{found:#?}");
    assert!(found.problems[0].starts_with("source other: not compared: "), "{found:#?}");
    fs::remove_dir_all(world.docs()).unwrap();
    let found = check(&world, "rebuild");
    assert!(found.ok && found.count == 0, "{found:#?}");
    assert!(found.detail.contains("nothing could be compared"), "{found:#?}");
}

#[test]
fn a_failure_of_one_source_excuses_nothing_in_another() {
    let world = two_sources();
    world.write("a.md", b"\xff");
    tamper(&world, "UPDATE documents SET title = 'Forged' WHERE title = 'Second'");
    let found = check(&world, "rebuild");
    assert!(!found.ok && found.count == 1, "{found:#?}");
    assert_eq!(found.problems[0], "a.md: a fresh build has other metadata");
}

#[test]
fn files_that_changed_since_are_no_damage_to_a_rebuild() {
    let world = World::synced();
    world.write("guide/keys.md", "# Keys\n\nEdited.\n");
    world.write("new.md", "# New\n\nNot indexed yet.\n");
    world.remove("guide/limits.md");
    let found = check(&world, "rebuild");
    assert!(found.ok && found.count == 1, "{found:#?}");
    assert!(found.detail.contains("2 documents left out"), "{found:#?}");
    assert_eq!(found.problems.len(), 3, "{found:#?}");
}

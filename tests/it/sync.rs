//! What a sync publishes, what it refuses, and what it leaves alone.

mod faults;
mod refusals;
mod sources;
mod together;

use std::fs;
use std::time::Duration;

use ragdb::{ChunkSettings, Error, Principal, SearchRequest, Store, SyncRequest, SyncSources};

use crate::world::{Content, World, rows, value};

/// Stamps are trusted once they are older than this.
const SETTLING: Duration = Duration::from_millis(2100);

#[test]
fn a_sync_without_a_change_reads_and_writes_nothing() {
    let world = World::synced();
    std::thread::sleep(SETTLING);
    let store = world.store();
    // The files were too young to trust their stamps: this sync reads them again and notes the stamps.
    let settling = store.sync(&world.request()).unwrap();
    assert!(!settling.published && settling.bytes_read > 0, "{settling:?}");
    drop(store);
    let before = fs::read(world.db()).unwrap();
    let report = world.sync();
    assert_eq!((report.published, report.generation, report.bytes_read), (false, Some(1), 0));
    assert_eq!(report.documents.unchanged, 3);
    assert!(fs::read(world.db()).unwrap() == before, "the file changed");

    let text = fs::read(world.docs().join("guide/keys.md")).unwrap();
    world.write("guide/keys.md", &text);
    let touched = world.sync();
    assert_eq!((touched.published, touched.bytes_read), (false, text.len() as u64));
    std::thread::sleep(SETTLING);
    assert_eq!(world.sync().bytes_read, text.len() as u64);
    let settled = world.sync();
    assert_eq!((settled.published, settled.generation, settled.bytes_read), (false, Some(1), 0));
    assert_eq!(world.store().sync(&SyncRequest { checksum: true, ..world.request() }).unwrap().documents.unchanged, 3);
}

#[test]
fn a_changed_policy_rebuilds_and_says_so() {
    let world = World::synced();
    let store = world.store();
    let chunking = ChunkSettings { max_chars: Some(40), overlap_chars: Some(0), ..ChunkSettings::default() };
    let request = SyncRequest { chunking, ..world.request() };
    let plan = store.plan(&request).unwrap();
    assert_eq!((plan.rebuild.len(), plan.updated.len(), plan.generation), (3, 3, Some(1)), "{plan:?}");
    let report = store.sync(&request).unwrap();
    assert_eq!((report.generation, report.rebuilt.len(), report.documents.updated), (Some(2), 3, 3));
    assert!(report.rebuilt.iter().any(|line| line.contains("chunking.max_chars is 1200 in the store and 40 here")));
    assert_eq!(value(&store, "SELECT max(length(text)) <= 60 FROM chunks"), "1");
    // What is not asked for stays as the store has it.
    assert!(!store.sync(&world.request()).unwrap().published);
    assert!(!store.sync(&SyncRequest::default()).unwrap().published);
}

#[test]
fn what_another_lexer_indexed_is_not_searched_until_a_sync_rebuilds_it() {
    let world = World::synced();
    let store = world.store();
    let policy = value(&store, "SELECT value FROM settings WHERE key = 'policy'");
    let current = format!("\"lexer_version\":{}", ragdb::LEXER_VERSION);
    let other = policy.replace(&current, "\"lexer_version\":999");
    assert_ne!(policy, other);
    let conn = rusqlite::Connection::open(world.db()).unwrap();
    let set = "UPDATE settings SET value = ?2 WHERE key = ?1";
    conn.execute(set, ["policy", &other]).unwrap();
    assert_eq!(store.search(&Principal::operator(), &SearchRequest::new("key")).unwrap_err().code(), "damaged");
    conn.execute(set, ["policy_digest", &ragdb::Digest::of(&other).to_string()]).unwrap();
    let refused = store.search(&Principal::operator(), &SearchRequest::new("key")).unwrap_err();
    assert_eq!(refused.code(), "policy_mismatch");
    assert!(refused.to_string().contains("lexer_version is 999"), "{refused}");
    let report = store.sync(&world.request()).unwrap();
    assert_eq!((report.generation, report.rebuilt.len()), (Some(2), 1));
    assert!(!store.search(&Principal::operator(), &SearchRequest::new("key")).unwrap().hits.is_empty());
}

#[test]
fn a_failed_file_stops_the_sync_and_lists_all_failures() {
    let world = World::synced();
    world.write("guide/keys.md", b"\xff\xfe");
    world.write("zh/new.md", "\n \n");
    world.write("fine.md", "# Fine\n\nThis one is fine.\n");
    let store = world.store();
    let before = Content::of(&store);
    let Err(Error::SyncFailed { failures }) = store.sync(&world.request()) else { panic!("the sync must fail") };
    let listed: Vec<_> = failures.iter().map(|failure| (failure.path.as_str(), failure.code)).collect();
    assert_eq!(listed, [("guide/keys.md", "not_utf8"), ("zh/new.md", "empty")]);
    assert!(failures.iter().all(|failure| failure.source_id == "docs"), "{failures:?}");
    assert_eq!(store.log(&Principal::operator(), None).unwrap().len(), 1);
    before.assert_equals(&Content::of(&store), "after the failed sync");
}

#[test]
fn keep_going_keeps_the_last_good_version_and_lists_what_is_stale() {
    let world = World::synced();
    let going = SyncRequest { keep_going: true, ..world.request() };
    let stale = |store: &Store| rows(store, "SELECT path, code, indexed_in, failed_in FROM audit_stale");
    let store = world.store();
    let good = fs::read(world.docs().join("guide/keys.md")).unwrap();
    world.write("guide/keys.md", b"\xff\xfe");
    world.write("fine.md", "# Fine\n\nThis one is fine.\n");
    let report = store.sync(&going).unwrap();
    assert_eq!((report.generation, report.documents.added, report.documents.unchanged), (Some(2), 1, 3));
    assert_eq!((report.documents.failed, report.failures.len()), (1, 1));
    assert_eq!(stale(&store), [["guide/keys.md", "not_utf8", "1", "2"]]);
    assert!(
        !store.search(&Principal::operator(), &SearchRequest::new("rotate keys")).unwrap().hits.is_empty(),
        "the old version is found"
    );
    assert_eq!(store.show(&Principal::operator(), 2).unwrap().failures.len(), 1);

    // Nothing changed: it is stale still.
    let again = store.sync(&going).unwrap();
    assert_eq!((again.published, again.documents.failed), (false, 1));
    assert_eq!(stale(&store).len(), 1);

    // It is what is stored again: no longer stale.
    world.write("guide/keys.md", &good);
    store.sync(&going).unwrap();
    assert_eq!(stale(&store), Vec::<Vec<String>>::new());

    // Nothing but the failure is new: it is listed all the same.
    world.write("zh/keys.md", b"\xff");
    store.sync(&going).unwrap();
    assert_eq!(stale(&store).len(), 1);

    // A sync of another source says nothing about it.
    let other = world.path().join("other");
    crate::world::write(&other.join("a.md"), b"# Other\n\nAnother source.\n");
    store.sync(&SyncRequest { sources: SyncSources::Folders(vec![other]), ..SyncRequest::default() }).unwrap();
    assert_eq!(stale(&store).len(), 1);

    // Deleted: there is nothing left to be stale.
    world.remove("zh/keys.md");
    store.sync(&going).unwrap();
    assert_eq!(stale(&store), Vec::<Vec<String>>::new());
}

#[test]
fn a_rebuild_refuses_to_mix_policies_where_a_document_cannot_be_read() {
    let world = World::synced();
    world.write("guide/keys.md", b"\xff\xfe");
    let chunking = ChunkSettings { max_chars: Some(40), ..ChunkSettings::default() };
    let request = SyncRequest { keep_going: true, chunking, ..world.request() };
    assert_eq!(world.store().sync(&request).unwrap_err().code(), "rebuild_needs_all_files");
    assert_eq!(world.store().log(&Principal::operator(), None).unwrap().len(), 1);
}

#[test]
fn documents_without_a_word_are_kept_and_never_found() {
    let world = World::new(&[("a.md", "# Heading\n"), ("—.md", "—\n\n* * *\n")]);
    assert_eq!(world.sync().generation, Some(1));
    let store = world.store();
    let status = store.status(&Principal::operator()).unwrap();
    assert_eq!((status.documents, status.indexed_chunks), (2, 0));
    assert_eq!(store.search(&Principal::operator(), &SearchRequest::new("heading")).unwrap().hits.len(), 0);
    world.write("a.md", "# Heading\n\nWords.\n");
    world.sync();
    assert_eq!(store.search(&Principal::operator(), &SearchRequest::new("words")).unwrap().hits.len(), 1);
    world.write("a.md", "# Heading\n");
    world.sync();
    assert_eq!(store.search(&Principal::operator(), &SearchRequest::new("words")).unwrap().hits.len(), 0);
    assert_eq!(store.status(&Principal::operator()).unwrap().indexed_chunks, 0);
}

#[test]
fn a_line_of_more_words_than_a_length_can_hold_comes_and_goes() {
    let long = "word ".repeat(70_000);
    let world = World::new(&[("long.md", &long), ("a.md", "# A\n\nA short text with a word.\n")]);
    world.sync();
    let store = world.store();
    assert_eq!(store.search(&Principal::operator(), &SearchRequest::new("word")).unwrap().hits.len(), 2);
    world.write("long.md", format!("{long}more"));
    world.sync();
    world.write("long.md", "Short again.\n");
    world.sync();
    let fresh = Store::create(world.path().join("fresh.db")).unwrap();
    fresh.sync(&world.request()).unwrap();
    Content::of(&store).assert_equals(&Content::of(&fresh), "after the long line went");
    assert_eq!(
        store.status(&Principal::operator()).unwrap().average_length.to_bits(),
        fresh.status(&Principal::operator()).unwrap().average_length.to_bits()
    );
}

#[test]
fn text_behind_a_bare_heading_is_found_when_all_that_was_indexed_before_is_gone() {
    let world = World::new(&[("a.md", "Some text.\n")]);
    world.sync();
    // The first new chunk has a number and no postings; every older number dies.
    world.write("a.md", "# Bare\n\n## Heading\n\nOther words.\n\n### More\n\nAnd the last ones.\n");
    world.sync();
    let store = world.store();
    for (query, count) in [("words", 1), ("last", 1), ("heading", 2), ("text", 0)] {
        assert_eq!(
            store.search(&Principal::operator(), &SearchRequest::new(query)).unwrap().hits.len(),
            count,
            "{query}"
        );
    }
    let fresh = Store::create(world.path().join("fresh.db")).unwrap();
    fresh.sync(&world.request()).unwrap();
    Content::of(&store).assert_equals(&Content::of(&fresh), "after the edit");
}

#[test]
fn a_path_in_another_unicode_composition_is_the_same_document() {
    let world =
        World::new(&[("caf\u{e9}/re\u{301}sume\u{301}.md", "# Text\n\nSome words.\n"), ("b.md", "Other words.\n")]);
    world.sync();
    let store = world.store();
    let before = rows(&store, "SELECT chunk_id FROM chunks ORDER BY chunk_id");
    fs::rename(world.docs().join("caf\u{e9}"), world.docs().join("cafe\u{301}")).unwrap();
    let report = store.sync(&world.request()).unwrap();
    assert_eq!((report.documents.updated, report.documents.added, report.documents.deleted), (1, 0, 0), "{report:?}");
    assert_eq!(rows(&store, "SELECT chunk_id FROM chunks ORDER BY chunk_id"), before);
    for path in ["caf\u{e9}/r\u{e9}sum\u{e9}.md#L3", "cafe\u{301}/re\u{301}sume\u{301}.md#L3"] {
        assert_eq!(store.cite(&Principal::operator(), path).unwrap().status, ragdb::CiteStatus::Current, "{path}");
    }
    let fresh = Store::create(world.path().join("fresh.db")).unwrap();
    fresh.sync(&world.request()).unwrap();
    Content::of(&store).assert_equals(&Content::of(&fresh), "after the rename");
    assert!(!store.sync(&world.request()).unwrap().published);
}

#[test]
fn a_new_requirement_is_held_against_unchanged_files() {
    let world = World::new(&[
        ("a.md", "---\nowner: ops\n---\n\nText of a.\n"),
        ("b.md", "Text of b.\n"),
        ("c.md", "---\nowner: \"\"\n---\n\nText of c.\n"),
    ]);
    std::thread::sleep(SETTLING);
    let config = |more: &str| {
        let yaml = format!("sources:\n  - id: docs\n    path: docs\n{more}");
        let config = ragdb::Config::from_yaml(&yaml, world.path().join("ragdb.yaml")).unwrap();
        SyncRequest { sources: SyncSources::Config(config), ..SyncRequest::default() }
    };
    let store = world.store();
    assert_eq!(store.sync(&config("")).unwrap().documents.added, 3);
    assert_eq!(store.sync(&config("")).unwrap().bytes_read, 0, "the stamps are trusted");
    let strict = config("    required_metadata: [owner]\n");
    let Err(Error::SyncFailed { failures }) = store.sync(&strict) else { panic!("two files lack an owner") };
    let failed: Vec<_> = failures.iter().map(|failure| (failure.path.as_str(), failure.code)).collect();
    assert_eq!(failed, [("b.md", "missing_metadata"), ("c.md", "missing_metadata")]);
    // The requirement is not noted before it holds: the next sync looks again.
    assert_eq!(store.sync(&strict).unwrap_err().code(), "sync_failed");
    world.write("b.md", "---\nowner: dev\n---\n\nText of b.\n");
    world.remove("c.md");
    let report = store.sync(&strict).unwrap();
    assert_eq!((report.documents.updated, report.documents.deleted, report.documents.unchanged), (1, 1, 1));
}

#[test]
fn more_threads_than_connections_may_search() {
    let world = World::synced();
    let store = world.store();
    std::thread::scope(|scope| {
        for _ in 0..24 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert!(
                        !store
                            .search(&Principal::operator(), &SearchRequest::new("rotate keys"))
                            .unwrap()
                            .hits
                            .is_empty()
                    );
                }
            });
        }
    });
}

#[test]
fn what_a_configuration_leaves_out_stays_out_when_another_call_reads_its_sources() {
    let world =
        World::new(&[("a.md", "# A\n\nText.\n"), ("draft.md", "# Draft\n\nSecret.\n"), (".gitignore", "draft.md\n")]);
    crate::world::write(&world.path().join("more/draft.md"), b"# More\n\nText.\n");
    crate::world::write(&world.path().join("more/.gitignore"), b"draft.md\n");
    let yaml = "sources:\n  - id: docs\n    path: docs\nsync:\n  respect_gitignore: true\n";
    let config = ragdb::Config::from_yaml(yaml, world.path().join("ragdb.yaml")).unwrap();
    let store = world.store();
    let request = SyncRequest { sources: SyncSources::Config(config), ..SyncRequest::default() };
    assert_eq!(store.sync(&request).unwrap().documents.added, 1);
    assert!(!store.sync(&SyncRequest::default()).unwrap().published);
    // Another folder, which follows no such file, under settings that need all sources again.
    let chunking = ChunkSettings { max_chars: Some(40), ..ChunkSettings::default() };
    let sources = SyncSources::Folders(vec![world.path().join("more")]);
    let report = store.sync(&SyncRequest { sources, chunking, ..SyncRequest::default() }).unwrap();
    assert_eq!((report.documents.added, report.documents.updated), (1, 1));
    assert_eq!(rows(&store, "SELECT path FROM documents ORDER BY path"), [["a.md"], ["draft.md"]]);
    assert!(store.search(&Principal::operator(), &SearchRequest::new("secret")).unwrap().hits.is_empty());
    crate::world::assert_sound(&store);
}

//! Heading paths, of which the store leaves the document's title out: they are what the file says, whatever becomes of the
//! title.

use ragdb::{AclChange, Config, PurgeRequest, RollbackRequest, Store, SyncReport, SyncRequest, SyncSources};
use rusqlite::Connection;

use crate::world::{World, assert_sound, rows, value};

const BODY: &str = "# Keys\n\nA key opens the store.\n\n## Rotating \"a\" key\n\nRotate a key every 90 days.\n";

/// The heading paths of `BODY`.
const PATHS: [&str; 2] = [r#"["Keys"]"#, r#"["Keys","Rotating \"a\" key"]"#];

fn titled(title: &str) -> String {
    format!("---\ntitle: {title}\n---\n{BODY}")
}

fn sync(world: &World) -> SyncReport {
    let yaml = "sources: [{id: docs, path: docs, visibility: internal, tenant: acme}]";
    let config = Config::from_yaml(yaml, world.path().join("ragdb.yaml")).unwrap();
    let request = SyncRequest { sources: SyncSources::Config(config), ..SyncRequest::default() };
    world.store().sync(&request).unwrap()
}

/// A document that is called as its first heading, and another one.
fn world() -> World {
    let world = World::new(&[("keys.md", &titled("Keys")), ("other.md", "# Other\n\nMore.\n\n## Below\n\nText.\n")]);
    assert_eq!(sync(&world).generation, Some(1));
    assert_holds(&world.store(), "Keys");
    world
}

/// `keys.md` has this title and the headings of its file, its title is stored in none of its chunks, and the store is
/// sound.
fn assert_holds(store: &Store, title: &str) {
    assert_eq!(value(store, "SELECT title FROM documents WHERE path = 'keys.md'"), title);
    let of_keys = "JOIN documents USING (document_no) WHERE path = 'keys.md' ORDER BY chunk_index";
    assert_eq!(rows(store, &format!("SELECT heading_path FROM chunks {of_keys}")), PATHS.map(|path| [path]));
    assert_eq!(rows(store, "SELECT heading_path FROM provenance WHERE path = 'keys.md' ORDER BY start_line").len(), 2);
    let stored = rows(store, &format!("SELECT under_title, headings FROM chunk_rows {of_keys}"));
    if title == "Keys" {
        assert_eq!(stored, [["1", "[]"], ["1", r#"["Rotating \"a\" key"]"#]]);
    } else {
        assert_eq!(stored, PATHS.map(|path| ["0", path]));
    }
    assert_sound(store);
}

#[test]
fn a_title_may_come_to_be_the_first_heading_and_cease_to_be() {
    let world = world();
    for title in ["Handbook", "Keys", "Keys and more", "Keys"] {
        world.write("keys.md", titled(title));
        let report = sync(&world);
        assert_eq!((report.documents.updated, report.chunks.reused, report.chunks.added), (1, 2, 0));
        assert_holds(&world.store(), title);
    }
    // Without front matter the first heading is the title.
    world.write("keys.md", BODY);
    sync(&world);
    assert_holds(&world.store(), "Keys");
    world.write("keys.md", BODY.replace("# Keys", "# Locks"));
    sync(&world);
    let first =
        "SELECT DISTINCT heading_path ->> 0 FROM chunks JOIN documents USING (document_no) WHERE path = 'keys.md'";
    assert_eq!(value(&world.store(), first), "Locks");
    assert_sound(&world.store());
}

#[test]
fn a_file_that_fails_keeps_the_title_that_its_chunks_have() {
    let world = World::new(&[("keys.md", &titled("Keys")), ("other.md", "# Other\n\nMore.\n")]);
    world.sync();
    let sync = || world.store().sync(&SyncRequest { keep_going: true, ..world.request() }).unwrap();
    world.write("keys.md", b"---\ntitle: Handbook\n---\n# \xff\n");
    world.write("other.md", "# Another\n\nMore.\n");
    let report = sync();
    assert_eq!((report.documents.updated, report.documents.failed), (1, 1));
    assert_holds(&world.store(), "Keys");
    world.write("keys.md", titled("Handbook"));
    sync();
    assert_holds(&world.store(), "Handbook");
}

#[test]
fn another_class_purges_and_rollbacks_leave_headings_as_they_were() {
    let world = world();
    let store = world.store();
    store.backup(world.path().join("one.db")).unwrap();
    world.write("keys.md", titled("Handbook"));
    sync(&world);
    store.grant(&AclChange::user("docs:keys.md", "eve").unwrap()).unwrap();
    assert_holds(&store, "Handbook");
    let from = Some(world.path().join("one.db"));
    store.rollback(&RollbackRequest { generation: 1, from, ..RollbackRequest::default() }).unwrap();
    world.write("keys.md", titled("Keys"));
    assert_holds(&store, "Keys");
    world.write("keys.md", titled("Handbook"));
    sync(&world);
    assert_holds(&store, "Handbook");
    store.purge(&PurgeRequest { document: "other.md".into(), ..PurgeRequest::default() }).unwrap();
    assert_holds(&store, "Handbook");
    store.purge(&PurgeRequest { document: "keys.md".into(), ..PurgeRequest::default() }).unwrap();
    assert_eq!(value(&store, "SELECT count(*) FROM chunks"), "0");
    assert_eq!(value(&store, "SELECT count(*) FROM chunk_rows"), "0");
}

/// Columns of an older schema's chunks and documents, as any schema has them.
const OLD: [&str; 2] = [
    "SELECT chunk_no, document_no, chunk_index, start_line, end_line, start_byte, end_byte, token_count, heading_only,
       generation_added, hex(document_digest), hex(content_digest), repeat, hex(composition_digest), heading_path, text,
       chunk_id, content_hash, composition_hash FROM chunks ORDER BY chunk_no",
    "SELECT document_no, document_id, source_no, path, title, lang, revision, content_hash, size_bytes, lines,
       front_matter, generation_added, generation_updated, record_hash, mtime_ns, ctime_ns, inode FROM documents
       ORDER BY document_no",
];

fn contents(conn: &Connection) -> Vec<Vec<rusqlite::types::Value>> {
    let mut contents = Vec::new();
    for sql in OLD {
        let mut statement = conn.prepare(sql).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            contents.push((0..columns).map(|index| row.get(index).unwrap()).collect());
        }
    }
    contents
}

#[test]
fn a_migrated_store_says_what_it_said() {
    for version in 1..=3 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.db");
        let dump = format!("{}/fixtures/db/v{version}.sql", env!("CARGO_MANIFEST_DIR"));
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch(&std::fs::read_to_string(dump).unwrap()).unwrap();
        // A document that is not called as its first heading.
        conn.execute("UPDATE documents SET title = '\"K\"' WHERE path = 'guide/limits.md'", []).unwrap();
        let before = contents(&conn);
        drop(conn);
        Store::migrate(&path).unwrap();
        let conn = Connection::open(&path).unwrap();
        assert_eq!(contents(&conn), before, "version {version}");
        let count = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert!(count("SELECT count(*) FROM chunk_rows WHERE under_title = 1") > 0);
        assert!(count("SELECT count(*) FROM chunk_rows WHERE under_title = 0 AND headings <> '[]'") > 0);
        assert_eq!(count("SELECT count(*) FROM pragma_foreign_key_check"), 0);
    }
}

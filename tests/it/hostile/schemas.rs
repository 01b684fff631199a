//! What an attacker puts into a schema.

use std::fs;
use std::path::Path;

use ragdb::{Principal, SearchRequest, Store};
use rstest::rstest;
use rusqlite::Connection;

use super::reads::read_all;
use super::{run_of, victim};
use crate::world::{World, answer, value};

/// A connection without SQLite's own guards.
pub fn unguarded(path: &Path) -> Connection {
    let conn = Connection::open(path).unwrap();
    conn.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false).unwrap();
    let off = "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON; \
               PRAGMA legacy_alter_table = ON";
    conn.execute_batch(off).unwrap();
    conn
}

/// The victim with this done to it; what stands behind `;;` sees the schema as it is then.
fn attacked(sql: &str) -> World {
    let world = victim();
    for sql in sql.split(";;") {
        let conn = unguarded(&world.db());
        conn.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        conn.close().unwrap();
    }
    world
}

const TRIGGERS: &str = "CREATE TRIGGER t1 AFTER INSERT ON generations BEGIN DELETE FROM documents; END; \
    CREATE TRIGGER t2 BEFORE INSERT ON chunk_rows BEGIN SELECT raise(ABORT, 'no'); END; \
    CREATE TRIGGER t3 AFTER UPDATE ON documents BEGIN UPDATE chunk_rows SET text = 'forged'; END; \
    CREATE TRIGGER t4 INSTEAD OF INSERT ON chunks BEGIN DELETE FROM terms; END";
const MORE: &str = "CREATE TABLE more (x); CREATE VIEW endless AS WITH RECURSIVE r (x) AS \
    (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x FROM r; CREATE TEMP VIEW documents AS SELECT 1 AS x";
const STATISTICS: &str = "ANALYZE;; UPDATE sqlite_stat1 SET stat = '1 1 1';; INSERT INTO sqlite_stat1 VALUES \
    ('documents', 'documents_by_class', '99999999999 0 0'), ('chunk_rows', 'chunks_by_document', 'unordered'), \
    ('nothing', 'nowhere', 'x')";
const SEQUENCE: &str = "CREATE TABLE counted (n INTEGER PRIMARY KEY AUTOINCREMENT); \
    INSERT INTO counted VALUES (9223372036854775807);; UPDATE sqlite_sequence SET seq = 'x'";
const EXPRESSION: &str = "CREATE INDEX evil ON chunk_rows (length(zeroblob(50000000))); \
    CREATE UNIQUE INDEX evil_too ON documents (lower(path) || title)";

#[rstest]
#[case::triggers(TRIGGERS)]
#[case::tables_and_views_of_their_own(MORE)]
#[case::statistics_that_lie(STATISTICS)]
#[case::a_sequence_that_lies(SEQUENCE)]
#[case::indexes_on_expressions(EXPRESSION)]
fn promise_17_what_was_added_to_a_schema_changes_no_answer_and_no_sync(#[case] sql: &str) {
    let (whole, world) = (victim(), attacked(sql));
    let reading = read_all(&world.db(), &run_of(world.path())).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
    assert!(reading.answers > 20, "{sql}: {:?}", reading.codes);
    for query in ["rotate a key", "common word", "store"] {
        assert_eq!(answer(&world.store(), query, None), answer(&whole.store(), query, None), "{sql}: {query}");
    }
    for world in [&whole, &world] {
        world.write("guide/more.md", "# More\n\nA second key opens the store.\n");
        world.write("long.md", "# Long\n\nIt is short now.\n");
        world.sync();
    }
    let counts = "SELECT (SELECT count(*) FROM documents) || ' ' || (SELECT group_concat(text) FROM chunk_rows)";
    assert_eq!(value(&world.store(), counts), value(&whole.store(), counts), "{sql}");
    assert_eq!(answer(&world.store(), "second key", None), answer(&whole.store(), "second key", None), "{sql}");
}

const ENDLESS: &str = "DROP VIEW chunks;; CREATE VIEW chunks AS WITH RECURSIVE r (x) AS \
    (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x AS chunk_no, x AS document_no, x AS chunk_index, x AS start_line, \
    x AS end_line, x AS start_byte, x AS end_byte, x AS token_count, x AS heading_only, 1 AS generation_added, \
    x AS document_digest, x AS content_digest, x AS repeat, x AS composition_digest, '[]' AS heading_path, \
    'x' AS text, 'x' AS chunk_id, 'x' AS content_hash, 'x' AS composition_hash, NULL AS unsafe_reason FROM r";
const ENDLESS_TABLE: &str = "ALTER TABLE terms RENAME TO own;; CREATE VIEW terms AS WITH RECURSIVE r (x) AS \
    (SELECT 1 UNION ALL SELECT x FROM r) SELECT 1 AS segment, 'key' AS term, 1 AS df, 0 AS dead, 1 AS max_impact, \
    0 AS base, 0 AS blocks, x'00' AS data FROM r";

#[rstest]
#[case::a_view_for_a_table("ALTER TABLE documents RENAME TO own;; CREATE VIEW documents AS SELECT * FROM own")]
#[case::an_endless_view(ENDLESS)]
#[case::an_endless_view_for_a_table(ENDLESS_TABLE)]
#[case::a_view_of_itself("DROP VIEW provenance;; CREATE VIEW provenance AS SELECT * FROM provenance")]
#[case::other_columns("DROP TABLE terms;; CREATE TABLE terms (x)")]
#[case::one_more_column("ALTER TABLE settings ADD COLUMN more TEXT")]
#[case::a_generated_column(
    "UPDATE sqlite_schema SET sql = replace(sql, 'path TEXT NOT NULL', 'path TEXT NOT NULL, big AS (zeroblob(900000000))') \
     WHERE name = 'documents'"
)]
#[case::a_virtual_table(
    "DROP TABLE chunk_lengths;; INSERT INTO sqlite_schema VALUES ('table', 'chunk_lengths', 'chunk_lengths', 0, \
     'CREATE VIRTUAL TABLE chunk_lengths USING nothing(page, lengths)')"
)]
#[case::a_missing_table("DROP TABLE acl_members")]
#[case::a_missing_index("DROP INDEX documents_by_class")]
#[case::an_index_on_something_else(
    "DROP INDEX documents_by_class;; CREATE UNIQUE INDEX documents_by_class ON documents (document_digest)"
)]
#[case::no_sql("UPDATE sqlite_schema SET sql = 'CREATE TABLE settings (' WHERE name = 'settings'")]
fn promise_17_a_schema_that_is_not_ours_is_refused(#[case] sql: &str) {
    let world = attacked(sql);
    let reading = read_all(&world.db(), &run_of(world.path())).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
    assert!(
        reading.codes.contains("damaged") && reading.answers <= 1,
        "{sql}: {} {:?}",
        reading.answers,
        reading.codes
    );
    let before = fs::read(world.db()).unwrap();
    let error = Store::open(world.db()).and_then(|store| store.sync(&world.request())).unwrap_err();
    assert_eq!(error.code(), "damaged", "{sql}: {error}");
    assert!(fs::read(world.db()).unwrap() == before, "{sql}: the file changed");
}

#[rstest]
#[case::another_application("PRAGMA application_id = 7", "foreign_store")]
#[case::a_newer_version("PRAGMA user_version = 2147483647", "newer_store")]
#[case::a_negative_version("PRAGMA user_version = -3", "older_store")]
fn promise_17_another_header_is_refused_untouched(#[case] sql: &str, #[case] code: &str) {
    let world = attacked(sql);
    let reading = read_all(&world.db(), &run_of(world.path())).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
    assert_eq!((reading.answers, reading.codes.into_iter().collect::<Vec<_>>()), (0, vec![code]));
}

#[rstest]
#[case::of_another_table("SELECT rootpage FROM sqlite_schema WHERE name = 'terms'")]
#[case::of_the_schema("1")]
#[case::nowhere("0")]
#[case::behind_the_end("2000000000")]
#[case::of_an_index("SELECT rootpage FROM sqlite_schema WHERE name = 'chunks_by_document'")]
fn promise_17_a_table_on_the_pages_of_another_gives_typed_errors(#[case] page: &str) {
    for table in ["documents", "chunk_rows", "segments", "settings", "documents_by_class", "posting_blocks"] {
        let world = attacked(&format!("UPDATE sqlite_schema SET rootpage = ({page}) WHERE name = '{table}'"));
        let reading = read_all(&world.db(), &run_of(world.path()));
        reading.unwrap_or_else(|failure| panic!("{table} on {page}: {failure}"));
    }
}

#[rstest]
#[case::a_list_of_many_blocks("UPDATE terms SET blocks = 390451572, df = 4294967295")]
#[case::a_list_as_long_as_it_says("UPDATE terms SET blocks = 100000, df = 12800000, data = zeroblob(1100000)")]
#[case::a_wide_segment(
    "UPDATE segments SET chunks = 4294967295, indexed = 4294967295, total_length = 9223372036854775807"
)]
#[case::many_rows("UPDATE segments SET first_row = 4611686018427387903, rows = 4294967295")]
#[case::many_segments(
    "WITH RECURSIVE n (x) AS (SELECT 100 UNION ALL SELECT x + 1 FROM n WHERE x < 3000) INSERT INTO segments \
     SELECT x, 1, 1000000 + x, 1, 1, 1, 0, 0, 1.0, 0, 0, class_no FROM n, (SELECT class_no FROM segments LIMIT 1)"
)]
#[case::a_large_text("UPDATE chunk_rows SET text = cast(zeroblob(2000000) AS TEXT) WHERE chunk_index = 0")]
#[case::far_bytes("UPDATE chunk_rows SET start_byte = 9223372036854775807, end_line = 4294967295")]
#[case::deep_rules("UPDATE settings SET value = printf('%.*c', 3000000, '[') WHERE key = 'acl'")]
#[case::deep_headings("UPDATE chunk_rows SET headings = printf('%.*c', 300000, '[')")]
#[case::a_far_generation("UPDATE generations SET generation = 9223372036854775807 WHERE generation = 3")]
#[case::a_ring_of_generations("UPDATE generations SET parent = 3 WHERE generation = 1")]
fn promise_17_huge_claims_cost_no_memory_and_no_time(#[case] sql: &str) {
    let world = attacked(sql);
    read_all(&world.db(), &run_of(world.path())).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
    let found = world.store().search(&Principal::operator(), &SearchRequest::new("密钥"));
    assert!(found.is_ok() || found.is_err_and(|error| ["damaged", "database"].contains(&error.code())), "{sql}");
}

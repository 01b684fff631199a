//! SQL of somebody who may not read everything.

use ragdb::{Principal, SqlValue, audits};

use super::reads::{crowded, plain};
use super::{alice, bob};

/// What tells one store from another, if anything does.
pub const PROBES: [&str; 16] = [
    "SELECT * FROM documents",
    "SELECT * FROM chunks",
    "SELECT rowid, source_id, path FROM documents ORDER BY rowid DESC",
    "SELECT citation, chunk_id, generation_added, text FROM provenance",
    "SELECT * FROM sources",
    "SELECT generation, parent, documents_added, documents_unchanged, digest, parent_digest FROM generations",
    "SELECT * FROM tombstones",
    "SELECT * FROM unsafe_findings",
    "SELECT count(*), sum(length(text)), max(rowid) FROM chunks",
    "SELECT name, sql FROM sqlite_schema",
    "SELECT * FROM pragma_page_count",
    "SELECT count(*) FROM documents WHERE 1 / (source_id <> 'hr') > 0",
    "SELECT * FROM runs",
    "SELECT * FROM main.acl_classes",
    "SELECT * FROM json_each('[1, 2]')",
    "EXPLAIN SELECT * FROM documents JOIN chunks USING (document_id) WHERE path LIKE '%key%'",
];

#[test]
fn a_statement_reaches_what_may_be_read_and_nothing_else() {
    let store = crowded().store_and_folder();
    let (_folder, store) = store;
    let count = |reader: &Principal, sql: &str| match store.sql(reader, sql).expect(sql).rows[0][0] {
        SqlValue::Integer(count) => count,
        ref other => panic!("{other:?}"),
    };
    let documents = "SELECT count(*) FROM documents WHERE source_id = 'hr'";
    assert_eq!((count(&alice(), documents), count(&bob(), documents)), (0, 42));
    assert_eq!(count(&Principal::operator(), "SELECT count(*) FROM documents"), 50);
    assert_eq!(count(&Principal::public(), "SELECT count(*) FROM documents"), 1);
    for sql in [
        "SELECT * FROM acl_classes",
        "SELECT * FROM settings",
        "SELECT * FROM terms",
        "SELECT * FROM segments",
        "SELECT class_no FROM documents",
        "SELECT document_no FROM documents",
        "SELECT revision FROM documents",
        "SELECT revision FROM provenance",
        "SELECT * FROM cache",
        "DELETE FROM chunks",
        "PRAGMA query_only = 0",
        "ATTACH ':memory:' AS other",
        "CREATE TEMP TABLE t (x)",
        "SELECT 1; SELECT 2",
        "",
    ] {
        assert_eq!(store.sql(&alice(), sql).unwrap_err().code(), "invalid", "{sql}");
    }
}

#[test]
fn tables_are_filled_however_they_are_named() {
    let (_folder, store) = crowded().store_and_folder();
    let count = |sql: &str| store.sql(&alice(), sql).expect(sql).rows.remove(0).remove(0);
    for table in ["sources", "generations", "documents", "chunks", "tombstones", "unsafe_findings"] {
        let expected = count(&format!("SELECT count(rowid) FROM {table}"));
        assert!(matches!(expected, SqlValue::Integer(rows) if rows > 0), "{table}: {expected:?}");
        let upper = table.to_uppercase();
        let title = format!("{}{}", &upper[..1], &table[1..]);
        for name in [table, &upper, &title, &format!("main.{upper}"), &format!("\"{title}\""), &format!("[{upper}]")] {
            for sql in [
                format!("SELECT count(*) FROM {name}"),
                format!("SELECT count(*) FROM {name} AS t"),
                format!("SELECT (SELECT count(*) FROM {name})"),
                format!("SELECT count(*) FROM (SELECT 1 FROM {name})"),
                format!("WITH w AS (SELECT * FROM {name}) SELECT count(*) FROM w"),
                format!("SELECT count(*) FROM (VALUES (1)) JOIN {name}"),
                format!("SELECT sum(1) FROM {name} WHERE EXISTS (SELECT 1 FROM {name})"),
                format!("SELECT count(ROWID) FROM {name}"),
            ] {
                assert_eq!(count(&sql), expected, "{sql}");
            }
        }
    }
    assert_eq!(count("SELECT count(*) FROM PROVENANCE"), count("SELECT count(*) FROM Chunks"));
}

#[test]
fn the_audits_that_are_not_the_operators_alone_run_for_everybody() {
    let (_folder, store) = crowded().store_and_folder();
    for audit in audits() {
        let given = store.sql(&alice(), audit.sql);
        assert_eq!(given.is_err(), audit.operator_only, "{}: {given:?}", audit.name);
        let of_all = store.sql(&Principal::operator(), audit.sql).expect("the operator may");
        if let Ok(given) = given {
            assert_eq!(given.columns, of_all.columns, "{}", audit.name);
            assert!(given.rows.len() < of_all.rows.len() || audit.name == "repeated", "{}", audit.name);
        }
    }
    assert!(plain().store().sql(&alice(), "SELECT 1").is_ok());
}

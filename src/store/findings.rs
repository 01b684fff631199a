//! `unsafe_findings`: where the unsafe gate's rules matched, and the documents that this keeps from being evidence.

use rusqlite::{Connection, Row, params};
use serde::{Deserialize, Serialize};

use super::chunks::{self, ChunkRow};
use super::classes::listed;
use super::wire;
use crate::error::Result;

/// A place in a document where a rule matched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FindingRow {
    pub rule: String,
    pub start_line: u32,
    pub end_line: u32,
    pub start_byte: u64,
    pub end_byte: u64,
}

impl FindingRow {
    /// The reason that the chunks it makes unsafe carry: `chunks.unsafe_reason`.
    pub(crate) fn reason(&self) -> String {
        let Self { rule, start_line, start_byte, end_byte, .. } = self;
        let reason = Reason { rule: rule.clone(), line: *start_line, start_byte: *start_byte, end_byte: *end_byte };
        serde_json::to_string(&reason).unwrap_or_default()
    }
}

/// Why a chunk is unsafe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reason {
    pub rule: String,
    pub line: u32,
    pub start_byte: u64,
    pub end_byte: u64,
}

impl Reason {
    /// Reads `chunks.unsafe_reason`.
    pub(crate) fn read(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }
}

/// The findings of a document, in order.
pub(crate) fn of_document(conn: &Connection, document_no: i64) -> Result<Vec<FindingRow>> {
    let sql = "SELECT rule, start_line, end_line, start_byte, end_byte FROM unsafe_findings WHERE document_no = ?1 \
               ORDER BY finding_no";
    let mut statement = conn.prepare_cached(sql)?;
    let read = |row: &Row<'_>| {
        Ok(FindingRow {
            rule: wire::text(row, 0)?,
            start_line: row.get(1)?,
            end_line: row.get(2)?,
            start_byte: row.get(3)?,
            end_byte: row.get(4)?,
        })
    };
    let rows = statement.query_map([document_no], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Adds the findings of a document that has none.
pub(crate) fn insert(conn: &Connection, document_no: i64, findings: &[FindingRow]) -> Result<()> {
    let sql = "INSERT INTO unsafe_findings (document_no, finding_no, rule, start_line, end_line, start_byte, end_byte) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    for (number, finding) in (0_i64..).zip(findings) {
        let FindingRow { rule, start_line, end_line, start_byte, end_byte } = finding;
        let values = params![document_no, number, rule, start_line, end_line, start_byte, end_byte];
        conn.prepare_cached(sql)?.execute(values)?;
    }
    Ok(())
}

/// Removes the findings of a document.
pub(crate) fn delete(conn: &Connection, document_no: i64) -> Result<()> {
    conn.prepare_cached("DELETE FROM unsafe_findings WHERE document_no = ?1")?.execute([document_no])?;
    Ok(())
}

/// How many documents have unsafe chunks. Left to itself, SQLite takes the index that is in order of document, and looks
/// at every chunk of the store.
pub(crate) fn unsafe_documents(conn: &Connection) -> Result<u64> {
    let sql =
        "SELECT count(DISTINCT document_no) FROM chunk_rows INDEXED BY chunks_unsafe WHERE unsafe_reason IS NOT NULL";
    Ok(conn.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// The unsafe chunks of some access classes: a range of numbers each.
const UNSAFE_CHUNKS: &str = "FROM json_each(?1) k CROSS JOIN chunk_rows c INDEXED BY chunks_unsafe \
    ON c.unsafe_reason IS NOT NULL AND c.chunk_no >= k.value << 32 AND c.chunk_no < (k.value + 1) << 32";

/// How many documents of these access classes have unsafe chunks.
pub(crate) fn unsafe_documents_in(conn: &Connection, classes: &[i64]) -> Result<u64> {
    let sql = format!("SELECT count(DISTINCT c.document_no) {UNSAFE_CHUNKS}");
    Ok(conn.prepare_cached(&sql)?.query_row([listed(classes)], |row| row.get(0))?)
}

/// How many chunks of these access classes are unsafe.
pub(crate) fn unsafe_chunks(conn: &Connection, classes: &[i64]) -> Result<u64> {
    let sql = format!("SELECT count(*) {UNSAFE_CHUNKS}");
    Ok(conn.prepare_cached(&sql)?.query_row([listed(classes)], |row| row.get(0))?)
}

/// Calls `each` with unsafe chunks of these access classes and the numbers of their documents, by path and place, `most`
/// at most.
pub(crate) fn for_each_unsafe(
    conn: &Connection,
    classes: &[i64],
    most: usize,
    mut each: impl FnMut(i64, ChunkRow) -> Result<()>,
) -> Result<()> {
    let sql = format!(
        "SELECT c.chunk_no {UNSAFE_CHUNKS} CROSS JOIN documents d USING (document_no) \
         ORDER BY d.path, d.document_id, c.chunk_index LIMIT ?2"
    );
    let numbers: Vec<i64> = conn
        .prepare_cached(&sql)?
        .query_map(params![listed(classes), most], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for chunk_no in numbers {
        let (document_no, row) = chunks::row_by_number(conn, chunk_no)?;
        each(document_no, row)?;
    }
    Ok(())
}

//! What a search needs of the chunks that it ranks: each with its document and source, by one statement a chunk.

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row};

use super::{chunks, documents};
use crate::error::{Error, Result};
use crate::model::{ChunkId, Digest, DocumentId, Span};

const PLACE: &str = "SELECT d.path, s.source_id, c.chunk_index FROM chunk_rows c \
    CROSS JOIN documents d USING (document_no) CROSS JOIN sources s USING (source_no) WHERE c.chunk_no = ?1";
const HIT: &str = "SELECT d.document_digest, c.content_digest, c.repeat, c.start_line, c.end_line, c.start_byte, \
    octet_length(c.text), c.headings, c.under_title, d.title, c.text, d.path, s.source_id \
    FROM chunk_rows c \
    CROSS JOIN documents d USING (document_no) CROSS JOIN sources s USING (source_no) WHERE c.chunk_no = ?1";

/// A chunk as it is shown.
pub(crate) struct HitRow {
    pub chunk_id: ChunkId,
    pub document_id: DocumentId,
    pub source_id: String,
    pub path: String,
    pub title: String,
    pub span: Span,
    pub heading_path: Vec<String>,
    pub text: String,
    pub content_hash: Digest,
}

/// Reads what breaks ties; holds its statement, so make one for each search.
pub(crate) struct PlaceReader<'c> {
    conn: &'c Connection,
    statement: CachedStatement<'c>,
}

impl<'c> PlaceReader<'c> {
    /// A reader of this connection's chunks.
    pub(crate) fn new(conn: &'c Connection) -> Result<Self> {
        Ok(Self { conn, statement: conn.prepare_cached(PLACE)? })
    }

    /// Path and source of a chunk in one, and its place in the document: two sources can have a path in common.
    pub(crate) fn place(&mut self, chunk_no: i64) -> Result<(String, i64)> {
        let read = |row: &Row<'_>| {
            let mut path: String = row.get(0)?;
            path.push('\0');
            path.push_str(row.get_ref(1)?.as_str()?);
            Ok((path, row.get(2)?))
        };
        let found = self.statement.query_row([chunk_no], read).optional()?;
        found.ok_or_else(|| missing(self.conn, chunk_no))
    }
}

/// Reads hits; holds its statement, so make one for each search.
pub(crate) struct HitReader<'c> {
    conn: &'c Connection,
    statement: CachedStatement<'c>,
}

impl<'c> HitReader<'c> {
    /// A reader of this connection's chunks.
    pub(crate) fn new(conn: &'c Connection) -> Result<Self> {
        Ok(Self { conn, statement: conn.prepare_cached(HIT)? })
    }

    /// The chunk with this number.
    pub(crate) fn hit(&mut self, chunk_no: i64) -> Result<HitRow> {
        let found = self.statement.query_row([chunk_no], |row| Ok(read(row, chunk_no))).optional()?;
        found.unwrap_or_else(|| Err(missing(self.conn, chunk_no)))
    }
}

fn read(row: &Row<'_>, chunk_no: i64) -> Result<HitRow> {
    let document_id = DocumentId::from_bytes(row.get(0)?);
    let content_hash = Digest::from_bytes(row.get(1)?);
    Ok(HitRow {
        chunk_id: ChunkId::new(document_id, &content_hash, row.get(2)?),
        document_id,
        source_id: row.get(12)?,
        path: row.get(11)?,
        title: row.get(9)?,
        span: chunks::span(row, 3)?,
        heading_path: chunks::headings_of(row, [7, 8, 9], chunk_no)?,
        text: row.get(10)?,
        content_hash,
    })
}

/// Why a chunk that is indexed can't be read: it, its document or the document's source is not there.
fn missing(conn: &Connection, chunk_no: i64) -> Error {
    let document = chunks::place(conn, chunk_no).and_then(|(document_no, _)| documents::place(conn, document_no));
    document.err().unwrap_or_else(|| Error::Damaged { detail: format!("chunk number {chunk_no} can't be read") })
}

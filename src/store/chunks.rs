//! `chunk_rows`: the live chunks, verbatim. What others read is the view `chunks`, in which a chunk has its document's id,
//! its whole heading path and its last byte as well.

use std::borrow::Cow;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::classes::listed;
use super::{vectors, wire};
use crate::error::{Error, Result};
use crate::model::{ChunkId, Digest, DocumentId, Span};

/// A live chunk without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChunkRow {
    pub chunk_no: i64,
    pub chunk_index: u32,
    #[serde(with = "wire::span")]
    pub span: Span,
    /// BM25 length: how many terms the lexer counts in the composition; 0 where nothing is indexed.
    pub token_count: u32,
    /// Whether the chunk is a heading alone: stored, never scored.
    pub heading_only: bool,
    pub generation_added: u64,
    #[serde(with = "wire::document_id")]
    pub document_id: DocumentId,
    #[serde(with = "wire::digest")]
    pub content: Digest,
    pub repeat: u32,
    /// First half of the SHA-256 over title, heading path and text.
    pub composition: [u8; 16],
    /// The headings above the chunk, outermost first, as a JSON array.
    pub heading_path: String,
    /// The rule and place for which it is never scored, as JSON.
    pub unsafe_reason: Option<String>,
}

impl ChunkRow {
    pub(crate) fn id(&self) -> ChunkId {
        ChunkId::new(self.document_id, &self.content, self.repeat)
    }

    /// Whether it has postings: it is more than a heading, and safe.
    pub(crate) fn is_indexed(&self) -> bool {
        !self.heading_only && self.unsafe_reason.is_none()
    }

    /// The headings above the chunk, outermost first.
    pub(crate) fn headings(&self) -> Result<Vec<String>> {
        parse_headings(&self.heading_path, self.chunk_no)
    }
}

pub(super) fn parse_headings(json: &str, chunk_no: i64) -> Result<Vec<String>> {
    serde_json::from_str(json).map_err(|_| Error::Damaged {
        detail: format!("heading_path of chunk number {chunk_no} is not a JSON array of strings"),
    })
}

/// The heading path as it is stored: whether its first heading is the document's title, and the headings but for that one.
fn below_title<'a>(heading_path: &'a str, title: &str) -> (bool, Cow<'a, str>) {
    match behind_title(heading_path, title).map(|rest| (rest, rest.strip_prefix(','))) {
        Some((_, Some(rest))) => (true, format!("[{rest}").into()),
        Some(("]", None)) => (true, "[]".into()),
        _ => (false, heading_path.into()),
    }
}

/// What follows the title where the heading path begins with it.
fn behind_title<'a>(heading_path: &'a str, title: &str) -> Option<&'a str> {
    let headings = heading_path.strip_prefix('[')?;
    if title.bytes().any(|byte| byte < b' ' || matches!(byte, b'"' | b'\\')) {
        return headings.strip_prefix(&Value::from(title).to_string());
    }
    headings.strip_prefix('"')?.strip_prefix(title)?.strip_prefix('"')
}

/// The heading path of headings that stand below the document's title; what is no array stays as it is.
fn under_title(title: &str, headings: &str) -> String {
    let title = Value::from(title);
    match headings.strip_prefix('[') {
        Some("]") => format!("[{title}]"),
        Some(rest) => format!("[{title},{rest}"),
        None => headings.to_owned(),
    }
}

const COLUMNS: &str = "c.chunk_no, c.chunk_index, c.start_line, c.end_line, c.start_byte, \
    octet_length(c.text), c.token_count, c.heading_only, c.generation_added, d.document_digest, \
    c.content_digest, c.repeat, c.composition_digest, c.headings, c.unsafe_reason, c.under_title, d.title";

const FROM: &str = "FROM chunk_rows c JOIN documents d USING (document_no)";

/// The chunks of a document, in order.
pub(crate) fn of_document(conn: &Connection, document_no: i64) -> Result<Vec<ChunkRow>> {
    let sql = format!("SELECT {COLUMNS} {FROM} WHERE c.document_no = ?1 ORDER BY c.chunk_index");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query([document_no])?;
    let mut chunks = Vec::new();
    while let Some(row) = rows.next()? {
        chunks.push(read(row)?);
    }
    Ok(chunks)
}

/// The chunk of a document with this id.
pub(crate) fn by_id(conn: &Connection, document_no: i64, id: ChunkId) -> Result<Option<ChunkRow>> {
    let sql = format!(
        "SELECT {COLUMNS} {FROM} WHERE c.document_no = ?1 AND substr(c.content_digest, 1, 8) = ?2 AND c.repeat = ?3 \
         AND d.document_digest = ?4"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query(params![document_no, id.content, id.repeat, id.document.as_bytes()])?;
    rows.next()?.map(read).transpose()
}

/// The chunk with this number, its text, and the number of its document.
pub(crate) fn by_number(conn: &Connection, chunk_no: i64) -> Result<(i64, ChunkRow, String)> {
    find_by_number(conn, chunk_no)?.ok_or_else(|| missing(chunk_no))
}

/// The same; nothing where there is none.
pub(crate) fn find_by_number(conn: &Connection, chunk_no: i64) -> Result<Option<(i64, ChunkRow, String)>> {
    let sql = format!("SELECT {COLUMNS}, c.document_no, c.text {FROM} WHERE c.chunk_no = ?1");
    let mut statement = conn.prepare_cached(&sql)?;
    let found = statement.query_row([chunk_no], |row| Ok((row.get(17)?, read(row), row.get(18)?))).optional()?;
    found.map(|(document_no, row, text)| Ok((document_no, row?, text))).transpose()
}

/// Whether there is a chunk with this number and composition that can be evidence: it is more than a heading, and safe.
pub(crate) fn is_evidence(conn: &Connection, chunk_no: i64, composition: &[u8; 16]) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM chunk_rows WHERE chunk_no = ?1 AND composition_digest = ?2 \
               AND heading_only = 0 AND unsafe_reason IS NULL)";
    Ok(conn.prepare_cached(sql)?.query_row(params![chunk_no, composition], |row| row.get(0))?)
}

/// The chunk with this number, and the number of its document.
pub(crate) fn row_by_number(conn: &Connection, chunk_no: i64) -> Result<(i64, ChunkRow)> {
    let sql = format!("SELECT {COLUMNS}, c.document_no {FROM} WHERE c.chunk_no = ?1");
    let mut statement = conn.prepare_cached(&sql)?;
    let found = statement.query_row([chunk_no], |row| Ok((row.get(17)?, read(row)))).optional()?;
    let (document_no, row) = found.ok_or_else(|| missing(chunk_no))?;
    Ok((document_no, row?))
}

/// The number of the chunk's document and its place in it: what breaks ties and what filters look at.
pub(crate) fn place(conn: &Connection, chunk_no: i64) -> Result<(i64, u32)> {
    let mut statement = conn.prepare_cached("SELECT document_no, chunk_index FROM chunk_rows WHERE chunk_no = ?1")?;
    let found = statement.query_row([chunk_no], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    found.ok_or_else(|| missing(chunk_no))
}

/// The digest of the title, headings and text that a chunk of a document was indexed with.
pub(crate) fn composition(conn: &Connection, document_no: i64, id: ChunkId) -> Result<[u8; 16]> {
    let sql = "SELECT composition_digest FROM chunk_rows \
               WHERE document_no = ?1 AND substr(content_digest, 1, 8) = ?2 AND repeat = ?3";
    let found = conn
        .prepare_cached(sql)?
        .query_row(params![document_no, id.content, id.repeat], |row| row.get(0))
        .optional()?;
    found.ok_or_else(|| Error::Damaged { detail: format!("chunk {id} is found and not stored") })
}

/// The text of a chunk.
pub(crate) fn text(conn: &Connection, chunk_no: i64) -> Result<String> {
    let mut statement = conn.prepare_cached("SELECT text FROM chunk_rows WHERE chunk_no = ?1")?;
    statement.query_row([chunk_no], |row| row.get(0)).optional()?.ok_or_else(|| missing(chunk_no))
}

/// The text of a chunk, whatever bytes it has: those that are not UTF-8 are replaced, so that it does not have its hash.
pub(crate) fn text_as_stored(conn: &Connection, chunk_no: i64) -> Result<String> {
    let mut statement = conn.prepare_cached("SELECT text FROM chunk_rows WHERE chunk_no = ?1")?;
    statement.query_row([chunk_no], |row| wire::text(row, 0)).optional()?.ok_or_else(|| missing(chunk_no))
}

/// The headings above a chunk, outermost first.
pub(crate) fn headings(conn: &Connection, chunk_no: i64) -> Result<Vec<String>> {
    let sql = format!("SELECT c.headings, c.under_title, d.title {FROM} WHERE c.chunk_no = ?1");
    let mut statement = conn.prepare_cached(&sql)?;
    let json = statement.query_row([chunk_no], |row| heading_path(row, [0, 1, 2])).optional()?;
    parse_headings(&json.ok_or_else(|| missing(chunk_no))?, chunk_no)
}

/// The numbers of at most `limit` chunks that can be evidence, in the order of their hashes: a sample without a pattern,
/// always the same.
pub(crate) fn sample(conn: &Connection, limit: usize) -> Result<Vec<i64>> {
    let sql = "SELECT chunk_no FROM chunk_rows WHERE heading_only = 0 AND unsafe_reason IS NULL \
               ORDER BY content_digest, chunk_no LIMIT ?1";
    let mut statement = conn.prepare_cached(sql)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let numbers = statement.query_map([limit], |row| row.get(0))?;
    Ok(numbers.collect::<rusqlite::Result<_>>()?)
}

/// Adds a chunk to a document with this title.
pub(crate) fn insert(conn: &Connection, document_no: i64, title: &str, row: &ChunkRow, text: &str) -> Result<()> {
    let (is_under_title, headings) = below_title(&row.heading_path, title);
    let sql = "INSERT INTO chunk_rows (chunk_no, document_no, chunk_index, start_line, end_line, start_byte, \
               token_count, heading_only, generation_added, repeat, under_title, unsafe_reason, content_digest, \
               composition_digest, headings, text) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
    conn.prepare_cached(sql)?.execute(params![
        row.chunk_no,
        document_no,
        row.chunk_index,
        row.span.start_line,
        row.span.end_line,
        row.span.start_byte,
        row.token_count,
        row.heading_only,
        row.generation_added,
        row.repeat,
        is_under_title,
        row.unsafe_reason,
        row.content.as_bytes(),
        row.composition,
        headings,
        text,
    ])?;
    Ok(())
}

/// Gives a chunk that stayed its new place, and the place for which it is unsafe; its text, composition and number are as they were.
pub(crate) fn relocate(conn: &Connection, row: &ChunkRow) -> Result<()> {
    let sql = "UPDATE chunk_rows SET chunk_index = ?2, start_line = ?3, end_line = ?4, start_byte = ?5, \
               unsafe_reason = ?6 WHERE chunk_no = ?1";
    conn.prepare_cached(sql)?.execute(params![
        row.chunk_no,
        row.chunk_index,
        row.span.start_line,
        row.span.end_line,
        row.span.start_byte,
        row.unsafe_reason,
    ])?;
    Ok(())
}

/// Gives a chunk, with its vectors, another number: its document is in another access class.
pub(crate) fn renumber(conn: &Connection, chunk_no: i64, new: i64) -> Result<()> {
    conn.prepare_cached("UPDATE chunk_rows SET chunk_no = ?2 WHERE chunk_no = ?1")?.execute([chunk_no, new])?;
    vectors::renumber(conn, chunk_no, new)
}

/// Takes the places of a document's chunks out of the way, so that [`relocate`] can give them out anew one by one.
pub(crate) fn vacate(conn: &Connection, document_no: i64) -> Result<()> {
    let sql = "UPDATE chunk_rows SET chunk_index = -1 - chunk_index WHERE document_no = ?1";
    conn.prepare_cached(sql)?.execute([document_no])?;
    Ok(())
}

/// Removes a chunk. End the transaction with [`vectors::sweep`].
pub(crate) fn delete(conn: &Connection, chunk_no: i64) -> Result<()> {
    conn.prepare_cached("DELETE FROM chunk_rows WHERE chunk_no = ?1")?.execute([chunk_no])?;
    vectors::release(conn, chunk_no)
}

fn read(row: &Row<'_>) -> Result<ChunkRow> {
    Ok(ChunkRow {
        chunk_no: row.get(0)?,
        chunk_index: row.get(1)?,
        span: span(row, 2)?,
        token_count: row.get(6)?,
        heading_only: row.get(7)?,
        generation_added: row.get(8)?,
        document_id: DocumentId::from_bytes(row.get(9)?),
        content: Digest::from_bytes(row.get(10)?),
        repeat: row.get(11)?,
        composition: row.get(12)?,
        heading_path: heading_path(row, [13, 15, 16])?,
        unsafe_reason: wire::optional_text(row, 14)?,
    })
}

/// The place of a chunk: from this column on its first line, its last line, its first byte and the length of its text.
pub(super) fn span(row: &Row<'_>, first: usize) -> rusqlite::Result<Span> {
    let (start_byte, length): (u64, u64) = (row.get(first + 2)?, row.get(first + 3)?);
    let end_byte = start_byte.saturating_add(length);
    Ok(Span { start_line: row.get(first)?, end_line: row.get(first + 1)?, start_byte, end_byte })
}

/// The heading path, of the columns `headings`, `under_title` and the document's `title`.
pub(super) fn heading_path(row: &Row<'_>, [headings, is_under_title, title]: [usize; 3]) -> rusqlite::Result<String> {
    if row.get(is_under_title)? {
        Ok(under_title(&wire::text(row, title)?, &wire::text(row, headings)?))
    } else {
        wire::text(row, headings)
    }
}

/// The headings of the same columns, outermost first.
pub(super) fn headings_of(row: &Row<'_>, columns: [usize; 3], chunk_no: i64) -> Result<Vec<String>> {
    let [headings, is_under_title, title] = columns;
    let mut all = if row.get(is_under_title)? { vec![row.get(title)?] } else { Vec::new() };
    let below = row.get_ref(headings)?.as_str().map_err(rusqlite::Error::from)?;
    if below != "[]" {
        all.append(&mut parse_headings(below, chunk_no)?);
    }
    Ok(all)
}

fn missing(chunk_no: i64) -> Error {
    Error::Damaged { detail: format!("chunk number {chunk_no} is indexed and not stored") }
}

/// How many chunks are live in these access classes.
pub(crate) fn count_in(conn: &Connection, classes: &[i64]) -> Result<u64> {
    let sql = "SELECT count(*) FROM json_each(?1) k CROSS JOIN documents d ON d.class_no = k.value \
               CROSS JOIN chunk_rows c USING (document_no)";
    Ok(conn.prepare_cached(sql)?.query_row([listed(classes)], |row| row.get(0))?)
}

#[cfg(test)]
mod tests;

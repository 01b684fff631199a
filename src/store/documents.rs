//! `documents`: the live documents.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use super::classes::listed;
use super::wire;
use crate::error::{Error, Result};
use crate::model::{Digest, DocumentId, Stamps};

/// A live document, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DocumentRow {
    #[serde(with = "wire::document_id")]
    pub document_id: DocumentId,
    pub source_no: i64,
    pub source_id: String,
    /// Its access class.
    pub class_no: i64,
    /// The generation that brought it into its class.
    pub class_generation: u64,
    pub path: String,
    pub title: String,
    pub lang: String,
    pub revision: u64,
    #[serde(with = "wire::digest")]
    pub content_hash: Digest,
    pub size_bytes: u64,
    pub lines: u32,
    /// The front matter as a JSON object.
    pub front_matter: Option<String>,
    /// `none` or `reviewed`.
    pub trust: String,
    pub generation_added: u64,
    pub generation_updated: u64,
    /// The digest of this row and of its chunks' rows: see [`super::record`].
    #[serde(with = "wire::digest")]
    pub record_hash: Digest,
}

const COLUMNS: &str = "d.document_digest, d.source_no, s.source_id, d.path, d.title, d.lang, d.revision, d.content_digest, \
    d.size_bytes, d.lines, d.front_matter, d.generation_added, d.generation_updated, d.record_digest, d.document_no, d.trust, \
    d.class_no, d.class_generation";

const FROM: &str = "FROM documents d JOIN sources s USING (source_no)";

/// A live document as a sync needs to know it to plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredDocument {
    /// The store's number for it.
    pub document_no: i64,
    /// Its access class.
    pub class_no: i64,
    /// The path below its source's root.
    pub path: String,
    /// The stamps of the file that was read, if they were settled then.
    pub stamps: Option<Stamps>,
    /// The digest of the file that was read.
    pub content_hash: Digest,
}

/// Whether a source has documents, and the id of none is one of a source with this id: then that was changed.
pub(crate) fn are_of_another_source(conn: &Connection, source_no: i64, source_id: &str) -> Result<bool> {
    let mut statement = conn.prepare_cached("SELECT document_digest, path FROM documents WHERE source_no = ?1")?;
    let mut rows = statement.query([source_no])?;
    let mut has_some = false;
    while let Some(row) = rows.next()? {
        has_some = true;
        if DocumentId::from_bytes(row.get(0)?) == DocumentId::new(source_id, &wire::text(row, 1)?) {
            return Ok(false);
        }
    }
    Ok(has_some)
}

/// The id of the document with this number, as it is stored.
pub(crate) fn id(conn: &Connection, document_no: i64) -> Result<DocumentId> {
    let sql = "SELECT document_digest FROM documents WHERE document_no = ?1";
    let id = conn.prepare_cached(sql)?.query_row([document_no], |row| row.get(0)).optional()?;
    id.map(DocumentId::from_bytes)
        .ok_or_else(|| Error::Damaged { detail: format!("document number {document_no} is missing") })
}

/// All documents of a source, by path.
pub(crate) fn manifest(conn: &Connection, source_no: i64) -> Result<Vec<StoredDocument>> {
    let sql = "SELECT document_no, path, content_digest, size_bytes, mtime_ns, ctime_ns, inode, class_no FROM documents \
               WHERE source_no = ?1 ORDER BY path";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([source_no])?;
    let mut manifest = Vec::new();
    while let Some(row) = rows.next()? {
        let path = wire::text(row, 1)?;
        let content_hash = Digest::from_bytes(row.get(2)?);
        let stamps = match (row.get(4)?, row.get(5)?, row.get(6)?) {
            (Some(mtime_ns), Some(ctime_ns), Some(inode)) => {
                Some(Stamps { size: row.get(3)?, mtime_ns, ctime_ns, inode })
            }
            _ => None,
        };
        manifest.push(StoredDocument { document_no: row.get(0)?, class_no: row.get(7)?, path, content_hash, stamps });
    }
    Ok(manifest)
}

/// The document with this number.
pub(crate) fn by_number(conn: &Connection, document_no: i64) -> Result<DocumentRow> {
    let sql = format!("SELECT {COLUMNS} {FROM} WHERE d.document_no = ?1");
    let row = conn.prepare_cached(&sql)?.query_row([document_no], |row| Ok(read(row))).optional()?;
    row.ok_or_else(|| Error::Damaged { detail: format!("document number {document_no} is missing") })?
}

/// The number and row of the document with this id.
pub(crate) fn by_id(conn: &Connection, id: DocumentId) -> Result<Option<(i64, DocumentRow)>> {
    let sql = format!("SELECT {COLUMNS} {FROM} WHERE d.document_id = ?1");
    let mut statement = conn.prepare_cached(&sql)?;
    let row = statement.query_row([id.to_string()], |row| Ok((row.get(14)?, read(row)))).optional()?;
    row.map(|(number, row)| Ok((number, row?))).transpose()
}

/// Calls `each` with every document, by source and path.
pub(crate) fn for_each(conn: &Connection, mut each: impl FnMut(i64, DocumentRow) -> Result<()>) -> Result<()> {
    let sql = format!("SELECT {COLUMNS} {FROM} ORDER BY d.source_no, d.path");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        each(row.get(14)?, read(row)?)?;
    }
    Ok(())
}

/// The path and language of a document, for filters and for breaking ties.
pub(crate) struct Place {
    pub path: String,
    pub source_id: String,
    pub lang: String,
}

/// Where a document stands.
pub(crate) fn place(conn: &Connection, document_no: i64) -> Result<Place> {
    let sql = format!("SELECT d.path, s.source_id, d.lang {FROM} WHERE d.document_no = ?1");
    let read = |row: &Row<'_>| Ok(Place { path: row.get(0)?, source_id: row.get(1)?, lang: row.get(2)? });
    let place = conn.prepare_cached(&sql)?.query_row([document_no], read).optional()?;
    place.ok_or_else(|| Error::Damaged { detail: format!("document number {document_no} is missing") })
}

/// Adds a document and returns its number.
pub(crate) fn insert(conn: &Connection, row: &DocumentRow, stamps: Option<Stamps>) -> Result<i64> {
    let sql = "INSERT INTO documents (document_digest, source_no, path, title, lang, revision, content_digest, size_bytes, \
               lines, front_matter, generation_added, generation_updated, record_digest, mtime_ns, ctime_ns, inode, trust, \
               class_no, class_generation) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)";
    conn.prepare_cached(sql)?.execute(params![
        row.document_id.as_bytes(),
        row.source_no,
        row.path,
        row.title,
        row.lang,
        row.revision,
        row.content_hash.as_bytes(),
        row.size_bytes,
        row.lines,
        row.front_matter,
        row.generation_added,
        row.generation_updated,
        row.record_hash.as_bytes(),
        stamps.map(|stamps| stamps.mtime_ns),
        stamps.map(|stamps| stamps.ctime_ns),
        stamps.map(|stamps| stamps.inode),
        row.trust,
        row.class_no,
        row.class_generation,
    ])?;
    Ok(conn.last_insert_rowid())
}

/// Replaces all that can change of a document. Path and class, which indexes are in order of, seldom do: they have a
/// statement of their own, that writes nothing where they are the same.
pub(crate) fn update(conn: &Connection, document_no: i64, row: &DocumentRow, stamps: Option<Stamps>) -> Result<()> {
    let sql = "UPDATE documents SET title = ?2, lang = ?3, revision = ?4, content_digest = ?5, size_bytes = ?6, \
               lines = ?7, front_matter = ?8, generation_updated = ?9, record_digest = ?10, mtime_ns = ?11, \
               ctime_ns = ?12, inode = ?13, trust = ?14, class_generation = ?15 WHERE document_no = ?1";
    conn.prepare_cached(sql)?.execute(params![
        document_no,
        row.title,
        row.lang,
        row.revision,
        row.content_hash.as_bytes(),
        row.size_bytes,
        row.lines,
        row.front_matter,
        row.generation_updated,
        row.record_hash.as_bytes(),
        stamps.map(|stamps| stamps.mtime_ns),
        stamps.map(|stamps| stamps.ctime_ns),
        stamps.map(|stamps| stamps.inode),
        row.trust,
        row.class_generation,
    ])?;
    let sql = "UPDATE documents SET path = ?2, class_no = ?3 \
               WHERE document_no = ?1 AND (path IS NOT ?2 OR class_no IS NOT ?3)";
    conn.prepare_cached(sql)?.execute(params![document_no, row.path, row.class_no])?;
    Ok(())
}

/// Puts a document, whose chunks have their new numbers already, in another access class. Since when readers know it
/// stays: for most of them nothing changed.
pub(crate) fn set_class(conn: &Connection, document_no: i64, class_no: i64) -> Result<()> {
    let sql = "UPDATE documents SET class_no = ?2 WHERE document_no = ?1";
    conn.prepare_cached(sql)?.execute([document_no, class_no])?;
    Ok(())
}

/// Notes the stamps under which a file was last seen to hold what is stored. `size_bytes` is content, not a stamp.
pub(crate) fn restamp(conn: &Connection, document_no: i64, stamps: Stamps) -> Result<()> {
    let sql = "UPDATE documents SET mtime_ns = ?2, ctime_ns = ?3, inode = ?4 WHERE document_no = ?1";
    conn.prepare_cached(sql)?.execute(params![document_no, stamps.mtime_ns, stamps.ctime_ns, stamps.inode])?;
    Ok(())
}

/// Removes a document whose chunks are gone already.
pub(crate) fn delete(conn: &Connection, document_no: i64) -> Result<()> {
    conn.prepare_cached("DELETE FROM documents WHERE document_no = ?1")?.execute([document_no])?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<DocumentRow> {
    let path = wire::text(row, 3)?;
    Ok(DocumentRow {
        document_id: DocumentId::from_bytes(row.get(0)?),
        source_no: row.get(1)?,
        source_id: wire::text(row, 2)?,
        title: wire::text(row, 4)?,
        lang: wire::text(row, 5)?,
        revision: row.get(6)?,
        content_hash: Digest::from_bytes(row.get(7)?),
        size_bytes: row.get(8)?,
        lines: row.get(9)?,
        front_matter: wire::optional_text(row, 10)?,
        generation_added: row.get(11)?,
        generation_updated: row.get(12)?,
        record_hash: Digest::from_bytes(row.get(13)?),
        trust: wire::text(row, 15)?,
        class_no: row.get::<_, Option<i64>>(16)?.ok_or_else(|| damaged(&path, "class_no"))?,
        class_generation: row.get(17)?,
        path,
    })
}

fn damaged(path: &str, column: &str) -> Error {
    Error::Damaged { detail: format!("documents.{column} of {path} can't be read") }
}

/// The number and row of the document with this id, if it is in one of these access classes. A document in another one
/// costs what an unknown id costs.
pub(crate) fn visible(conn: &Connection, classes: &[i64], id: DocumentId) -> Result<Option<(i64, DocumentRow)>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM json_each(?1) k CROSS JOIN documents d ON d.class_no = k.value AND d.document_digest = ?2 \
         CROSS JOIN sources s USING (source_no)"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let read = |row: &Row<'_>| Ok((row.get(14)?, read(row)));
    let row = statement.query_row(params![listed(classes), id.as_bytes()], read).optional()?;
    row.map(|(number, row)| Ok((number, row?))).transpose()
}

/// How many documents are live in these access classes.
pub(crate) fn count_in(conn: &Connection, classes: &[i64]) -> Result<u64> {
    let sql = "SELECT count(*) FROM json_each(?1) k CROSS JOIN documents d ON d.class_no = k.value";
    Ok(conn.prepare_cached(sql)?.query_row([listed(classes)], |row| row.get(0))?)
}

//! `tombstones`: what was there once; never its text.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use super::classes::listed;
use crate::error::Result;
use crate::model::DocumentId;

/// Why something is gone; the names are those that the table's CHECK allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reason {
    FileDeleted,
    TextChanged,
    PolicyChanged,
    SourceRemoved,
    RolledBack,
    Purged,
}

impl Reason {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::FileDeleted => "file_deleted",
            Self::TextChanged => "text_changed",
            Self::PolicyChanged => "policy_changed",
            Self::SourceRemoved => "source_removed",
            Self::RolledBack => "rolled_back",
            Self::Purged => "purged",
        }
    }
}

/// What a tombstone stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Document,
    Chunk,
}

/// A row to write.
pub(crate) struct NewTombstone<'a> {
    pub kind: Kind,
    pub id: &'a str,
    pub document_id: &'a str,
    pub source_id: &'a str,
    pub path: &'a str,
    pub content_hash: &'a str,
    pub generation_added: u64,
    pub generation_deleted: u64,
    pub reason: Reason,
    /// The access class that it was in.
    pub class_no: i64,
    /// The generation that brought its document into that class.
    pub class_generation: u64,
}

/// Writes one tombstone.
pub(crate) fn insert(conn: &Connection, row: &NewTombstone<'_>) -> Result<()> {
    let sql = "INSERT INTO tombstones (kind, id, document_id, source_id, path, content_hash, generation_added, \
               generation_deleted, reason, class_no, class_generation) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    conn.prepare_cached(sql)?.execute(params![
        match row.kind {
            Kind::Document => "document",
            Kind::Chunk => "chunk",
        },
        row.id,
        row.document_id,
        row.source_id,
        row.path,
        row.content_hash,
        row.generation_added,
        row.generation_deleted,
        row.reason.as_str(),
        row.class_no,
        row.class_generation,
    ])?;
    Ok(())
}

/// Leaves the tombstones of a document, and of chunks that it had, to the operator: it is in another access class from now
/// on, whose readers never saw them, and those of the old one may not know of it.
pub(crate) fn hide(conn: &Connection, class_no: i64, document: DocumentId) -> Result<()> {
    // The ids of chunks begin with that of the document and a colon; the semicolon comes next.
    let sql = "UPDATE tombstones SET class_no = 0 WHERE class_no = ?1 AND id BETWEEN ?2 AND ?2 || ';'";
    conn.prepare_cached(sql)?.execute(params![class_no, document.to_string()])?;
    Ok(())
}

/// Leaves all tombstones of an access class to the operator: it belongs to another tenant from now on.
pub(crate) fn hide_class(conn: &Connection, class_no: i64) -> Result<()> {
    conn.prepare_cached("UPDATE tombstones SET class_no = 0 WHERE class_no = ?1")?.execute([class_no])?;
    Ok(())
}

/// What is known of something that is gone.
#[derive(Clone, Debug)]
pub(crate) struct Tombstone {
    pub document_id: String,
    pub source_id: String,
    pub path: String,
    pub content_hash: String,
    pub generation_added: u64,
    pub generation_deleted: u64,
    pub reason: String,
    /// The generation that brought its document into the class that it was in.
    pub class_generation: u64,
}

const COLUMNS: &str = "t.document_id, t.source_id, t.path, t.content_hash, t.generation_added, t.generation_deleted, \
    t.reason, t.class_generation";

fn read(row: &Row<'_>) -> rusqlite::Result<Tombstone> {
    Ok(Tombstone {
        document_id: row.get(0)?,
        source_id: row.get(1)?,
        path: row.get(2)?,
        content_hash: row.get(3)?,
        generation_added: row.get(4)?,
        generation_deleted: row.get(5)?,
        reason: row.get(6)?,
        class_generation: row.get(7)?,
    })
}

/// The newest tombstone of a document or chunk id in these access classes.
pub(crate) fn latest(conn: &Connection, classes: &[i64], id: &str) -> Result<Option<Tombstone>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM json_each(?1) k CROSS JOIN tombstones t ON t.class_no = k.value AND t.id = ?2 \
         ORDER BY t.generation_deleted DESC, t.tombstone_no DESC LIMIT 1"
    );
    Ok(conn.prepare_cached(&sql)?.query_row([listed(classes).as_str(), id], read).optional()?)
}

/// The access class that a document was in when it was last deleted.
pub(crate) fn last_class(conn: &Connection, document_id: &str) -> Result<Option<i64>> {
    let sql = "SELECT class_no FROM tombstones WHERE kind = 'document' AND id = ?1 ORDER BY tombstone_no DESC LIMIT 1";
    Ok(conn.prepare_cached(sql)?.query_row([document_id], |row| row.get(0)).optional()?)
}

/// Calls `each` with every tombstone and the id that it is of, oldest first.
pub(crate) fn for_each(conn: &Connection, mut each: impl FnMut(&str, Tombstone) -> Result<()>) -> Result<()> {
    let sql = format!("SELECT {COLUMNS}, t.id FROM tombstones t ORDER BY t.tombstone_no");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        each(&row.get::<_, String>(8)?, read(row)?)?;
    }
    Ok(())
}

/// How many tombstones there are in these access classes.
pub(crate) fn count(conn: &Connection, classes: &[i64]) -> Result<u64> {
    let sql = "SELECT count(*) FROM json_each(?1) k CROSS JOIN tombstones t ON t.class_no = k.value";
    Ok(conn.prepare_cached(sql)?.query_row([listed(classes)], |row| row.get(0))?)
}

/// Tombstones that contradict each other, in words: the same death twice, a document that died without its chunks,
/// and reasons that do not fit.
pub(crate) fn contradictions(conn: &Connection) -> Result<Vec<String>> {
    // Every document has chunks, and all of them die with it, for the same reason; chunks of a document that stays
    // die of a changed text or policy.
    let sql = "
        SELECT 'tombstone of ' || id || ' (' || min(path) || '): generation ' || generation_deleted ||
          ' deleted it ' || count(*) || ' times'
        FROM tombstones GROUP BY kind, id, generation_deleted HAVING count(*) > 1
        UNION ALL
        SELECT 'tombstone of ' || d.id || ' (' || d.path || '): none of its chunks was deleted with it'
        FROM tombstones d
        WHERE d.kind = 'document' AND (d.id, d.generation_deleted) NOT IN (
          SELECT document_id, generation_deleted FROM tombstones WHERE kind = 'chunk'
        )
        UNION ALL
        SELECT 'tombstone of ' || c.id || ' (' || c.path || '): its reason is ' || c.reason ||
          coalesce(', that of its document is ' || d.reason, '; its document was not deleted')
        FROM tombstones c
        LEFT JOIN tombstones d
          ON d.kind = 'document' AND d.id = c.document_id AND d.generation_deleted = c.generation_deleted
        WHERE c.kind = 'chunk' AND CASE
          WHEN d.id IS NULL THEN c.reason NOT IN ('text_changed', 'policy_changed')
          ELSE c.reason <> d.reason
        END";
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

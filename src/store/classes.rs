//! What syncs do to each access class: the numbers of its chunks (`acl_classes.next_chunk`), and its history
//! (`class_generations`, `acl_classes.digest`).

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::generations::{ChunkCounts, DocumentCounts};
use crate::error::{Error, Result};
use crate::model::{Digest, DigestBuilder, DocumentId};

/// The bits of a chunk number that count within its class.
const LOCAL_BITS: u32 = 32;

/// The class that a chunk number belongs to.
pub(crate) const fn class_of(chunk_no: i64) -> i64 {
    chunk_no >> LOCAL_BITS
}

/// The first chunk number of a class. Those of a class end before the first one of the next.
pub(crate) const fn first_chunk(class_no: i64) -> i64 {
    class_no << LOCAL_BITS
}

/// The classes that documents and their chunks are in, and that have no row, ascending.
pub(crate) fn without_row(conn: &Connection) -> Result<Vec<i64>> {
    let mut next = conn.prepare_cached("SELECT min(chunk_no) FROM chunk_rows WHERE chunk_no >= ?1")?;
    // The number of a chunk alone may be what was changed.
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM acl_classes WHERE class_no = ?1) \
               AND EXISTS (SELECT 1 FROM documents WHERE class_no = ?1)";
    let mut is_lost = conn.prepare_cached(sql)?;
    let (mut lost, mut from) = (Vec::new(), 0_i64);
    while let Some(chunk_no) = next.query_row([from], |row| row.get::<_, Option<i64>>(0))? {
        let class_no = class_of(chunk_no);
        if is_lost.query_row([class_no], |row| row.get(0))? {
            lost.push(class_no);
        }
        from = first_chunk(class_no + 1);
        if from <= chunk_no {
            break;
        }
    }
    Ok(lost)
}

/// What is known of the numbers and the history of a class whose row is lost: the place of its next chunk, and its digest.
pub(super) fn remains(conn: &Connection, class_no: i64) -> Result<(i64, String)> {
    let sql = "SELECT max(coalesce((SELECT max(chunk_no) + 1 FROM chunk_rows WHERE chunk_no >= ?2 AND chunk_no < ?3), ?2), \
               coalesce((SELECT max(first_chunk + chunks) FROM segments WHERE class_no = ?1), ?2)) - ?2, \
               coalesce((SELECT digest FROM class_generations WHERE class_no = ?1 ORDER BY generation DESC LIMIT 1), \
               printf('%064d', 0))";
    let (first, end) = (first_chunk(class_no), first_chunk(class_no + 1));
    Ok(conn.prepare_cached(sql)?.query_row([class_no, first, end], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// Whether the class of documents from before there were rules has its row.
pub(crate) fn has_unruled(conn: &Connection) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM acl_classes WHERE class_no = 0)";
    Ok(conn.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// Makes the row of that class again where it is lost.
pub(crate) fn restore_unruled(conn: &Connection) -> Result<()> {
    let (next_chunk, digest) = remains(conn, 0)?;
    let sql = "INSERT OR IGNORE INTO acl_classes (class_no, class_key, source_id, tenant, visibility, notes, next_chunk, \
               digest) VALUES (0, '{}', '', '', 'private', '[]', ?1, ?2)";
    conn.prepare_cached(sql)?.execute(params![next_chunk, digest])?;
    Ok(())
}

/// Removes what stands of classes that have no row. Their tombstones stay, for the operator.
pub(crate) fn forget_without_row(conn: &Connection) -> Result<()> {
    let lost = "class_no NOT IN (SELECT class_no FROM acl_classes)";
    for table in ["acl_members", "acl_class_epochs", "class_generations", "embedding_sets"] {
        conn.execute(&format!("DELETE FROM {table} WHERE {lost}"), [])?;
    }
    conn.execute(&format!("UPDATE tombstones SET class_no = 0 WHERE {lost}"), [])?;
    Ok(())
}

/// Takes the history of a class back to one generation, of which nothing is told: it belongs to another tenant from now on.
pub(crate) fn forget_history(conn: &Connection, class_no: i64) -> Result<()> {
    let sql = "DELETE FROM class_generations WHERE class_no = ?1 AND generation < \
               (SELECT max(generation) FROM class_generations WHERE class_no = ?1)";
    conn.prepare_cached(sql)?.execute([class_no])?;
    let sql = "UPDATE class_generations SET documents_added = 0, documents_updated = 0, documents_deleted = 0, \
               chunks_added = 0, chunks_removed = 0, chunks_reused = 0 WHERE class_no = ?1";
    conn.prepare_cached(sql)?.execute([class_no])?;
    Ok(())
}

/// What one generation did to a class.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassChange {
    pub documents: DocumentCounts,
    pub chunks: ChunkCounts,
    /// The digest of the change of each document, by id.
    pub changes: Vec<(DocumentId, Digest)>,
}

/// The number of the next new chunk of a class. Numbers are never used twice.
pub(crate) fn next_chunk(conn: &Connection, class_no: i64) -> Result<i64> {
    let sql = "SELECT next_chunk FROM acl_classes WHERE class_no = ?1";
    let next: Option<i64> = conn.prepare_cached(sql)?.query_row([class_no], |row| row.get(0)).optional()?;
    Ok(first_chunk(class_no) + next.ok_or_else(|| missing(class_no))?)
}

fn missing(class_no: i64) -> Error {
    Error::Damaged { detail: format!("access class {class_no} is missing") }
}

/// Sets what [`next_chunk`] returns, after `added` new chunks.
pub(crate) fn advance(conn: &Connection, class_no: i64, added: u32) -> Result<()> {
    let local = next_chunk(conn, class_no)? - first_chunk(class_no) + i64::from(added);
    if local > 1 << LOCAL_BITS {
        return Err(Error::Invalid {
            message: "documents with one access rule can't have had more than 4,294,967,296 chunks; make a new store"
                .into(),
        });
    }
    conn.prepare_cached("UPDATE acl_classes SET next_chunk = ?2 WHERE class_no = ?1")?.execute([class_no, local])?;
    Ok(())
}

/// Notes what a generation did to a class, beside what is noted already, and carries the class's digest on: SHA-256 over
/// the one before and, document by document in order of id, the digest of its change. No number of a generation goes in,
/// so that it does not depend on what happened to other classes.
pub(crate) fn record(conn: &Connection, class_no: i64, generation: u64, mut change: ClassChange) -> Result<()> {
    let sql = "SELECT digest FROM acl_classes WHERE class_no = ?1";
    let before: Option<String> = conn.prepare_cached(sql)?.query_row([class_no], |row| row.get(0)).optional()?;
    let before = before.ok_or_else(|| missing(class_no))?;
    let before = Digest::parse(&before)
        .ok_or_else(|| Error::Damaged { detail: format!("acl_classes.digest of {class_no} is not a digest") })?;
    let mut hash = DigestBuilder::new("ragdb class 1");
    hash.field(before.as_bytes());
    change.changes.sort_unstable();
    for (document, digest) in &change.changes {
        hash.field(document.as_bytes()).field(digest.as_bytes());
    }
    let digest = hash.finish().to_string();
    let sql = "INSERT INTO class_generations (class_no, generation, documents_added, documents_updated, \
               documents_deleted, chunks_added, chunks_removed, chunks_reused, digest) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
               ON CONFLICT (class_no, generation) DO UPDATE SET \
               documents_added = documents_added + excluded.documents_added, \
               documents_updated = documents_updated + excluded.documents_updated, \
               documents_deleted = documents_deleted + excluded.documents_deleted, \
               chunks_added = chunks_added + excluded.chunks_added, \
               chunks_removed = chunks_removed + excluded.chunks_removed, \
               chunks_reused = chunks_reused + excluded.chunks_reused, digest = excluded.digest";
    conn.prepare_cached(sql)?.execute(params![
        class_no,
        generation,
        change.documents.added,
        change.documents.updated,
        change.documents.deleted,
        change.chunks.added,
        change.chunks.removed,
        change.chunks.reused,
        digest,
    ])?;
    let sql = "UPDATE acl_classes SET digest = ?2 WHERE class_no = ?1";
    conn.prepare_cached(sql)?.execute(params![class_no, digest])?;
    Ok(())
}

/// The newest generation that changed a class.
pub(crate) fn newest_generation(conn: &Connection, class_no: i64) -> Result<Option<u64>> {
    let sql = "SELECT max(generation) FROM class_generations WHERE class_no = ?1";
    Ok(conn.prepare_cached(sql)?.query_row([class_no], |row| row.get(0))?)
}

/// The numbers of classes, as statements take them.
pub(super) fn listed(classes: &[i64]) -> String {
    serde_json::Value::from(classes).to_string()
}

/// How many generations changed one of these classes.
pub(crate) fn count_generations(conn: &Connection, classes: &[i64]) -> Result<u64> {
    let sql = "SELECT count(DISTINCT c.generation) FROM json_each(?1) k \
               CROSS JOIN class_generations c ON c.class_no = k.value";
    Ok(conn.prepare_cached(sql)?.query_row([listed(classes)], |row| row.get(0))?)
}

/// The generations that changed one of these classes, ascending.
pub(crate) fn generations(conn: &Connection, classes: &[i64]) -> Result<Vec<u64>> {
    let sql = "SELECT DISTINCT c.generation FROM json_each(?1) k \
               CROSS JOIN class_generations c ON c.class_no = k.value ORDER BY c.generation";
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map([listed(classes)], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// What a generation did to a class, and what the class was then.
pub(crate) struct ClassGeneration {
    pub generation: u64,
    /// The class's key, which no number goes into.
    pub key: String,
    pub documents: DocumentCounts,
    pub chunks: ChunkCounts,
    pub digest: String,
}

/// All that happened to these classes, oldest first.
pub(crate) fn changes(conn: &Connection, classes: &[i64]) -> Result<Vec<ClassGeneration>> {
    let sql = "SELECT c.generation, a.class_key, c.documents_added, c.documents_updated, c.documents_deleted, \
               c.chunks_added, c.chunks_removed, c.chunks_reused, c.digest FROM json_each(?1) k \
               CROSS JOIN acl_classes a ON a.class_no = k.value \
               CROSS JOIN class_generations c ON c.class_no = k.value ORDER BY c.generation, a.class_key";
    let mut statement = conn.prepare_cached(sql)?;
    let read = |row: &Row<'_>| {
        Ok(ClassGeneration {
            generation: row.get(0)?,
            key: row.get(1)?,
            documents: DocumentCounts {
                added: row.get(2)?,
                updated: row.get(3)?,
                deleted: row.get(4)?,
                ..DocumentCounts::default()
            },
            chunks: ChunkCounts { added: row.get(5)?, removed: row.get(6)?, reused: row.get(7)? },
            digest: row.get(8)?,
        })
    };
    let rows = statement.query_map([listed(classes)], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The digest of each of these classes that had documents, by key, as it is now.
pub(crate) fn digests(conn: &Connection, classes: &[i64]) -> Result<Vec<(String, String)>> {
    let sql = "SELECT a.class_key, a.digest FROM json_each(?1) k CROSS JOIN acl_classes a ON a.class_no = k.value \
               WHERE EXISTS (SELECT 1 FROM class_generations c WHERE c.class_no = a.class_no) ORDER BY a.class_key";
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map([listed(classes)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

//! What syncs do to each access class: the numbers of its chunks (`acl_classes.next_chunk`), and its history
//! (`class_generations`, `acl_classes.digest`).

use rusqlite::{Connection, OptionalExtension, params};

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
    let next = next.ok_or_else(|| Error::Damaged { detail: format!("access class {class_no} is missing") })?;
    Ok(first_chunk(class_no) + next)
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

/// Notes what a generation did to a class, beside what is noted already, and carries the class's digest on: SHA-256 over the one before and, document
/// by document in order of id, the digest of its change. No number of a generation goes in, so that it does not depend on
/// what happened to other classes.
pub(crate) fn record(conn: &Connection, class_no: i64, generation: u64, mut change: ClassChange) -> Result<()> {
    let sql = "INSERT INTO class_generations (class_no, generation, documents_added, documents_updated, \
               documents_deleted, chunks_added, chunks_removed, chunks_reused) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
               ON CONFLICT (class_no, generation) DO UPDATE SET \
               documents_added = documents_added + excluded.documents_added, \
               documents_updated = documents_updated + excluded.documents_updated, \
               documents_deleted = documents_deleted + excluded.documents_deleted, \
               chunks_added = chunks_added + excluded.chunks_added, \
               chunks_removed = chunks_removed + excluded.chunks_removed, \
               chunks_reused = chunks_reused + excluded.chunks_reused";
    conn.prepare_cached(sql)?.execute(params![
        class_no,
        generation,
        change.documents.added,
        change.documents.updated,
        change.documents.deleted,
        change.chunks.added,
        change.chunks.removed,
        change.chunks.reused,
    ])?;
    let sql = "SELECT digest FROM acl_classes WHERE class_no = ?1";
    let before: String = conn.prepare_cached(sql)?.query_row([class_no], |row| row.get(0))?;
    let before = Digest::parse(&before)
        .ok_or_else(|| Error::Damaged { detail: format!("acl_classes.digest of {class_no} is not a digest") })?;
    let mut hash = DigestBuilder::new("ragdb class 1");
    hash.field(before.as_bytes());
    change.changes.sort_unstable();
    for (document, digest) in &change.changes {
        hash.field(document.as_bytes()).field(digest.as_bytes());
    }
    let sql = "UPDATE acl_classes SET digest = ?2 WHERE class_no = ?1";
    conn.prepare_cached(sql)?.execute(params![class_no, hash.finish().to_string()])?;
    Ok(())
}

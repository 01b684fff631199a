//! `generations`: one row a published sync, chained by digests.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::{Error, Result};
use crate::model::{Digest, DigestBuilder};

/// One published sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Its number: 1 for the first, then one more each.
    pub number: u64,
    /// The generation it was made from; `None` for the first.
    pub parent: Option<u64>,
    /// When it was published, in UTC as RFC 3339.
    pub published_at: String,
    /// What happened to documents.
    pub documents: DocumentCounts,
    /// What happened to chunks.
    pub chunks: ChunkCounts,
    /// The digest of the policy it was indexed under.
    pub policy_digest: Digest,
    /// SHA-256 over parent digest, number, policy digest and the change of each document.
    pub digest: Digest,
    /// The parent's `digest`.
    pub parent_digest: Option<Digest>,
    /// The epoch of the access rules when it was published.
    pub acl_epoch: u64,
    /// The ragdb that published it.
    pub tool_version: String,
}

/// What a sync did to documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DocumentCounts {
    /// Documents that were not there before.
    pub added: u64,
    /// Documents whose content, title or metadata changed, or which were cut anew under another policy.
    pub updated: u64,
    /// Documents whose file is gone.
    pub deleted: u64,
    /// Documents left as they were.
    pub unchanged: u64,
    /// Files that could not become documents; an earlier version of them stays.
    pub failed: u64,
}

/// What a sync did to chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkCounts {
    /// Chunk ids that were not there before.
    pub added: u64,
    /// Chunk ids that are gone.
    pub removed: u64,
    /// Chunk ids of added and updated documents that stayed, moved or not.
    pub reused: u64,
}

impl Generation {
    /// The digest of every column, so that a row edited by hand shows.
    pub(crate) fn record_hash(&self) -> Digest {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let mut hash = DigestBuilder::new("ragdb generation record 1");
        hash.number(number(self.number)).number(self.parent.map_or(-1, number)).field(&self.published_at);
        let (documents, chunks) = (&self.documents, &self.chunks);
        for count in [documents.added, documents.updated, documents.deleted, documents.unchanged, documents.failed] {
            hash.number(number(count));
        }
        for count in [chunks.added, chunks.removed, chunks.reused] {
            hash.number(number(count));
        }
        hash.field(self.policy_digest.as_bytes()).field(self.digest.as_bytes());
        hash.field(self.parent_digest.map_or(String::new(), |digest| digest.to_string()));
        hash.field(&self.tool_version);
        // Rows from before there were access rules have their old hash.
        if self.acl_epoch > 0 {
            hash.field("acl epoch").number(number(self.acl_epoch));
        }
        hash.finish()
    }
}

const COLUMNS: &str = "generation, parent, published_at, documents_added, documents_updated, documents_deleted, \
    documents_unchanged, documents_failed, chunks_added, chunks_removed, chunks_reused, policy_digest, digest, \
    parent_digest, tool_version, record_hash, acl_epoch";

/// A generation with the record hash that stands beside it.
pub(crate) struct StoredGeneration {
    pub generation: Generation,
    pub record_hash: String,
}

/// The newest generation; `None` before the first sync.
pub(crate) fn head(conn: &Connection) -> Result<Option<Generation>> {
    let sql = format!("SELECT {COLUMNS} FROM generations ORDER BY generation DESC LIMIT 1");
    let row = conn.prepare_cached(&sql)?.query_row([], |row| Ok(read(row))).optional()?;
    row.transpose().map(|row| row.map(|row| row.generation))
}

/// The generation with this number.
pub(crate) fn get(conn: &Connection, number: u64) -> Result<Generation> {
    let sql = format!("SELECT {COLUMNS} FROM generations WHERE generation = ?1");
    let row = conn.prepare_cached(&sql)?.query_row([number], |row| Ok(read(row))).optional()?;
    row.transpose()?.map(|row| row.generation).ok_or(Error::NotFound { what: format!("generation {number}") })
}

/// The newest `limit` generations (all of them for `None`), newest first.
pub(crate) fn newest(conn: &Connection, limit: Option<u64>) -> Result<Vec<Generation>> {
    let sql = format!("SELECT {COLUMNS} FROM generations ORDER BY generation DESC LIMIT ?1");
    let mut statement = conn.prepare_cached(&sql)?;
    let limit = limit.and_then(|limit| i64::try_from(limit).ok()).unwrap_or(-1);
    let mut rows = statement.query([limit])?;
    let mut generations = Vec::new();
    while let Some(row) = rows.next()? {
        generations.push(read(row)?.generation);
    }
    Ok(generations)
}

/// Calls `each` with every generation, oldest first.
pub(crate) fn for_each(conn: &Connection, mut each: impl FnMut(StoredGeneration) -> Result<()>) -> Result<()> {
    let mut statement = conn.prepare_cached(&format!("SELECT {COLUMNS} FROM generations ORDER BY generation"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        each(read(row)?)?;
    }
    Ok(())
}

/// Adds the row that all rows of the generation refer to. It goes first, so that no foreign key has to be deferred:
/// SQLite would search every table that refers to generations for rows that waited for it. [`complete`] follows.
pub(crate) fn insert(conn: &Connection, generation: &Generation) -> Result<()> {
    let sql = format!(
        "INSERT INTO generations ({COLUMNS}) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17)"
    );
    conn.prepare_cached(&sql)?.execute(params![
        generation.number,
        generation.parent,
        generation.published_at,
        generation.documents.added,
        generation.documents.updated,
        generation.documents.deleted,
        generation.documents.unchanged,
        generation.documents.failed,
        generation.chunks.added,
        generation.chunks.removed,
        generation.chunks.reused,
        generation.policy_digest.to_string(),
        generation.digest.to_string(),
        generation.parent_digest.map(|digest| digest.to_string()),
        generation.tool_version,
        generation.record_hash().to_string(),
        generation.acl_epoch,
    ])?;
    Ok(())
}

/// Writes down what is known only behind the other rows: the counts, the digest and the time.
pub(crate) fn complete(conn: &Connection, generation: &Generation) -> Result<()> {
    let sql = "UPDATE generations SET documents_added = ?2, documents_updated = ?3, documents_deleted = ?4, \
               documents_unchanged = ?5, documents_failed = ?6, chunks_added = ?7, chunks_removed = ?8, \
               chunks_reused = ?9, digest = ?10, record_hash = ?11, acl_epoch = ?12, published_at = ?13 WHERE generation = ?1";
    conn.prepare_cached(sql)?.execute(params![
        generation.number,
        generation.documents.added,
        generation.documents.updated,
        generation.documents.deleted,
        generation.documents.unchanged,
        generation.documents.failed,
        generation.chunks.added,
        generation.chunks.removed,
        generation.chunks.reused,
        generation.digest.to_string(),
        generation.record_hash().to_string(),
        generation.acl_epoch,
        generation.published_at,
    ])?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<StoredGeneration> {
    let number: u64 = row.get(0)?;
    let digest = |column: &str, hex: &str| {
        Digest::parse(hex)
            .ok_or_else(|| Error::Damaged { detail: format!("generation {number}: {column} is not a digest") })
    };
    let parent_digest: Option<String> = row.get(13)?;
    let generation = Generation {
        number,
        parent: row.get(1)?,
        published_at: row.get(2)?,
        documents: DocumentCounts {
            added: row.get(3)?,
            updated: row.get(4)?,
            deleted: row.get(5)?,
            unchanged: row.get(6)?,
            failed: row.get(7)?,
        },
        chunks: ChunkCounts { added: row.get(8)?, removed: row.get(9)?, reused: row.get(10)? },
        policy_digest: digest("policy_digest", &row.get::<_, String>(11)?)?,
        digest: digest("digest", &row.get::<_, String>(12)?)?,
        parent_digest: parent_digest.map(|hex| digest("parent_digest", &hex)).transpose()?,
        tool_version: row.get(14)?,
        acl_epoch: row.get(16)?,
    };
    Ok(StoredGeneration { generation, record_hash: row.get(15)? })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::store::migrate;

    #[test]
    fn a_new_generation_costs_the_same_however_many_rows_refer_to_older_ones() {
        let mut conn = Connection::open_in_memory().unwrap();
        migrate::apply(&mut conn).unwrap();
        conn.pragma_update(None, "foreign_keys", true).unwrap();
        let digest = Digest::of("");
        let mut generation = Generation {
            number: 1,
            parent: None,
            published_at: String::new(),
            documents: DocumentCounts::default(),
            chunks: ChunkCounts::default(),
            policy_digest: digest,
            digest,
            parent_digest: None,
            acl_epoch: 0,
            tool_version: String::new(),
        };
        insert(&conn, &generation).unwrap();
        let tombstones = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) \
             INSERT INTO tombstones (kind, id, document_id, source_id, path, content_hash, generation_added, \
             generation_deleted, reason, class_no, class_generation) \
             SELECT 'chunk', i, printf('%032d', i), 's', 'p', printf('%064d', i), 1, 1, 'file_deleted', 0, 0 FROM n";
        conn.execute_batch(tombstones).unwrap();
        (generation.number, generation.parent, generation.parent_digest) = (2, Some(1), Some(digest));
        let ticks = Arc::new(AtomicU32::new(0));
        let counter = ticks.clone();
        let count = move || {
            counter.fetch_add(1, Ordering::Relaxed);
            false
        };
        conn.progress_handler(100, Some(count)).unwrap();
        let tx = conn.transaction().unwrap();
        insert(&tx, &generation).unwrap();
        complete(&tx, &generation).unwrap();
        tx.commit().unwrap();
        let ticks = ticks.load(Ordering::Relaxed);
        assert!(ticks < 20, "{ticks} times 100 steps of SQLite's machine");
    }
}

//! What lies between two generations, read from `chunks`, `documents` and `tombstones`.
//!
//! A chunk existed in generation g if it was added at or before g and not deleted at or before g. What existed
//! only between the two generations is in neither and is not listed.

use std::collections::HashMap;

use rusqlite::{Connection, Row, params};

use super::classes::listed;
use crate::error::{Error, Result};
use crate::model::{ChunkId, Digest};

/// A chunk that was added or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedChunk {
    /// The chunk's id.
    pub chunk_id: String,
    /// Its source.
    pub source_id: String,
    /// Its document's path below the source's root.
    pub path: String,
    /// Its first and last line as they are now; `None` where the chunk is gone.
    pub lines: Option<(u32, u32)>,
    /// The SHA-256 of its text.
    pub content_hash: String,
}

/// A document that was added, removed or updated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedDocument {
    /// The document's id.
    pub document_id: String,
    /// Its source.
    pub source_id: String,
    /// Its path below the source's root.
    pub path: String,
}

/// Two generations, and the access classes that are looked at.
pub(crate) struct Between<'a> {
    pub classes: &'a [i64],
    pub from: u64,
    pub to: u64,
    /// Take what happened to a document before it came into its class as if it came with that.
    pub since_entered: bool,
}

/// The access classes `k`; of these, the tombstones `t`, the live documents `d` with their sources `s`, and the chunks `c`
/// of these. Where `?4` is 1, no generation is earlier than the one that brought the document into its class.
const TOMBSTONES: &str = "(
    SELECT t.kind, t.id, t.document_id, t.source_id, t.path, t.content_hash, t.generation_deleted,
      max(t.generation_added, t.class_generation * ?4) AS generation_added
    FROM json_each(?3) k CROSS JOIN tombstones t ON t.class_no = k.value
  ) t";
const DOCUMENTS: &str = "(
    SELECT d.document_id, s.source_id, d.path,
      max(d.generation_added, d.class_generation * ?4) AS generation_added,
      max(d.generation_updated, d.class_generation * ?4) AS generation_updated
    FROM json_each(?3) k CROSS JOIN documents d ON d.class_no = k.value CROSS JOIN sources s USING (source_no)
  ) d";
const CHUNKS: &str = "(
    SELECT d.document_id, s.source_id, d.path, c.chunk_id, c.start_line, c.end_line, c.content_hash,
      max(c.generation_added, d.class_generation * ?4) AS generation_added
    FROM json_each(?3) k CROSS JOIN documents d ON d.class_no = k.value CROSS JOIN sources s USING (source_no)
    CROSS JOIN chunks c USING (document_no)
  ) c";

/// Chunks of `to` that are not in `from`.
pub(crate) fn chunks_added(conn: &Connection, between: &Between<'_>) -> Result<Vec<ChangedChunk>> {
    let sql = format!(
        "WITH added (id, source_id, path, start_line, end_line, content_hash) AS (
          SELECT c.chunk_id, c.source_id, c.path, c.start_line, c.end_line, c.content_hash FROM {CHUNKS}
          WHERE c.generation_added > ?1 AND c.generation_added <= ?2
          UNION ALL
          SELECT t.id, t.source_id, t.path, NULL, NULL, t.content_hash FROM {TOMBSTONES}
          WHERE t.kind = 'chunk' AND t.generation_added > ?1 AND t.generation_added <= ?2
            AND t.generation_deleted > ?2
        ),
        before (id) AS MATERIALIZED (
          SELECT t.id FROM {TOMBSTONES} WHERE t.generation_added <= ?1 AND t.generation_deleted > ?1
        )
        SELECT * FROM added WHERE id NOT IN (SELECT id FROM before)
        ORDER BY source_id, path, start_line, id"
    );
    collect(conn, &sql, between)
}

/// Chunks of `from` that are not in `to`.
pub(crate) fn chunks_removed(conn: &Connection, between: &Between<'_>) -> Result<Vec<ChangedChunk>> {
    let sql = format!(
        "WITH after (id) AS MATERIALIZED (
          SELECT t.id FROM {TOMBSTONES} WHERE t.generation_added <= ?2 AND t.generation_deleted > ?2
          UNION ALL
          SELECT c.chunk_id FROM {CHUNKS}
          WHERE c.generation_added > ?1 AND c.generation_added <= ?2
        )
        SELECT t.id, t.source_id, t.path, NULL, NULL, t.content_hash FROM {TOMBSTONES}
        WHERE t.kind = 'chunk' AND t.generation_added <= ?1 AND t.generation_deleted > ?1
          AND t.generation_deleted <= ?2 AND t.id NOT IN (SELECT id FROM after)
        ORDER BY t.source_id, t.path, t.id"
    );
    collect(conn, &sql, between)
}

fn collect(conn: &Connection, sql: &str, between: &Between<'_>) -> Result<Vec<ChangedChunk>> {
    let mut statement = conn.prepare_cached(sql)?;
    let read = |row: &Row<'_>| {
        let (start, end): (Option<u32>, Option<u32>) = (row.get(3)?, row.get(4)?);
        Ok(ChangedChunk {
            chunk_id: row.get(0)?,
            source_id: row.get(1)?,
            path: row.get(2)?,
            lines: start.zip(end),
            content_hash: row.get(5)?,
        })
    };
    let rows =
        statement.query_map(params![between.from, between.to, listed(between.classes), between.since_entered], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Documents that were added, removed and updated.
#[allow(clippy::type_complexity)]
pub(crate) fn documents(
    conn: &Connection,
    between: &Between<'_>,
) -> Result<(Vec<ChangedDocument>, Vec<ChangedDocument>, Vec<ChangedDocument>)> {
    // Every document that ever was, with whether it was there in each of the two generations, and whether it or
    // any of its chunks changed in between.
    let sql = format!(
        "WITH lives (document_id, source_id, path, born, died) AS (
          SELECT d.document_id, d.source_id, d.path, d.generation_added, NULL FROM {DOCUMENTS}
          UNION ALL
          SELECT t.id, t.source_id, t.path, t.generation_added, t.generation_deleted FROM {TOMBSTONES}
          WHERE t.kind = 'document'
        ),
        presence AS (
          SELECT document_id, source_id, path,
            max(born <= ?1 AND (died IS NULL OR died > ?1)) AS before,
            max(born <= ?2 AND (died IS NULL OR died > ?2)) AS after
          FROM lives GROUP BY document_id
        ),
        touched (document_id) AS (
          SELECT d.document_id FROM {DOCUMENTS} WHERE d.generation_updated > ?1 AND d.generation_updated <= ?2
          UNION
          SELECT t.document_id FROM {TOMBSTONES}
          WHERE t.kind = 'chunk'
            AND ((t.generation_added > ?1 AND t.generation_added <= ?2)
              OR (t.generation_deleted > ?1 AND t.generation_deleted <= ?2))
          UNION
          SELECT c.document_id FROM {CHUNKS}
          WHERE c.generation_added > ?1 AND c.generation_added <= ?2
        )
        SELECT document_id, source_id, path, before, after FROM presence
        WHERE before <> after OR (before AND document_id IN (SELECT document_id FROM touched))
        ORDER BY source_id, path"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows =
        statement.query(params![between.from, between.to, listed(between.classes), between.since_entered])?;
    let (mut added, mut removed, mut updated) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(row) = rows.next()? {
        let document = ChangedDocument { document_id: row.get(0)?, source_id: row.get(1)?, path: row.get(2)? };
        match (row.get(3)?, row.get(4)?) {
            (false, true) => added.push(document),
            (true, false) => removed.push(document),
            _ => updated.push(document),
        }
    }
    Ok((added, removed, updated))
}

/// Whether a chunk came or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Added,
    Removed,
}

/// Calls `each` with every chunk that a generation added or removed, generation by generation.
pub(crate) fn for_each_by_generation(
    conn: &Connection,
    mut each: impl FnMut(u64, Sign, ChunkId, Digest) -> Result<()>,
) -> Result<()> {
    let sql = "
        SELECT generation_added AS generation, 1 AS added, chunk_id AS id, content_hash FROM chunks
        UNION ALL
        SELECT generation_added, 1, id, content_hash FROM tombstones WHERE kind = 'chunk'
        UNION ALL
        SELECT generation_deleted, 0, id, content_hash FROM tombstones WHERE kind = 'chunk'
        ORDER BY generation";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let sign = if row.get(1)? { Sign::Added } else { Sign::Removed };
        let (id, content): (String, String) = (row.get(2)?, row.get(3)?);
        let damaged = || Error::Damaged { detail: format!("chunk id {id:?} or its content hash can't be read") };
        each(
            row.get(0)?,
            sign,
            ChunkId::parse(&id).ok_or_else(damaged)?,
            Digest::parse(&content).ok_or_else(damaged)?,
        )?;
    }
    Ok(())
}

/// What documents and their tombstones say that a generation did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DocumentChanges {
    pub added: u64,
    pub deleted: u64,
    /// Live documents, older than the generation, that it updated last: at most as many as it updated.
    pub last_updated: u64,
}

/// The document changes of every generation that documents or tombstones name.
pub(crate) fn documents_by_generation(conn: &Connection) -> Result<HashMap<u64, DocumentChanges>> {
    let sql = "
        WITH changes (generation, added, deleted, updated) AS (
          SELECT generation_added, 1, 0, 0 FROM documents
          UNION ALL
          SELECT generation_added, 1, 0, 0 FROM tombstones WHERE kind = 'document'
          UNION ALL
          SELECT generation_deleted, 0, 1, 0 FROM tombstones WHERE kind = 'document'
          UNION ALL
          SELECT generation_updated, 0, 0, 1 FROM documents WHERE generation_updated > generation_added
        )
        SELECT generation, sum(added), sum(deleted), sum(updated) FROM changes GROUP BY generation";
    let mut statement = conn.prepare_cached(sql)?;
    let read = |row: &Row<'_>| {
        let changes = DocumentChanges { added: row.get(1)?, deleted: row.get(2)?, last_updated: row.get(3)? };
        Ok((row.get(0)?, changes))
    };
    let rows = statement.query_map([], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

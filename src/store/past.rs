//! What a generation held, from what is live and from tombstones.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::{Connection, Row};

use crate::error::{Error, Result};
use crate::model::{ChunkId, DocumentId};

/// A document of an earlier generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PastDocument {
    pub source_id: String,
    pub path: String,
    /// The access class that it is in, or was in when it was last deleted.
    pub class_no: i64,
    /// Whether it is not live any more.
    pub deleted: bool,
    pub chunks: BTreeSet<ChunkId>,
}

/// The documents that a generation had, each with its chunks.
pub(crate) fn documents(conn: &Connection, generation: u64) -> Result<BTreeMap<DocumentId, PastDocument>> {
    let mut classes: HashMap<DocumentId, i64> = HashMap::new();
    let sql = "SELECT document_id, class_no FROM tombstones WHERE kind = 'document' ORDER BY tombstone_no";
    for_each(conn, sql, None, |row| {
        classes.insert(document(&row.get::<_, String>(0)?)?, row.get(1)?);
        Ok(())
    })?;
    for_each(conn, "SELECT document_id, class_no FROM documents", None, |row| {
        classes.insert(document(&row.get::<_, String>(0)?)?, row.get(1)?);
        Ok(())
    })?;
    let live = live_chunks(conn)?;
    let mut documents = BTreeMap::new();
    let sql = "SELECT d.document_id, s.source_id, d.path FROM documents d JOIN sources s USING (source_no) \
               WHERE d.generation_added <= ?1 \
               UNION ALL \
               SELECT id, source_id, path FROM tombstones \
               WHERE kind = 'document' AND generation_added <= ?1 AND generation_deleted > ?1";
    for_each(conn, sql, Some(generation), |row| {
        let id = document(&row.get::<_, String>(0)?)?;
        let class_no = classes.get(&id).copied().unwrap_or_default();
        let (source_id, path, deleted) = (row.get(1)?, row.get(2)?, !live.contains_key(&id));
        let past = PastDocument { source_id, path, class_no, deleted, chunks: BTreeSet::new() };
        documents.insert(id, past);
        Ok(())
    })?;
    let sql = "SELECT chunk_id FROM chunks WHERE generation_added <= ?1 \
               UNION ALL \
               SELECT id FROM tombstones WHERE kind = 'chunk' AND generation_added <= ?1 AND generation_deleted > ?1";
    for_each(conn, sql, Some(generation), |row| {
        let id = chunk(&row.get::<_, String>(0)?)?;
        if let Some(past) = documents.get_mut(&id.document) {
            past.chunks.insert(id);
        }
        Ok(())
    })?;
    Ok(documents)
}

/// The chunks of each live document.
pub(crate) fn live_chunks(conn: &Connection) -> Result<HashMap<DocumentId, BTreeSet<ChunkId>>> {
    let mut live: HashMap<DocumentId, BTreeSet<ChunkId>> = HashMap::new();
    for_each(conn, "SELECT chunk_id FROM chunks", None, |row| {
        let id = chunk(&row.get::<_, String>(0)?)?;
        live.entry(id.document).or_default().insert(id);
        Ok(())
    })?;
    Ok(live)
}

fn for_each(
    conn: &Connection,
    sql: &str,
    generation: Option<u64>,
    mut each: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<()> {
    let mut statement = conn.prepare(sql)?;
    let mut rows = match generation {
        Some(generation) => statement.query([generation])?,
        None => statement.query([])?,
    };
    while let Some(row) = rows.next()? {
        each(row)?;
    }
    Ok(())
}

fn document(id: &str) -> Result<DocumentId> {
    DocumentId::parse(id).ok_or_else(|| Error::Damaged { detail: format!("document id {id:?} can't be read") })
}

fn chunk(id: &str) -> Result<ChunkId> {
    ChunkId::parse(id).ok_or_else(|| Error::Damaged { detail: format!("chunk id {id:?} can't be read") })
}

//! `sources`: the declared sources, and `sync_failures`: what a published generation had to leave out.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::{Error, Result};

/// A declared source, as it is stored. Lists are JSON arrays of strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceRow {
    pub source_id: String,
    pub kind: String,
    /// The root folder, relative to the folder of the store where it can be.
    pub root: String,
    /// `config` or `argument`.
    pub declared_by: String,
    pub scope: Option<String>,
    pub visibility: String,
    pub tenant: Option<String>,
    pub groups: String,
    pub include: String,
    pub exclude: String,
    pub required_metadata: String,
    /// Whether names that begin with a dot are read.
    pub hidden: bool,
    /// Whether what `.gitignore` files leave out is left out.
    pub respect_gitignore: bool,
    /// A larger file is refused.
    pub max_file_bytes: u64,
    /// `none` or `reviewed`.
    pub trust: String,
    /// Patterns of documents that are reviewed.
    pub reviewed: String,
}

const COLUMNS: &str = "source_id, kind, root, declared_by, scope, visibility, tenant, groups, include, \
    exclude, required_metadata, hidden, respect_gitignore, max_file_bytes, trust, reviewed";

/// All sources with their numbers, by id.
pub(crate) fn all(conn: &Connection) -> Result<Vec<(i64, SourceRow)>> {
    let sql = format!("SELECT {COLUMNS}, source_no FROM sources ORDER BY source_id");
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(16)?, read(row)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The source with this number, if there is one.
pub(crate) fn by_number(conn: &Connection, source_no: i64) -> Result<Option<SourceRow>> {
    let sql = format!("SELECT {COLUMNS} FROM sources WHERE source_no = ?1");
    Ok(conn.prepare_cached(&sql)?.query_row([source_no], read).optional()?)
}

/// The number and row of the source with this id, if there is one.
pub(crate) fn by_id(conn: &Connection, source_id: &str) -> Result<Option<(i64, SourceRow)>> {
    let sql = format!("SELECT {COLUMNS}, source_no FROM sources WHERE source_id = ?1");
    let read = |row: &Row<'_>| Ok((row.get(16)?, read(row)?));
    Ok(conn.prepare_cached(&sql)?.query_row([source_id], read).optional()?)
}

/// How many live documents a source has.
pub(crate) fn document_count(conn: &Connection, source_no: i64) -> Result<u64> {
    let mut statement = conn.prepare_cached("SELECT count(*) FROM documents WHERE source_no = ?1")?;
    Ok(statement.query_row([source_no], |row| row.get(0))?)
}

/// Adds a source, or replaces the declaration of the one with the same id; returns its number.
pub(crate) fn put(conn: &Connection, source: &SourceRow) -> Result<i64> {
    let sql = format!(
        "INSERT INTO sources ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, \
         ?16) \
         ON CONFLICT (source_id) DO UPDATE SET kind = excluded.kind, root = excluded.root, \
         declared_by = excluded.declared_by, scope = excluded.scope, visibility = excluded.visibility, \
         tenant = excluded.tenant, groups = excluded.groups, include = excluded.include, \
         exclude = excluded.exclude, required_metadata = excluded.required_metadata, \
         hidden = excluded.hidden, respect_gitignore = excluded.respect_gitignore, \
         max_file_bytes = excluded.max_file_bytes, trust = excluded.trust, reviewed = excluded.reviewed \
         RETURNING source_no"
    );
    let values = params![
        source.source_id,
        source.kind,
        source.root,
        source.declared_by,
        source.scope,
        source.visibility,
        source.tenant,
        source.groups,
        source.include,
        source.exclude,
        source.required_metadata,
        source.hidden,
        source.respect_gitignore,
        source.max_file_bytes,
        source.trust,
        source.reviewed,
    ];
    Ok(conn.prepare_cached(&sql)?.query_row(values, |row| row.get(0))?)
}

/// Removes a source that has no documents any more.
pub(crate) fn delete(conn: &Connection, source_no: i64) -> Result<()> {
    conn.prepare_cached("DELETE FROM sources WHERE source_no = ?1")?.execute([source_no])?;
    Ok(())
}

/// Notes a file that a generation was published without.
pub(crate) fn insert_failure(
    conn: &Connection,
    generation: u64,
    source_id: &str,
    path: &str,
    code: &str,
    message: &str,
) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO sync_failures (generation, source_id, path, code, message) \
               VALUES (?1, ?2, ?3, ?4, ?5)";
    conn.prepare_cached(sql)?.execute(params![generation, source_id, path, code, message])?;
    Ok(())
}

/// A file that a generation was published without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFailure {
    /// The source it belongs to.
    pub source_id: String,
    /// Its path below the source's root.
    pub path: String,
    /// The code of the [`Failure`](crate::Failure).
    pub code: String,
    /// Its message.
    pub message: String,
}

/// The files that a generation was published without, by source and path.
pub(crate) fn failures(conn: &Connection, generation: u64) -> Result<Vec<StoredFailure>> {
    let sql = "SELECT source_id, path, code, message FROM sync_failures WHERE generation = ?1 ORDER BY source_id, path";
    let mut statement = conn.prepare_cached(sql)?;
    let read = |row: &Row<'_>| {
        Ok(StoredFailure { source_id: row.get(0)?, path: row.get(1)?, code: row.get(2)?, message: row.get(3)? })
    };
    let rows = statement.query_map([generation], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

impl SourceRow {
    /// Reads one of the lists that are stored as JSON arrays.
    pub(crate) fn list(&self, json: &str) -> Result<Vec<String>> {
        serde_json::from_str(json).map_err(|_| Error::Damaged {
            detail: format!("source {}: {json:?} is not a JSON array of strings", self.source_id),
        })
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<SourceRow> {
    Ok(SourceRow {
        source_id: row.get(0)?,
        kind: row.get(1)?,
        root: row.get(2)?,
        declared_by: row.get(3)?,
        scope: row.get(4)?,
        visibility: row.get(5)?,
        tenant: row.get(6)?,
        groups: row.get(7)?,
        include: row.get(8)?,
        exclude: row.get(9)?,
        required_metadata: row.get(10)?,
        hidden: row.get(11)?,
        respect_gitignore: row.get(12)?,
        max_file_bytes: row.get(13)?,
        trust: row.get(14)?,
        reviewed: row.get(15)?,
    })
}

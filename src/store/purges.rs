//! `purges`, and all that a purge removes beside the document itself: runs, answers and cached ones that hold its text.

use std::collections::{BTreeSet, HashSet};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, params};

use super::settings;
use crate::error::{Error, Result};
use crate::model::{Digest, DocumentId};

/// A document that is, or was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Named {
    pub document_id: String,
    pub source_id: String,
    pub path: String,
}

/// The documents, live or deleted, with this id or path; where there is none, with this `SOURCE:path`.
pub(crate) fn named(conn: &Connection, name: &str) -> Result<Vec<Named>> {
    let found = named_in(conn, name, None)?;
    match name.split_once(':') {
        Some((source, path)) if found.is_empty() => named_in(conn, path, Some(source)),
        _ => Ok(found),
    }
}

fn named_in(conn: &Connection, name: &str, source: Option<&str>) -> Result<Vec<Named>> {
    let sql = "SELECT d.document_id, s.source_id, d.path FROM documents d JOIN sources s USING (source_no) \
               WHERE (d.document_id = ?1 OR d.path = ?1) AND (?2 IS NULL OR s.source_id = ?2) \
               UNION \
               SELECT document_id, source_id, path FROM tombstones \
               WHERE kind = 'document' AND (document_id = ?1 OR path = ?1) AND (?2 IS NULL OR source_id = ?2)";
    let mut statement = conn.prepare(sql)?;
    let rows = statement.query_map(params![name, source], |row| {
        Ok(Named { document_id: row.get(0)?, source_id: row.get(1)?, path: row.get(2)? })
    })?;
    let mut named: Vec<Named> = rows.collect::<rusqlite::Result<_>>()?;
    // A path may have been spelled in more than one way.
    named.sort();
    named.dedup_by(|a, b| a.document_id == b.document_id);
    Ok(named)
}

/// The content hash with which a document was last deleted.
pub(crate) fn last_content(conn: &Connection, document_id: &str) -> Result<Option<String>> {
    let sql = "SELECT content_hash FROM tombstones WHERE kind = 'document' AND document_id = ?1 \
               ORDER BY generation_deleted DESC LIMIT 1";
    Ok(conn.prepare(sql)?.query_row([document_id], |row| row.get(0)).optional()?)
}

/// Notes that a document with this content was purged. Once more is later: what came in by whatever way in between is
/// gone as well.
pub(crate) fn insert(
    conn: &Connection,
    document_id: &str,
    content_hash: &str,
    generation: u64,
    reason: Option<&str>,
) -> Result<()> {
    let sql = "INSERT INTO purges (document_id, content_hash, generation, purged_at, reason) \
               VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (document_id, content_hash) DO UPDATE SET \
               generation = excluded.generation, purged_at = excluded.purged_at, \
               reason = coalesce(excluded.reason, reason)";
    conn.prepare(sql)?.execute(params![document_id, content_hash, generation, settings::now(), reason])?;
    Ok(())
}

/// The purged documents, each with the content that it had.
pub(crate) fn contents(conn: &Connection) -> Result<HashSet<(DocumentId, Digest)>> {
    let mut statement = conn.prepare_cached("SELECT document_id, content_hash FROM purges")?;
    let mut rows = statement.query([])?;
    let mut contents = HashSet::new();
    while let Some(row) = rows.next()? {
        let (id, hash): (String, String) = (row.get(0)?, row.get(1)?);
        let parsed = DocumentId::parse(&id).zip(Digest::parse(&hash));
        contents.insert(parsed.ok_or_else(|| Error::Damaged { detail: format!("purges: {id:?} can't be read") })?);
    }
    Ok(contents)
}

/// Purges and tombstones that say different things, in words.
pub(crate) fn contradictions(conn: &Connection) -> Result<Vec<String>> {
    let sql = "SELECT 'document ' || document_id || ' was purged, and purges does not say so' FROM tombstones t \
               WHERE kind = 'document' AND reason = 'purged' \
               AND NOT EXISTS (SELECT 1 FROM purges p WHERE p.document_id = t.document_id) \
               UNION ALL \
               SELECT 'purges: document ' || document_id || ' was never deleted with that content' FROM purges p \
               WHERE NOT EXISTS (SELECT 1 FROM tombstones t WHERE t.kind = 'document' \
               AND t.document_id = p.document_id AND t.content_hash = p.content_hash)";
    let mut statement = conn.prepare(sql)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The documents that were purged after a generation.
pub(crate) fn since(conn: &Connection, generation: u64) -> Result<HashSet<DocumentId>> {
    let mut statement = conn.prepare_cached("SELECT document_id FROM purges WHERE generation > ?1")?;
    let mut rows = statement.query([generation])?;
    let mut purged = HashSet::new();
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        let damaged = || Error::Damaged { detail: format!("purges.document_id {id:?} can't be read") };
        purged.insert(DocumentId::parse(&id).ok_or_else(damaged)?);
    }
    Ok(purged)
}

/// Runs `work` while SQLite overwrites what it frees with zeros.
pub(crate) fn wiping<T>(conn: &Connection, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let before: i64 = conn.pragma_query_value(None, "secure_delete", |row| row.get(0))?;
    let set = |value: i64| conn.pragma_update_and_check(None, "secure_delete", value, |_| Ok(()));
    set(1)?;
    let result = work();
    set(before)?;
    result
}

/// Takes the words out of what was said of a file that failed: they may be its own.
pub(crate) fn blank_failures(conn: &Connection, document: &Named) -> Result<()> {
    let sql = "UPDATE sync_failures SET message = 'purged' WHERE source_id = ?1 AND path = ?2";
    conn.prepare(sql)?.execute([&document.source_id, &document.path])?;
    Ok(())
}

/// What was recorded of questions and answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Records {
    pub runs: BTreeSet<String>,
    /// Answers, those of the runs included.
    pub answers: BTreeSet<String>,
}

/// The runs that met the document, and the answers of these runs or that cite it.
pub(crate) fn records_of(conn: &Connection, document_id: &str) -> Result<Records> {
    let ids = |sql: &str| -> Result<BTreeSet<String>> {
        let mut statement = conn.prepare(sql)?;
        let rows = statement.query_map([document_id], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    };
    // A chunk id is the document's, a colon, and more; no character comes between a colon and a semicolon.
    let runs = ids("SELECT DISTINCT run_id FROM run_hits WHERE chunk_id BETWEEN ?1 || ':' AND ?1 || ';'")?;
    let answers = ids("SELECT DISTINCT answer_id FROM citations \
         WHERE chunk_id BETWEEN ?1 || ':' AND ?1 || ';' OR ref BETWEEN ?1 || ':' AND ?1 || ';'")?;
    with_answers(conn, Records { runs, answers })
}

/// The same with all answers of its runs.
pub(crate) fn with_answers(conn: &Connection, mut records: Records) -> Result<Records> {
    let mut statement = conn.prepare("SELECT answer_id FROM answers WHERE run_id = ?1")?;
    for run in &records.runs {
        let rows = statement.query_map([run], |row| row.get(0))?;
        records.answers.extend(rows.collect::<rusqlite::Result<Vec<String>>>()?);
    }
    Ok(records)
}

/// Removes runs and answers with all their rows; returns how many cached ones went with them.
pub(crate) fn delete_records(conn: &Connection, records: &Records) -> Result<u64> {
    let mut cached = 0;
    for answer in &records.answers {
        cached += conn.prepare_cached("DELETE FROM cache WHERE answer_id = ?1")?.execute([answer])?;
        for table in ["citations", "claim_values", "claims", "answers"] {
            conn.prepare_cached(&format!("DELETE FROM {table} WHERE answer_id = ?1"))?.execute([answer])?;
        }
    }
    for run in &records.runs {
        for table in ["cache", "run_events", "run_hits", "runs"] {
            let removed = conn.prepare_cached(&format!("DELETE FROM {table} WHERE run_id = ?1"))?.execute([run])?;
            cached += if table == "cache" { removed } else { 0 };
        }
    }
    Ok(cached as u64)
}

/// Where a recorded text stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub run_id: &'a str,
    pub answer_id: Option<&'a str>,
}

/// Every column of recorded questions and answers that can hold somebody's words.
const RECORDED: &str = "
    SELECT run_id, NULL, query FROM runs
    UNION ALL SELECT run_id, NULL, settings FROM runs
    UNION ALL SELECT run_id, NULL, detail FROM run_events
    UNION ALL SELECT run_id, NULL, detail FROM run_hits WHERE detail IS NOT NULL
    UNION ALL SELECT run_id, answer_id, text FROM answers
    UNION ALL SELECT a.run_id, answer_id, k.text FROM claims k JOIN answers a USING (answer_id)
    UNION ALL SELECT a.run_id, answer_id, v.written FROM claim_values v JOIN answers a USING (answer_id)
    UNION ALL SELECT a.run_id, answer_id, c.ref FROM citations c JOIN answers a USING (answer_id)
    UNION ALL SELECT a.run_id, answer_id, c.quote FROM citations c JOIN answers a USING (answer_id)
      WHERE c.quote IS NOT NULL
    UNION ALL SELECT a.run_id, answer_id, c.detail FROM citations c JOIN answers a USING (answer_id)
    UNION ALL SELECT a.run_id, answer_id, c.warnings FROM citations c JOIN answers a USING (answer_id)
    UNION ALL SELECT run_id, answer_id, attempts FROM cache WHERE answer_id IS NOT NULL";

/// Calls `each` with every text of recorded questions and answers.
pub(crate) fn for_each_recorded(conn: &Connection, mut each: impl FnMut(Place<'_>, &str)) -> Result<()> {
    let mut statement = conn.prepare(RECORDED)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (run_id, answer_id): (String, Option<String>) = (row.get(0)?, row.get(1)?);
        let place = Place { run_id: &run_id, answer_id: answer_id.as_deref() };
        if let ValueRef::Text(bytes) = row.get_ref(2)? {
            each(place, &String::from_utf8_lossy(bytes));
        }
    }
    Ok(())
}

/// Tables whose texts [`for_each_kept`] does not give: recorded questions and answers, and the index.
const NOT_KEPT: [&str; 9] =
    ["runs", "run_hits", "run_events", "answers", "claims", "claim_values", "citations", "cache", "terms"];

/// Calls `each` with every text of every other table, the schema included.
pub(crate) fn for_each_kept(conn: &Connection, mut each: impl FnMut(&str)) -> Result<()> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' UNION SELECT 'sqlite_schema'";
    let names = conn.prepare(sql)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
    for table in names.iter().filter(|name| !NOT_KEPT.contains(&name.as_str())) {
        let mut statement = conn.prepare(&format!("SELECT * FROM \"{}\"", table.replace('"', "\"\"")))?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for column in 0..columns {
                if let ValueRef::Text(bytes) = row.get_ref(column)? {
                    each(&String::from_utf8_lossy(bytes));
                }
            }
        }
    }
    Ok(())
}

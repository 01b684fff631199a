//! `runs`, `run_hits` and `run_events`: what was shown to whoever answered a question, and what was not.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Map, Value};

use super::{access, settings};
use crate::error::{Error, Result};
use crate::model::{MANIFEST_FORMAT, Manifest, Principal, Refused, RunEvent, Shown, Who};

/// Who asked for a run, and what they could read then.
pub(crate) struct RunReader<'a> {
    /// As JSON.
    pub principal: &'a str,
    /// The digest of who it is, by which a run is found as somebody's own.
    pub principal_digest: &'a str,
    pub scope_digest: &'a str,
    pub as_of: &'a str,
    /// The stored number of the generation that the run's own number means.
    pub generation: u64,
}

/// Adds a run with its chunks, in order of rank, and its events. The caller has checked it.
pub(crate) fn insert(conn: &Connection, run: &Manifest, reader: &RunReader<'_>) -> Result<()> {
    let sql = "INSERT INTO runs (run_id, created_at, query, generation, generation_digest, policy_digest, acl_epoch, \
               settings, nonce, chars, tokens, truncated, unverified_source, prompt_hash, principal, principal_digest, \
               scope_digest, as_of, seen_generation, seen_epoch) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)";
    // The operator's number is the stored one; what others are told is a count of their own.
    let is_operators = reader.principal_digest == Principal::operator().identity().to_string();
    let epoch = if is_operators { run.acl_epoch } else { access::epoch(conn)? };
    conn.prepare_cached(sql)?.execute(params![
        run.run_id,
        run.created_at,
        run.query,
        reader.generation,
        run.generation_digest,
        run.policy_digest,
        epoch,
        Value::Object(run.settings.clone()).to_string(),
        run.nonce,
        run.chars,
        run.tokens,
        run.truncated,
        run.unverified_source,
        run.prompt_hash,
        reader.principal,
        reader.principal_digest,
        reader.scope_digest,
        reader.as_of,
        run.generation,
        run.acl_epoch,
    ])?;
    insert_hits(conn, run)?;
    insert_events(conn, &run.run_id, &run.events)
}

fn insert_hits(conn: &Connection, run: &Manifest) -> Result<()> {
    let sql = "INSERT INTO run_hits (run_id, hit_no, chunk_id, source_id, path, start_line, end_line, start_byte, \
               end_byte, content_hash, document_hash, score, label, code, detail) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
    let mut statement = conn.prepare_cached(sql)?;
    let (mut shown, mut refused) = (run.shown.iter().peekable(), run.refused.iter().peekable());
    for hit_no in 0_i64.. {
        // Both lists are in order of rank: the better score is next, and what has no score comes last.
        let score = refused.peek().and_then(|refused| refused.score).unwrap_or(f64::NEG_INFINITY);
        let next = shown.next_if(|hit| refused.peek().is_none() || hit.score >= score);
        let (place, label, code, detail) = if let Some(hit) = next {
            (hit.place(), Some(&hit.label), None, None)
        } else if let Some(hit) = refused.next() {
            (hit.place(), None, Some(&hit.code), Some(&hit.detail))
        } else {
            break;
        };
        statement.execute(params![
            run.run_id,
            hit_no,
            place.chunk_id,
            place.source_id,
            place.path,
            place.lines.0,
            place.lines.1,
            place.bytes.0,
            place.bytes.1,
            place.content_hash,
            place.document_hash,
            place.score,
            label,
            code,
            detail,
        ])?;
    }
    Ok(())
}

/// Adds events behind those that the run has.
pub(crate) fn insert_events(conn: &Connection, run_id: &str, events: &[RunEvent]) -> Result<()> {
    let sql = "SELECT coalesce(max(event_no) + 1, 0) FROM run_events WHERE run_id = ?1";
    let next: i64 = conn.prepare_cached(sql)?.query_row([run_id], |row| row.get(0))?;
    let sql = "INSERT INTO run_events (run_id, event_no, name, detail) VALUES (?1, ?2, ?3, ?4)";
    let mut statement = conn.prepare_cached(sql)?;
    for (event_no, event) in (next..).zip(events) {
        let detail = Value::Object(event.detail.clone()).to_string();
        statement.execute(params![run_id, event_no, event.name, detail])?;
    }
    Ok(())
}

/// Whose runs a principal reads.
#[derive(Clone, Debug)]
pub(crate) enum Of {
    Everybody,
    /// Those of the one with this digest: nothing of others is looked at.
    One(String),
    /// Those of anyone, whom this digest stands for. They are many and don't know each other: a run is theirs who have its
    /// whole id, and none is listed.
    Anyone(String),
}

impl Of {
    /// The operator reads all, others their own.
    pub(crate) fn new(principal: &Principal) -> Self {
        let digest = || principal.identity().to_string();
        match principal.who() {
            Who::Operator => Self::Everybody,
            Who::Public => Self::Anyone(digest()),
            Who::Known { .. } => Self::One(digest()),
        }
    }
}

/// The digits of a whole id.
const ID_DIGITS: usize = 32;

/// The ids of up to two runs that begin with these hex digits. A run of anyone is found by all of them.
pub(crate) fn ids(conn: &Connection, of: &Of, prefix: &str) -> Result<Vec<String>> {
    if matches!(of, Of::Anyone(_)) && prefix.len() < ID_DIGITS {
        return Ok(Vec::new());
    }
    if let Of::One(digest) | Of::Anyone(digest) = of {
        let sql = "SELECT run_id FROM runs INDEXED BY runs_by_principal \
                   WHERE principal_digest = ?1 AND run_id BETWEEN ?2 AND ?2 || 'g' ORDER BY run_id LIMIT 2";
        let mut statement = conn.prepare_cached(sql)?;
        let rows = statement.query_map([digest.as_str(), prefix], |row| row.get(0))?;
        return Ok(rows.collect::<rusqlite::Result<_>>()?);
    }
    // No hex digit sorts behind `f`.
    let sql = "SELECT run_id FROM runs WHERE run_id BETWEEN ?1 AND ?1 || 'g' ORDER BY run_id LIMIT 2";
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map([prefix], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The ids of the chunks that a run showed or refused.
pub(crate) fn chunk_ids(conn: &Connection, run_id: &str) -> Result<Vec<String>> {
    let mut statement = conn.prepare_cached("SELECT chunk_id FROM run_hits WHERE run_id = ?1 ORDER BY hit_no")?;
    let rows = statement.query_map([run_id], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The stored number of the generation that a run was made from.
pub(crate) fn generation(conn: &Connection, run_id: &str) -> Result<u64> {
    let mut statement = conn.prepare_cached("SELECT generation FROM runs WHERE run_id = ?1")?;
    let found = statement.query_row([run_id], |row| row.get(0)).optional()?;
    found.ok_or_else(|| Error::NotFound { what: format!("run {run_id}") })
}

/// Who asked for a run, as JSON.
pub(crate) fn principal(conn: &Connection, run_id: &str) -> Result<Option<String>> {
    let mut statement = conn.prepare_cached("SELECT principal FROM runs WHERE run_id = ?1")?;
    Ok(statement.query_row([run_id], |row| row.get(0)).optional()?)
}

/// Who asked for a run, as JSON, and the digest of what they could read then.
pub(crate) fn reader(conn: &Connection, run_id: &str) -> Result<Option<(String, String)>> {
    let mut statement = conn.prepare_cached("SELECT principal, scope_digest FROM runs WHERE run_id = ?1")?;
    Ok(statement.query_row([run_id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

/// The id of the run that was recorded last; none of anyone's is.
pub(crate) fn last(conn: &Connection, of: &Of) -> Result<Option<String>> {
    if matches!(of, Of::Anyone(_)) {
        return Ok(None);
    }
    if let Of::One(digest) = of {
        let sql = "SELECT run_id FROM runs INDEXED BY runs_by_age WHERE principal_digest = ?1 \
                   ORDER BY rowid DESC LIMIT 1";
        return Ok(conn.prepare_cached(sql)?.query_row([digest], |row| row.get(0)).optional()?);
    }
    let sql = "SELECT run_id FROM runs ORDER BY rowid DESC LIMIT 1";
    Ok(conn.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?)
}

/// The run with this id, as its rows have it; nothing in them was checked.
pub(crate) fn get(conn: &Connection, run_id: &str) -> Result<Option<Manifest>> {
    let sql = "SELECT run_id, created_at, query, coalesce(seen_generation, generation), generation_digest, \
               policy_digest, coalesce(seen_epoch, acl_epoch), settings, nonce, chars, tokens, truncated, unverified_source, prompt_hash FROM runs WHERE run_id = ?1";
    let store_id = settings::store_id(conn)?;
    let run = conn.prepare_cached(sql)?.query_row([run_id], |row| read(row, store_id)).optional();
    let Some((mut run, settings)) = run.map_err(|error| damaged(run_id, error))? else { return Ok(None) };
    run.settings = object(run_id, &settings)?;
    read_hits(conn, &mut run)?;
    run.events = events(conn, run_id)?;
    Ok(Some(run))
}

/// The run but for its settings, which are JSON still, its chunks and its events.
fn read(row: &Row<'_>, store_id: String) -> rusqlite::Result<(Manifest, String)> {
    let run = Manifest {
        format: MANIFEST_FORMAT,
        run_id: row.get(0)?,
        created_at: row.get(1)?,
        store_id,
        query: row.get(2)?,
        generation: row.get(3)?,
        generation_digest: row.get(4)?,
        policy_digest: row.get(5)?,
        acl_epoch: row.get(6)?,
        settings: Map::new(),
        nonce: row.get(8)?,
        chars: row.get(9)?,
        tokens: row.get(10)?,
        truncated: row.get(11)?,
        unverified_source: row.get(12)?,
        prompt_hash: row.get(13)?,
        shown: Vec::new(),
        refused: Vec::new(),
        events: Vec::new(),
    };
    Ok((run, row.get(7)?))
}

fn read_hits(conn: &Connection, run: &mut Manifest) -> Result<()> {
    let sql = "SELECT chunk_id, source_id, path, start_line, end_line, start_byte, end_byte, content_hash, \
               document_hash, score, label, code, detail FROM run_hits WHERE run_id = ?1 ORDER BY hit_no";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([&run.run_id])?;
    while let Some(row) = rows.next()? {
        let hit = read_hit(row).map_err(|error| damaged(&run.run_id, error))?;
        match hit {
            Hit::Shown(shown) => run.shown.push(shown),
            Hit::Refused(refused) => run.refused.push(refused),
        }
    }
    Ok(())
}

enum Hit {
    Shown(Shown),
    Refused(Refused),
}

fn read_hit(row: &Row<'_>) -> rusqlite::Result<Hit> {
    let label: Option<String> = row.get(10)?;
    let refused = Refused {
        chunk_id: row.get(0)?,
        source_id: row.get(1)?,
        path: row.get(2)?,
        start_line: row.get(3)?,
        end_line: row.get(4)?,
        start_byte: row.get(5)?,
        end_byte: row.get(6)?,
        content_hash: row.get(7)?,
        document_hash: row.get(8)?,
        score: row.get(9)?,
        code: row.get::<_, Option<String>>(11)?.unwrap_or_default(),
        detail: row.get::<_, Option<String>>(12)?.unwrap_or_default(),
    };
    let Some(label) = label else { return Ok(Hit::Refused(refused)) };
    Ok(Hit::Shown(Shown {
        label,
        chunk_id: refused.chunk_id,
        source_id: refused.source_id,
        path: refused.path,
        start_line: refused.start_line,
        end_line: refused.end_line,
        start_byte: refused.start_byte,
        end_byte: refused.end_byte,
        content_hash: refused.content_hash,
        document_hash: refused.document_hash,
        score: row.get(9)?,
    }))
}

fn events(conn: &Connection, run_id: &str) -> Result<Vec<RunEvent>> {
    let sql = "SELECT name, detail FROM run_events WHERE run_id = ?1 ORDER BY event_no";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([run_id])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, String>(1)?));
        let (name, detail) = read(row).map_err(|error| damaged(run_id, error))?;
        events.push(RunEvent { name, detail: object(run_id, &detail)? });
    }
    Ok(events)
}

fn object(run_id: &str, json: &str) -> Result<Map<String, Value>> {
    serde_json::from_str(json)
        .map_err(|_| Error::Damaged { detail: format!("run {run_id}: {json:?} is not a JSON object") })
}

/// A value that can't be read is damage; all else is what SQLite says it is.
fn damaged(run_id: &str, error: rusqlite::Error) -> Error {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    match error {
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..) => {
            Error::Damaged { detail: format!("run {run_id} can't be read: {error}") }
        }
        error => error.into(),
    }
}

//! `cache`: which run, and which answer, may be given again. A row says where to look; what it leads to is checked by
//! whoever asked.

use rusqlite::{Connection, OptionalExtension, params};

use crate::error::Result;

/// What is kept under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CacheRow {
    pub run_id: String,
    pub answer: Option<CachedAnswer>,
    /// How many events the run had.
    pub events: u64,
    /// The moment from which on it is of no use.
    pub valid_until: Option<String>,
    pub created_at: String,
    /// The digest of all of it.
    pub digest: String,
}

/// What is kept of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CachedAnswer {
    pub answer_id: String,
    /// How it was come by, as JSON.
    pub attempts: String,
}

/// The row with this key; nothing in it was checked.
pub(crate) fn get(conn: &Connection, cache_key: &str) -> Result<Option<CacheRow>> {
    let sql = "SELECT run_id, answer_id, attempts, events, valid_until, created_at, digest FROM cache \
               WHERE cache_key = ?1";
    let read = |row: &rusqlite::Row<'_>| {
        let answer: (Option<String>, Option<String>) = (row.get(1)?, row.get(2)?);
        Ok(CacheRow {
            run_id: row.get(0)?,
            answer: answer.0.zip(answer.1).map(|(answer_id, attempts)| CachedAnswer { answer_id, attempts }),
            events: row.get(3)?,
            valid_until: row.get(4)?,
            created_at: row.get(5)?,
            digest: row.get(6)?,
        })
    };
    Ok(conn.prepare_cached(sql)?.query_row([cache_key], read).optional()?)
}

/// Keeps a row under a key, in the place of what is there.
pub(crate) fn put(conn: &Connection, cache_key: &str, row: &CacheRow) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO cache (cache_key, kind, run_id, answer_id, attempts, events, valid_until, \
               created_at, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    conn.prepare_cached(sql)?.execute(params![
        cache_key,
        if row.answer.is_some() { "answer" } else { "evidence" },
        row.run_id,
        row.answer.as_ref().map(|answer| &answer.answer_id),
        row.answer.as_ref().map(|answer| &answer.attempts),
        row.events,
        row.valid_until,
        row.created_at,
        row.digest,
    ])?;
    Ok(())
}

/// Removes the row with this key, if it still leads to this run.
pub(crate) fn delete(conn: &Connection, cache_key: &str, run_id: &str) -> Result<()> {
    conn.prepare_cached("DELETE FROM cache WHERE cache_key = ?1 AND run_id = ?2")?.execute([cache_key, run_id])?;
    Ok(())
}

/// Removes the oldest rows, until no more than `most` are left.
pub(crate) fn trim(conn: &Connection, most: u64) -> Result<()> {
    let rows: u64 = conn.prepare_cached("SELECT count(*) FROM cache")?.query_row([], |row| row.get(0))?;
    let Some(surplus) = rows.checked_sub(most).filter(|&surplus| surplus > 0) else { return Ok(()) };
    let sql = "DELETE FROM cache WHERE cache_key IN (SELECT cache_key FROM cache ORDER BY created_at LIMIT ?1)";
    conn.prepare_cached(sql)?.execute([surplus])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::migrate;

    #[test]
    fn the_oldest_rows_go_first() {
        let mut conn = Connection::open_in_memory().unwrap();
        migrate::apply(&mut conn).unwrap();
        conn.pragma_update(None, "foreign_keys", false).unwrap();
        let row = |second: usize| CacheRow {
            run_id: "r".into(),
            answer: None,
            events: 0,
            valid_until: None,
            created_at: format!("2026-11-30T00:00:0{second}.000Z"),
            digest: "0".repeat(64),
        };
        for second in [3, 1, 2, 4] {
            put(&conn, &second.to_string().repeat(64), &row(second)).unwrap();
        }
        trim(&conn, 4).unwrap();
        assert_eq!(get(&conn, &"1".repeat(64)).unwrap(), Some(row(1)));
        trim(&conn, 2).unwrap();
        let left = [1, 2, 3, 4].map(|second| get(&conn, &second.to_string().repeat(64)).unwrap().is_some());
        assert_eq!(left, [false, false, true, true]);
        delete(&conn, &"4".repeat(64), "another run").unwrap();
        assert!(get(&conn, &"4".repeat(64)).unwrap().is_some());
        delete(&conn, &"4".repeat(64), "r").unwrap();
        assert_eq!(get(&conn, &"4".repeat(64)).unwrap(), None);
    }
}

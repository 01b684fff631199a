//! What SQLite itself can say about a file, and whether its schema is the one that migrations make.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::migrate;
use crate::error::Result;

/// How many pages the file has, and what `PRAGMA integrity_check` and `PRAGMA foreign_key_check` find.
pub(crate) fn sqlite(conn: &Connection) -> Result<(u64, Vec<String>)> {
    let mut problems: Vec<String> = Vec::new();
    let mut statement = conn.prepare("PRAGMA integrity_check(20)")?;
    let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
    for row in rows {
        let message = row?;
        if message != "ok" {
            problems.push(message);
        }
    }
    let mut statement = conn.prepare("PRAGMA foreign_key_check")?;
    let rows = statement.query_map([], |row| {
        let (table, rowid, parent): (String, Option<i64>, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(format!("{table} row {} refers to a row of {parent} that is not there", rowid.unwrap_or_default()))
    })?;
    for row in rows {
        problems.push(row?);
    }
    let pages = conn.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    Ok((pages, problems))
}

/// How many tables, indexes and views the schema should have, and where the file's differ.
pub(crate) fn schema(conn: &Connection) -> Result<(u64, Vec<String>)> {
    let mut fresh = Connection::open_in_memory()?;
    migrate::apply(&mut fresh)?;
    let (wanted, found) = (objects(&fresh)?, objects(conn)?);
    let mut differences = Vec::new();
    for (name, sql) in &wanted {
        match found.get(name) {
            None => differences.push(format!("{name} is missing")),
            Some(other) if other != sql => differences.push(format!("{name} is not as migrations make it")),
            Some(_) => {}
        }
    }
    differences
        .extend(found.keys().filter(|name| !wanted.contains_key(*name)).map(|name| format!("{name} is foreign")));
    Ok((wanted.len() as u64, differences))
}

/// Kind and name of everything in a schema, with its SQL. `sqlite_stat` tables come from ANALYZE.
fn objects(conn: &Connection) -> Result<BTreeMap<String, String>> {
    let sql = "SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_stat%' ESCAPE '\\'";
    let mut statement = conn.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

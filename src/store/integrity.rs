//! What SQLite itself can say about a file, and whether its schema is the one that migrations make.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::classes;
use crate::error::Result;

/// The tables that are made from chunks and documents alone: see [`super::postings`].
const DERIVED: [&str; 4] = ["segments", "terms", "posting_blocks", "chunk_lengths"];

/// The tables that are made from the source files: of documents that are held to their hashes.
const OF_DOCUMENTS: [&str; 3] = ["documents", "chunk_rows", "unsafe_findings"];

/// Those of vectors.
const OF_VECTORS: [&str; 3] = ["embedding_profiles", "embedding_sets", "embeddings"];

/// Something that SQLite found.
pub(crate) struct Problem {
    /// In SQLite's words.
    pub message: String,
    /// What it is in.
    pub part: Part,
}

/// A part of the file, by what it can be made again from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// An index, or a derived table: from other rows.
    Derived,
    /// The classes that somebody may read: from documents and sources.
    Classes,
    /// The documents: from the source files.
    Documents,
    /// The vectors: by a model.
    Vectors,
    /// Anything else.
    Other,
}

/// How many pages the file has, and what `PRAGMA integrity_check` and `PRAGMA foreign_key_check` find.
pub(crate) fn sqlite(conn: &Connection) -> Result<(u64, Vec<Problem>)> {
    let mut problems: Vec<Problem> = Vec::new();
    let mut statement = conn.prepare("PRAGMA integrity_check(20)")?;
    let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
    for row in rows {
        let message = row?;
        if message != "ok" {
            // `row 3 missing from index x`, `CHECK constraint failed in x`, `NULL value in x.y`: unlike those of pages,
            // these messages end with the name.
            let place = message.rsplit(' ').next().and_then(|name| name.split('.').next()).unwrap_or_default();
            let part = if message.contains(" index ") || DERIVED.contains(&place) {
                Part::Derived
            } else if OF_DOCUMENTS.contains(&place) {
                Part::Documents
            } else if OF_VECTORS.contains(&place) {
                Part::Vectors
            } else {
                Part::Other
            };
            problems.push(Problem { message, part });
        }
    }
    let is_class_lost = !classes::without_row(conn)?.is_empty();
    let mut statement = conn.prepare("PRAGMA foreign_key_check")?;
    let rows = statement.query_map([], |row| {
        let (table, rowid, parent): (String, Option<i64>, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let rowid = rowid.unwrap_or_default();
        let message = format!("{table} row {rowid} refers to a row of {parent} that is not there");
        let part = match (&*table, &*parent) {
            (table, _) if DERIVED.contains(&table) => Part::Derived,
            ("documents", "acl_classes") if !is_class_lost => Part::Documents,
            (table, "acl_classes") if OF_VECTORS.contains(&table) && !is_class_lost => Part::Vectors,
            (_, "acl_classes") => Part::Classes,
            (table, _) if OF_VECTORS.contains(&table) => Part::Vectors,
            _ => Part::Other,
        };
        Ok(Problem { message, part })
    })?;
    for row in rows {
        problems.push(row?);
    }
    let pages = conn.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    Ok((pages, problems))
}

/// Makes every index that migrations make again from its table's rows. Those that others added are left alone: one over an
/// expression may fail.
pub(crate) fn reindex(conn: &Connection) -> Result<()> {
    for name in known().keys().filter_map(|object| object.strip_prefix("index ")) {
        conn.execute_batch(&format!("REINDEX main.\"{name}\""))?;
    }
    Ok(())
}

/// All that migrations make, as SQLite stores it: `%% `, kind and name on a line, then the SQL. A test holds that it is.
const OBJECTS: &str = include_str!("objects.txt");

/// How the schema of a file differs from the one that migrations make.
pub(crate) struct Schema {
    /// How many tables, indexes and views it should have.
    pub count: u64,
    /// What of these is missing or another, in words: nothing can be read then as it is meant.
    pub faults: Vec<String>,
    /// What else there is, in words.
    pub foreign: Vec<String>,
}

/// Compares the schema of a file, object by object.
pub(crate) fn schema(conn: &Connection) -> Result<Schema> {
    let (wanted, found) = (known(), objects(conn)?);
    let mut faults = Vec::new();
    for (name, sql) in &wanted {
        match found.get(*name) {
            None => faults.push(format!("{name} is missing")),
            Some(other) if other != sql => faults.push(format!("{name} is not as migrations make it")),
            Some(_) => {}
        }
    }
    let foreign = found.keys().filter(|name| !wanted.contains_key(name.as_str()));
    let foreign = foreign.map(|name| format!("{name} is foreign"));
    Ok(Schema { count: wanted.len() as u64, faults, foreign: foreign.collect() })
}

/// What is wrong with the schema, so that nothing can be read as it is meant: a view in place of a table, which may never
/// end, a table with other columns. What others added is left alone: nothing uses it, and triggers never run.
pub(crate) fn fault(conn: &Connection) -> Result<Option<String>> {
    Ok(schema(conn)?.faults.into_iter().next())
}

/// Kind and name of all that migrations make, with its SQL.
fn known() -> BTreeMap<&'static str, &'static str> {
    let objects = OBJECTS.split("%% ").skip(1).filter_map(|object| object.split_once('\n'));
    objects.map(|(name, sql)| (name, sql.strip_suffix('\n').unwrap_or(sql))).collect()
}

/// Kind and name of everything in a schema, with its SQL. `sqlite_stat` tables come from ANALYZE.
fn objects(conn: &Connection) -> Result<BTreeMap<String, String>> {
    let mut statement = conn.prepare("SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut objects: BTreeMap<String, String> = rows.collect::<rusqlite::Result<_>>()?;
    // Names of these are SQLite's own. Left out here, and not in SQL, because this runs at each open.
    objects.retain(|name, _| !name.contains(" sqlite_stat"));
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use super::super::migrate;
    use super::*;

    #[test]
    fn the_known_objects_are_those_that_migrations_make() {
        let mut fresh = Connection::open_in_memory().unwrap();
        migrate::apply(&mut fresh).unwrap();
        let made = objects(&fresh).unwrap();
        let made: BTreeMap<&str, &str> = made.iter().map(|(name, sql)| (name.as_str(), sql.as_str())).collect();
        assert_eq!(made, known());
        assert_eq!(fault(&fresh).unwrap(), None);
    }
}

//! The only way a schema is made: the files in `migrations/`, each applied once, in order, all in one transaction.

use rusqlite::{Connection, TransactionBehavior};

use super::connect::APPLICATION_ID;
use crate::error::Result;

/// Every migration, in order. The schema version (`user_version`) is how many of them a store has had.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/0001_store.sql"),
    include_str!("../../migrations/0002_evidence.sql"),
    include_str!("../../migrations/0003_access.sql"),
    include_str!("../../migrations/0004_compact.sql"),
    include_str!("../../migrations/0005_vectors.sql"),
];

/// The schema version that this build works on.
pub(crate) const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// Brings a database from whatever version it has to [`SCHEMA_VERSION`]; returns the version found.
pub(super) fn apply(conn: &mut Connection) -> Result<i64> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let done = usize::try_from(found).unwrap_or(0).min(MIGRATIONS.len());
    for migration in &MIGRATIONS[done..] {
        tx.execute_batch(migration)?;
    }
    if done < MIGRATIONS.len() {
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
        tx.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    }
    tx.commit()?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, kind and normalised SQL of everything in a schema.
    fn structure(conn: &Connection) -> Vec<(String, String, String)> {
        let mut statement =
            conn.prepare("SELECT type, name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?))).unwrap();
        rows.map(|row| row.map(|(kind, name, sql)| (kind, name, normalised(&sql))).unwrap()).collect()
    }

    /// SQL without comments and with single spaces.
    fn normalised(sql: &str) -> String {
        let code = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
        let words: Vec<&str> = code.flat_map(str::split_whitespace).collect();
        words.join(" ").replace("( ", "(").replace(" )", ")").replace(" ,", ",")
    }

    #[test]
    fn the_readable_schema_is_the_one_that_migrations_make() {
        let mut migrated = Connection::open_in_memory().unwrap();
        apply(&mut migrated).unwrap();
        let readable = Connection::open_in_memory().unwrap();
        readable.execute_batch(include_str!("../../schema.sql")).unwrap();
        let (made, shown) = (structure(&migrated), structure(&readable));
        for (made, shown) in made.iter().zip(&shown) {
            assert_eq!(made, shown);
        }
        assert_eq!(made.len(), shown.len());
    }

    #[test]
    fn applying_twice_changes_nothing() {
        let mut conn = Connection::open_in_memory().unwrap();
        assert_eq!(apply(&mut conn).unwrap(), 0);
        let before = structure(&conn);
        assert_eq!(apply(&mut conn).unwrap(), SCHEMA_VERSION);
        assert_eq!(structure(&conn), before);
    }

    #[test]
    fn every_table_is_strict() {
        let mut conn = Connection::open_in_memory().unwrap();
        apply(&mut conn).unwrap();
        let sql = "SELECT name FROM pragma_table_list WHERE type = 'table' AND NOT strict AND name NOT LIKE 'sqlite_%'";
        let lax: Vec<String> = conn
            .prepare(sql)
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(std::result::Result::unwrap)
            .collect();
        assert_eq!(lax, Vec::<String>::new());
    }
}

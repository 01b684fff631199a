//! SQLite as every contender gets it here: write-ahead log, and a commit that is on the disk when it returns.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::Result;

/// Makes a new database at `path`; an older one there is removed.
pub fn create(path: &Path) -> Result<Connection> {
    for file in files(path) {
        if file.exists() {
            std::fs::remove_file(file)?;
        }
    }
    let connection = Connection::open(path)?;
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
    Ok(connection)
}

/// The size of a database with its log, in bytes. The log's index, which is shared memory, is left out.
pub fn bytes(path: &Path) -> Result<u64> {
    let present = files(path).into_iter().take(2).filter(|file| file.exists());
    present.map(|file| Ok(file.metadata()?.len())).sum()
}

/// The bytes that each table and index takes, largest first, as `dbstat` counts them.
pub fn tables(path: &Path) -> Result<Vec<(String, u64)>> {
    let connection = Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let sql = "SELECT name, pgsize FROM dbstat WHERE aggregate = TRUE ORDER BY pgsize DESC, name";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)))?;
    rows.map(|row| row.map_err(Into::into).and_then(|(name, bytes)| Ok((name, bytes.try_into()?)))).collect()
}

/// The database, its log, and the log's index.
fn files(path: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        name.into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_by_file_and_by_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        for _ in 0..2 {
            let connection = create(&path).unwrap();
            connection.execute_batch("CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('x');").unwrap();
        }
        let tables = tables(&path).unwrap();
        assert!(tables.contains(&("t".to_owned(), 4096)), "{tables:?}");
        assert_eq!(bytes(&path).unwrap(), 8192);
    }
}

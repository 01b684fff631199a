//! SQLite FTS5: a plain table with its own copy of the text.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, Transaction};

use crate::chunk::FileChunks;
use crate::peer::Peer;
use crate::{Result, database};

/// The name in the report.
pub const NAME: &str = "fts5";

/// An FTS5 table over heading path and text, with the default tokeniser, searched with OR and `ORDER BY rank`.
///
/// Which rows a file has is kept in memory, so that replacing a file costs no search for them.
pub struct Fts5 {
    path: PathBuf,
    connection: Connection,
    rows: HashMap<String, Range<i64>>,
    next: i64,
}

const FILE: &str = "fts5.db";

impl Fts5 {
    /// Makes an empty one in `folder`.
    pub fn create(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        Ok(Self { connection: open(&path)?, path, rows: HashMap::new(), next: 1 })
    }

    /// Opens the one that is in `folder`, to search it.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let connection = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        Ok(Self { connection, path, rows: HashMap::new(), next: 1 })
    }
}

fn checkpoint(connection: &Connection) -> Result<()> {
    Ok(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
}

fn open(path: &Path) -> Result<Connection> {
    let connection = database::create(path)?;
    connection.execute_batch("CREATE VIRTUAL TABLE chunks USING fts5 (path UNINDEXED, heading, text)")?;
    Ok(connection)
}

/// Inserts the chunks with the numbers from `next` on, and notes which rows each file got.
fn insert(
    transaction: &Transaction,
    files: &[FileChunks],
    next: &mut i64,
    rows: &mut HashMap<String, Range<i64>>,
) -> Result<()> {
    let mut insert = transaction.prepare("INSERT INTO chunks (rowid, path, heading, text) VALUES (?1, ?2, ?3, ?4)")?;
    for file in files {
        let first = *next;
        for chunk in &file.chunks {
            insert.execute((*next, &file.path, &chunk.heading, &chunk.text))?;
            *next += 1;
        }
        rows.insert(file.path.clone(), first..*next);
    }
    Ok(())
}

/// The words of a query, each quoted, joined with OR.
fn any_of(query: &str) -> String {
    let words = query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ")
}

impl Peer for Fts5 {
    fn name(&self) -> &'static str {
        NAME
    }

    fn build(&mut self, files: &[FileChunks]) -> Result<()> {
        self.connection = Connection::open_in_memory()?; // closes the old file before it is removed
        self.connection = open(&self.path)?;
        (self.rows, self.next) = (HashMap::new(), 1);
        let transaction = self.connection.transaction()?;
        insert(&transaction, files, &mut self.next, &mut self.rows)?;
        transaction.commit()?;
        Ok(())
    }

    fn replace(&mut self, files: &[FileChunks]) -> Result<()> {
        let transaction = self.connection.transaction()?;
        {
            let mut delete = transaction.prepare("DELETE FROM chunks WHERE rowid = ?1")?;
            for row in files.iter().filter_map(|file| self.rows.remove(&file.path)).flatten() {
                delete.execute([row])?;
            }
        }
        insert(&transaction, files, &mut self.next, &mut self.rows)?;
        transaction.commit()?;
        Ok(())
    }

    fn search(&mut self, query: &str, k: usize) -> Result<usize> {
        let sql = "SELECT rowid, path, heading, text FROM chunks WHERE chunks MATCH ?1 ORDER BY rank LIMIT ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query((any_of(query), i64::try_from(k)?))?;
        let mut hits = 0;
        while let Some(row) = rows.next()? {
            std::hint::black_box(row.get::<_, String>(3)?);
            hits += 1;
        }
        Ok(hits)
    }

    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn close(&mut self) -> Result<()> {
        // The connection reads with calls and maps nothing of the file.
        checkpoint(&self.connection)
    }

    fn bytes(&self) -> Result<u64> {
        checkpoint(&self.connection)?;
        database::bytes(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Chunk;

    fn file(path: &str, texts: &[&str]) -> FileChunks {
        let chunk = |text: &&str| Chunk { heading: "Guide".into(), text: (*text).into() };
        FileChunks { path: path.into(), chunks: texts.iter().map(chunk).collect() }
    }

    #[test]
    fn it_finds_what_it_was_given_last() {
        let folder = tempfile::tempdir().unwrap();
        let mut fts5 = Fts5::create(folder.path()).unwrap();
        fts5.build(&[file("old.md", &["ash"])]).unwrap();
        fts5.build(&[file("a.md", &["ash elm", "oak"]), file("b.md", &["oak \"yew\""])]).unwrap();
        let hits = |fts5: &mut Fts5, query| fts5.search(query, 10).unwrap();
        assert_eq!(hits(&mut fts5, "oak, ash?"), 3);
        assert_eq!(hits(&mut fts5, "ash"), 1);
        assert_eq!(fts5.search("guide", 2).unwrap(), 2);
        fts5.close().unwrap();
        assert_eq!(Fts5::open(folder.path()).unwrap().search("oak", 10).unwrap(), 2);

        fts5.replace(&[file("a.md", &["fir"])]).unwrap();
        fts5.replace(&[file("a.md", &["fir", "fir"]), file("c.md", &["fir"])]).unwrap();
        assert_eq!(hits(&mut fts5, "ash elm"), 0);
        assert_eq!((hits(&mut fts5, "fir"), hits(&mut fts5, "OR yew")), (3, 1));
        assert!(fts5.bytes().unwrap() > 0);
    }
}

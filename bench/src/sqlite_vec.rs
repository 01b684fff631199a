//! sqlite-vec, compiled into this program: what a user of SQLite has for exact search among vectors.

use std::ffi::{c_char, c_int};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, ffi};

use crate::vectors::{DIMENSIONS, Near};
use crate::{Result, database};

/// One of its ways to find the nearest.
#[derive(Clone, Copy)]
pub struct Way {
    /// Its name in the table.
    pub name: &'static str,
    /// Whether it reads the store's own rows; else a table of its own.
    in_store: bool,
    sql: &'static str,
    /// What its distance is as a cosine, of vectors that have length 1.
    cosine: fn(f64) -> f64,
}

/// Its virtual table and its functions on the store's rows, by cosine and by L2, which orders vectors of length 1 alike and
/// takes fewer multiplications.
pub const WAYS: [Way; 4] = [
    Way {
        name: "vec0, cosine",
        in_store: false,
        sql: "SELECT rowid, distance FROM by_cosine WHERE vector MATCH ?1 AND k = ?2 ORDER BY distance",
        cosine: |distance| 1.0 - distance,
    },
    Way {
        name: "vec0, L2",
        in_store: false,
        sql: "SELECT rowid, distance FROM by_l2 WHERE vector MATCH ?1 AND k = ?2 ORDER BY distance",
        cosine: |distance| 1.0 - distance * distance / 2.0,
    },
    Way {
        name: "vec_distance_cosine on the store",
        in_store: true,
        sql: "SELECT chunk_no, vec_distance_cosine(vector, ?1) AS distance FROM embeddings ORDER BY distance LIMIT ?2",
        cosine: |distance| 1.0 - distance,
    },
    Way {
        name: "vec_distance_l2 on the store",
        in_store: true,
        sql: "SELECT chunk_no, vec_distance_l2(vector, ?1) AS distance FROM embeddings ORDER BY distance LIMIT ?2",
        cosine: |distance| 1.0 - distance * distance / 2.0,
    },
];

/// A store, and a database with the same vectors in tables of sqlite-vec.
pub struct Files {
    store: PathBuf,
    tables: PathBuf,
}

impl Files {
    /// Copies the vectors of `store` into a database that is made at `tables`.
    pub fn build(store: &Path, tables: &Path) -> Result<Self> {
        let from = Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut into = database::create(tables)?;
        load(&into)?;
        into.execute_batch(&format!(
            "CREATE VIRTUAL TABLE by_cosine USING vec0 (vector float[{DIMENSIONS}] distance_metric=cosine);
             CREATE VIRTUAL TABLE by_l2 USING vec0 (vector float[{DIMENSIONS}])"
        ))?;
        let transaction = into.transaction()?;
        for table in ["by_cosine", "by_l2"] {
            let mut read = from.prepare("SELECT chunk_no, vector FROM embeddings ORDER BY chunk_no")?;
            let mut rows = read.query([])?;
            let mut insert = transaction.prepare(&format!("INSERT INTO {table} (rowid, vector) VALUES (?1, ?2)"))?;
            while let Some(row) = rows.next()? {
                insert.execute((row.get::<_, i64>(0)?, row.get_ref(1)?.as_blob()?))?;
            }
        }
        transaction.commit()?;
        into.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(Self { store: store.to_owned(), tables: tables.to_owned() })
    }

    /// Opens what a way needs.
    pub fn open(&self, way: Way) -> Result<Searcher> {
        let path = if way.in_store { &self.store } else { &self.tables };
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        // ragdb keeps its vectors in memory, so this may keep its pages, and needs no calls to read them.
        connection.execute_batch("PRAGMA cache_size = -1048576; PRAGMA mmap_size = 2147418112")?;
        load(&connection)?;
        Ok(Searcher { way, connection })
    }
}

/// A way with its connection, which keeps what it reads.
pub struct Searcher {
    way: Way,
    connection: Connection,
}

impl Searcher {
    /// The `k` nearest to a question, best first.
    pub fn search(&self, question: &[f32], k: usize) -> Result<Vec<Near>> {
        let bytes: Vec<u8> = question.iter().flat_map(|number| number.to_le_bytes()).collect();
        let mut statement = self.connection.prepare_cached(self.way.sql)?;
        let near = |row: &rusqlite::Row<'_>| Ok(Near { chunk_no: row.get(0)?, cosine: (self.way.cosine)(row.get(1)?) });
        let rows = statement.query_map((bytes, i64::try_from(k)?), near)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Its version, and the instructions of processors that it was compiled for.
    pub fn build(&self) -> Result<String> {
        let sql = "SELECT vec_version() || ', ' || trim(substr(vec_debug(), instr(vec_debug(), 'Build flags')))";
        Ok(self.connection.query_row(sql, [], |row| row.get(0))?)
    }
}

/// Gives a connection the functions and the virtual table; those of ragdb don't get them.
fn load(connection: &Connection) -> Result<()> {
    type Init = unsafe extern "C" fn(*mut ffi::sqlite3, *mut *mut c_char, *const ffi::sqlite3_api_routines) -> c_int;
    // SAFETY: the crate declares this C function without its parameters; in sqlite-vec.h it has these, as every entry
    // point of an extension.
    let init = unsafe { std::mem::transmute::<unsafe extern "C" fn(), Init>(sqlite_vec::sqlite3_vec_init) };
    let mut message = std::ptr::null_mut();
    // SAFETY: the connection is open, and used by this thread alone; there is a place for a message. Compiled in, the function
    // does not look at the table of SQLite's routines.
    let code = unsafe { init(connection.handle(), &raw mut message, std::ptr::null()) };
    // SAFETY: the message is null, or a string that SQLite allocated for the caller, and nobody else has it.
    unsafe { ffi::sqlite3_free(message.cast()) };
    if code == ffi::SQLITE_OK { Ok(()) } else { Err(format!("sqlite-vec gave the code {code}").into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{self, Numbers, agree, direction};

    #[test]
    fn each_way_finds_what_ragdb_finds() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("ragdb.db");
        vectors::build(&store, &folder.path().join("docs"), 1_500).unwrap();
        let (ours, numbers) = (vectors::Searcher::open(&store).unwrap(), Numbers::read(&store).unwrap());
        let files = Files::build(&store, &folder.path().join("vec.db")).unwrap();
        for question in ["one", "two", "three"] {
            let ours = numbers.of(&ours.search(question, 10).unwrap()).unwrap();
            assert_eq!(ours.len(), 10);
            for way in WAYS {
                let theirs = files.open(way).unwrap().search(&direction(question), 10).unwrap();
                assert!(agree(&ours, &theirs), "{}: {ours:?} {theirs:?}", way.name);
            }
        }
    }
}

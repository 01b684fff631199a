//! Opening the SQLite file: the one place that decides how every connection is configured.

use std::cell::Cell;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::explain::opening_failed;
use super::log::{self, has_log};
use crate::error::{Error, Result};
use crate::sabotage::Sabotage;

/// Marks a SQLite file as a ragdb store: the bytes `ragd`.
pub(super) const APPLICATION_ID: i64 = 0x7261_6764;

/// How long a writer waits for another one.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// How often a writer that waits looks whether it is its turn. SQLite queues nobody, and its own handler looks every 100
/// ms: one that writes again and again would have begun its next transaction by then, every time.
const BETWEEN_TRIES: Duration = Duration::from_millis(1);

/// How often a file that looks cut is looked at again, and after how long each time.
const LOOKS: usize = 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
const CACHE_KIB: i64 = 16 * 1024;
/// Of the connection that writes. A page that leaves the cache and is changed again makes SQLite read the whole log again
/// at the commit: those that a large sync comes back to, by chance, are to stay.
const WRITER_CACHE_KIB: i64 = 128 * 1024;
/// What it keeps under [`Sabotage::SmallCache`]: far less than a sync of a few documents changes.
const FEW_PAGES: i64 = 10;

/// What a connection may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// Opens the store at `path` (absolute) and configures the connection. The caller has checked with [`probe`]
/// that the file is a store.
pub(super) fn open(path: &Path, access: Access) -> Result<Connection> {
    let mode = match access {
        Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    let conn = Connection::open_with_flags(path, mode | common_flags()).map_err(|error| opening_failed(path, error))?;
    configure(&conn, access).map_err(|error| opening_failed(path, error))?;
    Ok(conn)
}

/// How readers open a store: under which name, and with which flags.
#[derive(Clone, Debug)]
pub(super) struct Name {
    name: PathBuf,
    flags: OpenFlags,
}

impl Name {
    /// A connection under this name.
    pub(super) fn open(&self) -> rusqlite::Result<Connection> {
        let conn = Connection::open_with_flags(&self.name, self.flags)?;
        configure(&conn, Access::Read)?;
        Ok(conn)
    }

    /// The same, for as many more as are needed.
    pub(super) fn manager(self) -> SqliteConnectionManager {
        let configured = |conn: &mut Connection| configure(conn, Access::Read);
        SqliteConnectionManager::file(self.name).with_flags(self.flags).with_init(configured)
    }
}

/// How readers open the store at `path`, and a first connection that can read it. Where this process may not write beside
/// the file, which SQLite must do to read one that has a write-ahead log, and the log is empty, the file is read as
/// one that does not change: a shipped store in a folder of somebody else's.
pub(super) fn readable(path: &Path, access: Access) -> Result<(Name, Connection)> {
    let read = |name: &Name| -> rusqlite::Result<Connection> {
        let conn = name.open()?;
        conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(conn)
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | common_flags();
    let name = Name { name: path.to_owned(), flags };
    let refused = match read(&name) {
        Ok(conn) => return Ok((name, conn)),
        Err(error) => error,
    };
    let unwritable = matches!(
        refused.sqlite_error_code(),
        Some(rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::ReadOnly | rusqlite::ErrorCode::PermissionDenied)
    );
    let immutable = Name { name: immutable_uri(path).into(), flags: flags | OpenFlags::SQLITE_OPEN_URI };
    if access == Access::Read
        && unwritable
        && !has_log(path)
        && let Ok(conn) = read(&immutable)
    {
        return Ok((immutable, conn));
    }
    Err(opening_failed(path, refused))
}

/// As [`readable`], for a file that nobody writes meanwhile: nothing is left beside it. One with a log is read as any other.
pub(super) fn unchanging(path: &Path) -> Result<(Name, Connection)> {
    if has_log(path) {
        return readable(path, Access::Read);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | common_flags();
    let name = Name { name: immutable_uri(path).into(), flags };
    let conn = name.open().map_err(|error| opening_failed(path, error))?;
    Ok((name, conn))
}

/// Opens the store at `path` for one `VACUUM INTO`, which attaches the copy and begins a writing transaction on it.
pub(super) fn open_to_copy(path: &Path) -> Result<Connection> {
    let (_, conn) = readable(path, Access::Read)?;
    conn.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 1)?;
    conn.pragma_update(None, "query_only", false)?;
    Ok(conn)
}

/// Makes and configures a database in a file that is empty so far.
pub(super) fn open_new(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | common_flags();
    let conn = Connection::open_with_flags(path, flags).map_err(|error| opening_failed(path, error))?;
    configure(&conn, Access::Write)?;
    Ok(conn)
}

fn common_flags() -> OpenFlags {
    OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW | OpenFlags::SQLITE_OPEN_EXRESCODE
}

/// The settings of every connection. None of them changes the file.
pub(super) fn configure(conn: &Connection, access: Access) -> rusqlite::Result<()> {
    wait_for_others(conn)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    conn.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    conn.set_prepared_statement_cache_capacity(64);
    rusqlite::vtab::array::load_module(conn)?;
    conn.pragma_update(None, "cell_size_check", true)?;
    conn.pragma_update(None, "mmap_size", 0)?;
    match access {
        Access::Read => {
            conn.pragma_update(None, "cache_size", -CACHE_KIB)?;
            conn.pragma_update(None, "query_only", true)
        }
        Access::Write => {
            let cache = if Sabotage::SmallCache.is_on() { FEW_PAGES } else { -WRITER_CACHE_KIB };
            conn.pragma_update(None, "cache_size", cache)?;
            conn.pragma_update(None, "foreign_keys", true)?;
            let synchronous = if Sabotage::SynchronousOff.is_on() { "OFF" } else { "FULL" };
            conn.pragma_update(None, "synchronous", synchronous)?;
            conn.pragma_update_and_check(None, "journal_size_limit", log::KEPT_BYTES, |_| Ok(()))
        }
    }
}

/// Lets a connection wait for the locks of others, for as long as [`BUSY_TIMEOUT`] says.
pub(super) fn wait_for_others(conn: &Connection) -> rusqlite::Result<()> {
    conn.busy_handler(Some(waits_on))
}

/// Waits for a moment, unless that was done for long enough. SQLite asks again after each try, and counts them anew for
/// each statement. A try costs some microseconds: who waits takes a hundredth of a core.
fn waits_on(tries: i32) -> bool {
    thread_local! {
        /// When the statement that this thread runs met the lock.
        static BEGUN: Cell<Option<Instant>> = const { Cell::new(None) };
    }
    let begun = BEGUN.get().filter(|_| tries > 0).unwrap_or_else(Instant::now);
    BEGUN.set(Some(begun));
    let waits = begun.elapsed() < BUSY_TIMEOUT;
    if waits {
        std::thread::sleep(BETWEEN_TRIES);
    }
    waits
}

/// What the header of a file says it is.
pub(super) struct Header {
    pub application_id: i64,
    pub user_version: i64,
}

/// Reads the header through SQLite without locks, journals or any other trace, so that a file that turns out to
/// be somebody else's was not touched.
pub(super) fn probe(path: &Path) -> Result<Header> {
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::StoreMissing { path: path.to_owned() });
        }
        Err(error) => return Err(Error::io(path, error)),
    };
    let foreign = |detail: &str| Error::ForeignStore { path: path.to_owned(), detail: detail.to_owned() };
    if metadata.is_symlink() {
        return Err(foreign("it is a symbolic link; name the file that it points to"));
    }
    if !metadata.is_file() {
        return Err(foreign("it is not a regular file"));
    }
    if metadata.len() == 0 {
        return Err(foreign("the file is empty; remove it to make a store there"));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | common_flags();
    let read = |growing: bool| -> rusqlite::Result<Header> {
        let conn = Connection::open_with_flags(immutable_uri(path), flags)?;
        // Lets SQLite accept a page count that the file has not grown to.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, growing)?;
        let pragma = |name| conn.pragma_query_value(None, name, |row| row.get(0));
        Ok(Header { application_id: pragma("application_id")?, user_version: pragma("user_version")? })
    };
    // A checkpoint that is under way, or was when its process died, writes the page count before the pages: the log makes
    // up for it. A file that is too short and has no log was cut; or a checkpoint ended just now, and perhaps another
    // one begins: it is looked at again before that is believed.
    let (mut header, mut looks) = (read(false), 0);
    while looks < LOOKS && header.as_ref().is_err_and(is_corrupt) {
        if looks > 0 {
            std::thread::sleep(BETWEEN_LOOKS);
        }
        header = read(has_log(path));
        looks += 1;
    }
    match header {
        Ok(header) => Ok(header),
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => {
            Err(foreign("it is not a SQLite database"))
        }
        Err(error) => Err(opening_failed(path, error)),
    }
}

fn is_corrupt(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseCorrupt)
}

/// `file:` URI of an absolute path with every byte that could mean something in a URI escaped.
fn immutable_uri(path: &Path) -> String {
    use std::fmt::Write as _;
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte) {
            uri.push(byte.into());
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri.push_str("?immutable=1");
    uri
}

/// The files that belong to the store at `path`: the database and what SQLite keeps beside it.
pub(crate) fn own_files(path: &Path) -> [PathBuf; 4] {
    ["", "-wal", "-shm", "-journal"].map(|suffix| {
        let mut name = OsString::from(path);
        name.push(suffix);
        name.into()
    })
}

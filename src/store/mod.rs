//! All SQL, and the façade through which the verbs reach it.
//!
//! [`Store`] owns one writing connection, one for reading, and a pool of more of these. A verb works inside [`Store::read`] (one
//! snapshot, never blocked by a writer) or [`Store::write`] (one IMMEDIATE transaction). One file holds the SQL
//! of one group of tables; nothing here knows about files of a corpus, terms or scores.

pub(crate) mod access;
pub(crate) mod answers;
pub(crate) mod audits;
pub(crate) mod cache;
pub(crate) mod changes;
pub(crate) mod chunks;
pub(crate) mod classes;
pub(crate) mod connect;
mod copy;
pub(crate) mod documents;
mod explain;
pub(crate) mod findings;
pub(crate) mod fresh;
pub(crate) mod generations;
pub(crate) mod hits;
pub(crate) mod integrity;
pub(crate) mod log;
pub(crate) mod migrate;
pub(crate) mod open;
pub(crate) mod past;
pub(crate) mod postings;
pub(crate) mod purges;
pub(crate) mod record;
pub(crate) mod runs;
pub(crate) mod sandbox;
pub(crate) mod settings;
pub(crate) mod sources;
pub(crate) mod tombstones;
pub(crate) mod vectors;
mod wire;

use std::any::Any;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError, TryLockError};

use r2d2::Pool;
use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::{Transaction, TransactionBehavior};

use crate::error::{Error, Result};
use crate::sabotage::Sabotage;
use connect::Access;
use fresh::Fresh;

/// What a verb holds inside [`Store::read`] and [`Store::write`], to hand on to the functions of this module: the
/// verbs name no other type of `rusqlite`, and run no SQL of their own.
pub(crate) use rusqlite::Connection;

/// How many snapshots can be read at once by one [`Store`], besides the first.
const READERS: u32 = 8;

/// A store: one SQLite file with everything in it. `Send + Sync`; share one among threads. Readers never wait for
/// a sync and each call sees one published generation. One that is searched keeps what it read of the index in memory,
/// about 64 MiB at most, and 16 MiB of pages for each thread that reads at the same time.
pub struct Store {
    path: PathBuf,
    name: connect::Name,
    /// The connection that the store was opened with: who reads alone needs no other.
    first: Mutex<Connection>,
    /// Made once two read at a time, since it has threads.
    readers: OnceLock<Pool<SqliteConnectionManager>>,
    writer: Option<Mutex<Option<Connection>>>,
    /// What is wrong with the schema, so that no row is believed.
    fault: Option<String>,
    kept: OnceLock<Box<dyn Any + Send + Sync>>,
    /// The last field: the connections are closed before.
    opened: open::Opened,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("path", &self.path)
            .field("writable", &self.writer.is_some())
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Makes a new, empty store and opens it. The file appears at `path` complete or not at all, readable and
    /// writable by its owner only.
    ///
    /// # Errors
    /// [`Error::StoreExists`] where something has that name; [`Error::Io`] where the folder can't be written.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = absolute(path.as_ref())?;
        if std::fs::symlink_metadata(&path).is_ok() {
            return Err(Error::StoreExists { path });
        }
        let folder = path.parent().unwrap_or(Path::new("/"));
        if !folder.is_dir() {
            let missing = std::io::Error::new(std::io::ErrorKind::NotFound, "there is no such folder");
            return Err(Error::io(folder, missing));
        }
        let new = Fresh::beside(&path, ".ragdb-new-")?;
        fill_new(new.path()).map_err(|error| explain::located(&path, error))?;
        new.persist(&path)?;
        Self::open(path)
    }

    /// Opens a store for reading and writing.
    ///
    /// # Errors
    /// [`Error::StoreMissing`], [`Error::ForeignStore`], [`Error::NewerStore`] and [`Error::OlderStore`] where
    /// the file is not a store that this build works on; it is left untouched then.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_as(path.as_ref(), Access::Write)
    }

    /// Opens a store for reading only; calls that write give [`Error::ReadOnly`].
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_as(path.as_ref(), Access::Read)
    }

    /// Opens the store at `path` for writing, or makes it where nothing has that name.
    ///
    /// # Errors
    /// As [`Store::open`] and [`Store::create`].
    pub fn open_or_create(path: impl AsRef<Path>) -> Result<Self> {
        match Self::open(path.as_ref()) {
            Err(Error::StoreMissing { .. }) => match Self::create(path.as_ref()) {
                Err(Error::StoreExists { .. }) => Self::open(path),
                other => other,
            },
            other => other,
        }
    }

    /// Brings an older store's schema up to this build's, in one transaction; returns the versions before and after.
    ///
    /// # Errors
    /// [`Error::ForeignStore`] or [`Error::NewerStore`], and [`Error::Damaged`] where the store is not what its version
    /// says; the file is left untouched then.
    pub fn migrate(path: impl AsRef<Path>) -> Result<(i64, i64)> {
        let path = absolute(path.as_ref())?;
        match identify(&path) {
            Ok(()) | Err(Error::OlderStore { .. }) => {}
            Err(error) => return Err(error),
        }
        let mut conn = connect::open(&path, Access::Write)?;
        let found = migrate::apply(&mut conn).map_err(|error| explain::not_migrated(&path, error))?;
        Ok((found, migrate::SCHEMA_VERSION))
    }

    fn open_as(path: &Path, access: Access) -> Result<Self> {
        let path = absolute(path)?;
        identify(&path)?;
        let file = open::Identity::of(&path);
        // A pool tries again and again; what is wrong for good is better said at once, and in detail.
        let opened = connect::readable(&path, access)?;
        Self::of(path, file, opened, access)
    }

    /// Opens a copy that nobody writes, for reading only, and leaves no file beside it.
    pub(crate) fn open_copy(path: &Path) -> Result<Self> {
        let path = absolute(path)?;
        identify(&path)?;
        let file = open::Identity::of(&path);
        let opened = connect::unchanging(&path)?;
        Self::of(path, file, opened, Access::Read)
    }

    fn of(
        path: PathBuf,
        file: Option<open::Identity>,
        (name, first): (connect::Name, Connection),
        access: Access,
    ) -> Result<Self> {
        let writer = (access == Access::Write).then(|| Mutex::new(None));
        let fault = integrity::fault(&first).map_err(|error| explain::located(&path, error))?;
        let (first, readers, kept) = (Mutex::new(first), OnceLock::new(), OnceLock::new());
        let opened = open::Opened::new(&path, file);
        Ok(Self { path, name, first, readers, writer, fault, kept, opened })
    }

    /// Refuses where the schema is not the one that this build reads and writes.
    fn require_schema(&self) -> Result<()> {
        match &self.fault {
            Some(fault) => Err(Error::Damaged { detail: fault.clone() }),
            None => Ok(()),
        }
    }

    fn readers(&self) -> &Pool<SqliteConnectionManager> {
        self.readers.get_or_init(|| {
            Pool::builder()
                .max_size(READERS)
                .min_idle(Some(0))
                .test_on_check_out(false)
                .connection_timeout(connect::BUSY_TIMEOUT)
                .build_unchecked(self.name.clone().manager())
        })
    }

    /// Refuses where the store is open for reading only.
    pub(crate) fn require_writable(&self) -> Result<()> {
        self.writer().map(drop)
    }

    fn writer(&self) -> Result<&Mutex<Option<Connection>>> {
        self.writer.as_ref().ok_or_else(|| Error::ReadOnly { path: self.path.clone() })
    }

    /// The absolute path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What searches keep in memory from one to the next, made when it is first asked for. Of what it is made is not this
    /// module's business.
    ///
    /// # Panics
    /// Where two types are asked for.
    pub(crate) fn kept<T: Any + Default + Send + Sync>(&self) -> &T {
        let kept = self.kept.get_or_init(|| Box::new(T::default()));
        kept.downcast_ref().expect("one type is kept")
    }

    /// The folder of the file.
    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// Runs `work` on one snapshot: all that it reads belongs to one published generation.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.require_schema()?;
        self.look(work)
    }

    /// As [`Store::read`], whatever the schema is: for finding out what is wrong with it.
    pub(crate) fn look<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        match self.first.try_lock() {
            Ok(conn) => return self.located(self.snapshot(&conn, work)),
            // Whoever panicked rolled their transaction back.
            Err(TryLockError::Poisoned(error)) => return self.located(self.snapshot(&error.into_inner(), work)),
            Err(TryLockError::WouldBlock) => {}
        }
        // The pool knows only that it waited too long: opening once more says why, unless all readers are in use.
        let conn = self.readers().get().map_err(|_| match connect::readable(&self.path, Access::Read) {
            Err(error) => error,
            Ok(_) => Error::Busy { path: self.path.clone(), waited_seconds: connect::BUSY_TIMEOUT.as_secs() },
        })?;
        self.located(self.snapshot(&conn, work))
    }

    /// Names the store in what went wrong.
    fn located<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| explain::located(&self.path, error))
    }

    fn snapshot<T>(&self, conn: &Connection, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let snapshot = Snapshot::begin(conn)?;
        self.recheck(conn)?;
        let result = work(conn);
        drop(snapshot);
        result
    }

    /// Runs `work` in one IMMEDIATE transaction and commits it; an error rolls everything back. Refuses where the log is at
    /// its limit.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.bound_log()?;
        self.write_in_any_case(work)
    }

    /// As [`Store::write`], however long the log is: for what takes something away, and must not wait for who reads.
    pub(crate) fn write_in_any_case<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.located(self.transact(work))
    }

    fn transact<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.require_schema()?;
        let mut guard = self.writer()?.lock().unwrap_or_else(PoisonError::into_inner);
        self.opened.require_same_file()?;
        // The one connection that writes, opened when it is first needed.
        let conn = match &mut *guard {
            Some(conn) => conn,
            slot => slot.insert(connect::open(&self.path, Access::Write)?),
        };
        // SQLite opens a file that it may not write for reading, and begins a transaction that can only read.
        if conn.is_readonly(rusqlite::MAIN_DB)? {
            return Err(Error::ReadOnly { path: self.path.clone() });
        }
        let behavior = if Sabotage::DeferredTransaction.is_on() {
            TransactionBehavior::Deferred
        } else {
            TransactionBehavior::Immediate
        };
        let tx = conn.transaction_with_behavior(behavior)?;
        self.recheck(&tx)?;
        let result = work(&tx)?;
        tx.commit()?;
        Ok(result)
    }

    /// Rewrites the file without its free pages and empties the log; false where another process still reads the log.
    pub(crate) fn vacuum(&self) -> Result<bool> {
        self.apart(|conn| {
            // VACUUM attaches a database of its own, which the settings of an ordinary connection forbid.
            conn.set_limit(rusqlite::limits::Limit::SQLITE_LIMIT_ATTACHED, 1)?;
            conn.execute_batch("VACUUM")?;
            log::truncate_log(conn)
        })
    }

    /// Runs `work` on a connection of its own, with settings of its own, while this store's writer rests.
    fn apart<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let _guard = self.writer()?.lock().unwrap_or_else(PoisonError::into_inner);
        self.opened.require_same_file()?;
        let conn = connect::open(&self.path, Access::Write)?;
        self.located(work(&conn))
    }

    /// The schema may have moved on since the file was opened, and the path to another file, which a connection that was
    /// opened by now may read.
    fn recheck(&self, conn: &Connection) -> Result<()> {
        self.opened.require_same_file()?;
        let found = conn.prepare_cached("PRAGMA user_version")?.query_row([], |row| row.get(0))?;
        check_version(&self.path, found)
    }
}

/// A transaction that only reads. Its statements are kept, which those of [`Transaction`] are not.
struct Snapshot<'c>(&'c Connection);

impl<'c> Snapshot<'c> {
    fn begin(conn: &'c Connection) -> rusqlite::Result<Self> {
        if !conn.is_autocommit() {
            Self::end(conn)?;
        }
        conn.prepare_cached("BEGIN")?.execute([])?;
        Ok(Self(conn))
    }

    fn end(conn: &Connection) -> rusqlite::Result<()> {
        conn.prepare_cached("ROLLBACK")?.execute([]).map(drop)
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        // Where it can't end, the next one that begins on this connection ends it, or says why not.
        let _ = Self::end(self.0);
    }
}

/// Makes an empty file a store without content, closed.
fn fill_new(path: &Path) -> Result<()> {
    let mut conn = connect::open_new(path)?;
    migrate::apply(&mut conn)?;
    settings::write_origin(&conn)?;
    fresh::begin_log(&conn)?;
    conn.close().map_err(|(_, error)| error.into())
}

/// Tells a store of this build's schema from every other file, without touching the file.
fn identify(path: &Path) -> Result<()> {
    let header = connect::probe(path)?;
    if header.application_id != connect::APPLICATION_ID {
        return Err(Error::ForeignStore {
            path: path.to_owned(),
            detail: format!("its application_id is {}", header.application_id),
        });
    }
    check_version(path, header.user_version)
}

fn check_version(path: &Path, found: i64) -> Result<()> {
    let (path, supported) = (path.to_owned(), migrate::SCHEMA_VERSION);
    match found.cmp(&supported) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Less => Err(Error::OlderStore { path, found, supported }),
        std::cmp::Ordering::Greater => Err(Error::NewerStore { path, found, supported }),
    }
}

/// The absolute path of a store. Its folder may be reached through links; the file itself may not be one.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf> {
    let full = std::path::absolute(path).map_err(|error| Error::io(path, error))?;
    let (Some(folder), Some(name)) = (full.parent(), full.file_name()) else {
        return Err(Error::Invalid { message: format!("{} is a folder, not the path of a store", path.display()) });
    };
    match folder.canonicalize() {
        Ok(folder) => Ok(folder.join(name)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(full),
        Err(error) => Err(Error::io(folder, error)),
    }
}

#[cfg(test)]
mod plans;

//! The write-ahead log: how long it may be, and when it is moved into the file.

use std::path::Path;
use std::sync::PoisonError;
use std::time::Duration;

use super::connect::{BUSY_TIMEOUT, own_files, wait_for_others};
use super::{Connection, Store, migrate};
use crate::error::{Error, Result};

/// What SQLite keeps of a log that was moved: the file is not made anew each time.
pub(super) const KEPT_BYTES: i64 = 64 << 20;

impl Store {
    /// Sees to it that the log does not grow without end while somebody reads an old state, which keeps it from being
    /// moved into the file: where it is at its limit, it is moved now, or nothing more is written.
    ///
    /// # Errors
    /// [`Error::Refused`] with `log_is_held`, or [`Error::Busy`] where it is somebody who writes that is in the way.
    pub(crate) fn bound_log(&self) -> Result<()> {
        if self.has_room_in_log(BUSY_TIMEOUT)? {
            return Ok(());
        }
        if self.is_written()? {
            return Err(Error::Busy { path: self.path.clone(), waited_seconds: BUSY_TIMEOUT.as_secs() });
        }
        let [_, log, ..] = own_files(&self.path);
        Err(Error::Refused {
            code: "log_is_held",
            message: format!(
                "{} has grown to {} MB, and somebody who still reads an old state keeps it from being moved into the \
                 store; nothing was written",
                log.display(),
                bytes_of(&log) >> 20
            ),
            hint: format!(
                "end the process that has been reading for long (`fuser -v {}` names all that have it open), then run it \
                 again",
                log.display()
            ),
        })
    }

    /// Whether the log is below its limit, or is after it was moved; waits so long for those who read.
    pub(crate) fn has_room_in_log(&self, patience: Duration) -> Result<bool> {
        let [file, log, ..] = own_files(&self.path);
        // As long as the file itself, which needs the same room when it is written anew.
        let limit = bytes_of(&file).max(KEPT_BYTES.unsigned_abs());
        Ok(bytes_of(&log) <= limit || self.move_log(patience)?)
    }

    /// Whether somebody writes at this moment.
    fn is_written(&self) -> Result<bool> {
        self.apart(|conn| {
            conn.busy_timeout(Duration::ZERO)?;
            match conn.execute_batch("BEGIN IMMEDIATE; ROLLBACK") {
                Ok(()) => Ok(false),
                Err(error) if is_busy(&error) => Ok(true),
                Err(error) => Err(error.into()),
            }
        })
    }

    /// Moves the log into the file and empties it, without waiting for anybody; false where somebody reads it.
    pub(crate) fn empty_log(&self) -> Result<bool> {
        self.move_log(Duration::ZERO)
    }

    /// Moves the log into the file and empties it; false where somebody reads it for longer than `patience`.
    fn move_log(&self, patience: Duration) -> Result<bool> {
        self.apart(|conn| {
            conn.busy_timeout(patience)?;
            truncate_log(conn)
        })
    }

    /// Whether what is written now can be moved out of the log: nobody reads an older state for longer than one waits.
    pub(crate) fn is_undisturbed(&self) -> Result<bool> {
        // Who reads the file alone stands in nobody's way until something is in the log: a page that stays as it is.
        self.write_in_any_case(|tx| Ok(tx.pragma_update(None, "user_version", migrate::SCHEMA_VERSION)?))?;
        self.move_log(BUSY_TIMEOUT)
    }

    /// Moves a log that an earlier write had to leave, since it was killed or somebody still read it, into the file.
    pub(crate) fn finish_log(&self) -> Result<()> {
        if has_log(&self.path) { self.empty_log().map(drop) } else { Ok(()) }
    }

    /// Moves what this store wrote into the file and empties the log; a log that readers still need stays.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        let Some(writer) = &self.writer else { return Ok(()) };
        let guard = writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(conn) = guard.as_ref() {
            conn.busy_timeout(Duration::ZERO)?;
            let outcome = truncate_log(conn);
            wait_for_others(conn)?;
            outcome?;
        }
        Ok(())
    }
}

/// Moves the log into the file and cuts it to nothing; false where somebody still reads it.
pub(super) fn truncate_log(conn: &Connection) -> Result<bool> {
    match conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0)) {
        Ok(busy) => Ok(!busy),
        Err(error) if is_busy(&error) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
}

/// Whether there is anything in the write-ahead log of the store at `path`.
pub(crate) fn has_log(path: &Path) -> bool {
    bytes_of(&own_files(path)[1]) > 0
}

/// The size of a file. Looks at its name, opens nothing.
fn bytes_of(path: &Path) -> u64 {
    std::fs::symlink_metadata(path).map_or(0, |file| file.len())
}

//! What an error of SQLite means for the store that it happened to: what can be done about it, and to which file.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode::{
    CannotOpen, DatabaseBusy, DiskFull, NotADatabase, PermissionDenied, ReadOnly, SystemIoFailure,
};
use rusqlite::ffi::code_to_str;
use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::connect::BUSY_TIMEOUT;
use crate::error::{DatabaseError, Error, IN_ITS_FILE};

/// The error for the store at `path`.
pub(super) fn error(path: &Path, error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(DatabaseBusy) => Error::Busy { path: path.to_owned(), waited_seconds: BUSY_TIMEOUT.as_secs() },
        Some(NotADatabase) => {
            Error::ForeignStore { path: path.to_owned(), detail: "it is not a SQLite database".into() }
        }
        Some(DiskFull) => Error::DiskFull { path: path.to_owned() },
        Some(ReadOnly) => Error::ReadOnly { path: path.to_owned() },
        Some(CannotOpen | PermissionDenied | SystemIoFailure) => Error::io(path, reason(path, &error)),
        _ => match error.into() {
            Error::Damaged { detail } => Error::Damaged { detail: in_file(path, detail) },
            other => other,
        },
    }
}

/// The error of a migration, which is at fault only where it can't write: else the store is not what its version says. No
/// `check` can look at it as it is.
pub(super) fn not_migrated(path: &Path, failed: Error) -> Error {
    let detail = match located(path, failed) {
        Error::Damaged { detail } => detail,
        Error::Database(error) => format!("in {}: SQLite: {error}", path.display()),
        other => return other,
    };
    Error::Damaged {
        detail: format!(
            "{detail}; it can't be migrated as it is: restore a backup, or make a new store with `ragdb --db NEW sync` (and \
             its folders, where no ragdb.yaml declares them)"
        ),
    }
}

/// Names the file in the detail of damage that was met in it.
fn in_file(path: &Path, detail: String) -> String {
    match detail.strip_prefix(IN_ITS_FILE) {
        Some(what) => format!("in {}: {what}", path.display()),
        None => detail,
    }
}

/// The same, for the store's file that could not even be opened.
pub(super) fn opening_failed(path: &Path, failed: rusqlite::Error) -> Error {
    match failed.sqlite_error_code() {
        Some(ReadOnly) => Error::io(path, reason(path, &failed)),
        _ => error(path, failed),
    }
}

/// Names the store in an error that came out of SQLite without it.
pub(super) fn located(path: &Path, failed: Error) -> Error {
    match failed {
        Error::Database(DatabaseError(failed)) => error(path, failed),
        Error::Damaged { detail } => Error::Damaged { detail: in_file(path, detail) },
        other => other,
    }
}

/// Why the system did not do what SQLite asked for: in its own words where they can still be had. SQLite keeps none of
/// them, and has the name of the file in its message as it was given, escaped.
fn reason(path: &Path, error: &rusqlite::Error) -> io::Error {
    // Asks by name: opening the file would drop the locks that this process has on it.
    let folder = path.parent().unwrap_or(Path::new("/"));
    let denied = [(path, Access::READ_OK), (folder, Access::EXEC_OK)]
        .into_iter()
        .find_map(|(path, right)| access(path, right).err())
        // A file that is being made has no name yet.
        .filter(|number| *number != Errno::NOENT);
    match (denied, error.sqlite_error()) {
        (Some(number), _) => number.into(),
        (None, Some(error)) => io::Error::other(format!(
            "SQLite could not use it or a file beside it: {}",
            code_to_str(error.extended_code)
        )),
        (None, None) => io::Error::other(error.to_string()),
    }
}

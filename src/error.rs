//! What can go wrong, sorted by what the caller can do about it.
//!
//! Every message says what happened, to which path or id; [`Error::hint`] says what to do next. A bad *input
//! file* is not an [`Error`] by itself: it is a [`Failure`] in a report, and only a sync that may not publish
//! with failures turns the list into [`Error::SyncFailed`].

use std::fmt;
use std::io;
use std::path::PathBuf;

/// The result of a fallible ragdb operation.
pub type Result<T> = std::result::Result<T, Error>;

/// An input file (or folder) that could not become a document, with its own stable code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The id of its source.
    pub source_id: String,
    /// The path as it stands below its source's root (or the root itself), with `/` separators. Bytes that are
    /// not UTF-8 are shown escaped.
    pub path: String,
    /// A stable, lower-case code such as `not_utf8`; the command-line reference lists them all.
    pub code: &'static str,
    /// What is wrong and what to do, in one sentence.
    pub message: String,
}

/// An error from SQLite, kept opaque so that no other crate's type is part of ragdb's interface.
#[derive(Debug)]
pub struct DatabaseError(pub(crate) rusqlite::Error);

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for DatabaseError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

/// Everything a ragdb call can refuse or fail with.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// There is no store at this path.
    StoreMissing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A store can't be created: something is there already.
    StoreExists {
        /// The path that is taken.
        path: PathBuf,
    },
    /// The file is not a ragdb store; it was left untouched.
    ForeignStore {
        /// The file.
        path: PathBuf,
        /// What shows that it is not one.
        detail: String,
    },
    /// The store was made by a newer ragdb; it was left untouched.
    NewerStore {
        /// The file.
        path: PathBuf,
        /// The schema version found in it.
        found: i64,
        /// The newest schema version that this build knows.
        supported: i64,
    },
    /// The store has an older schema and must be migrated first.
    OlderStore {
        /// The file.
        path: PathBuf,
        /// The schema version found in it.
        found: i64,
        /// The schema version that this build works on.
        supported: i64,
    },
    /// The store contradicts itself; nothing was changed.
    Damaged {
        /// What does not fit, and where.
        detail: String,
    },
    /// Another process holds the write lock.
    Busy {
        /// The store.
        path: PathBuf,
        /// How long this call waited, in seconds.
        waited_seconds: u64,
    },
    /// The store's index was made under another policy than the one asked for or built in.
    PolicyMismatch {
        /// Which settings differ, with both values.
        detail: String,
    },
    /// The store was opened for reading only, or its file may not be written, and the call has to write.
    ReadOnly {
        /// The store.
        path: PathBuf,
    },
    /// A configuration file can't be used.
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong, with its line where known.
        message: String,
    },
    /// A sync was refused by a guard before anything was read or written.
    Refused {
        /// A stable code, such as `root_missing` or `too_many_deletions`.
        code: &'static str,
        /// What was about to happen, and to what.
        message: String,
        /// How to allow it, or what to repair.
        hint: String,
    },
    /// Files failed and nothing was published; every failure is listed.
    SyncFailed {
        /// One entry for each file or folder that failed.
        failures: Vec<Failure>,
    },
    /// An argument has no meaning here.
    Invalid {
        /// What is wrong with which argument.
        message: String,
    },
    /// Nothing has this name, id or number.
    NotFound {
        /// What was looked for.
        what: String,
    },
    /// There is no room left on the disk.
    DiskFull {
        /// The file that was written: the store, where it was the store's log or a temporary file of SQLite's.
        path: PathBuf,
    },
    /// A file or folder could not be read or written.
    Io {
        /// The path.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The endpoint of a model could not be asked, or its response can't be used.
    Endpoint {
        /// Its address, without anything secret.
        url: String,
        /// The HTTP status of its response, where that is what went wrong.
        status: Option<u16>,
        /// What went wrong.
        message: String,
    },
    /// The folder of a model, or a file in it, is not one that can be run.
    Model {
        /// The folder or the file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// SQLite reported an error.
    Database(DatabaseError),
}

impl Error {
    /// A stable, lower-case code for this error, as `--json` prints it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::StoreMissing { .. } => "store_missing",
            Self::StoreExists { .. } => "store_exists",
            Self::ForeignStore { .. } => "foreign_store",
            Self::NewerStore { .. } => "newer_store",
            Self::OlderStore { .. } => "older_store",
            Self::Damaged { .. } => "damaged",
            Self::Busy { .. } => "busy",
            Self::PolicyMismatch { .. } => "policy_mismatch",
            Self::ReadOnly { .. } => "read_only",
            Self::Config { .. } => "config",
            Self::Refused { code, .. } => code,
            Self::SyncFailed { .. } => "sync_failed",
            Self::Invalid { .. } => "invalid",
            Self::NotFound { .. } => "not_found",
            Self::DiskFull { .. } => "disk_full",
            Self::Io { .. } => "io",
            Self::Endpoint { .. } => "endpoint",
            Self::Model { .. } => "model",
            Self::Database(_) => "database",
        }
    }

    /// What the reader of the message can do next, where there is something.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::StoreMissing { .. } => "make one with `ragdb sync DIR`, or name another with --db".into(),
            Self::StoreExists { .. } => "open it, or choose another path".into(),
            Self::ForeignStore { .. } => "name a ragdb store with --db".into(),
            Self::NewerStore { .. } => "install a newer ragdb".into(),
            Self::OlderStore { .. } => {
                "make a copy, together with the `-wal` file where there is one beside it; then run `ragdb migrate`"
                    .into()
            }
            Self::Damaged { .. } => "run `ragdb check`: it says what is damaged, and what mends it".into(),
            Self::Busy { .. } => "wait for the other ragdb process, then run it again".into(),
            Self::PolicyMismatch { .. } => "run `ragdb sync` to rebuild the index under the new settings".into(),
            Self::ReadOnly { .. } => {
                "open the store for writing, as a user who may, on a file system that can be written".into()
            }
            Self::DiskFull { .. } => "make room there, and where temporary files go (TMPDIR); then run it again".into(),
            Self::Io { source, .. } => return io_hint(source).map(str::to_owned),
            Self::Refused { hint, .. } => hint.clone(),
            Self::SyncFailed { .. } => "mend or exclude the files, or publish the others with --keep-going".into(),
            Self::Endpoint { .. } => {
                "check its address, the model's name and the key; without an endpoint ragdb answers with sentences of \
                 the sources, and searches by words"
                    .into()
            }
            Self::Model { .. } => {
                "take the folder of a BERT model as sentence-transformers saves it, with model.safetensors; \
                 docs/embeddings.md says where to get one"
                    .into()
            }
            Self::Config { .. } | Self::Invalid { .. } | Self::NotFound { .. } | Self::Database(_) => return None,
        })
    }

    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::StorageFull => Self::DiskFull { path },
            _ => Self::Io { path, source },
        }
    }
}

/// What can be done where the system refuses.
fn io_hint(source: &io::Error) -> Option<&'static str> {
    use io::ErrorKind::{Other, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem};
    /// The system's number for a device that fails.
    const EIO: i32 = 5;
    match source.kind() {
        PermissionDenied => Some("change the rights of the file or of its folder, or run it as a user who has them"),
        ReadOnlyFilesystem => Some("choose a path on a file system that can be written"),
        QuotaExceeded => Some("make room: this user may not store more there"),
        kind if kind == Other || source.raw_os_error() == Some(EIO) => Some(
            "look at the rights of the file and its folder, the room on the disk and what the system's log says of it; \
             `ragdb check` tells whether a store is sound",
        ),
        _ => None,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StoreMissing { path } => write!(f, "there is no store at {}", path.display()),
            Self::StoreExists { path } => write!(f, "{} exists already", path.display()),
            Self::ForeignStore { path, detail } => {
                write!(f, "{} is not a ragdb store: {detail}", path.display())
            }
            Self::NewerStore { path, found, supported } => {
                write!(f, "{} has schema version {found}; this ragdb knows versions up to {supported}", path.display())
            }
            Self::OlderStore { path, found, supported } => {
                write!(f, "{} has schema version {found}; this ragdb works on version {supported}", path.display())
            }
            Self::Damaged { detail } => write!(f, "the store is damaged: {detail}"),
            Self::Busy { path, waited_seconds } => {
                write!(f, "another process is writing to {}; gave up after {waited_seconds} s", path.display())
            }
            Self::PolicyMismatch { detail } => {
                write!(f, "the store was indexed under other settings: {detail}")
            }
            Self::ReadOnly { path } => write!(f, "{} can't be written, only read", path.display()),
            Self::DiskFull { path } => write!(f, "the disk is full: there is no room to write {}", path.display()),
            Self::Config { path, message } | Self::Model { path, message } => {
                write!(f, "{}: {message}", path.display())
            }
            Self::Refused { message, .. } | Self::Invalid { message } => f.write_str(message),
            Self::SyncFailed { failures } => write!(
                f,
                "{} {} failed; nothing was published",
                failures.len(),
                if failures.len() == 1 { "file" } else { "files" }
            ),
            Self::NotFound { what } => write!(f, "there is no {what}"),
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Endpoint { url, message, .. } => write!(f, "{url} {message}"),
            Self::Database(error) => write!(f, "SQLite: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Database(error) => Some(error),
            _ => None,
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match contradiction(&error) {
            Some(what) => Self::Damaged { detail: format!("{IN_ITS_FILE}{what}") },
            None => Self::Database(DatabaseError(error)),
        }
    }
}

/// How the detail of damage begins that was met in a file whose name was not known there.
pub(crate) const IN_ITS_FILE: &str = "in its file: ";

/// What an error of SQLite's says of a store that contradicts itself, if that is what it means: a page that can't be read, a
/// value that is none of its column's, a row that is not there, or one that another rules out. ragdb writes no such rows.
fn contradiction(error: &rusqlite::Error) -> Option<String> {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, QueryReturnedNoRows, Utf8Error,
    };
    use rusqlite::ErrorCode::{ConstraintViolation, DatabaseCorrupt};
    match error {
        Utf8Error(..) => Some("a text is not UTF-8".into()),
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) => {
            Some(format!("a value can't be read: {error}"))
        }
        QueryReturnedNoRows => Some("a row is missing".into()),
        _ => matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | ConstraintViolation))
            .then(|| format!("SQLite: {error}")),
    }
}

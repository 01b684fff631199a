//! A database that is made under a passing name, so that its own name is there complete or not at all.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempPath;

use super::connect::own_files;
use crate::error::{Error, Result};

/// Such a file, which only its owner may read. Unless it is given its name, it goes, with all that SQLite left beside it.
pub(crate) struct Fresh {
    path: PathBuf,
    /// Removes the file, unless it was given its name.
    file: Option<TempPath>,
}

impl Fresh {
    /// An empty file in the folder of `to`, its name beginning with `prefix`.
    pub(crate) fn beside(to: &Path, prefix: &str) -> Result<Self> {
        let folder = to.parent().unwrap_or(Path::new("/"));
        sweep(folder, prefix);
        let made = tempfile::Builder::new().prefix(prefix).suffix(".db").tempfile_in(folder);
        // Its message has the passing name.
        let file = made.map_err(|error| Error::io(folder, io::Error::from(error.kind())))?;
        let file = file.into_temp_path();
        Ok(Self { path: file.to_path_buf(), file: Some(file) })
    }

    /// Where it is meanwhile.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the closed file the name `to`, which nothing may have.
    pub(crate) fn persist(mut self, to: &Path) -> Result<()> {
        // It would keep its name, and what is in it would be lost.
        let left = own_files(&self.path)[1..].iter().find(|log| has_content(log)).cloned();
        if let Some(log) = left {
            return Err(Error::io(log, io::Error::other("SQLite could not move it into its database")));
        }
        let Some(file) = self.file.take() else { return Ok(()) };
        file.persist_noclobber(to).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => Error::StoreExists { path: to.to_owned() },
            _ => Error::io(to, error.error),
        })
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        for log in &own_files(&self.path)[1..] {
            let _ = std::fs::remove_file(log);
        }
    }
}

/// A process that makes a database writes to it all the time: one that was not written to for so long was left behind.
const LEFT_BEHIND: Duration = Duration::from_hours(1);

/// Removes what processes that were killed left of databases under passing names, with their logs. What can't be removed
/// is in nobody's way.
fn sweep(folder: &Path, prefix: &str) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.filter_map(io::Result::ok) {
        let name = entry.file_name();
        let is_passing =
            |name: &str| name.starts_with(prefix) && Path::new(name).extension().is_some_and(|it| it == "db");
        let is_old = |metadata: std::fs::Metadata| {
            metadata.is_file() && metadata.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > LEFT_BEHIND))
        };
        if name.to_str().is_some_and(is_passing) && entry.metadata().is_ok_and(is_old) {
            let path = entry.path();
            let journal = path.with_extension("db-journal");
            for file in own_files(&path).iter().chain([&journal]) {
                let _ = std::fs::remove_file(file);
            }
        }
    }
}

/// Looks at the name alone. The index of a log holds nothing of its own.
fn has_content(log: &Path) -> bool {
    !log.to_string_lossy().ends_with("-shm") && std::fs::symlink_metadata(log).is_ok_and(|log| log.len() > 0)
}

/// Lets a database have a write-ahead log from now on. SQLite says what it did, and not always that it failed.
pub(super) fn begin_log(conn: &Connection) -> Result<()> {
    let mode: String = conn.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode == "wal" {
        return Ok(());
    }
    let path = conn.path().unwrap_or_default();
    Err(Error::io(path, io::Error::other(format!("SQLite could not begin a write-ahead log and keeps `{mode}`"))))
}

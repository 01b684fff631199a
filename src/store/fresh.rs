//! A database that is made under a passing name, so that its own name is there complete or not at all.

use std::io;
use std::path::{Path, PathBuf};

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

//! The stores that this process has open. A process that opens one of SQLite's files by itself gives up all its locks on it
//! when it closes it, whoever in the process holds them: whatever reads other files leaves these out.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};

/// Each as often as it is open.
static OPEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn open() -> MutexGuard<'static, Vec<PathBuf>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The paths of all open stores.
pub(crate) fn paths() -> Vec<PathBuf> {
    open().clone()
}

/// Which file a path names: its device and inode. Looks at the name, opens nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

impl Identity {
    /// That of the file at `path`; nothing where there is none, or it can't be looked at.
    pub(super) fn of(path: &Path) -> Option<Self> {
        std::fs::symlink_metadata(path).ok().map(|file| Self(file.dev(), file.ino()))
    }
}

/// Says that a store is open for as long as it lives, and which file it is.
pub(super) struct Opened(PathBuf, Option<Identity>);

impl Opened {
    pub(super) fn new(path: &Path, file: Option<Identity>) -> Self {
        open().push(path.to_owned());
        Self(path.to_owned(), file)
    }

    /// Refuses where the path names another file by now: connections that were opened before read the old one, those that
    /// are opened next the new one, and what is kept in memory would be taken for either. A file that is gone is read on.
    pub(super) fn require_same_file(&self) -> Result<()> {
        let Self(path, file) = self;
        if Identity::of(path).is_none_or(|now| Some(now) == *file) {
            return Ok(());
        }
        Err(Error::Refused {
            code: "store_replaced",
            message: format!("another file has taken the place of {} since it was opened", path.display()),
            hint: "open the store again".to_owned(),
        })
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let mut open = open();
        if let Some(at) = open.iter().position(|path| *path == self.0) {
            open.swap_remove(at);
        }
    }
}

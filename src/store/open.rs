//! The stores that this process has open. A process that opens one of SQLite's files by itself gives up all its locks on it
//! when it closes it, whoever in the process holds them: whatever reads other files leaves these out.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Each as often as it is open.
static OPEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn open() -> MutexGuard<'static, Vec<PathBuf>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The paths of all open stores.
pub(crate) fn paths() -> Vec<PathBuf> {
    open().clone()
}

/// Says that a store is open for as long as it lives.
pub(super) struct Opened(PathBuf);

impl Opened {
    pub(super) fn new(path: &Path) -> Self {
        open().push(path.to_owned());
        Self(path.to_owned())
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

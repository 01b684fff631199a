//! The only reader of corpus files. Lists a source's folder and reads its files, without ever following a link,
//! leaving the folder, waiting on a pipe or opening a file of a store that is open.
//!
//! Owns what is refused and why (each refusal is a [`Failure`] with a code of [`super::code`]). Knows nothing of
//! the store but the identities of its files, and nothing of what a document's text means.
//!
//! The root is opened once and held: everything is opened beneath that descriptor, so a root or folder that is
//! replaced meanwhile can't lead a sync elsewhere.

mod beneath;
mod read;
mod select;
mod stamps;
#[cfg(test)]
mod tests;
mod walk;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use rustix::fs::Stat;
use rustix::io::Errno;

use self::beneath::Beneath;
use crate::error::{Error, Failure, Result};
use crate::store::connect::own_files;
use crate::store::open;

pub(crate) use read::SourceText;
pub(crate) use select::{BadPattern, Patterns, Selection};
pub(crate) use stamps::Stamps;

/// A file's identity, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// The identities of the files of all stores that this process has open: each database and what its engine keeps
    /// beside it. Nothing is opened.
    fn of_open_stores() -> Result<Vec<Self>> {
        Self::of_stores(&open::paths())
    }

    fn of_stores(databases: &[PathBuf]) -> Result<Vec<Self>> {
        let mut ids = Vec::new();
        for path in databases.iter().flat_map(|database| own_files(database)) {
            match rustix::fs::stat(&path) {
                Ok(stat) => ids.push(Self::of(&stat)),
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(error) => return Err(Error::io(path, error.into())),
            }
        }
        Ok(ids)
    }

    #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast, clippy::cast_lossless)]
    fn of(stat: &Stat) -> Self {
        Self { device: stat.st_dev as u64, inode: stat.st_ino as u64 }
    }
}

/// A file that belongs to a source and looks readable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundFile {
    /// The path below the root, as stored by the file system, with `/` separators.
    pub path: String,
    /// Its stamps when it was listed.
    pub stamps: Stamps,
}

/// What a walk found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    /// The source's files, sorted by path (as bytes).
    pub files: Vec<FoundFile>,
    /// What was refused, sorted by path and code. A path that failed, and all that lies below it, is not known to
    /// be gone: only what is neither found nor covered by a failure is proven absent. The root is `.`.
    pub failures: Vec<Failure>,
    /// Folders without any entry, sorted: this is also what the place of a file system that is not mounted
    /// looks like.
    pub empty_folders: Vec<String>,
}

/// A source's folder, open for listing and reading. Workers share it.
pub(crate) struct SourceReader {
    root: Beneath,
    store_files: Vec<FileId>,
    max_file_bytes: u64,
}

impl SourceReader {
    /// Opens the folder `path` (relative; `.` for `base` itself) beneath `base`. `base` is what the user named
    /// and may be reached through links; from there on no link is followed. The files of all stores that are open are
    /// left out, whichever store it is for.
    ///
    /// # Errors
    /// [`Error::Refused`] with `root_missing`, `root_not_folder`, `root_symlink` or `root_unreadable`.
    pub fn open(base: &Path, path: &str, max_file_bytes: u64) -> Result<Self> {
        let shown = if path == "." { base.to_path_buf() } else { base.join(path) };
        let root = Beneath::open(base)
            .and_then(|base| if path == "." { Ok(base) } else { base.descend(path.as_bytes()) })
            .map_err(|error| refuse_root(&shown, error))?;
        Ok(Self { root, store_files: FileId::of_open_stores()?, max_file_bytes })
    }

    /// Lists the files that `selection` takes.
    pub fn list(&self, selection: &Selection) -> Listing {
        walk::list(self, selection)
    }
}

fn refuse_root(root: &Path, error: Errno) -> Error {
    let (code, what, hint) = match error {
        Errno::NOENT => ("root_missing", "does not exist".to_owned(), "create or mount it, or mend its path"),
        Errno::NOTDIR => ("root_not_folder", "is not a folder".to_owned(), "name the folder that holds the files"),
        Errno::LOOP => (
            "root_symlink",
            "is reached through a symbolic link".to_owned(),
            "declare the folder that the link points to; links below the configuration's folder are not followed",
        ),
        error => ("root_unreadable", format!("can't be opened: {}", reason(error)), "allow it to be read"),
    };
    Error::Refused {
        code,
        message: format!("the source folder {} {what}; nothing was changed", root.display()),
        hint: hint.into(),
    }
}

/// The operating system's words for an error.
fn reason(error: Errno) -> String {
    std::io::Error::from(error).to_string()
}

/// A path for people: bytes that are not UTF-8 and control characters are escaped.
fn shown(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() {
                text.extend(character.escape_default());
            } else {
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string can't fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

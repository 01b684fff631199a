//! `backup`: a copy of the store under another name, checked before it has that name.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::access::{Scope, Seen};
use crate::check;
use crate::error::{Error, Result};
use crate::model::{Digest, Principal};
use crate::store::fresh::Fresh;
use crate::store::{Store, absolute, chunks, connect, documents, generations};

/// What [`Store::backup`] made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupReport {
    /// The copy: an absolute path.
    pub path: PathBuf,
    /// Its newest generation; `None` where nothing was ever published.
    pub generation: Option<u64>,
    /// The digest of that generation.
    pub generation_digest: Option<Digest>,
    /// Its documents.
    pub documents: u64,
    /// Its chunks.
    pub chunks: u64,
    /// Its size.
    pub bytes: u64,
}

impl Store {
    /// Copies the store as it is at one moment to `to`, where nothing may be yet. Others read and write meanwhile. The
    /// copy gets its name after SQLite found its file sound, its schema is the right one, its policy can be read, and every generation's digest
    /// was computed again from its rows; its newest generation is one of this store. It is its owner's alone, and as
    /// good a store as this one.
    ///
    /// # Errors
    /// [`Error::StoreExists`] where something has that name, or the name of a log of such a store; [`Error::Io`] where
    /// the folder can't be written; [`Error::Refused`] with `backup_unsound` where the copy fails a check. Nothing is
    /// left behind then.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<BackupReport> {
        let to = target(self.path(), to.as_ref())?;
        if self.require_writable().is_ok() {
            // The copy has no free pages in any case; what can't be done now is done later.
            let _ = self.finish_purge();
        }
        let new = Fresh::beside(&to, ".ragdb-backup-")?;
        let (head, documents, chunks) = self.copy_into(new.path(), |copy| {
            let failed = check::of_copy(copy).into_iter().find(|check| !check.ok);
            if let Some(failed) = failed {
                return Err(unsound(&to, &failed.problems.join("; ")));
            }
            let all = Scope::of(copy, &Principal::operator(), Seen::Stored)?;
            let (documents, chunks) =
                (documents::count_in(copy, all.classes())?, chunks::count_in(copy, all.classes())?);
            Ok((generations::head(copy)?, documents, chunks))
        })?;
        if let Some(head) = &head {
            let known = self.read(|conn| generations::get(conn, head.number))?;
            if known.digest != head.digest {
                return Err(unsound(&to, &format!("its generation {} has another digest", head.number)));
            }
        }
        let bytes = give_name(new, &to)?;
        let (generation, generation_digest) = head.map(|head| (head.number, head.digest)).unzip();
        Ok(BackupReport { path: to, generation, generation_digest, documents, chunks, bytes })
    }
}

/// The absolute path of the copy. Nothing has that name, and nothing would be taken for its log.
fn target(store: &Path, to: &Path) -> Result<PathBuf> {
    let path = absolute(to)?;
    if connect::own_files(store).contains(&path) {
        let message = format!("{} belongs to the store itself; give the copy another name", path.display());
        return Err(Error::Invalid { message });
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    if !folder.is_dir() {
        let missing = std::io::Error::new(std::io::ErrorKind::NotFound, "there is no such folder");
        return Err(Error::io(folder, missing));
    }
    // Also a link that leads nowhere. SQLite would read a log that was left beside the name into the copy.
    match connect::own_files(&path).into_iter().find(|name| std::fs::symlink_metadata(name).is_ok()) {
        Some(taken) => Err(Error::StoreExists { path: taken }),
        None => Ok(path),
    }
}

/// Gives the finished copy its name, and returns its size when both are on the disk.
fn give_name(new: Fresh, to: &Path) -> Result<u64> {
    let folder = to.parent().unwrap_or(Path::new("/"));
    let failed = |error| Error::io(to, error);
    // It is closed, and no other process knows its name: this takes no lock of SQLite's away.
    let file = File::open(new.path()).map_err(failed)?;
    let bytes = file.sync_all().and_then(|()| file.metadata()).map_err(failed)?.len();
    drop(file);
    new.persist(to)?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| Error::io(folder, error))?;
    Ok(bytes)
}

fn unsound(to: &Path, why: &str) -> Error {
    Error::Refused {
        code: "backup_unsound",
        message: format!("the copy for {} is not sound and was removed: {why}", to.display()),
        hint: "run `ragdb check`; the store or the disk may be damaged".into(),
    }
}

//! The page cache, and how to get files out of it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use crate::Result;

/// Drops what the page cache holds of these files. What a process has mapped stays.
pub fn drop_files(files: &[PathBuf]) -> Result<()> {
    for path in files {
        let file = File::open(path)?;
        file.sync_all()?;
        posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
    }
    Ok(())
}

/// The same with all that the system holds in its cache, programs as well: where dropping file by file does nothing, as
/// on some file systems, and this is allowed.
pub fn drop_all(files: &[PathBuf]) -> Result<()> {
    drop_files(files)?;
    Ok(fs::write("/proc/sys/vm/drop_caches", "1")?)
}

/// Reads these files, so that the page cache holds them.
pub fn fill(files: &[PathBuf]) -> Result<()> {
    for path in files {
        std::io::copy(&mut File::open(path)?, &mut std::io::sink())?;
    }
    Ok(())
}

/// The files in `folder`, or `folder` itself where it is a file, with all that begin with its name: a database's log.
pub fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let (folder, prefix) = if path.is_dir() {
        (path, String::new())
    } else {
        let name = path.file_name().ok_or("a file without a name")?;
        (path.parent().ok_or("a file without a folder")?, name.to_string_lossy().into_owned())
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() && entry.file_name().to_string_lossy().starts_with(&prefix) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_has_its_log_and_a_folder_its_files() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.db", "a.db-wal", "b.db"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        let database = files(&folder.path().join("a.db")).unwrap();
        assert_eq!(database, [folder.path().join("a.db"), folder.path().join("a.db-wal")]);
        assert_eq!(files(folder.path()).unwrap().len(), 3);
        drop_files(&database).unwrap();
        fill(&database).unwrap();
    }
}

//! Files that a user names beside the store: read whole with a limit, written whole or not at all.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ragdb::Error;

use crate::exit::Stop;

/// The longest file that is read.
const LONGEST: u64 = 16 << 20;

/// The text of a file.
pub fn read(path: &Path) -> Result<String, Stop> {
    let file = File::open(path).map_err(|source| Error::Io { path: path.to_path_buf(), source })?;
    read_from(file, path)
}

/// The text of a file, or of standard input for no path and for `-`.
pub fn read_or_stdin(path: Option<&Path>) -> Result<String, Stop> {
    match path {
        Some(path) if path != Path::new("-") => read(path),
        _ => read_from(io::stdin().lock(), Path::new("standard input")),
    }
}

fn read_from(file: impl Read, name: &Path) -> Result<String, Stop> {
    let mut bytes = Vec::new();
    let read = file.take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(|source| Error::Io { path: name.to_path_buf(), source })?;
    let invalid = |what: String| Stop::Ragdb(Error::Invalid { message: format!("{} {what}", name.display()) });
    if bytes.len() as u64 > LONGEST {
        return Err(invalid(format!("is larger than {LONGEST} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| invalid(format!("is not UTF-8: {}", error.utf8_error())))
}

/// Writes a line of text to a file, over the one that may be there, or through what is no regular file, but never over a
/// file of the store. `option` is what named it.
pub fn write(path: &Path, text: &str, option: &str, db: &Path) -> Result<(), Stop> {
    let identity = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let own = ["", "-wal", "-shm", "-journal"].map(|suffix| {
        let mut name = db.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    });
    if own.iter().any(|own| identity(own).is_some_and(|own| identity(path) == Some(own))) {
        return Err(Stop::Usage(format!("{} belongs to the store; give {option} another name", path.display())));
    }
    put(path, text).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    Ok(())
}

/// Puts a line of text where a path leads: in place of a regular file or of none in one step, and through anything else,
/// such as a device or a pipe. A link stays, and what it leads to is treated so.
fn put(path: &Path, text: &str) -> io::Result<()> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
    // A link that leads nowhere is no place for a file.
    let path = if is_link { fs::canonicalize(path)? } else { path.to_owned() };
    let old = match fs::metadata(&path) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if old.as_ref().is_some_and(fs::Metadata::is_dir) {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder; name a file"));
    }
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        let mut file = File::options().write(true).open(&path)?;
        return file.write_all(format!("{text}\n").as_bytes());
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    writeln!(file, "{text}")?;
    if let Some(old) = old {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(&path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_regular_file_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old and longer").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        put(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        put(&folder.path().join("b"), "new").unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("b")).unwrap(), "new\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_link_stays_and_its_target_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let [target, link, lost] = ["target", "link", "lost"].map(|name| folder.path().join(name));
        fs::write(&target, "old").unwrap();
        symlink("target", &link).unwrap();
        put(&link, "new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "new\n");
        symlink("nowhere", &lost).unwrap();
        assert_eq!(put(&lost, "new").map_err(|error| error.kind()), Err(io::ErrorKind::NotFound));
        assert!(fs::symlink_metadata(&lost).unwrap().is_symlink());
    }

    #[test]
    fn a_pipe_is_written_through_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let [pipe, link] = ["pipe", "link"].map(|name| folder.path().join(name));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        symlink(&pipe, &link).unwrap();
        for path in [&pipe, &link] {
            let from = pipe.clone();
            let reader = std::thread::spawn(move || fs::read_to_string(from).unwrap());
            put(path, "line").unwrap();
            assert_eq!(reader.join().unwrap(), "line\n");
            assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
        }
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = put(folder.path(), "text").unwrap_err();
        assert_eq!(refused.to_string(), "it is a folder; name a file");
    }
}

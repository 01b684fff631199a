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

/// Writes a line of text to a file, over the one that may be there, but never over a file of the store. `option` is what
/// named it.
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
    let failed = |error: io::Error| Error::Io { path: path.to_owned(), source: error };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    writeln!(file, "{text}").and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

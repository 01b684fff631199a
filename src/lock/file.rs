//! `ragdb.lock`: one line of JSON a citation, sorted, so that a change of it reads well and merges. And writing files
//! so that they are old or new, never half.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::ingest::source::SourceReader;
use crate::model::Digest;

/// The name of the file, in the folder whose citations it locks.
pub(super) const NAME: &str = "ragdb.lock";
/// The version of the form that this build reads and writes.
const FORMAT: u32 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    format: u32,
    citations: Vec<Line>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    document: String,
    citation: String,
    source_id: String,
    path: String,
    start_line: u32,
    end_line: u32,
    sha256: String,
}

/// What a citation showed when it was locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub source_id: String,
    pub path: String,
    pub lines: (u32, u32),
    pub hash: Digest,
}

/// What is locked, by document and by the citation as it stands there.
pub(super) type Lock = BTreeMap<(String, String), Entry>;

/// Reads the lock of a folder.
pub(super) fn read(folder: &Path, reader: &SourceReader) -> Result<Lock> {
    let path = folder.join(NAME);
    let bad = |what: &str| Error::Invalid { message: format!("{} is no lock of this ragdb: {what}", path.display()) };
    if fs::symlink_metadata(&path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        let what = format!("{}; `ragdb cite lock {}` writes it", path.display(), folder.display());
        return Err(Error::NotFound { what });
    }
    let text = reader.read(NAME).map_err(|failure| bad(&format!("it {}", failure.message)))?.text;
    let form: Form = serde_json::from_str(&text).map_err(|error| bad(&error.to_string()))?;
    if form.format != FORMAT {
        return Err(bad(&format!("its format is {}, not {FORMAT}", form.format)));
    }
    let mut lock = Lock::new();
    for line in form.citations {
        let hash = Digest::parse(&line.sha256).ok_or_else(|| bad(&format!("{:?} is no SHA-256", line.sha256)))?;
        let lines = (line.start_line, line.end_line);
        let entry = Entry { source_id: line.source_id, path: line.path, lines, hash };
        let key = (line.document, line.citation);
        if let Some((key, _)) = lock.get_key_value(&key) {
            return Err(bad(&format!("it has {} of {} twice", key.1, key.0)));
        }
        lock.insert(key, entry);
    }
    Ok(lock)
}

/// Writes the lock of a folder.
pub(super) fn write(folder: &Path, lock: &Lock) -> Result<()> {
    let path = folder.join(NAME);
    let lines = lock.iter().map(|((document, citation), entry)| {
        serde_json::to_string(&Line {
            document: document.clone(),
            citation: citation.clone(),
            source_id: entry.source_id.clone(),
            path: entry.path.clone(),
            start_line: entry.lines.0,
            end_line: entry.lines.1,
            sha256: entry.hash.to_string(),
        })
    });
    let lines: Vec<String> =
        lines.collect::<std::result::Result<_, _>>().map_err(|error| Error::io(&path, error.into()))?;
    let text = if lines.is_empty() {
        format!("{{\"format\": {FORMAT}, \"citations\": []}}\n")
    } else {
        format!("{{\"format\": {FORMAT}, \"citations\": [\n{}\n]}}\n", lines.join(",\n"))
    };
    replace(&path, &text, || Ok(()))
}

/// Makes `text` the content of a file: written beside it, flushed, and put in its place in one step. `still` is asked
/// right before that.
pub(super) fn replace(path: &Path, text: &str, still: impl FnOnce() -> Result<()>) -> Result<()> {
    let io = |source| Error::io(path, source);
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".ragdb-").tempfile_in(folder).map_err(io)?;
    file.write_all(text.as_bytes()).map_err(io)?;
    match fs::symlink_metadata(path) {
        Ok(old) => file.as_file().set_permissions(old.permissions()).map_err(io)?,
        Err(_) => file.as_file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644)).map_err(io)?,
    }
    file.as_file().sync_all().map_err(io)?;
    still()?;
    file.persist(path).map_err(|error| io(error.error))?;
    Ok(())
}

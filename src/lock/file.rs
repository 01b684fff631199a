//! `ragdb.lock`: one line of JSON a citation, sorted, so that a change of it reads well and merges. And writing files
//! so that they are old or new, never half.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
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
    /// Documents that were about to be rewritten when this was written.
    #[serde(default)]
    rewritten: Vec<Rewritten>,
}

/// What holds for a document in place of its citations above once it has the text with this hash.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rewritten {
    document: String,
    sha256: String,
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

/// A document that is about to be rewritten: its path, its text then, and what is locked of it then.
pub(super) struct Change {
    pub document: String,
    pub text: String,
    pub lock: Lock,
}

/// Reads the lock of a folder, and whether it was written before a rewriting that did not come to its end.
pub(super) fn read(folder: &Path, reader: &SourceReader) -> Result<(Lock, bool)> {
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
    let mut lock = entries(form.citations).map_err(|what| bad(&what))?;
    let unfinished = !form.rewritten.is_empty();
    for it in form.rewritten {
        let hash = Digest::parse(&it.sha256).ok_or_else(|| bad(&format!("{:?} is no SHA-256", it.sha256)))?;
        let new = entries(it.citations).map_err(|what| bad(&what))?;
        if new.keys().any(|(document, _)| *document != it.document) {
            return Err(bad(&format!("what it has of {} is of another document", it.document)));
        }
        if reader.read(&it.document).is_ok_and(|now| Digest::of(&now.text) == hash) {
            lock.retain(|(document, _), _| *document != it.document);
        }
        // A document that was edited since has what it had, and what is only in its new text.
        for (key, entry) in new {
            lock.entry(key).or_insert(entry);
        }
    }
    Ok((lock, unfinished))
}

fn entries(lines: Vec<Line>) -> std::result::Result<Lock, String> {
    let mut lock = Lock::new();
    for line in lines {
        let hash = Digest::parse(&line.sha256).ok_or_else(|| format!("{:?} is no SHA-256", line.sha256))?;
        let lines = (line.start_line, line.end_line);
        let entry = Entry { source_id: line.source_id, path: line.path, lines, hash };
        let key = (line.document, line.citation);
        if lock.contains_key(&key) {
            return Err(format!("it has {} of {} twice", key.1, key.0));
        }
        lock.insert(key, entry);
    }
    Ok(lock)
}

fn line(((document, citation), entry): (&(String, String), &Entry)) -> Line {
    Line {
        document: document.clone(),
        citation: citation.clone(),
        source_id: entry.source_id.clone(),
        path: entry.path.clone(),
        start_line: entry.lines.0,
        end_line: entry.lines.1,
        sha256: entry.hash.to_string(),
    }
}

/// Writes the lock of a folder, with what holds once `changes` are made.
pub(super) fn write(folder: &Path, lock: &Lock, changes: &[Change]) -> Result<()> {
    let path = folder.join(NAME);
    let failed = |error: serde_json::Error| Error::io(&path, error.into());
    let json = |it: (&(String, String), &Entry)| serde_json::to_string(&line(it)).map_err(failed);
    let lines: Vec<String> = lock.iter().map(json).collect::<Result<_>>()?;
    let list = if lines.is_empty() { "[]".to_owned() } else { format!("[\n{}\n]", lines.join(",\n")) };
    let mut rewritten = String::new();
    if !changes.is_empty() {
        let form = |change: &Change| Rewritten {
            document: change.document.clone(),
            sha256: Digest::of(&change.text).to_string(),
            citations: change.lock.iter().map(line).collect(),
        };
        let form: Vec<Rewritten> = changes.iter().map(form).collect();
        rewritten = format!(", \"rewritten\": {}", serde_json::to_string(&form).map_err(failed)?);
    }
    replace(&path, &format!("{{\"format\": {FORMAT}, \"citations\": {list}{rewritten}}}\n"), || Ok(()))
}

/// What would be lost or overridden if a file were replaced: a link, a second name of the file, its write protection.
pub(super) fn replaceable(path: &Path) -> Result<Option<fs::Permissions>> {
    let old = match fs::symlink_metadata(path) {
        Ok(old) => old,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io(path, error)),
    };
    let what = match () {
        () if old.is_symlink() => "is a symbolic link",
        () if !old.is_file() => "is no regular file",
        () if old.nlink() > 1 => "has more than one name (hard links)",
        () if old.mode() & 0o222 == 0 => "is read-only",
        () => return Ok(Some(old.permissions())),
    };
    Err(Error::Refused {
        code: "not_replaceable",
        message: format!("{} {what}; it was left as it is", path.display()),
        hint: "put a regular, writable file in its place, or change it by hand".into(),
    })
}

/// Makes `text` the content of a file: written beside it, flushed, and put in its place in one step. `still` is asked
/// right before that.
pub(super) fn replace(path: &Path, text: &str, still: impl FnOnce() -> Result<()>) -> Result<()> {
    let io = |source| Error::io(path, source);
    let permissions = replaceable(path)?.unwrap_or_else(|| fs::Permissions::from_mode(0o644));
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".ragdb-").tempfile_in(folder).map_err(io)?;
    file.write_all(text.as_bytes()).map_err(io)?;
    file.as_file().set_permissions(permissions).map_err(io)?;
    file.as_file().sync_all().map_err(io)?;
    still()?;
    file.persist(path).map_err(|error| io(error.error))?;
    Ok(())
}

//! `cite lock` and `cite check`: the `path#L3-L6` citations of a folder of prose, held to what they showed.
//!
//! The lock is `ragdb.lock` in that folder. It has the SHA-256 of the cited lines, so that any later change of the
//! cited file shows, also one that was synced since. Which document a citation means comes from the store, what it shows
//! from the source file as it is now.

mod file;
mod lines;
mod mentions;
mod places;
mod rewrite;
mod types;

use std::path::{Path, PathBuf};

use crate::access::Seen;
use crate::cite::CiteStatus;
use crate::error::{Error, Failure, Result};
use crate::ingest::source::{Selection, SourceReader};
use crate::model::Principal;
use crate::store::Store;
use file::{Entry, Lock, NAME};
use lines::Found;
use mentions::{Mention, mentions};
use places::{Places, Target};
use rewrite::rewrite;

pub use types::{LinkStatus, LockReport, LockedLink, Reanchored};

/// A larger document or lock is refused.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A folder of prose that was read.
struct Prose {
    reader: SourceReader,
    /// The folder without links, for what is relative to it.
    root: PathBuf,
    documents: Vec<Document>,
    /// The documents and folders that could not be read.
    unread: Vec<String>,
}

impl Prose {
    /// Whether nothing is known of a document because it, or a folder that it lies in, could not be read.
    fn is_unread(&self, document: &str) -> bool {
        self.unread.iter().any(|path| {
            let below = document.strip_prefix(path.as_str());
            path == "." || path.is_empty() || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

struct Document {
    path: String,
    text: String,
    mentions: Vec<Mention>,
}

impl Store {
    /// Writes `ragdb.lock` in each folder: what the citations in its Markdown files show now. A citation that does not
    /// stand in the store as it does in the source file is reported, and what the lock had of it stays; so does what it
    /// had of a document that can't be read. A citation of blank lines is not locked.
    ///
    /// # Errors
    /// [`Error::Refused`] where a folder can't be opened or its lock is not to be replaced, [`Error::Invalid`] where its
    /// lock can't be read, [`Error::Io`] where a lock can't be written.
    pub fn lock_citations(&self, principal: &Principal, folders: &[PathBuf]) -> Result<LockReport> {
        self.read_as(principal, Seen::Stored, |conn, scope| {
            lock_all(&mut Places::new(self, principal, conn, scope)?, folders)
        })
    }

    /// Compares what the citations of each folder show with its `ragdb.lock`. With `reanchor`, the line numbers of those
    /// whose lines moved are changed in the documents and in the lock; nothing else of a document is.
    ///
    /// # Errors
    /// [`Error::NotFound`] where a folder has no lock, [`Error::Invalid`] where it can't be read; [`Error::Refused`] with
    /// `document_changed` where a document changed while it was to be rewritten, [`Error::Io`] where it can't be.
    pub fn check_citations(&self, principal: &Principal, folders: &[PathBuf], reanchor: bool) -> Result<LockReport> {
        self.read_as(principal, Seen::Stored, |conn, scope| {
            let report = check_all(&mut Places::new(self, principal, conn, scope)?, folders, reanchor)?;
            if report.reanchored.is_empty() {
                return Ok(report);
            }
            // A document that was rewritten may itself be cited.
            let after = check_all(&mut Places::new(self, principal, conn, scope)?, folders, false)?;
            Ok(LockReport { reanchored: report.reanchored, ..after })
        })
    }
}

fn lock_all(places: &mut Places<'_>, folders: &[PathBuf]) -> Result<LockReport> {
    let mut report = LockReport::default();
    for folder in folders {
        let prose = prose(folder, &mut report)?;
        let old = match file::read(folder, &prose.reader) {
            Ok((old, _)) => old,
            Err(Error::NotFound { .. }) => Lock::new(),
            Err(error) => return Err(error),
        };
        let unread = old.iter().filter(|((document, _), _)| prose.is_unread(document));
        let mut lock: Lock = unread.map(|(key, entry)| (key.clone(), entry.clone())).collect();
        for document in &prose.documents {
            let base = folder_of(&prose.root, &document.path);
            for mention in &document.mentions {
                let mut link = link(folder, &document.path, mention);
                let key = (document.path.clone(), mention.written.clone());
                if let Some(entry) = locked(mention, &base, places, &mut link)? {
                    lock.insert(key, entry);
                } else if link.status != LinkStatus::Unlocked
                    && let Some(entry) = old.get(&key)
                {
                    link.detail.push_str("; the lock keeps what it had");
                    lock.insert(key, entry.clone());
                }
                report.links.push(link);
            }
        }
        file::write(folder, &lock, &[])?;
    }
    Ok(report)
}

fn check_all(places: &mut Places<'_>, folders: &[PathBuf], reanchor: bool) -> Result<LockReport> {
    let mut report = LockReport::default();
    for folder in folders {
        let prose = prose(folder, &mut report)?;
        let (lock, unfinished) = file::read(folder, &prose.reader)?;
        let from = report.links.len();
        for document in &prose.documents {
            let base = folder_of(&prose.root, &document.path);
            for mention in &document.mentions {
                let mut link = link(folder, &document.path, mention);
                let entry = lock.get(&(document.path.clone(), mention.written.clone()));
                judge(mention, entry, &base, places, &mut link)?;
                report.links.push(link);
            }
        }
        if reanchor {
            let links = report.links.get(from..).unwrap_or_default();
            let changed = rewrite(folder, &prose, (lock, unfinished), links)?;
            report.reanchored.extend(changed);
        } else {
            report.links.extend(unused(folder, &prose, &lock));
        }
    }
    Ok(report)
}

/// The Markdown files of a folder.
fn prose(folder: &Path, report: &mut LockReport) -> Result<Prose> {
    let reader = SourceReader::open(folder, ".", MAX_FILE_BYTES)?;
    let root = folder.canonicalize().map_err(|error| Error::io(folder, error))?;
    let listing = reader.list(&Selection::default());
    let mut unread: Vec<String> = listing.failures.iter().map(|failure| failure.path.clone()).collect();
    let named = |failure: Failure| Failure { source_id: folder.display().to_string(), ..failure };
    report.failures.extend(listing.failures.into_iter().map(named));
    let mut documents = Vec::new();
    for found in listing.files {
        match reader.read(&found.path) {
            Ok(read) => {
                let mentions = mentions(&read.text);
                documents.push(Document { path: found.path, text: read.text, mentions });
            }
            Err(failure) => {
                unread.push(found.path);
                report.failures.push(named(failure));
            }
        }
    }
    report.documents += documents.len() as u64;
    Ok(Prose { reader, root, documents, unread })
}

/// What is locked of a citation; nothing where it does not stand.
fn locked(mention: &Mention, base: &Path, places: &mut Places<'_>, link: &mut LockedLink) -> Result<Option<Entry>> {
    let row = match places.resolve(mention, base)? {
        Target::Document(row) => row,
        Target::None(status, detail) => {
            link.fail(status, detail);
            return Ok(None);
        }
    };
    link.name(&row.source_id, &row.path);
    let (status, lines, detail) = places.standing(&row, mention.lines)?;
    if status != CiteStatus::Current {
        link.fail(status, detail);
        link.lines = lines.or(link.lines);
        return Ok(None);
    }
    let file = places.file(&row)?.ok();
    if file.as_ref().is_some_and(|file| file.is_blank(mention.lines)) {
        link.status = LinkStatus::Unlocked;
        "the cited lines are blank and show nothing; cite lines with text".clone_into(&mut link.detail);
        return Ok(None);
    }
    let Some(hash) = file.and_then(|file| file.hash_of(mention.lines)) else {
        link.fail(CiteStatus::Stale, "the source file changed while it was read".to_owned());
        return Ok(None);
    };
    link.content_hash = Some(hash);
    Ok(Some(Entry { source_id: row.source_id, path: row.path, lines: mention.lines, hash }))
}

/// A citation that holds, until something is found.
fn link(folder: &Path, document: &str, mention: &Mention) -> LockedLink {
    LockedLink {
        folder: folder.to_owned(),
        document: document.to_owned(),
        line: Some(mention.at_line),
        citation: mention.written.clone(),
        status: LinkStatus::Current,
        source_id: None,
        path: None,
        lines: Some(mention.lines),
        content_hash: None,
        detail: "the lines are those that were locked".to_owned(),
    }
}

/// Compares what a citation shows with what it showed.
fn judge(
    mention: &Mention,
    entry: Option<&Entry>,
    base: &Path,
    places: &mut Places<'_>,
    link: &mut LockedLink,
) -> Result<()> {
    link.content_hash = entry.map(|entry| entry.hash);
    let row = match places.resolve(mention, base)? {
        Target::Document(row) => row,
        Target::None(status, detail) => {
            link.fail(status, detail);
            return Ok(());
        }
    };
    link.name(&row.source_id, &row.path);
    let Some(entry) = entry else {
        link.status = LinkStatus::Unlocked;
        link.detail = format!("it is not in {NAME}");
        return Ok(());
    };
    let file = match places.file(&row)? {
        Ok(file) => file,
        Err(why) => {
            link.fail(CiteStatus::Stale, format!("the source file can't be compared: {why}"));
            return Ok(());
        }
    };
    if file.hash_of(mention.lines) == Some(entry.hash) {
        return Ok(());
    }
    match file.find(mention.lines, &entry.hash) {
        Found::Once(lines) => {
            link.fail(CiteStatus::Moved, format!("the lines are at L{}-L{} now", lines.0, lines.1));
            link.lines = Some(lines);
        }
        Found::Places(1) => {
            let detail = "the lines are at 1 place now and say too little to be followed; change the citation by hand";
            link.fail(CiteStatus::Moved, detail.to_owned());
        }
        Found::Places(count) => {
            link.fail(CiteStatus::Moved, format!("the lines are at {count} places now; change the citation by hand"));
        }
        Found::Nowhere => {
            link.fail(CiteStatus::Stale, "the source file no longer has the lines that were locked".to_owned());
        }
        Found::TooLong => {
            let detail = "the source file has other lines there now; finding the locked ones would take too long";
            link.fail(CiteStatus::Stale, detail.to_owned());
        }
    }
    Ok(())
}

/// What a lock has that the documents do not.
fn unused(folder: &Path, prose: &Prose, lock: &Lock) -> Vec<LockedLink> {
    let written: std::collections::HashSet<(&str, &str)> = prose
        .documents
        .iter()
        .flat_map(|document| document.mentions.iter().map(|mention| (document.path.as_str(), mention.written.as_str())))
        .collect();
    let unused = lock
        .iter()
        .filter(|((document, citation), _)| !written.contains(&(document, citation)) && !prose.is_unread(document));
    unused
        .map(|((document, citation), entry)| LockedLink {
            folder: folder.to_owned(),
            document: document.clone(),
            line: None,
            citation: citation.clone(),
            status: LinkStatus::Unused,
            source_id: Some(entry.source_id.clone()),
            path: Some(entry.path.clone()),
            lines: Some(entry.lines),
            content_hash: Some(entry.hash),
            detail: "the document does not have this citation any more".to_owned(),
        })
        .collect()
}

/// The folder that a document lies in.
fn folder_of(root: &Path, document: &str) -> PathBuf {
    let path = root.join(document);
    path.parent().map_or_else(|| root.to_owned(), Path::to_owned)
}

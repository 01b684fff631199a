//! `cite lock` and `cite check`: the `path#L3-L6` citations of a folder of prose, held to what they showed.
//!
//! The lock is `ragdb.lock` in that folder. It has the SHA-256 of the cited lines, so that any later change of the
//! cited file shows, also one that was synced since. Which document a citation means comes from the store, what it shows
//! from the source file as it is now.

mod file;
mod mentions;
mod places;
mod rewrite;
mod types;

use std::path::{Path, PathBuf};

use crate::cite::{CiteStatus, split_lines};
use crate::error::{Error, Failure, Result};
use crate::ingest::source::{FileId, Selection, SourceReader};
use crate::store::Store;
use file::{Entry, Lock, NAME};
use mentions::{Mention, mentions};
use places::{Places, Target, find, hash_of};
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
}

struct Document {
    path: String,
    text: String,
    mentions: Vec<Mention>,
}

impl Store {
    /// Writes `ragdb.lock` in each folder: what the citations in its Markdown files show now. A citation that does not
    /// stand in the store as it does in the source file is reported and not locked.
    ///
    /// # Errors
    /// [`Error::Refused`] where a folder can't be opened, [`Error::Io`] where a lock can't be written.
    pub fn lock_citations(&self, folders: &[PathBuf]) -> Result<LockReport> {
        let mut report = LockReport::default();
        let mut places = Places::new(self)?;
        for folder in folders {
            let prose = self.prose(folder, &mut report)?;
            let mut lock = Lock::new();
            for document in &prose.documents {
                let base = folder_of(&prose.root, &document.path);
                for mention in &document.mentions {
                    let mut link = link(folder, &document.path, mention);
                    if let Some(entry) = self.locked(mention, &base, &mut places, &mut link)? {
                        lock.insert((document.path.clone(), mention.written.clone()), entry);
                    }
                    report.links.push(link);
                }
            }
            file::write(folder, &lock)?;
        }
        Ok(report)
    }

    /// Compares what the citations of each folder show with its `ragdb.lock`. With `reanchor`, the line numbers of those
    /// whose lines moved are changed in the documents and in the lock; nothing else of a document is.
    ///
    /// # Errors
    /// [`Error::NotFound`] where a folder has no lock, [`Error::Invalid`] where it can't be read; [`Error::Refused`] with
    /// `document_changed` where a document changed while it was to be rewritten, [`Error::Io`] where it can't be.
    pub fn check_citations(&self, folders: &[PathBuf], reanchor: bool) -> Result<LockReport> {
        let mut report = LockReport::default();
        let mut places = Places::new(self)?;
        for folder in folders {
            let prose = self.prose(folder, &mut report)?;
            let lock = file::read(folder, &prose.reader)?;
            let from = report.links.len();
            for document in &prose.documents {
                let base = folder_of(&prose.root, &document.path);
                for mention in &document.mentions {
                    let mut link = link(folder, &document.path, mention);
                    let entry = lock.get(&(document.path.clone(), mention.written.clone()));
                    judge(mention, entry, &base, &mut places, &mut link)?;
                    report.links.push(link);
                }
            }
            if reanchor {
                let links = report.links.get(from..).unwrap_or_default();
                let changed = rewrite(folder, &prose, lock, links)?;
                report.reanchored.extend(changed);
            } else {
                report.links.extend(unused(folder, &prose, &lock));
            }
        }
        if report.reanchored.is_empty() {
            return Ok(report);
        }
        // A document that was rewritten may itself be cited.
        Ok(LockReport { reanchored: report.reanchored, ..self.check_citations(folders, false)? })
    }

    /// The Markdown files of a folder.
    fn prose(&self, folder: &Path, report: &mut LockReport) -> Result<Prose> {
        let reader = SourceReader::open(folder, ".", FileId::of_store(self.path())?, MAX_FILE_BYTES)?;
        let root = folder.canonicalize().map_err(|error| Error::io(folder, error))?;
        let listing = reader.list(&Selection::default());
        let named = |failure: Failure| Failure { source_id: folder.display().to_string(), ..failure };
        report.failures.extend(listing.failures.into_iter().map(named));
        let mut documents = Vec::new();
        for found in listing.files {
            match reader.read(&found.path) {
                Ok(read) => {
                    let mentions = mentions(&read.text);
                    documents.push(Document { path: found.path, text: read.text, mentions });
                }
                Err(failure) => report.failures.push(named(failure)),
            }
        }
        report.documents += documents.len() as u64;
        Ok(Prose { reader, root, documents })
    }

    /// What is locked of a citation; nothing where it does not stand.
    fn locked(
        &self,
        mention: &Mention,
        base: &Path,
        places: &mut Places<'_>,
        link: &mut LockedLink,
    ) -> Result<Option<Entry>> {
        let row = match places.resolve(mention, base)? {
            Target::Document(row) => row,
            Target::None(status, detail) => {
                link.fail(status, detail);
                return Ok(None);
            }
        };
        link.name(&row.source_id, &row.path);
        let (first, last) = mention.lines;
        let cited = self.cite(&format!("{}:{}#L{first}-L{last}", row.source_id, row.path))?;
        if cited.status != CiteStatus::Current {
            link.fail(cited.status, cited.detail);
            link.lines = cited.lines.or(link.lines);
            return Ok(None);
        }
        let file: Vec<&str> = places.text(&row)?.map(split_lines).into_iter().flatten().collect();
        let Some(hash) = hash_of(&file, mention.lines) else {
            link.fail(CiteStatus::Stale, "the source file changed while it was read".to_owned());
            return Ok(None);
        };
        link.content_hash = Some(hash);
        Ok(Some(Entry { source_id: row.source_id, path: row.path, lines: mention.lines, hash }))
    }
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
    let text = match places.text(&row)? {
        Ok(text) => text,
        Err(why) => {
            link.fail(CiteStatus::Stale, format!("the source file can't be compared: {why}"));
            return Ok(());
        }
    };
    let file: Vec<&str> = split_lines(text).collect();
    if hash_of(&file, mention.lines) == Some(entry.hash) {
        return Ok(());
    }
    match find(&file, mention.lines, &entry.hash) {
        Some(lines) => {
            link.fail(CiteStatus::Moved, format!("the lines are at L{}-L{} now", lines.0, lines.1));
            link.lines = Some(lines);
        }
        None => link.fail(CiteStatus::Stale, "the source file no longer has the lines that were locked".to_owned()),
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
    let unused = lock.iter().filter(|((document, citation), _)| !written.contains(&(document, citation)));
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

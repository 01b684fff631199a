//! `cite lock` and `cite check`: the `path#L3-L6` citations of a folder of prose, held to what they showed.
//!
//! The lock is `ragdb.lock` in that folder. It has the SHA-256 of the cited lines, so that any later change of the
//! cited file shows, also one that was synced since. Which document a citation means comes from the store, what it shows
//! from the source file as it is now.

mod file;
mod mentions;
mod places;

use std::path::{Path, PathBuf};

use crate::cite::{CiteStatus, split_lines};
use crate::error::{Error, Failure, Result};
use crate::ingest::source::{FileId, Selection, SourceReader};
use crate::model::Digest;
use crate::store::Store;
use file::{Entry, Lock, NAME};
use mentions::{Mention, mentions};
use places::{Places, Target, find, hash_of};

/// A larger document or lock is refused.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// What a citation in a document shows, against what it showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkStatus {
    /// What it showed when it was locked.
    Current,
    /// Something else: what it showed stands at other lines now.
    Moved,
    /// Something else: what it showed does not stand in the file any more, or the file can't be read.
    Stale,
    /// Nothing: the document was deleted from the store.
    Deleted,
    /// Nothing: the store has no such document.
    Unknown,
    /// It is not in the lock.
    Unlocked,
    /// It is in the lock, and not in the prose any more; no fault.
    Unused,
}

impl LinkStatus {
    /// The name in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Moved => "moved",
            Self::Stale => "stale",
            Self::Deleted => "deleted",
            Self::Unknown => "unknown",
            Self::Unlocked => "unlocked",
            Self::Unused => "unused",
        }
    }

    /// Whether a check passes with it.
    #[must_use]
    pub const fn holds(self) -> bool {
        matches!(self, Self::Current | Self::Unused)
    }
}

/// A citation of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedLink {
    /// The folder that was named.
    pub folder: PathBuf,
    /// The document's path in it.
    pub document: String,
    /// The document's line that the citation stands in, from 1; none where it does not any more.
    pub line: Option<u32>,
    /// The citation as it is written.
    pub citation: String,
    /// What it shows.
    pub status: LinkStatus,
    /// The source of the cited document, where there is one.
    pub source_id: Option<String>,
    /// The cited document's path in its source.
    pub path: Option<String>,
    /// The cited lines: where they stand now if they moved, else those that are written.
    pub lines: Option<(u32, u32)>,
    /// The SHA-256 of what it showed when it was locked.
    pub content_hash: Option<Digest>,
    /// The status in words.
    pub detail: String,
}

/// A citation whose lines were changed in its document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reanchored {
    /// The folder that was named.
    pub folder: PathBuf,
    /// The document's path in it.
    pub document: String,
    /// What was written.
    pub from: String,
    /// What is written now.
    pub to: String,
}

/// What came of locking or checking the citations of folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockReport {
    /// Every citation, in the order of the documents.
    pub links: Vec<LockedLink>,
    /// How many documents were read.
    pub documents: u64,
    /// Documents that could not be read.
    pub failures: Vec<Failure>,
    /// What was changed in the documents.
    pub reanchored: Vec<Reanchored>,
}

impl LockReport {
    /// Whether every document could be read and every citation shows what it is to show.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.failures.is_empty() && self.links.iter().all(|link| link.status.holds())
    }
}

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

impl LockedLink {
    fn fail(&mut self, status: CiteStatus, detail: String) {
        self.status = match status {
            CiteStatus::Current => LinkStatus::Current,
            CiteStatus::Moved => LinkStatus::Moved,
            CiteStatus::Stale => LinkStatus::Stale,
            CiteStatus::Deleted => LinkStatus::Deleted,
            CiteStatus::Unknown => LinkStatus::Unknown,
        };
        self.detail = detail;
    }

    fn name(&mut self, source_id: &str, path: &str) {
        self.source_id = Some(source_id.to_owned());
        self.path = Some(path.to_owned());
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

/// Changes the lines of the citations that moved. `links` are those of the documents, in their order.
fn rewrite(folder: &Path, prose: &Prose, lock: Lock, links: &[LockedLink]) -> Result<Vec<Reanchored>> {
    let mut changed = Vec::new();
    let mut next = Lock::new();
    let mut links = links.iter();
    for document in &prose.documents {
        let links: Vec<&LockedLink> = links.by_ref().take(document.mentions.len()).collect();
        let Some((text, entries, moved)) = reanchored(folder, document, &lock, &links) else {
            // Two citations would be written alike and mean different texts: a person must choose.
            let own = lock.iter().filter(|((path, _), _)| *path == document.path);
            next.extend(own.map(|(key, entry)| (key.clone(), entry.clone())));
            continue;
        };
        next.extend(entries);
        if moved.is_empty() {
            continue;
        }
        file::replace(&prose.root.join(&document.path), &text, || {
            let now = prose.reader.read(&document.path).map(|read| read.text);
            if now.is_ok_and(|now| now == document.text) {
                return Ok(());
            }
            Err(Error::Refused {
                code: "document_changed",
                message: format!("{} changed while its citations were checked; it was left as it is", document.path),
                hint: "run it again when nothing writes to it".into(),
            })
        })?;
        changed.extend(moved);
    }
    if !changed.is_empty() {
        file::write(folder, &next)?;
    }
    Ok(changed)
}

/// A document with the lines of its moved citations changed, what is locked of it then, and what was changed. None where
/// two citations of different texts would be written alike.
fn reanchored(
    folder: &Path,
    document: &Document,
    lock: &Lock,
    links: &[&LockedLink],
) -> Option<(String, Lock, Vec<Reanchored>)> {
    let mut text = String::with_capacity(document.text.len());
    let mut copied = 0;
    let mut entries = Lock::new();
    let mut moved = Vec::new();
    for (mention, link) in document.mentions.iter().zip(links) {
        let Some(entry) = lock.get(&(document.path.clone(), mention.written.clone())) else { continue };
        let lines = link.lines.filter(|_| link.status == LinkStatus::Moved).unwrap_or(mention.lines);
        let to = mention.written_for(lines);
        if lines != mention.lines {
            let numbers = [(Some(&mention.digits.0), lines.0), (mention.digits.1.as_ref(), lines.1)];
            for (range, line) in numbers.into_iter().filter_map(|(range, line)| Some((range?, line))) {
                text.push_str(document.text.get(copied..range.start)?);
                text.push_str(&line.to_string());
                copied = range.end;
            }
            let (document, from) = (document.path.clone(), mention.written.clone());
            moved.push(Reanchored { folder: folder.to_owned(), document, from, to: to.clone() });
        }
        let entry = Entry { lines, ..entry.clone() };
        let hash = entry.hash;
        if entries.insert((document.path.clone(), to), entry).is_some_and(|other| other.hash != hash) {
            return None;
        }
    }
    text.push_str(document.text.get(copied..)?);
    Some((text, entries, moved))
}

/// The folder that a document lies in.
fn folder_of(root: &Path, document: &str) -> PathBuf {
    let path = root.join(document);
    path.parent().map_or_else(|| root.to_owned(), Path::to_owned)
}

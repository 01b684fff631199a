//! What locking and checking citations comes to.

use std::path::PathBuf;

use crate::cite::CiteStatus;
use crate::error::Failure;
use crate::model::Digest;

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

impl LockedLink {
    pub(super) fn fail(&mut self, status: CiteStatus, detail: String) {
        self.status = match status {
            CiteStatus::Current => LinkStatus::Current,
            CiteStatus::Moved => LinkStatus::Moved,
            CiteStatus::Stale => LinkStatus::Stale,
            CiteStatus::Deleted => LinkStatus::Deleted,
            CiteStatus::Unknown => LinkStatus::Unknown,
        };
        self.detail = detail;
    }

    pub(super) fn name(&mut self, source_id: &str, path: &str) {
        self.source_id = Some(source_id.to_owned());
        self.path = Some(path.to_owned());
    }
}

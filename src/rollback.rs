//! `rollback`: the documents of an earlier generation, published as a new one.
//!
//! What was purged since stays away, what was narrowed or revoked since stays narrowed and revoked, and no number goes
//! back. How the documents come in again, from their files or from a copy, is `sync/restore.rs`.

use std::path::PathBuf;
use std::sync::Arc;

use crate::error::Result;
use crate::store::Store;
use crate::store::generations::{ChunkCounts, DocumentCounts};
use crate::sync::{PlannedFile, SyncProgress};

/// Which generation to go back to, and how.
#[derive(Clone, Default)]
pub struct RollbackRequest {
    /// The generation whose documents are wanted.
    pub generation: u64,
    /// A copy of this store whose newest generation is that one; without it the source files must be as they were.
    pub from: Option<PathBuf>,
    /// Write nothing.
    pub dry_run: bool,
    /// Is told how far it is.
    pub progress: Option<Arc<dyn SyncProgress>>,
}

/// What [`Store::rollback`] did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RollbackReport {
    /// The generation whose documents these are.
    pub to: u64,
    /// The newest generation after the call.
    pub generation: u64,
    /// Whether this call published it; not where these were the documents already, and not by a dry run.
    pub published: bool,
    /// What happened to documents.
    pub documents: DocumentCounts,
    /// What happened to chunks; not known of a dry run.
    pub chunks: ChunkCounts,
    /// Documents of that generation that do not come back, by source and path.
    pub not_revived: Vec<NotRevived>,
    /// Files that are there and were not in that generation, by source and path: the next sync brings them in again.
    pub left_out: Vec<PlannedFile>,
    /// The epoch of the access rules after the call. It never goes back.
    pub acl_epoch: u64,
}

/// A document that does not come back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NotRevived {
    /// Its source.
    pub source_id: String,
    /// Its path.
    pub path: String,
    /// Why.
    pub why: WhyNot,
}

/// Why a document does not come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WhyNot {
    /// It was purged since, or its content then is one that was purged.
    Purged,
    /// Its source is declared no longer, so that nothing says who may read it.
    SourceRemoved,
    /// It was deleted when its source belonged to another tenant, or before there were rules: who could read it is not
    /// known any more.
    RuleUnknown,
}

impl WhyNot {
    /// The stable name, in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Purged => "purged",
            Self::SourceRemoved => "source_removed",
            Self::RuleUnknown => "rule_unknown",
        }
    }
}

impl Store {
    /// Publishes the documents of an earlier generation as a new one. Documents that it did not have go, with the reason
    /// `rolled_back`; those that were purged since, or whose source is gone, do not come back. Of who may read a
    /// document, only what was so then and still is so holds: rules of sources and acts stay as they are now, and front
    /// matter counts as it was then and as it was last.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) for a generation that there is not; [`Error::Refused`](crate::Error::Refused)
    /// with `sources_differ` where files are not as they were, and with `backup_does_not_fit` where the copy is not one
    /// of this store at that generation. Nothing is published then.
    pub fn rollback(&self, request: &RollbackRequest) -> Result<RollbackReport> {
        self.restore(request)
    }
}

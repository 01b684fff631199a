//! What goes into a sync and what comes out of it.

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::{ChunkSettings, Config};
use crate::error::Failure;
use crate::model::{Bm25Policy, UnsafeScope};
use crate::store::generations::{ChunkCounts, DocumentCounts};

/// What to sync, and how.
#[derive(Clone, Default)]
pub struct SyncRequest {
    /// Which folders to read.
    pub sources: SyncSources,
    /// Changes to how documents are cut; what is not set stays as the store has it.
    pub chunking: ChunkSettings,
    /// Changes to how hits are scored.
    pub bm25: Option<Bm25Policy>,
    /// A change to how far a finding of the unsafe gate reaches.
    pub unsafe_scope: Option<UnsafeScope>,
    /// Read and hash every file, whatever its stamps say, and hold the stored rows of its document to their hashes: those
    /// that do not have them are written again.
    pub checksum: bool,
    /// Publish in spite of failed files; their last good version stays.
    pub keep_going: bool,
    /// How many documents may be deleted. By default a sync refuses to delete half of a source of ten documents
    /// or more.
    pub max_delete: Option<u64>,
    /// Accept that a source's root is another folder than the one indexed before.
    pub reroot: bool,
    /// Is told how far the sync is.
    pub progress: Option<Arc<dyn SyncProgress>>,
}

/// Where documents come from.
#[derive(Clone, Debug, Default)]
#[expect(clippy::large_enum_variant, reason = "there is one for a sync, and a box would be in every caller's way")]
pub enum SyncSources {
    /// The sources that the store knows already.
    #[default]
    Registered,
    /// These folders; other sources of the store stay as they are.
    Folders(Vec<PathBuf>),
    /// The sources of a configuration, and the folders that the store knows from earlier calls. Sources that the
    /// store has from a configuration and this one does not declare are removed.
    Config(Config),
}

/// Is told how far a sync is; called from the thread that runs it. It must not write to the same [`crate::Store`], which
/// the sync may be doing.
pub trait SyncProgress: Send + Sync {
    /// Something happened.
    fn event(&self, event: SyncEvent);
}

/// A step of a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncEvent {
    /// The sources' folders are being listed.
    Walking,
    /// This much is to be read.
    Reading {
        /// Files.
        files: u64,
        /// Bytes, as the folders list them.
        bytes: u64,
    },
    /// Files of this many bytes in all were read, cut and lexed.
    Read {
        /// Bytes.
        bytes: u64,
    },
    /// This many documents are to be written.
    Writing {
        /// Documents.
        documents: u64,
    },
    /// One more document was written.
    Written,
    /// The transaction is being committed.
    Publishing,
}

/// What a sync did.
#[derive(Clone, Debug)]
pub struct SyncReport {
    /// The newest generation after the call; `None` where nothing was ever published.
    pub generation: Option<u64>,
    /// Whether this call published it.
    pub published: bool,
    /// The settings whose change made it cut and index everything anew; empty for an incremental sync.
    pub rebuilt: Vec<String>,
    /// What happened to documents.
    pub documents: DocumentCounts,
    /// What happened to chunks.
    pub chunks: ChunkCounts,
    /// Files that could not become documents, by source and path.
    pub failures: Vec<Failure>,
    /// Documents that have unsafe chunks after the call, of all sources.
    pub unsafe_documents: u64,
    /// The first of them that this call brought or changed, by source and path: 100 at most.
    pub newly_unsafe: Vec<UnsafeDocument>,
    /// The first reviewed documents that have a finding which they had not, in sources declared as before: 100 at most.
    /// They stay evidence, and no chunk of theirs is unsafe.
    pub newly_found_in_reviewed: Vec<UnsafeDocument>,
    /// Files that were left out because their content was purged, by source and path.
    pub purged: Vec<PlannedFile>,
    /// Bytes of the files that were read.
    pub bytes_read: u64,
    /// The epoch of the access rules after the call: one more each time that somebody may read more or less of what is
    /// stored already.
    pub acl_epoch: u64,
    /// Rules that were narrowed, and why, by source: a group that nobody declared, a document that asks for more readers
    /// than its source has. Acts on a document that went, which stay with its path.
    pub access_notes: Vec<(String, String)>,
    /// How long each stage took.
    pub seconds: StageSeconds,
}

/// A document with text that tries to instruct the model that reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsafeDocument {
    /// Its source.
    pub source_id: String,
    /// Its path below the source's root.
    pub path: String,
    /// The rule that matched first, such as `override.en`.
    pub rule: String,
    /// The line of the match, from 1.
    pub line: u32,
    /// How many of its chunks are unsafe.
    pub chunks: u64,
}

/// How long the stages of a sync took, in seconds of wall time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageSeconds {
    /// Listing folders, reading the manifest and planning.
    pub walk: f64,
    /// Reading, cutting and lexing files; in a store's first sync, also writing the documents.
    pub read: f64,
    /// The transaction, commit included; in a store's first sync, what is left of it.
    pub write: f64,
    /// Moving the write-ahead log into the file.
    pub checkpoint: f64,
    /// The whole call.
    pub total: f64,
}

/// What a sync would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncPlan {
    /// The newest generation.
    pub generation: Option<u64>,
    /// The settings whose change would make a sync cut and index everything anew.
    pub rebuild: Vec<String>,
    /// Files that would become new documents.
    pub added: Vec<PlannedFile>,
    /// Documents whose file changed, or which would be cut anew.
    pub updated: Vec<PlannedFile>,
    /// Documents whose file is gone.
    pub deleted: Vec<PlannedFile>,
    /// How many documents would stay as they are.
    pub unchanged: u64,
    /// Files that could not become documents.
    pub failures: Vec<Failure>,
    /// Files that would be left out because their content was purged, by source and path.
    pub purged: Vec<PlannedFile>,
}

/// A file that a plan speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFile {
    /// Its source.
    pub source_id: String,
    /// Its path below the source's root.
    pub path: String,
}

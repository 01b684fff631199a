//! A generation and its counts, as `sync`, `log`, `show` and `status` name them.

use ragdb::{ChunkCounts, DocumentCounts, Generation};
use serde::Serialize;

/// What happened to documents.
#[derive(Clone, Copy, Serialize)]
pub struct DocumentsView {
    pub added: u64,
    pub updated: u64,
    pub deleted: u64,
    pub unchanged: u64,
    pub failed: u64,
}

impl From<DocumentCounts> for DocumentsView {
    fn from(counts: DocumentCounts) -> Self {
        let DocumentCounts { added, updated, deleted, unchanged, failed } = counts;
        Self { added, updated, deleted, unchanged, failed }
    }
}

impl DocumentsView {
    /// `1 added, 0 updated, …`; failures only where there are some.
    pub fn sentence(self) -> String {
        let Self { added, updated, deleted, unchanged, failed } = self;
        let failures = if failed > 0 { format!(", {failed} failed") } else { String::new() };
        format!("{added} added, {updated} updated, {deleted} deleted, {unchanged} unchanged{failures}")
    }
}

/// What happened to chunks.
#[derive(Clone, Copy, Serialize)]
pub struct ChunksView {
    pub added: u64,
    pub removed: u64,
    pub reused: u64,
}

impl From<ChunkCounts> for ChunksView {
    fn from(counts: ChunkCounts) -> Self {
        Self { added: counts.added, removed: counts.removed, reused: counts.reused }
    }
}

impl ChunksView {
    /// `1 added, 0 removed, 0 reused`.
    pub fn sentence(self) -> String {
        format!("{} added, {} removed, {} reused", self.added, self.removed, self.reused)
    }
}

/// A published generation.
#[derive(Serialize)]
pub struct GenerationView {
    pub generation: u64,
    pub parent: Option<u64>,
    pub published_at: String,
    pub documents: DocumentsView,
    pub chunks: ChunksView,
    pub policy_digest: String,
    pub digest: String,
    pub parent_digest: Option<String>,
    pub tool_version: String,
}

impl From<&Generation> for GenerationView {
    fn from(generation: &Generation) -> Self {
        Self {
            generation: generation.number,
            parent: generation.parent,
            published_at: generation.published_at.clone(),
            documents: generation.documents.into(),
            chunks: generation.chunks.into(),
            policy_digest: generation.policy_digest.to_string(),
            digest: generation.digest.to_string(),
            parent_digest: generation.parent_digest.map(|digest| digest.to_string()),
            tool_version: generation.tool_version.clone(),
        }
    }
}

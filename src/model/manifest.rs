//! The manifest of a run: what was asked, what was shown under which label, what was refused and why.
//!
//! It is stored in `runs`, `run_hits` and `run_events`, or kept as a JSON file; this is the one core type that
//! serialises, and its format has a version of its own. What a manifest must hold to be believed is checked in
//! `evidence/manifest.rs`.

use serde::{Deserialize, Serialize};

/// The version of the manifest's JSON form that this build writes and reads.
pub(crate) const MANIFEST_FORMAT: u32 = 1;

/// The record of one evidence prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version of this form: 1.
    pub format: u32,
    /// The run's id: 32 random hex digits.
    pub run_id: String,
    /// When, UTC, RFC 3339.
    pub created_at: String,
    /// The store it was made from.
    pub store_id: String,
    /// The question, as asked.
    pub query: String,
    /// The generation that was searched.
    pub generation: u64,
    /// That generation's digest, hex.
    pub generation_digest: String,
    /// The digest of the policy it was indexed under, hex.
    pub policy_digest: String,
    /// The epoch of the access rules. For others than the operator, how many epochs changed who may read something that
    /// the reader could read then, whoever it was that could read more or less of it. 0 where none did.
    pub acl_epoch: u64,
    /// What was asked for beside the query: `top_k`, `floor`, budget and the like.
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// What the delimiters of the prompt's blocks carry; random, new for each run.
    pub nonce: String,
    /// The prompt's length in characters.
    pub chars: usize,
    /// Its length in tokens, where a counter was used.
    pub tokens: Option<usize>,
    /// A block did not fit the budget.
    pub truncated: bool,
    /// Chunks whose source file can't be read were allowed.
    pub unverified_source: bool,
    /// SHA-256 of the prompt, hex.
    pub prompt_hash: String,
    /// The chunks that were shown, in the order of their labels.
    pub shown: Vec<Shown>,
    /// The chunks that were found and not shown.
    pub refused: Vec<Refused>,
    /// What happened, in order.
    pub events: Vec<RunEvent>,
}

/// A chunk that was shown under a label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// `S1`, `S2`, …
    pub label: String,
    /// The chunk.
    pub chunk_id: String,
    /// Its source.
    pub source_id: String,
    /// Its document's path.
    pub path: String,
    /// Its first line, from 1.
    pub start_line: u32,
    /// Its last line, included.
    pub end_line: u32,
    /// Its first byte in the file, from 0.
    pub start_byte: u64,
    /// Behind its last byte.
    pub end_byte: u64,
    /// SHA-256 of its text, hex.
    pub content_hash: String,
    /// SHA-256 of its source file, hex.
    pub document_hash: String,
    /// Its score.
    pub score: f64,
}

/// A chunk that was found and not shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// The chunk.
    pub chunk_id: String,
    /// Its source.
    pub source_id: String,
    /// Its document's path.
    pub path: String,
    /// Its first line, from 1.
    pub start_line: u32,
    /// Its last line, included.
    pub end_line: u32,
    /// Its first byte in the file, from 0.
    pub start_byte: u64,
    /// Behind its last byte.
    pub end_byte: u64,
    /// SHA-256 of its text, hex.
    pub content_hash: String,
    /// SHA-256 of its source file, hex.
    pub document_hash: String,
    /// Its score; none where it was refused before scoring.
    pub score: Option<f64>,
    /// A stable code: `unsafe`, `below_floor`, `source_changed`, `source_missing`, `source_unreadable`,
    /// `source_unavailable`, `integrity`, `duplicate`, `over_budget` or `over_count`.
    pub code: String,
    /// The reason in words.
    pub detail: String,
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunEvent {
    /// A stable name, such as `retrieval_truncated`.
    pub name: String,
    /// More of it, as an object.
    pub detail: serde_json::Map<String, serde_json::Value>,
}

/// What a shown and a refused chunk have in common.
pub(crate) struct Place<'a> {
    pub chunk_id: &'a str,
    pub source_id: &'a str,
    pub path: &'a str,
    pub lines: (u32, u32),
    pub bytes: (u64, u64),
    pub content_hash: &'a str,
    pub document_hash: &'a str,
    pub score: Option<f64>,
}

impl Shown {
    pub(crate) fn place(&self) -> Place<'_> {
        Place {
            chunk_id: &self.chunk_id,
            source_id: &self.source_id,
            path: &self.path,
            lines: (self.start_line, self.end_line),
            bytes: (self.start_byte, self.end_byte),
            content_hash: &self.content_hash,
            document_hash: &self.document_hash,
            score: Some(self.score),
        }
    }
}

impl Refused {
    pub(crate) fn place(&self) -> Place<'_> {
        Place {
            chunk_id: &self.chunk_id,
            source_id: &self.source_id,
            path: &self.path,
            lines: (self.start_line, self.end_line),
            bytes: (self.start_byte, self.end_byte),
            content_hash: &self.content_hash,
            document_hash: &self.document_hash,
            score: self.score,
        }
    }
}

//! The settings that decide what a store holds and how it scores: changed settings mean another index.

use serde::{Deserialize, Serialize};

use super::Digest;
use crate::error::{Error, Result};

/// The version of the rules that mark unsafe text (`gate/unsafe_rules.toml`).
pub const UNSAFE_RULES_VERSION: u32 = 1;

/// How documents are cut into chunks. All sizes are in characters (Unicode scalar values).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChunkPolicy {
    /// A section longer than `max_chars` is split into pieces of about this size. 1 to `max_chars`; 800 by default.
    pub target_chars: u32,
    /// A chunk is at most this long, unless one line alone is longer. 1 to 1,000,000; 1,200 by default.
    pub max_chars: u32,
    /// At most this much of the end of a piece is repeated, as whole lines, at the start of the next piece of the
    /// same section. 0 to `target_chars` − 1; 120 by default.
    pub overlap_chars: u32,
}

impl Default for ChunkPolicy {
    fn default() -> Self {
        Self { target_chars: 800, max_chars: 1200, overlap_chars: 120 }
    }
}

/// The constants of BM25 in its Lucene form.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bm25Policy {
    /// Term-frequency saturation. 0 to 10; 1.2 by default.
    pub k1: f64,
    /// Length normalisation. 0 to 1; 0.75 by default.
    pub b: f64,
}

impl Default for Bm25Policy {
    fn default() -> Self {
        Self { k1: 1.2, b: 0.75 }
    }
}

/// How far a finding of the unsafe gate reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnsafeScope {
    /// The whole document: who could write one line could write the rest. The default.
    #[default]
    Document,
    /// The chunks that the finding stands in.
    Chunk,
}

impl UnsafeScope {
    /// The name in `ragdb.yaml` and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Chunk => "chunk",
        }
    }
}

/// All that must be equal for two indexes to be comparable. Stored in the file with its digest; a search under
/// another policy is refused, a sync under another policy rebuilds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, into = "StoredPolicy")]
pub struct Policy {
    /// How documents are cut.
    pub chunking: ChunkPolicy,
    /// How hits are scored.
    pub bm25: Bm25Policy,
    /// Which lexer made the terms: [`crate::LEXER_VERSION`] of the build that indexed.
    pub lexer_version: u32,
    /// Which rules marked unsafe text: [`crate::UNSAFE_RULES_VERSION`] of the build that indexed; 0 for a store from
    /// before there were any.
    #[serde(default)]
    pub unsafe_rules: u32,
    /// How far a finding of those rules reaches.
    #[serde(default)]
    pub unsafe_scope: UnsafeScope,
}

/// A policy as it is written: one from before the unsafe gate keeps its text, and so its digest.
#[derive(Serialize)]
struct StoredPolicy {
    chunking: ChunkPolicy,
    bm25: Bm25Policy,
    lexer_version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    unsafe_rules: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unsafe_scope: Option<UnsafeScope>,
}

impl From<Policy> for StoredPolicy {
    fn from(policy: Policy) -> Self {
        let Policy { chunking, bm25, lexer_version, unsafe_rules, unsafe_scope } = policy;
        let gate = (unsafe_rules > 0).then_some((unsafe_rules, unsafe_scope)).unzip();
        Self { chunking, bm25, lexer_version, unsafe_rules: gate.0, unsafe_scope: gate.1 }
    }
}

impl Policy {
    /// A policy with this build's lexer and rules, and the default scope of these.
    ///
    /// # Errors
    /// [`Error::Invalid`] where a setting is outside its range; the message names it.
    pub fn new(chunking: ChunkPolicy, bm25: Bm25Policy) -> Result<Self> {
        let invalid = |message: String| Err(Error::Invalid { message });
        let ChunkPolicy { target_chars, max_chars, overlap_chars } = chunking;
        if !(1..=1_000_000).contains(&max_chars) {
            return invalid(format!("chunking.max_chars is {max_chars}; it must be 1 to 1000000"));
        }
        if !(1..=max_chars).contains(&target_chars) {
            return invalid(format!(
                "chunking.target_chars is {target_chars}; it must be 1 to max_chars ({max_chars})"
            ));
        }
        if overlap_chars >= target_chars {
            return invalid(format!(
                "chunking.overlap_chars is {overlap_chars}; it must be less than target_chars ({target_chars})"
            ));
        }
        if !(0.0..=10.0).contains(&bm25.k1) {
            return invalid(format!("bm25.k1 is {}; it must be 0 to 10", bm25.k1));
        }
        if !(0.0..=1.0).contains(&bm25.b) {
            return invalid(format!("bm25.b is {}; it must be 0 to 1", bm25.b));
        }
        Ok(Self {
            chunking,
            bm25,
            lexer_version: crate::lexicon::LEXER_VERSION,
            unsafe_rules: UNSAFE_RULES_VERSION,
            unsafe_scope: UnsafeScope::default(),
        })
    }

    /// The policy as the store keeps it: JSON with its fields in declared order.
    ///
    /// # Panics
    /// Never: plain numbers serialise.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a policy of plain numbers serialises")
    }

    /// The SHA-256 of [`Policy::to_json`].
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self.to_json())
    }

    /// Names each setting in which `self` (the store's) and `wanted` differ; empty where they are equal.
    #[must_use]
    pub fn differences(&self, wanted: &Self) -> Vec<String> {
        let fields = |policy: &Self| {
            [
                ("chunking.target_chars", policy.chunking.target_chars.to_string()),
                ("chunking.max_chars", policy.chunking.max_chars.to_string()),
                ("chunking.overlap_chars", policy.chunking.overlap_chars.to_string()),
                ("bm25.k1", policy.bm25.k1.to_string()),
                ("bm25.b", policy.bm25.b.to_string()),
                ("lexer_version", policy.lexer_version.to_string()),
                ("unsafe_rules", policy.unsafe_rules.to_string()),
                ("gate.scope", policy.unsafe_scope.as_str().to_owned()),
            ]
        };
        let pairs = fields(self).into_iter().zip(fields(wanted));
        pairs
            .filter(|(stored, wanted)| stored.1 != wanted.1)
            .map(|((name, stored), (_, wanted))| format!("{name} is {stored} in the store and {wanted} here"))
            .collect()
    }
}

//! What goes into `context` and what comes out of it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::evidence::budget::{ApproximateTokens, TokenCounter};
use crate::evidence::prompt::{self, EvidenceBlock};
use crate::model::{EmbeddingProfile, Manifest};
use crate::search::{SearchRequest, SearchedVectors};

/// The setting of a run that tells what ranked, where it was not BM25 alone.
const RETRIEVER: &str = "retriever";
/// What in it names the vectors that the question was compared with.
const VECTORS: &str = "vectors";

/// What names the vectors that the question of a run was compared with, where it was.
pub(crate) fn vectors_of(run: &Manifest) -> Option<&str> {
    run.settings.get(RETRIEVER)?.get(VECTORS)?.as_str()
}

/// A question, and how much evidence for it.
#[derive(Clone, Debug)]
pub struct ContextRequest {
    /// The question. Its `top_k` (1 to 1,000) is how many hits are looked at: more than are shown, since some are
    /// refused.
    pub search: SearchRequest,
    /// Further queries, such as parts of the question: the hits of all are taken in turns, each chunk once, under the
    /// limits of `search`.
    pub also: Vec<String>,
    /// The most characters of the whole prompt; `usize::MAX` for no limit.
    pub max_chars: usize,
    /// The most tokens of the whole prompt.
    pub max_tokens: Option<usize>,
    /// What counts tokens; [`ApproximateTokens`] where there is a limit and no counter.
    pub counter: Option<Arc<dyn TokenCounter>>,
    /// The most blocks.
    pub max_chunks: usize,
    /// Show chunks of a source whose folder can't be opened: they can't be compared, the prompt says so and the run
    /// records it.
    pub allow_unverified_source: bool,
}

impl ContextRequest {
    /// A request for up to eight blocks of the best 32 hits in 6,000 characters.
    #[must_use]
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            search: SearchRequest { top_k: 32, ..SearchRequest::new(query) },
            also: Vec::new(),
            max_chars: 6000,
            max_tokens: None,
            counter: None,
            max_chunks: 8,
            allow_unverified_source: false,
        }
    }

    /// What counts tokens, where anything does.
    pub(crate) fn counter(&self) -> Option<&dyn TokenCounter> {
        let given = self.counter.as_deref();
        given.or_else(|| self.max_tokens.is_some().then_some(&ApproximateTokens as &dyn TokenCounter))
    }

    /// What the run's record says was asked for beside the query; `floor` is the one that held, `vectors` are those that
    /// were compared.
    pub(super) fn settings(&self, floor: f64, vectors: Option<&SearchedVectors>) -> Map<String, Value> {
        let unlimited = self.max_chars == usize::MAX;
        let all = json!({
            "top_k": self.search.top_k,
            "max_chunks": self.max_chunks,
            "max_chars": if unlimited { Value::Null } else { self.max_chars.into() },
            "max_tokens": self.max_tokens,
            "token_counter": self.counter().map(TokenCounter::name),
            "floor": floor,
            "min_score": self.search.min_score,
            "literal": self.search.literal,
            "all_terms": self.search.all_terms,
            "allow_unverified_source": self.allow_unverified_source,
        });
        let Value::Object(mut all) = all else { return Map::new() };
        if !self.also.is_empty() {
            all.insert("also".to_owned(), json!(self.also));
        }
        if let Some(SearchedVectors { profile, state, floor, missing }) = vectors {
            let retriever = json!({
                "kind": self.search.retriever.kind(),
                "fusion": self.search.retriever.fusion(),
                "embedder": {
                    "model": profile.model,
                    "version": profile.version,
                    "dimensions": profile.dimensions,
                    "normalised": profile.normalised,
                    "composition": EmbeddingProfile::COMPOSITION,
                    "profile_digest": profile.digest().to_string(),
                },
                "similarity_floor": floor,
                "missing": missing,
                VECTORS: state.to_string(),
            });
            all.insert(RETRIEVER.to_owned(), retriever);
        }
        all
    }
}

/// What a model is to be shown, and the record of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// The run: what is in the prompt under which label, and what is not and why. [`crate::Store::record_run`] keeps it.
    pub manifest: Manifest,
    /// The text for the model: guard and blocks. The question is not in it.
    pub prompt: String,
}

impl Evidence {
    /// The blocks of the prompt, taken apart again.
    #[must_use]
    pub fn blocks(&self) -> Vec<EvidenceBlock> {
        prompt::blocks(&self.prompt, &self.manifest.nonce).unwrap_or_default()
    }
}

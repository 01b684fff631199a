//! What goes into a search and what comes out of it.

use std::ops::Range;

use super::retriever::{FoundBy, Retriever, SearchedVectors};
use crate::config::{ChunkSettings, Config};
use crate::model::{Bm25Policy, ChunkId, Citation, Digest, DocumentId, RetrieverKind, Span, UnsafeScope};

/// A question to the store.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// Words, `+must`, `-not`, `"a phrase"`, and the filters `path:`, `heading:`, `source:` and `lang:`. What is
    /// not understood is searched as text.
    pub query: String,
    /// The query is text and nothing else: signs, quotes and `path:` in it have no meaning. For questions that
    /// were not written for this search.
    pub literal: bool,
    /// The most hits that are returned; 1 or more.
    pub top_k: usize,
    /// Hits with a lower score, as the retriever has it, are left out. Scores can't be compared between queries; prefer
    /// `floor`.
    pub min_score: Option<f64>,
    /// The relevance floor of what words find: which share of the query's information (0 to 1) a hit must have; `None`
    /// for the measured default.
    pub floor: Option<f64>,
    /// A hit must have every word.
    pub all_terms: bool,
    /// Settings that the caller relies on.
    pub expected_policy: Option<ExpectedPolicy>,
    /// Explain each score, and name what was refused.
    pub explain: bool,
    /// What ranks: BM25, unless set otherwise.
    pub retriever: Retriever,
    /// The cosine, from -1 to 1, that a chunk must have with the question to be in the list of a retriever that compares
    /// vectors; `None` for what the embedder says.
    pub similarity_floor: Option<f64>,
}

impl SearchRequest {
    /// A request for the ten best chunks, with the defaults.
    #[must_use]
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            literal: false,
            top_k: 10,
            min_score: None,
            floor: None,
            all_terms: false,
            expected_policy: None,
            explain: false,
            retriever: Retriever::Bm25,
            similarity_floor: None,
        }
    }
}

/// Settings that a caller relies on: a search in a store that was indexed under others, so that a sync with these would
/// index it anew, is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExpectedPolicy {
    /// How documents are cut; what is not set in it may be as it is.
    pub chunking: Option<ChunkSettings>,
    /// How hits are scored.
    pub bm25: Option<Bm25Policy>,
    /// How far a finding of the unsafe gate reaches.
    pub unsafe_scope: Option<UnsafeScope>,
}

impl From<&Config> for ExpectedPolicy {
    fn from(config: &Config) -> Self {
        Self { chunking: config.chunking, bm25: config.bm25, unsafe_scope: config.unsafe_scope }
    }
}

/// The answer to a [`SearchRequest`].
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// The query as it was asked.
    pub query: String,
    /// The generation that was searched.
    pub generation: u64,
    /// The hits, best first: by score, then path, then source, then position.
    pub hits: Vec<Hit>,
    /// With [`SearchRequest::explain`]: the best chunks that were refused, then unsafe ones that share words with the
    /// query, and why.
    pub refused: Vec<Refusal>,
    /// With [`SearchRequest::explain`]: how many unsafe chunks were not looked at, since there are too many.
    pub unsafe_left: u64,
    /// With [`SearchRequest::explain`]: the terms that the query was understood as.
    pub terms: Vec<QueryTermInfo>,
    /// The relevance floor that held.
    pub floor: f64,
    /// How many terms the query was understood as: 0 where it has nothing to rank by, such as filters alone.
    pub term_count: usize,
    /// What ranked.
    pub retriever: RetrieverKind,
    /// The vectors that the question was compared with, where it was.
    pub vectors: Option<SearchedVectors>,
}

/// A chunk that answers the query.
#[derive(Clone, Debug)]
pub struct Hit {
    /// 1 for the best.
    pub rank: usize,
    /// What the retriever ranks by: a BM25 score, a cosine, or the sum of weight / (k + rank) over the lists that have it.
    pub score: f64,
    /// The lists that have it, and where.
    pub found_by: FoundBy,
    /// The chunk.
    pub chunk_id: ChunkId,
    /// The chunk's document.
    pub document_id: DocumentId,
    /// The document's source.
    pub source_id: String,
    /// The document's path below the source's root.
    pub path: String,
    /// The document's title.
    pub title: String,
    /// Where the chunk stands in its file.
    pub span: Span,
    /// The headings above the chunk, outermost first.
    pub heading_path: Vec<String>,
    /// The chunk, verbatim.
    pub text: String,
    /// The SHA-256 of `text`.
    pub content_hash: Digest,
    /// The bytes of `text` that match words of the query, in order, without overlaps.
    pub highlights: Vec<Range<usize>>,
    /// With [`SearchRequest::explain`]: where its BM25 score comes from, whatever ranked.
    pub explanation: Option<Explanation>,
}

impl Hit {
    /// The citation: `path#L3-L6`.
    #[must_use]
    pub fn citation(&self) -> Citation {
        self.span.cite(&self.path)
    }
}

/// A chunk that matched and was not returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The chunk.
    pub chunk_id: ChunkId,
    /// Where it stands.
    pub citation: Citation,
    /// A stable code: `below_floor`, or `unsafe`.
    pub code: &'static str,
    /// The reason in words.
    pub detail: String,
}

/// Where a BM25 score comes from: it is the sum of the terms' contributions, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The chunk's length in terms.
    pub length: u32,
    /// The average length over all indexed chunks.
    pub average_length: f64,
    /// The share of the query's information that the chunk has, from 0 to 1.
    pub information_share: f64,
    /// The query's terms that the chunk has.
    pub terms: Vec<TermShare>,
}

/// One term's part in a score: weight · idf · tf / (tf + k1 · (1 − b + b · length / average length)).
#[derive(Clone, Debug, PartialEq)]
pub struct TermShare {
    /// The term as it is indexed.
    pub term: String,
    /// Its weight in the query.
    pub weight: f64,
    /// How many indexed chunks have it.
    pub df: u64,
    /// ln(1 + (N − df + 0.5) / (df + 0.5)).
    pub idf: f64,
    /// How often the chunk has it.
    pub tf: u32,
    /// What it adds to the score.
    pub contribution: f64,
}

/// A term that a query was understood as.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryTermInfo {
    /// The term as it is indexed.
    pub term: String,
    /// Its weight in the query.
    pub weight: f64,
    /// How many indexed chunks have it.
    pub df: u64,
    /// ln(1 + (N − df + 0.5) / (df + 0.5)).
    pub idf: f64,
}

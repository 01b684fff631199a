//! What a search found, in the stable names of its JSON document.

use std::ops::Range;

use ragdb::{Explanation, Hit, QueryTermInfo, Refusal, SearchResult, TermShare};
use serde::{Serialize, Serializer};

#[derive(Serialize)]
pub struct SearchView {
    pub query: String,
    pub generation: u64,
    pub floor: f64,
    pub hits: Vec<HitView>,
    pub refused: Vec<RefusalView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<QueryTermView>,
    #[serde(skip)]
    pub explain: bool,
}

#[derive(Serialize)]
pub struct HitView {
    pub rank: usize,
    pub score: f64,
    pub citation: String,
    pub chunk_id: String,
    pub document_id: String,
    pub source_id: String,
    pub path: String,
    pub start_line: u32,
    pub end_line: u32,
    pub start_byte: u64,
    pub end_byte: u64,
    pub title: String,
    pub heading_path: Vec<String>,
    pub text: String,
    pub content_hash: String,
    #[serde(serialize_with = "as_pairs")]
    pub highlights: Vec<Range<usize>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<ExplanationView>,
}

fn as_pairs<S: Serializer>(ranges: &[Range<usize>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(ranges.iter().map(|range| [range.start, range.end]))
}

#[derive(Serialize)]
pub struct ExplanationView {
    pub length: u32,
    pub average_length: f64,
    pub information_share: f64,
    pub terms: Vec<TermView>,
}

#[derive(Serialize)]
pub struct TermView {
    pub term: String,
    pub weight: f64,
    pub df: u64,
    pub idf: f64,
    pub tf: u32,
    pub contribution: f64,
}

#[derive(Serialize)]
pub struct RefusalView {
    pub chunk_id: String,
    pub citation: String,
    pub code: &'static str,
    pub detail: String,
}

#[derive(Serialize)]
pub struct QueryTermView {
    pub term: String,
    pub weight: f64,
    pub df: u64,
    pub idf: f64,
}

impl SearchView {
    /// The view of a result; `explain` adds the query's terms to its text form.
    pub fn new(result: SearchResult, explain: bool) -> Self {
        Self {
            query: result.query,
            generation: result.generation,
            floor: result.floor,
            hits: result.hits.into_iter().map(HitView::from).collect(),
            refused: result.refused.into_iter().map(RefusalView::from).collect(),
            terms: result.terms.into_iter().map(QueryTermView::from).collect(),
            explain,
        }
    }
}

impl From<Hit> for HitView {
    fn from(hit: Hit) -> Self {
        Self {
            rank: hit.rank,
            score: hit.score,
            citation: hit.citation().to_string(),
            chunk_id: hit.chunk_id.to_string(),
            document_id: hit.document_id.to_string(),
            source_id: hit.source_id,
            path: hit.path,
            start_line: hit.span.start_line,
            end_line: hit.span.end_line,
            start_byte: hit.span.start_byte,
            end_byte: hit.span.end_byte,
            title: hit.title,
            heading_path: hit.heading_path,
            text: hit.text,
            content_hash: hit.content_hash.to_string(),
            highlights: hit.highlights,
            explanation: hit.explanation.map(ExplanationView::from),
        }
    }
}

impl From<Explanation> for ExplanationView {
    fn from(explanation: Explanation) -> Self {
        Self {
            length: explanation.length,
            average_length: explanation.average_length,
            information_share: explanation.information_share,
            terms: explanation.terms.into_iter().map(TermView::from).collect(),
        }
    }
}

impl From<TermShare> for TermView {
    fn from(share: TermShare) -> Self {
        let TermShare { term, weight, df, idf, tf, contribution } = share;
        Self { term, weight, df, idf, tf, contribution }
    }
}

impl From<Refusal> for RefusalView {
    fn from(refusal: Refusal) -> Self {
        Self {
            chunk_id: refusal.chunk_id.to_string(),
            citation: refusal.citation.to_string(),
            code: refusal.code,
            detail: refusal.detail,
        }
    }
}

impl From<QueryTermInfo> for QueryTermView {
    fn from(info: QueryTermInfo) -> Self {
        let QueryTermInfo { term, weight, df, idf } = info;
        Self { term, weight, df, idf }
    }
}

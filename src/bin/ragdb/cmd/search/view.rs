//! What a search found, in the stable names of its JSON document.

use std::ops::Range;

use ragdb::{
    Explanation, FoundBy, Hit, ListPlace, QueryTermInfo, Refusal, RetrieverKind, SearchResult, SearchedVectors,
    TermShare,
};
use serde::{Serialize, Serializer};

use crate::cmd::embed::ProfileView;

#[derive(Serialize)]
pub struct SearchView {
    pub query: String,
    pub generation: u64,
    pub floor: f64,
    /// What ranked, where it was not words alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retriever: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vectors: Option<VectorsView>,
    pub hits: Vec<HitView>,
    pub refused: Vec<RefusalView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<QueryTermView>,
    #[serde(skip)]
    pub explain: bool,
}

/// The vectors that the question was compared with.
#[derive(Serialize)]
pub struct VectorsView {
    profile: ProfileView,
    state: String,
    similarity_floor: f64,
    pub missing: u64,
}

impl VectorsView {
    /// Them in a few words, behind others.
    pub fn sentence(&self) -> String {
        format!(", cosine {} by {}", self.similarity_floor, self.profile.sentence())
    }
}

/// Where the lists have a hit.
#[derive(Serialize)]
pub struct FoundByView {
    bm25: Option<PlaceView>,
    dense: Option<PlaceView>,
}

#[derive(Serialize)]
struct PlaceView {
    rank: usize,
    score: f64,
}

impl FoundByView {
    /// The places in words; none where one list is all that was asked.
    pub fn sentence(&self) -> Option<String> {
        let place = |name: &str, place: &Option<PlaceView>| {
            let PlaceView { rank, score } = place.as_ref()?;
            Some(format!("{name} {rank} ({score:.4})"))
        };
        let places: Vec<String> =
            [place("bm25", &self.bm25), place("dense", &self.dense)].into_iter().flatten().collect();
        Some(places.join(", ")).filter(|_| !places.is_empty())
    }
}

impl From<FoundBy> for FoundByView {
    fn from(found_by: FoundBy) -> Self {
        let place = |place: Option<ListPlace>| place.map(|ListPlace { rank, score }| PlaceView { rank, score });
        Self { bm25: place(found_by.bm25), dense: place(found_by.dense) }
    }
}

#[derive(Serialize)]
pub struct HitView {
    pub rank: usize,
    pub score: f64,
    /// Where the lists have it, where more than words ranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_by: Option<FoundByView>,
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
        let by_vectors = result.retriever != RetrieverKind::Bm25;
        let hit = |hit: Hit| {
            let found_by = by_vectors.then(|| hit.found_by.into());
            HitView { found_by, ..HitView::from(hit) }
        };
        Self {
            query: result.query,
            generation: result.generation,
            floor: result.floor,
            retriever: by_vectors.then(|| result.retriever.as_str()),
            vectors: result.vectors.map(VectorsView::from),
            hits: result.hits.into_iter().map(hit).collect(),
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
            found_by: None,
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

impl From<SearchedVectors> for VectorsView {
    fn from(vectors: SearchedVectors) -> Self {
        let SearchedVectors { profile, state, floor, missing } = vectors;
        Self { profile: profile.into(), state: state.to_string(), similarity_floor: floor, missing }
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

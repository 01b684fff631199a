//! A request with all that is made of it before a snapshot is opened: a model may take its time to embed a question.

use super::query::{self, Typed};
use super::{ExpectedPolicy, SearchRequest};
use crate::embedding::{self, EmbedAs};
use crate::error::{Error, Result};

/// The longest query, in bytes: far more than a question, little enough that lexing it takes no time.
const LONGEST_QUERY: usize = 16 << 10;

/// A request that can be put to a snapshot.
pub(crate) struct Asked<'a> {
    pub(super) request: &'a SearchRequest,
    pub(super) typed: Typed,
    /// The vector of the question, for a retriever that compares vectors; none where it has no text.
    pub(super) vector: Option<Vec<f32>>,
}

impl<'a> Asked<'a> {
    /// Takes the query apart, and has it embedded where the retriever needs that.
    ///
    /// # Errors
    /// [`Error::Invalid`] where a limit is outside its range or the query is too long; what the embedder gives.
    pub(crate) fn new(request: &'a SearchRequest) -> Result<Self> {
        if request.top_k == 0 {
            return Err(Error::Invalid { message: "top_k is 0; ask for 1 hit or more".into() });
        }
        if request.query.len() > LONGEST_QUERY {
            let length = request.query.len();
            let message = format!("the query has {length} bytes; ask with {LONGEST_QUERY} or fewer");
            return Err(Error::Invalid { message });
        }
        let typed = if request.literal { query::literal(&request.query) } else { query::parse(&request.query) };
        let vector = vector(request, &typed)?;
        Ok(Self { request, typed, vector })
    }

    /// Settings that the caller relies on.
    pub(crate) fn expected_policy(&self) -> Option<&ExpectedPolicy> {
        self.request.expected_policy.as_ref()
    }
}

/// The vector of what a hit should have: filters and exclusions are no part of the question.
fn vector(request: &SearchRequest, typed: &Typed) -> Result<Option<Vec<f32>>> {
    let Some(embedder) = request.retriever.embedder() else { return Ok(None) };
    if let Some(fusion) = request.retriever.fusion() {
        fusion.check()?;
    }
    let floor = request.similarity_floor.unwrap_or_else(|| embedder.floor());
    if !(-1.0..=1.0).contains(&floor) {
        return Err(Error::Invalid { message: format!("the similarity floor is {floor}; it is from -1 to 1") });
    }
    if request.min_score.is_some_and(f64::is_nan) {
        return Err(Error::Invalid { message: "the least score is not a number".into() });
    }
    let parts = std::iter::once(&typed.text).chain(&typed.required).chain(&typed.phrases);
    let text = parts.map(String::as_str).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    if text.trim().is_empty() {
        return Ok(None);
    }
    Ok(embedding::embed(embedder, &[&text], EmbedAs::Query)?.pop())
}

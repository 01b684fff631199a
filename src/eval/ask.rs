//! The runs of an evaluation. Here nothing knows a label: a case is its question and its limits, and what comes back is
//! what anyone would get who asks so.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::cases::CaseRequest;
use super::evaluate::EvalRequest;
use super::unit::Place;
use crate::answer::{Answer, AnswerRequest, Extractive, Strategy};
use crate::context::{ContextRequest, Evidence};
use crate::error::{Error, Result};
use crate::gate::source::{self, SourceFault};
use crate::gate::unsafe_text;
use crate::model::{ChunkId, Citation, Digest, Principal, Shown, Span, Trust};
use crate::search::{ExpectedPolicy, Retriever};
use crate::store::{Store, documents};

/// How many hits are looked at for each that may be shown: the gate refuses some.
const SPARE: usize = 4;

/// The fewest and the most hits that evidence is taken from.
const CANDIDATES: (usize, usize) = (32, 1000);

/// The most chunks that a call of an answer finds.
const MOST_ANSWERED: usize = 100;

/// The limits of cases that set none.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub k: usize,
    pub max_chars: usize,
    pub allow_unverified_source: bool,
    pub expected_policy: Option<ExpectedPolicy>,
    pub answer: Option<Strategy>,
    pub retriever: Retriever,
    pub similarity_floor: Option<f64>,
}

impl Limits {
    pub(crate) fn of(request: &EvalRequest) -> Self {
        let EvalRequest { k, max_chars, allow_unverified_source, expected_policy, answer, similarity_floor, .. } =
            *request;
        let retriever = request.retriever.clone();
        Self { k, max_chars, allow_unverified_source, expected_policy, answer, retriever, similarity_floor }
    }
}

/// A case's run.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub request: CaseRequest,
    pub k: usize,
    pub max_chars: usize,
    pub evidence: Evidence,
    /// The answer, where one was asked for.
    pub answer: Option<Answer>,
}

/// A chunk of a run's ranking.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ranked {
    pub chunk_id: String,
    pub source_id: String,
    pub citation: Citation,
    pub score: f64,
}

/// What the source has where a shown chunk came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reread {
    /// The file has the shown bytes on the cited lines.
    pub verbatim: bool,
    /// The file is not the one that was indexed, or can't be read.
    pub stale: bool,
    /// The rule that finds the shown text unsafe.
    pub unsafe_rule: Option<&'static str>,
}

/// Asks every case, in order; also the generation that was asked.
///
/// # Errors
/// As [`Store::context`], with the case; [`Error::Refused`] where the store was synced meanwhile.
pub(crate) fn ask(store: &Store, requests: &[CaseRequest], limits: &Limits) -> Result<(u64, Vec<Asked>)> {
    let newest =
        || -> Result<u64> { Ok(store.log(&Principal::operator(), Some(1))?.first().map_or(0, |newest| newest.number)) };
    let generation = newest()?;
    let mut asked: Vec<Asked> = Vec::with_capacity(requests.len());
    for request in requests {
        let (k, max_chars) = (request.top_k.unwrap_or(limits.k), request.max_chars.unwrap_or(limits.max_chars));
        let mut context = ContextRequest::new(&request.query);
        context.search.top_k = k.saturating_mul(SPARE).clamp(CANDIDATES.0, CANDIDATES.1);
        (context.search.explain, context.search.expected_policy) = (true, limits.expected_policy);
        (context.search.retriever, context.search.similarity_floor) =
            (limits.retriever.clone(), limits.similarity_floor);
        (context.max_chunks, context.max_chars) = (k, max_chars);
        context.allow_unverified_source = limits.allow_unverified_source;
        let evidence = store.context(&request.principal, &context).map_err(|error| of_case(&request.id, error))?;
        if newest()? != generation {
            return Err(Error::Refused {
                code: "store_changed",
                message: "the store was synced while it was evaluated".into(),
                hint: "evaluate it again".into(),
            });
        }
        let answer = limits.answer.map(|strategy| {
            let answer = AnswerRequest {
                strategy,
                top_k: k.min(MOST_ANSWERED),
                max_chars: Some(max_chars),
                allow_unverified_source: limits.allow_unverified_source,
                retriever: limits.retriever.clone(),
                similarity_floor: limits.similarity_floor,
                ..AnswerRequest::new(&request.query, &Extractive)
            };
            store.answer(&request.principal, &answer).map_err(|error| of_case(&request.id, error))
        });
        asked.push(Asked { request: request.clone(), k, max_chars, evidence, answer: answer.transpose()? });
    }
    Ok((generation, asked))
}

fn of_case(id: &str, error: Error) -> Error {
    match error {
        Error::Invalid { message } => Error::Invalid { message: format!("case {id:?}: {message}") },
        other => other,
    }
}

/// Codes of chunks that the gate let pass and the prompt had no room for.
const NO_ROOM: [&str; 2] = ["over_budget", "over_count"];

impl Asked {
    /// The first `k` chunks that could be evidence, best first, shown or not.
    pub(crate) fn ranking(&self) -> Vec<Ranked> {
        let manifest = &self.evidence.manifest;
        let shown = manifest.shown.iter().map(|it| Ranked {
            chunk_id: it.chunk_id.clone(),
            source_id: it.source_id.clone(),
            citation: Citation { path: it.path.clone(), start_line: it.start_line, end_line: it.end_line },
            score: it.score,
        });
        let left_out = manifest.refused.iter().filter(|it| NO_ROOM.contains(&it.code.as_str())).filter_map(|it| {
            Some(Ranked {
                chunk_id: it.chunk_id.clone(),
                source_id: it.source_id.clone(),
                citation: Citation { path: it.path.clone(), start_line: it.start_line, end_line: it.end_line },
                score: it.score?,
            })
        });
        let mut ranking: Vec<Ranked> = shown.chain(left_out).collect();
        // The order of a search.
        ranking.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.key().cmp(&b.key())));
        ranking.truncate(self.k);
        ranking
    }

    /// Reads the source of each shown chunk again.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub(crate) fn reread(&self, store: &Store) -> Result<Vec<Reread>> {
        let blocks = self.evidence.blocks();
        let mut sources: HashMap<&str, Source> = HashMap::new();
        let mut reread = Vec::new();
        for (index, shown) in self.evidence.manifest.shown.iter().enumerate() {
            let document = shown.chunk_id.split(':').next().unwrap_or_default();
            let source = match sources.entry(document) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(Source::of(store, &shown.chunk_id)?),
            };
            let file = source.file.as_deref();
            let body = blocks.get(index).filter(|block| block.label == shown.label).map(|block| block.body.as_str());
            reread.push(Reread {
                verbatim: file.zip(body).is_some_and(|(file, body)| has(file, shown, body)),
                stale: file.is_none_or(|file| Digest::of(file).to_string() != shown.document_hash),
                unsafe_rule: body.filter(|_| !source.is_reviewed).and_then(unsafe_rule_of),
            });
        }
        Ok(reread)
    }
}

impl Ranked {
    /// Where it stands, for labels.
    pub(crate) fn place(&self) -> Place<'_> {
        let Citation { path, start_line, end_line } = &self.citation;
        let (chunk_id, source_id) = (&self.chunk_id, &self.source_id);
        Place { chunk_id, source_id, path, start_line: *start_line, end_line: *end_line }
    }

    fn key(&self) -> (&str, &str, u32) {
        (&self.citation.path, &self.source_id, self.citation.start_line)
    }
}

/// Where a shown chunk stands, for labels.
pub(crate) fn place_of(shown: &Shown) -> Place<'_> {
    let Shown { chunk_id, source_id, path, start_line, end_line, .. } = shown;
    Place { chunk_id, source_id, path, start_line: *start_line, end_line: *end_line }
}

/// A shown chunk's source file as it is now.
#[derive(Default)]
struct Source {
    /// `None` where it can't be read.
    file: Option<String>,
    /// Someone reviewed it, so that the rules for unsafe text do not hold for it.
    is_reviewed: bool,
}

impl Source {
    fn of(store: &Store, chunk_id: &str) -> Result<Self> {
        let Some(id) = ChunkId::parse(chunk_id) else { return Ok(Self::default()) };
        let Some((_, document)) = store.read(|conn| documents::by_id(conn, id.document))? else {
            return Ok(Self::default());
        };
        Ok(Self { file: store.source_text(&document)?.ok(), is_reviewed: document.trust == Trust::Reviewed.as_str() })
    }
}

/// The first rule that finds a text unsafe.
fn unsafe_rule_of(text: &str) -> Option<&'static str> {
    unsafe_text::scan(text).first().map(|finding| finding.rule)
}

/// Whether a file has these bytes on the cited lines, whatever else it has.
fn has(file: &str, shown: &Shown, body: &str) -> bool {
    let Shown { start_line, end_line, start_byte, end_byte, .. } = *shown;
    let span = Span { start_line, end_line, start_byte, end_byte };
    let holds: std::result::Result<(), SourceFault> = source::stands(file, &span, body);
    holds.is_ok()
}

#[cfg(test)]
mod tests;

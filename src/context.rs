//! `context`: a question becomes evidence, the prompt and the record of what is in it.
//!
//! The data path, top to bottom: one snapshot is searched, and what the record needs is read from it; then each hit, in
//! order of rank, is held to its source file as it is at this moment, and goes into the prompt if it is new and fits
//! (`context/select.rs`). Recording the run is a step of its own (`context/record.rs`): evidence only reads.

mod again;
mod record;
mod select;
mod types;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::access::{Scope, Seen, history};
use crate::error::{Error, Result};
use crate::evidence::budget::Budget;
use crate::evidence::nonce;
use crate::evidence::prompt::Prompt;
use crate::model::{ChunkId, Digest, DocumentId, MANIFEST_FORMAT, Manifest, Principal, Refused, RunEvent, Shown};
use crate::search::{self, Asked, Hit, Refusal, SearchRequest, SearchedVectors};
use crate::store::documents::DocumentRow;
use crate::store::sources::SourceRow;
use crate::store::{Connection, Store, chunks, documents, settings, sources};
use select::{Selected, Selection};

pub(crate) use again::Again;
pub(crate) use record::insert as insert_run;
pub(crate) use types::vectors_of;
pub use types::{ContextRequest, Evidence};

/// The most hits that evidence is taken from.
const MOST_CANDIDATES: usize = 1000;

/// The most queries that are asked beside the first.
const MOST_ALSO: usize = 32;

impl Store {
    /// Evidence for a question: whole chunks, each compared with its source file just now, under labels, within a
    /// budget. Where nothing can be shown the manifest has no chunk and the event `no_evidence`.
    ///
    /// # Errors
    /// As [`Store::search`]; [`Error::Invalid`] where a limit is 0 or too large, or the budget can't hold the guard.
    pub fn context(&self, principal: &Principal, request: &ContextRequest) -> Result<Evidence> {
        if request.max_chunks == 0 {
            return Err(Error::Invalid { message: "max_chunks is 0; ask for 1 block or more".into() });
        }
        if request.also.len() > MOST_ALSO {
            let message = format!("{} further queries; ask for {MOST_ALSO} or fewer", request.also.len());
            return Err(Error::Invalid { message });
        }
        if request.search.top_k > MOST_CANDIDATES {
            let message =
                format!("top_k is {}; evidence is taken from {MOST_CANDIDATES} hits or fewer", request.search.top_k);
            return Err(Error::Invalid { message });
        }
        let also = request.also.iter().map(|query| SearchRequest { query: query.clone(), ..request.search.clone() });
        let also: Vec<SearchRequest> = also.collect();
        let asked = std::iter::once(&request.search).chain(&also).map(Asked::new).collect::<Result<Vec<_>>>()?;
        let found = self.read_as(principal, Seen::Evidence, |conn, scope| Found::on(self, conn, scope, &asked))?;
        let texts = found.candidates.iter().map(|candidate| candidate.hit.text.as_str());
        let nonce = nonce::foreign_to(texts, nonce::random_id)?;
        let counter = request.counter();
        let budget = Budget { max_chars: request.max_chars, counter, max_tokens: request.max_tokens };
        let mut selection = Selection::new(self, principal, request, &found, Prompt::new(&nonce, budget)?);
        for (index, candidate) in found.candidates.iter().enumerate() {
            selection.take(index, candidate)?;
        }
        let Selected { prompt, shown, mut refused, unverified } = selection.finish();
        let (prompt, chars, tokens) = prompt.finish();
        refused.extend(found.refused.iter().cloned());
        let truncated = refused.iter().any(|refused| refused.code == "over_budget");
        let events = events(&shown, &refused, unverified, found.unsafe_left);
        let manifest = Manifest {
            format: MANIFEST_FORMAT,
            run_id: nonce::random_id()?,
            created_at: settings::now(),
            store_id: found.store_id.clone(),
            query: request.search.query.clone(),
            generation: found.generation,
            generation_digest: found.generation_digest.to_string(),
            policy_digest: found.policy_digest.to_string(),
            acl_epoch: found.acl_epoch,
            settings: request.settings(found.floor, found.vectors.as_ref()),
            nonce: nonce.clone(),
            chars,
            tokens,
            truncated,
            unverified_source: unverified > 0,
            prompt_hash: Digest::of(&prompt).to_string(),
            shown,
            refused,
            events,
        };
        Ok(Evidence { manifest, prompt })
    }
}

/// What one snapshot says of a question.
struct Found {
    /// The generation as the principal sees it, and its digest.
    generation: u64,
    generation_digest: Digest,
    policy_digest: Digest,
    acl_epoch: u64,
    store_id: String,
    floor: f64,
    /// The vectors that the question was compared with.
    vectors: Option<SearchedVectors>,
    candidates: Vec<Candidate>,
    sources: HashMap<i64, SourceRow>,
    /// What the search refused.
    refused: Vec<Refused>,
    /// How many unsafe chunks were not looked at.
    unsafe_left: u64,
}

/// A hit and its document.
struct Candidate {
    hit: Hit,
    document: DocumentRow,
    /// The digest of its title, headings and text, as they were indexed.
    composition: [u8; 16],
}

impl Found {
    /// `asked` has the question first, then further queries under the same limits.
    fn on(store: &Store, conn: &Connection, scope: &Scope, asked: &[Asked<'_>]) -> Result<Self> {
        let mut results = Vec::with_capacity(asked.len());
        for asked in asked {
            results.push(store.search_on(conn, scope, asked)?);
        }
        let first = &mut results[0];
        let (generation, floor, unsafe_left) = (first.generation, first.floor, first.unsafe_left);
        let vectors = first.vectors.take();
        let policy = search::policy(conn, scope, generation > 0, asked[0].expected_policy())?;
        let refusals: Vec<Refusal> = results.iter_mut().flat_map(|result| result.refused.drain(..)).collect();
        let hits = in_turns(results.into_iter().map(|result| result.hits).collect());
        let mut known: HashSet<ChunkId> = hits.iter().map(|hit| hit.chunk_id).collect();
        let refusals = refusals.iter().filter(|refusal| known.insert(refusal.chunk_id));
        let refused = refusals.map(|refusal| refused_by_search(conn, refusal)).collect::<Result<_>>()?;
        let mut candidates = Vec::with_capacity(hits.len());
        for hit in hits {
            let (number, document) = document(conn, hit.document_id)?;
            let composition = chunks::composition(conn, number, hit.chunk_id)?;
            candidates.push(Candidate { hit, document, composition });
        }
        Ok(Self {
            generation,
            generation_digest: history::newest_digest(conn, scope)?,
            policy_digest: policy
                .map(|policy| policy.digest())
                .ok_or_else(|| Error::Damaged { detail: "settings.policy is missing".into() })?,
            acl_epoch: history::epoch(conn, scope)?,
            store_id: settings::store_id(conn)?,
            floor,
            vectors,
            refused,
            unsafe_left,
            sources: found_sources(conn, &candidates)?,
            candidates,
        })
    }
}

/// The hits of several searches, each once: the best of each search, then the second of each, and so on. Scores of
/// different queries can't be compared; ranks can.
fn in_turns(mut searches: Vec<Vec<Hit>>) -> Vec<Hit> {
    if let [hits] = searches.as_mut_slice() {
        return std::mem::take(hits);
    }
    let mut known = HashSet::new();
    let mut searches: Vec<_> = searches.into_iter().map(Vec::into_iter).collect();
    let mut merged: Vec<Hit> = Vec::new();
    loop {
        let turn: Vec<Hit> = searches.iter_mut().filter_map(Iterator::next).collect();
        if turn.is_empty() {
            return merged;
        }
        merged.extend(turn.into_iter().filter(|hit| known.insert(hit.chunk_id)));
    }
}

/// The sources of the candidates' documents, by number.
fn found_sources(conn: &Connection, candidates: &[Candidate]) -> Result<HashMap<i64, SourceRow>> {
    let mut found = HashMap::new();
    for Candidate { document, .. } in candidates {
        if !found.contains_key(&document.source_no)
            && let Some(row) = sources::by_number(conn, document.source_no)?
        {
            found.insert(document.source_no, row);
        }
    }
    Ok(found)
}

fn document(conn: &Connection, id: DocumentId) -> Result<(i64, DocumentRow)> {
    documents::by_id(conn, id)?
        .ok_or_else(|| Error::Damaged { detail: format!("document {id} is found and not stored") })
}

fn refused_by_search(conn: &Connection, refusal: &Refusal) -> Result<Refused> {
    let (number, document) = document(conn, refusal.chunk_id.document)?;
    let chunk = chunks::by_id(conn, number, refusal.chunk_id)?;
    let chunk = chunk.ok_or_else(|| Error::Damaged { detail: format!("chunk {} is not stored", refusal.chunk_id) })?;
    Ok(Refused {
        chunk_id: refusal.chunk_id.to_string(),
        source_id: document.source_id,
        path: document.path,
        start_line: chunk.span.start_line,
        end_line: chunk.span.end_line,
        start_byte: chunk.span.start_byte,
        end_byte: chunk.span.end_byte,
        content_hash: chunk.content.to_string(),
        document_hash: document.content_hash.to_string(),
        score: None,
        code: refusal.code.to_owned(),
        detail: refusal.detail.clone(),
    })
}

/// What happened, for the run's record.
fn events(shown: &[Shown], refused: &[Refused], unverified: usize, unsafe_left: u64) -> Vec<RunEvent> {
    let mut codes: Map<String, Value> = Map::new();
    for refused in refused {
        let count = codes.get(&refused.code).and_then(Value::as_u64).unwrap_or(0);
        codes.insert(refused.code.clone(), (count + 1).into());
    }
    let over_budget = codes.get("over_budget").cloned();
    let event = |name: &str, detail: &[(&str, Value)]| RunEvent {
        name: name.to_owned(),
        detail: detail.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
    };
    let mut events = vec![event("retrieval", &[("shown", shown.len().into()), ("refused", codes.into())])];
    events.extend(over_budget.map(|chunks| event("retrieval_truncated", &[("chunks", chunks)])));
    if unverified > 0 {
        events.push(event("unverified_source", &[("chunks", unverified.into())]));
    }
    if unsafe_left > 0 {
        events.push(event("unsafe_not_all_looked_at", &[("chunks", unsafe_left.into())]));
    }
    if shown.is_empty() {
        events.push(event("no_evidence", &[]));
    }
    events
}

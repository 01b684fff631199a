//! `search`: a question becomes ranked chunks.
//!
//! The data path, top to bottom: the query is taken apart, and embedded where vectors are compared; then, on one snapshot,
//! the policy is checked, the retriever ranks (`search/rank.rs`), filters and phrases are looked up for chunks that would
//! enter the result, and rows become hits.

mod asked;
mod filter;
mod fusion;
mod highlight;
mod kept;
mod query;
mod rank;
mod retriever;
mod types;
mod unsafe_chunks;
mod words;

use crate::access::{Scope, Seen, history};
use crate::error::{Error, Result};
use crate::index;
use crate::lexicon::Lexer;
use crate::model::{Bm25Policy, ChunkPolicy, Policy, Principal};
use crate::store::{Connection, Store, settings};
use filter::Filters;
use kept::Kept;
use rank::{Search, Traverse, Vectors};

pub(crate) use asked::Asked;
pub use retriever::{FoundBy, ListPlace, Retriever, SearchedVectors};
pub use types::{ExpectedPolicy, Explanation, Hit, QueryTermInfo, Refusal, SearchRequest, SearchResult, TermShare};

/// How many refused chunks an explanation lists at most.
const REFUSED_AT_MOST: usize = 10;

impl Store {
    /// The best chunks for a query, best first. No chunk is relevant enough: no hits.
    ///
    /// # Errors
    /// [`Error::PolicyMismatch`] where the store was indexed under other settings than the request expects or this
    /// build has; [`Error::NotFound`] where nothing was published yet, to the operator: others find nothing then;
    /// [`Error::Invalid`] where `top_k` is 0 or the query is longer than 16 KiB, or somebody else than the operator reads
    /// as of a time that lies ahead.
    pub fn search(&self, principal: &Principal, request: &SearchRequest) -> Result<SearchResult> {
        self.search_by(principal, request, index::top_k)
    }

    /// The same without pruning, by reading every posting of every term: what benches hold [`Store::search`] to.
    ///
    /// # Errors
    /// As [`Store::search`].
    #[cfg(feature = "exhaustive")]
    #[doc(hidden)]
    pub fn search_exhaustively(&self, principal: &Principal, request: &SearchRequest) -> Result<SearchResult> {
        self.search_by(principal, request, index::exhaustive)
    }

    fn search_by(&self, principal: &Principal, request: &SearchRequest, traverse: Traverse) -> Result<SearchResult> {
        let asked = Asked::new(request)?;
        self.read_as(principal, Seen::Evidence, |conn, scope| {
            self.search_in(conn, scope, &asked, request.explain, traverse)
        })
    }

    /// As [`Store::search`], on a snapshot that the caller holds; what was refused is always named.
    pub(crate) fn search_on(&self, conn: &Connection, scope: &Scope, asked: &Asked<'_>) -> Result<SearchResult> {
        self.search_in(conn, scope, asked, true, index::top_k)
    }

    fn search_in(
        &self,
        conn: &Connection,
        scope: &Scope,
        asked: &Asked<'_>,
        name_refused: bool,
        traverse: Traverse,
    ) -> Result<SearchResult> {
        let Asked { request, typed, .. } = asked;
        let kept: &Kept = self.kept();
        let mut lexer = kept.lexer();
        let lexed = query::lex(typed, request.all_terms, &mut lexer);
        let expected = request.expected_policy.as_ref();
        let newest = history::newest(conn, scope)?;
        let (generation, policy) = match (newest, policy(conn, scope, newest.is_some(), expected)?) {
            (Some(generation), Some(policy)) => (generation, policy),
            // Somebody who may read nothing can't tell whether there is something.
            (None, Some(policy)) if !scope.is_whole() => (0, policy),
            _ => return Err(nothing_published(self)),
        };
        check_policy(&policy, expected)?;
        // Nor whether it has vectors.
        let vectors = if generation == 0 { None } else { Vectors::of(conn, scope, asked, &kept.vectors)? };
        let search =
            Search { conn, scope, kept: &kept.index, policy: &policy, lexed: &lexed, request, traverse, vectors };
        let near = search.near(name_refused)?;
        let ranking = search.rank(&mut Filters::new(conn, typed, &mut lexer), &near)?;
        let hits = search.hits(&ranking.hits, typed, &mut lexer)?;
        let (refused, unsafe_left) = if name_refused {
            let mut refused = search.refused(&ranking, &mut Filters::new(conn, typed, &mut lexer), &near)?;
            let mut filters = Filters::new(conn, typed, &mut lexer);
            let mut accept = |chunk_no: i64| filters.accept(chunk_no);
            let (met, left) =
                unsafe_chunks::matching(conn, scope, &lexed, &mut Lexer::new(), &mut accept, REFUSED_AT_MOST)?;
            refused.extend(met);
            (refused, left)
        } else {
            (Vec::new(), 0)
        };
        kept.give_back(lexer);
        Ok(SearchResult {
            query: request.query.clone(),
            generation,
            hits,
            refused,
            unsafe_left,
            terms: if request.explain { search.terms()? } else { Vec::new() },
            floor: search.floor(),
            term_count: lexed.asked.terms.len(),
            retriever: request.retriever.kind(),
            vectors: search.searched_vectors()?,
        })
    }
}

/// The policy that searches are held to. To others than the operator, who may read nothing, it is the one that a sync of
/// an empty store would take: they can't tell whether there is something. `sees_any` says whether they see a generation.
pub(crate) fn policy(
    conn: &Connection,
    scope: &Scope,
    sees_any: bool,
    expected: Option<&ExpectedPolicy>,
) -> Result<Option<Policy>> {
    if !scope.is_operator() && !sees_any {
        return wanted(&Policy::new(ChunkPolicy::default(), Bm25Policy::default())?, expected).map(Some);
    }
    settings::policy(conn)
}

fn nothing_published(store: &Store) -> Error {
    Error::NotFound { what: format!("published generation in {}; run `ragdb sync`", store.path().display()) }
}

/// A store is searched only under the settings that it was indexed under.
pub(crate) fn check_policy(stored: &Policy, expected: Option<&ExpectedPolicy>) -> Result<()> {
    let wanted = wanted(stored, expected)?;
    if *stored == wanted {
        return Ok(());
    }
    Err(Error::PolicyMismatch { detail: stored.differences(&wanted).join("; ") })
}

/// A stored policy as this build, and who asks, would have it.
fn wanted(stored: &Policy, expected: Option<&ExpectedPolicy>) -> Result<Policy> {
    let mut wanted = stored.clone();
    wanted.lexer_version = crate::LEXER_VERSION;
    wanted.unsafe_rules = crate::UNSAFE_RULES_VERSION;
    if let Some(expected) = expected {
        if let Some(chunking) = expected.chunking {
            wanted.chunking = chunking.applied_to(stored.chunking)?;
        }
        wanted.bm25 = expected.bm25.unwrap_or(wanted.bm25);
        wanted.unsafe_scope = expected.unsafe_scope.unwrap_or(wanted.unsafe_scope);
    }
    Ok(wanted)
}

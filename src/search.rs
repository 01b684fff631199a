//! `search`: a question becomes ranked chunks.
//!
//! The data path, top to bottom: the query is taken apart and lexed; then, on one snapshot, the policy is checked,
//! the index ranks, filters and phrases are looked up for chunks that would enter the result, and rows become hits.

mod filter;
mod highlight;
mod kept;
mod query;
mod types;
mod unsafe_chunks;

use crate::access::{Scope, Seen, history};
use crate::error::{Error, Result};
use crate::index::{self, Scored};
use crate::lexicon::{DEFAULT_FLOOR, Lexer};
use crate::model::{Bm25Policy, ChunkPolicy, Policy, Principal};
use crate::store::hits::{HitReader, PlaceReader};
use crate::store::postings::PostingReader;
use crate::store::{Connection, Store, chunks, documents, settings};
use filter::Filters;
use kept::Kept;
use query::Lexed;

pub use types::{ExpectedPolicy, Explanation, Hit, QueryTermInfo, Refusal, SearchRequest, SearchResult, TermShare};

/// How many refused chunks an explanation lists at most.
const REFUSED_AT_MOST: usize = 10;

/// The longest query, in bytes: far more than a question, little enough that lexing it takes no time.
const LONGEST_QUERY: usize = 16 << 10;

/// A number that no chunk has.
const NO_CHUNK: i64 = -1;

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
        self.read_as(principal, Seen::Evidence, |conn, scope| {
            self.search_in(conn, scope, request, request.explain, traverse)
        })
    }

    /// As [`Store::search`], on a snapshot that the caller holds; what was refused is always named.
    pub(crate) fn search_on(&self, conn: &Connection, scope: &Scope, request: &SearchRequest) -> Result<SearchResult> {
        self.search_in(conn, scope, request, true, index::top_k)
    }

    fn search_in(
        &self,
        conn: &Connection,
        scope: &Scope,
        request: &SearchRequest,
        name_refused: bool,
        traverse: Traverse,
    ) -> Result<SearchResult> {
        if request.top_k == 0 {
            return Err(Error::Invalid { message: "top_k is 0; ask for 1 hit or more".into() });
        }
        if request.query.len() > LONGEST_QUERY {
            let length = request.query.len();
            let message = format!("the query has {length} bytes; ask with {LONGEST_QUERY} or fewer");
            return Err(Error::Invalid { message });
        }
        let kept: &Kept = self.kept();
        let mut lexer = kept.lexer();
        let typed = if request.literal { query::literal(&request.query) } else { query::parse(&request.query) };
        let lexed = query::lex(&typed, request.all_terms, &mut lexer);
        let expected = request.expected_policy.as_ref();
        let newest = history::newest(conn, scope)?;
        let (generation, policy) = match (newest, policy(conn, scope, newest.is_some(), expected)?) {
            (Some(generation), Some(policy)) => (generation, policy),
            // Somebody who may read nothing can't tell whether there is something.
            (None, Some(policy)) if !scope.is_whole() => (0, policy),
            _ => return Err(nothing_published(self)),
        };
        check_policy(&policy, expected)?;
        let search = Search { conn, scope, kept: &kept.index, policy: &policy, lexed: &lexed, request, traverse };
        let mut filters = Filters::new(conn, &typed, &mut lexer);
        let scored = search.rank(&mut filters, search.floor())?;
        let hits = search.hits(&scored, &typed, &mut lexer)?;
        let (refused, unsafe_left) = if name_refused {
            let mut refused = search.refused(&scored, &mut Filters::new(conn, &typed, &mut lexer))?;
            let mut filters = Filters::new(conn, &typed, &mut lexer);
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

/// How the index is read: [`index::top_k`], or all of it.
type Traverse = fn(
    &mut PostingReader<'_>,
    &index::Kept,
    &index::Query,
    &Bm25Policy,
    &mut dyn FnMut(i64) -> Result<bool>,
    &mut dyn FnMut(i64) -> Result<(String, i64)>,
) -> Result<Vec<Scored>>;

struct Search<'a> {
    conn: &'a Connection,
    scope: &'a Scope,
    kept: &'a index::Kept,
    policy: &'a Policy,
    lexed: &'a Lexed,
    request: &'a SearchRequest,
    traverse: Traverse,
}

impl Search<'_> {
    fn floor(&self) -> f64 {
        self.request.floor.unwrap_or(DEFAULT_FLOOR)
    }

    /// The query as the index takes it.
    fn query(&self, floor: f64) -> index::Query {
        index::Query {
            classes: self.scope.classes().to_vec(),
            asked: self.lexed.asked.clone(),
            required: self.lexed.required.clone(),
            excluded: self.lexed.excluded.clone(),
            k: self.request.top_k,
            floor,
            min_score: self.request.min_score.unwrap_or(0.0),
        }
    }

    fn rank(&self, filters: &mut Filters<'_, '_>, floor: f64) -> Result<Vec<Scored>> {
        let mut places = PlaceReader::new(self.conn)?;
        let mut tie_key = |chunk_no: i64| places.place(chunk_no);
        let mut accept = |chunk_no: i64| filters.accept(chunk_no);
        let mut reader = PostingReader::new(self.conn)?;
        (self.traverse)(&mut reader, self.kept, &self.query(floor), &self.policy.bm25, &mut accept, &mut tie_key)
    }

    fn hits(&self, scored: &[Scored], typed: &query::Typed, lexer: &mut Lexer) -> Result<Vec<Hit>> {
        let mut highlighter = highlight::Highlighter::new(lexer, self.lexed, typed);
        let mut hits = Vec::with_capacity(scored.len());
        let mut reader = HitReader::new(self.conn)?;
        for (index, &Scored { chunk_no, score }) in scored.iter().enumerate() {
            let row = reader.hit(chunk_no)?;
            let explanation = if self.request.explain { Some(self.explain(chunk_no)?) } else { None };
            hits.push(Hit {
                rank: index + 1,
                score,
                chunk_id: row.chunk_id,
                document_id: row.document_id,
                source_id: row.source_id,
                path: row.path,
                title: row.title,
                span: row.span,
                heading_path: row.heading_path,
                highlights: highlighter.find(&row.text),
                text: row.text,
                content_hash: row.content_hash,
                explanation,
            });
        }
        Ok(hits)
    }

    fn explain(&self, chunk_no: i64) -> Result<Explanation> {
        let explained = self.explain_postings(chunk_no)?;
        let terms = explained.terms.into_iter().filter(|term| term.tf > 0).map(|term| TermShare {
            term: term.term,
            weight: term.weight,
            df: term.df,
            idf: term.idf,
            tf: term.tf,
            contribution: term.contribution,
        });
        Ok(Explanation {
            length: explained.length.into(),
            average_length: explained.statistics.average_length(),
            information_share: explained.share,
            terms: terms.collect(),
        })
    }

    /// The best chunks that the floor refused.
    fn refused(&self, accepted: &[Scored], filters: &mut Filters<'_, '_>) -> Result<Vec<Refusal>> {
        let mut refused = Vec::new();
        for Scored { chunk_no, .. } in self.rank(filters, 0.0)? {
            if accepted.iter().any(|hit| hit.chunk_no == chunk_no) || refused.len() == REFUSED_AT_MOST {
                continue;
            }
            let explained = self.explain_postings(chunk_no)?;
            if explained.passes {
                continue;
            }
            let (share, floor) = (explained.share, self.floor());
            let detail = if share < floor {
                format!("has {share:.3} of the query's information; the floor is {floor:.3}")
            } else {
                "has one of the things that the query names; of three or more a hit has two".to_owned()
            };
            let (document_no, row, _) = chunks::by_number(self.conn, chunk_no)?;
            let path = documents::place(self.conn, document_no)?.path;
            refused.push(Refusal { chunk_id: row.id(), citation: row.span.cite(path), code: "below_floor", detail });
        }
        Ok(refused)
    }

    /// What the query was understood as.
    fn terms(&self) -> Result<Vec<QueryTermInfo>> {
        let terms = self.explain_postings(NO_CHUNK)?.terms.into_iter();
        Ok(terms
            .map(|term| QueryTermInfo { term: term.term, weight: term.weight, df: term.df, idf: term.idf })
            .collect())
    }

    fn explain_postings(&self, chunk_no: i64) -> Result<index::Explanation> {
        let mut reader = PostingReader::new(self.conn)?;
        index::explain(&mut reader, &self.query(self.floor()), &self.policy.bm25, chunk_no)
    }
}

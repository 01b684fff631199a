//! A question is ranked on one snapshot: by its words, by its vector, or by both.

use std::collections::HashSet;

use super::filter::Filters;
use super::fusion::{self, Ranked};
use super::query::{Lexed, Typed};
use super::words::Words;
use super::{
    Asked, Explanation, Hit, QueryTermInfo, REFUSED_AT_MOST, Refusal, Retriever, SearchRequest, SearchedVectors,
    TermShare, highlight,
};
use crate::access::Scope;
use crate::dense;
use crate::error::Result;
use crate::index::{self, Callbacks, Scored};
use crate::lexicon::{DEFAULT_FLOOR, Lexer};
use crate::model::{Bm25Policy, Policy};
use crate::store::hits::{HitReader, PlaceReader};
use crate::store::postings::PostingReader;
use crate::store::vectors::ProfileRow;
use crate::store::{Connection, chunks, documents};

/// A number that no chunk has.
const NO_CHUNK: i64 = -1;

/// So many of the best chunks below the floor are looked at for what to name: filters may pass few of all there are.
const LOOKED_AT_BELOW: usize = 1000;

/// No cosine is below this.
const LEAST_SIMILAR: f64 = -2.0;

/// How the index is read: [`index::top_k`], or all of it.
pub(super) type Traverse = fn(
    &mut PostingReader<'_>,
    &index::Kept,
    &index::Query,
    &Bm25Policy,
    &mut dyn FnMut(i64) -> Result<bool>,
    &mut dyn FnMut(i64) -> Result<(String, i64)>,
) -> Result<Vec<Scored>>;

/// The vectors that a question is compared with.
pub(super) struct Vectors<'a> {
    kept: &'a dense::Kept,
    profile: ProfileRow,
    /// That of the question; none where it has no text, and so is like nothing.
    vector: Option<&'a [f32]>,
    floor: f64,
}

impl<'a> Vectors<'a> {
    /// Those of the question's model; none where the retriever compares none.
    ///
    /// # Errors
    /// [`crate::Error::Refused`] with `no_vectors` or `profile_mismatch` where the store has none of it.
    pub(super) fn of(
        conn: &Connection,
        scope: &Scope,
        asked: &'a Asked<'_>,
        kept: &'a dense::Kept,
    ) -> Result<Option<Self>> {
        let Some(embedder) = asked.request.retriever.embedder() else { return Ok(None) };
        let floor = asked.request.similarity_floor.unwrap_or_else(|| embedder.floor());
        let profile = dense::ready(conn, embedder.profile(), scope.is_operator())?;
        Ok(Some(Self { kept, profile, vector: asked.vector.as_deref(), floor }))
    }
}

/// One search of one snapshot.
pub(super) struct Search<'a> {
    pub conn: &'a Connection,
    pub scope: &'a Scope,
    pub kept: &'a index::Kept,
    pub policy: &'a Policy,
    pub lexed: &'a Lexed,
    pub request: &'a SearchRequest,
    pub traverse: Traverse,
    pub vectors: Option<Vectors<'a>>,
}

/// What a search came to.
pub(super) struct Ranking {
    /// Best first.
    pub hits: Vec<Ranked>,
    /// Chunks that reached a floor, and are no hits for their rank alone.
    outranked: HashSet<i64>,
}

impl Search<'_> {
    pub(super) fn floor(&self) -> f64 {
        self.request.floor.unwrap_or(DEFAULT_FLOOR)
    }

    /// The vectors that were compared, as the run's record and the reader are told.
    pub(super) fn searched_vectors(&self) -> Result<Option<SearchedVectors>> {
        let Some(Vectors { profile, floor, .. }) = &self.vectors else { return Ok(None) };
        let classes = self.scope.classes();
        let chunks = index::statistics(&PostingReader::new(self.conn)?, classes)?.chunks;
        Ok(Some(SearchedVectors {
            profile: profile.profile.clone(),
            state: dense::state(self.conn, profile, classes)?,
            floor: *floor,
            missing: chunks.saturating_sub(dense::count(self.conn, profile, classes)?),
        }))
    }

    /// The chunks that are like the question; with `all` those below the floor among them.
    pub(super) fn near(&self, all: bool) -> Result<Vec<Scored>> {
        let Some(Vectors { kept, profile, vector: Some(vector), floor }) = &self.vectors else { return Ok(Vec::new()) };
        let floor = if all { LEAST_SIMILAR } else { *floor };
        dense::near(self.conn, &dense::Query { kept, profile, classes: self.scope.classes(), vector, floor })
    }

    /// Ranks as the request says; `near` is what [`Search::near`] gave.
    pub(super) fn rank(&self, filters: &mut Filters<'_, '_>, near: &[Scored]) -> Result<Ranking> {
        let SearchRequest { top_k, min_score, .. } = self.request;
        let least = min_score.unwrap_or(f64::NEG_INFINITY);
        let (hits, outranked) = match &self.request.retriever {
            Retriever::Bm25 => {
                let hits = self.by_words(filters, *top_k, self.floor(), min_score.unwrap_or(0.0))?;
                (fusion::by_bm25(&hits), HashSet::new())
            }
            Retriever::Dense(_) => {
                let hits = self.by_vector(filters, *top_k, near, |score| score >= least)?;
                (fusion::by_cosine(&hits), HashSet::new())
            }
            Retriever::Rrf { fusion, .. } => {
                let depth = usize::try_from(fusion.depth).unwrap_or(usize::MAX).max(*top_k);
                let bm25 = self.by_words(filters, depth, self.floor(), 0.0)?;
                let dense = self.by_vector(filters, depth, near, |_| true)?;
                let all = fusion::fused(&bm25, &dense, fusion);
                let scored = all.values().map(|ranked| ranked.hit).filter(|hit| hit.score >= least).collect();
                let mut places = PlaceReader::new(self.conn)?;
                let mut callbacks =
                    Callbacks { accept: &mut |_| Ok(true), tie_key: &mut |chunk_no| places.place(chunk_no) };
                let best = dense::best(scored, *top_k, &mut callbacks)?;
                (best.iter().map(|hit| all[&hit.chunk_no]).collect(), all.into_keys().collect())
            }
        };
        Ok(Ranking { hits, outranked })
    }

    /// The query as the index takes it.
    fn query(&self, k: usize, floor: f64, min_score: f64) -> index::Query {
        index::Query {
            classes: self.scope.classes().to_vec(),
            asked: self.lexed.asked.clone(),
            required: self.lexed.required.clone(),
            excluded: self.lexed.excluded.clone(),
            k,
            floor,
            min_score,
        }
    }

    fn by_words(&self, filters: &mut Filters<'_, '_>, k: usize, floor: f64, min_score: f64) -> Result<Vec<Scored>> {
        let mut places = PlaceReader::new(self.conn)?;
        let mut tie_key = |chunk_no: i64| places.place(chunk_no);
        let mut accept = |chunk_no: i64| filters.accept(chunk_no);
        let mut reader = PostingReader::new(self.conn)?;
        let query = self.query(k, floor, min_score);
        (self.traverse)(&mut reader, self.kept, &query, &self.policy.bm25, &mut accept, &mut tie_key)
    }

    /// The best by cosine of what is near, reaches the floor and is admitted.
    fn by_vector(
        &self,
        filters: &mut Filters<'_, '_>,
        k: usize,
        near: &[Scored],
        admits: impl Fn(f64) -> bool,
    ) -> Result<Vec<Scored>> {
        let Some(Vectors { profile, floor, .. }) = &self.vectors else { return Ok(Vec::new()) };
        let near = near.iter().filter(|hit| hit.score >= *floor && admits(hit.score)).copied().collect();
        self.nearest(filters, profile, k, near)
    }

    fn nearest(
        &self,
        filters: &mut Filters<'_, '_>,
        profile: &ProfileRow,
        k: usize,
        near: Vec<Scored>,
    ) -> Result<Vec<Scored>> {
        let words = Words::new(self.conn, self.scope, self.kept, self.lexed)?;
        let mut places = PlaceReader::new(self.conn)?;
        let mut callbacks = Callbacks {
            accept: &mut |chunk_no| Ok(words.accept(chunk_no) && filters.accept(chunk_no)?),
            tie_key: &mut |chunk_no| places.place(chunk_no),
        };
        dense::top_k(self.conn, profile, near, k, &mut callbacks)
    }

    /// The rows of ranked chunks.
    pub(super) fn hits(&self, ranked: &[Ranked], typed: &Typed, lexer: &mut Lexer) -> Result<Vec<Hit>> {
        let mut highlighter = highlight::Highlighter::new(lexer, self.lexed, typed);
        let mut hits = Vec::with_capacity(ranked.len());
        let mut reader = HitReader::new(self.conn)?;
        for (index, &Ranked { hit: Scored { chunk_no, score }, found_by }) in ranked.iter().enumerate() {
            let row = reader.hit(chunk_no)?;
            let explanation = if self.request.explain { Some(self.explain(chunk_no)?) } else { None };
            hits.push(Hit {
                rank: index + 1,
                score,
                found_by,
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

    /// The best chunks that a floor refused: by words, then by cosine.
    pub(super) fn refused(
        &self,
        ranking: &Ranking,
        filters: &mut Filters<'_, '_>,
        near: &[Scored],
    ) -> Result<Vec<Refusal>> {
        let mut known = ranking.outranked.clone();
        known.extend(ranking.hits.iter().map(|ranked| ranked.hit.chunk_no));
        let mut refused = Vec::new();
        if !matches!(self.request.retriever, Retriever::Dense(_)) {
            self.refused_by_words(&mut known, filters, &mut refused)?;
        }
        if let Some(Vectors { profile, floor, .. }) = &self.vectors {
            let below = near.iter().filter(|hit| hit.score < *floor && !known.contains(&hit.chunk_no));
            let most = REFUSED_AT_MOST - refused.len();
            if most > 0 {
                let mut below: Vec<Scored> = below.copied().collect();
                below.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk_no.cmp(&b.chunk_no)));
                below.truncate(LOOKED_AT_BELOW);
                for hit in self.nearest(filters, profile, most, below)? {
                    let detail = format!("its cosine with the question is {:.3}; the floor is {floor:.3}", hit.score);
                    refused.push(self.refusal(hit.chunk_no, detail)?);
                }
            }
        }
        Ok(refused)
    }

    fn refused_by_words(
        &self,
        known: &mut HashSet<i64>,
        filters: &mut Filters<'_, '_>,
        refused: &mut Vec<Refusal>,
    ) -> Result<()> {
        let min_score = match self.request.retriever {
            Retriever::Bm25 => self.request.min_score.unwrap_or(0.0),
            Retriever::Dense(_) | Retriever::Rrf { .. } => 0.0,
        };
        for Scored { chunk_no, .. } in self.by_words(filters, self.request.top_k, 0.0, min_score)? {
            if refused.len() == REFUSED_AT_MOST || known.contains(&chunk_no) {
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
            known.insert(chunk_no);
            refused.push(self.refusal(chunk_no, detail)?);
        }
        Ok(())
    }

    fn refusal(&self, chunk_no: i64, detail: String) -> Result<Refusal> {
        let (document_no, row, _) = chunks::by_number(self.conn, chunk_no)?;
        let path = documents::place(self.conn, document_no)?.path;
        Ok(Refusal { chunk_id: row.id(), citation: row.span.cite(path), code: "below_floor", detail })
    }

    /// What the query was understood as.
    pub(super) fn terms(&self) -> Result<Vec<QueryTermInfo>> {
        let terms = self.explain_postings(NO_CHUNK)?.terms.into_iter();
        Ok(terms
            .map(|term| QueryTermInfo { term: term.term, weight: term.weight, df: term.df, idf: term.idf })
            .collect())
    }

    fn explain_postings(&self, chunk_no: i64) -> Result<index::Explanation> {
        let mut reader = PostingReader::new(self.conn)?;
        index::explain(&mut reader, &self.query(self.request.top_k, self.floor(), 0.0), &self.policy.bm25, chunk_no)
    }
}

//! Retrieval metrics, pure: a ranked list of documents and the judgements of one query give numbers from 0 to 1.
//!
//! The definitions are `trec_eval`'s, with these edges:
//!
//! - A document is relevant where its grade is 1 or more. An unjudged document, a 0 and a negative grade all gain 0.
//! - Fewer than `k` hits: the missing ranks hold nothing relevant. Precision still divides by `k`, recall by the
//!   number of relevant documents, nDCG by the ideal of `k` ranks.
//! - A query without judgements is not evaluated. A query with judgements counts in every mean: without a hit, or
//!   without a relevant document among its judgements, it counts 0. (`pytrec_eval` leaves a judged query out
//!   where the run does not name it, and counts it 0 where the run names it without a hit; here both count 0, as
//!   in `trec_eval -c`.)
//! - Ties: a ranking is evaluated in the order it was given in. `trec_eval` sorts a run again, by score and then by
//!   document id downwards; ragdb's own order is total (score, path, place in the document), so the figures are
//!   those of what a caller sees. Where no two scores of a query are equal, both orders are the same.

use std::collections::{BTreeMap, HashSet};
use std::iter::Sum;
use std::ops::Add;

/// The hits of one query, best first, each document once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ranking(Vec<(String, f64)>);

impl Ranking {
    /// Ranks documents by their best hit: of the hits of one document, which stand best first, only the first counts.
    pub(crate) fn new(hits: impl IntoIterator<Item = (String, f64)>) -> Self {
        let mut seen = HashSet::new();
        Self(hits.into_iter().filter(|(id, _)| seen.insert(id.clone())).collect())
    }

    /// The documents and their scores, best first.
    pub(crate) fn hits(&self) -> &[(String, f64)] {
        &self.0
    }

    fn top(&self, k: usize) -> impl Iterator<Item = &str> {
        self.0.iter().take(k).map(|(id, _)| id.as_str())
    }
}

/// The graded judgements of one query: document id to grade.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Judgements(BTreeMap<String, i64>);

impl Judgements {
    /// Adds a judgement; `false` (and no change) where the document has one.
    pub(crate) fn insert(&mut self, id: String, grade: i64) -> bool {
        let vacant = !self.0.contains_key(&id);
        if vacant {
            self.0.insert(id, grade);
        }
        vacant
    }

    /// How many documents are relevant.
    pub(crate) fn relevant(&self) -> usize {
        self.0.values().filter(|grade| **grade > 0).count()
    }

    fn is_relevant(&self, id: &str) -> bool {
        self.0.get(id).is_some_and(|grade| *grade > 0)
    }

    #[allow(clippy::cast_precision_loss)] // grades are small numbers
    fn gain(&self, id: &str) -> f64 {
        self.0.get(id).map_or(0.0, |grade| (*grade).max(0) as f64)
    }

    #[allow(clippy::cast_precision_loss)] // grades are small numbers
    fn ideal(&self, k: usize) -> f64 {
        let mut grades: Vec<i64> = self.0.values().copied().filter(|grade| *grade > 0).collect();
        grades.sort_unstable_by(|a, b| b.cmp(a));
        discounted(grades.into_iter().take(k).map(|grade| grade as f64))
    }
}

impl FromIterator<(String, i64)> for Judgements {
    /// Of several judgements of one document the first counts.
    fn from_iter<I: IntoIterator<Item = (String, i64)>>(judgements: I) -> Self {
        let mut all = Self::default();
        for (id, grade) in judgements {
            all.insert(id, grade);
        }
        all
    }
}

/// The sum of the gains, each divided by log2(rank + 1).
#[allow(clippy::cast_precision_loss)] // ranks are small numbers
fn discounted(gains: impl Iterator<Item = f64>) -> f64 {
    gains.zip(1_usize..).map(|(gain, rank)| gain / ((rank + 1) as f64).log2()).fold(0.0, Add::add)
}

/// `part / whole`, 0 where there is no whole.
#[allow(clippy::cast_precision_loss)] // both count documents
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn relevant_in_top(ranking: &Ranking, judgements: &Judgements, k: usize) -> usize {
    ranking.top(k).filter(|id| judgements.is_relevant(id)).count()
}

/// The share of the relevant documents that are among the first `k` hits.
pub(crate) fn recall(ranking: &Ranking, judgements: &Judgements, k: usize) -> f64 {
    share(relevant_in_top(ranking, judgements, k), judgements.relevant())
}

/// The share of the first `k` ranks that hold a relevant document.
pub(crate) fn precision(ranking: &Ranking, judgements: &Judgements, k: usize) -> f64 {
    share(relevant_in_top(ranking, judgements, k), k)
}

/// 1 where one of the first `k` hits is relevant, else 0 (`trec_eval`'s `success`).
pub(crate) fn hit(ranking: &Ranking, judgements: &Judgements, k: usize) -> f64 {
    if relevant_in_top(ranking, judgements, k) > 0 { 1.0 } else { 0.0 }
}

/// 1 / the rank of the first relevant hit; 0 where there is none, or none in the first `cut` ranks.
pub(crate) fn reciprocal_rank(ranking: &Ranking, judgements: &Judgements, cut: Option<usize>) -> f64 {
    let first = ranking.top(cut.unwrap_or(usize::MAX)).position(|id| judgements.is_relevant(id));
    first.map_or(0.0, |index| share(1, index + 1))
}

/// Discounted gain of the first `k` hits over that of the best possible `k`: the gain is the grade itself, divided
/// by log2(rank + 1); 0 where nothing is relevant.
pub(crate) fn ndcg(ranking: &Ranking, judgements: &Judgements, k: usize) -> f64 {
    let ideal = judgements.ideal(k);
    if ideal == 0.0 { 0.0 } else { discounted(ranking.top(k).map(|id| judgements.gain(id))) / ideal }
}

/// Every metric of one query at one `k`, or their means over queries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Metrics {
    /// See [`recall`].
    pub(crate) recall: f64,
    /// See [`precision`].
    pub(crate) precision: f64,
    /// See [`hit`]; its mean is the hit rate.
    pub(crate) hit: f64,
    /// See [`reciprocal_rank`], cut at `k`; its mean is the MRR.
    pub(crate) reciprocal_rank: f64,
    /// See [`ndcg`].
    pub(crate) ndcg: f64,
}

impl Metrics {
    /// All metrics of one query's ranking at `k`.
    pub(crate) fn at(ranking: &Ranking, judgements: &Judgements, k: usize) -> Self {
        Self {
            recall: recall(ranking, judgements, k),
            precision: precision(ranking, judgements, k),
            hit: hit(ranking, judgements, k),
            reciprocal_rank: reciprocal_rank(ranking, judgements, Some(k)),
            ndcg: ndcg(ranking, judgements, k),
        }
    }

    /// The means over all queries that have judgements, and how many these are; `None` where none has.
    #[allow(clippy::cast_precision_loss)] // counts queries
    pub(crate) fn mean(
        run: &BTreeMap<String, Ranking>,
        judgements: &BTreeMap<String, Judgements>,
        k: usize,
    ) -> Option<(Self, usize)> {
        let queries = judgements.len();
        let none = Ranking::default();
        let sum: Self = judgements.iter().map(|(id, judged)| Self::at(run.get(id).unwrap_or(&none), judged, k)).sum();
        (queries > 0).then(|| (sum.map(|total| total / queries as f64), queries))
    }

    fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self {
            recall: change(self.recall),
            precision: change(self.precision),
            hit: change(self.hit),
            reciprocal_rank: change(self.reciprocal_rank),
            ndcg: change(self.ndcg),
        }
    }
}

impl Add for Metrics {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            recall: self.recall + other.recall,
            precision: self.precision + other.precision,
            hit: self.hit + other.hit,
            reciprocal_rank: self.reciprocal_rank + other.reciprocal_rank,
            ndcg: self.ndcg + other.ndcg,
        }
    }
}

impl Sum for Metrics {
    fn sum<I: Iterator<Item = Self>>(metrics: I) -> Self {
        metrics.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests;

//! `eval FILE`: labelled questions are put to a store, and what it shows is held to the labels.
//!
//! The data path, top to bottom: every case is asked ([`super::ask`], which knows no label); the sources of what was
//! shown are read again; only then are the labels looked at ([`super::score`]).

use super::ask::{self, Limits};
use super::cases::EvalSet;
use super::score::{self, EvalCase, HeldThreshold};
use super::threshold::{EvalMetric, Threshold};
use crate::answer::Strategy;
use crate::error::{Error, Result};
use crate::search::{ExpectedPolicy, Retriever};
use crate::store::Store;

/// How to evaluate.
#[derive(Clone, Debug, PartialEq)]
pub struct EvalRequest {
    /// How many hits of each case count, and how many blocks may be shown, where the case does not say.
    pub k: usize,
    /// The budget of each prompt in characters, where the case does not say.
    pub max_chars: usize,
    /// Thresholds; one of a metric goes before that of the file.
    pub thresholds: Vec<Threshold>,
    /// Show chunks whose source folder can't be opened.
    pub allow_unverified_source: bool,
    /// Settings that the caller relies on.
    pub expected_policy: Option<ExpectedPolicy>,
    /// Also answer each question from the store's own sentences, by this strategy, and score the answers.
    pub answer: Option<Strategy>,
    /// What ranks chunks.
    pub retriever: Retriever,
    /// As [`SearchRequest::similarity_floor`](crate::SearchRequest::similarity_floor).
    pub similarity_floor: Option<f64>,
}

impl Default for EvalRequest {
    fn default() -> Self {
        Self {
            k: 10,
            max_chars: 6000,
            thresholds: Vec::new(),
            allow_unverified_source: false,
            expected_policy: None,
            answer: None,
            retriever: Retriever::Bm25,
            similarity_floor: None,
        }
    }
}

/// What an evaluation came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EvalReport {
    /// What ranked: `bm25`, `dense` or `rrf`.
    pub retriever: &'static str,
    /// How many hits counted where a case did not say.
    pub k: usize,
    /// The generation that was asked.
    pub generation: u64,
    /// Every metric, in the order of [`EvalMetric::ALL`]; `None` where there was nothing to count.
    pub metrics: Vec<(EvalMetric, Option<f64>)>,
    /// Every threshold.
    pub thresholds: Vec<HeldThreshold>,
    /// Every threshold was met.
    pub passed: bool,
    /// Every case, in the order of the file.
    pub results: Vec<EvalCase>,
}

impl Store {
    /// Puts labelled questions to the store and scores what it shows. Nothing is written.
    ///
    /// # Errors
    /// [`Error::Invalid`] where `k` is 0, or a case can't be asked; [`Error::Refused`] where the store was synced
    /// meanwhile; else as [`Store::context`].
    pub fn evaluate(&self, set: &EvalSet, request: &EvalRequest) -> Result<EvalReport> {
        if request.k == 0 {
            return Err(Error::Invalid { message: "k is 0; metrics need 1 rank or more".into() });
        }
        let (generation, asked) = ask::ask(self, set.requests(), &Limits::of(request))?;
        let reread = asked.iter().map(|asked| asked.reread(self)).collect::<Result<Vec<_>>>()?;

        let runs = asked.into_iter().zip(&reread).zip(set.labels());
        let results: Vec<EvalCase> = runs.map(|((asked, reread), labels)| score::case(asked, reread, labels)).collect();
        let metrics = score::totals(&results, set.labels());
        let mut thresholds = request.thresholds.clone();
        let given = |threshold: &&Threshold| request.thresholds.iter().all(|it| it.metric != threshold.metric);
        thresholds.extend(set.thresholds().iter().filter(given));
        let thresholds = score::hold(&thresholds, &metrics);
        let passed = thresholds.iter().all(|held| held.passed);
        let retriever = request.retriever.kind().as_str();
        Ok(EvalReport { retriever, k: request.k, generation, metrics, thresholds, passed, results })
    }
}

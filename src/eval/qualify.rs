//! `qualify`: good answers are broken on purpose, and the gate must notice.
//!
//! [`built_in`] does it on a small corpus of ragdb's own, whose figures are known to the last claim; [`own`] on a store,
//! with sentences that stand in it or with the expected facts of cases. An experiment says which metric a mutation must
//! lower, by how much, and which it must leave alone.

mod answers;
mod built_in;
mod facts;
mod labels;
mod own;
mod source;
mod strategies;

use crate::eval::mutate::Mutation;

pub use built_in::qualify;
pub use own::QualifyRequest;

/// What a qualification came to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct QualifyReport {
    /// Every experiment passed, and there were claims to break.
    pub passed: bool,
    /// How many verified claims were broken.
    pub claims: usize,
    /// How many claims were tried; those that were not verified to begin with are not broken.
    pub tried: usize,
    /// Every experiment.
    pub experiments: Vec<Experiment>,
    /// What the gate did not notice.
    pub missed: Vec<Missed>,
    /// Expected facts that no shown block establishes, each behind its case's id.
    pub unestablished: Vec<String>,
    /// The mutations that apply to none of the claims.
    pub not_applicable: Vec<Mutation>,
}

/// A metric before and after something was broken.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Experiment {
    /// A stable name.
    pub name: String,
    /// What was broken, or `none`.
    pub mutation: &'static str,
    /// How many claims were broken, each by itself; or how many were looked at.
    pub count: usize,
    /// What was measured.
    pub metric: &'static str,
    /// Its value before.
    pub before: f64,
    /// Its value after.
    pub after: f64,
    /// The value that it must have after.
    pub expected: f64,
    /// How it must compare with `expected`.
    pub bound: Bound,
    /// Whether it does.
    pub passed: bool,
}

/// How a value must compare with the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Equal.
    Exactly,
    /// Equal or greater.
    AtLeast,
    /// Equal or less.
    AtMost,
}

impl Bound {
    /// The stable name, in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exactly => "exactly",
            Self::AtLeast => "at_least",
            Self::AtMost => "at_most",
        }
    }

    /// Figures are quotients of small counts: what differs by less is equal.
    fn holds(self, value: f64, expected: f64) -> bool {
        const SAME: f64 = 1e-9;
        match self {
            Self::Exactly => (value - expected).abs() < SAME,
            Self::AtLeast => value > expected - SAME,
            Self::AtMost => value < expected + SAME,
        }
    }
}

/// A broken claim that was verified all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missed {
    /// What was broken.
    pub mutation: Mutation,
    /// The chunk that was cited.
    pub chunk_id: String,
    /// The claim as it was.
    pub claim: String,
    /// The claim as it was broken, or its reference or quote.
    pub broken: String,
}

impl Experiment {
    /// Something broken once.
    fn new(name: &str, mutation: &'static str, metric: &'static str, values: [f64; 2], expected: f64) -> Self {
        let ([before, after], bound) = (values, Bound::Exactly);
        let passed = bound.holds(after, expected);
        Self { name: name.to_owned(), mutation, count: 1, metric, before, after, expected, bound, passed }
    }

    /// The same, done to as many claims.
    fn times(self, count: usize) -> Self {
        Self { count, ..self }
    }

    /// The same, held to another bound.
    fn held(self, bound: Bound) -> Self {
        Self { bound, passed: bound.holds(self.after, self.expected), ..self }
    }
}

impl QualifyReport {
    fn of(experiments: Vec<Experiment>, claims: usize, tried: usize, missed: Vec<Missed>) -> Self {
        let passed = claims > 0 && missed.is_empty() && experiments.iter().all(|experiment| experiment.passed);
        Self { passed, claims, tried, experiments, missed, unestablished: Vec::new(), not_applicable: Vec::new() }
    }
}

/// Where nothing is broken.
const NONE: &str = "none";
const PRECISION: &str = "citation_precision";
const RESOLVABILITY: &str = "citation_resolvability";
const COVERAGE: &str = "claim_coverage";

#[cfg(test)]
mod tests;

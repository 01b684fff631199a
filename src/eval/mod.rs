//! How good what a store shows is: metrics over ranked lists and graded judgements, and the files they come from; and
//! how good the claim check and the unsafe gate are.
//!
//! Owns the definitions of the metrics, the reading of cases and of BEIR folders. Nothing that searches may depend on
//! this module: labels and judgements are seen only after the runs are made.

mod ask;
mod beir;
mod cases;
mod claims;
mod claims_metrics;
mod corpus;
mod evaluate;
mod injection;
mod jsonl;
mod metrics;
mod mutate;
mod qualify;
mod run;
mod score;
mod threshold;
mod unit;

pub use cases::{CaseRequest, EvalSet};
pub use claims::{ClaimLabel, ClaimsReport, ClaimsRequest, ClaimsSet, WrongClaim, evaluate_claims};
pub use claims_metrics::{CitedClaim, ClaimMetrics};
pub use evaluate::{EvalReport, EvalRequest};
pub use injection::{BenignSet, InjectionReport, InjectionRequest, InjectionSet, evaluate_injection};
pub use mutate::Mutation;
pub use qualify::{Bound, Experiment, Missed, QualifyReport, QualifyRequest, qualify};
pub use run::{BeirCase, BeirReport, BeirRequest, RetrievalMetrics, compare_beir, evaluate_beir};
pub use score::{CaseAnswer, EvalCase, EvalHit, HeldThreshold, RankScores, ShownCheck};
pub use threshold::{EvalMetric, Threshold};

#[cfg(test)]
mod tests;

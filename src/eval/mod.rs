//! How good retrieval is: metrics over ranked lists and graded judgements, and the files they come from; and how well
//! the unsafe gate tells attacks from other texts.
//!
//! Owns the definitions of the metrics and the reading of BEIR folders. Nothing that searches may depend on this
//! module: judgements are seen only after the rankings are made.

mod beir;
mod claims;
mod claims_metrics;
mod corpus;
mod injection;
mod metrics;
mod mutate;
mod run;

pub use claims::{ClaimLabel, ClaimsReport, ClaimsRequest, ClaimsSet, WrongClaim, evaluate_claims};
pub use injection::{BenignSet, InjectionReport, InjectionRequest, InjectionSet, evaluate_injection};
pub use claims_metrics::{CitedClaim, ClaimMetrics};
pub use mutate::Mutation;
pub use run::{BeirCase, BeirReport, BeirRequest, RetrievalMetrics, evaluate_beir};

#[cfg(test)]
mod tests;

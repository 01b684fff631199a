//! How good retrieval is: metrics over ranked lists and graded judgements, and the files they come from.
//!
//! Owns the definitions of the metrics and the reading of BEIR folders. Nothing that searches may depend on this
//! module: judgements are seen only after the rankings are made.

#[allow(dead_code)]
mod beir;
#[allow(dead_code)]
mod metrics;

#[cfg(test)]
mod tests;

//! The gate: what may become evidence, and what an answer may claim with it.
//!
//! Before ranking, `unsafe_text` finds text that tries to instruct a reader-model. After the model, `proposal` reads
//! its answer, `quote` compares its quotes with the cited text, `claim` its values. All of it is pure: text in,
//! verdict out; which chunk a reference means, and whether its source still stands, is the verbs' to find out.

pub(crate) mod claim;
pub(crate) mod proposal;
pub(crate) mod quote;
pub(crate) mod source;
pub(crate) mod unsafe_text;
pub(crate) mod verdict;

//! The BM25 index: immutable segments of block postings inside SQLite, and pruned top-k search over them.
//!
//! Owns the byte layout (`encode`), what a sync writes (`run`, `segment`, `merge`, `list`), the formula (`score`) and
//! the traversals (`topk`, `exhaustive`). It knows chunk numbers and terms, nothing of documents, texts or access;
//! all its SQL is in `store::postings`, whose reader and writer it is handed. Terms come from `lexicon`.
//!
//! **Invariant:** N, the live total length and every df are exact after each sync, whatever was merged; so the scores
//! of an incremental index equal those of a fresh one to the last bit.
//!
//! **Invariant:** chunk numbers only grow, a segment covers a contiguous range of them, and ranges do not overlap.

mod apart;
mod audit;
mod collect;
mod cursor;
mod encode;
#[cfg(any(test, feature = "exhaustive"))]
mod exhaustive;
mod explain;
#[cfg(feature = "fuzzing")]
mod fuzz;
mod having;
mod intern;
mod kept;
mod lengths;
mod list;
mod merge;
mod plan;
mod ranges;
mod run;
mod score;
mod segment;
#[cfg(test)]
mod tests;
mod topk;
mod walk;

pub(crate) use audit::{Posting, for_each_posting, kept_lengths, terms_with_chunk};
pub(crate) use collect::{Callbacks, Scored};
#[cfg(any(test, feature = "exhaustive"))]
pub(crate) use exhaustive::exhaustive;
pub(crate) use explain::{Explanation, explain};
#[cfg(feature = "fuzzing")]
pub(crate) use fuzz::fuzz_block;
pub(crate) use having::having;
pub(crate) use intern::Interner;
pub(crate) use kept::Kept;
pub(crate) use lengths::for_each_live_page;
pub(crate) use plan::Query;
pub(crate) use run::{Run, RunBuilder, RunReader, kept_length};
pub(crate) use segment::{Deaths, NewChunks, append_segment, clear, optimize, statistics};
pub(crate) use topk::top_k;

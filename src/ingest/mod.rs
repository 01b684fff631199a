//! From files to documents and chunks.

pub(crate) mod chunk;
pub(crate) mod code;
pub(crate) mod front_matter;
pub(crate) mod language;
pub(crate) mod plan;
pub(crate) mod source;

pub use code::FAILURE_CODES;
pub(crate) use source::{BadPattern, Patterns, Selection};

/// Why one input file could not become a document; the caller knows the path and makes the
/// [`Failure`](crate::Failure).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputError {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

//! An embedded knowledge store: a folder of Markdown becomes one SQLite file whose every answer can be traced to
//! a line of a source file and checked again.
#![deny(missing_docs)]
#![warn(clippy::pedantic)]
#![allow(clippy::module_name_repetitions, clippy::missing_errors_doc)]

mod config;
mod error;
mod eval;
mod index;
mod ingest;
mod lexicon;
mod model;
mod store;

pub use config::{ChunkSettings, Config, DeclaredBy, SourceConfig, SyncSettings};
pub use error::{DatabaseError, Error, Failure, Result};
pub use ingest::FAILURE_CODES;
pub use lexicon::LEXER_VERSION;
pub use model::{
    Bm25Policy, ChunkId, ChunkPolicy, Citation, Digest, DigestBuilder, DocumentId, Policy, SourceKind, Span, Visibility,
};

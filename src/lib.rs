//! An embedded knowledge store: a folder of Markdown becomes one SQLite file whose every answer can be traced to
//! a line of a source file and checked again.
#![deny(missing_docs)]
#![warn(clippy::pedantic)]
#![allow(
    clippy::cast_possible_wrap,
    clippy::missing_errors_doc,
    clippy::module_name_repetitions,
    clippy::needless_pass_by_value,
    clippy::similar_names,
    clippy::struct_field_names
)]

mod check;
mod cite;
mod config;
mod error;
mod eval;
mod history;
mod index;
mod ingest;
mod lexicon;
mod model;
mod search;
mod status;
mod store;
mod sync;

pub use check::{Check, CheckReport, CheckRequest};
pub use cite::{CiteStatus, Cited};
pub use config::{ChunkSettings, Config, DeclaredBy, SourceConfig, SyncSettings};
pub use error::{DatabaseError, Error, Failure, Result};
pub use eval::{BeirCase, BeirReport, BeirRequest, RetrievalMetrics, evaluate_beir};
pub use history::{GenerationDetail, GenerationDiff};
pub use ingest::FAILURE_CODES;
pub use lexicon::LEXER_VERSION;
pub use model::{
    Bm25Policy, ChunkId, ChunkPolicy, Citation, Digest, DigestBuilder, DocumentId, Policy, SourceKind, Span, Visibility,
};
pub use search::{ExpectedPolicy, Explanation, Hit, QueryTermInfo, Refusal, SearchRequest, SearchResult, TermShare};
pub use status::{OptimizeReport, SourceStatus, Status};
pub use store::Store;
pub use store::audits::{Audit, SqlResult, SqlValue, audits};
pub use store::changes::{ChangedChunk, ChangedDocument};
pub use store::generations::{ChunkCounts, DocumentCounts, Generation};
pub use store::sources::StoredFailure;
pub use sync::{PlannedFile, StageSeconds, SyncEvent, SyncPlan, SyncProgress, SyncReport, SyncRequest, SyncSources};

//! ragdb measured beside its peers and the machine's floors, in one run.
//!
//! `benches/report.rs` is the run; these modules are its parts. [`subject`], [`access`] and [`vectors`] are the only ones
//! that call ragdb, a [`peer`] is whatever does a part of the same work, and [`floor`] is what the work can't go below. All
//! files are made in a scratch folder; the corpora are copied there before they are edited. `benches/vectors.rs` is a run of
//! its own.
#![deny(missing_docs)]
#![warn(clippy::pedantic)]
#![allow(
    clippy::doc_markdown,
    clippy::missing_errors_doc,
    clippy::module_name_repetitions,
    clippy::cast_precision_loss
)]

pub mod access;
pub mod args;
pub mod baseline;
pub mod binary;
pub mod cache;
pub mod cases;
pub mod chunk;
pub mod corpus;
pub mod database;
pub mod edit;
pub mod floor;
pub mod fts5;
pub mod generate;
pub mod growth;
pub mod measure;
pub mod page;
pub mod peer;
pub mod process;
pub mod queries;
pub mod random;
pub mod report;
#[cfg(feature = "sqlite-vec")]
pub mod sqlite_vec;
pub mod stage;
pub mod subject;
#[cfg(feature = "tantivy")]
pub mod tantivy;
pub mod vectors;

/// tantivy's name in the report, whether or not it is built in.
pub const TANTIVY: &str = "tantivy";

/// The result of a step of the report; any error ends the run.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

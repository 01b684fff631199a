//! An embedded knowledge store: a folder of Markdown becomes one SQLite file whose every hit can be traced to a line
//! and checked again.
//!
//! A [`Store`] is one file. [`Store::sync`] reads folders and publishes what changed as a new generation, in one
//! transaction. [`Store::search`] ranks chunks (whole lines of a file, never across a heading) with BM25, and gives each
//! a citation such as `guide/keys.md#L3-L6`. [`Store::cite`] takes a citation back to its verbatim lines and says
//! whether they still stand in the source file.
//!
//! The library prints nothing, reads no environment variable and knows no working folder but through the paths that it
//! is given; the `ragdb` command is built on what this page lists and nothing else.
//!
//! # A first example
//!
//! ```rust
//! use ragdb::{CiteStatus, Principal, SearchRequest, Store, SyncRequest, SyncSources};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let docs = folder.path().join("docs");
//! std::fs::create_dir(&docs)?;
//! std::fs::write(docs.join("keys.md"), "# Keys\n\nRotate a key every 90 days.\n")?;
//!
//! // Index the folder. Once more with nothing changed would write nothing but file stamps.
//! let store = Store::open_or_create(folder.path().join("ragdb.db"))?;
//! let request = SyncRequest { sources: SyncSources::Folders(vec![docs.clone()]), ..SyncRequest::default() };
//! let report = store.sync(&request)?;
//! assert_eq!(report.generation, Some(1));
//!
//! // Who reads is a part of every question. The operator, who holds the file, may read all of it.
//! let reader = Principal::operator();
//!
//! // Search it. Nothing relevant gives no hits, not the least bad ones.
//! let found = store.search(&reader, &SearchRequest::new("rotate a key"))?;
//! let hit = &found.hits[0];
//! assert_eq!(hit.citation().to_string(), "keys.md#L1-L3");
//! assert!(store.search(&reader, &SearchRequest::new("payroll"))?.hits.is_empty());
//!
//! // Cite it, now or later: the file is read again and compared.
//! let cited = store.cite(&reader, "keys.md#L3-L3")?;
//! assert_eq!(cited.status, CiteStatus::Current);
//! assert_eq!(cited.text.as_deref(), Some("Rotate a key every 90 days."));
//!
//! std::fs::write(docs.join("keys.md"), "# Keys\n\nRotate a key every 30 days.\n")?;
//! assert_eq!(store.cite(&reader, "keys.md#L3-L3")?.status, CiteStatus::Stale);
//! # Ok(())
//! # }
//! ```
//!
//! # By task
//!
//! | to | use |
//! |---|---|
//! | make or open a store | [`Store::open_or_create`], [`Store::create`], [`Store::open`], [`Store::open_read_only`]; [`Store::migrate`] for one of an older schema |
//! | say who reads | a [`Principal`], the first argument of every call that reads what is stored |
//! | read a `ragdb.yaml` | [`Config::load`], then [`SyncSources::Config`] |
//! | index folders | [`Store::sync`] with a [`SyncRequest`]; [`SyncReport`] says what changed, [`SyncProgress`] how far it is |
//! | see what a sync would do | [`Store::plan`], which gives a [`SyncPlan`] |
//! | search | [`Store::search`] with a [`SearchRequest`], which gives a [`SearchResult`] with its [`Hit`]s |
//! | see why a chunk is a hit, or none | [`SearchRequest::explain`]; then [`Hit::explanation`] and [`SearchResult::refused`] |
//! | refuse to search under other settings | [`SearchRequest::expected_policy`] |
//! | make a prompt of evidence for a model | [`Store::context`] with a [`ContextRequest`], which gives [`Evidence`]; [`TokenCounter`] for a budget in tokens |
//! | keep the record of a prompt, and read it back | [`Store::record_run`], [`Store::run`]; [`Manifest::to_json`] and [`Manifest::from_json`] for one in a file |
//! | answer a question with verified claims | [`Store::answer`] with an [`AnswerRequest`] and a [`Synthesiser`], such as [`Extractive`] or [`Endpoint`], which gives an [`Answer`] |
//! | ask again what was asked before, without a new search or model call | [`Store::cached_context`], [`Store::cached_answer`]: each hit is checked again, and is its reader's own run |
//! | give others the proof of an answer | [`Receipt::from_verification`]; [`Receipt::check`] needs the source files and no store |
//! | check a citation | [`Store::cite`], which gives a [`Cited`] with its [`CiteStatus`] |
//! | hold the citations of a folder of prose to what they showed | [`Store::lock_citations`], [`Store::check_citations`] |
//! | see the history | [`Store::log`], [`Store::diff`], [`Store::show`] |
//! | check the store itself, and see what mends it | [`Store::check`] with a [`CheckRequest`]; [`Damage`] |
//! | change who may read what, and see why somebody may | [`Store::grant`] and [`Store::revoke`] with an [`AclChange`], [`Store::access_rules`], [`Store::explain_access`], [`Store::access_log`] |
//! | ask with SQL | [`Store::sql`], and the ready questions of [`audits`] |
//! | measure retrieval on a labelled set | [`evaluate_beir`] with a [`BeirRequest`], which gives a [`BeirReport`]; [`compare_beir`] for several retrievers |
//! | rank by meaning beside words | [`SearchRequest::retriever`] with a [`Retriever`]; [`Hit::found_by`] says which list has a hit |
//! | measure the claim check on labelled claims | [`evaluate_claims`] with a [`ClaimsRequest`], which gives a [`ClaimsReport`] |
//! | measure the unsafe gate | [`evaluate_injection`] with an [`InjectionRequest`], which gives an [`InjectionReport`] |
//! | keep the file compact, or make a damaged index again | [`Store::status`], [`Store::optimize`] with an [`OptimizeRequest`] |
//! | copy it | [`Store::backup`], which gives a [`BackupReport`] |
//! | take a document's text out of it for good | [`Store::purge`] with a [`PurgeRequest`], which gives a [`PurgeReport`]; [`RemovedText::look_for`] |
//! | publish an earlier generation again | [`Store::rollback`] with a [`RollbackRequest`], which gives a [`RollbackReport`] |
//!
//! A `Store` is `Send + Sync`: share one among threads, by reference or in an `Arc`. Searches run side by side, each on
//! one snapshot, and never wait for a sync; two syncs of one store run one after the other.
//!
//! # Errors
//!
//! Every call gives [`Result`] with an [`Error`], sorted by what the caller can do about it: match on its variants, or on
//! [`Error::code`] where a name is enough. [`Error::hint`] says what to do next. An input file that can't be indexed is a
//! [`Failure`] with a code of [`FAILURE_CODES`]: it stops a sync ([`Error::SyncFailed`]) unless
//! [`SyncRequest::keep_going`] is set, and is in the report then.
//!
//! # Limits
//!
//! Unix only: source files are opened beneath their folder without following symbolic links. A file may have 64 MiB
//! unless [`SyncSettings::max_file_bytes`] says otherwise. SQLite is compiled in. What a store holds, column by column,
//! is in `schema.sql`; how it works inside, in `ARCHITECTURE.md`.
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

mod access;
mod acl;
mod answer;
mod backup;
mod cache;
mod check;
mod cite;
mod config;
mod context;
mod dense;
mod embed;
mod embedding;
mod endpoint;
mod error;
mod eval;
mod evidence;
#[cfg(feature = "fuzzing")]
mod fuzz;
mod gate;
mod history;
mod index;
mod ingest;
mod ledger;
mod lexicon;
mod lock;
mod model;
mod purge;
mod receipt;
mod rollback;
mod sabotage;
mod search;
mod sql;
mod status;
mod store;
mod sync;
mod verify;

pub use acl::{AccessClass, AccessExplanation, AccessStep, AclChange, AclReport};
pub use answer::{
    Answer, AnswerRequest, DroppedInAttempt, Endpoint, Extractive, Fault, NOT_SUPPORTED, Proposal, StopReason,
    Strategy, SynthesisTask, Synthesiser, Unreadable,
};
pub use backup::BackupReport;
pub use cache::{CachedAnswer, CachedEvidence};
pub use check::{Check, CheckReport, CheckRequest, Damage};
pub use cite::{CiteStatus, Cited};
pub use config::{
    AccessSettings, AnswerSettings, ChunkSettings, Config, DeclaredBy, EmbedderSettings, EmbeddingSettings,
    RetrievalSettings, SourceConfig, SyncSettings,
};
pub use context::{ContextRequest, Evidence};
pub use embed::{EmbedProgress, EmbedReport, EmbedRequest, RefusedChunk, VectorStatus};
pub use embedding::{EmbedAs, Embedder, EndpointEmbedder, EndpointEmbedding, HashingEmbedder, Prefixes};
#[cfg(feature = "local")]
pub use embedding::{LocalEmbedder, LocalSettings};
pub use endpoint::{ApiKey, EndpointSettings};
pub use error::{DatabaseError, Error, Failure, Result};
pub use eval::{
    BeirCase, BeirReport, BeirRequest, BenignSet, Bound, CaseAnswer, CaseRequest, CitedClaim, ClaimLabel, ClaimMetrics,
    ClaimsReport, ClaimsRequest, ClaimsSet, EvalCase, EvalHit, EvalMetric, EvalReport, EvalRequest, EvalSet,
    Experiment, HeldThreshold, InjectionReport, InjectionRequest, InjectionSet, Missed, Mutation, QualifyReport,
    QualifyRequest, RankScores, RetrievalMetrics, ShownCheck, Threshold, WrongClaim, compare_beir, evaluate_beir,
    evaluate_claims, evaluate_injection, qualify,
};
pub use evidence::budget::{ApproximateTokens, TokenCounter};
pub use evidence::prompt::EvidenceBlock;
pub use evidence::receipt::{Receipt, ReceiptClaim, ReceiptSpan};
pub use evidence::{Manifest, Refused, RunEvent, Shown};
#[cfg(feature = "fuzzing")]
pub use fuzz::{FUZZ_TARGETS, FuzzTarget};
pub use gate::claim::{ClaimValue, LEAST_SUPPORT, SupportScorer, ValueKind, WordOverlap};
pub use gate::proposal::{AnswerFormat, ProposedAnswer, ProposedCitation, ProposedClaim};
pub use gate::quote::Normalisation;
pub use gate::verdict::Verdict;
pub use history::{GenerationDetail, GenerationDiff};
pub use ingest::FAILURE_CODES;
pub use ledger::{AnswerRecord, Change, Impact, StoredAnswer};
pub use lexicon::LEXER_VERSION;
pub use lock::{LinkStatus, LockReport, LockedLink, Reanchored};
pub use model::rule::Member;
pub use model::{
    Bm25Policy, ChunkId, ChunkPolicy, Citation, Digest, DigestBuilder, DocumentId, EmbeddingProfile, Fusion, Policy,
    Principal, RetrieverKind, SourceKind, Span, Trust, UNSAFE_RULES_VERSION, UnsafeScope, Visibility,
};
pub use purge::{FoundText, Proof, PurgeReport, PurgeRequest, RemovedText};
pub use receipt::{ClaimReport, ReceiptReport, SpanReport, SpanStatus};
pub use rollback::{NotRevived, RollbackReport, RollbackRequest, WhyNot};
#[cfg(feature = "sabotage")]
pub use sabotage::Sabotage;
pub use search::{
    ExpectedPolicy, Explanation, FoundBy, Hit, ListPlace, QueryTermInfo, Refusal, Retriever, SearchRequest,
    SearchResult, SearchedVectors, TermShare,
};
pub use status::{OptimizeReport, OptimizeRequest, SourceStatus, Status};
pub use store::Store;
pub use store::access::AccessEpoch;
pub use store::audits::{Audit, SqlResult, SqlValue, audits};
pub use store::changes::{ChangedChunk, ChangedDocument};
pub use store::generations::{ChunkCounts, DocumentCounts, Generation};
pub use store::sources::StoredFailure;
pub use sync::{
    PlannedFile, StageSeconds, SyncEvent, SyncPlan, SyncProgress, SyncReport, SyncRequest, SyncSources, UnsafeDocument,
};
pub use verify::{Dropped, JudgedCitation, JudgedClaim, Outcome, Published, Verification, VerifiedSpan, VerifyRequest};

//! Values without I/O: digests, ids, spans, citations and the policy. Owns what they mean and how they are
//! written down; knows no database, no file and no clock.

mod citation;
mod digest;
mod embedding;
mod id;
mod manifest;
mod policy;
mod principal;
mod retrieval;
pub(crate) mod rule;
mod source;
mod span;
mod stamps;

pub use citation::Citation;
pub(crate) use digest::parse_hex;
pub use digest::{Digest, DigestBuilder};
pub use embedding::EmbeddingProfile;
pub use id::{ChunkId, DocumentId};
pub(crate) use manifest::{MANIFEST_FORMAT, Place};
pub use manifest::{Manifest, Refused, RunEvent, Shown};
pub use policy::{Bm25Policy, ChunkPolicy, Policy, UNSAFE_RULES_VERSION, UnsafeScope};
pub use principal::Principal;
pub(crate) use principal::{Who, check_name};
pub use retrieval::{Fusion, RetrieverKind};
pub use source::{SourceKind, Trust, Visibility};
pub use span::Span;
pub(crate) use span::line_ends;
pub(crate) use stamps::Stamps;

//! `verify`: a proposed answer is held to the run it was to use, citation by citation.

use std::sync::Arc;

use crate::evidence::Manifest;
use crate::gate::claim::{ClaimValue, SupportScorer};
use crate::gate::proposal::ProposedAnswer;
use crate::gate::quote::Normalisation;
use crate::gate::verdict::Verdict;

/// An answer to be judged.
#[derive(Clone, Debug)]
pub struct VerifyRequest<'a> {
    /// What was shown to whoever made the answer.
    pub manifest: &'a Manifest,
    /// The answer.
    pub answer: &'a ProposedAnswer,
    /// The differences between quote and source that may be overlooked; none by default.
    pub normalise: Vec<Normalisation>,
    /// What scores the support of a claim; word overlap by default.
    pub scorer: Option<Arc<dyn SupportScorer>>,
    /// The support that a claim needs, 0 to 1; `None` for the measured default.
    pub least_support: Option<f64>,
}

/// What the gate says of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    /// The run that the answer was to use.
    pub run_id: String,
    /// The generation that it was judged against.
    pub generation: u64,
    /// Every claim, with all its citations.
    pub claims: Vec<JudgedClaim>,
}

/// A claim and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedClaim {
    /// As proposed.
    pub text: String,
    /// That of its best citation; [`Verdict::Unsupported`] where it has none.
    pub verdict: Verdict,
    /// The values it states, and whether they stand in the span of its best citation.
    pub values: Vec<ClaimValue>,
    /// The support score of its best citation.
    pub support: f64,
    /// Its citations, as proposed, each with its verdict.
    pub citations: Vec<JudgedCitation>,
}

/// A citation and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedCitation {
    /// As proposed.
    pub reference: String,
    /// As proposed.
    pub quote: Option<String>,
    /// The first check that failed, or that all passed.
    pub verdict: Verdict,
    /// What had to be overlooked for the quote to stand.
    pub normalisations: Vec<Normalisation>,
    /// Where the verified text stands; none for a citation that was dropped.
    pub span: Option<VerifiedSpan>,
    /// The verdict in words.
    pub detail: String,
    /// What a reader should know although it was verified.
    pub warnings: Vec<String>,
}

/// Where verified text stands, in its chunk and in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedSpan {
    /// The chunk.
    pub chunk_id: String,
    /// The chunk's source.
    pub source_id: String,
    /// The file's path below its source's root.
    pub path: String,
    /// The span's first line in the file, from 1.
    pub start_line: u32,
    /// Its last line, included.
    pub end_line: u32,
    /// Its first byte in the file, from 0.
    pub start_byte: u64,
    /// Behind its last byte in the file.
    pub end_byte: u64,
    /// Its first character in the file, from 0; none where the file can't be read.
    pub start_char: Option<u64>,
    /// Behind its last character in the file.
    pub end_char: Option<u64>,
    /// Its first byte in the chunk.
    pub chunk_start_byte: u64,
    /// Behind its last byte in the chunk.
    pub chunk_end_byte: u64,
    /// Its first character in the chunk.
    pub chunk_start_char: u64,
    /// Behind its last character in the chunk.
    pub chunk_end_char: u64,
    /// SHA-256 of the chunk's text, hex.
    pub content_hash: String,
    /// The text, verbatim.
    pub text: String,
}

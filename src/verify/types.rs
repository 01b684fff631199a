//! What goes into a verification and what comes out of it.

use std::fmt;
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
    /// Hold quotes to the stored text alone where the folder of a source can't be opened; such a citation is stale
    /// otherwise. A file that is missing or can't be read below a folder that opens is stale in any case.
    pub allow_unverified_source: bool,
}

impl<'a> VerifyRequest<'a> {
    /// A request with the defaults: exact quotes, current sources.
    #[must_use]
    pub fn new(manifest: &'a Manifest, answer: &'a ProposedAnswer) -> Self {
        let (normalise, scorer, least_support) = (Vec::new(), None, None);
        Self { manifest, answer, normalise, scorer, least_support, allow_unverified_source: false }
    }
}

/// What the gate says of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    /// The run that the answer was to use.
    pub run_id: String,
    /// The generation that it was judged against.
    pub generation: u64,
    /// That generation's digest, hex.
    pub generation_digest: String,
    /// That generation as it is stored; none where nothing was judged.
    pub(crate) stored: StoredNumber,
    /// Every claim, with all its citations.
    pub claims: Vec<JudgedClaim>,
}

/// The stored number of a generation. Who does not read everything is not told it, so that its `Debug` has none.
/// Nor does it make two verifications differ.
#[derive(Clone, Copy, Default)]
pub(crate) struct StoredNumber(pub Option<u64>);

impl PartialEq for StoredNumber {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for StoredNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredNumber")
    }
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
    /// The headings above the chunk, outermost first.
    pub headings: Vec<String>,
    /// The text, verbatim.
    pub text: String,
}

/// A claim that may be shown as verified, with the citation that proves it. Made by [`Verification::published`] alone,
/// from a citation that passed every check.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Published {
    /// The claim's place in the answer, from 0.
    pub claim: usize,
    /// The claim.
    pub text: String,
    /// The citation, as proposed.
    pub reference: String,
    /// The quote, as proposed.
    pub quote: Option<String>,
    /// [`Verdict::Verified`] or [`Verdict::VerifiedNormalised`].
    pub verdict: Verdict,
    /// What had to be overlooked for the quote to stand.
    pub normalisations: Vec<Normalisation>,
    /// Where the verified text stands.
    pub span: VerifiedSpan,
    /// What a reader should know although it was verified.
    pub warnings: Vec<String>,
}

/// A citation that failed, or a claim without any: kept for audit, never shown as verified.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Dropped {
    /// The claim's place in the answer, from 0.
    pub claim: usize,
    /// The claim.
    pub text: String,
    /// The citation, as proposed; none for a claim that cites nothing.
    pub reference: Option<String>,
    /// The quote, as proposed.
    pub quote: Option<String>,
    /// The first check that failed.
    pub verdict: Verdict,
    /// The verdict in words.
    pub detail: String,
}

/// What became of an answer as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every claim and every citation was verified.
    Verified,
    /// Some claims were verified; something was dropped.
    Partial,
    /// No claim was verified.
    Rejected,
    /// The answer claims nothing.
    Empty,
}

impl Outcome {
    /// The stable name, in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Partial => "partial",
            Self::Rejected => "rejected",
            Self::Empty => "empty",
        }
    }
}

impl Verification {
    /// That of an answer without claims, of which nothing was to be judged: against the generation of its run.
    pub(crate) fn of_nothing(manifest: &Manifest) -> Self {
        Self {
            run_id: manifest.run_id.clone(),
            generation: manifest.generation,
            generation_digest: manifest.generation_digest.clone(),
            stored: StoredNumber::default(),
            claims: Vec::new(),
        }
    }

    /// What became of the answer as a whole.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let verified = self.claims.iter().filter(|claim| claim.verdict.is_verified()).count();
        let mut citations = self.claims.iter().flat_map(|claim| &claim.citations);
        match verified {
            _ if self.claims.is_empty() => Outcome::Empty,
            0 => Outcome::Rejected,
            all if all == self.claims.len() && citations.all(|it| it.verdict.is_verified()) => Outcome::Verified,
            _ => Outcome::Partial,
        }
    }

    /// Whether something was verified by the stored text alone, because the folder of its source could not be opened.
    #[must_use]
    pub fn unverified_source(&self) -> bool {
        // The place in the file is known in characters only where the file was read.
        let mut spans = self.claims.iter().flat_map(|claim| &claim.citations).filter_map(|it| it.span.as_ref());
        spans.any(|span| span.start_char.is_none())
    }

    /// What may be shown as verified: one entry for each verified citation.
    #[must_use]
    pub fn published(&self) -> Vec<Published> {
        let mut published = Vec::new();
        for (number, claim) in self.claims.iter().enumerate() {
            for citation in claim.citations.iter().filter(|citation| citation.verdict.is_verified()) {
                published.extend(citation.span.clone().map(|span| Published {
                    claim: number,
                    text: claim.text.clone(),
                    reference: citation.reference.clone(),
                    quote: citation.quote.clone(),
                    verdict: citation.verdict,
                    normalisations: citation.normalisations.clone(),
                    span,
                    warnings: citation.warnings.clone(),
                }));
            }
        }
        published
    }

    /// What may not: one entry for each citation that failed, and for each claim without citations.
    #[must_use]
    pub fn dropped(&self) -> Vec<Dropped> {
        let mut dropped = Vec::new();
        for (number, claim) in self.claims.iter().enumerate() {
            let (claim_no, text) = (number, &claim.text);
            if claim.citations.is_empty() {
                let detail = "it cites nothing".to_owned();
                let (text, verdict) = (text.clone(), claim.verdict);
                dropped.push(Dropped { claim: claim_no, text, reference: None, quote: None, verdict, detail });
            }
            for citation in claim.citations.iter().filter(|citation| !citation.verdict.is_verified()) {
                dropped.push(Dropped {
                    claim: claim_no,
                    text: text.clone(),
                    reference: Some(citation.reference.clone()),
                    quote: citation.quote.clone(),
                    verdict: citation.verdict,
                    detail: citation.detail.clone(),
                });
            }
        }
        dropped
    }

    /// The answer that may be shown: each verified claim once, a line each; empty where none is.
    #[must_use]
    pub fn text(&self) -> String {
        let verified = self.claims.iter().filter(|claim| claim.verdict.is_verified());
        verified.map(|claim| claim.text.as_str()).collect::<Vec<_>>().join("\n")
    }
}

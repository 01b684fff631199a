//! The codes of the gate after the model.

use std::fmt;

/// What the gate says of one citation: the first check that failed, in the order of this list, or that all passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// The reference resolves to nothing in the store.
    UnknownReference,
    /// The reference is real, but was not shown in this run.
    NotInContext,
    /// Whom the run was for may not read the chunk now. Only the operator is told so: to that one it is unknown.
    Forbidden,
    /// The chunk was deleted since the run.
    Deleted,
    /// The source changed since the run, or can't be read.
    Stale,
    /// The stored text no longer has its hash.
    Integrity,
    /// The quote has no text.
    QuoteEmpty,
    /// The quote is too short to show anything.
    QuoteTooShort,
    /// The quote does not stand in the cited chunk, nor elsewhere in the run.
    QuoteAltered,
    /// The quote stands in another chunk of the run, not in the cited one.
    QuoteMisattributed,
    /// The quote is joined from pieces that stand apart.
    QuoteStitched,
    /// A number or date of the claim does not stand in the cited span.
    ValueMismatch,
    /// A number of the claim stands in the cited span with another unit.
    UnitMismatch,
    /// The claim affirms what the cited span denies, or the other way round, or states as certain what it allows.
    PolarityMismatch,
    /// An identifier of the claim does not stand in the cited span.
    IdentifierMismatch,
    /// None of the above can establish the claim.
    Unsupported,
    /// Proved.
    Verified,
    /// Proved with a listed normalisation of the quote.
    VerifiedNormalised,
}

impl Verdict {
    /// Every verdict, in the order in which they are looked for.
    pub const ALL: [Self; 18] = [
        Self::UnknownReference,
        Self::NotInContext,
        Self::Forbidden,
        Self::Deleted,
        Self::Stale,
        Self::Integrity,
        Self::QuoteEmpty,
        Self::QuoteTooShort,
        Self::QuoteAltered,
        Self::QuoteMisattributed,
        Self::QuoteStitched,
        Self::ValueMismatch,
        Self::UnitMismatch,
        Self::PolarityMismatch,
        Self::IdentifierMismatch,
        Self::Unsupported,
        Self::Verified,
        Self::VerifiedNormalised,
    ];

    /// The stable code, in the store and in JSON.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::UnknownReference => "unknown_reference",
            Self::NotInContext => "not_in_context",
            Self::Forbidden => "forbidden",
            Self::Deleted => "deleted",
            Self::Stale => "stale",
            Self::Integrity => "integrity",
            Self::QuoteEmpty => "quote_empty",
            Self::QuoteTooShort => "quote_too_short",
            Self::QuoteAltered => "quote_altered",
            Self::QuoteMisattributed => "quote_misattributed",
            Self::QuoteStitched => "quote_stitched",
            Self::ValueMismatch => "value_mismatch",
            Self::UnitMismatch => "unit_mismatch",
            Self::PolarityMismatch => "polarity_mismatch",
            Self::IdentifierMismatch => "identifier_mismatch",
            Self::Unsupported => "unsupported",
            Self::Verified => "verified",
            Self::VerifiedNormalised => "verified_normalised",
        }
    }

    /// Its place in [`Verdict::ALL`]: how far a citation got.
    pub(crate) fn rank(self) -> usize {
        Self::ALL.iter().position(|verdict| *verdict == self).unwrap_or(Self::ALL.len())
    }

    /// Whether it is one of the two that publish.
    #[must_use]
    pub const fn is_verified(self) -> bool {
        matches!(self, Self::Verified | Self::VerifiedNormalised)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

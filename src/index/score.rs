//! BM25 in the Lucene form. Pure: the only place that knows the formula.
//!
//! ```text
//! score(chunk) = Σ over query terms, in the order given: weight · idf · tf / (tf + k1 · (1 − b + b · length / average))
//! idf(term)    = ln(1 + (N − df + 0.5) / (df + 0.5))
//! ```
//!
//! Robertson and Zaragoza, *The Probabilistic Relevance Framework: BM25 and Beyond* (2009), with Lucene's
//! `1 +` under the logarithm, which keeps the idf above 0, and without the constant factor k1 + 1, which changes no
//! order. N counts live chunks with terms, `average` is their mean length; both exact.
//!
//! The *impact* of a posting is the factor tf / (tf + …) under the average length at the time its segment was
//! written, rounded up to 1/65,535.

use crate::model::Bm25Policy;

/// Widens a bound so that no rounding of a sum in another order lifts a score above it: 10,000 additions of f64 err
/// by less than 10^-11 in relation to the sum.
pub(crate) const SLACK: f64 = 1.0 + 1e-9;

/// What the whole index knows: live chunks with terms, and the sum of their lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    /// N: live chunks of length above 0.
    pub chunks: u64,
    /// The sum of their lengths, in terms.
    pub total_length: u64,
}

impl Statistics {
    /// The mean length; 1 in an empty index, where nothing is scored.
    #[expect(clippy::cast_precision_loss, reason = "sums stay far below 2^53")]
    pub(crate) fn average_length(self) -> f64 {
        if self.chunks == 0 { 1.0 } else { self.total_length as f64 / self.chunks as f64 }
    }

    /// The idf of a term that `df` live chunks have.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub(crate) fn idf(self, df: u64) -> f64 {
        let (chunks, df) = (self.chunks as f64, df as f64);
        (1.0 + (chunks - df + 0.5) / (df + 0.5)).ln()
    }
}

/// The formula under fixed constants and a fixed average length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Formula {
    constant: f64,
    slope: f64,
}

impl Formula {
    /// The formula under `policy`, whose ranges [`crate::model::Policy::new`] has checked.
    pub(crate) fn new(policy: &Bm25Policy, average_length: f64) -> Self {
        Self { constant: policy.k1 * (1.0 - policy.b), slope: policy.k1 * policy.b / average_length }
    }

    /// k1 · (1 − b + b · length / average), computed as k1 · (1 − b) + (k1 · b / average) · length.
    #[inline]
    pub(crate) fn norm(self, length: u16) -> f64 {
        self.constant + self.slope * f64::from(length)
    }
}

/// tf / (tf + norm), between 0 and 1.
#[inline]
pub(crate) fn saturation(tf: u32, norm: f64) -> f64 {
    let tf = f64::from(tf);
    tf / (tf + norm)
}

/// A saturation as an impact, rounded up.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the value is clamped to 0 to 65535")]
pub(crate) fn impact(saturation: f64) -> u16 {
    (saturation * f64::from(u16::MAX)).ceil().clamp(0.0, f64::from(u16::MAX)) as u16
}

/// What turns an impact of a segment into an upper bound of the saturation now: impacts were made under another
/// average length. A larger average now raises a saturation by at most the ratio of the two, a smaller one lowers it.
pub(crate) fn impact_unit(average_now: f64, average_then: f64) -> f64 {
    (average_now / average_then).max(1.0) / f64::from(u16::MAX) * SLACK
}

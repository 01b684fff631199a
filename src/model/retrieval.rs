//! How chunks are ranked, as settings have it.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What ranks chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RetrieverKind {
    /// The words of the question, by BM25.
    #[default]
    Bm25,
    /// The vector of the question, by cosine.
    Dense,
    /// Both, by their ranks.
    Rrf,
}

impl RetrieverKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Bm25, Self::Dense, Self::Rrf];

    /// The stable name: on the command line, in `ragdb.yaml`, in the run's record and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bm25 => "bm25",
            Self::Dense => "dense",
            Self::Rrf => "rrf",
        }
    }
}

/// How two rankings become one: a chunk scores the sum of weight / (k + rank) over the lists that have it, the best of a
/// list having rank 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fusion {
    /// The larger, the less the first ranks are worth more than those behind them. 0 to 1,000,000; 60 by default.
    pub k: u32,
    /// The weight of the list of BM25. More than 0, at most 1,000; 1 by default.
    pub bm25: f64,
    /// The weight of the list by cosine. More than 0, at most 1,000; 1 by default.
    pub dense: f64,
    /// How many chunks of each list count, or as many as hits are asked for where these are more. 1 to 10,000; 100 by
    /// default.
    pub depth: u32,
}

impl Default for Fusion {
    fn default() -> Self {
        Self { k: 60, bm25: 1.0, dense: 1.0, depth: 100 }
    }
}

impl Fusion {
    /// Refuses what is outside the ranges.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the setting's name.
    pub fn check(&self) -> Result<()> {
        let invalid = |message: String| Err(Error::Invalid { message });
        if self.k > 1_000_000 {
            return invalid(format!("fusion.k is {}; it is at most 1,000,000", self.k));
        }
        for (name, weight) in [("bm25", self.bm25), ("dense", self.dense)] {
            if !(weight > 0.0 && weight <= 1000.0) {
                return invalid(format!("fusion.{name} is {weight}; a weight is more than 0 and at most 1,000"));
            }
        }
        if !(1..=10_000).contains(&self.depth) {
            return invalid(format!("fusion.depth is {}; it is 1 to 10,000", self.depth));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(Fusion { k: 1_000_001, ..Fusion::default() }, "fusion.k")]
    #[case(Fusion { bm25: 0.0, ..Fusion::default() }, "fusion.bm25")]
    #[case(Fusion { dense: f64::NAN, ..Fusion::default() }, "fusion.dense")]
    #[case(Fusion { dense: 1000.5, ..Fusion::default() }, "fusion.dense")]
    #[case(Fusion { depth: 0, ..Fusion::default() }, "fusion.depth")]
    #[case(Fusion { depth: 10_001, ..Fusion::default() }, "fusion.depth")]
    fn what_is_out_of_range_is_named(#[case] fusion: Fusion, #[case] name: &str) {
        let refused = fusion.check().unwrap_err().to_string();
        assert!(refused.starts_with(name), "{refused}");
    }

    #[test]
    fn names_are_those_of_serde() {
        assert!(Fusion::default().check().is_ok());
        for kind in RetrieverKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }
}

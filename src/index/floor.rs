//! The relevance floor: a hit must match a share of the query's information. Pure.
//!
//! A *unit* is what counts as one piece of information (a word with its compound parts and stems, a CJK bigram). Its
//! information is the largest idf of its terms, a term absent from the store counting with df 0; a chunk matches of it
//! the largest idf of those of its terms that the chunk has. The share is the sum over units of what is
//! matched, divided by the sum over units of what there is.

use super::score::SLACK;

/// The floor of one query.
pub(crate) struct Floor {
    share: f64,
    /// For each query term its unit, as an index into `units`, and its idf.
    terms: Vec<(Option<usize>, f64)>,
    /// The largest idf of each unit.
    units: Vec<f64>,
    total: f64,
}

impl Floor {
    /// A floor of `share` (0: none) over terms with their unit and idf, in query order.
    pub(crate) fn new(share: f64, terms: impl Iterator<Item = (Option<u32>, f64)>) -> Self {
        let mut names: Vec<u32> = Vec::new();
        let mut units: Vec<f64> = Vec::new();
        let terms = terms
            .map(|(unit, idf)| {
                let index = unit.map(|unit| {
                    names.iter().position(|&name| name == unit).unwrap_or_else(|| {
                        names.push(unit);
                        units.push(0.0);
                        names.len() - 1
                    })
                });
                if let Some(index) = index {
                    units[index] = units[index].max(idf);
                }
                (index, idf)
            })
            .collect();
        let total = units.iter().sum();
        Self { share, terms, units, total }
    }

    /// How many units there are: the size of the scratch space of the other functions.
    pub(crate) fn units(&self) -> usize {
        self.units.len()
    }

    /// Whether the floor can reject anything.
    pub(crate) fn is_active(&self) -> bool {
        self.share > 0.0 && self.total > 0.0
    }

    /// The share of the query's information that a chunk with these terms matches; 1 where the query has none.
    pub(crate) fn share(&self, has: impl Iterator<Item = usize>, scratch: &mut [f64]) -> f64 {
        if self.total <= 0.0 {
            return 1.0;
        }
        scratch.fill(0.0);
        for term in has {
            self.add(term, scratch);
        }
        scratch.iter().sum::<f64>() / self.total
    }

    /// Whether a chunk with these terms reaches the floor.
    pub(crate) fn passes(&self, has: impl Iterator<Item = usize>, scratch: &mut [f64]) -> bool {
        !self.is_active() || self.share(has, scratch) >= self.share
    }

    /// Adds a term to a set of terms that `scratch` (all 0 at first) stands for, and says how much more
    /// information the set has.
    pub(crate) fn add(&self, term: usize, scratch: &mut [f64]) -> f64 {
        let (Some(unit), idf) = self.terms[term] else { return 0.0 };
        let before = scratch[unit];
        scratch[unit] = before.max(idf);
        scratch[unit] - before
    }

    /// Whether no chunk that has only terms of a set with this information can reach the floor.
    pub(crate) fn is_out_of_reach(&self, information: f64) -> bool {
        self.is_active() && information * SLACK < self.share * self.total
    }
}

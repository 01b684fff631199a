//! What vectors are of.

use std::fmt;

use super::{Digest, DigestBuilder};
use crate::error::{Error, Result};

/// The lengths between which products of vectors can be told apart in single precision.
const LENGTHS: std::ops::RangeInclusive<f64> = 1e-12..=1e12;

/// How far the length of a vector may be from 1 where it is said to be 1.
const LENGTH_GRAIN: f64 = 1e-3;

/// What the vectors of an embedder are: those of two profiles are never compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingProfile {
    /// The model's name.
    pub model: String,
    /// Which of it: a digest of its weights, a date, a revision.
    pub version: String,
    /// How many numbers a vector has; 1 to 8,192.
    pub dimensions: usize,
    /// Whether each vector has length 1.
    pub normalised: bool,
}

impl EmbeddingProfile {
    /// The most dimensions.
    pub const MOST_DIMENSIONS: usize = 8192;

    /// What of a chunk is embedded: title, headings and text, each on lines of their own. Another composition would have
    /// another name here, and so other profiles.
    pub const COMPOSITION: &'static str = "title, headings, text (1)";

    /// The SHA-256 that names the profile in a store, in runs and in keys of the cache: over all its fields and
    /// [`EmbeddingProfile::COMPOSITION`].
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut hash = DigestBuilder::new("ragdb embedding profile 1");
        hash.field(&self.model).field(&self.version).number(i64::try_from(self.dimensions).unwrap_or(i64::MAX));
        hash.field(if self.normalised { "normalised" } else { "as given" }).field(Self::COMPOSITION);
        hash.finish()
    }

    /// Refuses what no store takes.
    ///
    /// # Errors
    /// [`Error::Invalid`] where it has no model, no dimensions or more than [`EmbeddingProfile::MOST_DIMENSIONS`].
    pub(crate) fn check(&self) -> Result<()> {
        if !(1..=Self::MOST_DIMENSIONS).contains(&self.dimensions) {
            let message = format!("{self}: a vector has 1 to {} dimensions", Self::MOST_DIMENSIONS);
            return Err(Error::Invalid { message });
        }
        if self.model.is_empty() || self.version.is_empty() {
            return Err(Error::Invalid { message: "an embedding profile has a model and a version".into() });
        }
        Ok(())
    }

    /// What is wrong with a vector that is said to be of this profile.
    pub(crate) fn fault(&self, vector: &[f32]) -> Option<String> {
        if vector.len() != self.dimensions {
            return Some(format!("of {} dimensions, not {}", vector.len(), self.dimensions));
        }
        let length = vector.iter().map(|&number| f64::from(number).powi(2)).sum::<f64>().sqrt();
        if !length.is_finite() || length == 0.0 {
            return Some("with a number that is not finite, or with no direction".into());
        }
        if !LENGTHS.contains(&length) {
            return Some(format!("of length {length:e}, which is too short or too long to be compared"));
        }
        if self.normalised && (length - 1.0).abs() > LENGTH_GRAIN {
            return Some(format!("of length {length:.4}, not 1"));
        }
        None
    }
}

impl fmt::Display for EmbeddingProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {} dimensions)", self.model, self.version, self.dimensions)
    }
}

//! Embedders: text becomes a vector whose direction is its meaning, as one model sees it.

mod endpoint;
mod hashing;
#[cfg(feature = "local")]
mod local;

use std::fmt;

use crate::error::{Error, Result};
use crate::model::EmbeddingProfile;

pub use endpoint::{EndpointEmbedder, EndpointEmbedding};
pub use hashing::HashingEmbedder;
#[cfg(feature = "local")]
pub use local::{LocalEmbedder, LocalSettings};

/// What a text is, to a model that embeds questions in another way than what may answer them. Of either, what the model
/// does not read is cut off; where an embedder refuses a text instead, a chunk stays without a vector and a question fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbedAs {
    /// The composition of a chunk: its title, its headings and its text.
    Chunk,
    /// A question.
    Query,
}

/// What a model wants before each text, such as `query: ` and `passage: `; nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefixes {
    /// Before a question.
    pub query: String,
    /// Before the composition of a chunk.
    pub chunk: String,
}

impl Prefixes {
    fn of(&self, role: EmbedAs) -> &str {
        match role {
            EmbedAs::Query => &self.query,
            EmbedAs::Chunk => &self.chunk,
        }
    }
}

/// Makes vectors of texts. Two embedders with the same profile give the same vectors, as far as numbers of single precision
/// are the same from one machine to the next.
pub trait Embedder: fmt::Debug + Send + Sync {
    /// What the vectors are of. A store keeps it beside them, and compares only vectors of one profile.
    fn profile(&self) -> &EmbeddingProfile;

    /// The vectors of `texts`, one each, in their order: all of them, or an error. A text that is longer than the model reads
    /// should be cut and not refused.
    ///
    /// # Errors
    /// What keeps the model from answering. An [`Error::Model`], and an [`Error::Endpoint`] with the status 400, 413 or 422, may
    /// be about one text of several: a store then gives it each by itself, and reports the chunks whose texts it still refuses.
    /// Any other error ends the run.
    fn embed(&self, texts: &[&str], role: EmbedAs) -> Result<Vec<Vec<f32>>>;

    /// How many texts are best given at once.
    fn batch(&self) -> usize {
        32
    }

    /// The least cosine, from -1 to 1, that a chunk must have with a question to be a hit, unless a search sets another.
    fn floor(&self) -> f64 {
        0.0
    }
}

/// Vectors of an embedder, found to be what its profile says.
///
/// # Errors
/// As [`Embedder::embed`]; [`Error::Invalid`] where there are more or fewer than texts, or one has other dimensions than
/// the profile, a number that is not finite, no direction, or another length than 1 where it is said to have that.
pub(crate) fn embed(embedder: &dyn Embedder, texts: &[&str], role: EmbedAs) -> Result<Vec<Vec<f32>>> {
    let profile = embedder.profile();
    let vectors = embedder.embed(texts, role)?;
    if vectors.len() != texts.len() {
        let message = format!("{profile} gave {} vectors for {} texts", vectors.len(), texts.len());
        return Err(Error::Invalid { message });
    }
    match vectors.iter().find_map(|vector| profile.fault(vector)) {
        Some(fault) => Err(Error::Invalid { message: format!("{profile} gave a vector {fault}") }),
        None => Ok(vectors),
    }
}

/// Refuses a floor that is no cosine.
fn check_floor(floor: f64) -> Result<()> {
    if (-1.0..=1.0).contains(&floor) {
        return Ok(());
    }
    Err(Error::Invalid { message: format!("the floor of an embedder is a cosine, from -1 to 1, not {floor}") })
}

/// Gives a vector the length 1; whether it has a direction, and finite numbers alone.
fn unit(vector: &mut [f32]) -> bool {
    let length = vector.iter().map(|&number| f64::from(number).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() || length < f64::from(f32::MIN_POSITIVE) {
        return false;
    }
    for number in vector {
        #[allow(clippy::cast_possible_truncation)]
        let scaled = (f64::from(*number) / length) as f32;
        *number = scaled;
    }
    true
}

//! A vector without a model: each term of a text adds to a few of 256 numbers that its hash picks. It knows words, not their meaning.

use sha2::{Digest as _, Sha256};

use super::{EmbedAs, Embedder};
use crate::error::Result;
use crate::lexicon::{LEXER_VERSION, Lexer, TermCounts};
use crate::model::EmbeddingProfile;

/// How many numbers a vector has.
const DIMENSIONS: usize = 256;
/// How many of them a term adds to.
const PLACES: usize = 4;

/// The test double among embedders: deterministic, quick, needs nothing, and finds only what shares terms with a
/// question. Its profile says so: `hashing (test double)`. For meaning, take a real model.
#[derive(Clone, Debug)]
pub struct HashingEmbedder {
    profile: EmbeddingProfile,
}

impl HashingEmbedder {
    /// Makes one.
    #[must_use]
    pub fn new() -> Self {
        let profile = EmbeddingProfile {
            model: "hashing (test double)".into(),
            version: format!("1, lexer {LEXER_VERSION}"),
            dimensions: DIMENSIONS,
            normalised: true,
        };
        Self { profile }
    }
}

impl Default for HashingEmbedder {
    fn default() -> Self {
        Self::new()
    }
}

impl Embedder for HashingEmbedder {
    fn profile(&self) -> &EmbeddingProfile {
        &self.profile
    }

    fn embed(&self, texts: &[&str], _role: EmbedAs) -> Result<Vec<Vec<f32>>> {
        let (mut lexer, mut counts) = (Lexer::new(), TermCounts::new());
        Ok(texts.iter().map(|text| vector(text, &mut lexer, &mut counts)).collect())
    }

    fn batch(&self) -> usize {
        512
    }

    fn floor(&self) -> f64 {
        0.1
    }
}

fn vector(text: &str, lexer: &mut Lexer, counts: &mut TermCounts) -> Vec<f32> {
    lexer.chunk_terms("", &[], text, counts);
    let mut sums = [0_f64; DIMENSIONS];
    for (term, tf) in counts.iter() {
        let hash = Sha256::digest(term.as_bytes());
        for place in hash.chunks_exact(2).take(PLACES) {
            let sign = if place[1] & 1 == 0 { 1.0 } else { -1.0 };
            sums[usize::from(place[0])] += sign * (1.0 + f64::from(tf).ln());
        }
    }
    let length = sums.iter().map(|sum| sum * sum).sum::<f64>().sqrt();
    if length == 0.0 {
        // No term, or terms that undo each other: a direction that says nothing.
        sums[0] = 1.0;
        return narrow(&sums, 1.0);
    }
    narrow(&sums, length)
}

#[allow(clippy::cast_possible_truncation)]
fn narrow(sums: &[f64], length: f64) -> Vec<f32> {
    sums.iter().map(|sum| (sum / length) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(one: &str, other: &str) -> f32 {
        let vectors = HashingEmbedder::new().embed(&[one, other], EmbedAs::Chunk).unwrap();
        vectors[0].iter().zip(&vectors[1]).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn a_vector_has_length_one_and_256_numbers() {
        for text in ["", "refund", "a b c d", "退款 期限", &"word ".repeat(10_000)] {
            let vectors = crate::embedding::embed(&HashingEmbedder::new(), &[text], EmbedAs::Chunk).unwrap();
            assert_eq!(vectors[0].len(), DIMENSIONS);
        }
    }

    #[test]
    fn what_shares_terms_is_near() {
        let near = cosine("the refund window is 30 days", "refund window");
        let far = cosine("the refund window is 30 days", "compile with cargo");
        assert!(near > 0.4 && far < 0.2, "{near} {far}");
        assert!((cosine("Refund, window!", "refund window") - 1.0).abs() < 1e-6);
    }
}

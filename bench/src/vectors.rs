//! A store with as many vectors as are asked for, and exact search among them: ragdb's side of the bench of vectors.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use ragdb::{
    EmbedAs, EmbedRequest, Embedder, EmbeddingProfile, Principal, Retriever, SearchRequest, Store, SyncRequest,
    SyncSources,
};
use rusqlite::{Connection, OpenFlags};
use sha2::{Digest, Sha256};

use crate::random::Random;
use crate::{Result, generate};

/// The name in the table.
pub const NAME: &str = "ragdb";
/// As many as all-MiniLM-L6-v2 and its like have.
pub const DIMENSIONS: usize = 384;
/// How far two cosines of the same vectors may be apart: each contender sums in an order of its own.
pub const GRAIN: f64 = 1e-5;

/// The sections of a file, each of which becomes a chunk.
const SECTIONS: usize = 1_000;

/// An embedder that knows nothing: a text's vector has a direction that follows from the text's SHA-256.
#[derive(Debug)]
pub struct Scattered(EmbeddingProfile);

impl Default for Scattered {
    fn default() -> Self {
        let (model, version) = ("scattered".to_owned(), "1".to_owned());
        Self(EmbeddingProfile { model, version, dimensions: DIMENSIONS, normalised: true })
    }
}

impl Embedder for Scattered {
    fn profile(&self) -> &EmbeddingProfile {
        &self.0
    }

    fn embed(&self, texts: &[&str], _: EmbedAs) -> ragdb::Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|text| direction(text)).collect())
    }

    fn batch(&self) -> usize {
        SECTIONS
    }
}

/// The vector of a text, of length 1.
#[must_use]
pub fn direction(text: &str) -> Vec<f32> {
    const STEPS: usize = 1 << 20;
    let digest = Sha256::digest(text);
    let seed = digest.iter().take(8).fold(0, |seed, byte| (seed << 8) | u64::from(*byte));
    let mut random = Random::new(seed);
    let numbers: Vec<f64> = (0..DIMENSIONS).map(|_| random.below(STEPS) as f64 / STEPS as f64 * 2.0 - 1.0).collect();
    let length = numbers.iter().map(|number| number * number).sum::<f64>().sqrt();
    #[allow(clippy::cast_possible_truncation)]
    numbers.iter().map(|number| (number / length) as f32).collect()
}

/// A chunk that is near a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    /// Its number in the store.
    pub chunk_no: i64,
    /// The cosine of its vector and the question's.
    pub cosine: f64,
}

/// Whether both are the same chunks, best first, but for those whose cosines are equal within [`GRAIN`].
#[must_use]
pub fn agree(ours: &[Near], theirs: &[Near]) -> bool {
    let close = |a: f64, b: f64| (a - b).abs() <= GRAIN;
    let last = ours.last().map_or(0.0, |near| near.cosine);
    let fits = |near: &Near| match ours.iter().find(|one| one.chunk_no == near.chunk_no) {
        Some(one) => close(one.cosine, near.cosine),
        None => close(last, near.cosine),
    };
    ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|(a, b)| close(a.cosine, b.cosine))
        && theirs.iter().all(fits)
}

/// Makes a store with `count` chunks, and their vectors, from files that are written below `folder`.
pub fn build(path: &Path, folder: &Path, count: usize) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for first in (0..count).step_by(SECTIONS) {
        let mut page = String::new();
        for number in first..count.min(first + SECTIONS) {
            let level = if number == first { "#" } else { "##" };
            write!(page, "{level} Section {number}\n\nWhat the section {number} says.\n\n")?;
        }
        generate::write(&folder.join(format!("{first:07}.md")), &page, 0)?;
    }
    let store = Store::create(path)?;
    let sources = SyncSources::Folders(vec![folder.to_owned()]);
    store.sync(&SyncRequest { sources, ..SyncRequest::default() })?;
    let made = store.embed(&Scattered::default(), EmbedRequest::default(), &|_| ())?;
    if made.embedded != count as u64 || !made.is_ready {
        return Err(format!("{} vectors were made, not {count}", made.embedded).into());
    }
    Ok(())
}

/// A store that is open, and keeps what it reads.
pub struct Searcher {
    store: Store,
    embedder: Arc<Scattered>,
}

impl Searcher {
    /// Opens the store.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self { store: Store::open_read_only(path)?, embedder: Arc::default() })
    }

    /// The hits for a question, best first: each chunk's id and cosine. There is no floor, as the peers have none.
    pub fn search(&self, question: &str, k: usize) -> Result<Vec<(String, f64)>> {
        let request = SearchRequest {
            top_k: k,
            literal: true,
            retriever: Retriever::Dense(Arc::<Scattered>::clone(&self.embedder)),
            similarity_floor: Some(-1.0),
            ..SearchRequest::new(question)
        };
        let hits = self.store.search(&Principal::operator(), &request)?.hits;
        Ok(hits.into_iter().map(|hit| (hit.chunk_id.to_string(), hit.score)).collect())
    }
}

/// The numbers of a store's chunks, by id: other programs' tables have numbers.
pub struct Numbers(HashMap<String, i64>);

impl Numbers {
    /// Reads them.
    pub fn read(path: &Path) -> Result<Self> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut statement = connection.prepare("SELECT chunk_id, chunk_no FROM chunks")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Self(rows.collect::<rusqlite::Result<_>>()?))
    }

    /// Hits with the numbers of their chunks.
    pub fn of(&self, hits: &[(String, f64)]) -> Result<Vec<Near>> {
        let number = |(id, cosine): &(String, f64)| Some(Near { chunk_no: *self.0.get(id)?, cosine: *cosine });
        hits.iter().map(number).collect::<Option<_>>().ok_or_else(|| "a hit is no chunk of the store".into())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn a_direction_is_its_texts_and_has_length_one() {
        let one = direction("a");
        assert_eq!((one.len(), &one), (DIMENSIONS, &direction("a")));
        let dot = |other: &[f32]| one.iter().zip(other).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        assert!((dot(&one) - 1.0).abs() < 1e-6);
        assert!(dot(&direction("b")).abs() < 0.3);
    }

    #[rstest]
    #[case::same(&[(1, 0.9), (2, 0.5)], true)]
    #[case::rounded(&[(1, 0.900_001), (2, 0.499_999)], true)]
    #[case::as_good(&[(1, 0.9), (3, 0.500_001)], true)]
    #[case::worse(&[(1, 0.9), (3, 0.4)], false)]
    #[case::another_in_its_place(&[(3, 0.9), (2, 0.5)], false)]
    #[case::other_cosine(&[(2, 0.9), (1, 0.5)], false)]
    #[case::fewer(&[(1, 0.9)], false)]
    fn chunks_agree_but_for_equal_cosines(#[case] theirs: &[(i64, f64)], #[case] expected: bool) {
        let near = |of: &[(i64, f64)]| -> Vec<Near> {
            of.iter().map(|&(chunk_no, cosine)| Near { chunk_no, cosine }).collect()
        };
        assert_eq!(agree(&near(&[(1, 0.9), (2, 0.5)]), &near(theirs)), expected);
    }
}

//! The best hits so far. The only place where hits are compared.

use std::cmp::Ordering;

use crate::error::Result;

/// A hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scored {
    /// The chunk's number.
    pub chunk_no: i64,
    /// Its BM25 score.
    pub score: f64,
}

/// What the index asks about a chunk, and only about one that would otherwise enter the result.
pub(crate) struct Callbacks<'a> {
    /// Whether the chunk may be a hit at all.
    pub accept: &'a mut dyn FnMut(i64) -> Result<bool>,
    /// Document path and chunk index, which order chunks of equal score.
    pub tie_key: &'a mut dyn FnMut(i64) -> Result<(String, i64)>,
}

struct Entry {
    hit: Scored,
    /// Asked for when first needed.
    key: Option<(String, i64)>,
}

impl Entry {
    fn key(&mut self, callbacks: &mut Callbacks<'_>) -> Result<&(String, i64)> {
        if self.key.is_none() {
            self.key = Some((callbacks.tie_key)(self.hit.chunk_no)?);
        }
        Ok(self.key.get_or_insert_default())
    }
}

/// At most k accepted hits, best first: by score, then by tie key.
pub(crate) struct Collector {
    k: usize,
    min_score: f64,
    entries: Vec<Entry>,
}

impl Collector {
    /// An empty collection.
    pub(crate) fn new(k: usize, min_score: f64) -> Self {
        Self { k, min_score, entries: Vec::new() }
    }

    /// A chunk with a score below this can't enter; one with just this score can.
    #[inline]
    pub(crate) fn threshold(&self) -> f64 {
        match self.entries.last() {
            Some(worst) if self.entries.len() == self.k => worst.hit.score.max(self.min_score),
            _ => self.min_score,
        }
    }

    /// Takes the chunk in if it belongs to the best k and is accepted.
    pub(crate) fn offer(&mut self, hit: Scored, callbacks: &mut Callbacks<'_>) -> Result<()> {
        if hit.score < self.threshold() {
            return Ok(());
        }
        let mut entry = Entry { hit, key: None };
        let (mut low, mut high) = (0, self.entries.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let other = &mut self.entries[middle];
            let order = match other.hit.score.total_cmp(&hit.score) {
                Ordering::Equal => entry.key(callbacks)?.cmp(other.key(callbacks)?),
                order => order,
            };
            if order == Ordering::Less { high = middle } else { low = middle + 1 }
        }
        if low < self.k && (callbacks.accept)(hit.chunk_no)? {
            self.entries.truncate(self.k - 1);
            self.entries.insert(low, entry);
        }
        Ok(())
    }

    /// The hits, best first.
    pub(crate) fn into_hits(self) -> Vec<Scored> {
        self.entries.into_iter().map(|entry| entry.hit).collect()
    }
}

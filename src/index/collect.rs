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

/// A hit, and whether it was accepted: one that only ties with the last is not asked about before it must be.
#[derive(Clone, Copy)]
struct Entry {
    hit: Scored,
    accepted: bool,
}

/// At most k accepted hits, best first: by score, then by tie key.
pub(crate) struct Collector {
    k: usize,
    min_score: f64,
    /// By score. All from the k-th on have its score: which of them are in is found out at the end, since most ties are
    /// overtaken before. Among equals, those that are not accepted yet come last; there are some only behind the k-th.
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
        self.entries.get(self.k - 1).map_or(self.min_score, |last| last.hit.score.max(self.min_score))
    }

    /// Takes the chunk in if it can belong to the best k and is accepted.
    pub(crate) fn offer(&mut self, hit: Scored, callbacks: &mut Callbacks<'_>) -> Result<()> {
        if hit.score < self.threshold() {
            return Ok(());
        }
        match self.entries.get(self.k - 1) {
            Some(last) if last.hit.score.total_cmp(&hit.score) == Ordering::Equal => {
                self.entries.push(Entry { hit, accepted: false });
            }
            _ if (callbacks.accept)(hit.chunk_no)? => {
                let place = self.entries.partition_point(|entry| entry.hit.score.total_cmp(&hit.score).is_ge());
                self.entries.insert(place, Entry { hit, accepted: true });
                if let Some(last) = self.entries.get(self.k - 1).map(|entry| entry.hit.score) {
                    let ties = self.entries[self.k..].partition_point(|entry| entry.hit.score.total_cmp(&last).is_ge());
                    self.entries.truncate(self.k + ties);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The hits, best first.
    pub(crate) fn into_hits(self, callbacks: &mut Callbacks<'_>) -> Result<Vec<Scored>> {
        let mut hits = Vec::with_capacity(self.k.min(self.entries.len()));
        for equal in self.entries.chunk_by(|a, b| a.hit.score.total_cmp(&b.hit.score) == Ordering::Equal) {
            if let [only] = equal {
                hits.push(only.hit);
                continue;
            }
            let keyed = equal.iter().map(|entry| Ok(((callbacks.tie_key)(entry.hit.chunk_no)?, entry)));
            let mut keyed = keyed.collect::<Result<Vec<_>>>()?;
            keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
            for (_, entry) in keyed {
                if hits.len() < self.k && (entry.accepted || (callbacks.accept)(entry.hit.chunk_no)?) {
                    hits.push(entry.hit);
                }
            }
        }
        Ok(hits)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_best_accepted_come_out_in_order(
            offered in proptest::collection::vec((0u8..6, 0u8..4), 0..60), k in 1usize..8, min_score in 0u8..3,
        ) {
            let number = |index: usize| i64::try_from(index).unwrap_or_default();
            let accepted = |chunk_no: i64| offered[usize::try_from(chunk_no).unwrap_or_default()].1 > 0;
            let mut callbacks = Callbacks {
                accept: &mut |chunk_no| Ok(accepted(chunk_no)),
                tie_key: &mut |chunk_no| Ok((format!("{:02}", 7 * chunk_no % 60), chunk_no)),
            };
            let mut collector = Collector::new(k, min_score.into());
            let mut expected = Vec::new();
            for (index, &(score, _)) in offered.iter().enumerate() {
                let hit = Scored { chunk_no: number(index), score: score.into() };
                collector.offer(hit, &mut callbacks).unwrap();
                if score >= min_score && accepted(hit.chunk_no) {
                    expected.push(hit);
                }
            }
            expected.sort_by_key(|hit| {
                let key = (callbacks.tie_key)(hit.chunk_no).unwrap();
                (std::cmp::Reverse(hit.score.to_bits()), key)
            });
            expected.truncate(k);
            prop_assert_eq!(collector.into_hits(&mut callbacks).unwrap(), expected);
        }
    }

    #[test]
    fn a_tie_that_is_overtaken_is_not_looked_at() {
        let (mut asked, mut looked_up) = (0, 0);
        let mut callbacks = Callbacks {
            accept: &mut |_| {
                asked += 1;
                Ok(true)
            },
            tie_key: &mut |chunk_no| {
                looked_up += 1;
                Ok((String::new(), chunk_no))
            },
        };
        let mut collector = Collector::new(2, 0.0);
        for (chunk_no, score) in [(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0), (4, 2.0), (5, 3.0)] {
            collector.offer(Scored { chunk_no, score }, &mut callbacks).unwrap();
        }
        let hits: Vec<i64> = collector.into_hits(&mut callbacks).unwrap().iter().map(|hit| hit.chunk_no).collect();
        assert_eq!((hits, asked, looked_up), (vec![5, 4], 4, 0));
    }
}

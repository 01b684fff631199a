//! The best of many that were scored already.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::error::Result;
use crate::index::{Callbacks, Scored};

/// Ordered by score alone.
struct ByScore(Scored);

impl PartialEq for ByScore {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ByScore {}

impl PartialOrd for ByScore {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByScore {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.score.total_cmp(&other.0.score)
    }
}

/// The best k that are accepted, best first: by score, then by tie key. Only those are asked about that are good enough, and
/// a chunk's tie key only once it is accepted.
///
/// # Errors
/// What the callbacks give.
pub(crate) fn best(scored: Vec<Scored>, k: usize, callbacks: &mut Callbacks<'_>) -> Result<Vec<Scored>> {
    let mut heap: BinaryHeap<ByScore> = scored.into_iter().map(ByScore).collect();
    let mut hits = Vec::new();
    while hits.len() < k
        && let Some(first) = heap.pop()
    {
        let mut equal = Vec::new();
        let mut next = Some(first);
        while let Some(entry) = next {
            let ties = heap.peek().is_some_and(|other| *other == entry);
            if (callbacks.accept)(entry.0.chunk_no)? {
                equal.push(entry.0);
            }
            next = if ties { heap.pop() } else { None };
        }
        if equal.len() > 1 {
            let keyed = equal.iter().map(|hit| Ok(((callbacks.tie_key)(hit.chunk_no)?, *hit)));
            let mut keyed = keyed.collect::<Result<Vec<_>>>()?;
            keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
            equal = keyed.into_iter().map(|(_, hit)| hit).collect();
        }
        hits.append(&mut equal);
    }
    hits.truncate(k);
    Ok(hits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_best_accepted_come_out_in_order(
            scores in proptest::collection::vec((-3_i8..4, 0_u8..4), 0..60), k in 1_usize..8,
        ) {
            let number = |index: usize| i64::try_from(index).unwrap_or_default();
            let all: Vec<Scored> = scores.iter().enumerate().map(|(index, &(score, _))| Scored {
                chunk_no: number(index), score: score.into(),
            }).collect();
            let accepted = |chunk_no: i64| scores[usize::try_from(chunk_no).unwrap_or_default()].1 > 0;
            let key = |chunk_no: i64| (format!("{:02}", 7 * chunk_no % 60), chunk_no);
            let mut expected: Vec<Scored> = all.iter().copied().filter(|hit| accepted(hit.chunk_no)).collect();
            expected.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| key(a.chunk_no).cmp(&key(b.chunk_no))));
            expected.truncate(k);
            let mut callbacks =
                Callbacks { accept: &mut |chunk_no| Ok(accepted(chunk_no)), tie_key: &mut |chunk_no| Ok(key(chunk_no)) };
            prop_assert_eq!(best(all, k, &mut callbacks).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_not_good_enough_is_not_asked_about() {
        let (mut asked, mut looked_up) = (Vec::new(), 0);
        let mut callbacks = Callbacks {
            accept: &mut |chunk_no| {
                asked.push(chunk_no);
                Ok(chunk_no != 4)
            },
            tie_key: &mut |chunk_no| {
                looked_up += 1;
                Ok((String::new(), chunk_no))
            },
        };
        let all = [1.0, 5.0, 3.0, 2.0, 4.0].into_iter().zip(0..).map(|(score, chunk_no)| Scored { chunk_no, score });
        let hits = best(all.collect(), 2, &mut callbacks).unwrap();
        assert_eq!(hits.iter().map(|hit| hit.chunk_no).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((asked, looked_up), (vec![1, 4, 2], 0));
    }
}

//! Which number a word's term has: a bounded cache over short words, so that a common one costs one look.

use std::hash::{BuildHasher, RandomState};

/// Slots of the cache; a word takes the slot that its hash names, whoever was there.
const SLOTS: usize = 1 << 15;
/// Longer words are not kept.
const LONGEST: usize = 16;

/// A short word as numbers: equal where the words are.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Key {
    first: u64,
    last: u64,
    /// 0 in a free slot: no word is empty.
    len: u32,
}

impl Key {
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // at most `LONGEST`
    fn of(word: &str) -> Option<Self> {
        let bytes = word.as_bytes();
        let len = bytes.len() as u32;
        let (first, last) = match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            (Some(first), Some(last)) if bytes.len() <= LONGEST => {
                (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
            }
            (Some(_), _) => return None,
            _ => match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>(), bytes) {
                (Some(first), Some(last), _) => (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into()),
                (_, _, &[first, .., last]) => {
                    let middle = bytes[bytes.len() / 2];
                    (u64::from(first) << 16 | u64::from(middle) << 8 | u64::from(last), 0)
                }
                (_, _, &[only]) => (only.into(), 0),
                _ => return None,
            },
        };
        Some(Self { first, last, len })
    }
}

#[derive(Clone, Copy, Default)]
struct Slot {
    key: Key,
    number: u32,
}

/// The numbers of words that were met lately.
pub(super) struct Known {
    /// A power of two, or none.
    slots: Vec<Slot>,
    seed: u64,
}

impl Known {
    /// Remembers nothing.
    pub(super) fn none() -> Self {
        Self { slots: Vec::new(), seed: 0 }
    }

    /// For many words. Seeded at random, so that nobody can prepare a text whose words all share a slot.
    pub(super) fn many() -> Self {
        Self { slots: vec![Slot::default(); SLOTS], seed: RandomState::new().hash_one(0x5eed_u32) }
    }

    /// The same with nothing in it.
    pub(super) fn emptied(&self) -> Self {
        if self.slots.is_empty() { Self::none() } else { Self::many() }
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation)] // the slots are fewer
    fn index(&self, key: &Key) -> usize {
        let spread = key.first ^ self.seed ^ (key.last ^ u64::from(key.len)).rotate_left(29);
        let product = u128::from(spread) * u128::from(0x9e37_79b9_7f4a_7c15 ^ self.seed << 1);
        ((product >> 64) as u64 ^ product as u64) as usize & (SLOTS - 1)
    }

    /// The number that was put for `word`.
    #[inline]
    pub(super) fn get(&self, word: &str) -> Option<u32> {
        let key = Key::of(word)?;
        let slot = self.slots.get(self.index(&key))?;
        (slot.key == key).then_some(slot.number)
    }

    /// Remembers a word's number.
    pub(super) fn put(&mut self, word: &str, number: u32) {
        if let Some(key) = Key::of(word) {
            let index = self.index(&key);
            if let Some(slot) = self.slots.get_mut(index) {
                *slot = Slot { key, number };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_word_has_its_own_number(words in proptest::collection::vec("[ab\0一]{0,20}", 1..60)) {
            let mut known = Known::many();
            for (word, number) in words.iter().zip(0..) {
                known.put(word, number);
                let last = (1..=LONGEST).contains(&word.len()).then_some(number);
                prop_assert_eq!(known.get(word), last);
            }
            for word in &words {
                let last = (0..).zip(&words).filter(|&(_, other)| other == word).map(|(number, _)| number).last();
                prop_assert!(known.get(word).is_none_or(|number| Some(number) == last));
            }
        }
    }

    #[test]
    fn what_remembers_nothing_knows_no_word() {
        let mut known = Known::none();
        known.put("word", 1);
        assert_eq!(known.get("word"), None);
    }
}

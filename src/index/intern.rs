//! Distinct terms as small numbers: one arena of text and one hash table over it.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// Terms numbered from 0 in order of appearance. The hash is seeded at random, so that no corpus can be made to
/// collide.
#[derive(Default)]
pub(crate) struct Interner {
    hasher: DefaultHashBuilder,
    table: HashTable<(u32, u32)>,
    arena: String,
    /// Where each term ends in the arena.
    ends: Vec<u32>,
}

impl Interner {
    /// The number of `term`, which is new if nobody asked for it before.
    ///
    /// # Panics
    /// Above 4 GB of distinct terms in one interner.
    #[inline]
    pub(crate) fn id(&mut self, term: &str) -> u32 {
        let hash = self.hasher.hash_one(term.as_bytes());
        let (arena, ends) = (&self.arena, &self.ends);
        #[expect(clippy::cast_possible_truncation, reason = "32 bits of the hash settle nearly every comparison")]
        let short = hash as u32;
        let same = |&(other, id): &(u32, u32)| other == short && text(arena, ends, id) == term;
        if let Some(&(_, id)) = self.table.find(hash, same) {
            return id;
        }
        let id = u32::try_from(self.ends.len()).expect("below 2^32 terms");
        self.arena.push_str(term);
        self.ends.push(u32::try_from(self.arena.len()).expect("below 4 GB of terms"));
        let (hasher, arena, ends) = (&self.hasher, &self.arena, &self.ends);
        self.table.insert_unique(hash, (short, id), |&(_, id)| hasher.hash_one(text(arena, ends, id).as_bytes()));
        id
    }

    /// The term with this number.
    pub(crate) fn term(&self, id: u32) -> &str {
        text(&self.arena, &self.ends, id)
    }

    /// All numbers in the byte order of their terms.
    pub(crate) fn sorted(&self) -> Vec<u32> {
        in_term_order((0..).zip(&self.ends).map(|(id, _)| id), |id| self.term(id))
    }
}

/// `numbers` in the byte order of the terms that they stand for.
pub(crate) fn in_term_order<'t>(numbers: impl Iterator<Item = u32>, term: impl Fn(u32) -> &'t str) -> Vec<u32> {
    let mut keyed: Vec<(u64, u32)> = numbers.map(|number| (prefix(term(number)), number)).collect();
    keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| term(a.1).cmp(term(b.1))));
    keyed.into_iter().map(|(_, number)| number).collect()
}

#[inline]
fn text<'a>(arena: &'a str, ends: &[u32], id: u32) -> &'a str {
    let index = id as usize;
    let start = if index == 0 { 0 } else { ends[index - 1] as usize };
    &arena[start..ends[index] as usize]
}

/// The first eight bytes as a number that sorts as they do.
pub(crate) fn prefix(term: &str) -> u64 {
    let mut bytes = [0; 8];
    let len = term.len().min(8);
    bytes[..len].copy_from_slice(&term.as_bytes()[..len]);
    u64::from_be_bytes(bytes)
}

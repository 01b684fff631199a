//! English Snowball stems with a bounded cache, and the hash by which terms are looked up.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

/// Words longer than this are left as they are: no English word is.
const LONGEST_STEMMED: usize = 24;
/// Slots of the cache; a word takes the slot that its hash names, whoever was there.
const SLOTS: usize = 4096;

/// Drawn once a process, so that nobody can prepare a text whose terms all collide. Nothing that is stored or
/// ordered depends on it.
static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0x5eed_u32));

/// A fast hash of a term. Differs from process to process.
#[derive(Clone, Copy)]
pub(super) struct TermHasher {
    seed: u64,
}

impl TermHasher {
    pub(super) fn new() -> Self {
        Self { seed: *SEED | 1 }
    }

    #[inline]
    pub(super) fn hash(self, bytes: &[u8]) -> u64 {
        let mut hash = self.seed ^ (bytes.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            hash = mix(hash ^ u64::from_le_bytes(chunk.try_into().unwrap_or_default()), self.seed);
        }
        let rest = chunks.remainder();
        if !rest.is_empty() {
            let mut last = 0_u64;
            for (shift, &byte) in rest.iter().enumerate() {
                last |= u64::from(byte) << (8 * shift);
            }
            hash = mix(hash ^ last, self.seed);
        }
        mix(hash, 0x9fb2_1c65_1e98_df25)
    }
}

#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b ^ 0xd6e8_feb8_6659_fd93);
    (product as u64) ^ ((product >> 64) as u64)
}

#[derive(Clone, Copy)]
struct Slot {
    word: [u8; LONGEST_STEMMED],
    stem: [u8; LONGEST_STEMMED],
    word_len: u8,
    stem_len: u8,
    stem_hash: u64,
}

const EMPTY: Slot =
    Slot { word: [0; LONGEST_STEMMED], stem: [0; LONGEST_STEMMED], word_len: 0, stem_len: 0, stem_hash: 0 };

/// Turns folded words into stems.
pub(super) struct Stems {
    stemmer: Stemmer,
    hasher: TermHasher,
    slots: Vec<Slot>,
}

impl Stems {
    pub(super) fn new() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English), hasher: TermHasher::new(), slots: vec![EMPTY; SLOTS] }
    }

    /// Calls `with` with the stem of a folded word and the stem's hash. Only words of ASCII letters have a stem
    /// other than themselves.
    #[inline]
    pub(super) fn stem<R>(&mut self, word: &str, with: impl FnOnce(&str, u64) -> R) -> R {
        let hash = self.hasher.hash(word.as_bytes());
        let len = word.len();
        if !(3..=LONGEST_STEMMED).contains(&len) || !word.bytes().all(|b| b.is_ascii_lowercase()) {
            return with(word, hash);
        }
        let slot = &mut self.slots[(hash >> 32) as usize % SLOTS];
        if usize::from(slot.word_len) != len || &slot.word[..len] != word.as_bytes() {
            let stem = self.stemmer.stem(word);
            if stem.len() > LONGEST_STEMMED {
                return with(word, hash);
            }
            slot.word[..len].copy_from_slice(word.as_bytes());
            slot.word_len = len as u8;
            slot.stem[..stem.len()].copy_from_slice(stem.as_bytes());
            slot.stem_len = stem.len() as u8;
            slot.stem_hash = self.hasher.hash(stem.as_bytes());
        }
        let stem = std::str::from_utf8(&slot.stem[..usize::from(slot.stem_len)]).unwrap_or(word);
        with(stem, slot.stem_hash)
    }
}

//! English Snowball stems with a bounded cache, and the hash by which terms are looked up.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

/// Words longer than this are left as they are: no English word is.
const LONGEST_STEMMED: usize = 20;
/// A stem differs from its word in at most this many last letters.
const LONGEST_ENDING: usize = 5;
/// Slots of the cache; a word takes the slot that its hash names, whoever was there. A lexer starts with few, since
/// a query needs hardly any.
const SLOTS: usize = 1 << 14;
const FIRST_SLOTS: usize = 1 << 6;

/// Drawn once a process, so that nobody can prepare a text whose terms all collide. Nothing that is stored or
/// ordered depends on it.
static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0x5eed_u32));

/// The stem of one folded word, by the same rules as [`Stems`] and without its cache.
pub(crate) fn stem(word: &str) -> Cow<'_, str> {
    let stemmed = word.bytes().all(|byte| byte.is_ascii_lowercase()) && (3..=LONGEST_STEMMED).contains(&word.len());
    if stemmed { Stemmer::create(Algorithm::English).stem(word) } else { Cow::Borrowed(word) }
}

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
    pub(super) fn hash(self, term: &str) -> u32 {
        let bytes = term.as_bytes();
        let (words, rest) = bytes.as_chunks::<8>();
        let mut hash = self.seed ^ (bytes.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for &word in words {
            hash = mix(hash ^ u64::from_le_bytes(word), self.seed);
        }
        let rest = match (rest.first_chunk::<4>(), rest.last_chunk::<4>(), rest) {
            (Some(&first), Some(&last), _) => {
                u64::from(u32::from_le_bytes(first)) << 32 | u64::from(u32::from_le_bytes(last))
            }
            (_, _, &[first, .., last]) => u64::from(first) << 16 | u64::from(rest[1]) << 8 | u64::from(last),
            (_, _, &[only]) => u64::from(only),
            _ => 0,
        };
        (mix(hash ^ rest, 0x9fb2_1c65_1e98_df25 ^ self.seed) >> 32) as u32
    }
}

#[inline]
#[allow(clippy::cast_possible_truncation)] // the two halves
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b ^ 0xd6e8_feb8_6659_fd93);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Whether two short byte strings are equal; spares the call into the C library that `==` makes.
#[inline]
pub(super) fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match a.len() {
        0..4 => a.iter().eq(b),
        4..=8 => a.first_chunk::<4>() == b.first_chunk::<4>() && a.last_chunk::<4>() == b.last_chunk::<4>(),
        9..=16 => a.first_chunk::<8>() == b.first_chunk::<8>() && a.last_chunk::<8>() == b.last_chunk::<8>(),
        _ => a == b,
    }
}

/// A word with its stem, which is the first `kept` bytes of the word with `ending` behind them.
#[derive(Clone, Copy, Default)]
struct Slot {
    word: [u8; LONGEST_STEMMED],
    ending: [u8; LONGEST_ENDING],
    word_len: u8,
    kept: u8,
    ending_len: u8,
    stem_hash: u32,
}

/// Turns folded words into stems.
pub(super) struct Stems {
    stemmer: Stemmer,
    hasher: TermHasher,
    /// A power of two.
    slots: Vec<Slot>,
    misses: usize,
    stem: String,
}

impl Stems {
    pub(super) fn new() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
            hasher: TermHasher::new(),
            slots: vec![Slot::default(); FIRST_SLOTS],
            misses: 0,
            stem: String::new(),
        }
    }

    /// The stem of a folded word, and the stem's hash. Only words of ASCII letters have a stem other than themselves.
    #[inline]
    pub(super) fn stem<'a>(&'a mut self, word: &'a str) -> (&'a str, u32) {
        let letters = word.bytes().fold(true, |letters, byte| letters & byte.is_ascii_lowercase());
        let hash = self.hasher.hash(word);
        let len = word.len();
        if !letters || !(3..=LONGEST_STEMMED).contains(&len) {
            return (word, hash);
        }
        let mut index = hash as usize & (self.slots.len() - 1);
        let slot = &self.slots[index];
        if usize::from(slot.word_len) != len || !same(&slot.word[..len], word.as_bytes()) {
            index = self.fill(hash, word);
        }
        let slot = &self.slots[index];
        let kept = &word[..usize::from(slot.kept)];
        if slot.ending_len == 0 {
            return (kept, slot.stem_hash);
        }
        self.stem.clear();
        self.stem.push_str(kept);
        self.stem.extend(slot.ending[..usize::from(slot.ending_len)].iter().map(|&byte| char::from(byte)));
        (&self.stem, slot.stem_hash)
    }

    /// Stems a word that the cache has not; returns its slot.
    #[cold]
    fn fill(&mut self, hash: u32, word: &str) -> usize {
        self.misses += 1;
        if self.misses == 2 * FIRST_SLOTS {
            self.slots = vec![Slot::default(); SLOTS];
        }
        let index = hash as usize & (self.slots.len() - 1);
        let stem = self.stemmer.stem(word);
        let kept = word.bytes().zip(stem.bytes()).take_while(|(a, b)| a == b).count();
        let ending = &stem.as_bytes()[kept..];
        // No rule of the stemmer puts more than a few letters behind what it keeps; were there one, the word would
        // stand for itself.
        let (kept, ending, stem) =
            if ending.len() > LONGEST_ENDING { (word.len(), &[][..], word) } else { (kept, ending, stem.as_ref()) };
        let slot = &mut self.slots[index];
        slot.word[..word.len()].copy_from_slice(word.as_bytes());
        slot.ending[..ending.len()].copy_from_slice(ending);
        #[allow(clippy::cast_possible_truncation)] // at most LONGEST_STEMMED
        let [word_len, kept, ending_len] = [word.len(), kept, ending.len()].map(|len| len as u8);
        (slot.word_len, slot.kept, slot.ending_len) = (word_len, kept, ending_len);
        slot.stem_hash = self.hasher.hash(stem);
        index
    }
}

//! The terms of one chunk with their frequencies. Terms are numbered as they first appear and keep their numbers from
//! chunk to chunk, so that to count a word again is to look its number up.

use super::known::Known;
use super::stem::{Stems, same};

/// With more distinct terms than this the memory of old ones is given up.
const MOST_TERMS: usize = 1 << 17;
const SMALLEST_TABLE: usize = 1024;

struct Term {
    hash: u32,
    start: u32,
    len: u8,
}

/// What stands above a chunk: its document's title or one of its headings.
struct Head {
    text: String,
    /// Where its terms end in `head_counts`.
    end: usize,
    length: u32,
}

/// Terms with their frequencies in one chunk, in order of first appearance, and the chunk's length.
pub(crate) struct TermCounts {
    arena: String,
    terms: Vec<Term>,
    /// A term's number plus one; 0 is free. A power of two, at most half full.
    table: Vec<u32>,
    known: Known,
    /// Numbers and frequencies of the chunk's terms.
    counts: Vec<(u32, u32)>,
    /// By number: where the term is in `counts`, if that names the number.
    places: Vec<u32>,
    length: u32,
    /// The heads of the last chunk, which the next mostly shares.
    heads: Vec<Head>,
    head_counts: Vec<(u32, u32)>,
}

impl TermCounts {
    /// No terms yet. Small, for a few texts.
    pub(crate) fn new() -> Self {
        Self::with(Known::none())
    }

    /// The same for many texts: remembers the terms of words.
    pub(crate) fn for_many() -> Self {
        Self::with(Known::many())
    }

    fn with(known: Known) -> Self {
        Self {
            arena: String::new(),
            terms: Vec::new(),
            table: vec![0; SMALLEST_TABLE],
            known,
            counts: Vec::new(),
            places: Vec::new(),
            length: 0,
            heads: Vec::new(),
            head_counts: Vec::new(),
        }
    }

    /// Forgets terms and numbers where they have become too many.
    pub(crate) fn forget_if_many(&mut self) {
        if self.terms.len() > MOST_TERMS {
            *self = Self::with(self.known.emptied());
        }
    }

    /// The chunk's length as BM25 counts it.
    pub(crate) fn length(&self) -> u32 {
        self.length
    }

    /// Each distinct term with its frequency, in order of first appearance.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.counts.iter().map(|&(number, tf)| (self.term(number), tf))
    }

    /// The numbers of the same terms with their frequencies.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u32, u32)> {
        self.counts.iter().copied()
    }

    /// The term with this number.
    pub(crate) fn term(&self, number: u32) -> &str {
        let term = &self.terms[number as usize];
        &self.arena[term.start as usize..][..usize::from(term.len)]
    }

    /// Ends the chunk; terms keep their numbers.
    pub(super) fn clear(&mut self) {
        self.counts.clear();
        self.length = 0;
    }

    /// Keeps those of the last chunk's heads that `heads` begins with, and says how many these are.
    pub(super) fn keep_heads<'t>(&mut self, heads: impl Iterator<Item = &'t str>) -> usize {
        let kept = self.heads.iter().zip(heads).take_while(|(head, text)| head.text == *text).count();
        self.heads.truncate(kept);
        self.head_counts.truncate(self.heads.last().map_or(0, |head| head.end));
        kept
    }

    /// Makes what was counted since the last `clear` the terms of the next head.
    pub(super) fn end_head(&mut self, text: &str) {
        self.head_counts.append(&mut self.counts);
        self.heads.push(Head { text: text.to_owned(), end: self.head_counts.len(), length: self.length });
        self.clear();
    }

    /// Begins a chunk below the heads.
    pub(super) fn begin(&mut self) {
        self.clear();
        let counts = std::mem::take(&mut self.head_counts);
        for &(number, tf) in &counts {
            self.count(number, tf);
        }
        self.head_counts = counts;
        self.length = self.heads.iter().fold(0, |sum: u32, head| sum.saturating_add(head.length));
    }

    pub(super) fn lengthen(&mut self, by: u32) {
        self.length = self.length.saturating_add(by);
    }

    /// Counts the stem of `word` `times` more times.
    #[inline]
    pub(super) fn add(&mut self, word: &str, times: u32, stems: &mut Stems) {
        let number = self.known.get(word).unwrap_or_else(|| self.learn(word, stems));
        self.count(number, times);
    }

    fn learn(&mut self, word: &str, stems: &mut Stems) -> u32 {
        let (stem, hash) = stems.stem(word);
        let number = self.number(stem, hash);
        self.known.put(word, number);
        number
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation)] // as many as `number` numbered
    fn count(&mut self, number: u32, times: u32) {
        let place = &mut self.places[number as usize];
        match self.counts.get_mut(*place as usize) {
            Some((known, tf)) if *known == number => *tf = tf.saturating_add(times),
            _ => {
                *place = self.counts.len() as u32;
                self.counts.push((number, times));
            }
        }
    }

    /// The number of `term`, which is at most 255 bytes long.
    #[allow(clippy::cast_possible_truncation)] // terms are short, and those of a slice fit into 4 GB
    fn number(&mut self, term: &str, hash: u32) -> u32 {
        debug_assert!(!term.is_empty() && term.len() <= 255);
        let mask = self.table.len() - 1;
        let mut slot = hash as usize & mask;
        while let Some(number) = self.table[slot].checked_sub(1) {
            if self.terms[number as usize].hash == hash && same(self.term(number).as_bytes(), term.as_bytes()) {
                return number;
            }
            slot = (slot + 1) & mask;
        }
        let number = self.terms.len() as u32;
        self.terms.push(Term { hash, start: self.arena.len() as u32, len: term.len() as u8 });
        self.arena.push_str(term);
        self.places.push(0);
        self.table[slot] = number + 1;
        if self.terms.len() * 2 > self.table.len() {
            self.grow();
        }
        number
    }

    #[allow(clippy::cast_possible_truncation)] // as many as `number` numbered
    fn grow(&mut self) {
        let size = self.table.len() * 2;
        self.table.clear();
        self.table.resize(size, 0);
        for (number, term) in self.terms.iter().enumerate() {
            let mut slot = term.hash as usize & (size - 1);
            while self.table[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.table[slot] = number as u32 + 1;
        }
    }
}

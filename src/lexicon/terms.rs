//! The terms of one chunk with their frequencies: an arena of bytes and an open-addressing table, both kept from
//! chunk to chunk.

use super::stem::{TermHasher, same};

struct Entry {
    hash: u32,
    start: u32,
    len: u8,
    tf: u32,
}

/// Terms with their frequencies in one chunk, in order of first appearance, and the chunk's length.
pub(crate) struct TermCounts {
    arena: String,
    entries: Vec<Entry>,
    /// Index of an entry plus one; 0 is free. A power of two, at most half full.
    table: Vec<u32>,
    length: u32,
    hasher: TermHasher,
}

const SMALLEST_TABLE: usize = 1024;

impl TermCounts {
    /// No terms yet.
    pub(crate) fn new() -> Self {
        Self {
            arena: String::new(),
            entries: Vec::new(),
            table: vec![0; SMALLEST_TABLE],
            length: 0,
            hasher: TermHasher::new(),
        }
    }

    /// Forgets the terms and keeps the memory, unless one huge chunk made it huge.
    pub(crate) fn clear(&mut self) {
        if self.table.len() > 8 * SMALLEST_TABLE {
            *self = Self::new();
            return;
        }
        self.arena.clear();
        self.entries.clear();
        self.table.fill(0);
        self.length = 0;
    }

    /// The chunk's length as BM25 counts it.
    pub(crate) fn length(&self) -> u32 {
        self.length
    }

    /// Each distinct term with its frequency, in order of first appearance.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.entries.iter().map(|entry| (&self.arena[entry.start as usize..][..usize::from(entry.len)], entry.tf))
    }

    pub(super) fn lengthen(&mut self, by: u32) {
        self.length = self.length.saturating_add(by);
    }

    /// Counts `term`, which is at most 255 bytes long, `times` more times.
    pub(super) fn add(&mut self, term: &str, times: u32) {
        self.add_hashed(term, self.hasher.hash(term), times);
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation)] // terms are short, and a chunk's fit into 4 GB
    pub(super) fn add_hashed(&mut self, term: &str, hash: u32, times: u32) {
        debug_assert!(!term.is_empty() && term.len() <= 255);
        let mask = self.table.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let index = self.table[slot];
            if index == 0 {
                break;
            }
            let entry = &mut self.entries[index as usize - 1];
            if entry.hash == hash
                && same(&self.arena.as_bytes()[entry.start as usize..][..usize::from(entry.len)], term.as_bytes())
            {
                entry.tf = entry.tf.saturating_add(times);
                return;
            }
            slot = (slot + 1) & mask;
        }
        self.entries.push(Entry { hash, start: self.arena.len() as u32, len: term.len() as u8, tf: times });
        self.arena.push_str(term);
        self.table[slot] = self.entries.len() as u32;
        if self.entries.len() * 2 > self.table.len() {
            self.grow();
        }
    }

    #[allow(clippy::cast_possible_truncation)] // as many as `add_hashed` numbered
    fn grow(&mut self) {
        let size = self.table.len() * 2;
        self.table.clear();
        self.table.resize(size, 0);
        for (index, entry) in self.entries.iter().enumerate() {
            let mut slot = entry.hash as usize & (size - 1);
            while self.table[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.table[slot] = index as u32 + 1;
        }
    }
}

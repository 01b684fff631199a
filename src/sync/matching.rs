//! Which stored chunk a new chunk is.

use std::collections::HashMap;

use crate::model::Digest;
use crate::store::chunks::ChunkRow;

/// Pairs a document's new chunks with its stored ones: the k-th chunk with some text with the k-th that had it.
pub(super) struct Matcher<'a> {
    stored: HashMap<(Digest, u32), &'a ChunkRow>,
    seen: HashMap<Digest, u32>,
}

impl<'a> Matcher<'a> {
    pub(super) fn new(stored: &'a [ChunkRow]) -> Self {
        let stored = stored.iter().map(|chunk| ((chunk.content, chunk.repeat), chunk)).collect();
        Self { stored, seen: HashMap::new() }
    }

    /// How many chunks with this text came before.
    pub(super) fn repeat(&mut self, content: &Digest) -> u32 {
        let count = self.seen.entry(*content).or_default();
        *count += 1;
        *count - 1
    }

    pub(super) fn take(&mut self, content: &Digest, repeat: u32) -> Option<&'a ChunkRow> {
        self.stored.remove(&(*content, repeat))
    }

    /// The stored chunks that no new one took, in their order.
    pub(super) fn rest(self) -> Vec<ChunkRow> {
        let mut rest: Vec<ChunkRow> = self.stored.into_values().cloned().collect();
        rest.sort_unstable_by_key(|chunk| chunk.chunk_index);
        rest
    }
}

/// Whether the stored row, its number and its postings can stay in a document that keeps its access class.
pub(super) fn keeps(old: &ChunkRow, new: &ChunkRow) -> bool {
    let same = |chunk: &ChunkRow| (chunk.composition, chunk.heading_only, chunk.unsafe_reason.is_some());
    same(old) == same(new)
}

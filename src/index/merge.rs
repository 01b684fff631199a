//! What a new segment is made of, and which older segments it takes in.
//!
//! Terms come from *sources* in byte order: the segments that are merged, oldest first, then the runs of the sync by
//! their chunk numbers, then its deaths. Each is read as a stream, so that memory does not grow with the index.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::io::Read;

use super::cursor::{Cursor, END};
use super::intern::prefix;
use super::list::{ListWriter, Rows};
use super::run::RunReader;
use crate::error::Result;
use crate::store::postings::{PostingReader, PostingWriter, SegmentRow, TermRow, damaged};

/// The most segments that a sync leaves. Each one costs every query a few lookups for each term.
pub(crate) const MAX_SEGMENTS: usize = 8;
/// Terms that a merge reads from a segment at a time: no statement stays open on a table that is written.
const BATCH: u32 = 256;

/// Which old segments (sizes in chunks, oldest first) a new one of size `new` takes in: all from the index returned,
/// none where that is their number.
///
/// A merge always takes in the youngest, so that every death it knows of concerns a posting it has or an older one.
/// Nothing merges while there is room. Then the fewest merge whose sum is below the next older one: the sizes go down
/// as in a binomial counter, and a chunk is written about d times in a series of binomial(7 + d, 7) equal syncs: 6 in 1,700,
/// 9 in 11,000. A large first segment stays alone until the rest has grown to its size.
pub(crate) fn merge_from(sizes: &[u64], new: u64) -> usize {
    if sizes.len() < MAX_SEGMENTS {
        return sizes.len();
    }
    let mut sum = new;
    for (index, &size) in sizes.iter().enumerate().rev() {
        sum += size;
        if index == 0 || sizes[index - 1] > sum {
            return index;
        }
    }
    sizes.len()
}

/// Whether so many chunks are dead (more than 3 in 10) that all segments are merged.
pub(crate) fn is_mostly_dead(indexed: u64, dead: u64) -> bool {
    dead.saturating_mul(10) > indexed.saturating_mul(3)
}

/// Where a merge puts its rows, and where it reads the segments that it takes in.
pub(crate) trait Written<'c>: Rows {
    /// A reader of the index that is written.
    fn reader(&mut self) -> Result<&mut PostingReader<'c>>;
}

impl Rows for PostingWriter<'_> {
    fn term(&mut self, segment: i64, term: &str, row: &mut TermRow) -> Result<()> {
        self.insert_term(segment, term, row)
    }

    fn blocks(&mut self, block_row: i64, data: &[u8]) -> Result<()> {
        self.insert_block_row(block_row, data)
    }
}

impl<'c> Written<'c> for PostingWriter<'c> {
    fn reader(&mut self) -> Result<&mut PostingReader<'c>> {
        Ok(&mut self.reader)
    }
}

/// One stream of terms in byte order.
pub(crate) enum Source<'d, R> {
    Segment(SegmentSource),
    Run { reader: RunReader<R>, base: u32 },
    Deaths(VecDeque<(&'d str, u64)>),
}

/// The terms of a segment, read in batches.
pub(crate) struct SegmentSource {
    segment: SegmentRow,
    /// The first chunk of the new segment; the segment may start before it with dead chunks.
    first_chunk: i64,
    batch: VecDeque<(String, TermRow)>,
}

impl SegmentSource {
    /// The terms of `segment` for a new one that starts at `first_chunk`.
    pub(crate) fn new(segment: SegmentRow, first_chunk: i64) -> Self {
        Self { segment, first_chunk, batch: VecDeque::new() }
    }

    fn fill(&mut self, reader: &PostingReader<'_>, after: Option<&str>) -> Result<()> {
        self.batch = reader.terms_after(self.segment.segment, after, BATCH)?.into();
        Ok(())
    }

    /// Pushes the live postings of the current term and says how many dead ones it dropped and how many deaths of
    /// older postings it knew.
    fn drain<'c, W: Written<'c>>(&mut self, out: &mut W, lists: &mut ListWriter<'_>) -> Result<(u64, u64)> {
        let Some((term, row)) = self.batch.pop_front() else { return Ok((0, 0)) };
        let (mut dropped, dead) = (0, row.dead);
        let mut cursor = Cursor::open(out.reader()?, &self.segment, row)?;
        let shift = self.segment.first_chunk - self.first_chunk;
        while cursor.chunk() != END {
            // Chunks before the new segment's first are all dead.
            let chunk = u32::try_from(i64::from(cursor.chunk()) + shift);
            let kept = match chunk {
                Ok(chunk) => lists.push(out, chunk, cursor.tf())?,
                Err(_) => false,
            };
            dropped += u64::from(!kept);
            cursor.next(out.reader()?)?;
        }
        if self.batch.is_empty() {
            self.fill(out.reader()?, Some(&term))?;
        }
        Ok((dropped, dead))
    }
}

impl<R: Read> Source<'_, R> {
    fn start<'c>(&mut self, out: &mut impl Written<'c>) -> Result<()> {
        match self {
            Self::Segment(source) => source.fill(out.reader()?, None),
            Self::Run { reader, .. } => reader.next_term().map(drop),
            Self::Deaths(_) => Ok(()),
        }
    }

    fn term(&self) -> Option<&str> {
        match self {
            Self::Segment(source) => source.batch.front().map(|(term, _)| term.as_str()),
            Self::Run { reader, .. } => Some(reader.term()).filter(|term| !term.is_empty()),
            Self::Deaths(terms) => terms.front().map(|&(term, _)| term),
        }
    }

    /// Gives the postings of the current term to `lists` and goes to the next term. Says how many dead postings it
    /// dropped and how many deaths of older postings it knew.
    fn drain<'c>(&mut self, out: &mut impl Written<'c>, lists: &mut ListWriter<'_>) -> Result<(u64, u64)> {
        match self {
            Self::Segment(source) => source.drain(out, lists),
            Self::Run { reader, base } => {
                while let Some((chunk, tf)) = reader.next_posting()? {
                    lists.push(out, *base + chunk, tf)?;
                }
                reader.next_term()?;
                Ok((0, 0))
            }
            Self::Deaths(terms) => Ok((0, terms.pop_front().map_or(0, |(_, dead)| dead))),
        }
    }
}

/// Writes the lists of all sources, whose chunks ascend from one source to the next; a k-way merge over their terms.
/// `is_oldest` says that there is no older segment left, so that every death must have met its posting.
pub(crate) fn write_lists<'c, R: Read>(
    out: &mut impl Written<'c>,
    lists: &mut ListWriter<'_>,
    mut sources: Vec<Source<'_, R>>,
    is_oldest: bool,
) -> Result<()> {
    for source in &mut sources {
        source.start(out)?;
    }
    // A binary heap: smallest term first, then smallest index.
    let mut heap: Vec<Head> = (0..sources.len()).filter_map(|index| head(&sources, index)).collect();
    for place in (0..heap.len() / 2).rev() {
        sift_down(&mut heap, place, &sources);
    }
    let mut term = String::new();
    while let Some(&(_, first)) = heap.first() {
        term.clear();
        term.push_str(sources[first].term().unwrap_or_default());
        let (mut dropped, mut dead) = (0u64, 0u64);
        while let Some(&(_, index)) = heap.first()
            && sources[index].term() == Some(&term)
        {
            let (more_dropped, more_dead) = sources[index].drain(out, lists)?;
            dropped += more_dropped;
            dead = dead.saturating_add(more_dead);
            match head(&sources, index) {
                Some(next) => heap[0] = next,
                None => drop(heap.swap_remove(0)),
            }
            sift_down(&mut heap, 0, &sources);
        }
        match dead.checked_sub(dropped) {
            Some(left) if left == 0 || !is_oldest => lists.finish_term(out, &term, left)?,
            _ => return Err(damaged(format_args!("{dead} postings of {term:?} are marked dead, {dropped} are"))),
        }
    }
    Ok(())
}

/// The first eight bytes of a source's term and the source's index.
type Head = (u64, usize);

fn head<R: Read>(sources: &[Source<'_, R>], index: usize) -> Option<Head> {
    Some((prefix(sources[index].term()?), index))
}

fn sift_down<R: Read>(heap: &mut [Head], mut place: usize, sources: &[Source<'_, R>]) {
    let order = |a: Head, b: Head| {
        let terms = || sources[a.1].term().cmp(&sources[b.1].term());
        a.0.cmp(&b.0).then_with(terms).then(a.1.cmp(&b.1))
    };
    loop {
        let mut child = 2 * place + 1;
        if child >= heap.len() {
            return;
        }
        if child + 1 < heap.len() && order(heap[child + 1], heap[child]) == Ordering::Less {
            child += 1;
        }
        if order(heap[place], heap[child]) != Ordering::Greater {
            return;
        }
        heap.swap(place, child);
        place = child;
    }
}

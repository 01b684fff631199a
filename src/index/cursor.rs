//! Reading posting lists: forward through one list, block by block, with jumps by its skip entries.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::encode::{BLOCK, SKIP_BYTES, Skip, Widths, decode_block};
use crate::error::Result;
use crate::store::postings::{PostingReader, SegmentRow, TermRow, damaged};

/// The chunk number of an exhausted cursor: above all others.
pub(crate) const END: u32 = u32::MAX;

/// A list of one segment: what is known of it without its blocks, and as many of these as are kept.
pub(crate) struct List {
    /// Its row; of a list in blocks without the bytes of its skip entries.
    row: TermRow,
    limit: u32,
    first_row: i64,
    rows: u32,
    skips: Vec<Skip>,
    kept: Option<KeptBlocks>,
}

/// The blocks of a list that were read, each as its bytes.
struct KeptBlocks {
    blocks: Vec<OnceLock<Box<[u8]>>>,
    bytes: AtomicUsize,
    /// The bytes of all that is kept.
    all: Arc<AtomicUsize>,
}

/// A row of `posting_blocks`: the last one that was read.
#[derive(Default)]
struct Row {
    number: Option<u32>,
    bytes: Vec<u8>,
}

impl List {
    /// The list in this row of `segment`.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] where row and list contradict each other.
    pub(crate) fn new(segment: &SegmentRow, mut row: TermRow) -> Result<Self> {
        let blocks = if row.blocks == 0 { usize::from(row.df > 0) } else { row.blocks as usize };
        if blocks != (row.df as usize).div_ceil(BLOCK) || row.df > segment.chunks {
            return Err(damaged(format_args!("a list of {} postings in {blocks} blocks", row.df)));
        }
        let mut skips: Vec<Skip> = Vec::new();
        if row.blocks > 0 {
            skips = row.data.as_chunks::<SKIP_BYTES>().0.iter().map(Skip::read).collect();
            if !skips.is_sorted_by(|a, b| a.last < b.last) {
                return Err(damaged("the skip entries of a list do not ascend"));
            }
            row.data = Vec::new();
        } else if row.df > 0 {
            skips.push(inline_skip(&row, segment.chunks)?);
        }
        let (limit, first_row, rows) = (segment.chunks, segment.first_row, segment.rows);
        Ok(Self { row, limit, first_row, rows, skips, kept: None })
    }

    /// The same, which keeps its blocks once they are read and adds their bytes to `all`.
    ///
    /// # Errors
    /// As [`List::new`].
    pub(super) fn keeping(segment: &SegmentRow, row: TermRow, all: Arc<AtomicUsize>) -> Result<Self> {
        let list = Self::new(segment, row)?;
        let blocks = if list.row.blocks > 0 { list.skips.len() } else { 0 };
        let blocks: Vec<_> = std::iter::repeat_with(OnceLock::new).take(blocks).collect();
        let bytes = size_of::<Self>() + list.row.data.len() + size_of_val(&*list.skips) + size_of_val(&*blocks);
        Ok(Self { kept: Some(KeptBlocks { blocks, bytes: bytes.into(), all }), ..list })
    }

    /// How many postings it has, dead ones among them.
    pub(crate) fn df(&self) -> u32 {
        self.row.df
    }

    /// How many postings of older segments died when its segment was written.
    pub(crate) fn dead(&self) -> u64 {
        self.row.dead
    }

    /// Its largest impact.
    pub(crate) fn max_impact(&self) -> u16 {
        self.row.max_impact
    }

    /// Calls `each` with the first chunk that each block can have, its last one and its impact.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] where a block leads out of the segment.
    pub(super) fn each_bound(&self, mut each: impl FnMut(u32, u32, u16)) -> Result<()> {
        let mut first = self.row.base;
        for skip in &self.skips {
            if first > skip.last || skip.last >= self.limit {
                return Err(damaged("a skip entry has an impossible chunk number"));
            }
            each(first, skip.last, skip.impact);
            first = skip.last + 1;
        }
        Ok(())
    }

    /// How many bytes are kept of it.
    pub(super) fn kept_bytes(&self) -> usize {
        self.kept.as_ref().map_or(0, |kept| kept.bytes.load(Ordering::Relaxed))
    }

    /// How many postings a block has.
    fn count(&self, block: usize) -> usize {
        (self.row.df as usize - block * BLOCK).min(BLOCK)
    }

    /// The number that a block's first gap counts from.
    fn base(&self, block: usize) -> Result<u32> {
        let Some(before) = block.checked_sub(1) else { return Ok(self.row.base) };
        let base = self.skips[before].last.checked_add(1);
        base.ok_or_else(|| damaged("a skip entry has an impossible chunk number"))
    }

    /// The bytes of a block: those that are kept, or read into `row`.
    fn block<'a>(&'a self, reader: &mut PostingReader<'_>, block: usize, row: &'a mut Row) -> Result<&'a [u8]> {
        if self.row.blocks == 0 {
            return Ok(&self.row.data[1..]);
        }
        if let Some(bytes) = self.kept.as_ref().and_then(|kept| kept.blocks[block].get()) {
            return Ok(bytes);
        }
        let number = self.skips[block].row;
        if row.number != Some(number) {
            if number >= self.rows {
                return Err(damaged("a skip entry leads out of its segment"));
            }
            row.number = None;
            reader.block_row(self.first_row + i64::from(number), &mut row.bytes)?;
            row.number = Some(number);
        }
        if let Some(kept) = &self.kept {
            self.keep(kept, block, &row.bytes)?;
        }
        self.bytes_in(&row.bytes, block)
    }

    fn bytes_in<'a>(&self, row: &'a [u8], block: usize) -> Result<&'a [u8]> {
        let skip = &self.skips[block];
        let start = usize::from(skip.offset);
        let bytes = row.get(start..start + skip.widths.block_bytes(self.count(block)));
        bytes.ok_or_else(|| damaged("a skip entry leads out of its row"))
    }

    /// Keeps a block that was read, and those after it in the same row.
    fn keep(&self, kept: &KeptBlocks, block: usize, row: &[u8]) -> Result<()> {
        let number = self.skips[block].row;
        for (at, _) in (block..).zip(&self.skips[block..]).take_while(|(_, skip)| skip.row == number) {
            let bytes = self.bytes_in(row, at)?;
            if kept.blocks[at].set(bytes.into()).is_ok() {
                kept.bytes.fetch_add(bytes.len(), Ordering::Relaxed);
                kept.all.fetch_add(bytes.len(), Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

/// What a skip entry would say of the one block of a list that stands in its row.
fn inline_skip(row: &TermRow, limit: u32) -> Result<Skip> {
    let (&widths, block) = row.data.split_first().ok_or_else(|| damaged("a list without bytes"))?;
    let widths = Widths::from_bits(widths);
    let count = row.df as usize;
    if block.len() != widths.block_bytes(count) {
        return Err(damaged(format_args!("an inline list of {count} postings in {} bytes", block.len())));
    }
    let (mut chunks, mut tfs) = ([0; BLOCK], [0; BLOCK]);
    decode_block(block, widths, row.base, limit, &mut chunks[..count], &mut tfs[..count])?;
    Ok(Skip { last: chunks[count - 1], row: 0, offset: 0, widths, impact: row.max_impact })
}

/// A position in one list. It only moves forward.
pub(crate) struct Cursor {
    list: Arc<List>,
    /// The block that bounds are read from: its last chunk is not below where they were last asked for.
    shallow: usize,
    /// The decoded block; the number of blocks once exhausted.
    block: usize,
    chunks: [u32; BLOCK],
    tfs: [u32; BLOCK],
    count: usize,
    position: usize,
    row: Row,
}

impl Cursor {
    /// A cursor on the first posting of the list in this row.
    ///
    /// # Errors
    /// As [`List::new`], and where its first block is damaged.
    pub(crate) fn open(reader: &mut PostingReader<'_>, segment: &SegmentRow, row: TermRow) -> Result<Self> {
        Self::over(reader, Arc::new(List::new(segment, row)?))
    }

    /// A cursor on the first posting of a list.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] where the first block is damaged.
    pub(crate) fn over(reader: &mut PostingReader<'_>, list: Arc<List>) -> Result<Self> {
        let mut cursor = Self {
            list,
            shallow: 0,
            block: 0,
            chunks: [END; BLOCK],
            tfs: [0; BLOCK],
            count: 0,
            position: 0,
            row: Row::default(),
        };
        cursor.decode(reader, 0)?;
        Ok(cursor)
    }

    /// How many postings the list has, dead ones among them.
    pub(crate) fn df(&self) -> u32 {
        self.list.df()
    }

    /// The chunk under the cursor, or [`END`].
    #[inline]
    pub(crate) fn chunk(&self) -> u32 {
        if self.position < self.count { self.chunks[self.position] } else { END }
    }

    /// The frequency under the cursor, which is not at its end.
    #[inline]
    pub(crate) fn tf(&self) -> u32 {
        self.tfs[self.position]
    }

    /// The impact of the block under the cursor; 0 at the end.
    #[inline]
    pub(crate) fn impact(&self) -> u16 {
        self.list.skips.get(self.block).map_or(0, |skip| skip.impact)
    }

    /// Goes to the next posting and gives its chunk.
    #[inline]
    pub(crate) fn next(&mut self, reader: &mut PostingReader<'_>) -> Result<u32> {
        self.position += 1;
        if self.position >= self.count && self.block < self.list.skips.len() {
            self.decode(reader, self.block + 1)?;
        }
        Ok(self.chunk())
    }

    /// Goes to the first posting whose chunk is not below `target` and gives its chunk.
    #[inline]
    pub(crate) fn seek(&mut self, reader: &mut PostingReader<'_>, target: u32) -> Result<u32> {
        let here = self.chunk();
        if here >= target { Ok(here) } else { self.seek_ahead(reader, target) }
    }

    fn seek_ahead(&mut self, reader: &mut PostingReader<'_>, target: u32) -> Result<u32> {
        if self.list.skips[self.block].last < target {
            let next = self.block_of(self.block + 1, target);
            self.decode(reader, next)?;
            if self.count == 0 {
                return Ok(END);
            }
        }
        // The block's last chunk is not below the target, so this ends inside it.
        let rest = &self.chunks[self.position..self.count];
        let ahead = if rest[rest.len().min(8) - 1] >= target {
            rest.iter().position(|&chunk| chunk >= target).unwrap_or(0)
        } else {
            rest.partition_point(|&chunk| chunk < target)
        };
        self.position += ahead;
        Ok(self.chunk())
    }

    /// The last chunk of the block that holds the first posting not below `chunk`; [`END`] where there is none. What
    /// this is asked for only grows.
    #[inline]
    pub(crate) fn block_end(&mut self, chunk: u32) -> u32 {
        if self.list.skips.get(self.shallow).is_some_and(|skip| skip.last < chunk) {
            self.shallow = self.block_of(self.shallow + 1, chunk);
        }
        self.list.skips.get(self.shallow).map_or(END, |skip| skip.last)
    }

    /// The largest impact of the blocks that can have postings from `first` to `last`; what `first` is only grows.
    #[inline]
    pub(crate) fn impact_within(&mut self, first: u32, last: u32) -> u16 {
        if self.block_end(first) == END {
            return 0;
        }
        if self.shallow == 0 && self.list.row.base > last
            || self.shallow > 0 && self.list.skips[self.shallow - 1].last >= last
        {
            return 0;
        }
        let mut impact = 0;
        for skip in &self.list.skips[self.shallow..] {
            impact = impact.max(skip.impact);
            if skip.last >= last {
                break;
            }
        }
        impact
    }

    /// The last chunk of the block that holds the first posting not below `chunk`, and the block's impact; [`END`] and 0
    /// where there is none. What this is asked for only grows.
    #[inline]
    pub(crate) fn block_bound(&mut self, chunk: u32) -> (u32, u16) {
        let end = self.block_end(chunk);
        (end, self.list.skips.get(self.shallow).map_or(0, |skip| skip.impact))
    }

    /// The first block from `from` on whose last chunk is not below `target`.
    fn block_of(&self, from: usize, target: u32) -> usize {
        let rest = &self.list.skips[from.min(self.list.skips.len())..];
        let mut reach = 1;
        while reach < rest.len() && rest[reach].last < target {
            reach *= 2;
        }
        let near = &rest[..rest.len().min(reach + 1)];
        from + near.partition_point(|skip| skip.last < target)
    }

    /// Decodes a block and stands on its first posting; past the last block the cursor is exhausted.
    fn decode(&mut self, reader: &mut PostingReader<'_>, block: usize) -> Result<()> {
        let Self { list, chunks, tfs, row, .. } = self;
        (self.block, self.position, self.count) = (block.min(list.skips.len()), 0, 0);
        let Some(&skip) = list.skips.get(block) else { return Ok(()) };
        let count = list.count(block);
        let bytes = list.block(reader, block, row)?;
        let base = list.base(block)?;
        decode_block(bytes, skip.widths, base, list.limit, &mut chunks[..count], &mut tfs[..count])?;
        if chunks[count - 1] != skip.last {
            return Err(damaged("a block does not end where its skip entry says"));
        }
        self.count = count;
        Ok(())
    }
}

//! Reading posting lists: forward through one list, block by block, with jumps by its skip entries.

use super::encode::{BLOCK, SKIP_BYTES, Skip, Widths, decode_block};
use crate::error::Result;
use crate::store::postings::{PostingReader, SegmentRow, TermRow, damaged};

/// The chunk number of an exhausted cursor: above all others.
pub(crate) const END: u32 = u32::MAX;

/// A position in one list. It only moves forward.
pub(crate) struct Cursor {
    df: u32,
    base: u32,
    limit: u32,
    first_row: i64,
    rows: u32,
    skips: Vec<Skip>,
    /// The block that bounds are read from: its last chunk is not below where they were last asked for.
    shallow: usize,
    /// The decoded block; `skips.len()` once exhausted.
    block: usize,
    chunks: [u32; BLOCK],
    tfs: [u32; BLOCK],
    count: usize,
    position: usize,
    /// The row of `posting_blocks` numbered `row`.
    raw: Vec<u8>,
    row: Option<u32>,
}

impl Cursor {
    /// A cursor on the first posting of a list.
    pub(crate) fn open(reader: &mut PostingReader<'_>, segment: &SegmentRow, list: &TermRow) -> Result<Self> {
        let blocks = if list.blocks == 0 { usize::from(list.df > 0) } else { list.blocks as usize };
        if blocks != (list.df as usize).div_ceil(BLOCK) || list.df > segment.chunks {
            return Err(damaged(format_args!("a list of {} postings in {blocks} blocks", list.df)));
        }
        let mut cursor = Self {
            df: list.df,
            base: list.base,
            limit: segment.chunks,
            first_row: segment.first_row,
            rows: segment.rows,
            skips: Vec::new(),
            shallow: 0,
            block: 0,
            chunks: [END; BLOCK],
            tfs: [0; BLOCK],
            count: 0,
            position: 0,
            raw: Vec::new(),
            row: None,
        };
        if list.blocks > 0 {
            cursor.skips = list.data.as_chunks::<SKIP_BYTES>().0.iter().map(Skip::read).collect();
            if !cursor.skips.is_sorted_by(|a, b| a.last < b.last) {
                return Err(damaged("the skip entries of a list do not ascend"));
            }
            cursor.decode(reader, 0)?;
        } else if let Some((&widths, block)) = list.data.split_first()
            && list.df > 0
        {
            let widths = Widths::from_bits(widths);
            let count = list.df as usize;
            if block.len() != widths.block_bytes(count) {
                return Err(damaged(format_args!("an inline list of {count} postings in {} bytes", block.len())));
            }
            let (chunks, tfs) = (&mut cursor.chunks[..count], &mut cursor.tfs[..count]);
            decode_block(block, widths, list.base, cursor.limit, chunks, tfs)?;
            let end = cursor.chunks[count - 1];
            cursor.skips.push(Skip { last: end, row: 0, offset: 0, widths, impact: list.max_impact });
            cursor.count = count;
        } else if list.df > 0 {
            return Err(damaged("a list without bytes"));
        }
        Ok(cursor)
    }

    /// How many postings the list has, dead ones among them.
    pub(crate) fn df(&self) -> u32 {
        self.df
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
        self.skips.get(self.block).map_or(0, |skip| skip.impact)
    }

    /// Goes to the next posting and gives its chunk.
    #[inline]
    pub(crate) fn next(&mut self, reader: &mut PostingReader<'_>) -> Result<u32> {
        self.position += 1;
        if self.position >= self.count && self.block < self.skips.len() {
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
        if self.skips[self.block].last < target {
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
        if self.skips.get(self.shallow).is_some_and(|skip| skip.last < chunk) {
            self.shallow = self.block_of(self.shallow + 1, chunk);
        }
        self.skips.get(self.shallow).map_or(END, |skip| skip.last)
    }

    /// The largest impact of the blocks that can have postings from `first` to `last`; what `first` is only grows.
    #[inline]
    pub(crate) fn impact_within(&mut self, first: u32, last: u32) -> u16 {
        if self.block_end(first) == END {
            return 0;
        }
        if self.shallow == 0 && self.base > last || self.shallow > 0 && self.skips[self.shallow - 1].last >= last {
            return 0;
        }
        let mut impact = 0;
        for skip in &self.skips[self.shallow..] {
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
        (end, self.skips.get(self.shallow).map_or(0, |skip| skip.impact))
    }

    /// The first block from `from` on whose last chunk is not below `target`.
    fn block_of(&self, from: usize, target: u32) -> usize {
        let rest = &self.skips[from.min(self.skips.len())..];
        let mut reach = 1;
        while reach < rest.len() && rest[reach].last < target {
            reach *= 2;
        }
        let near = &rest[..rest.len().min(reach + 1)];
        from + near.partition_point(|skip| skip.last < target)
    }

    /// Decodes a block and stands on its first posting; past the last block the cursor is exhausted.
    fn decode(&mut self, reader: &mut PostingReader<'_>, block: usize) -> Result<()> {
        (self.block, self.position, self.count) = (block, 0, 0);
        let Some(&skip) = self.skips.get(block) else {
            self.block = self.skips.len();
            return Ok(());
        };
        if self.row != Some(skip.row) {
            if skip.row >= self.rows {
                return Err(damaged("a skip entry leads out of its segment"));
            }
            self.row = None;
            reader.block_row(self.first_row + i64::from(skip.row), &mut self.raw)?;
            self.row = Some(skip.row);
        }
        let count = (self.df as usize - block * BLOCK).min(BLOCK);
        let start = usize::from(skip.offset);
        let bytes = self.raw.get(start..start + skip.widths.block_bytes(count));
        let bytes = bytes.ok_or_else(|| damaged("a skip entry leads out of its row"))?;
        let base = match block.checked_sub(1) {
            None => self.base,
            Some(before) => {
                let last = self.skips[before].last;
                last.checked_add(1).ok_or_else(|| damaged("a skip entry has an impossible chunk number"))?
            }
        };
        decode_block(bytes, skip.widths, base, self.limit, &mut self.chunks[..count], &mut self.tfs[..count])?;
        if self.chunks[count - 1] != skip.last {
            return Err(damaged("a block does not end where its skip entry says"));
        }
        self.count = count;
        Ok(())
    }
}

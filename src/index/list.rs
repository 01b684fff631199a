//! Writing posting lists: postings go in by term, rows of `posting_blocks` and one row of `terms` come out.

use super::encode::{BLOCK, BLOCK_ROW_BYTES, INLINE_BYTES, SKIP_BYTES, Skip, Widths, encode_block};
use super::lengths::Lengths;
use super::score::{Formula, impact, saturation};
use crate::error::{Error, Result};
use crate::store::postings::TermRow;

/// Postings of a frequency below this are common enough to be weighed by their shortest chunk alone.
const COMMON_TFS: usize = 8;
const NONE: u32 = u32::MAX;

/// The largest saturation of some postings. Of those of one frequency the one in the shortest chunk saturates most.
struct Saturations {
    /// The length of the shortest chunk for each common frequency; [`NONE`] where there is no such posting.
    shortest: [u32; COMMON_TFS],
    /// The largest saturation of all other postings.
    others: f64,
}

impl Saturations {
    fn new() -> Self {
        Self { shortest: [NONE; COMMON_TFS], others: 0.0 }
    }

    #[inline]
    fn add(&mut self, formula: Formula, tf: u32, length: u16) {
        match self.shortest.get_mut(tf as usize) {
            Some(shortest) => *shortest = (*shortest).min(length.into()),
            None => self.others = self.others.max(saturation(tf, formula.norm(length))),
        }
    }

    /// The largest one; begins anew.
    fn take_max(&mut self, formula: Formula) -> f64 {
        let Self { shortest, others } = std::mem::replace(self, Self::new());
        let common = (0..).zip(shortest).filter_map(|(tf, length)| Some((tf, u16::try_from(length).ok()?)));
        common.map(|(tf, length)| saturation(tf, formula.norm(length))).fold(others, f64::max)
    }
}

/// Where the finished rows of a segment go.
pub(crate) trait Rows {
    /// Takes a term's row.
    fn term(&mut self, segment: i64, term: &str, row: &mut TermRow) -> Result<()>;
    /// Takes a row of blocks.
    fn blocks(&mut self, block_row: i64, data: &[u8]) -> Result<()>;
}

/// Writes the lists of one segment. Blocks of one term after another fill the rows of `posting_blocks`.
pub(crate) struct ListWriter<'l> {
    segment: i64,
    first_row: i64,
    formula: Formula,
    lengths: &'l Lengths,
    row: Vec<u8>,
    rows: u32,
    chunks: Vec<u32>,
    tfs: Vec<u32>,
    block: Vec<u8>,
    /// The number that the next block's first gap counts from.
    base: u32,
    saturations: Saturations,
    list: TermRow,
}

impl<'l> ListWriter<'l> {
    /// A writer for a segment whose rows start at `first_row` and whose chunks have these lengths.
    pub(crate) fn new(segment: i64, first_row: i64, formula: Formula, lengths: &'l Lengths) -> Self {
        Self {
            segment,
            first_row,
            formula,
            lengths,
            row: Vec::with_capacity(BLOCK_ROW_BYTES),
            rows: 0,
            chunks: Vec::with_capacity(BLOCK),
            tfs: Vec::with_capacity(BLOCK),
            block: Vec::with_capacity(BLOCK * 8),
            base: 0,
            saturations: Saturations::new(),
            list: TermRow::default(),
        }
    }

    /// Adds a posting of the current term, in ascending order of chunks. A dead chunk (length 0) has no posting:
    /// `false` says that it was dropped.
    #[inline]
    pub(crate) fn push(&mut self, out: &mut impl Rows, chunk: u32, tf: u32) -> Result<bool> {
        let length = self.lengths.loaded(chunk);
        if length == 0 {
            return Ok(false);
        }
        if self.chunks.len() == BLOCK {
            self.flush_block(out)?;
        }
        if self.list.df == 0 {
            self.list.base = chunk;
            self.base = chunk;
        }
        self.list.df += 1;
        self.chunks.push(chunk);
        self.tfs.push(tf);
        self.saturations.add(self.formula, tf, length);
        Ok(true)
    }

    /// Ends the current term, of which `dead` postings of older segments died, and writes its row, if it has any
    /// business being there.
    pub(crate) fn finish_term(&mut self, out: &mut impl Rows, term: &str, dead: u64) -> Result<()> {
        self.list.dead = dead;
        if self.list.df > 0 && self.list.blocks == 0 {
            self.list.data.push(0);
            let widths = encode_block(self.base, &self.chunks, &self.tfs, &mut self.list.data);
            if self.list.data.len() <= INLINE_BYTES {
                self.list.data[0] = widths.bits();
                self.list.max_impact = impact(self.saturations.take_max(self.formula));
                self.chunks.clear();
                self.tfs.clear();
            } else {
                self.list.data.clear();
            }
        }
        if !self.chunks.is_empty() {
            self.flush_block(out)?;
        }
        if self.list.df > 0 || dead > 0 {
            out.term(self.segment, term, &mut self.list)?;
        }
        self.list.data.clear();
        self.list = TermRow { data: std::mem::take(&mut self.list.data), ..TermRow::default() };
        Ok(())
    }

    /// Ends the segment and says how many rows of `posting_blocks` it has.
    pub(crate) fn finish(mut self, out: &mut impl Rows) -> Result<u32> {
        if !self.row.is_empty() {
            self.flush_row(out)?;
        }
        Ok(self.rows)
    }

    fn flush_block(&mut self, out: &mut impl Rows) -> Result<()> {
        self.block.clear();
        let widths: Widths = encode_block(self.base, &self.chunks, &self.tfs, &mut self.block);
        if self.row.len() + self.block.len() > BLOCK_ROW_BYTES {
            self.flush_row(out)?;
        }
        let last = self.chunks[self.chunks.len() - 1];
        let impact = impact(self.saturations.take_max(self.formula));
        let offset = u16::try_from(self.row.len()).expect("a row has at most 4,040 bytes");
        Skip { last, row: self.rows, offset, widths, impact }.write(&mut self.list.data);
        debug_assert_eq!(self.list.data.len() % SKIP_BYTES, 0);
        self.row.extend_from_slice(&self.block);
        self.list.blocks += 1;
        self.list.max_impact = self.list.max_impact.max(impact);
        self.base = last + 1;
        self.chunks.clear();
        self.tfs.clear();
        Ok(())
    }

    fn flush_row(&mut self, out: &mut impl Rows) -> Result<()> {
        out.blocks(self.first_row + i64::from(self.rows), &self.row)?;
        self.row.clear();
        self.rows += 1;
        if self.rows >= 1 << 24 {
            return Err(Error::Invalid { message: "a segment of the index would be larger than 64 GB".into() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Bm25Policy;

    proptest! {
        #[test]
        fn the_shortest_chunks_give_the_largest_saturation(
            postings in proptest::collection::vec((1..12u32, 1..=u16::MAX), 0..40),
            k1 in prop_oneof![Just(0.0), 0.0..10.0f64], b in 0.0..=1.0f64, average in 1.0..60_000.0f64,
        ) {
            let formula = Formula::new(&Bm25Policy { k1, b }, average);
            let mut saturations = Saturations::new();
            for &(tf, length) in &postings {
                saturations.add(formula, tf, length);
            }
            let each = postings.iter().map(|&(tf, length)| saturation(tf, formula.norm(length)));
            prop_assert_eq!(saturations.take_max(formula).to_bits(), each.fold(0.0, f64::max).to_bits());
            prop_assert_eq!(saturations.take_max(formula).to_bits(), 0.0_f64.to_bits());
        }
    }
}

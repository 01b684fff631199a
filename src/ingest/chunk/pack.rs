//! Splits a section that is too long for one chunk, at the best borders it has.
//!
//! First the section is cut into *pieces*: a block that fits in `max_chars` is one piece whatever it holds; a longer
//! one is cut into the blocks inside it; where there are none, into runs between blank lines; and a run that is still
//! too long into its lines. Then pieces are packed greedily into chunks of at most `target_chars`. A heading takes
//! its first piece along up to `max_chars`, and stands alone where that does not fit.

use std::ops::{Range, RangeInclusive};

use super::lines::LineTable;
use super::outline::Block;
use crate::model::ChunkPolicy;

/// Lines of a table, first to last; neither is blank.
type Lines = RangeInclusive<usize>;

/// Gives the lines of each chunk of the section in `table` to `each`. The first `heading_lines` lines are its
/// heading; `blocks` are the blocks behind it.
pub(super) fn pack(
    table: &LineTable,
    heading_lines: usize,
    blocks: &[Block],
    policy: &ChunkPolicy,
    mut each: impl FnMut(Lines),
) {
    let max = policy.max_chars as usize;
    let target = (policy.target_chars as usize).min(max);
    let mut pieces = pieces(table, heading_lines, blocks, max).into_iter();
    let Some((mut first, mut last)) = pieces.next().map(Lines::into_inner) else { return };
    for piece in pieces {
        let (start, end) = piece.into_inner();
        let limit = if last < heading_lines { max } else { target };
        if table.chars(first, end) > limit {
            each(first..=last);
            // The heading is not repeated, and neither is the whole of a chunk.
            let repeatable = (first + 1).max(heading_lines)..last + 1;
            first = overlap_start(table, repeatable, end, policy).unwrap_or(start);
        }
        last = end;
    }
    each(first..=last);
}

/// The first of the `repeatable` lines, which end with the last chunk's end, from which on they are at most
/// `overlap_chars` and fit in `max_chars` with a next chunk that ends with the line `end`.
fn overlap_start(table: &LineTable, repeatable: Range<usize>, end: usize, policy: &ChunkPolicy) -> Option<usize> {
    let too_early = |line: usize| {
        table.chars(line, repeatable.end - 1) > policy.overlap_chars as usize
            || table.chars(line, end) > policy.max_chars as usize
    };
    let (mut low, mut high) = (repeatable.start, repeatable.end);
    while low < high {
        let middle = low.midpoint(high);
        if too_early(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    (low..repeatable.end).find(|&line| !table.is_blank(line))
}

/// The pieces of a section, in order: every line that is not blank is in exactly one.
fn pieces(table: &LineTable, heading_lines: usize, blocks: &[Block], max: usize) -> Vec<Lines> {
    let mut cut = Cutter { table, max, next: 0, pieces: Vec::new() };
    cut.through(heading_lines);
    let mut blocks = blocks.iter().peekable();
    while let Some(block) = blocks.next() {
        let last = table.last_visible(table.line_of(block.bytes.end.saturating_sub(1).max(block.bytes.start)));
        // Lines that are in no block, such as link definitions, or the text of an item that is being cut.
        cut.through(table.line_of(block.bytes.start));
        if cut.whole(last) {
            while blocks.next_if(|inner| inner.depth > block.depth).is_some() {}
        } else if blocks.peek().is_none_or(|next| next.depth <= block.depth) {
            cut.through(last + 1);
        }
    }
    cut.through(table.len());
    cut.pieces
}

struct Cutter<'a> {
    table: &'a LineTable,
    max: usize,
    /// The first line that is in no piece yet.
    next: usize,
    pieces: Vec<Lines>,
}

impl Cutter<'_> {
    /// Makes one piece of the lines up to and with `last` if they fit; true where nothing of them is left.
    fn whole(&mut self, last: usize) -> bool {
        self.skip_blank(last + 1);
        if self.next > last {
            return true;
        }
        let fits = self.table.chars(self.next, last) <= self.max;
        if fits {
            self.push(last);
        }
        fits
    }

    /// Makes pieces of the lines before `end`: runs between blank lines, or lines where a run does not fit.
    fn through(&mut self, end: usize) {
        self.skip_blank(end);
        while self.next < end {
            let blank = (self.next..end).find(|&line| self.table.is_blank(line)).unwrap_or(end);
            if !self.whole(blank - 1) {
                while self.next < blank {
                    self.push(self.next);
                }
            }
            self.skip_blank(end);
        }
    }

    fn skip_blank(&mut self, end: usize) {
        while self.next < end && self.table.is_blank(self.next) {
            self.next += 1;
        }
    }

    fn push(&mut self, last: usize) {
        self.pieces.push(self.next..=last);
        self.next = last + 1;
    }
}

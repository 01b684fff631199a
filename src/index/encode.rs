//! The codec of posting lists. Pure: bytes to numbers and back; knows no SQL and no scores.
//!
//! A *posting* is a chunk number (counted from the segment's first chunk) and a term frequency (`tf`, at least 1).
//! A *block* is up to [`BLOCK`] postings in ascending order: first the gaps, then the frequencies, each as
//! big-endian integers of one width for the whole block, so that `hex()` shows them as they are:
//!
//! ```text
//! gap[0] … gap[count − 1]   1 to 4 bytes each: chunk − previous chunk − 1; the first: chunk − the block's base
//! tf[0] … tf[count − 1]     0, 1, 2 or 4 bytes each; width 0 means that all are 1
//! ```
//!
//! A *list* is either *inline* (one block, after one byte with its widths), or a row of *skip entries* of
//! [`SKIP_BYTES`] bytes, one for each block, in `terms.data`:
//!
//! ```text
//! 0..4   last chunk of the block
//! 4..7   row of posting_blocks, counted from the segment's first
//! 7..9   place in that row, in bytes (high 12 bits) and the widths (low 4 bits: tf code × 4 + gap width − 1)
//! 9..11  impact: see index::score
//! ```
//!
//! The base of a list's first block is `terms.base`; of another, the last chunk before it plus 1. All blocks but the
//! last of a list are full. Gaps less one keep lists strictly ascending whatever the bytes are.

use crate::error::Result;
use crate::store::postings::damaged;
pub(crate) use crate::store::postings::{BLOCK_ROW_BYTES, SKIP_BYTES};

/// The most postings in a block.
pub(crate) const BLOCK: usize = 128;
/// A list of one block stands inline if it has at most this many bytes.
pub(crate) const INLINE_BYTES: usize = 200;

/// The widths of one block, in four bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Widths(u8);

impl Widths {
    const TF_BYTES: [usize; 4] = [0, 1, 2, 4];

    /// Those for gaps and frequencies of at most these bits.
    fn fitting(gaps: u32, tfs: u32) -> Self {
        let gap = match gaps {
            0..=0xFF => 0,
            0x100..=0xFFFF => 1,
            0x1_0000..=0xFF_FFFF => 2,
            _ => 3,
        };
        let tf = match tfs {
            0..=1 => 0,
            2..=0xFF => 1,
            0x100..=0xFFFF => 2,
            _ => 3,
        };
        Self(tf << 2 | gap)
    }

    /// The widths that four bits stand for.
    pub(crate) fn from_bits(bits: u8) -> Self {
        Self(bits & 0xF)
    }

    /// The four bits.
    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    /// Bytes of one gap.
    pub(crate) fn gap(self) -> usize {
        usize::from(self.0 & 3) + 1
    }

    /// Bytes of one frequency.
    pub(crate) fn tf(self) -> usize {
        Self::TF_BYTES[usize::from(self.0 >> 2)]
    }

    /// Bytes of a block of `count` postings.
    pub(crate) fn block_bytes(self, count: usize) -> usize {
        count * (self.gap() + self.tf())
    }
}

/// Where a block stands and what it can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Skip {
    /// The block's last chunk.
    pub last: u32,
    /// The row of `posting_blocks`, counted from the segment's first; below 2^24.
    pub row: u32,
    /// The block's first byte in that row; below 2^12.
    pub offset: u16,
    /// The block's widths.
    pub widths: Widths,
    /// The block's largest impact, rounded up.
    pub impact: u16,
}

impl Skip {
    /// Appends the entry's bytes.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.last.to_be_bytes());
        out.extend_from_slice(&self.row.to_be_bytes()[1..]);
        out.extend_from_slice(&(self.offset << 4 | u16::from(self.widths.0)).to_be_bytes());
        out.extend_from_slice(&self.impact.to_be_bytes());
    }

    /// The entry in these bytes.
    pub(crate) fn read(bytes: &[u8; SKIP_BYTES]) -> Self {
        let place = u16::from_be_bytes([bytes[7], bytes[8]]);
        Self {
            last: u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            row: u32::from_be_bytes([0, bytes[4], bytes[5], bytes[6]]),
            offset: place >> 4,
            widths: Widths::from_bits(bytes[8]),
            impact: u16::from_be_bytes([bytes[9], bytes[10]]),
        }
    }
}

/// Appends a block and gives its widths. `chunks` ascends strictly from `base` up; `tfs` are at least 1.
pub(crate) fn encode_block(base: u32, chunks: &[u32], tfs: &[u32], out: &mut Vec<u8>) -> Widths {
    debug_assert!(chunks.len() == tfs.len() && (1..=BLOCK).contains(&chunks.len()));
    let mut gaps = [0; BLOCK];
    let gaps = &mut gaps[..chunks.len()];
    let mut next = base;
    for (gap, &chunk) in gaps.iter_mut().zip(chunks) {
        *gap = chunk - next;
        next = chunk + 1;
    }
    // The union of some numbers is as wide as the widest of them.
    let union = |numbers: &[u32]| numbers.iter().fold(0, |all, number| all | number);
    let widths = Widths::fitting(union(gaps), union(tfs));
    out.reserve(widths.block_bytes(chunks.len()));
    put_numbers(gaps, widths.gap(), out);
    put_numbers(tfs, widths.tf(), out);
    widths
}

fn put_numbers(numbers: &[u32], width: usize, out: &mut Vec<u8>) {
    match width {
        0 => {}
        1 => put_wide::<1>(numbers, out),
        2 => put_wide::<2>(numbers, out),
        3 => put_wide::<3>(numbers, out),
        _ => put_wide::<4>(numbers, out),
    }
}

fn put_wide<const WIDTH: usize>(numbers: &[u32], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + WIDTH * numbers.len(), 0);
    for (bytes, number) in out[start..].as_chunks_mut::<WIDTH>().0.iter_mut().zip(numbers) {
        bytes.copy_from_slice(&number.to_be_bytes()[4 - WIDTH..]);
    }
}

/// Decodes a block (`block` is exactly its bytes): its chunk numbers into `chunks` and its frequencies into `tfs`, which
/// are as long as it has postings. Checks that the numbers stay below `limit` and that no frequency is 0.
pub(crate) fn decode_block(
    block: &[u8],
    widths: Widths,
    base: u32,
    limit: u32,
    chunks: &mut [u32],
    tfs: &mut [u32],
) -> Result<()> {
    let (gaps, frequencies) = block.split_at(chunks.len() * widths.gap());
    // The numbers ascend: checking the last one is enough.
    let next = match widths.gap() {
        1 => decode_gaps::<1>(gaps, base, chunks),
        2 => decode_gaps::<2>(gaps, base, chunks),
        3 => decode_gaps::<3>(gaps, base, chunks),
        _ => decode_gaps::<4>(gaps, base, chunks),
    };
    match widths.tf() {
        0 => tfs.fill(1),
        1 => get_wide::<1>(frequencies, tfs),
        2 => get_wide::<2>(frequencies, tfs),
        _ => get_wide::<4>(frequencies, tfs),
    }
    if next > u64::from(limit) || tfs.iter().fold(1, |least, &tf| least.min(tf)) == 0 {
        return Err(damaged("a block has an impossible chunk number or frequency"));
    }
    Ok(())
}

/// Puts the integers of one width into `numbers`.
#[inline]
fn get_wide<const WIDTH: usize>(bytes: &[u8], numbers: &mut [u32]) {
    for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks::<WIDTH>().0) {
        *number = bytes.iter().fold(0, |number, &byte| number << 8 | u32::from(byte));
    }
}

/// Gives the number after the last chunk, however large. Where that is not above a chunk's limit, all chunks are right.
fn decode_gaps<const WIDTH: usize>(gaps: &[u8], base: u32, chunks: &mut [u32]) -> u64 {
    get_wide::<WIDTH>(gaps, chunks);
    let all: u64 = chunks.iter().map(|&gap| u64::from(gap)).sum();
    let mut next = base;
    for chunk in &mut *chunks {
        *chunk = next.wrapping_add(*chunk);
        next = chunk.wrapping_add(1);
    }
    u64::from(base) + all + chunks.len() as u64
}

//! Chunk lengths: read on demand for a query, and changed page by page for a sync. A length of 0 means dead or not
//! indexed.

use crate::error::Result;
use crate::store::postings::{LENGTHS_PER_PAGE, PostingReader, PostingWriter, damaged};

type Page = [u16; LENGTHS_PER_PAGE];

/// The lengths of one segment's chunks, each page read when first asked for.
pub(crate) struct LengthCache {
    first_page: i64,
    /// Where the segment's first chunk stands in its page.
    offset: usize,
    pages: Vec<Option<Box<Page>>>,
}

impl LengthCache {
    /// No page read yet, for chunk numbers from `first_chunk`.
    pub(crate) fn new(first_chunk: i64) -> Self {
        let (first_page, offset) = place(first_chunk);
        Self { first_page, offset, pages: Vec::new() }
    }

    /// The length of a chunk, numbered from the segment's first.
    #[inline]
    pub(crate) fn get(&mut self, reader: &mut PostingReader<'_>, chunk: u32) -> Result<u16> {
        let at = self.offset + chunk as usize;
        let (page, slot) = (at / LENGTHS_PER_PAGE, at % LENGTHS_PER_PAGE);
        match self.pages.get(page) {
            Some(Some(lengths)) => Ok(lengths[slot]),
            _ => Ok(self.load(reader, page)?[slot]),
        }
    }

    #[cold]
    fn load(&mut self, reader: &mut PostingReader<'_>, page: usize) -> Result<&Page> {
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        let mut lengths = Box::new([0; LENGTHS_PER_PAGE]);
        reader.lengths(self.first_page + page as i64, &mut lengths)?;
        Ok(self.pages[page].insert(lengths))
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the remainder is below the page size")]
fn place(chunk_no: i64) -> (i64, usize) {
    let size = LENGTHS_PER_PAGE as i64;
    (chunk_no.div_euclid(size), chunk_no.rem_euclid(size) as usize)
}

/// The lengths of `chunks` chunks from `first_chunk` on, in one piece: two bytes for each.
pub(crate) fn read_range(reader: &mut PostingReader<'_>, first_chunk: i64, chunks: u32) -> Result<Vec<u16>> {
    let mut all = Vec::new();
    let mut page = [0; LENGTHS_PER_PAGE];
    let (mut number, mut offset) = place(first_chunk);
    while all.len() < chunks as usize {
        reader.lengths(number, &mut page)?;
        let wanted = (chunks as usize - all.len()).min(LENGTHS_PER_PAGE - offset);
        all.extend_from_slice(&page[offset..offset + wanted]);
        (number, offset) = (number + 1, 0);
    }
    Ok(all)
}

/// The first live chunk from `from` on, or `end`.
pub(crate) fn first_live(reader: &mut PostingReader<'_>, from: i64, end: i64) -> Result<i64> {
    let mut page = [0; LENGTHS_PER_PAGE];
    let (mut number, mut offset) = place(from);
    while number * (LENGTHS_PER_PAGE as i64) < end {
        reader.lengths(number, &mut page)?;
        if let Some(slot) = page[offset..].iter().position(|&length| length > 0) {
            return Ok(end.min(number * LENGTHS_PER_PAGE as i64 + (offset + slot) as i64));
        }
        (number, offset) = (number + 1, 0);
    }
    Ok(end)
}

/// Writes the lengths of new chunks from `first_chunk` on.
pub(crate) fn write_range(writer: &mut PostingWriter<'_>, first_chunk: i64, lengths: &[u16]) -> Result<()> {
    let mut page = [0; LENGTHS_PER_PAGE];
    let (mut number, mut offset) = place(first_chunk);
    let mut rest = lengths;
    while !rest.is_empty() {
        writer.reader.lengths(number, &mut page)?;
        let count = rest.len().min(LENGTHS_PER_PAGE - offset);
        let (now, later) = rest.split_at(count);
        page[offset..].fill(0);
        page[offset..offset + count].copy_from_slice(now);
        writer.put_lengths(number, &page)?;
        rest = later;
        (number, offset) = (number + 1, 0);
    }
    Ok(())
}

/// Marks chunks dead; they are given with the lengths they must have, in ascending order.
pub(crate) fn mark_dead(writer: &mut PostingWriter<'_>, dead: &[(i64, u16)]) -> Result<()> {
    let mut page = [0; LENGTHS_PER_PAGE];
    for group in dead.chunk_by(|a, b| place(a.0).0 == place(b.0).0) {
        let number = place(group[0].0).0;
        writer.reader.lengths(number, &mut page)?;
        for &(chunk_no, length) in group {
            let slot = &mut page[place(chunk_no).1];
            if *slot != length {
                return Err(damaged(format_args!("chunk {chunk_no} has length {slot}, its text has {length}")));
            }
            *slot = 0;
        }
        writer.put_lengths(number, &page)?;
    }
    Ok(())
}

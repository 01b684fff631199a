//! Chunk lengths: read on demand for a query, and changed page by page for a sync. A length of 0 means dead or not
//! indexed.

use crate::error::Result;
use crate::store::postings::{LENGTHS_PER_PAGE, PostingReader, PostingWriter, damaged};

type Page = [u16; LENGTHS_PER_PAGE];

/// The lengths of a range of chunks. Pages that are not there hold no live chunk.
pub(crate) struct Lengths {
    first_page: i64,
    /// Where the range's first chunk stands in its page.
    offset: usize,
    pages: Vec<Option<Box<Page>>>,
}

impl Lengths {
    /// Lengths from `first_chunk` on, each page to be read when [`Lengths::get`] first asks for it.
    pub(crate) fn on_demand(first_chunk: i64) -> Self {
        let (first_page, offset) = place(first_chunk);
        Self { first_page, offset, pages: Vec::new() }
    }

    /// The lengths of `chunks` chunks from `first_chunk` on, read now: two bytes for each, where there is a page.
    pub(crate) fn read(reader: &PostingReader<'_>, first_chunk: i64, chunks: u32) -> Result<Self> {
        let mut all = Self::on_demand(first_chunk);
        let last_page = place(first_chunk + i64::from(chunks)).0;
        reader.each_lengths(all.first_page, last_page, |page, lengths| {
            let index = usize::try_from(page - all.first_page).unwrap_or_default();
            all.pages.resize_with(index + 1, || None);
            all.pages[index] = Some(Box::new(*lengths));
            Ok(true)
        })?;
        Ok(all)
    }

    /// The length of a chunk, numbered from the range's first.
    #[inline]
    pub(crate) fn get(&mut self, reader: &mut PostingReader<'_>, chunk: u32) -> Result<u16> {
        let at = self.offset + chunk as usize;
        let (page, slot) = (at / LENGTHS_PER_PAGE, at % LENGTHS_PER_PAGE);
        match self.pages.get(page) {
            Some(Some(lengths)) => Ok(lengths[slot]),
            _ => Ok(self.load(reader, page)?[slot]),
        }
    }

    /// The same of lengths that were read.
    #[inline]
    pub(crate) fn loaded(&self, chunk: u32) -> u16 {
        let at = self.offset + chunk as usize;
        match self.pages.get(at / LENGTHS_PER_PAGE) {
            Some(Some(lengths)) => lengths[at % LENGTHS_PER_PAGE],
            _ => 0,
        }
    }

    /// How many chunks of the first `chunks` that were read are live, and the sum of their lengths.
    pub(crate) fn totals(&self, chunks: u32) -> (u64, u64) {
        let end = self.offset + chunks as usize;
        let (mut live, mut sum) = (0, 0);
        for (index, page) in self.pages.iter().enumerate() {
            let Some(page) = page else { continue };
            let start = if index == 0 { self.offset } else { 0 };
            let stop = end.saturating_sub(index * LENGTHS_PER_PAGE).min(LENGTHS_PER_PAGE);
            for &length in page.get(start..stop).unwrap_or_default() {
                live += u64::from(length > 0);
                sum += u64::from(length);
            }
        }
        (live, sum)
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

/// The first live chunk from `from` on, or `end`.
pub(crate) fn first_live(reader: &PostingReader<'_>, from: i64, end: i64) -> Result<i64> {
    let (first_page, offset) = place(from);
    let mut live = end;
    reader.each_lengths(first_page, place(end).0, |page, lengths| {
        let start = if page == first_page { offset } else { 0 };
        match lengths[start..].iter().position(|&length| length > 0) {
            Some(slot) => live = end.min(page * LENGTHS_PER_PAGE as i64 + (start + slot) as i64),
            None => return Ok(true),
        }
        Ok(false)
    })?;
    Ok(live)
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

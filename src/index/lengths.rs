//! Chunk lengths: read on demand for a query, and changed page by page for a sync. A length of 0 means dead or not
//! indexed.

use std::sync::Arc;

use super::kept::KeptLengths;
use crate::error::Result;
use crate::store::classes::{class_of, first_chunk};
use crate::store::postings::{LENGTHS_PER_PAGE, LengthsPage, PostingReader, PostingWriter, damaged};

const PAGE: i64 = signed(LENGTHS_PER_PAGE);
/// Pages that the numbers of one class fill. Those of each class begin with a page of their own, so that the reads of a
/// class do not depend on its number, which tells how many others there are.
const PAGES_OF_CLASS: i64 = (first_chunk(1) + PAGE - 1) / PAGE;
/// The most pages that are read beyond the one asked for, when a query asks for one after another.
const MOST_AHEAD: usize = 15;

/// What is known of a page.
#[derive(Clone)]
enum Page {
    Unread,
    /// It holds no live chunk and so has no row.
    Absent,
    /// Its bytes, in a place of their own: a list of them all would be copied as it grows.
    Read(Arc<LengthsPage>),
}

/// The lengths of a range of chunks.
pub(crate) struct Lengths {
    first_page: i64,
    /// Where the range's first chunk stands in its page.
    offset: usize,
    pages: Vec<Page>,
    /// The page after the last one read, and how many to read ahead if it is the next one asked for.
    expected: usize,
    ahead: usize,
    /// Where pages are kept from one search to the next.
    kept: Option<Arc<KeptLengths>>,
}

impl Lengths {
    /// Lengths from `first_chunk` on, each page to be read when [`Lengths::get`] first asks for it.
    pub(crate) fn on_demand(first_chunk: i64) -> Self {
        let (first_page, offset) = place(first_chunk);
        Self { first_page, offset, pages: Vec::new(), expected: 0, ahead: 0, kept: None }
    }

    /// The same; pages that are kept are not read.
    pub(super) fn kept(first_chunk: i64, kept: &Arc<KeptLengths>) -> Self {
        Self { kept: Some(Arc::clone(kept)), ..Self::on_demand(first_chunk) }
    }

    /// The lengths of `chunks` chunks from `first_chunk` on, read now: two bytes for each, where there is a page.
    pub(crate) fn read(reader: &mut PostingReader<'_>, first_chunk: i64, chunks: u32) -> Result<Self> {
        let mut all = Self::on_demand(first_chunk);
        all.read_pages(reader, 0, (all.offset + chunks as usize) / LENGTHS_PER_PAGE)?;
        Ok(all)
    }

    /// The length of a chunk, numbered from the range's first.
    #[inline]
    pub(crate) fn get(&mut self, reader: &mut PostingReader<'_>, chunk: u32) -> Result<u16> {
        let at = self.offset + chunk as usize;
        if let Some(Page::Read(page)) = self.pages.get(at / LENGTHS_PER_PAGE) {
            return Ok(length(page, at % LENGTHS_PER_PAGE));
        }
        self.read_and_get(reader, chunk)
    }

    #[cold]
    fn read_and_get(&mut self, reader: &mut PostingReader<'_>, chunk: u32) -> Result<u16> {
        let page = (self.offset + chunk as usize) / LENGTHS_PER_PAGE;
        if self.pages.get(page).is_none_or(|page| matches!(page, Page::Unread)) {
            self.load(reader, page)?;
        }
        Ok(self.loaded(chunk))
    }

    /// The same of a chunk whose page was read.
    #[inline]
    pub(crate) fn loaded(&self, chunk: u32) -> u16 {
        let at = self.offset + chunk as usize;
        match self.pages.get(at / LENGTHS_PER_PAGE) {
            Some(Page::Read(page)) => length(page, at % LENGTHS_PER_PAGE),
            _ => 0,
        }
    }

    /// How many chunks of the first `chunks` that were read are live, and the sum of their lengths.
    pub(crate) fn totals(&self, chunks: u32) -> (u64, u64) {
        let (mut live, mut sum) = (0, 0);
        let end = self.offset + chunks as usize;
        for (page, bytes) in self.pages.iter().enumerate() {
            let Page::Read(bytes) = bytes else { continue };
            let start = if page == 0 { self.offset } else { 0 };
            let stop = (end - end.min(page * LENGTHS_PER_PAGE)).min(LENGTHS_PER_PAGE);
            for length in bytes.as_chunks().0.get(start..stop).unwrap_or_default() {
                let length = u16::from_be_bytes(*length);
                live += u64::from(length > 0);
                sum += u64::from(length);
            }
        }
        (live, sum)
    }

    /// Reads a page, and some after it where the last ones were asked for in order: a range costs a fraction of the
    /// same rows one by one.
    fn load(&mut self, reader: &mut PostingReader<'_>, page: usize) -> Result<()> {
        self.ahead = if page == self.expected && page > 0 { (2 * self.ahead + 1).min(MOST_AHEAD) } else { 0 };
        self.expected = page + self.ahead + 1;
        self.read_pages(reader, page, page + self.ahead)
    }

    fn read_pages(&mut self, reader: &mut PostingReader<'_>, first: usize, last: usize) -> Result<()> {
        if self.pages.len() <= last {
            self.pages.resize(last + 1, Page::Unread);
        }
        self.pages[first..=last].fill(Page::Absent);
        let (first_page, pages) = (self.first_page, &mut self.pages);
        if let Some(kept) = &self.kept {
            let mut places = pages[first..=last].iter_mut();
            return kept.each_page(reader, first_page + signed(first), first_page + signed(last), |_, lengths| {
                if let (Some(place), Some(lengths)) = (places.next(), lengths) {
                    *place = Page::Read(lengths);
                }
            });
        }
        reader.each_lengths(first_page + signed(first), first_page + signed(last), |page, lengths| {
            if let Some(place) = usize::try_from(page - first_page).ok().and_then(|page| pages.get_mut(page)) {
                *place = Page::Read(Arc::new(*lengths));
            }
            true
        })
    }
}

/// The length at a place of a page.
#[inline]
fn length(page: &LengthsPage, place: usize) -> u16 {
    u16::from_be_bytes(page.as_chunks().0[place])
}

/// The page of a chunk, and its place in it.
#[expect(clippy::cast_sign_loss, reason = "the remainder of a number in its class is not negative")]
fn place(chunk_no: i64) -> (i64, usize) {
    let class_no = class_of(chunk_no);
    let local = chunk_no - first_chunk(class_no);
    (class_no * PAGES_OF_CLASS + local / PAGE, (local % PAGE) as usize)
}

/// The chunk at a place of a page.
const fn chunk_at(page: i64, slot: usize) -> i64 {
    first_chunk(page.div_euclid(PAGES_OF_CLASS)) + page.rem_euclid(PAGES_OF_CLASS) * PAGE + signed(slot)
}

#[expect(clippy::cast_possible_wrap, reason = "page numbers and places in pages are far below 2^63")]
const fn signed(place: usize) -> i64 {
    place as i64
}

/// The first live chunk from `from` on, or `end`.
pub(crate) fn first_live(reader: &mut PostingReader<'_>, from: i64, end: i64) -> Result<i64> {
    let (first_page, offset) = place(from);
    let mut live = end;
    reader.each_lengths(first_page, place((end - 1).max(from)).0, |page, lengths| {
        let start = if page == first_page { offset } else { 0 };
        let slot = lengths.as_chunks::<2>().0[start..].iter().position(|length| *length != [0, 0]);
        if let Some(slot) = slot {
            live = end.min(chunk_at(page, start + slot));
        }
        slot.is_none()
    })?;
    Ok(live)
}

/// Calls `each` with the numbers of the live chunks of a class, page by page, in ascending order.
pub(crate) fn for_each_live_page(
    reader: &mut PostingReader<'_>,
    class_no: i64,
    mut each: impl FnMut(&[i64]) -> Result<()>,
) -> Result<()> {
    let first = class_no * PAGES_OF_CLASS;
    let (mut live, mut outcome) = (Vec::with_capacity(LENGTHS_PER_PAGE), Ok(()));
    reader.each_lengths(first, first + PAGES_OF_CLASS - 1, |page, lengths| {
        live.clear();
        let slots = lengths.as_chunks::<2>().0.iter().enumerate().filter(|(_, length)| **length != [0, 0]);
        live.extend(slots.map(|(slot, _)| chunk_at(page, slot)));
        outcome = each(&live);
        outcome.is_ok()
    })?;
    outcome
}

/// Writes the lengths of new chunks from `first_chunk` on.
pub(crate) fn write_range(writer: &mut PostingWriter<'_>, first_chunk: i64, lengths: &[u16]) -> Result<()> {
    let (mut number, mut offset) = place(first_chunk);
    let mut rest = lengths;
    while !rest.is_empty() {
        let mut page = writer.reader.lengths(number)?;
        let (now, later) = rest.split_at(rest.len().min(LENGTHS_PER_PAGE - offset));
        page[2 * offset..].fill(0);
        for (bytes, length) in page[2 * offset..].as_chunks_mut().0.iter_mut().zip(now) {
            *bytes = length.to_be_bytes();
        }
        writer.put_lengths(number, &page)?;
        rest = later;
        (number, offset) = (number + 1, 0);
    }
    Ok(())
}

/// Removes the pages of all chunks of a class from `first_chunk` up to `end`, which is not among them.
pub(crate) fn forget(writer: &mut PostingWriter<'_>, first_chunk: i64, end: i64) -> Result<()> {
    writer.delete_lengths(place(first_chunk).0, place((end - 1).max(first_chunk)).0)
}

/// Marks chunks dead; they are given with the lengths they must have, in ascending order.
pub(crate) fn mark_dead(writer: &mut PostingWriter<'_>, dead: &[(i64, u16)]) -> Result<()> {
    for group in dead.chunk_by(|a, b| place(a.0).0 == place(b.0).0) {
        let number = place(group[0].0).0;
        let mut page: LengthsPage = writer.reader.lengths(number)?;
        for &(chunk_no, length) in group {
            let kept = &mut page.as_chunks_mut::<2>().0[place(chunk_no).1];
            if *kept != length.to_be_bytes() {
                let kept = u16::from_be_bytes(*kept);
                return Err(damaged(format_args!("chunk {chunk_no} has length {kept}, its text has {length}")));
            }
            *kept = [0; 2];
        }
        writer.put_lengths(number, &page)?;
    }
    Ok(())
}

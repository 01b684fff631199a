//! What one worker hands to the transaction: the postings of a slice of new chunks, sorted by term.
//!
//! A run is bytes that can wait in a temporary file (numbers are LEB128 varints unless said otherwise):
//!
//! ```text
//! chunks · terms · a little-endian u16 length for each chunk
//! for each term in byte order: bytes of the term · the term · df · df × posting
//! posting: chunk gap × 4 + the smaller of tf − 1 and 3 · where that is 3: tf
//! ```
//!
//! A gap is the chunk number less the one before it (the first: the number itself). Pure but for the reader and
//! writer it is given.

use std::io::{self, Read};

use super::intern::in_term_order;
use crate::error::{Error, Result};

/// A length as the index keeps it: two bytes, larger ones saturate. It is the only length that any sum or score
/// uses, so that an incremental index equals a fresh one.
pub(crate) fn kept_length(length: u32) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

/// From this frequency on a posting has a number of its own for it.
const LARGE_TF: u32 = 4;

/// Collects the postings of a slice of chunks. Terms come as numbers that the caller gave them.
#[derive(Default)]
pub(crate) struct RunBuilder {
    /// Term and frequency, chunk after chunk.
    postings: Vec<(u32, u32)>,
    /// Each chunk with postings, and where its postings end.
    ends: Vec<(u32, usize)>,
    /// The length of each chunk up to the last one added.
    lengths: Vec<u16>,
}

impl RunBuilder {
    /// No chunks yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds one chunk: its number within the slice, its length in terms, and its distinct terms with their
    /// frequencies. Chunks come in ascending order. One of length 0 has no postings; frequencies of 0 are passed over.
    ///
    /// # Panics
    /// If the chunks do not ascend, which is a mistake in the caller.
    pub(crate) fn add(&mut self, chunk: u32, length: u32, terms: impl Iterator<Item = (u32, u32)>) {
        assert!(chunk as usize >= self.lengths.len(), "chunks must ascend");
        if length == 0 {
            return;
        }
        self.lengths.resize(chunk as usize, 0);
        self.lengths.push(kept_length(length));
        self.postings.extend(terms.filter(|&(_, tf)| tf > 0));
        self.ends.push((chunk, self.postings.len()));
    }

    /// The run of the slice, which has `chunks` chunks and whose term numbers stand for what `term` says. The empty
    /// term is passed over.
    ///
    /// # Panics
    /// If a chunk was added that is not below `chunks`, which is a mistake in the caller.
    pub(crate) fn finish<'t>(self, chunks: u32, term: impl Fn(u32) -> &'t str) -> Run {
        let Self { postings, ends, mut lengths } = self;
        assert!(lengths.len() <= chunks as usize, "a chunk is outside its run");
        lengths.resize(chunks as usize, 0);
        let mut counts = vec![0u32; postings.iter().map(|&(id, _)| id as usize + 1).max().unwrap_or(0)];
        let mut met = Vec::new();
        for &(id, _) in &postings {
            let count = &mut counts[id as usize];
            if *count == 0 && !term(id).is_empty() {
                met.push(id);
            }
            *count += 1;
        }
        let order = in_term_order(met.into_iter(), &term);
        let (sorted, places) = by_term(&postings, &ends, &counts, &order);
        drop(postings);
        let mut data = Vec::with_capacity(sorted.len() * 2 + lengths.len() * 2 + order.len() * 12);
        put_varint(&mut data, chunks.into());
        put_varint(&mut data, order.len() as u64);
        for length in &lengths {
            data.extend_from_slice(&length.to_le_bytes());
        }
        for &id in &order {
            let (term, count, end) = (term(id), counts[id as usize] as usize, places[id as usize]);
            put_varint(&mut data, term.len() as u64);
            data.extend_from_slice(term.as_bytes());
            put_varint(&mut data, count as u64);
            let mut before = 0;
            for &(chunk, tf) in &sorted[end - count..end] {
                put_varint(&mut data, u64::from(chunk - before) << 2 | u64::from((tf - 1).min(LARGE_TF - 1)));
                if tf >= LARGE_TF {
                    put_varint(&mut data, tf.into());
                }
                before = chunk;
            }
        }
        Run { data }
    }
}

/// Chunks with frequencies, sorted by term (a counting sort: within a term the chunks stay ascending), and where those
/// of each term end. Terms that are not in `order` are left out.
fn by_term(
    postings: &[(u32, u32)],
    ends: &[(u32, usize)],
    counts: &[u32],
    order: &[u32],
) -> (Vec<(u32, u32)>, Vec<usize>) {
    let mut places = vec![usize::MAX; counts.len()];
    let mut place = 0;
    for &id in order {
        places[id as usize] = place;
        place += counts[id as usize] as usize;
    }
    let mut sorted = vec![(0, 0); place];
    let mut start = 0;
    for &(chunk, end) in ends {
        for &(id, tf) in &postings[start..end] {
            let place = &mut places[id as usize];
            if let Some(posting) = sorted.get_mut(*place) {
                *posting = (chunk, tf);
                *place += 1;
            }
        }
        start = end;
    }
    (sorted, places)
}

/// A finished run.
pub(crate) struct Run {
    data: Vec<u8>,
}

impl Run {
    /// The run's bytes, as [`RunReader::open`] reads them.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.data
    }
}

#[inline]
fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Bytes of the longest varint.
const LONGEST_VARINT: usize = 10;

/// Reads a run term by term, with a small buffer of its own.
pub(crate) struct RunReader<R> {
    input: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Nothing comes behind the buffer.
    ended: bool,
    lengths: Vec<u16>,
    terms_left: u32,
    term: String,
    postings_left: u32,
    chunk: u32,
}

impl<R: Read> RunReader<R> {
    /// Reads the head of a run: its lengths.
    pub(crate) fn open(input: R) -> Result<Self> {
        let mut reader = Self {
            input,
            buffer: vec![0; 16 << 10].into(),
            start: 0,
            end: 0,
            ended: false,
            lengths: Vec::new(),
            terms_left: 0,
            term: String::new(),
            postings_left: 0,
            chunk: 0,
        };
        let chunks = reader.number()?;
        reader.terms_left = reader.number()?;
        for _ in 0..chunks {
            let &[low, high] = reader.bytes(2)? else { return Err(spoiled("it ends early")) };
            reader.lengths.push(u16::from_le_bytes([low, high]));
        }
        Ok(reader)
    }

    /// The length of each chunk of the slice.
    pub(crate) fn lengths(&self) -> &[u16] {
        &self.lengths
    }

    /// Goes to the next term, once the postings of the last one are read; `false` at the end.
    pub(crate) fn next_term(&mut self) -> Result<bool> {
        debug_assert_eq!(self.postings_left, 0);
        self.term.clear();
        if self.terms_left == 0 {
            return Ok(false);
        }
        self.terms_left -= 1;
        let len = self.number()? as usize;
        let mut bytes = std::mem::take(&mut self.term).into_bytes();
        bytes.extend_from_slice(self.bytes(len)?);
        self.term = String::from_utf8(bytes).map_err(|_| spoiled("a term is not UTF-8"))?;
        self.postings_left = self.number()?;
        self.chunk = 0;
        Ok(true)
    }

    /// The current term; empty at the end.
    pub(crate) fn term(&self) -> &str {
        &self.term
    }

    /// The next posting of the current term: chunk within the slice, and frequency.
    #[inline]
    pub(crate) fn next_posting(&mut self) -> Result<Option<(u32, u32)>> {
        if self.postings_left == 0 {
            return Ok(None);
        }
        self.postings_left -= 1;
        let posting = self.varint()?;
        #[expect(clippy::cast_possible_truncation, reason = "a builder's gaps have 32 bits")]
        let (gap, tf) = ((posting >> 2) as u32, posting as u32 % LARGE_TF + 1);
        self.chunk = self.chunk.wrapping_add(gap);
        Ok(Some((self.chunk, if tf == LARGE_TF { self.number()? } else { tf })))
    }

    fn number(&mut self) -> Result<u32> {
        u32::try_from(self.varint()?).map_err(|_| spoiled("a number is too large"))
    }

    #[inline]
    fn varint(&mut self) -> Result<u64> {
        if self.end - self.start < LONGEST_VARINT {
            self.fill(LONGEST_VARINT)?;
        }
        let bytes = &self.buffer[self.start..self.end];
        let mut value = 0;
        for (index, &byte) in bytes.iter().take(LONGEST_VARINT).enumerate() {
            value |= u64::from(byte & 0x7F) << (7 * index);
            if byte < 0x80 {
                self.start += index + 1;
                return Ok(value);
            }
        }
        Err(spoiled(if bytes.len() < LONGEST_VARINT { "it ends early" } else { "a number is too long" }))
    }

    /// The next `count` bytes.
    fn bytes(&mut self, count: usize) -> Result<&[u8]> {
        if self.end - self.start < count {
            self.fill(count)?;
        }
        let start = self.start;
        self.start = start.saturating_add(count);
        self.buffer[..self.end].get(start..self.start).ok_or_else(|| spoiled("it ends early"))
    }

    /// Reads on until `count` bytes are there, the buffer is full or the input has no more.
    #[cold]
    fn fill(&mut self, count: usize) -> Result<()> {
        if self.ended {
            return Ok(());
        }
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while self.end < count.min(self.buffer.len()) {
            let read = self.input.read(&mut self.buffer[self.end..]);
            let read = read.map_err(|error| Error::io("the sync's temporary file", error))?;
            self.end += read;
            if read == 0 {
                self.ended = true;
                return Ok(());
            }
        }
        Ok(())
    }
}

fn spoiled(what: &str) -> Error {
    Error::io("the sync's temporary file", io::Error::new(io::ErrorKind::InvalidData, what))
}

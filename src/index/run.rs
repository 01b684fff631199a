//! What one worker hands to the transaction: the postings of a slice of new chunks, sorted by term.
//!
//! A run is bytes that can wait in a temporary file (numbers are LEB128 varints unless said otherwise):
//!
//! ```text
//! chunks · terms · a little-endian u16 length for each chunk
//! for each term in byte order: bytes of the term · the term · df · df × (chunk gap · tf)
//! ```
//!
//! A gap is the chunk number less the one before it (the first: the number itself). Pure but for the reader and
//! writer it is given.

use std::io::{self, Read};

use super::intern::Interner;
use crate::error::{Error, Result};

/// A length as the index keeps it: two bytes, larger ones saturate. It is the only length that any sum or score
/// uses, so that an incremental index equals a fresh one.
pub(crate) fn kept_length(length: u32) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

/// Collects the postings of a slice of chunks.
#[derive(Default)]
pub(crate) struct RunBuilder {
    terms: Interner,
    /// Postings of each term so far.
    counts: Vec<u32>,
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
    /// frequencies. Chunks come in ascending order. One of length 0 has no postings; empty terms and frequencies of
    /// 0 are passed over.
    ///
    /// # Panics
    /// If the chunks do not ascend, which is a mistake in the caller.
    pub(crate) fn add<'t>(&mut self, chunk: u32, length: u32, terms: impl Iterator<Item = (&'t str, u32)>) {
        assert!(chunk as usize >= self.lengths.len(), "chunks must ascend");
        if length == 0 {
            return;
        }
        self.lengths.resize(chunk as usize, 0);
        self.lengths.push(kept_length(length));
        for (term, tf) in terms.filter(|(term, tf)| !term.is_empty() && *tf > 0) {
            let id = self.terms.id(term);
            match self.counts.get_mut(id as usize) {
                Some(count) => *count += 1,
                None => self.counts.push(1),
            }
            self.postings.push((id, tf));
        }
        self.ends.push((chunk, self.postings.len()));
    }

    /// The run of the slice, which has `chunks` chunks.
    ///
    /// # Panics
    /// If a chunk was added that is not below `chunks`, which is a mistake in the caller.
    pub(crate) fn finish(mut self, chunks: u32) -> Run {
        assert!(self.lengths.len() <= chunks as usize, "a chunk is outside its run");
        self.lengths.resize(chunks as usize, 0);
        let order = self.terms.sorted();
        // A counting sort by term; within a term the chunks stay ascending.
        let mut places = vec![0usize; order.len()];
        let mut place = 0;
        for &id in &order {
            places[id as usize] = place;
            place += self.counts[id as usize] as usize;
        }
        let mut sorted = vec![(0u32, 0u32); self.postings.len()];
        let mut start = 0;
        for &(chunk, end) in &self.ends {
            for &(id, tf) in &self.postings[start..end] {
                sorted[places[id as usize]] = (chunk, tf);
                places[id as usize] += 1;
            }
            start = end;
        }
        self.postings = Vec::new();
        let mut data = Vec::with_capacity(sorted.len() * 3 + self.lengths.len() * 2);
        put_varint(&mut data, chunks);
        put_varint(&mut data, u32::try_from(order.len()).expect("terms are numbered in 32 bits"));
        for length in &self.lengths {
            data.extend_from_slice(&length.to_le_bytes());
        }
        let mut rest = sorted.as_slice();
        for &id in &order {
            let term = self.terms.term(id);
            put_varint(&mut data, u32::try_from(term.len()).expect("the arena is below 4 GB"));
            data.extend_from_slice(term.as_bytes());
            put_varint(&mut data, self.counts[id as usize]);
            let (list, others) = rest.split_at(self.counts[id as usize] as usize);
            rest = others;
            let mut before = 0;
            for &(chunk, tf) in list {
                put_varint(&mut data, chunk - before);
                put_varint(&mut data, tf);
                before = chunk;
            }
        }
        Run { data }
    }
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

fn put_varint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Reads a run term by term, with a small buffer of its own.
pub(crate) struct RunReader<R> {
    input: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
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
            lengths: Vec::new(),
            terms_left: 0,
            term: String::new(),
            postings_left: 0,
            chunk: 0,
        };
        let chunks = reader.varint()?;
        reader.terms_left = reader.varint()?;
        for _ in 0..chunks {
            let bytes = [reader.byte()?, reader.byte()?];
            reader.lengths.push(u16::from_le_bytes(bytes));
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
        if self.terms_left == 0 {
            self.term.clear();
            return Ok(false);
        }
        self.terms_left -= 1;
        let len = self.varint()? as usize;
        let mut bytes = std::mem::take(&mut self.term).into_bytes();
        bytes.clear();
        for _ in 0..len {
            let byte = self.byte()?;
            bytes.push(byte);
        }
        self.term = String::from_utf8(bytes).map_err(|_| spoiled("a term is not UTF-8"))?;
        self.postings_left = self.varint()?;
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
        let gap = self.varint()?;
        self.chunk = self.chunk.wrapping_add(gap);
        Ok(Some((self.chunk, self.varint()?)))
    }

    #[inline]
    fn varint(&mut self) -> Result<u32> {
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= u32::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(spoiled("a number is too long"))
    }

    #[inline]
    fn byte(&mut self) -> Result<u8> {
        if self.start == self.end {
            self.fill()?;
        }
        let byte = self.buffer[self.start];
        self.start += 1;
        Ok(byte)
    }

    #[cold]
    fn fill(&mut self) -> Result<()> {
        self.start = 0;
        self.end = self.input.read(&mut self.buffer).map_err(|error| Error::io("the sync's temporary file", error))?;
        if self.end == 0 { Err(spoiled("it ends early")) } else { Ok(()) }
    }
}

fn spoiled(what: &str) -> Error {
    Error::io("the sync's temporary file", io::Error::new(io::ErrorKind::InvalidData, what))
}

//! Cuts a document into chunks: pure, from text to spans.
//!
//! A chunk is a run of whole source lines, neither the first nor the last of them blank. It never reaches across a
//! heading, and every line that is not blank is in a chunk. A section of at most `max_chars` characters is one chunk;
//! `pack` tells how a longer one is split. Only there may chunks overlap.
//!
//! Time and memory are linear in the text, whatever it holds.

mod depth;
mod lines;
pub(super) use self::lines::unify_line_ends;
mod outline;
mod pack;

use std::ops::Range;

use self::lines::{LineCounter, LineTable, trim_blank_lines};
use self::outline::{Block, Heading};
use crate::model::{ChunkPolicy, Span};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// One chunk: its text is the bytes of `span` in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawChunk {
    pub(crate) span: Span,
    /// The texts of the headings above and at the chunk, outermost first. A heading without text closes what it
    /// outranks but is no entry.
    pub(crate) heading_path: Vec<String>,
    /// It holds nothing but its section's heading.
    pub(crate) heading_only: bool,
}

/// A document's chunks, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chunked {
    pub(crate) chunks: Vec<RawChunk>,
    /// The text of the first heading of level 1 that has one.
    pub(crate) title: Option<String>,
}

/// Cuts the Markdown in `source[body_start..]`. `source` is the whole file: spans count from its first byte and
/// line. `body_start` is the start of a line (or the end of a byte-order mark).
pub(crate) fn chunk_markdown(source: &str, body_start: usize, policy: &ChunkPolicy) -> Chunked {
    let body_start = behind_mark(source, body_start);
    let text = unify_line_ends(source);
    let mut chunker = Chunker::new(&text, policy);
    let mut path = HeadingPath::default();
    let mut title = None;
    outline::for_each_section(&text, body_start, |section, end| {
        if let Some(heading) = &section.heading {
            path.enter(heading);
            if title.is_none() && heading.level == 1 && !heading.text.is_empty() {
                title = Some(heading.text.clone());
            }
        }
        let heading_end = section.heading.as_ref().map_or(section.start, |heading| heading.end);
        chunker.section(section.start..end, heading_end, &section.blocks, &path);
    });
    Chunked { chunks: chunker.chunks, title }
}

/// Cuts the plain text in `source[body_start..]`, which has no headings: its paragraphs, packed like the blocks of
/// one section.
pub(crate) fn chunk_text(source: &str, body_start: usize, policy: &ChunkPolicy) -> Chunked {
    let body_start = behind_mark(source, body_start);
    let text = unify_line_ends(source);
    let mut chunker = Chunker::new(&text, policy);
    chunker.section(body_start..text.len(), body_start, &[], &HeadingPath::default());
    Chunked { chunks: chunker.chunks, title: None }
}

/// A byte-order mark belongs to the file, not to its first line's text.
fn behind_mark(source: &str, body_start: usize) -> usize {
    let mark = body_start == 0 && source.starts_with(BYTE_ORDER_MARK);
    if mark { BYTE_ORDER_MARK.len_utf8() } else { body_start }
}

struct Chunker<'a> {
    text: &'a str,
    policy: &'a ChunkPolicy,
    counter: LineCounter<'a>,
    table: LineTable,
    chunks: Vec<RawChunk>,
}

impl<'a> Chunker<'a> {
    fn new(text: &'a str, policy: &'a ChunkPolicy) -> Self {
        let (counter, table) = (LineCounter::new(text), LineTable::default());
        Self { text, policy, counter, table, chunks: Vec::new() }
    }

    /// Adds the chunks of the section in `bytes`, whose heading (if it has one) ends at `heading_end`.
    fn section(&mut self, bytes: Range<usize>, heading_end: usize, blocks: &[Block], path: &HeadingPath) {
        let Some(bytes) = trim_blank_lines(self.text, bytes) else { return };
        let first_line = self.counter.line_at(bytes.start);
        let has_heading = heading_end > bytes.start;
        let (table, chunks) = (&mut self.table, &mut self.chunks);
        let mut add = |bytes: Range<usize>, start_line: u32, end_line: u32| {
            let span = Span { start_line, end_line, start_byte: bytes.start as u64, end_byte: bytes.end as u64 };
            let heading_only = has_heading && bytes.end <= heading_end;
            chunks.push(RawChunk { span, heading_path: path.texts(), heading_only });
        };
        if fits(&self.text[bytes.clone()], self.policy.max_chars as usize) {
            let last_line = self.counter.line_at(bytes.end);
            add(bytes, first_line, last_line);
            return;
        }
        table.fill(self.text, bytes);
        let heading_lines = if has_heading { table.line_of(heading_end - 1) + 1 } else { 0 };
        let line = |index: usize| first_line.saturating_add(u32::try_from(index).unwrap_or(u32::MAX));
        pack::pack(table, heading_lines, blocks, self.policy, |lines| {
            let (first, last) = lines.into_inner();
            add(table.bytes(first, last), line(first), line(last));
        });
    }
}

/// Whether `text` has at most `max` characters, without counting where its length in bytes tells.
fn fits(text: &str, max: usize) -> bool {
    text.len() <= max || (text.len() <= max.saturating_mul(4) && text.chars().count() <= max)
}

/// The headings that are open at a place in the text.
#[derive(Default)]
struct HeadingPath {
    open: Vec<(usize, String)>,
}

impl HeadingPath {
    fn enter(&mut self, heading: &Heading) {
        while self.open.last().is_some_and(|(level, _)| *level >= heading.level) {
            self.open.pop();
        }
        self.open.push((heading.level, heading.text.clone()));
    }

    fn texts(&self) -> Vec<String> {
        self.open.iter().filter(|(_, text)| !text.is_empty()).map(|(_, text)| text.clone()).collect()
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

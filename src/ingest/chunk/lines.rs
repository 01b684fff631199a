//! Lines: where they begin and end, which are blank, and how long a run of them is.
//!
//! A line ends with LF, CRLF or a lone CR. [`unify_line_ends`] turns a lone CR into LF without moving a byte, so
//! that everything behind it looks for LF only; offsets into its result are offsets into the source.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};

/// `source` with each CR that no LF follows replaced by an LF: the same length, the same offsets.
pub(in crate::ingest) fn unify_line_ends(source: &str) -> Cow<'_, str> {
    let bytes = source.as_bytes();
    let mut unified = String::new();
    let mut copied = 0;
    for at in memchr_iter(b'\r', bytes).filter(|at| bytes.get(at + 1) != Some(&b'\n')) {
        unified.reserve(source.len() - unified.len());
        unified.push_str(&source[copied..at]);
        unified.push('\n');
        copied = at + 1;
    }
    if copied == 0 {
        return Cow::Borrowed(source);
    }
    unified.push_str(&source[copied..]);
    Cow::Owned(unified)
}

/// The start of the line that holds the byte `at`.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    memrchr(b'\n', &text.as_bytes()[..at]).map_or(0, |end| end + 1)
}

/// The end of the line that holds the byte `at`, without its terminator.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    at + content_len(&text.as_bytes()[at..])
}

/// `range` (which starts a line) without the blank lines at its two ends and without the last line's terminator;
/// `None` where every line is blank. A blank line holds nothing but spaces and tabs, as in Markdown.
pub(super) fn trim_blank_lines(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let visible = |byte: &u8| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let bytes = &text.as_bytes()[range.clone()];
    let first = bytes.iter().position(visible)?;
    let last = bytes.iter().rposition(visible)?;
    let start = memrchr(b'\n', &bytes[..first]).map_or(0, |end| end + 1);
    Some(range.start + start..line_end(text, range.start + last).min(range.end))
}

/// The length of the line at the start of `bytes`, without its terminator.
fn content_len(bytes: &[u8]) -> usize {
    let end = memchr(b'\n', bytes).unwrap_or(bytes.len());
    if bytes[..end].last() == Some(&b'\r') { end - 1 } else { end }
}

/// Counts lines on the way through a text.
pub(super) struct LineCounter<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u32,
}

impl<'a> LineCounter<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), at: 0, line: 1 }
    }

    /// The number of the line that holds the byte `at`; calls must not go backwards.
    pub(super) fn line_at(&mut self, at: usize) -> u32 {
        let passed = memchr_iter(b'\n', &self.bytes[self.at..at]).count();
        self.line = self.line.saturating_add(u32::try_from(passed).unwrap_or(u32::MAX));
        self.at = at;
        self.line
    }
}

struct Line {
    start: usize,
    end: usize,
    /// Characters of the section before `start` and before `end`.
    chars_before: usize,
    chars_to_end: usize,
    /// The last line that is not blank, up to and with this one.
    last_visible: usize,
}

/// The lines of one section whose first and last lines are not blank.
#[derive(Default)]
pub(super) struct LineTable {
    lines: Vec<Line>,
}

impl LineTable {
    /// Replaces the table's lines by those of `range`, keeping its memory.
    pub(super) fn fill(&mut self, text: &str, range: Range<usize>) {
        self.lines.clear();
        let ascii = text[range.clone()].is_ascii();
        let count = |range: Range<usize>| if ascii { range.len() } else { text[range].chars().count() };
        let (mut start, mut chars_before, mut last_visible) = (range.start, 0, 0);
        while start < range.end {
            let bytes = &text.as_bytes()[start..range.end];
            let next = memchr(b'\n', bytes).map_or(range.end, |end| start + end + 1);
            let end = start + content_len(bytes);
            if text.as_bytes()[start..end].iter().any(|byte| !matches!(byte, b' ' | b'\t')) {
                last_visible = self.lines.len();
            }
            let chars_to_end = chars_before + count(start..end);
            self.lines.push(Line { start, end, chars_before, chars_to_end, last_visible });
            chars_before = chars_to_end + (next - end);
            start = next;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The line that holds the byte `at`.
    pub(super) fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|line| line.start <= at).saturating_sub(1)
    }

    /// The last line up to and with `line` that is not blank.
    pub(super) fn last_visible(&self, line: usize) -> usize {
        self.lines[line].last_visible
    }

    pub(super) fn is_blank(&self, line: usize) -> bool {
        self.lines[line].last_visible != line
    }

    /// The characters from the start of `first` to the end of `last`, without its terminator.
    pub(super) fn chars(&self, first: usize, last: usize) -> usize {
        self.lines[last].chars_to_end - self.lines[first].chars_before
    }

    /// The bytes from the start of `first` to the end of `last`, without its terminator.
    pub(super) fn bytes(&self, first: usize, last: usize) -> Range<usize> {
        self.lines[first].start..self.lines[last].end
    }
}

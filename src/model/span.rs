//! Where a chunk stands in its file.

use std::ops::Range;

use super::Citation;

/// A run of whole lines of a source file.
///
/// Lines count from 1 and both ends are part of the span. Bytes count from 0 in the file as it is on disk (a
/// byte-order mark and front matter count); `end_byte` is exclusive and leaves out the last line's terminator.
/// A line ends with LF, CRLF or a lone CR, as CommonMark has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first line, from 1.
    pub start_line: u32,
    /// The last line, from 1, included.
    pub end_line: u32,
    /// The offset of the first byte in the file, from 0.
    pub start_byte: u64,
    /// The offset behind the last byte in the file.
    pub end_byte: u64,
}

impl Span {
    /// The citation of these lines of the file at `path`.
    #[must_use]
    pub fn cite(&self, path: impl Into<String>) -> Citation {
        Citation { path: path.into(), start_line: self.start_line, end_line: self.end_line }
    }
}

/// How many lines of `text` end in a part of it: with LF, CRLF or a lone CR, as [`Span`] counts them.
pub(crate) fn line_ends(text: &[u8], part: Range<usize>) -> u32 {
    let ends = memchr::memchr2_iter(b'\n', b'\r', &text[part.clone()]).map(|at| part.start + at);
    let ends = ends.filter(|&at| text[at] == b'\n' || text.get(at + 1) != Some(&b'\n')).count();
    u32::try_from(ends).unwrap_or(u32::MAX)
}

//! Whether stored text is what its source file has at its place. Pure.

use crate::model::{Digest, Span, line_ends};
use crate::sabotage::Sabotage;

/// What does not agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceFault {
    /// The stored text does not have its stored hash.
    Hash,
    /// The file is not the one that was indexed.
    Changed,
    /// The file is the one that was indexed and has other text at the place.
    Place,
    /// The text stands there, and on other lines than the store says.
    Lines,
}

impl SourceFault {
    /// The stable code of a refusal.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Changed => "source_changed",
            Self::Hash | Self::Place | Self::Lines => "integrity",
        }
    }

    /// The reason in words.
    pub(crate) const fn detail(self) -> &'static str {
        match self {
            Self::Hash => "the stored text does not have its stored hash",
            Self::Changed => "the source file changed since it was indexed",
            Self::Place => "the stored text is not what its unchanged source file has at its place",
            Self::Lines => "the stored text does not stand on the lines that the store says",
        }
    }
}

/// A source file as it is now, hashed once for all that is held to it.
pub(crate) struct SourceFile {
    text: String,
    digest: Digest,
}

impl SourceFile {
    /// A file with this text.
    pub(crate) fn new(text: String) -> Self {
        Self { digest: Digest::of(&text), text }
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the file is the one with the digest `indexed` and has `text` at `span`.
    pub(crate) fn holds(&self, indexed: Digest, span: &Span, text: &str) -> Result<(), SourceFault> {
        if Sabotage::SkippedRehash.is_on() {
            return Ok(());
        }
        if self.digest != indexed {
            return Err(SourceFault::Changed);
        }
        stands(&self.text, span, text)
    }
}

/// Whether a file, whichever it is, has `text` at `span`.
pub(crate) fn stands(file: &str, span: &Span, text: &str) -> Result<(), SourceFault> {
    let range = usize::try_from(span.start_byte).ok().zip(usize::try_from(span.end_byte).ok());
    let Some((start, end)) = range.filter(|&(start, end)| file.get(start..end) == Some(text)) else {
        return Err(SourceFault::Place);
    };
    let bytes = &file.as_bytes()[..end];
    let first = line_ends(bytes, 0..start).saturating_add(1);
    let last = first.saturating_add(line_ends(bytes, start..end));
    if (span.start_line, span.end_line) == (first, last) { Ok(()) } else { Err(SourceFault::Lines) }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const FILE: &str = "# A\r\n\r\none\rtwo\n\nthree\n";

    fn span(start_line: u32, end_line: u32, start_byte: u64, end_byte: u64) -> Span {
        Span { start_line, end_line, start_byte, end_byte }
    }

    #[rstest]
    #[case::first(span(1, 1, 0, 3), "# A", Ok(()))]
    #[case::lone_cr(span(3, 4, 7, 14), "one\rtwo", Ok(()))]
    #[case::last(span(6, 6, 16, 21), "three", Ok(()))]
    #[case::all(span(1, 6, 0, 21), "# A\r\n\r\none\rtwo\n\nthree", Ok(()))]
    #[case::other_text(span(6, 6, 16, 21), "Three", Err(SourceFault::Place))]
    #[case::beyond(span(6, 6, 16, 210), "three", Err(SourceFault::Place))]
    #[case::backwards(span(6, 6, 21, 16), "three", Err(SourceFault::Place))]
    #[case::huge(span(6, 6, u64::MAX, u64::MAX), "three", Err(SourceFault::Place))]
    #[case::first_line(span(5, 6, 16, 21), "three", Err(SourceFault::Lines))]
    #[case::last_line(span(3, 5, 7, 14), "one\rtwo", Err(SourceFault::Lines))]
    fn text_is_held_to_its_place(#[case] span: Span, #[case] text: &str, #[case] expected: Result<(), SourceFault>) {
        assert_eq!(SourceFile::new(FILE.to_owned()).holds(Digest::of(FILE), &span, text), expected);
    }

    #[test]
    fn another_file_holds_nothing() {
        let holds = SourceFile::new(FILE.to_owned()).holds(Digest::of("# A"), &span(1, 1, 0, 3), "# A");
        assert_eq!(holds, Err(SourceFault::Changed));
    }
}

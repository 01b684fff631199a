//! The written form of a place in a source file: `path#L3-L6`.

use std::fmt;

/// A run of lines in a source file, written `path#L3-L6`; `path#L3` is read as the single line 3.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Citation {
    /// The path below the source's root, with `/` separators.
    pub path: String,
    /// The first line, from 1.
    pub start_line: u32,
    /// The last line, from 1, included.
    pub end_line: u32,
}

impl Citation {
    /// Reads `path#L3-L6` or `path#L3`; `None` where the path is empty, a line is 0 or the lines run backwards.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (path, lines) = text.rsplit_once("#L")?;
        let (start, end) = lines.split_once("-L").unwrap_or((lines, lines));
        let line = |digits: &str| {
            let plain = digits.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| digits.parse().ok()).flatten().filter(|&line: &u32| line > 0)
        };
        let (start_line, end_line) = (line(start)?, line(end)?);
        let fits = !path.is_empty() && start_line <= end_line;
        fits.then(|| Self { path: path.to_owned(), start_line, end_line })
    }
}

impl fmt::Display for Citation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#L{}-L{}", self.path, self.start_line, self.end_line)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a/b.md#L3-L6", Some(("a/b.md", 3, 6)))]
    #[case("a.md#L7", Some(("a.md", 7, 7)))]
    #[case("odd#Lx.md#L1-L2", Some(("odd#Lx.md", 1, 2)))]
    #[case("a.md#L6-L3", None)]
    #[case("a.md#L0-L3", None)]
    #[case("a.md#L+1", None)]
    #[case("a.md#L1-2", None)]
    #[case("#L1-L2", None)]
    #[case("a.md", None)]
    #[case("a.md#L99999999999", None)]
    fn reads_what_it_writes(#[case] text: &str, #[case] expected: Option<(&str, u32, u32)>) {
        let parsed = Citation::parse(text);
        let expected =
            expected.map(|(path, start_line, end_line)| Citation { path: path.into(), start_line, end_line });
        assert_eq!(parsed, expected);
        if let Some(citation) = parsed {
            assert_eq!(Citation::parse(&citation.to_string()), Some(citation));
        }
    }
}

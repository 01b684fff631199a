//! The lines of a source file, and where lines with a known hash stand among them. Pure.

use std::collections::HashMap;
use std::ops::Range;

use crate::cite::split_lines;
use crate::model::Digest;

/// How many bytes of a file are hashed at most to find lines that moved.
const MOST_HASHED: usize = 256 << 20;

/// A source file as it is now.
pub(super) struct SourceFile {
    /// The hash of all of it.
    pub digest: Digest,
    lines: Vec<String>,
    /// By a number of lines: each hash of so many lines, where it stands first and how often.
    windows: HashMap<usize, HashMap<Digest, (usize, usize)>>,
    hashed: usize,
}

/// Where lines stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// At these lines only.
    Once((u32, u32)),
    /// At so many places, or at one by chance: they are blank or have neither letter nor digit.
    Places(usize),
    Nowhere,
    /// Finding them would take too long.
    TooLong,
}

impl SourceFile {
    pub(super) fn new(text: &str) -> Self {
        let lines = split_lines(text).map(str::to_owned).collect();
        Self { digest: Digest::of(text), lines, windows: HashMap::new(), hashed: 0 }
    }

    fn range(lines: (u32, u32)) -> Option<Range<usize>> {
        Some(lines.0.checked_sub(1)? as usize..lines.1 as usize)
    }

    /// The hash of lines, with LF between them; none where the file has fewer.
    pub(super) fn hash_of(&self, lines: (u32, u32)) -> Option<Digest> {
        Some(Digest::of(self.lines.get(Self::range(lines)?)?.join("\n")))
    }

    /// Whether lines hold nothing but white space.
    pub(super) fn is_blank(&self, lines: (u32, u32)) -> bool {
        let lines = Self::range(lines).and_then(|range| self.lines.get(range));
        lines.is_some_and(|lines| lines.iter().all(|line| line.trim().is_empty()))
    }

    /// Where as many lines as `lines` are have this hash.
    pub(super) fn find(&mut self, lines: (u32, u32), hash: &Digest) -> Found {
        let Some(count) = lines.1.checked_sub(lines.0).map(|more| more as usize + 1) else { return Found::Nowhere };
        if count > self.lines.len() {
            return Found::Nowhere;
        }
        if !self.windows.contains_key(&count) {
            let bytes: usize = self.lines.iter().map(|line| line.len() + 1).sum();
            let cost = bytes.saturating_mul(count.min(self.lines.len() - count + 1));
            if cost > MOST_HASHED - self.hashed {
                return Found::TooLong;
            }
            self.hashed += cost;
            let mut windows = HashMap::new();
            for (start, window) in self.lines.windows(count).enumerate() {
                windows.entry(Digest::of(window.join("\n"))).or_insert((start, 0)).1 += 1;
            }
            self.windows.insert(count, windows);
        }
        let Some(&(start, places)) = self.windows.get(&count).and_then(|windows| windows.get(hash)) else {
            return Found::Nowhere;
        };
        let window = self.lines.get(start..start + count).unwrap_or_default();
        let says_something = window.iter().any(|line| line.contains(char::is_alphanumeric));
        let line = |number: usize| u32::try_from(number).ok();
        match line(start + 1).zip(line(start + count)) {
            Some(lines) if places == 1 && says_something => Found::Once(lines),
            _ => Found::Places(places),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a\nb\nc\n", (1, 2), "b\nc", Found::Once((2, 3)))]
    #[case("b\nx\ny\nz\nb\n", (4, 4), "b", Found::Places(2))]
    #[case("x\nb\ny\n\n\n", (9, 9), "b", Found::Once((2, 2)))]
    #[case("x\n\ny\n", (1, 1), "", Found::Places(1))]
    #[case("x\n---\ny\n", (1, 1), "---", Found::Places(1))]
    #[case("x\n}\n}\n", (1, 1), "}", Found::Places(2))]
    #[case("x\n}\n}\n", (1, 2), "x\n}", Found::Once((1, 2)))]
    #[case("x\ny\n", (1, 1), "z", Found::Nowhere)]
    #[case("x\n", (1, u32::MAX), "z", Found::Nowhere)]
    #[case("x\nb\n", (u32::MAX, u32::MAX), "b", Found::Once((2, 2)))]
    #[case("x\r\nb\r\n", (u32::MAX - 1, u32::MAX), "x\nb", Found::Once((1, 2)))]
    fn lines_that_moved(#[case] file: &str, #[case] at: (u32, u32), #[case] text: &str, #[case] found: Found) {
        let mut file = SourceFile::new(file);
        assert_eq!(file.find(at, &Digest::of(text)), found);
        if let Found::Once(lines) = found {
            assert_eq!(file.hash_of(lines), Some(Digest::of(text)));
        }
    }

    #[test]
    fn a_search_that_takes_too_long_is_none() {
        let mut file = SourceFile::new(&"a line of text\n".repeat(20_000));
        assert_eq!(file.find((1, 10_000), &Digest::of("x")), Found::TooLong);
        assert_eq!(file.find((1, 19_999), &Digest::of("x")), Found::Nowhere);
    }
}

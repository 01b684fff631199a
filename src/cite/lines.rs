//! Lines that the store holds, and where they stand in a file. Pure.

use std::collections::BTreeMap;

/// A run of lines of which the store holds some: blank lines between chunks, and front matter, are in no chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lines {
    /// The first line, from 1.
    pub first: u32,
    /// How many lines.
    pub count: u32,
    /// The text of those that the store holds, by place in the run.
    known: BTreeMap<u32, String>,
}

impl Lines {
    /// A run of which nothing is known yet; `count` is at least 1.
    pub(super) fn new(first: u32, count: u32) -> Self {
        Self { first, count, known: BTreeMap::new() }
    }

    /// Adds a text that begins at line `start` of the file; what lies outside the run is left out.
    pub(super) fn add(&mut self, start: u32, text: &str) {
        for (line, number) in split(text).zip(start..) {
            if let Some(place) = number.checked_sub(self.first).filter(|place| *place < self.count) {
                self.known.insert(place, line.to_owned());
            }
        }
    }

    /// The last line.
    pub(super) fn last(&self) -> u32 {
        self.first + (self.count - 1)
    }

    /// The lines with LF between them, up to the last that is known; unknown ones are empty.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let mut at = 0;
        for (&place, line) in &self.known {
            (at..place).for_each(|_| text.push('\n'));
            text.push_str(line);
            at = place;
        }
        text
    }

    /// Whether the lines that are known are these; `lines` are the whole run.
    pub(super) fn agree_with(&self, lines: &[&str]) -> bool {
        self.known.iter().all(|(&place, text)| lines.get(place as usize).is_some_and(|line| line == text))
    }

    /// Whether the lines of a file from `start` on (from 1) are these. An unknown line must be blank.
    pub(super) fn stand_at(&self, file: &[&str], start: u32) -> bool {
        let begin = start as usize - 1;
        let Some(window) = file.get(begin..begin + self.count as usize) else { return false };
        let mut known = self.known.iter().peekable();
        window.iter().zip(0..).all(|(line, place)| match known.next_if(|(known, _)| **known == place) {
            Some((_, text)) => line == text,
            None => line.trim().is_empty(),
        })
    }

    /// Where these lines stand in a file: their first line there, nearest to where they were. Nothing is found
    /// where no line with text is known.
    pub(super) fn find(&self, file: &[&str]) -> Option<u32> {
        if self.known.values().all(|line| line.trim().is_empty()) {
            return None;
        }
        let latest = u32::try_from(file.len()).unwrap_or(u32::MAX).checked_sub(self.count)? + 1;
        (1..=latest).filter(|&start| self.stand_at(file, start)).min_by_key(|start| start.abs_diff(self.first))
    }
}

/// The lines of a text without their ends (LF, CRLF or a lone CR).
pub(crate) fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').flat_map(|line| {
        let line = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
        line.split('\r')
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a\nb\nc\n", "b", 2, Some(2))]
    #[case("a\nb\nx\nb\n", "b", 4, Some(4))]
    #[case("a\nb\nx\ny\nb\n", "b", 4, Some(5))]
    #[case("a\r\nb\r\nc", "b\nc", 1, Some(2))]
    #[case("a\rb\rc", "b\rc", 1, Some(2))]
    #[case("ab\n", "a", 1, None)]
    #[case("a\n\nb\n", "", 2, None)]
    #[case("a", "a\nb", 1, None)]
    fn text_is_found_as_whole_lines(
        #[case] file: &str,
        #[case] text: &str,
        #[case] at: u32,
        #[case] line: Option<u32>,
    ) {
        let count = u32::try_from(split(text).count().max(1)).unwrap();
        let mut lines = Lines::new(at, count);
        lines.add(at, text);
        let file: Vec<&str> = split(file).collect();
        assert_eq!(lines.find(&file), line);
        assert_eq!(line.is_some_and(|line| lines.stand_at(&file, line)), line.is_some());
    }

    #[rstest]
    #[case::blank("x\n   \ny", true)]
    #[case::empty("x\n\ny", true)]
    #[case::text("x\nz\ny", false)]
    fn a_line_in_no_chunk_must_be_blank(#[case] file: &str, #[case] stands: bool) {
        let mut lines = Lines::new(7, 3);
        lines.add(7, "x");
        lines.add(9, "y\nbeyond the run");
        assert_eq!(lines.text(), "x\n\ny");
        let file: Vec<&str> = split(file).collect();
        assert_eq!(lines.stand_at(&file, 1), stands);
        assert_eq!(lines.find(&file), stands.then_some(1));
    }

    #[test]
    fn a_run_of_any_length_costs_what_is_known_of_it() {
        let mut lines = Lines::new(1, u32::MAX);
        lines.add(3, "x");
        assert_eq!((lines.text().as_str(), lines.last()), ("\n\nx", u32::MAX));
        assert_eq!(lines.find(&["x"]), None);
    }
}

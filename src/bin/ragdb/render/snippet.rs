//! The few lines of a chunk that show best why it was found.

use std::collections::HashSet;
use std::ops::Range;

use super::clean::{columns, width};

/// A snippet has at most this many lines.
const LINES: usize = 3;
/// A line takes at most this many terminal columns; a longer one is cut around its matches.
const COLUMNS: usize = 160;
/// So many columns stay before the first match of a line that is cut.
const LEAD: usize = 40;

/// A line of a snippet.
#[derive(Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// How many lines of the text stand before it.
    pub offset: usize,
    /// Its text in order, each piece with whether it matched.
    pub pieces: Vec<(&'a str, bool)>,
    /// Something was cut off before it.
    pub cut_before: bool,
    /// Something was cut off after it.
    pub cut_after: bool,
}

/// The lines around the best match: of all runs of lines, the one whose different matches weigh most, then with
/// most matches, then the first. A match weighs the square of its length, since long words are the rarer ones.
/// `highlights` are byte ranges of `text`, sorted and disjoint.
pub fn select<'a>(text: &'a str, highlights: &[Range<usize>]) -> Vec<Line<'a>> {
    let lines = lines(text);
    let within = |line: &Range<usize>| matches_in(line, highlights);
    let value = |first: usize| {
        let run = &lines[first..lines.len().min(first + LINES)];
        let found: Vec<String> = run.iter().flat_map(within).map(|range| text[range].to_lowercase()).collect();
        let different: HashSet<&String> = found.iter().collect();
        (different.iter().map(|word| word.len().pow(2)).sum::<usize>(), found.len())
    };
    let filled = |line: &Range<usize>| !text[line.clone()].trim().is_empty();
    let starts_well =
        |&line: &usize| filled(&lines[line]) && (highlights.is_empty() || !within(&lines[line]).is_empty());
    let candidates = (0..lines.len()).filter(starts_well);
    // `max_by_key` takes the last of equals, so the candidates run backwards.
    let Some(first) = candidates.rev().max_by_key(|&line| value(line)) else { return Vec::new() };
    let last = (first..lines.len().min(first + LINES)).rev().find(|&line| filled(&lines[line])).unwrap_or(first);
    (first..=last).map(|line| fit(text, line, &lines[line], &within(&lines[line]))).collect()
}

/// The byte ranges of the lines, without their line ends (LF, CR LF or CR, as spans count them).
fn lines(text: &str) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut start = 0;
    while let Some(length) = text[start..].find(['\n', '\r']) {
        let end = start + length;
        lines.push(start..end);
        start = end + if text[end..].starts_with("\r\n") { 2 } else { 1 };
    }
    lines.push(start..text.len());
    lines
}

/// The parts of `highlights` that fall into `line`.
fn matches_in(line: &Range<usize>, highlights: &[Range<usize>]) -> Vec<Range<usize>> {
    let first = highlights.partition_point(|range| range.end <= line.start);
    let overlapping = highlights[first..].iter().take_while(|range| range.start < line.end);
    overlapping.map(|range| range.start.max(line.start)..range.end.min(line.end)).collect()
}

fn fit<'a>(text: &'a str, offset: usize, line: &Range<usize>, matches: &[Range<usize>]) -> Line<'a> {
    let shown = if width(&text[line.clone()]) <= COLUMNS { line.clone() } else { cut(text, line, matches) };
    let mut pieces = Vec::new();
    let mut at = shown.start;
    for range in matches_in(&shown, matches) {
        pieces.extend([(&text[at..range.start], false), (&text[range.clone()], true)]);
        at = range.end;
    }
    pieces.push((&text[at..shown.end], false));
    pieces.retain(|(piece, _)| !piece.is_empty());
    Line { offset, pieces, cut_before: shown.start > line.start, cut_after: shown.end < line.end }
}

/// The part of a long line that holds most of its matches.
fn cut(text: &str, line: &Range<usize>, matches: &[Range<usize>]) -> Range<usize> {
    let window = |from: usize| {
        let start = back(text, line, from, LEAD);
        let mut used = 0;
        let length: usize = text[start..line.end]
            .chars()
            .take_while(|&character| {
                used += columns(character);
                used <= COLUMNS
            })
            .map(char::len_utf8)
            .sum();
        start..start + length
    };
    // Matches are in order and apart from each other, so both of their ends ascend.
    let full = |window: &Range<usize>| {
        let first = matches.partition_point(|range| range.start < window.start);
        matches.partition_point(|range| range.end <= window.end).saturating_sub(first)
    };
    let windows = matches.iter().map(|range| window(range.start));
    windows.rev().max_by_key(full).unwrap_or_else(|| window(line.start))
}

/// At most `room` columns before byte `from` of the line, moved on to the start of a word where there is one.
fn back(text: &str, line: &Range<usize>, from: usize, room: usize) -> usize {
    let mut used = 0;
    let lead: usize = text[line.start..from]
        .chars()
        .rev()
        .take_while(|&character| {
            used += columns(character);
            used <= room
        })
        .map(char::len_utf8)
        .sum();
    let start = from - lead;
    if start == line.start {
        return start;
    }
    text[start..from].find(char::is_whitespace).map_or(start, |space| {
        let rest = &text[start + space..from];
        from - rest.trim_start().len()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(text: &str, words: &[&str]) -> Vec<Range<usize>> {
        let mut found: Vec<_> = words
            .iter()
            .flat_map(|word| text.match_indices(word).map(|(start, part)| start..start + part.len()))
            .collect();
        found.sort_by_key(|range| range.start);
        found
    }

    fn shown(text: &str, words: &[&str]) -> Vec<String> {
        let line = |line: Line<'_>| {
            let mut out = format!("{}:{}", line.offset, if line.cut_before { "…" } else { "" });
            out.extend(
                line.pieces.iter().map(|(piece, hit)| if *hit { format!("<{piece}>") } else { (*piece).into() }),
            );
            out + if line.cut_after { "…" } else { "" }
        };
        select(text, &ranges(text, words)).into_iter().map(line).collect()
    }

    #[test]
    fn the_run_with_the_weightiest_different_matches_wins() {
        let text = "red red red\n\n\n\nred and blue\r\nplain\n\ntail\n";
        assert_eq!(shown(text, &["red", "blue"]), ["4:<red> and <blue>", "5:plain"]);
        assert_eq!(shown("how do\n\n\nlifetimes\n", &["how", "do", "lifetimes"]), ["3:<lifetimes>"]);
        assert_eq!(shown("old\rmac\r\rred", &["red"]), ["3:<red>"]);
    }

    #[test]
    fn without_matches_the_text_s_first_lines_are_shown() {
        assert_eq!(shown("\n\none\ntwo\nthree\nfour", &[]), ["2:one", "3:two", "4:three"]);
        assert!(shown("", &[]).is_empty());
        assert!(shown("\n \n", &[]).is_empty());
    }

    #[test]
    fn a_long_line_is_cut_around_its_matches() {
        let text = format!("{}needle {}", "filler ".repeat(50), "more ".repeat(100));
        let lines = shown(&text, &["needle"]);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("0:…filler filler"), "{}", lines[0]);
        assert!(lines[0].contains("<needle> more") && lines[0].ends_with('…'), "{}", lines[0]);
        assert!(width(&lines[0]) <= COLUMNS + 6, "{}", lines[0]);
    }

    #[test]
    fn a_long_line_without_spaces_is_cut_between_characters() {
        let text = format!("{}目标{}", "字".repeat(200), "文".repeat(200));
        let lines = shown(&text, &["目标"]);
        assert!(lines[0].contains("字<目标>文"), "{}", lines[0]);
        assert!(width(&lines[0]) <= COLUMNS + 6);
    }

    #[test]
    fn a_match_over_a_line_end_is_shown_on_both_lines() {
        assert_eq!(shown("say hello\nworld now", &["hello\nworld"]), ["0:say <hello>", "1:<world> now"]);
    }

    mod properties {
        use proptest::prelude::*;

        use super::*;

        proptest! {
            #[test]
            fn any_text_gives_lines_that_are_part_of_it(text in "[ab中\n\r\t é]{0,600}", word in "[ab中]") {
                let lines = select(&text, &ranges(&text, &[&word]));
                prop_assert!(lines.len() <= LINES);
                for line in lines {
                    let joined: String = line.pieces.iter().map(|(piece, _)| *piece).collect();
                    prop_assert!(text.contains(&joined));
                    prop_assert!(width(&joined) <= COLUMNS);
                }
            }
        }
    }
}

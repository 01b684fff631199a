//! The citations that a Markdown text holds: `path#L3-L6` in plain words, link destinations and code spans. Pure.
//!
//! Code blocks are left out: what they hold are examples. An address with `://` is none of ours, and a path ends at
//! white space, a bracket, a quotation mark or a comma, so that one that holds any of these is not found.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag};

/// A longer path is none.
const LONGEST_PATH: usize = 1024;
/// Quotations and lists times lines that the parser may walk through: well under a second.
const MOST_STEPS: usize = 1 << 28;
/// So many markers before a line are always left to the parser.
const DEEPEST: usize = 64;

/// A citation in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    /// As it stands there.
    pub written: String,
    /// What its path may be, the likeliest first: `see:keys.md` may name a source, or say `see`.
    pub paths: Vec<String>,
    /// The cited lines.
    pub lines: (u32, u32),
    /// The line of the text that it stands in, from 1.
    pub at_line: u32,
    /// It is the destination of a link.
    pub is_link: bool,
    /// The bytes of the digits of its lines: both, or one for both.
    pub digits: (Range<usize>, Option<Range<usize>>),
}

impl Mention {
    /// The same citation of other lines.
    pub(super) fn written_for(&self, lines: (u32, u32)) -> String {
        let path = self.written.rsplit_once("#L").map_or("", |it| it.0);
        match &self.digits.1 {
            Some(_) => format!("{path}#L{}-L{}", lines.0, lines.1),
            None => format!("{path}#L{}", lines.0),
        }
    }
}

/// The citations of a text, in order.
pub(super) fn mentions(text: &str) -> Vec<Mention> {
    if !text.contains("#L") {
        return Vec::new();
    }
    let mut blocks = code_blocks(text).into_iter().peekable();
    let mut found = Vec::new();
    let mut start = 0;
    for (line, at_line) in text.split_inclusive('\n').zip(1..) {
        for (at, _) in line.match_indices("#L") {
            while blocks.next_if(|block| block.end <= start + at).is_some() {}
            if blocks.peek().is_none_or(|block| start + at < block.start) {
                found.extend(mention(line, at, start, at_line));
            }
        }
        start += line.len();
    }
    found
}

/// The bytes of the code blocks of a text, in order.
fn code_blocks(text: &str) -> Vec<Range<usize>> {
    let tame = shallow(text);
    let events = Parser::new(&tame).into_offset_iter();
    events.filter_map(|(event, range)| matches!(event, Event::Start(Tag::CodeBlock(_))).then_some(range)).collect()
}

/// A text in which no line opens so many quotations and lists that the parser, which walks through all of them at each
/// line, would take too long: such lines have letters in place of their markers.
fn shallow(text: &str) -> Cow<'_, str> {
    let most = (MOST_STEPS / (text.matches('\n').count() + 1)).max(DEEPEST);
    let depth = |line: &str| line.bytes().take_while(|it| b" \t>-+*.)0123456789".contains(it)).count();
    if text.lines().all(|line| depth(line) <= most) {
        return Cow::Borrowed(text);
    }
    let lines = text.split_inclusive('\n').map(|line| {
        let depth = depth(line);
        if depth > most { "x".repeat(depth) + &line[depth..] } else { line.to_owned() }
    });
    Cow::Owned(lines.collect())
}

/// The citation whose `#L` stands at `at` in a line.
fn mention(line: &str, at: usize, line_start: usize, at_line: u32) -> Option<Mention> {
    let first = number(line, at + 2)?;
    let second = line[first.end..].starts_with("-L").then(|| number(line, first.end + 2)).flatten();
    let end = second.as_ref().map_or(first.end, |it| it.end);
    // Emphasis and strike-through may end here.
    let behind = line[end..].trim_start_matches(['_', '~']);
    let closing = &line[end..line.len() - behind.len()];
    let mut behind = behind.chars();
    let next = behind.next();
    let goes_on = |c: char| c.is_alphanumeric() || c == '_';
    if next.is_some_and(goes_on) || (next == Some('-') && behind.next().is_some_and(goes_on)) {
        return None;
    }
    let before = &line[..at];
    let near = before.char_indices().rev().take(LONGEST_PATH + 1);
    let path = near.take_while(|(_, c)| !ends_path(*c)).last().map(|(start, _)| start)?;
    // What is opened by the marks that end behind the citation is no part of the path.
    let opened = before[path..].starts_with(closing) && before.len() > path + closing.len();
    let (lead, path) = before.split_at(if opened { path + closing.len() } else { path });
    if path.len() > LONGEST_PATH || path.contains("://") || path.starts_with("//") || path.contains('#') {
        return None;
    }
    let read = |range: &Range<usize>| line[range.clone()].parse::<u32>().ok();
    let lines = (read(&first)?, second.as_ref().map_or_else(|| read(&first), read)?);
    if lines.0 == 0 || lines.1 < lines.0 {
        return None;
    }
    let bare = lead.strip_suffix('<').unwrap_or(lead);
    let shift = |range: Range<usize>| line_start + range.start..line_start + range.end;
    Some(Mention {
        written: line[lead.len()..end].to_owned(),
        paths: readings(path),
        lines,
        at_line,
        is_link: bare.ends_with("](") || bare.trim_end().ends_with("]:"),
        digits: (shift(first), second.map(shift)),
    })
}

/// The digits at a place: at most nine, so that they are a line number.
fn number(line: &str, at: usize) -> Option<Range<usize>> {
    let count = line[at..].bytes().take(10).take_while(u8::is_ascii_digit).count();
    (1..10).contains(&count).then(|| at..at + count)
}

/// What the characters before `#L` may name.
fn readings(written: &str) -> Vec<String> {
    let mut paths = vec![written.to_owned()];
    let behind_colon = written.rsplit_once([':', '：']).map(|it| it.1);
    // Chinese and Japanese put no space before a path.
    let ascii =
        written.rfind(|c: char| !c.is_ascii()).map(|at| written[at..].trim_start_matches(|c: char| !c.is_ascii()));
    // Emphasis may begin here and end later.
    let marked = written.trim_start_matches(['_', '~']);
    let marked = (marked.len() < written.len()).then_some(marked);
    for path in [behind_colon, ascii, marked].into_iter().flatten().filter(|path| !path.is_empty()) {
        paths.push(path.to_owned());
    }
    paths
}

fn ends_path(c: char) -> bool {
    c.is_whitespace() || c.is_control() || "()<>[]{}\"'`|*,;!?，。；、（）【】「」『』《》“”‘’！？".contains(c)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("See keys.md#L3-L6.", &[("keys.md#L3-L6", (3, 6), false)])]
    #[case("See `guide/keys.md#L3`, and (a.md#L1) too.", &[("guide/keys.md#L3", (3, 3), false), ("a.md#L1", (1, 1), false)])]
    #[case("[keys](../guide/keys.md#L3-L6 \"title\")", &[("../guide/keys.md#L3-L6", (3, 6), true)])]
    #[case("[keys](<keys.md#L3>)[a]( x.md#L4)", &[("keys.md#L3", (3, 3), true), ("x.md#L4", (4, 4), false)])]
    #[case("[keys]: keys.md#L3", &[("keys.md#L3", (3, 3), true)])]
    #[case("docs:keys.md#L3", &[("docs:keys.md#L3", (3, 3), false)])]
    #[case("参见keys.md#L3。", &[("参见keys.md#L3", (3, 3), false)])]
    #[case("https://example.org/a.md#L3 and //x/a.md#L3", &[])]
    #[case("#L3, a.md#L0, a.md#L6-L3, a.md#L3x, a.md#L3-5, a.md#L3-L, a.md#L1234567890", &[])]
    #[case("a.md#L3-L", &[])]
    #[case("a.md#L3- and a.md#L4-", &[("a.md#L3", (3, 3), false), ("a.md#L4", (4, 4), false)])]
    #[case("_keys.md#L3_ ~~keys.md#L4~~ __init__.py#L5", &[("keys.md#L3", (3, 3), false), ("keys.md#L4", (4, 4), false), ("__init__.py#L5", (5, 5), false)])]
    #[case("_see keys.md#L3_, ~~keys.md#L4 too~~, a.md#L3_x", &[("keys.md#L3", (3, 3), false), ("~~keys.md#L4", (4, 4), false)])]
    #[case("a.md#L3#L4", &[("a.md#L3", (3, 3), false)])]
    fn are_found_where_they_stand(#[case] text: &str, #[case] expected: &[(&str, (u32, u32), bool)]) {
        let found = mentions(text);
        let seen: Vec<_> = found.iter().map(|it| (it.written.as_str(), it.lines, it.is_link)).collect();
        assert_eq!(seen, expected);
        for it in &found {
            assert_eq!(text[it.digits.0.clone()], it.lines.0.to_string());
            assert!(it.digits.1.clone().is_none_or(|range| text[range] == it.lines.1.to_string()));
            assert_eq!(it.written_for(it.lines), it.written);
        }
    }

    #[test]
    fn fenced_blocks_are_examples() {
        let text = "a.md#L1\n```sh\nb.md#L1\n~~~\n``\n````\nc.md#L1 `x`\n  ~~~~\nd.md#L1\n~~~\n~~~~\n``` e.md#L1 ```\n";
        let found: Vec<_> = mentions(text).into_iter().map(|it| (it.written, it.at_line)).collect();
        assert_eq!(found, [("a.md#L1".into(), 1), ("c.md#L1".into(), 7), ("e.md#L1".into(), 12)]);
    }

    #[rstest]
    #[case::indented("a.md#L1\n\n    ```\n    b.md#L1\n\nc.md#L1\n", &["a.md#L1", "c.md#L1"])]
    #[case::in_a_list("- a.md#L1\n\n  ```\n  b.md#L1\n  ```\n\nc.md#L1\n", &["a.md#L1", "c.md#L1"])]
    #[case::closed_by_its_list("- ```\n  b.md#L1\n\nc.md#L1\n", &["c.md#L1"])]
    #[case::in_a_quotation("> ```\n> b.md#L1\n\nc.md#L1\n", &["c.md#L1"])]
    fn blocks_end_where_markdown_ends_them(#[case] text: &str, #[case] expected: &[&str]) {
        let found: Vec<_> = mentions(text).into_iter().map(|it| it.written).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn deep_nesting_takes_linear_time() {
        let begun = std::time::Instant::now();
        let text = format!("{}a\n{}\na.md#L1\n", "> ".repeat(1 << 17), "\n".repeat(1 << 17));
        assert_eq!(mentions(&text).len(), 1);
        assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
    }

    #[rstest]
    #[case("keys.md", &["keys.md"])]
    #[case("_keys.md", &["_keys.md", "keys.md"])]
    #[case("see:keys.md", &["see:keys.md", "keys.md"])]
    #[case("参见guide/keys.md", &["参见guide/keys.md", "guide/keys.md"])]
    #[case("参见：keys.md", &["参见：keys.md", "keys.md", "keys.md"])]
    #[case("指南/密钥.md", &["指南/密钥.md", ".md"])]
    fn a_path_may_be_read_in_several_ways(#[case] written: &str, #[case] expected: &[&str]) {
        assert_eq!(readings(written), expected);
    }

    #[test]
    fn hostile_texts_take_linear_time() {
        let begun = std::time::Instant::now();
        for unit in ["#L", "#L1", "a", "a#L1-L", "````", "x#L1-", "："] {
            let text = unit.repeat((1 << 15) / unit.len());
            assert!(mentions(&(text.clone() + "#L1")).len() < 2, "{unit}");
        }
        assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
    }
}

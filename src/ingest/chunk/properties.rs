//! What holds for every text and every policy, checked against counters written apart from the chunker.

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::*;

/// Each line of `source` without its terminator, as bytes of `source`.
fn lines(source: &str) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut chars = source.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\n' || c == '\r' {
            lines.push(start..at);
            if c == '\r' && chars.peek().is_some_and(|&(_, next)| next == '\n') {
                chars.next();
            }
            start = chars.peek().map_or(source.len(), |&(next, _)| next);
        }
    }
    if start < source.len() {
        lines.push(start..source.len());
    }
    lines
}

fn is_blank(line: &str) -> bool {
    line.chars().all(|c| c == ' ' || c == '\t')
}

/// The first and last lines (from 0) of each heading that stands in no other block.
fn headings(source: &str, body_start: usize, lines: &[Range<usize>]) -> Vec<(usize, usize)> {
    let mut unified: Vec<char> = source[body_start..].chars().collect();
    for at in 0..unified.len() {
        if unified[at] == '\r' && unified.get(at + 1) != Some(&'\n') {
            unified[at] = '\n';
        }
    }
    let unified: String = unified.into_iter().collect();
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_TASKLISTS;
    let mut depth = 0;
    let mut found = Vec::new();
    for (event, range) in Parser::new_ext(&unified, options).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 && matches!(tag, Tag::Heading { .. }) {
                    let line_of = |at: usize| {
                        let holds = |line: &Range<usize>| line.start.max(body_start) <= body_start + at;
                        lines.iter().rposition(holds).expect("a line")
                    };
                    let length = unified[range.clone()].trim_ascii_end().len();
                    found.push((line_of(range.start), line_of(range.start + length - 1)));
                }
                depth += 1;
            }
            Event::End(TagEnd::MetadataBlock(_)) => unreachable!("front matter is not the parser's"),
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    found
}

fn index(line: u32) -> usize {
    line as usize - 1
}

fn bytes(span: Span) -> Range<usize> {
    usize::try_from(span.start_byte).expect("in memory")..usize::try_from(span.end_byte).expect("in memory")
}

fn check(source: &str, policy: &ChunkPolicy, markdown: bool) -> Result<(), TestCaseError> {
    let chunk = if markdown { chunk_markdown } else { chunk_text };
    let chunked = chunk(source, 0, policy);
    prop_assert_eq!(&chunked, &chunk(source, 0, policy));
    let body_start = if source.starts_with('\u{feff}') { 3 } else { 0 };
    let mut lines = lines(source);
    if let Some(first) = lines.first_mut() {
        first.start = body_start;
    }
    let headings = if markdown { headings(source, body_start, &lines) } else { Vec::new() };

    let mut covered = 0;
    let mut previous: Option<Span> = None;
    for chunk in &chunked.chunks {
        let span = chunk.span;
        let (first, last) = (index(span.start_line), index(span.end_line));
        prop_assert!(first <= last && last < lines.len(), "{span:?} of {} lines", lines.len());
        prop_assert_eq!(bytes(span), lines[first].start..lines[last].end);
        let text = &source[bytes(span)];
        prop_assert!(!is_blank(&source[lines[first].clone()]) && !is_blank(&source[lines[last].clone()]));
        prop_assert!(first == last || text.chars().count() <= policy.max_chars as usize, "{text:?} is too long");

        let across = headings.iter().any(|&(heading, _)| first < heading && heading <= last);
        prop_assert!(!across, "a heading in {text:?}");
        let heading_only = headings.iter().any(|&(start, end)| start <= first && last <= end);
        prop_assert_eq!(chunk.heading_only, heading_only, "{:?}", text);
        prop_assert!(chunk.heading_path.len() <= 6);

        let gap = if first < covered {
            let previous = previous.expect("a chunk before");
            let repeated = &source[lines[first].start..bytes(previous).end];
            prop_assert!(repeated.chars().count() <= policy.overlap_chars as usize, "{repeated:?} is repeated");
            prop_assert!(previous.start_line < span.start_line && previous.end_line < span.end_line);
            prop_assert!(headings.iter().all(|&(_, end)| end < first || end > last));
            0..0
        } else {
            covered..first
        };
        prop_assert!(lines[gap].iter().all(|line| is_blank(&source[line.clone()])), "a line is lost before {text:?}");
        covered = last + 1;
        previous = Some(span);
    }
    prop_assert!(lines[covered..].iter().all(|line| is_blank(&source[line.clone()])), "a line is lost at the end");
    Ok(())
}

fn policies() -> impl Strategy<Value = ChunkPolicy> {
    let sizes = prop_oneof![1_u32..12, 8_u32..60, Just(1200)];
    (sizes, any::<u32>(), any::<u32>(), any::<bool>()).prop_map(|(max_chars, target, overlap, overlaps)| {
        let target_chars = 1 + target % max_chars;
        let overlap_chars = if overlaps { overlap % target_chars } else { 0 };
        ChunkPolicy { target_chars, max_chars, overlap_chars }
    })
}

fn documents() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "a",
        "word",
        "词语",
        "é",
        "e\u{301}",
        "👩‍💻",
        "\u{feff}",
        "\u{a0}",
        "\u{2028}",
        "\u{c}",
        "\0",
        "&amp;",
        "\\",
        "`",
        "``",
        "*",
        "_",
        "[",
        "]",
        "(x)",
        "[^1]",
        "![",
        "<b>",
        "<",
        "<!--",
        "-->",
        "{#id}",
        "|",
        "$",
        "~~",
    ]);
    let starts = prop::sample::select(vec![
        "", "", "", "# ", "## ", "###### ", "#", "=== ", "---", "- ", "* ", "1. ", "10) ", "> ", ">", "```", "````",
        "~~~", "<div>", "</div>", "<pre>", "<!--", "<?", "    ", "\t", "  ", "   ", "|-|-|", "| ", "[x]: ", "[^1]: ",
        "- [ ] ", "> - ", "- > ", "+++", "***",
    ]);
    let ends = prop::sample::select(vec!["\n", "\n", "\n\n", "\r\n", "\r\n\r\n", "\r", "\r\r", " \n", "\t\r\n", ""]);
    let line = (prop::collection::vec(starts, 0..4), prop::collection::vec(words, 0..5), any::<bool>(), ends);
    let line = line
        .prop_map(|(starts, words, spaced, end)| starts.concat() + &words.join(if spaced { " " } else { "" }) + end);
    (any::<bool>(), prop::collection::vec(line, 0..40))
        .prop_map(|(mark, lines)| if mark { "\u{feff}".to_owned() + &lines.concat() } else { lines.concat() })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_markdown_is_covered_by_whole_lines(source in documents(), policy in policies()) {
        check(&source, &policy, true)?;
    }

    #[test]
    fn any_text_is_covered_by_whole_lines(source in documents(), policy in policies()) {
        check(&source, &policy, false)?;
    }

    #[test]
    fn any_characters_are_covered_by_whole_lines(source in "(\\PC|[ \t\r\n#>`|=-]){0,120}", policy in policies()) {
        check(&source, &policy, true)?;
        check(&source, &policy, false)?;
    }
}

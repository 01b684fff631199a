//! A text as the pieces that may be claims: sentences of paragraphs, list items, table rows, headings, fenced blocks.
//! Every word of the text is in one piece, but those of lines that only list sources.

use std::ops::Range;

use super::marks::mark;

/// Words that end with a full stop and no sentence.
const ABBREVIATIONS: &[&str] = &[
    "e.g", "i.e", "vs", "cf", "mr", "mrs", "ms", "dr", "prof", "no", "nos", "fig", "figs", "eq", "sec", "ch", "approx",
    "resp", "incl", "excl", "st", "vol", "pp", "ed", "ca", "viz",
];

/// The most words of a title, and of each cell of a table's head.
const MOST_TITLE_WORDS: usize = 6;
/// The most characters of a title.
const MOST_TITLE_CHARS: usize = 60;

/// A piece of a text.
pub(super) struct Piece {
    pub range: Range<usize>,
    /// A heading or the head of a table that names and states nothing.
    pub is_title: bool,
}

/// The pieces of a text, in order, each without white space around it and without the marker of its block.
pub(super) fn split(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for block in blocks(text) {
        let is_title = block.above && is_title(&text[block.range.clone()]);
        let mut ranges = Vec::new();
        if block.whole {
            push(text, block.range, &mut ranges);
        } else {
            sentences(text, block.range, &mut ranges);
        }
        pieces.extend(ranges.into_iter().map(|range| Piece { range, is_title }));
    }
    pieces
}

/// Whether words that stand above others only name them: a few words without a number, that are no sentence.
fn is_title(text: &str) -> bool {
    let short = |cell: &str| cell.split_whitespace().count() <= MOST_TITLE_WORDS;
    text.split('|').all(short)
        && text.chars().filter(|c| *c != '|').take(MOST_TITLE_CHARS + 1).count() <= MOST_TITLE_CHARS
        && !text.contains(|c: char| c.is_numeric() || ends_sentence(c) && !matches!(c, '?' | '？'))
}

/// Whether a line only says which sources there are: `Sources: [S1], [S2]`.
fn lists_sources(line: &str) -> bool {
    const NAMES: [&str; 9] =
        ["sources", "source", "references", "reference", "citations", "citation", "来源", "参考", "引用"];
    let mut rest = line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_'));
    let Some(name) = NAMES.iter().find(|name| rest.get(..name.len()).is_some_and(|it| it.eq_ignore_ascii_case(name)))
    else {
        return false;
    };
    rest = &rest[name.len()..];
    loop {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '[' | '【'));
        match mark(rest, &[]) {
            Some(found) => rest = &rest[found.length..],
            None => return rest.is_empty(),
        }
    }
}

fn push(text: &str, range: Range<usize>, pieces: &mut Vec<Range<usize>>) {
    let piece = &text[range.clone()];
    let start = range.start + (piece.len() - piece.trim_start().len());
    let end = start + piece.trim().len();
    if text[start..end].contains(char::is_alphanumeric) {
        pieces.push(start..end);
    }
}

struct Block {
    range: Range<usize>,
    /// Not cut into sentences.
    whole: bool,
    /// A heading, or a table row with a line of dashes below it.
    above: bool,
}

/// Paragraphs, items, rows and fenced blocks.
fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut fence: Option<(&str, usize)> = None;
    let mut open = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let bare = line.trim_start();
        let fenced = ["```", "~~~"].into_iter().find(|it| bare.starts_with(it));
        if let Some((marker, begun)) = fence {
            if fenced == Some(marker) {
                blocks.push(Block { range: begun..start, whole: true, above: false });
                fence = None;
            }
            continue;
        }
        if let Some(marker) = fenced {
            fence = Some((marker, end));
            open = false;
            continue;
        }
        let rest = unmarked(bare);
        let begin = end - rest.len();
        let marked = rest.len() < bare.trim_start_matches(['>', ' ']).len();
        if rest.trim().is_empty() || lists_sources(rest) {
            open = false;
        } else if marked && bare.starts_with(['|', '#']) {
            let delimits = bare.starts_with('|') && !rest.contains(|c: char| !c.is_whitespace() && !"|-:".contains(c));
            if delimits && let Some(head) = blocks.last_mut().filter(|head| head.range.end == start) {
                head.above = text[..head.range.start].trim_end_matches([' ', '\t']).ends_with('|');
            }
            blocks.push(Block { range: begin..end, whole: true, above: bare.starts_with('#') });
            open = false;
        } else if open && !marked {
            if let Some(last) = blocks.last_mut() {
                last.range.end = end;
            }
        } else {
            blocks.push(Block { range: begin..end, whole: false, above: false });
            open = true;
        }
    }
    if let Some((_, begun)) = fence {
        blocks.push(Block { range: begun..text.len(), whole: true, above: false });
    }
    blocks
}

/// A line without the markers of quotations, list items, headings and table rows at its beginning.
fn unmarked(line: &str) -> &str {
    let mut rest = line;
    loop {
        let digits = rest.bytes().take(10).take_while(u8::is_ascii_digit).count();
        let behind = if rest.starts_with(['>', '|']) {
            &rest[1..]
        } else {
            let marks = rest.trim_start_matches('#');
            let marks = if marks.len() < rest.len() {
                Some(marks)
            } else if (1..10).contains(&digits) {
                rest[digits..].strip_prefix(['.', ')'])
            } else {
                rest.strip_prefix(['-', '*', '+', '•'])
            };
            match marks {
                Some(behind) if behind.starts_with(char::is_whitespace) => behind,
                _ => return rest,
            }
        };
        rest = behind.trim_start_matches([' ', '\t']);
    }
}

/// Cuts a block at the ends of its sentences, never inside a quotation or a code span.
fn sentences(text: &str, block: Range<usize>, pieces: &mut Vec<Range<usize>>) {
    let inside = enclosed(text, block.clone());
    let mut inside = inside.iter().peekable();
    let mut begin = block.start;
    let mut at = block.start;
    while let Some(c) = text[at..block.end].chars().next() {
        if let Some(range) = inside.next_if(|range| range.start <= at) {
            // A sentence may end with the quotation that ends it.
            at = range.end.max(at);
            let closed = text[..at].chars().rev().nth(1).is_some_and(ends_sentence);
            if !closed || !breaks(text, at, block.end) {
                continue;
            }
        } else {
            at += c.len_utf8();
            if !ends_sentence(c) || (c == '.' && is_abbreviation(&text[begin..at - 1])) {
                continue;
            }
            let rest = &text[at..block.end];
            at += rest.len() - rest.trim_start_matches(|c| ends_sentence(c) || closes(c)).len();
            if !is_wide(c) && !breaks(text, at, block.end) {
                continue;
            }
        }
        // Marks behind the end belong to what they follow.
        loop {
            let rest = &text[at..block.end];
            let trimmed = rest.trim_start();
            let Some(found) = mark(trimmed, &[]) else { break };
            at += rest.len() - trimmed.len() + found.length;
        }
        push(text, begin..at, pieces);
        begin = at;
    }
    push(text, begin..block.end, pieces);
}

/// Whether a sentence that ended before `at` may be followed by what stands there.
fn breaks(text: &str, at: usize, end: usize) -> bool {
    let rest = &text[at..end];
    rest.is_empty() || rest.starts_with(char::is_whitespace) || mark(rest, &[]).is_some()
}

fn ends_sentence(c: char) -> bool {
    matches!(c, '.' | '!' | '?') || is_wide(c)
}

fn is_wide(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '｡')
}

fn closes(c: char) -> bool {
    matches!(c, '"' | '\'' | '”' | '’' | ')' | ']' | '）' | '」' | '』' | '»' | '*' | '_')
}

/// Whether the words before a full stop end with an abbreviation or an initial.
fn is_abbreviation(before: &str) -> bool {
    let tail: String = before.chars().rev().take(10).collect::<Vec<_>>().into_iter().rev().collect();
    let word = tail.rsplit(|c: char| !c.is_alphanumeric() && c != '.').next().unwrap_or("");
    let initial = word.len() == 1 && word.starts_with(|c: char| c.is_ascii_uppercase());
    initial || ABBREVIATIONS.iter().any(|it| word.eq_ignore_ascii_case(it))
}

/// The quotations and code spans of a block, outermost, in order.
pub(super) fn enclosed(text: &str, block: Range<usize>) -> Vec<Range<usize>> {
    // For each opening character, whether one that closes it is still to come is known from its last place.
    let last = |c: char| text[block.clone()].rfind(c).map(|at| block.start + at);
    let pairs = [('"', '"'), ('“', '”'), ('「', '」'), ('『', '』'), ('«', '»'), ('`', '`')];
    let lasts = pairs.map(|(_, close)| last(close));
    let mut found = Vec::new();
    let mut at = block.start;
    while let Some(c) = text[at..block.end].chars().next() {
        let pair = pairs.iter().position(|(open, _)| *open == c);
        let behind = at + c.len_utf8();
        // Behind a letter or digit a straight mark closes, or means inches.
        let opens = c != '"' || !text[block.start..at].ends_with(char::is_alphanumeric);
        let closing = pair.filter(|pair| opens && lasts[*pair] >= Some(behind));
        if let Some(length) =
            closing.and_then(|pair| text[behind..block.end].find(pairs[pair].1).map(|it| it + pairs[pair].1.len_utf8()))
        {
            found.push(at..behind + length);
            at = behind + length;
        } else {
            at = behind;
        }
    }
    found
}

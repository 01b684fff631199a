//! The pieces of a chunk's text that can establish something alone: sentences, list items, rows of tables with their
//! headings, lines of code.

use std::ops::Range;

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its bytes in the text.
    pub(super) range: Range<usize>,
    /// What it says, on one line; a row of a table has the heading before each cell.
    pub(super) says: String,
}

struct Line<'a> {
    text: &'a str,
    start: usize,
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.split_inclusive('\n').scan(0, |offset, line| {
        let start = *offset;
        *offset += line.len();
        Some(Line { text: line.trim_end_matches(['\n', '\r']), start })
    })
}

/// The pieces of a text, in order.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut block: Option<Range<usize>> = None;
    let mut fence: Option<&str> = None;
    let mut header: Option<Vec<String>> = None;
    let mut lines = lines(text).peekable();
    let comments = comments(text);
    while let Some(line) = lines.next() {
        let comment = comments.get(comments.partition_point(|comment| comment.end <= line.start));
        if comment.is_some_and(|comment| comment.start <= line.start && line.start + line.text.len() < comment.end) {
            continue;
        }
        let body = line.text.trim_start_matches(|c: char| c.is_whitespace() || c == '>');
        let start = line.start + line.text.len() - body.len();
        let body = body.trim_end();
        let whole = start..start + body.len();
        let marker = ["```", "~~~"].into_iter().find(|marker| body.starts_with(marker));
        let row = body.contains('|') && (body.starts_with('|') || header.is_some() || cells(body).len() > 2);
        if !row {
            header = None;
        }
        let alone = fence.is_some() || marker.is_some() || row || body.is_empty() || body.starts_with('#');
        if alone || is_item(body) {
            sentences(text, block.take(), &mut pieces);
        }
        if let Some(open) = fence {
            if marker == Some(open) {
                fence = None;
            } else if !body.is_empty() {
                pieces.push(Piece { range: whole, says: body.to_owned() });
            }
        } else if marker.is_some() {
            fence = marker;
        } else if row {
            // A chunk may begin inside a table: its first row is no heading then.
            let ruled = lines.peek().is_some_and(|next| is_rule(next.text));
            let known = if header.is_none() && !ruled { Some(Vec::new()) } else { header.take() };
            header = Some(table_row(body, whole, known, &mut pieces));
        } else if alone {
            if !body.is_empty() {
                pieces.push(Piece { range: whole, says: body.trim_start_matches('#').trim().to_owned() });
            }
        } else {
            block = Some(block.map_or(whole.start, |block| block.start)..whole.end);
        }
    }
    sentences(text, block, &mut pieces);
    pieces
}

/// The sentence that introduces the list in which the piece with this index stands.
pub(super) fn lead_in<'a>(pieces: &'a [Piece], index: usize, text: &str) -> Option<&'a str> {
    let starts_item = |piece: &Piece| {
        let line = text[..piece.range.start].rfind('\n').map_or(0, |at| at + 1);
        is_item(text[line..piece.range.end].trim_start_matches(|c: char| c.is_whitespace() || c == '>'))
    };
    if !starts_item(pieces.get(index)?) {
        return None;
    }
    let lead = pieces[..index].iter().rev().find(|piece| !starts_item(piece))?;
    lead.says.trim_end_matches(['*', '_']).ends_with([':', '\u{ff1a}']).then_some(lead.says.as_str())
}

fn is_item(body: &str) -> bool {
    let numbered = body.trim_start_matches(|c: char| c.is_ascii_digit());
    let behind = if numbered.len() == body.len() {
        body.strip_prefix(['-', '*', '+', '•'])
    } else {
        numbered.strip_prefix(['.', ')', '、'])
    };
    behind.is_some_and(|rest| rest.starts_with(char::is_whitespace) || body.contains('、'))
}

fn cells(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = row.strip_suffix('|').unwrap_or(row);
    row.split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// Whether a line is the rule below a table's heading.
fn is_rule(line: &str) -> bool {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || c == '>');
    line.contains('-')
        && cells(line).iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| matches!(c, '-' | ':')))
}

/// The HTML comments of a text: nobody reads them as text.
fn comments(text: &str) -> Vec<Range<usize>> {
    let mut comments = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find("<!--").map(|at| from + at) {
        let end = text[start..].find("-->").map_or(text.len(), |at| start + at + 3);
        comments.push(start..end + 1);
        from = end;
    }
    comments
}

/// Adds a row, or keeps it as the table's heading; returns the heading of the rows that follow.
fn table_row(body: &str, whole: Range<usize>, header: Option<Vec<String>>, pieces: &mut Vec<Piece>) -> Vec<String> {
    let rule = is_rule(body);
    let cells = cells(body);
    let Some(header) = header else {
        pieces.push(Piece { range: whole, says: cells.join("; ") });
        return cells;
    };
    if !rule {
        let named = |(index, cell): (usize, &String)| match header.get(index).map(String::as_str) {
            None | Some("") => cell.clone(),
            Some(_) if index == 0 => cell.clone(),
            Some(name) => with_heading(name, cell),
        };
        pieces.push(Piece { range: whole, says: cells.iter().enumerate().map(named).collect::<Vec<_>>().join("; ") });
    }
    header
}

/// A cell under its heading. A heading such as `Period (days)` gives its unit to a cell that is only a number.
fn with_heading(name: &str, cell: &str) -> String {
    let number = !cell.is_empty() && cell.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '–'));
    let split = name.trim_end_matches([')', '\u{ff09}']).rsplit_once(['(', '\u{ff08}']);
    match split {
        Some((title, unit)) if number && name.ends_with([')', '\u{ff09}']) => format!("{} {cell} {unit}", title.trim()),
        _ => format!("{name} {cell}"),
    }
}

const ABBREVIATIONS: &str = " e.g i.e etc vs cf al dr mr mrs ms prof st fig figs no nos eq sec ch vol pp p approx ca inc ltd co \
    jan feb mar apr jun jul aug sep sept oct nov dec u.s u.k u.n ph.d a.m p.m resp incl excl max min dept est ";

/// What belongs to a sentence behind its end.
const CLOSERS: [char; 18] =
    ['.', '!', '?', '。', '\u{ff01}', '\u{ff1f}', '"', '\'', ')', ']', '”', '’', '」', '』', '\u{ff09}', '*', '_', '…'];

/// Splits a block of prose and adds its sentences.
fn sentences(text: &str, block: Option<Range<usize>>, pieces: &mut Vec<Piece>) {
    let Some(block) = block else { return };
    let prose = &text[block.clone()];
    let mut start = 0;
    let mut code = false;
    let mut chars = prose.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        code ^= c == '`';
        let end = at + c.len_utf8();
        let ends = match c {
            '。' | '\u{ff01}' | '\u{ff1f}' | '\u{ff61}' => true,
            '.' | '!' | '?' | '…' => !code && ends_here(prose, at, end),
            _ => false,
        };
        if !ends {
            continue;
        }
        let mut end = end;
        while let Some((next, c)) = chars.peek().copied() {
            if !CLOSERS.contains(&c) {
                break;
            }
            end = next + c.len_utf8();
            chars.next();
        }
        add(prose, start..end, block.start, pieces);
        start = end;
    }
    add(prose, start..prose.len(), block.start, pieces);
}

/// Whether a point ends its sentence: white space follows, no small letter behind that, and no abbreviation before.
fn ends_here(prose: &str, at: usize, end: usize) -> bool {
    let rest = prose[end..].trim_start_matches(CLOSERS);
    if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
        return false;
    }
    if rest.trim_start().chars().next().is_some_and(char::is_lowercase) {
        return false;
    }
    if rest.trim_start().is_empty() {
        return true;
    }
    let before = &prose[..at];
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(' || c == '[').next().unwrap_or_default();
    let initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    let short = word.len() <= 6 && ABBREVIATIONS.contains(&format!(" {} ", word.to_lowercase()));
    !(initial || short && !word.is_empty() && prose[at..].starts_with('.'))
}

fn add(prose: &str, range: Range<usize>, offset: usize, pieces: &mut Vec<Piece>) {
    let sentence = &prose[range.clone()];
    let body = sentence.trim();
    if body.is_empty() {
        return;
    }
    let start = offset + range.start + (sentence.len() - sentence.trim_start().len());
    let says = body.lines().map(|line| line.trim_start_matches(|c: char| c.is_whitespace() || c == '>').trim_end());
    pieces.push(Piece { range: start..start + body.len(), says: says.collect::<Vec<_>>().join(" ") });
}

//! Which chunks of a document are unsafe, given what the unsafe gate found in its text.

use std::collections::{HashMap, HashSet};

use crate::gate::unsafe_text;
use crate::model::{Span, Trust, UnsafeScope, line_ends};
use crate::store::findings::FindingRow;

/// What the gate finds in a file, with lines.
pub(super) fn findings(text: &str) -> Vec<FindingRow> {
    let (mut at, mut line) = (0, 1);
    let mut rows = Vec::new();
    for finding in unsafe_text::scan(text) {
        line += line_ends(text.as_bytes(), at..finding.range.start);
        at = finding.range.start;
        rows.push(FindingRow {
            rule: finding.rule.to_owned(),
            start_line: line,
            end_line: line + line_ends(text.as_bytes(), at..finding.range.end),
            start_byte: at as u64,
            end_byte: finding.range.end as u64,
        });
    }
    rows
}

/// What a prompt writes of a document beside the text of its chunks.
pub(super) struct Shown<'a> {
    pub path: &'a str,
    pub title: &'a str,
    /// Of each chunk, its place and the headings that it is shown with.
    pub headings: Vec<(Span, &'a [String])>,
}

/// The findings of a document, and which of them reach beyond their place.
pub(super) struct Found {
    pub rows: Vec<FindingRow>,
    /// Why every chunk is unsafe, also in the narrow scope.
    everywhere: Option<String>,
    /// Why the chunks with these headings are.
    headings: HashMap<String, String>,
}

impl Found {
    /// Adds what is found in the path, the title and the headings as a prompt writes them: a file says them in other
    /// bytes. Such a finding has the place of the first line that is shown with it.
    pub(super) fn new(mut rows: Vec<FindingRow>, text: &str, shown: &Shown<'_>) -> Self {
        let decoded = shown.path.replace("%20", " ");
        let start = Span { start_line: 1, end_line: 1, start_byte: 0, end_byte: text.len() as u64 };
        let mut reason = |shown: &str, span: Span| {
            let rule = unsafe_text::first_rule(shown)?;
            let known = rows.iter().find(|row| row.rule == rule).map(FindingRow::reason);
            Some(known.unwrap_or_else(|| {
                let row = first_line(text, span, rule);
                rows.push(row.clone());
                row.reason()
            }))
        };
        let mut everywhere = [&decoded, shown.title].into_iter().find_map(|shown| reason(shown, start));
        let mut headings: HashMap<String, String> = HashMap::new();
        let mut seen = HashSet::new();
        for (span, path) in &shown.headings {
            let line = path.join(HEADING_GAP);
            if path.is_empty() || seen.contains(&line) {
                continue;
            }
            // A phrase may end where a heading does.
            let mut whole = std::iter::once(&line).chain(path.iter().filter(|_| path.len() > 1));
            if let Some(reason) = whole.find_map(|shown| reason(shown, *span)) {
                headings.insert(line.clone(), reason);
            }
            seen.insert(line);
        }
        rows.sort_by(|a, b| (a.start_byte, &a.rule, a.end_byte).cmp(&(b.start_byte, &b.rule, b.end_byte)));
        if rows.len() >= unsafe_text::FINDINGS_AT_MOST {
            // There may be more than are kept, and anywhere.
            rows.truncate(unsafe_text::FINDINGS_AT_MOST);
            everywhere = everywhere.or_else(|| rows.first().map(FindingRow::reason));
        }
        Self { rows, everywhere, headings }
    }
}

/// The first line of a place, without its end.
fn first_line(text: &str, span: Span, rule: &str) -> FindingRow {
    let start = usize::try_from(span.start_byte).unwrap_or(text.len()).min(text.len());
    let line = text.get(start..).unwrap_or_default();
    let length = line.find(['\n', '\r']).unwrap_or(line.len()) as u64;
    FindingRow {
        rule: rule.to_owned(),
        start_line: span.start_line,
        end_line: span.start_line,
        start_byte: span.start_byte,
        end_byte: span.start_byte + length,
    }
}

/// What a prompt writes between two headings.
const HEADING_GAP: &str = " > ";

/// What makes chunks of one document unsafe.
pub(super) enum Marks<'a> {
    Nothing,
    /// Every chunk, for the document's first finding.
    All(String),
    /// The chunks that a finding stands in, or that are shown with one.
    Some(&'a Found),
}

impl<'a> Marks<'a> {
    pub(super) fn new(trust: Trust, scope: UnsafeScope, found: &'a Found) -> Self {
        match (trust, scope, found.rows.as_slice()) {
            (Trust::Reviewed, _, _) | (_, _, []) => Self::Nothing,
            (_, UnsafeScope::Document, [first, ..]) => Self::All(first.reason()),
            (_, UnsafeScope::Chunk, _) => Self::Some(found),
        }
    }

    /// Why the chunk with this place and these headings is unsafe.
    pub(super) fn reason(&self, span: Span, headings: &[String]) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::All(reason) => Some(reason.clone()),
            Self::Some(Found { rows, everywhere, headings: known }) => {
                let meets = |it: &&FindingRow| it.start_byte < span.end_byte && span.start_byte < it.end_byte;
                let inside = rows.iter().find(meets).map(FindingRow::reason);
                inside.or_else(|| everywhere.clone()).or_else(|| known.get(&headings.join(HEADING_GAP)).cloned())
            }
        }
    }
}

/// Whether a document has a finding that it had not: another rule, or another match of one.
pub(super) fn gained(old: &[FindingRow], new: &[FindingRow]) -> bool {
    let kind = |row: &FindingRow| (row.rule.clone(), row.end_byte - row.start_byte);
    let mut known: Vec<_> = old.iter().map(kind).collect();
    !new.iter().map(kind).all(|kind| {
        let place = known.iter().position(|known| *known == kind);
        place.map(|place| known.swap_remove(place)).is_some()
    })
}

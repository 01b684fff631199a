//! Which chunks of a document are unsafe, given what the unsafe gate found in its text.

use crate::gate::unsafe_text;
use crate::model::{Span, Trust, UnsafeScope};
use crate::store::findings::FindingRow;

/// What the gate finds in a file, with lines. A `\r\n`, a line feed and a lone carriage return end a line.
pub(super) fn findings(text: &str) -> Vec<FindingRow> {
    let (mut at, mut line) = (0, 1);
    let mut rows = Vec::new();
    for finding in unsafe_text::scan(text) {
        line += line_ends(text, at, finding.range.start);
        at = finding.range.start;
        rows.push(FindingRow {
            rule: finding.rule.to_owned(),
            start_line: line,
            end_line: line + line_ends(text, at, finding.range.end),
            start_byte: at as u64,
            end_byte: finding.range.end as u64,
        });
    }
    rows
}

fn line_ends(text: &str, from: usize, to: usize) -> u32 {
    let bytes = text.as_bytes();
    let ends = (from..to).filter(|&at| match bytes[at] {
        b'\n' => true,
        b'\r' => bytes.get(at + 1) != Some(&b'\n'),
        _ => false,
    });
    u32::try_from(ends.count()).unwrap_or(u32::MAX)
}

/// What makes chunks of one document unsafe.
pub(super) enum Marks<'a> {
    Nothing,
    /// Every chunk, for the document's first finding.
    All(String),
    /// The chunks that a finding stands in or whose title or headings have one.
    Some {
        findings: &'a [FindingRow],
        title: Option<String>,
    },
}

impl<'a> Marks<'a> {
    pub(super) fn new(trust: Trust, scope: UnsafeScope, findings: &'a [FindingRow], title: &str) -> Self {
        match (trust, scope, findings) {
            (Trust::Reviewed, _, _) | (_, _, []) => Self::Nothing,
            (_, UnsafeScope::Document, [first, ..]) => Self::All(first.reason()),
            // The title is indexed and shown with every chunk.
            (_, UnsafeScope::Chunk, findings) => Self::Some { findings, title: reason_of(title, findings) },
        }
    }

    /// Why the chunk with this place and these headings is unsafe.
    pub(super) fn reason(&self, span: Span, headings: &[String]) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::All(reason) => Some(reason.clone()),
            Self::Some { findings, title } => {
                let meets = |it: &&FindingRow| it.start_byte < span.end_byte && span.start_byte < it.end_byte;
                let inside = findings.iter().find(meets).map(FindingRow::reason);
                inside
                    .or_else(|| title.clone())
                    .or_else(|| headings.iter().find_map(|heading| reason_of(heading, findings)))
            }
        }
    }
}

/// Why a text that is shown with chunks elsewhere makes them unsafe: the first finding of the document by the rule that
/// matches in it, else the first finding.
fn reason_of(text: &str, findings: &[FindingRow]) -> Option<String> {
    let rule = unsafe_text::scan(text).first()?.rule;
    findings.iter().find(|finding| finding.rule == rule).or(findings.first()).map(FindingRow::reason)
}

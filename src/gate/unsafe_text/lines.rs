//! Where blocks of Markdown begin, line by line: enough to tell the start of a sentence, no parser.

use super::hidden::is_format;

/// What a line is, after the marks of quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    /// A heading, a rule, a fence: what follows is another block.
    Alone,
    /// A list item or a row of a table.
    Item,
    Text,
}

/// Remembers the line before.
pub(super) struct Lines {
    kind: Kind,
    is_quoted: bool,
}

impl Lines {
    /// At the first line of a text.
    pub(super) fn of(text: &str) -> Self {
        let mut lines = Self::after_blank();
        lines.next(text);
        lines
    }

    /// After an empty line.
    pub(super) fn after_blank() -> Self {
        Self { kind: Kind::Blank, is_quoted: false }
    }

    /// Takes the line that a text begins with: whether a block begins there, and how many bytes of indentation and
    /// quote marks come first.
    pub(super) fn next(&mut self, text: &str) -> (bool, usize) {
        let marks = text.bytes().take_while(|byte| matches!(byte, b' ' | b'\t' | b'>')).count();
        let is_quoted = text[..marks].contains('>');
        let kind = kind(text[marks..].trim_start_matches(|c| is_format(c) || c == ' ').as_bytes());
        let begins = kind != Kind::Text || self.kind == Kind::Blank || self.kind == Kind::Alone;
        let begins = begins || (is_quoted && !self.is_quoted);
        (self.kind, self.is_quoted) = (kind, is_quoted);
        (begins, marks)
    }
}

fn kind(line: &[u8]) -> Kind {
    let Some(&first) = line.first() else { return Kind::Blank };
    let run = |of: u8| line.iter().take_while(|byte| **byte == of).count();
    let ends = |at: usize| matches!(line.get(at), None | Some(b' ' | b'\t' | b'\r' | b'\n'));
    let is_rule = |of: u8| ends(run(of)) && run(of) >= 2;
    match first {
        b'\n' | b'\r' => Kind::Blank,
        b'#' if run(b'#') <= 6 && ends(run(b'#')) => Kind::Alone,
        b'`' | b'~' if run(first) >= 3 => Kind::Alone,
        b'-' | b'=' | b'*' | b'_' if is_rule(first) => Kind::Alone,
        b'-' | b'*' | b'+' if ends(1) => Kind::Item,
        b'|' => Kind::Item,
        b'0'..=b'9' => {
            let digits = line.iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
            let is_marker = matches!(line.get(digits), Some(b'.' | b')')) && ends(digits + 1);
            if is_marker { Kind::Item } else { Kind::Text }
        }
        _ => Kind::Text,
    }
}

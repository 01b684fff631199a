//! Text that can't drive a terminal.
//!
//! A document, a path or an error may hold escape sequences, or characters that reverse the reading order. In
//! text output each such character is shown as an escape (`\u{1b}`), in JSON as `\u001b`: the first is for
//! reading, the second keeps the value exact.

use std::fmt::{self, Write as _};

use unicode_width::UnicodeWidthChar as _;

/// Whether a character may change what a terminal does or the order in which it shows other characters. Newline
/// and tab count as harmless.
pub fn is_unsafe(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        // Direction marks and overrides; line and paragraph separator, where some viewers break the line.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => character.is_control(),
    }
}

/// Displays text over several lines: unsafe characters escaped, every line end (LF, CR LF, CR) as LF.
#[derive(Clone, Copy)]
pub struct Clean<'a>(pub &'a str);

impl fmt::Display for Clean<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(is_unsafe) {
            f.write_str(&rest[..at])?;
            let tail = &rest[at..];
            let Some(character) = tail.chars().next() else { break };
            match character {
                '\r' if tail.starts_with("\r\n") => {}
                '\r' => f.write_char('\n')?,
                _ => write!(f, "{}", character.escape_unicode())?,
            }
            rest = &tail[character.len_utf8()..];
        }
        f.write_str(rest)
    }
}

/// Text on one line: as [`Clean`], with newline, carriage return and tab as `\n`, `\r` and `\t`.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            _ if is_unsafe(character) => line.extend(character.escape_unicode()),
            _ => line.push(character),
        }
    }
    line
}

/// Replaces unsafe characters in a serialised JSON document by `\uXXXX`. They can only stand inside strings there,
/// so the document's value stays what it was.
pub fn json(document: &str) -> String {
    let mut safe = String::with_capacity(document.len());
    for character in document.chars() {
        if is_unsafe(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                // Writing to a String can't fail.
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(character);
        }
    }
    safe
}

/// How many terminal columns [`Clean`] gives a character.
pub fn columns(character: char) -> usize {
    if is_unsafe(character) { character.escape_unicode().count() } else { character.width().unwrap_or(1) }
}

/// How many terminal columns a line takes.
pub fn width(line: &str) -> usize {
    line.chars().map(columns).sum()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("plain\ttext\nnext", "plain\ttext\nnext")]
    #[case("a\u{1b}[31mb\u{9b}2J\u{7}", "a\\u{1b}[31mb\\u{9b}2J\\u{7}")]
    #[case("over\rwrite\r\nnext", "over\nwrite\nnext")]
    #[case("a\u{202e}b", "a\\u{202e}b")]
    #[case("中文 é 👩\u{200d}💻", "中文 é 👩\u{200d}💻")]
    fn text_is_shown_without_control(#[case] text: &str, #[case] shown: &str) {
        assert_eq!(Clean(text).to_string(), shown);
    }

    #[test]
    fn a_cell_stays_on_its_line() {
        assert_eq!(one_line("a\r\nb\tc\u{1b}"), "a\\r\\nb\\tc\\u{1b}");
    }

    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({"text": "a\u{1b}[0m\u{9b}\u{7f}\u{202e}中\n\t"});
        let safe = json(&value.to_string());
        assert!(!safe.contains(is_unsafe), "{safe:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).ok(), Some(value));
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(width("ab中文"), 6);
        assert_eq!(width("\u{1b}"), "\\u{1b}".len());
    }
}

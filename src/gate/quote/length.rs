//! How much a quote must say before it can show anything.
//!
//! A quote needs three words and twelve letters or digits. What white space parts is a word, whatever it is made of, so
//! an identifier, a path or a value alone is never enough. In scripts without spaces a character counts as half a word
//! and two letters; a syllable of Hangul as two letters. The one exception is a line that stands alone, a paragraph or
//! list item of its own that is no heading, or a whole row of a table, setting or line of a fenced block: half of it is enough, and
//! still never one word. A line of a wrapped paragraph is none of these.

use std::ops::Range;

use super::script::{Kind, kind};

/// Half words and letters that a quote needs.
const HALF_WORDS: usize = 6;
const LETTERS: usize = 12;

/// How much a text says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Length {
    half_words: usize,
    letters: usize,
}

impl Length {
    /// That of a text, as far as it matters.
    pub(super) fn of(text: &str) -> Self {
        let mut length = Self::default();
        let mut inside = false;
        for c in text.chars() {
            let (letters, starts_word) = match kind(c) {
                Kind::Run => {
                    length.half_words += 1;
                    inside = false;
                    (2, false)
                }
                Kind::Hangul => (2, true),
                Kind::Spaced | Kind::Katakana => (usize::from(c.is_alphanumeric()), c.is_alphanumeric()),
                Kind::Other => {
                    inside &= !c.is_whitespace() && c != '|';
                    (0, false)
                }
            };
            length.letters += letters;
            if starts_word && !inside {
                length.half_words += 2;
                inside = true;
            }
            if length.enough() {
                break;
            }
        }
        length
    }

    /// Whether a quote of this length can stand.
    pub(super) fn enough(self) -> bool {
        self.half_words >= HALF_WORDS && self.letters >= LETTERS
    }

    /// Whether it can stand as a line that stands alone.
    pub(super) fn enough_alone(self) -> bool {
        self.half_words > HALF_WORDS / 2 && self.letters >= LETTERS / 2
    }
}

/// Whether a range of a text is all of a line that stands alone: between blank lines or list items, and no heading.
pub(super) fn stands_alone(text: &str, range: &Range<usize>) -> bool {
    let (Some(before), Some(after)) = (text.get(..range.start), text.get(range.end..)) else { return false };
    let lead = before.rfind(['\n', '\r']).map_or(before, |at| &before[at + 1..]);
    let end = after.find(['\n', '\r']).unwrap_or(after.len());
    if !after[..end].trim().is_empty() || !is_marker(lead) {
        return false;
    }
    if lead.trim().is_empty() && is_record(before, &text[range.clone()], next_line(&after[end..])) {
        return true;
    }
    let previous = before[..before.len() - lead.len()].trim_end_matches([' ', '\t']);
    let item = !lead.trim().is_empty();
    let apart_above = previous.is_empty() || item || ends_blank(previous);
    let line = next_line(&after[end..]);
    apart_above && (line.trim().is_empty() || (item && begins_item(line.trim_start())))
}

/// The first line of a text behind the line end that it begins with.
fn next_line(text: &str) -> &str {
    let text = text.strip_prefix("\r\n").or_else(|| text.strip_prefix(['\n', '\r'])).unwrap_or(text);
    &text[..text.find(['\n', '\r']).unwrap_or(text.len())]
}

/// Whether a whole line is a row of a table below its head, a line of a fenced block, or a setting (`retries: 5`) that
/// is no part of a paragraph, and has a word.
fn is_record(before: &str, line: &str, next: &str) -> bool {
    if line.contains(['\n', '\r']) || !line.contains(char::is_alphabetic) {
        return false;
    }
    if line.len() > 1 && line.starts_with('|') && line.ends_with('|') {
        return !next.trim_start_matches(['|', ' ', '\t', ':']).starts_with('-');
    }
    let is_fence = |line: &str| line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
    if before.lines().filter(|line| is_fence(line)).count() % 2 == 1 {
        return true;
    }
    let is_setting = |line: &str| {
        line.split_once([':', '=']).is_some_and(|(name, _)| {
            let name = name.trim();
            !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphanumeric() || b"_-.".contains(&it))
        })
    };
    let apart = |line: &str| line.trim().is_empty() || is_setting(line) || is_fence(line);
    let previous = before.trim_end_matches([' ', '\t']);
    let previous = if ends_blank(previous) { "" } else { previous.lines().next_back().unwrap_or("") };
    is_setting(line) && apart(previous) && apart(next)
}

/// Whether a text that ends with a line end ends with a blank line.
fn ends_blank(text: &str) -> bool {
    let line = text.strip_suffix("\r\n").or_else(|| text.strip_suffix(['\n', '\r'])).unwrap_or(text);
    let line = line.rfind(['\n', '\r']).map_or(line, |at| &line[at + 1..]);
    line.trim().is_empty()
}

/// Whether what stands before the quote in its line is nothing but white space, or a list marker.
fn is_marker(lead: &str) -> bool {
    let lead = lead.trim();
    lead.is_empty() || (begins_item(lead) && !lead.contains(char::is_whitespace))
}

/// Whether a line without its indent begins with a list marker.
fn begins_item(line: &str) -> bool {
    let digits = line.bytes().take(10).take_while(u8::is_ascii_digit).count();
    if digits > 0 { line[digits..].starts_with(['.', ')']) } else { line.starts_with(['-', '*', '+']) }
}

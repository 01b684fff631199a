//! A text under the normalisations that were asked for, and the way back to its original bytes.

use std::iter::once;
use std::ops::Range;

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::Normalisation;
use super::script::{is_currency, is_gap, is_number, is_word};

/// A normalised text. Its units are the pieces that were normalised as one: a character with its marks, a run of white
/// space. Only whole units map back.
#[derive(Debug)]
pub(super) struct Shadow {
    /// The normalised text.
    pub text: String,
    units: Vec<Unit>,
}

#[derive(Clone, Copy, Debug)]
struct Unit {
    /// Where it begins in the normalised text.
    at: usize,
    /// Its bytes in the original.
    start: usize,
    end: usize,
}

/// A character that was not dropped, and its bytes in the original.
#[derive(Clone, Copy)]
struct Kept {
    c: char,
    start: usize,
    end: usize,
}

impl Shadow {
    pub(super) fn new(text: &str, allowed: &[Normalisation]) -> Self {
        let has = |it| allowed.contains(&it);
        let kept = kept(text, has(Normalisation::SoftHyphen));
        let mut shadow = Self { text: String::with_capacity(text.len()), units: Vec::with_capacity(kept.len()) };
        let mut at = 0;
        while let Some(first) = kept.get(at) {
            let unit = Unit { at: shadow.text.len(), start: first.start, end: first.end };
            let white = has(Normalisation::WhiteSpace) && first.c.is_whitespace();
            let belongs = |it: &Kept| {
                if white { it.c.is_whitespace() } else { has(Normalisation::Nfc) && composes(it.c) }
            };
            let more = kept[at + 1..].iter().take_while(|it| belongs(it)).count();
            let group = &kept[at..=at + more];
            let end = group.last().map_or(first.end, |last| last.end);
            if white {
                shadow.text.push(white_space(group, text.get(end..).unwrap_or("")));
            } else if more > 0 || (has(Normalisation::Nfc) && !first.c.is_ascii()) {
                let composed = shadow.text.len();
                shadow.text.extend(group.iter().map(|it| it.c).nfc());
                // A composed character that is a mark or dash of its own is looked at like any other.
                let single = shadow.text[composed..].chars().next().filter(|_| more == 0);
                if let Some(plain) = single.and_then(|c| plain(c, &kept, at, allowed)) {
                    shadow.text.truncate(composed);
                    shadow.text.push(plain);
                }
            } else {
                shadow.text.push(plain(first.c, &kept, at, allowed).unwrap_or(first.c));
            }
            shadow.units.push(Unit { end, ..unit });
            at += more + 1;
        }
        shadow
    }

    /// The bytes of the original text that a range of the normalised one stands for; none where it cuts a unit.
    pub(super) fn original(&self, range: Range<usize>) -> Option<Range<usize>> {
        let place = |at: usize| self.units.binary_search_by_key(&at, |unit| unit.at).ok();
        let first = place(range.start)?;
        let behind = if range.end == self.text.len() { self.units.len() } else { place(range.end)? };
        Some(self.units.get(first)?.start..self.units.get(behind.checked_sub(1)?)?.end)
    }
}

/// The characters of a text, perhaps without soft hyphens. One beside a digit or a sign stays: what it would join is
/// a number.
fn kept(text: &str, drop_soft_hyphens: bool) -> Vec<Kept> {
    let mut kept: Vec<Kept> = Vec::with_capacity(text.len());
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        if drop_soft_hyphens && c == '\u{ad}' {
            let before = kept.last().map_or('\n', |it| it.c);
            let after = chars.peek().map_or('\n', |(_, c)| *c);
            let inside = |c: char| c == '\u{ad}' || (is_word(c) && !is_number(c));
            if inside(before) && inside(after) {
                continue;
            }
        }
        kept.push(Kept { c, start, end: start + c.len_utf8() });
    }
    kept
}

/// Whether a character can change by composition with what stands before it.
fn composes(c: char) -> bool {
    !c.is_ascii() && (canonical_combining_class(c) != 0 || is_nfc_quick(once(c)) == IsNormalized::Maybe)
}

/// A run of white space: a space, or a line end where the run parts blocks. A quote that joins two blocks into one line
/// would say more than the source does: `5`, then a list item `- 3`, is not `5 - 3`.
fn white_space(run: &[Kept], after: &str) -> char {
    let mut lines = 0;
    let mut previous = ' ';
    for it in run {
        lines += match it.c {
            '\n' if previous == '\r' => 0,
            '\n' | '\r' | '\u{85}' | '\u{2028}' => 1,
            '\u{2029}' => 2,
            _ => 0,
        };
        previous = it.c;
    }
    if lines > 1 || (lines == 1 && begins_block(after)) { '\n' } else { ' ' }
}

/// Whether the rest of a text begins with the marker of a list item, quotation, heading, table row or fence.
fn begins_block(text: &str) -> bool {
    let digits = text.bytes().take(10).take_while(u8::is_ascii_digit).count();
    if (1..10).contains(&digits) {
        let rest = text.get(digits..).unwrap_or("");
        return rest.starts_with(['.', ')']) && rest[1..].starts_with(is_gap);
    }
    let marker = text.starts_with(['-', '*', '+', '#']);
    let marks = text.trim_start_matches(['-', '*', '+', '#']);
    text.starts_with(['>', '|'])
        || text.starts_with("```")
        || text.starts_with("~~~")
        || (marker && (marks.is_empty() || marks.starts_with(char::is_whitespace)))
}

/// What a character is replaced with, if anything.
fn plain(c: char, kept: &[Kept], at: usize, allowed: &[Normalisation]) -> Option<char> {
    match c {
        '\u{2018}'..='\u{201b}' if allowed.contains(&Normalisation::Quotes) => Some('\''),
        '\u{201c}'..='\u{201f}' if allowed.contains(&Normalisation::Quotes) => Some('"'),
        '\u{2010}'..='\u{2015}' if allowed.contains(&Normalisation::Dashes) => {
            let around = |at: Option<usize>| at.and_then(|at| kept.get(at)).map_or('\n', |it| it.c);
            let (before, after) = (around(at.checked_sub(1)), around(at.checked_add(1)));
            // Right before a number, and not between two words or numbers, it may be meant as a sign.
            let signs = is_number(after) || is_currency(after) || after == '.' || after == ',';
            (is_word(before) || !signs).then_some('-')
        }
        _ => None,
    }
}

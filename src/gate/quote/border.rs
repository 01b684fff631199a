//! Where a quote may begin and end: never inside a character, a word, an identifier or a number, never between a number
//! and its sign, currency or percent, never behind a negation that is part of the word.
//!
//! Each rule looks at a few characters around one place, so that it costs the same in any text. Where a rule can't tell
//! (`1 500` may be one number or two), it is a cut: a refused quote can be made longer, an altered one is a lie.

use super::script::{
    Kind, extends, is_currency, is_dash, is_format, is_gap, is_hyphen, is_number, is_regional, is_word, kind,
};
use super::words::{denied_behind, part_of_number};

/// What a place in a text would cut in two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// A character and its marks, a sequence of joined characters, or a marker of Markdown.
    Character,
    /// A word or an identifier.
    Word,
    /// A number, or a number and what belongs to it.
    Number,
    /// A negation and the word that it denies.
    Negation,
}

impl Cut {
    /// What is cut, in words.
    pub(super) const fn what(self) -> &'static str {
        match self {
            Self::Character => "a character or a marker",
            Self::Word => "a word or identifier",
            Self::Number => "a number, or its sign, currency, percent or range",
            Self::Negation => "a negation from its word",
        }
    }
}

/// How many characters on each side are looked at.
const WINDOW: usize = 5;

/// What stands around a place, nearest first; beyond the text there are line ends.
struct Around<'a> {
    left: [char; WINDOW],
    right: [char; WINDOW],
    /// The same without single spaces.
    left_close: [char; 2],
    right_close: [char; 2],
    before: &'a str,
    after: &'a str,
}

fn window(chars: impl Iterator<Item = char>) -> [char; WINDOW] {
    let mut window = ['\n'; WINDOW];
    for (slot, c) in window.iter_mut().zip(chars) {
        *slot = c;
    }
    window
}

/// The first two characters of a window, each perhaps behind one space.
fn close(window: [char; WINDOW]) -> [char; 2] {
    let first = usize::from(is_gap(window[0]));
    let second = first + 1 + usize::from(is_gap(window[first + 1]));
    [window[first], window[second]]
}

/// What would be cut by a border at byte `at`, which is a character border of `text`.
pub(super) fn cut(text: &str, at: usize) -> Option<Cut> {
    let (before, after) = (text.get(..at)?, text.get(at..)?);
    if before.is_empty() || before == "\u{feff}" || after.is_empty() {
        return None;
    }
    let (left, right) = (window(before.chars().rev()), window(after.chars()));
    let around = Around { left, right, left_close: close(left), right_close: close(right), before, after };
    if around.cuts_character() {
        Some(Cut::Character)
    } else if around.cuts_number() {
        Some(Cut::Number)
    } else if around.cuts_word() {
        Some(Cut::Word)
    } else {
        around.cuts_negation().then_some(Cut::Negation)
    }
}

impl Around<'_> {
    fn cuts_character(&self) -> bool {
        let (l, r) = (self.left[0], self.right[0]);
        let joined = is_regional(l) && is_regional(r);
        let marker = l == r && matches!(l, '`' | '~' | '*' | '#');
        let breaks = l == '\r' && r == '\n';
        extends(r) || is_format(l) || is_format(r) || joined || marker || breaks || self.cuts_list_marker()
    }

    /// `1|. Item`, `1.| Item`.
    fn cuts_list_marker(&self) -> bool {
        let ([l, ..], [r, r2, ..]) = (self.left, self.right);
        let before = match (l, r) {
            (_, '.' | ')') if is_gap(r2) => self.before,
            ('.' | ')', _) if is_gap(r) => &self.before[..self.before.len() - 1],
            _ => return false,
        };
        let digits = before.bytes().rev().take(10).take_while(u8::is_ascii_digit).count();
        let lead = before[..before.len() - digits].trim_end_matches([' ', '\t', '>']);
        (1..10).contains(&digits) && (lead.is_empty() || lead.ends_with(['\n', '\r']))
    }

    fn cuts_word(&self) -> bool {
        let ([l, l2, ..], [r, r2, ..]) = (self.left, self.right);
        let base = self.left.into_iter().find(|c| !extends(*c)).unwrap_or(l);
        let (left, right) = (kind(base), kind(r));
        let (word_left, word_right) =
            (!matches!(left, Kind::Other | Kind::Run), !matches!(right, Kind::Other | Kind::Run));
        if word_left && left == right {
            return true;
        }
        // What joins words to the left of the place: `non-|negative`, `can'|t`, `std::|vector`, `.|gitignore`.
        let joined_left = is_hyphen(l)
            || (is_apostrophe(l) && is_word(l2))
            || match l {
                ':' => is_word(l2) || l2 == ':',
                '.' | '~' => l2 != l,
                '>' => l2 == '-',
                '/' | '\\' | '#' | '@' | '$' | '&' | '%' | '^' | '=' | '+' => true,
                _ => false,
            };
        // And to its right: `non|-negative`, `can|'t`, `std|::vector`, `C|++`.
        let joined_right = is_hyphen(r)
            || (is_apostrophe(r) && is_word(r2))
            || match r {
                '.' | '/' | '\\' | '@' | '$' | '&' | '%' | '~' => spaced(r2),
                ':' => spaced(r2) || r2 == ':',
                '=' => spaced(r2) || r2 == '=',
                '!' => r2 == '=',
                '+' | '#' | '^' => true,
                _ => false,
            };
        (joined_left && word_right) || (joined_right && word_left)
    }

    fn cuts_number(&self) -> bool {
        let ([l, l2, ..], [r, r2, ..]) = (self.left, self.right);
        if is_number(l) && is_number(r) {
            return true;
        }
        let ([lc, lc2], [rc, rc2]) = (self.left_close, self.right_close);
        if is_number(r)
            && ((separates(l) && is_number(l2)) || prefixes(l) || (l, l2) == ('之', '分') || (l == '>' && lc2 == '\n'))
        {
            return true;
        }
        if is_number(l) && ((separates(r) && is_number(r2)) || (r, r2) == ('分', '之') || "年月日号點点′″".contains(r))
        {
            return true;
        }
        if (l, r) == ('分', '之') || (is_number(l2) && "年月".contains(l) && is_number(r)) {
            return true;
        }
        // With or without a space between: `5 %`, `$ 5`, `≥ 5`, `5 - 10`, `3 × 10`.
        (is_number(rc) && (is_currency(lc) || compares(lc) || (is_less_or_more(lc) && lc2 != '\n')))
            || (is_number(lc) && (is_currency(rc) || suffixes(rc)))
            || (is_number(lc) && ranges(rc) && is_number(rc2))
            || (ranges(lc) && is_number(lc2) && is_number(rc))
            || self.cuts_group()
            || part_of_number(self.before, self.after)
    }

    /// `1| 500`, `1 |500`: groups of digits with a space between.
    fn cuts_group(&self) -> bool {
        let (left, right) = (self.before.trim_end_matches(is_gap), self.after.trim_start_matches(is_gap));
        if self.before.len() - left.len() + self.after.len() - right.len() > 3 {
            return false;
        }
        let digits = |it: &mut dyn Iterator<Item = char>| it.take(4).take_while(char::is_ascii_digit).count();
        let first = digits(&mut left.chars().rev());
        let second = digits(&mut right.chars());
        let (l, r) = (self.left[0], self.right[0]);
        (is_gap(l) != is_gap(r)) && (1..=3).contains(&first) && second == 3
    }

    fn cuts_negation(&self) -> bool {
        let ([l, l2, ..], r) = (self.left, self.right[0]);
        let denied = "不没沒未非无無勿莫否".contains(l) || (l == '有' && "没沒".contains(l2));
        (denied && is_word(r)) || denied_behind(self.before, self.after)
    }
}

fn spaced(c: char) -> bool {
    kind(c) == Kind::Spaced
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}' | '\u{2bc}' | '＇')
}

/// Stands between the digits of one number, date or time.
fn separates(c: char) -> bool {
    matches!(
        c,
        '.' | ',' | '\'' | '\u{2019}' | ':' | '/' | '_' | '·' | '٫' | '٬' | '，' | '．' | '：' | '／' | '点' | '點'
    ) || matches!(c, '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}')
}

/// Stands between the ends of a range.
fn ranges(c: char) -> bool {
    is_dash(c) || matches!(c, '至' | '到')
}

/// Belongs to the number right behind it.
fn prefixes(c: char) -> bool {
    is_dash(c)
        || is_currency(c)
        || compares(c)
        || matches!(c, '+' | '＋' | '.' | '<' | '=' | '^' | '#' | '√' | '负' | '負' | '第' | '§' | '№')
}

/// Says how a number is meant, also with a space behind it.
fn compares(c: char) -> bool {
    matches!(c, '±' | '∓' | '\u{2212}' | '≤' | '≥' | '≦' | '≧' | '≈' | '≠' | '∼' | '≪' | '≫' | '×')
}

fn is_less_or_more(c: char) -> bool {
    matches!(c, '<' | '>')
}

/// Belongs to the number before it, also with a space between.
fn suffixes(c: char) -> bool {
    matches!(c, '%' | '％' | '‰' | '‱' | '°' | '℃' | '℉' | '×' | '^' | '¼'..='¾' | '⅐'..='⅞')
}

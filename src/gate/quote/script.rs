//! What characters are to quotes: letters and digits of words, marks that belong to the character before them, numerals.

use unicode_normalization::char::is_combining_mark;

/// Which characters make words together: only two of the same kind do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters, digits and marks of scripts that put spaces between words, and the low line.
    Spaced,
    /// Katakana, which spells loan words as Latin letters do.
    Katakana,
    /// Hangul.
    Hangul,
    /// Han, Hiragana, Thai and others without spaces: a border may stand between any two characters.
    Run,
    /// No part of a word.
    Other,
}

/// The kind of a character.
pub(super) fn kind(c: char) -> Kind {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => Kind::Spaced,
        '\0'..='\u{a9}' => Kind::Other,
        '\u{30a1}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' => Kind::Katakana,
        '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' | '\u{a960}'..='\u{a97c}' | '\u{ac00}'..='\u{d7fb}' => {
            Kind::Hangul
        }
        '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{309f}'
        | '\u{3105}'..='\u{312f}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{0e00}'..='\u{0eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{20000}'..='\u{3ffff}' => Kind::Run,
        _ if c.is_alphanumeric() || is_combining_mark(c) => Kind::Spaced,
        _ => Kind::Other,
    }
}

/// Whether a character is part of a word.
pub(super) fn is_word(c: char) -> bool {
    kind(c) != Kind::Other
}

/// Whether a character belongs to the one before it: accents, variation selectors, skin tones, tags.
pub(super) fn extends(c: char) -> bool {
    !c.is_ascii()
        && (is_combining_mark(c) || matches!(c, '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0020}'..='\u{e007f}' | '\u{200d}'))
}

/// Whether a character has no shape of its own and ties or parts its neighbours: joiners, soft hyphens, direction marks.
pub(super) fn is_format(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Half of a flag.
pub(super) fn is_regional(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

/// Whether a character is a digit or a numeral, full-width and Chinese ones included.
pub(super) fn is_number(c: char) -> bool {
    c.is_ascii_digit() || (!c.is_ascii() && (c.is_numeric() || is_han_number(c)))
}

fn is_han_number(c: char) -> bool {
    "零〇一二三四五六七八九十百千万萬亿億兆两兩廿卅".contains(c)
}

/// Whether a character is a hyphen that joins words.
pub(super) fn is_hyphen(c: char) -> bool {
    matches!(c, '-' | '\u{2010}' | '\u{2011}')
}

/// Whether a character is a dash, a minus sign or a tilde: a sign before a number, a range between two.
pub(super) fn is_dash(c: char) -> bool {
    matches!(c, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '~' | '～' | '－')
}

/// Whether a character is white space that can stand inside a line.
pub(super) fn is_gap(c: char) -> bool {
    c == ' ' || c == '\t' || (!c.is_ascii() && c.is_whitespace() && !matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}'))
}

/// Whether a character is the sign of a currency.
pub(super) fn is_currency(c: char) -> bool {
    matches!(c, '$' | '¢'..='¥' | '\u{20a0}'..='\u{20cf}' | '＄' | '￠' | '￡' | '￥' | '￦' | '元' | '圆' | '圓' | '円' | '원')
}

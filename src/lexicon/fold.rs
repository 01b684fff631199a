//! Characters to the form in which they are compared: NFKC, lower case, without accents. Knows nothing of words.
//!
//! The unit of folding is a *cluster*: a character with the combining characters behind it, so that text in NFD
//! (as macOS writes it) folds like text in NFC. A cluster's folding never depends on its neighbours.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// What a character is to the lexer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Class {
    /// Ends a word: white space, punctuation, most symbols.
    Separator,
    /// A lower-case letter.
    Lower,
    /// An upper-case letter.
    Upper,
    /// A digit or another number.
    Digit,
    /// A letter without case, or a mark that belongs to a word.
    Letter,
    /// A character of a script that is written without spaces; such runs become single characters and pairs.
    Run,
    /// A pictograph: a term of its own.
    Symbol,
    /// Neither part of a word nor its end: soft hyphen, joiners, variation selectors, accents.
    Ignorable,
}

impl Class {
    /// Whether a character of this class is part of a word.
    pub(super) fn is_word(self) -> bool {
        matches!(self, Self::Lower | Self::Upper | Self::Digit | Self::Letter)
    }

    fn from_bits(bits: u32) -> Self {
        match bits {
            1 => Self::Lower,
            2 => Self::Upper,
            3 => Self::Digit,
            4 => Self::Letter,
            5 => Self::Run,
            6 => Self::Symbol,
            7 => Self::Ignorable,
            _ => Self::Separator,
        }
    }
}

/// The class of one character as it stands in a text.
pub(super) fn class_of(c: char) -> Class {
    match c {
        'a'..='z' => Class::Lower,
        'A'..='Z' => Class::Upper,
        '0'..='9' => Class::Digit,
        '\0'..='\u{a9}' => Class::Separator,
        '\u{4e00}'..='\u{9fff}' => Class::Run,
        _ if is_run(c) => Class::Run,
        _ if is_ignorable(c) => Class::Ignorable,
        _ if is_pictograph(c) => Class::Symbol,
        _ if c.is_lowercase() => Class::Lower,
        _ if c.is_uppercase() => Class::Upper,
        _ if c.is_numeric() => Class::Digit,
        _ if c.is_alphabetic() || is_combining_mark(c) => Class::Letter,
        _ => Class::Separator,
    }
}

/// Han, Kana, Bopomofo, Hangul, and the South-East Asian scripts without spaces (Thai, Lao, Myanmar, Khmer).
fn is_run(c: char) -> bool {
    matches!(c,
        '\u{0e01}'..='\u{0e3a}' | '\u{0e40}'..='\u{0e4e}' | '\u{0e81}'..='\u{0ece}' | '\u{0edc}'..='\u{0edf}'
        | '\u{1000}'..='\u{103f}' | '\u{1050}'..='\u{108f}' | '\u{1780}'..='\u{17d3}'
        | '\u{1100}'..='\u{11ff}' | '\u{a960}'..='\u{a97c}' | '\u{ac00}'..='\u{d7fb}'
        | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{3096}' | '\u{3099}' | '\u{309a}' | '\u{309d}'..='\u{309f}'
        | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{3105}'..='\u{312f}' | '\u{3131}'..='\u{318e}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}'
        | '\u{1b000}'..='\u{1b16f}' | '\u{20000}'..='\u{3ffff}')
}

fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{640}' | '\u{200c}'..='\u{200f}' | '\u{2060}' | '\u{feff}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0100}'..='\u{e01ef}')
        || is_accent(c)
}

fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}')
}

/// Letters that only Vietnamese has. Their marks tell words apart that have nothing in common, and measured on
/// Vietnamese questions they are worth two hundredths of nDCG; the accents of all other Latin letters are dropped.
fn is_vietnamese(c: char) -> bool {
    matches!(c, '\u{1ea0}'..='\u{1ef9}' | 'ơ' | 'Ơ' | 'ư' | 'Ư')
}

/// A mark that is dropped: an accent, a Hebrew point, an Arabic vowel sign. The vowel signs of Indic scripts and
/// the voicing marks of Kana are not: they make other words.
fn is_accent(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}'
        | '\u{5c4}' | '\u{5c5}' | '\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{670}'
        | '\u{6d6}'..='\u{6dc}' | '\u{6df}'..='\u{6e4}' | '\u{6e7}' | '\u{6e8}' | '\u{6ea}'..='\u{6ed}'
        | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20f0}' | '\u{fe20}'..='\u{fe2f}')
}

/// Whether `c` is a character of a run, three bytes long, that folds to itself and changes no character before it:
/// a common Han character, Kana or Hangul syllable.
pub(super) fn stands_alone(c: char) -> bool {
    matches!(c,
        '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}

/// Whether `c` may change what the character before it becomes.
pub(super) fn extends(c: char) -> bool {
    c >= '\u{300}'
        && !('\u{400}'..='\u{482}').contains(&c)
        && !stands_alone(c)
        && (is_combining_mark(c) || matches!(c, '\u{1160}'..='\u{11ff}' | '\u{ff9e}' | '\u{ff9f}'))
}

/// Letters that no decomposition reaches, as they are usually typed without them.
fn respell(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' | 'ẞ' => "ss",
        'æ' | 'Æ' => "ae",
        'œ' | 'Œ' => "oe",
        'ø' | 'Ø' => "o",
        'đ' | 'Đ' | 'ð' | 'Ð' => "d",
        'ł' | 'Ł' => "l",
        'ħ' | 'Ħ' => "h",
        'ı' => "i",
        'þ' | 'Þ' => "th",
        'ς' => "σ",
        'ى' => "ي",
        'ة' => "ه",
        _ => return None,
    })
}

/// Folds one cluster; `emit` gets each folded character with the class of the character that it came from.
fn fold_cluster(cluster: &str, mut emit: impl FnMut(char, Class)) {
    for composed in cluster.nfkc() {
        let class = class_of(composed);
        let decomposes =
            (composed < '\u{700}' || ('\u{1e00}'..'\u{2000}').contains(&composed)) && !is_vietnamese(composed);
        match class {
            Class::Ignorable => {}
            Class::Separator | Class::Run | Class::Symbol => emit(composed, class),
            _ if decomposes => std::iter::once(composed).nfd().filter(|&c| !is_accent(c)).for_each(|base| {
                if let Some(letters) = respell(base) {
                    letters.chars().for_each(|c| emit(c, class));
                } else {
                    base.to_lowercase().filter(|&c| !is_accent(c)).for_each(|c| emit(c, class));
                }
            }),
            _ => composed.to_lowercase().for_each(|c| emit(c, class)),
        }
    }
}

/// Folds clusters, remembering those of one common character.
pub(super) struct Folder {
    /// By code point below [`Folder::CACHED`]: 0 unknown, else `KNOWN`, perhaps `COMPLEX`, class and character.
    cache: Vec<u32>,
}

impl Folder {
    const CACHED: u32 = 0x2000;
    const KNOWN: u32 = 1 << 31;
    const COMPLEX: u32 = 1 << 30;
    const CLASS_SHIFT: u32 = 24;
    const CHAR_MASK: u32 = (1 << 21) - 1;

    pub(super) fn new() -> Self {
        Self { cache: vec![0; Self::CACHED as usize] }
    }

    /// Folds one cluster; an ignorable one emits nothing.
    pub(super) fn fold(&mut self, cluster: &str, mut emit: impl FnMut(char, Class)) {
        let mut chars = cluster.chars();
        if let (Some(only), None) = (chars.next(), chars.next())
            && u32::from(only) < Self::CACHED
        {
            let slot = &mut self.cache[u32::from(only) as usize];
            if *slot == 0 {
                *slot = Self::describe(cluster);
            }
            if *slot & Self::COMPLEX == 0 {
                let class = Class::from_bits((*slot >> Self::CLASS_SHIFT) & 7);
                if class != Class::Ignorable {
                    emit(char::from_u32(*slot & Self::CHAR_MASK).unwrap_or(only), class);
                }
                return;
            }
        }
        fold_cluster(cluster, emit);
    }

    fn describe(cluster: &str) -> u32 {
        let (mut count, mut packed) = (0, (Class::Ignorable as u32) << Self::CLASS_SHIFT);
        fold_cluster(cluster, |c, class| {
            count += 1;
            packed = (class as u32) << Self::CLASS_SHIFT | u32::from(c);
        });
        Self::KNOWN | packed | if count > 1 { Self::COMPLEX } else { 0 }
    }
}

/// The end of the cluster that starts at `start`, where a character starts too. At most 32 characters, so that a
/// pile of accents costs no more than its length.
pub(super) fn cluster_end(text: &str, start: usize) -> usize {
    let mut chars = text[start..].char_indices();
    chars.next();
    chars
        .enumerate()
        .find(|(count, (_, c))| *count >= 31 || !extends(*c))
        .map_or(text.len(), |(_, (offset, _))| start + offset)
}

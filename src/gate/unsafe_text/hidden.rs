//! Characters that are not seen: which of them there are, and the rules that look for them in the text itself.

use std::ops::Range;

pub(super) const BLACK_FLAG: char = '\u{1F3F4}';
pub(super) const CANCEL_TAG: char = '\u{E007F}';

/// So many invisible characters on end carry a message: joiners stand alone, and no emoji needs as many.
const LONGEST_RUN: usize = 4;

/// So much of what an override turns is looked at, in characters.
const OVERRIDE_LOOKED_AT: usize = 200;

/// A rule in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detector {
    /// Tag characters that are not those of a flag.
    Tags,
    /// Overrides of the writing direction: the text shown is not the text read.
    Bidi,
    /// Long runs of invisible characters.
    ZeroWidth,
}

impl Detector {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "tags" => Some(Self::Tags),
            "bidi" => Some(Self::Bidi),
            "zero_width" => Some(Self::ZeroWidth),
            _ => None,
        }
    }

    /// Each place, in order.
    pub(super) fn find(self, text: &str) -> impl Iterator<Item = Range<usize>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            while at < text.len() {
                let (found, next) = self.step(text, at);
                let start = std::mem::replace(&mut at, next);
                if found {
                    return Some(start..next);
                }
            }
            None
        })
    }

    /// Whether something is found at `at`, and where to go on.
    fn step(self, text: &str, at: usize) -> (bool, usize) {
        let bytes = text.as_bytes();
        if bytes[at] < 0x80 {
            let ascii = bytes[at..].iter().take_while(|byte| **byte < 0x80).count();
            return (false, at + ascii);
        }
        let rest = &text[at..];
        let run = |accepted: fn(char) -> bool| {
            let characters = rest.chars().take_while(|c| accepted(*c));
            characters.fold((0, 0), |(count, bytes), c| (count + 1, bytes + c.len_utf8()))
        };
        let first = rest.chars().next().map_or(1, char::len_utf8);
        match self {
            Self::Tags if rest.starts_with(BLACK_FLAG) => (false, at + flag_length(rest)),
            Self::Tags => {
                let (count, length) = run(is_tag);
                (count > 0, at + length.max(first))
            }
            Self::Bidi => (rest.starts_with(['\u{202D}', '\u{202E}']) && turns_words(&rest[first..]), at + first),
            Self::ZeroWidth => {
                let (count, length) = run(is_invisible);
                (count > LONGEST_RUN, at + length.max(first))
            }
        }
    }
}

/// Whether an override of the writing direction has letters or digits to turn before it or its line ends: what stands
/// in an isolate of its own is not turned. A sample of such a character turns nothing.
fn turns_words(rest: &str) -> bool {
    let mut isolates = 0_u32;
    for c in rest.chars().take(OVERRIDE_LOOKED_AT) {
        match c {
            '\n' | '\r' | '\u{2029}' | '\u{202C}' => return false,
            '\u{2066}'..='\u{2068}' => isolates += 1,
            '\u{2069}' => isolates = isolates.saturating_sub(1),
            _ if isolates == 0 && c.is_alphanumeric() => return true,
            _ => {}
        }
    }
    // A long one is not understood; a text may end in the middle of a line.
    rest.chars().nth(OVERRIDE_LOOKED_AT).is_some()
}

/// Characters that the shadow leaves out.
pub(super) fn is_format(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Format characters of no width, without the marks that turn the writing direction.
fn is_invisible(c: char) -> bool {
    is_format(c)
        && !is_tag(c)
        && !matches!(c, '\u{200E}' | '\u{200F}' | '\u{061C}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

pub(super) fn is_tag(c: char) -> bool {
    matches!(c, '\u{E0000}'..='\u{E007F}')
}

/// The ASCII character that a tag character stands for.
pub(super) fn tag_as_ascii(c: char) -> Option<char> {
    let code = u32::from(c).checked_sub(0xE0000)?;
    char::from_u32(code).filter(|plain| matches!(plain, ' '..='~'))
}

/// The length of a black flag with the tags that make it a region's: three to six letters or digits and the cancel
/// tag. Of any other black flag, that of the flag alone.
pub(super) fn flag_length(text: &str) -> usize {
    let flag = BLACK_FLAG.len_utf8();
    let tags = text[flag..].chars().map_while(tag_as_ascii).take(7);
    let region = tags.take_while(char::is_ascii_alphanumeric).count();
    let cancelled = flag + region * CANCEL_TAG.len_utf8();
    if (3..=6).contains(&region) && text[cancelled..].starts_with(CANCEL_TAG) {
        cancelled + CANCEL_TAG.len_utf8()
    } else {
        flag
    }
}

//! Places of a text from which it can be folded as if all before had been.

use memchr::memmem;
use memchr::{memrchr, memrchr2};

/// So far before a seam nothing may open that could reach over it: no tag and no comment is as long.
const LONGEST_MARKUP: usize = 512;

/// So much white space may stand before it.
const LONGEST_GAP: usize = 64;

/// The end of an empty line, after a word that both forms show.
#[derive(Clone, Copy)]
pub(super) struct Seam {
    /// The line's terminator, LF.
    pub at: usize,
    /// Where the white space around it begins.
    pub space: usize,
    /// Whether the last letter before it is a Latin one.
    pub latin: bool,
    /// Whether it is one of those that are written without spaces.
    pub ideograph: bool,
}

impl Seam {
    /// The last one before `end`, not before `from`.
    pub(super) fn last(text: &str, from: usize, mut end: usize) -> Option<Self> {
        while let Some(at) = memrchr(b'\n', &text.as_bytes()[from..end]) {
            end = from + at;
            if let Some(seam) = Self::at(text, end) {
                return Some(seam);
            }
        }
        None
    }

    fn at(text: &str, at: usize) -> Option<Self> {
        let before = &text.as_bytes()[..at];
        let before = before.strip_suffix(b"\r").unwrap_or(before).strip_suffix(b"\n")?;
        let is_space = |byte: &&u8| **byte <= b' ';
        let space = before.len() - before.iter().rev().take(LONGEST_GAP).take_while(is_space).count();
        let before = &before[..space];
        let near = &before[space.saturating_sub(LONGEST_MARKUP)..];
        if memrchr2(b'<', b'>', near).is_some_and(|angle| near[angle] == b'<')
            || memmem::rfind(near, b"<!--").is_some_and(|opened| memmem::find(&near[opened + 4..], b"-->").is_none())
        {
            return None;
        }
        let mut characters = text[..space].chars().rev();
        let last = characters.next()?;
        let letter = if matches!(last, '.' | ':' | ',' | '?' | '!' | '。') { characters.next()? } else { last };
        let ideograph = matches!(letter, '\u{4E00}'..='\u{9FFF}');
        let is_known = match last {
            '。' => ideograph,
            _ => (ideograph && letter == last) || letter.is_ascii_alphanumeric(),
        };
        is_known.then_some(Self { at, space, latin: letter.is_ascii_alphabetic(), ideograph })
    }
}

/// A part of a text.
#[derive(Clone, Copy)]
pub(super) struct Stretch {
    /// Where it begins, if it is not with the text.
    pub seam: Option<Seam>,
    pub end: usize,
}

impl Stretch {
    pub(super) fn whole(text: &str) -> Self {
        Self { seam: None, end: text.len() }
    }
}

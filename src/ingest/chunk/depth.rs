//! Keeps the parser's time linear in the text where a hostile file opens thousands of containers.
//!
//! For each line the parser walks through every quotation and list that is open. What a line opens, or keeps open by
//! its indentation, is no deeper than the line's marker prefix is long: so the longest prefix times the number of
//! lines bounds the walk. Where that is out of all proportion, the longest prefixes are hidden from the parser, which
//! then takes their lines for plain text. No real document comes near the bound.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr_iter};

/// Containers times lines that the parser may walk through: well under a second.
const MAX_STEPS: usize = 1 << 28;
/// A text so short can't reach [`MAX_STEPS`], whatever it holds.
const SHORT_TEXT: usize = 1 << 15;
/// A prefix of this length is never hidden.
const SHALLOW: usize = 64;

/// `text` with the marker prefixes that are too long for its number of lines overwritten by letters: the same
/// length, the same lines.
pub(super) fn without_abysses(text: &str) -> Cow<'_, str> {
    if text.len() < SHORT_TEXT {
        return Cow::Borrowed(text);
    }
    let mut deep = deep_prefixes(text.as_bytes());
    if deep.is_empty() {
        return Cow::Borrowed(text);
    }
    let lines = memchr_iter(b'\n', text.as_bytes()).count() + 1;
    let limit = (MAX_STEPS / lines).max(SHALLOW);
    deep.retain(|prefix| prefix.len() > limit);
    if deep.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut tame = String::with_capacity(text.len());
    for prefix in deep {
        tame.push_str(&text[tame.len()..prefix.start]);
        tame.extend(prefix.map(|_| 'x'));
    }
    tame.push_str(&text[tame.len()..]);
    Cow::Owned(tame)
}

fn deep_prefixes(bytes: &[u8]) -> Vec<Range<usize>> {
    let marker = |byte: &u8| matches!(byte, b' ' | b'\t' | b'>' | b'-' | b'+' | b'*' | b'.' | b')' | b'0'..=b'9');
    let mut deep = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let prefix = bytes[start..].iter().take_while(|byte| marker(byte)).count();
        if prefix > SHALLOW {
            deep.push(start..start + prefix);
        }
        start += prefix;
        start = memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |end| start + end + 1);
    }
    deep
}

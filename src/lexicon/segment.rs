//! Text to words, runs and symbols, in one pass. Owns where a word ends and what joins words to a compound;
//! knows no stems, no stop words and no frequencies.

use std::ops::Range;

use super::fold::{Class, Folder, cluster_end};

/// A term is at most this many bytes long; what is longer is cut there, at a character.
pub(super) const MAX_TERM_BYTES: usize = 64;
/// Of words joined without a blank (a path, a URL, a blob in base64) those that start within this many bytes give
/// terms.
const MAX_CHAIN_BYTES: usize = 512;
/// A word with more changes of case than this is no identifier and has no parts.
const MAX_CUTS: usize = 7;

/// A place where a part of a word such as `maxChars` begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Byte offset in the folded word.
    pub(super) folded: usize,
    /// Byte offset in the text.
    pub(super) source: usize,
}

/// One word: letters, marks and digits without a break.
#[derive(Debug)]
pub(super) struct Word<'a> {
    /// The folded word, at most [`MAX_TERM_BYTES`] long.
    pub(super) text: &'a str,
    /// Where its second and later parts begin.
    pub(super) cuts: &'a [Cut],
    /// Its bytes in the text, without the suffix.
    pub(super) source: Range<usize>,
    /// The character that joins it to the word before: `_`, `-`, `.` or `/`.
    pub(super) joiner: Option<u8>,
    /// Whether a joiner and another word follow.
    pub(super) continued: bool,
    /// `++` or `#`, as in `C++` and `C#`; else empty.
    pub(super) suffix: &'static str,
    /// Whether it starts with a point, as `.NET` does.
    pub(super) dotted: bool,
}

impl Word<'_> {
    /// The parts of a word that has some: folded text and bytes in the text.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        let ends = self.cuts.iter().copied().chain([Cut { folded: self.text.len(), source: self.source.end }]);
        let mut from = Cut { folded: 0, source: self.source.start };
        ends.map(move |to| {
            let part = (&self.text[from.folded..to.folded], from.source..to.source);
            from = to;
            part
        })
    }
}

/// Gets what a text consists of, in its order.
pub(super) trait Visitor {
    /// A word.
    fn word(&mut self, word: &Word<'_>);
    /// A character of a script without spaces; `continues` where it directly follows another.
    fn run(&mut self, c: char, continues: bool, source: Range<usize>);
    /// A pictograph.
    fn symbol(&mut self, c: char, source: Range<usize>);
}

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const JOINER: u8 = 8;
const HIGH: u8 = 16;
/// May mean something directly after a word.
const TAIL: u8 = 32;
const WORD: u8 = LOWER | UPPER | DIGIT;

const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' | b'-' | b'.' | b'/' => JOINER | TAIL,
            b'+' | b'#' | b'\'' => TAIL,
            0xe2 => HIGH | TAIL,
            0x80..=0xff => HIGH,
            _ => 0,
        };
        byte += 1;
    }
    kinds
};

fn kind(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).map_or(0, |&byte| KINDS[usize::from(byte)])
}

#[derive(Clone, Copy)]
struct Letter {
    class: Class,
    at: Cut,
}

/// How the words found so far hang together.
#[derive(Default)]
struct Chain {
    start: usize,
    end: usize,
    joiner: Option<u8>,
}

/// Cuts texts; keeps its scratch from one to the next.
pub(super) struct Segmenter {
    folder: Folder,
    word: String,
    letters: Vec<Letter>,
    cuts: Vec<Cut>,
    cluster: Vec<(char, Class)>,
    /// Off in the tests that compare the two paths.
    ascii_path: bool,
}

impl Segmenter {
    pub(super) fn new() -> Self {
        Self {
            folder: Folder::new(),
            word: String::with_capacity(2 * MAX_TERM_BYTES),
            letters: Vec::new(),
            cuts: Vec::new(),
            cluster: Vec::new(),
            ascii_path: true,
        }
    }

    #[cfg(test)]
    pub(super) fn without_ascii_path() -> Self {
        Self { ascii_path: false, ..Self::new() }
    }

    /// Shows `visitor` what `text` consists of.
    pub(super) fn segment(&mut self, text: &str, visitor: &mut impl Visitor) {
        let bytes = text.as_bytes();
        let mut chain = Chain::default();
        let mut in_run = false;
        let mut at = 0;
        while at < bytes.len() {
            let kind = KINDS[usize::from(bytes[at])];
            if kind & WORD != 0 {
                in_run = false;
                at = self.word(text, at, &mut chain, visitor);
            } else if kind & HIGH != 0 {
                at = self.high(text, at, &mut in_run, &mut chain, visitor);
            } else {
                in_run = false;
                at += 1;
            }
        }
    }

    /// What starts at a character beyond ASCII. Returns where to go on.
    fn high(
        &mut self,
        text: &str,
        at: usize,
        in_run: &mut bool,
        chain: &mut Chain,
        visitor: &mut impl Visitor,
    ) -> usize {
        let Some(c) = text[at..].chars().next() else { return text.len() };
        if matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}') {
            visitor.run(c, *in_run, at..at + 3);
            *in_run = true;
            return at + 3;
        }
        let end = self.fold_cluster(text, at);
        match self.cluster.first() {
            None => {}
            Some((_, Class::Run)) => {
                for &(c, class) in &self.cluster {
                    if class == Class::Run {
                        visitor.run(c, *in_run, at..end);
                        *in_run = true;
                    }
                }
            }
            Some(&(c, Class::Symbol)) => {
                visitor.symbol(c, at..end);
                *in_run = false;
            }
            Some((_, class)) if class.is_word() => {
                *in_run = false;
                return self.word(text, at, chain, visitor);
            }
            Some(_) => *in_run = false,
        }
        end
    }

    /// Folds the cluster at `at` into `self.cluster`; returns its end.
    fn fold_cluster(&mut self, text: &str, at: usize) -> usize {
        let end = cluster_end(text, at);
        self.cluster.clear();
        let cluster = &mut self.cluster;
        self.folder.fold(&text[at..end], |c, class| cluster.push((c, class)));
        end
    }

    /// Whether a word starts at `at`.
    fn word_starts(&mut self, text: &str, at: usize) -> bool {
        match kind(text.as_bytes(), at) {
            kind if kind & HIGH != 0 => {
                self.fold_cluster(text, at);
                self.cluster.first().is_some_and(|(_, class)| class.is_word())
            }
            kind => kind & WORD != 0,
        }
    }

    /// The word at `at`. Returns where to go on.
    fn word(&mut self, text: &str, at: usize, chain: &mut Chain, visitor: &mut impl Visitor) -> usize {
        let bytes = text.as_bytes();
        self.word.clear();
        self.cuts.clear();
        let found = if self.ascii_path { self.ascii_word(text, at) } else { None };
        let (end, as_it_stands) = found.unwrap_or_else(|| (self.general_word(text, at), false));
        let word_len = if as_it_stands { end - at } else { self.word.len() };
        let (suffix, joiner, next) =
            if kind(bytes, end) & TAIL == 0 { ("", None, end) } else { self.after_word(text, end, word_len) };
        let joined = at == chain.end || at == chain.end + 1 && matches!(bytes[chain.end], b'+' | b'=');
        if chain.joiner.is_none() && !joined {
            chain.start = at;
        }
        if word_len > 0 && at - chain.start < MAX_CHAIN_BYTES {
            let dotted = chain.joiner.is_none()
                && at > 0
                && bytes[at - 1] == b'.'
                && (at == 1 || bytes[at - 2].is_ascii_whitespace() || b"([{\"'`*|>,".contains(&bytes[at - 2]));
            visitor.word(&Word {
                text: if as_it_stands { &text[at..end] } else { &self.word },
                cuts: &self.cuts,
                source: at..end,
                joiner: chain.joiner,
                continued: joiner.is_some(),
                suffix,
                dotted,
            });
        }
        chain.end = next;
        chain.joiner = joiner;
        next
    }

    /// A word of ASCII alone: its end, and whether it is its own folded form; else that is in `self.word`. `None`
    /// where a character beyond ASCII belongs to it.
    fn ascii_word(&mut self, text: &str, at: usize) -> Option<(usize, bool)> {
        let bytes = &text.as_bytes()[at..];
        let (mut seen, mut len) = (0, 0);
        while let Some(&byte) = bytes.get(len) {
            let kind = KINDS[usize::from(byte)];
            if kind & WORD == 0 {
                if kind & HIGH != 0 {
                    self.fold_cluster(text, at + len);
                    if len == 0 || self.cluster.first().is_none_or(|(_, class)| class.is_word()) {
                        return None;
                    }
                }
                break;
            }
            seen |= kind;
            len += 1;
        }
        if seen & UPPER == 0 && len <= MAX_TERM_BYTES {
            return Some((at + len, true));
        }
        self.word.push_str(&text[at..at + len.min(MAX_TERM_BYTES)]);
        self.word.make_ascii_lowercase();
        if seen & LOWER != 0 && len <= MAX_TERM_BYTES && bytes[1..len].iter().any(u8::is_ascii_uppercase) {
            self.letters.clear();
            for (offset, byte) in bytes[..len].iter().enumerate() {
                let class = match KINDS[usize::from(*byte)] {
                    LOWER => Class::Lower,
                    UPPER => Class::Upper,
                    _ => Class::Digit,
                };
                self.letters.push(Letter { class, at: Cut { folded: offset, source: at + offset } });
            }
            self.find_cuts();
        }
        Some((at + len, false))
    }

    /// A word of any letters: folds it and returns its end.
    fn general_word(&mut self, text: &str, at: usize) -> usize {
        self.letters.clear();
        let mut end = at;
        let mut whole = true;
        while end < text.len() {
            let next = self.fold_cluster(text, end);
            match self.cluster.first() {
                Some((_, class)) if !class.is_word() => break,
                _ => {}
            }
            for &(c, class) in &self.cluster {
                if !class.is_word() {
                    continue;
                }
                whole &= self.word.len() + c.len_utf8() <= MAX_TERM_BYTES;
                if whole {
                    self.letters.push(Letter { class, at: Cut { folded: self.word.len(), source: end } });
                    self.word.push(c);
                }
            }
            end = next;
        }
        if whole {
            self.find_cuts();
        }
        end
    }

    /// Finds the parts of a word of mixed case: `maxChars`, `HTTPServer`, `base64Encode`; but not `APIs` or `H2O`.
    fn find_cuts(&mut self) {
        let letters = &self.letters;
        let class = |index: usize| letters.get(index).map(|letter| letter.class);
        for index in 1..letters.len() {
            if letters[index].class != Class::Upper {
                continue;
            }
            let lower_follows = class(index + 1) == Some(Class::Lower);
            let plural = lower_follows
                && index + 2 == letters.len()
                && letters[index + 1].at.folded + 1 == self.word.len()
                && self.word.ends_with('s');
            let cut = match letters[index - 1].class {
                Class::Lower => true,
                Class::Upper => lower_follows && !plural,
                _ => lower_follows,
            };
            if cut {
                if self.cuts.len() == MAX_CUTS {
                    self.cuts.clear();
                    return;
                }
                self.cuts.push(letters[index].at);
            }
        }
    }

    /// What follows a word that ends at `end`: its suffix, the joiner to another word, and where to go on.
    fn after_word(&mut self, text: &str, end: usize, len: usize) -> (&'static str, Option<u8>, usize) {
        let bytes = text.as_bytes();
        match bytes.get(end) {
            Some(b'+') if bytes[end..].starts_with(b"++") && bytes.get(end + 2) != Some(&b'+') => {
                return ("++", None, end + 2);
            }
            Some(b'#') if len <= 2 && bytes.get(end + 1) != Some(&b'#') => {
                if !self.word_starts(text, end + 1) {
                    return ("#", None, end + 1);
                }
            }
            Some(b'\'' | 0xe2) => {
                let quote = if bytes[end] == b'\'' { "'" } else { "’" };
                let after = end + quote.len() + 1;
                let possessive = text[end..].starts_with(quote) && matches!(bytes.get(after - 1), Some(b's' | b'S'));
                if possessive && !self.word_starts(text, after) {
                    return ("", None, after);
                }
            }
            Some(&joiner) if KINDS[usize::from(joiner)] & JOINER != 0 => {
                let mut next = end + 1;
                while joiner == b'_' && bytes.get(next) == Some(&b'_') {
                    next += 1;
                }
                if self.word_starts(text, next) {
                    return ("", Some(joiner), next);
                }
            }
            _ => {}
        }
        ("", None, end)
    }
}

//! Text to words, runs and symbols, in one pass. Owns where a word ends and what joins words to a compound;
//! knows no stems, no stop words and no frequencies.

use super::ascii::AsciiRun;
use super::fold::{Class, Folder, cluster_end, extends, stands_alone};
use super::word::{Cut, Letter, MAX_TERM_BYTES, Visitor, Word, find_cuts};

/// Of words joined without a blank (a path, a URL, a blob in base64) those that start within this many bytes give
/// terms.
const MAX_CHAIN_BYTES: usize = 512;
/// Besides joiners, so many of `+`, `/` and `=` don't end such a chain.
const MAX_CHAIN_GAP: usize = 4;
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const JOINER: u8 = 8;
const HIGH: u8 = 16;
/// May mean something directly after a word.
const TAIL: u8 = 32;
/// May mean something directly before a word.
const LEAD: u8 = 64;
const WORD: u8 = LOWER | UPPER | DIGIT;

const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0_u8;
    loop {
        kinds[byte as usize] = match byte {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' | b'-' => JOINER | TAIL,
            b'.' | b'/' => JOINER | TAIL | LEAD,
            b'+' => TAIL | LEAD,
            b'#' | b'\'' => TAIL,
            b'=' => LEAD,
            0xe2 => HIGH | TAIL,
            0x80..=0xff => HIGH,
            _ => 0,
        };
        if byte == u8::MAX {
            break kinds;
        }
        byte += 1;
    }
};

fn kind(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).map_or(0, |&byte| KINDS[usize::from(byte)])
}

/// Whether a point behind this byte starts a word such as `.NET`, and does not end or join one.
fn may_precede_dot(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte >= 0x80 || b"([{\"'`*|>,".contains(&byte)
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
        if stands_alone(c) && !text[at + 3..].starts_with(extends) {
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
        if self.ascii_path
            && let Some(end) = self.plain_word(text, at, chain, visitor)
        {
            return end;
        }
        let bytes = text.as_bytes();
        self.word.clear();
        self.cuts.clear();
        let found = if self.ascii_path { self.ascii_word(text, at) } else { None };
        let (end, as_it_stands) = found.unwrap_or_else(|| (self.general_word(text, at), false));
        let word_len = if as_it_stands { end - at } else { self.word.len() };
        let (suffix, next_joiner, next) =
            if kind(bytes, end) & TAIL == 0 { ("", None, end) } else { self.after_word(text, end, word_len) };
        let gap = &bytes[chain.end..at];
        let adjacent = gap.len() <= MAX_CHAIN_GAP && gap.iter().all(|byte| b"+/=".contains(byte));
        if chain.joiner.is_none() && !adjacent {
            chain.start = at;
        }
        if word_len > 0 && at - chain.start < MAX_CHAIN_BYTES {
            let dotted = chain.joiner.is_none()
                && at > 0
                && bytes[at - 1] == b'.'
                && (at == 1 || may_precede_dot(bytes[at - 2]));
            visitor.word(&Word {
                text: if as_it_stands { &text[at..end] } else { &self.word },
                cuts: &self.cuts,
                source: at..end,
                joiner: chain.joiner,
                continued: next_joiner.is_some(),
                suffix,
                dotted,
            });
        }
        chain.end = next;
        chain.joiner = next_joiner;
        next
    }

    /// The word at `at` if it is of ASCII alone, has no parts, and nothing joins or marks it: shows it and returns its
    /// end. Most words are so.
    #[inline]
    fn plain_word(&mut self, text: &str, at: usize, chain: &mut Chain, visitor: &mut impl Visitor) -> Option<usize> {
        let bytes = text.as_bytes();
        let stands_free = at == 0 || (at > chain.end && kind(bytes, at - 1) & LEAD == 0);
        if !stands_free {
            return None;
        }
        let run = AsciiRun::of(&bytes[at..]);
        let end = at + run.len;
        if !(1..=MAX_TERM_BYTES).contains(&run.len) || run.is_mixed() || kind(bytes, end) & (HIGH | TAIL) != 0 {
            return None;
        }
        if run.has_upper() {
            self.word.clear();
            self.word.push_str(&text[at..end]);
            self.word.make_ascii_lowercase();
            visitor.plain_word(&self.word, at);
        } else {
            visitor.plain_word(&text[at..end], at);
        }
        *chain = Chain { start: at, end, joiner: None };
        Some(end)
    }

    /// A word of ASCII alone: its end, and whether it is its own folded form; else that is in `self.word`. `None`
    /// where a character beyond ASCII belongs to it.
    fn ascii_word(&mut self, text: &str, at: usize) -> Option<(usize, bool)> {
        let bytes = &text.as_bytes()[at..];
        let run = AsciiRun::of(bytes);
        let len = run.len;
        if kind(bytes, len) & HIGH != 0 {
            self.fold_cluster(text, at + len);
            let belongs = self.cluster.first().is_none_or(|(_, class)| class.is_word());
            if len == 0 || belongs || text[at + len..].starts_with(extends) {
                return None;
            }
        }
        if !run.has_upper() && len <= MAX_TERM_BYTES {
            return Some((at + len, true));
        }
        self.word.push_str(&text[at..at + len.min(MAX_TERM_BYTES)]);
        self.word.make_ascii_lowercase();
        if run.is_mixed() && len <= MAX_TERM_BYTES {
            self.letters.clear();
            for (offset, byte) in bytes[..len].iter().enumerate() {
                let class = match KINDS[usize::from(*byte)] {
                    LOWER => Class::Lower,
                    UPPER => Class::Upper,
                    _ => Class::Digit,
                };
                self.letters.push(Letter { class, at: Cut { folded: offset, source: at + offset } });
            }
            find_cuts(&self.letters, &self.word, &mut self.cuts);
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
            find_cuts(&self.letters, &self.word, &mut self.cuts);
        }
        end
    }

    /// What follows a word that ends at `end`: its suffix, the joiner to another word, and where to go on.
    fn after_word(&mut self, text: &str, end: usize, len: usize) -> (&'static str, Option<u8>, usize) {
        let bytes = text.as_bytes();
        match bytes.get(end) {
            Some(b'+') if bytes[end..].starts_with(b"++") && bytes.get(end + 2) != Some(&b'+') => {
                return ("++", None, end + 2);
            }
            Some(b'#') if len <= 2 && bytes.get(end + 1) != Some(&b'#') && !self.word_starts(text, end + 1) => {
                return ("#", None, end + 1);
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

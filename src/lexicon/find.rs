//! Which words of a text are among some terms: what is shown of a hit.
//!
//! A word is one of them if its folded form is, or if it alone would be indexed as one of them. Of a word of letters and
//! digits that has no parts this is its stem, so that most words are told by how they start; the others are lexed.

use std::collections::HashMap;
use std::ops::Range;

use hashbrown::HashSet;

use super::fold::stands_alone;
use super::stem::Stems;
use super::word::{Visitor, Word};
use super::{Lexer, TermCounts};

/// A stem as long as this can be of a word with another second letter: `die` of `dying`. All keep the first.
const SHORT_STEM: usize = 3;

/// The terms that are looked for, in one text after the other.
pub(crate) struct Wanted {
    terms: HashSet<String>,
    /// First bytes of short terms, and of all.
    short: [bool; 256],
    any: [bool; 256],
    /// The first two bytes of longer terms, sorted.
    starts: Vec<[u8; 2]>,
    /// What was found out about words that had to be lexed: by their folded and their verbatim form.
    lexed: HashMap<(String, String), bool>,
    counts: TermCounts,
}

impl Wanted {
    /// These terms, which may be stems, wholes, folded words or characters.
    pub(crate) fn new(terms: HashSet<String>) -> Self {
        let (mut short, mut any, mut starts) = ([false; 256], [false; 256], Vec::new());
        for bytes in terms.iter().map(String::as_bytes) {
            let Some(&first) = bytes.first() else { continue };
            any[usize::from(first)] = true;
            match bytes {
                [first, second, ..] if bytes.len() > SHORT_STEM => starts.push([*first, *second]),
                _ => short[usize::from(first)] = true,
            }
        }
        starts.sort_unstable();
        starts.dedup();
        Self { terms, short, any, starts, lexed: HashMap::new(), counts: TermCounts::new() }
    }

    /// Whether a term can be this word of ASCII letters and digits, or its stem.
    #[inline]
    fn can_be(&self, word: &[u8]) -> bool {
        let Some(&first) = word.first() else { return false };
        if !self.any[usize::from(first)] {
            return false;
        }
        self.short[usize::from(first)]
            || word.first_chunk().is_some_and(|start| self.starts.binary_search(start).is_ok())
    }

    /// The stretches of a text between white space, each with the white space before it, in which a word can be one of
    /// the terms. A term of ASCII starts as a word does, or a part of a word: behind another character than a lower-case
    /// letter, or with another one than that.
    fn stretches(&self, text: &str) -> Vec<Range<usize>> {
        let bytes = text.as_bytes();
        let mut stretches: Vec<Range<usize>> = Vec::new();
        let (mut start, mut can_match, mut behind_lower) = (0, false, false);
        for (at, &byte) in bytes.iter().enumerate() {
            let is_lower = byte.is_ascii_lowercase();
            if byte.is_ascii_whitespace() {
                if can_match {
                    stretches.push(start..at);
                }
                (start, can_match) = (at, false);
            } else if !(can_match || is_lower && behind_lower) {
                can_match = !byte.is_ascii() || self.can_start(byte, bytes.get(at + 1).copied());
            }
            behind_lower = is_lower;
        }
        if can_match {
            stretches.push(start..bytes.len());
        }
        stretches
    }

    /// Whether a term can start with this byte of ASCII and the one behind it.
    #[inline]
    fn can_start(&self, byte: u8, next: Option<u8>) -> bool {
        let first = byte.to_ascii_lowercase();
        self.any[usize::from(first)]
            && (self.short[usize::from(first)]
                || next.is_none_or(|next| {
                    !next.is_ascii_alphanumeric()
                        || self.starts.binary_search(&[first, next.to_ascii_lowercase()]).is_ok()
                }))
    }
}

impl Lexer {
    /// The bytes of the words of `text` that are among the wanted terms, in order; neighbours that touch are one range.
    pub(crate) fn find(&mut self, text: &str, wanted: &mut Wanted) -> Vec<Range<usize>> {
        let mut finder = Finder { text: "", start: 0, stems: &mut self.stems, wanted, found: Vec::new() };
        for stretch in wanted.stretches(text) {
            (finder.start, finder.text) = (stretch.start, &text[stretch]);
            self.segmenter.segment(finder.text, &mut finder);
        }
        let found = finder.found;
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for Found { source, unsure } in found {
            if unsure.is_some_and(|folded| !self.is_wanted(folded, &text[source.clone()], wanted)) {
                continue;
            }
            match ranges.last_mut() {
                Some(last) if source.start <= last.end => last.end = last.end.max(source.end),
                _ => ranges.push(source),
            }
        }
        ranges
    }

    /// Whether a word is wanted, by lexing it.
    fn is_wanted(&mut self, folded: String, verbatim: &str, wanted: &mut Wanted) -> bool {
        if wanted.terms.contains(&folded) {
            return true;
        }
        let word = (folded, verbatim.to_owned());
        if let Some(&known) = wanted.lexed.get(&word) {
            return known;
        }
        self.chunk_terms("", &[], verbatim, &mut wanted.counts);
        let is_wanted = wanted.counts.iter().any(|(term, _)| wanted.terms.contains(term));
        wanted.lexed.insert(word, is_wanted);
        is_wanted
    }
}

/// A word that is wanted, or that must be lexed to know it: its folded form then.
struct Found {
    source: Range<usize>,
    unsure: Option<String>,
}

struct Finder<'a> {
    /// A stretch of the text, and where it starts in it.
    text: &'a str,
    start: usize,
    stems: &'a mut Stems,
    wanted: &'a Wanted,
    found: Vec<Found>,
}

impl Finder<'_> {
    fn push(&mut self, source: Range<usize>, unsure: Option<String>) {
        let source = self.start + source.start..self.start + source.end;
        self.found.push(Found { source, unsure });
    }

    fn part(&mut self, folded: &str, source: Range<usize>) {
        if !is_simple(&self.text.as_bytes()[source.clone()], folded.as_bytes()) {
            self.push(source, Some(folded.to_owned()));
        } else if self.wanted.can_be(folded.as_bytes())
            && (self.wanted.terms.contains(folded) || self.wanted.terms.contains(self.stems.stem(folded).0))
        {
            self.push(source, None);
        }
    }
}

/// Whether a word is indexed as the stem of its folded form and as nothing else.
#[inline]
fn is_simple(verbatim: &[u8], folded: &[u8]) -> bool {
    let Some((_, rest)) = verbatim.split_first() else { return false };
    verbatim.len() == folded.len()
        && verbatim.iter().all(u8::is_ascii_alphanumeric)
        && (!rest.iter().any(u8::is_ascii_uppercase) || !verbatim.iter().any(u8::is_ascii_lowercase))
}

impl Visitor for Finder<'_> {
    #[inline]
    fn plain_word(&mut self, text: &str, at: usize) {
        self.part(text, at..at + text.len());
    }

    fn word(&mut self, word: &Word<'_>) {
        if word.suffix.is_empty() {
            return word.parts().for_each(|(part, source)| self.part(part, source));
        }
        let mut parts = word.parts().peekable();
        while let Some((part, source)) = parts.next() {
            if parts.peek().is_some() {
                self.part(part, source);
            } else {
                let source = source.start..source.end + word.suffix.len();
                self.push(source, Some(format!("{part}{}", word.suffix)));
            }
        }
    }

    fn run(&mut self, c: char, _: bool, source: Range<usize>) {
        let folded = c.encode_utf8(&mut [0; 4]).to_owned();
        if stands_alone(c) && self.text[source.clone()] == folded {
            if self.wanted.any[usize::from(folded.as_bytes()[0])] && self.wanted.terms.contains(&folded) {
                self.push(source, None);
            }
        } else {
            self.push(source, Some(folded));
        }
    }

    fn symbol(&mut self, c: char, source: Range<usize>) {
        self.push(source, Some(c.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same, by lexing every word.
    fn by_lexing(text: &str, wanted: &HashSet<String>) -> Vec<Range<usize>> {
        let (mut lexer, mut counts) = (Lexer::new(), TermCounts::new());
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for (folded, source) in lexer.surface_terms(text) {
            lexer.chunk_terms("", &[], &text[source.clone()], &mut counts);
            if !wanted.contains(&folded) && !counts.iter().any(|(term, _)| wanted.contains(term)) {
                continue;
            }
            match ranges.last_mut() {
                Some(last) if source.start <= last.end => last.end = last.end.max(source.end),
                _ => ranges.push(source),
            }
        }
        ranges
    }

    fn agree(text: &str, query: &str) -> usize {
        let mut lexer = Lexer::new();
        let mut terms: HashSet<String> = lexer.query(query).terms.into_iter().map(|term| term.term).collect();
        terms.extend(lexer.surface_terms(query).into_iter().map(|(word, _)| word));
        let mut wanted = Wanted::new(terms.clone());
        let expected = by_lexing(text, &terms);
        for _ in 0..2 {
            assert_eq!(lexer.find(text, &mut wanted), expected, "{query:?} in {text:?}");
        }
        wanted.lexed.len()
    }

    #[test]
    fn words_whose_stem_starts_otherwise_are_found() {
        let text =
            "dying lying tying using aing ying ied skies only early news inning bled being APIs maxChars C++ .NET";
        let all = "die lie tie use a ying ie sky onli earli news inning bleed be api max_chars c++ net C# x";
        agree(text, all);
        for word in text.split(' ') {
            agree(text, word);
        }
        for word in all.split(' ') {
            agree(text, word);
        }
    }

    #[test]
    fn only_what_can_be_wanted_is_looked_at() {
        let wanted = Wanted::new(["hop", "c++", "rabbit"].map(str::to_owned).into_iter().collect());
        let stretches = |text: &str| -> Vec<String> {
            wanted.stretches(text).into_iter().map(|stretch| text[stretch].to_owned()).collect()
        };
        assert_eq!(
            stretches("A rabbit, a RAbble\n\tiRabbit rose o'Hop"),
            [" rabbit,", " RAbble", "\tiRabbit", " o'Hop"]
        );
        assert_eq!(stretches("grab pear C++ \u{301} pre\u{e9}"), [" C++", " \u{301}", " pre\u{e9}"]);
        assert_eq!(stretches(""), [""; 0]);
    }

    #[test]
    fn plain_words_and_characters_are_not_lexed() {
        assert_eq!(agree("The Hopping HTTP2 rabbits hopped 检索 over v2", "hop rabbit 检 http2"), 0);
        assert_eq!(agree("C++ and maxChars are", "cat"), 1);
    }

    proptest! {
        #[test]
        fn it_agrees_with_lexing_every_word(
            text in "([a-cA-C]{1,6}(ing|ed|s|ies|ly)?|\\PC|[ .+#_\u{301}'-]|\r\n|\r|\0|检|索|ｱ|é|ﬁ|\u{200b}|C\\+\\+){0,40}",
            query in "([a-cA-C]{1,4}(ing|ed)?|检|é|ﬁ|ア|\\PC| |c\\+\\+){0,8}",
        ) {
            agree(&text, &query);
            agree(&text, &text);
        }
    }
}

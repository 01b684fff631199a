//! Which parts of a hit's text match the query's words.

use std::collections::HashSet;
use std::ops::Range;

use super::query::{Lexed, Typed};
use crate::lexicon::{Lexer, TermCounts};

/// Finds the words of one query in texts.
pub(super) struct Highlighter<'l> {
    lexer: &'l mut Lexer,
    wanted: HashSet<String>,
    counts: TermCounts,
}

impl<'l> Highlighter<'l> {
    pub(super) fn new(lexer: &'l mut Lexer, lexed: &Lexed, typed: &Typed) -> Self {
        let strong = lexed.asked.units.iter().flat_map(|unit| unit.primary.iter().chain(&unit.wholes));
        let mut wanted: HashSet<String> = strong.map(|&index| lexed.asked.terms[index].term.clone()).collect();
        for phrase in &typed.phrases {
            wanted.extend(lexer.surface_terms(phrase).into_iter().map(|(word, _)| word));
        }
        Self { lexer, wanted, counts: TermCounts::new() }
    }

    /// The bytes of `text` that match, in order; neighbours that touch are one range.
    pub(super) fn find(&mut self, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for (word, range) in self.lexer.surface_terms(text) {
            if !self.matches(&word, &text[range.clone()]) {
                continue;
            }
            match found.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => found.push(range),
            }
        }
        found
    }

    /// Whether a word is one of the query's, or is indexed as one of them.
    fn matches(&mut self, word: &str, verbatim: &str) -> bool {
        if self.wanted.contains(word) {
            return true;
        }
        self.lexer.chunk_terms("", &[], verbatim, &mut self.counts);
        self.counts.iter().any(|(term, _)| self.wanted.contains(term))
    }
}

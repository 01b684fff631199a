//! Which parts of a hit's text match the query's words.

use std::ops::Range;

use hashbrown::HashSet;

use super::query::{Lexed, Typed};
use crate::lexicon::{Lexer, Wanted};

/// Finds the words of one query in texts.
pub(super) struct Highlighter<'l> {
    lexer: &'l mut Lexer,
    wanted: Wanted,
}

impl<'l> Highlighter<'l> {
    pub(super) fn new(lexer: &'l mut Lexer, lexed: &Lexed, typed: &Typed) -> Self {
        let strong = lexed.asked.units.iter().flat_map(|unit| unit.primary.iter().chain(&unit.wholes));
        let mut wanted: HashSet<String> = strong.map(|&index| lexed.asked.terms[index].term.clone()).collect();
        for phrase in &typed.phrases {
            wanted.extend(lexer.surface_terms(phrase).into_iter().map(|(word, _)| word));
        }
        Self { lexer, wanted: Wanted::new(wanted) }
    }

    /// The bytes of `text` that match, in order; neighbours that touch are one range.
    pub(super) fn find(&mut self, text: &str) -> Vec<Range<usize>> {
        self.lexer.find(text, &mut self.wanted)
    }
}

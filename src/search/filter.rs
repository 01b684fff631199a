//! Filters and phrases: looked up for chunks that would enter the result, not for all.

use std::collections::HashMap;
use std::rc::Rc;

use globset::{GlobBuilder, GlobMatcher};

use super::query::{Field, Filter, Typed};
use crate::error::Result;
use crate::lexicon::Lexer;
use crate::store::documents::Place;
use crate::store::{Connection, chunks, documents};

/// All that a chunk must pass besides its score.
pub(super) struct Filters<'c, 'l> {
    conn: &'c Connection,
    lexer: &'l mut Lexer,
    filters: Vec<Compiled>,
    /// Phrases as their words, and whether a hit must have them.
    phrases: Vec<(Vec<String>, bool)>,
    places: HashMap<i64, Rc<Place>>,
}

struct Compiled {
    test: Test,
    negated: bool,
}

enum Test {
    /// A pattern over the whole path.
    PathGlob(GlobMatcher),
    /// A part of the path.
    PathPart(String),
    /// These words, in this order, in one heading above the chunk.
    Heading(Vec<String>),
    Source(String),
    Lang(String),
}

impl<'c, 'l> Filters<'c, 'l> {
    pub(super) fn new(conn: &'c Connection, typed: &Typed, lexer: &'l mut Lexer) -> Self {
        let mut words = |text: &str| surfaces(lexer, text);
        let mut phrases = Vec::new();
        for (list, wanted) in [(&typed.phrases, true), (&typed.excluded_phrases, false)] {
            phrases.extend(list.iter().map(|phrase| (words(phrase), wanted)));
        }
        phrases.retain(|(words, _)| !words.is_empty());
        let compile = |filter: &Filter| Compiled { test: Test::new(filter, &mut words), negated: filter.negated };
        let filters = typed.filters.iter().map(compile).collect();
        Self { conn, lexer, filters, phrases, places: HashMap::new() }
    }

    /// Whether the chunk may be a hit.
    pub(super) fn accept(&mut self, chunk_no: i64) -> Result<bool> {
        for index in 0..self.filters.len() {
            if self.passes(index, chunk_no)? == self.filters[index].negated {
                return Ok(false);
            }
        }
        if self.phrases.is_empty() {
            return Ok(true);
        }
        let words = surfaces(self.lexer, &chunks::text(self.conn, chunk_no)?);
        Ok(self.phrases.iter().all(|(phrase, wanted)| contains(&words, phrase) == *wanted))
    }

    fn passes(&mut self, index: usize, chunk_no: i64) -> Result<bool> {
        if let Test::Heading(wanted) = &self.filters[index].test {
            let headings = chunks::headings(self.conn, chunk_no)?;
            return Ok(headings.iter().any(|heading| contains(&surfaces(self.lexer, heading), wanted)));
        }
        let place = self.place(chunk_no)?;
        Ok(match &self.filters[index].test {
            Test::PathGlob(glob) => glob.is_match(&place.path),
            Test::PathPart(part) => place.path.contains(part.as_str()),
            Test::Source(source) => place.source_id == *source,
            Test::Lang(lang) => place.lang == *lang,
            Test::Heading(_) => false,
        })
    }

    fn place(&mut self, chunk_no: i64) -> Result<Rc<Place>> {
        let (document_no, _) = chunks::place(self.conn, chunk_no)?;
        if let Some(place) = self.places.get(&document_no) {
            return Ok(place.clone());
        }
        let place = Rc::new(documents::place(self.conn, document_no)?);
        self.places.insert(document_no, place.clone());
        Ok(place)
    }
}

impl Test {
    fn new(filter: &Filter, words: &mut impl FnMut(&str) -> Vec<String>) -> Self {
        let value = &filter.value;
        match filter.field {
            Field::Path if has_wildcards(value) => {
                path_glob(value).map_or_else(|| Self::PathPart(value.clone()), Self::PathGlob)
            }
            Field::Path => Self::PathPart(value.clone()),
            Field::Heading => Self::Heading(words(value)),
            Field::Source => Self::Source(value.to_lowercase()),
            Field::Lang => Self::Lang(value.to_lowercase()),
        }
    }
}

/// Whether `path:` can be followed by this: a part of a path, or a pattern that can be read.
pub(super) fn is_path_pattern(value: &str) -> bool {
    !has_wildcards(value) || path_glob(value).is_some()
}

fn has_wildcards(value: &str) -> bool {
    value.contains(['*', '?', '[', '{'])
}

fn path_glob(value: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(value).literal_separator(false).build().ok()?;
    Some(glob.compile_matcher())
}

fn surfaces(lexer: &mut Lexer, text: &str) -> Vec<String> {
    lexer.surface_terms(text).into_iter().map(|(word, _)| word).collect()
}

/// Whether `phrase` stands in `words`, word by word.
fn contains(words: &[String], phrase: &[String]) -> bool {
    phrase.is_empty() || words.windows(phrase.len()).any(|window| window == phrase)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("The refund  policy, in short", "refund policy", true)]
    #[case("The REFUND\npolicy", "Refund Policy", true)]
    #[case("refund of the policy", "refund policy", false)]
    #[case("policy refund", "refund policy", false)]
    #[case("退款政策说明", "退款政策", true)]
    #[case("退款和政策", "退款政策", false)]
    #[case("", "refund", false)]
    fn a_phrase_is_found_word_by_word(#[case] text: &str, #[case] phrase: &str, #[case] found: bool) {
        let mut lexer = Lexer::new();
        let (words, phrase) = (surfaces(&mut lexer, text), surfaces(&mut lexer, phrase));
        assert_eq!(contains(&words, &phrase), found);
    }
}

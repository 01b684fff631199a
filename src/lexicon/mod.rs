//! Text to terms: what a chunk is found by, and what a query asks for.
//!
//! Owns folding, segmentation, stems, stop words and the weights of query terms. Knows no store, no document and no
//! score. The same text gives the same terms on every machine; a change of the rules is a new [`LEXER_VERSION`].

mod ascii;
mod compound;
mod find;
mod floor;
mod fold;
mod known;
mod query;
mod segment;
mod stem;
mod stop;
mod terms;
#[cfg(test)]
mod tests;
mod word;

use std::ops::Range;

use compound::Compound;
use segment::Segmenter;
use stem::Stems;
use word::{Visitor, Word};

pub(crate) use find::Wanted;
pub(crate) use floor::{DEFAULT_FLOOR, FloorRule};
pub(crate) use query::{LexedQuery, QueryTerm, QueryUnit};
pub(crate) use stem::stem;
pub(crate) use terms::TermCounts;

/// The version of the rules that turn text into terms; part of the policy.
pub const LEXER_VERSION: u32 = 1;

/// How often a word of the title or of the heading path counts, in the length as well. A document's first heading is
/// mostly both.
const TITLE_TIMES: u32 = 2;
const HEADING_TIMES: u32 = 2;

/// Turns texts into terms; keeps its memory from one text to the next. One for each thread.
pub(crate) struct Lexer {
    segmenter: Segmenter,
    stems: Stems,
    compound: Compound,
}

impl Lexer {
    /// A lexer with nothing in its cache.
    pub(crate) fn new() -> Self {
        Self { segmenter: Segmenter::new(), stems: Stems::new(), compound: Compound::default() }
    }

    /// Replaces the content of `into` by the terms of a chunk: title, heading path and text.
    pub(crate) fn chunk_terms(&mut self, title: &str, heading_path: &[String], text: &str, into: &mut TermCounts) {
        into.forget_if_many();
        self.numbered_terms(title, heading_path, text, into);
    }

    /// The same; terms keep the numbers that they have in `into`.
    pub(crate) fn numbered_terms(&mut self, title: &str, heading_path: &[String], text: &str, into: &mut TermCounts) {
        let heads = || [title].into_iter().chain(heading_path.iter().map(String::as_str));
        let kept = into.keep_heads(heads());
        into.clear();
        for (place, head) in heads().enumerate().skip(kept) {
            self.add_terms(head, if place == 0 { TITLE_TIMES } else { HEADING_TIMES }, into);
            into.end_head(head);
        }
        into.begin();
        self.add_terms(text, 1, into);
    }

    fn add_terms(&mut self, text: &str, times: u32, into: &mut TermCounts) {
        let mut indexing =
            Indexing { stems: &mut self.stems, compound: &mut self.compound, into, times, previous: None };
        self.segmenter.segment(text, &mut indexing);
        indexing.end_compound();
    }

    /// What a query asks for.
    pub(crate) fn query(&mut self, text: &str) -> LexedQuery {
        query::lex(&mut self.segmenter, &mut self.stems, text)
    }

    /// The words of a text folded but not stemmed, each with its bytes in the text: parts of compounds one by one,
    /// characters of runs one by one. For phrases and the heading filter.
    pub(crate) fn surface_terms(&mut self, text: &str) -> Vec<(String, Range<usize>)> {
        let mut surfaces = Surfaces(Vec::new());
        self.segmenter.segment(text, &mut surfaces);
        surfaces.0
    }
}

/// Counts the terms of a chunk.
struct Indexing<'a> {
    stems: &'a mut Stems,
    compound: &'a mut Compound,
    into: &'a mut TermCounts,
    times: u32,
    previous: Option<char>,
}

impl Indexing<'_> {
    #[inline]
    fn add(&mut self, word: &str) {
        let Self { stems, into, times, .. } = self;
        into.add(word, *times, stems);
    }

    fn end_compound(&mut self) {
        let Self { stems, compound, into, times, .. } = self;
        compound.finish(&mut |whole| into.add(whole, *times, stems));
    }
}

impl Visitor for Indexing<'_> {
    #[inline]
    fn plain_word(&mut self, text: &str, _: usize) {
        if self.compound.is_open() {
            self.end_compound();
        }
        self.add(text);
        self.into.lengthen(self.times);
    }

    fn word(&mut self, word: &Word<'_>) {
        if word.joiner.is_none() && self.compound.is_open() {
            self.end_compound();
        }
        self.add(word.text);
        self.into.lengthen(self.times);
        if !word.cuts.is_empty() {
            word.parts().for_each(|(part, _)| self.add(part));
        }
        if word.continued || word.joiner.is_some() {
            let Self { stems, compound, into, times, .. } = self;
            compound.push(word.joiner, word.text, &mut |whole| into.add(whole, *times, stems));
        }
        if !word.suffix.is_empty() || word.dotted {
            query::marked(word).for_each(|term| self.add(&term));
        }
    }

    fn run(&mut self, c: char, continues: bool, _: Range<usize>) {
        let mut pair = [0; 8];
        let before = self.previous.filter(|_| continues).map_or(0, |previous| previous.encode_utf8(&mut pair).len());
        let len = before + c.encode_utf8(&mut pair[before..]).len();
        let pair = std::str::from_utf8(&pair[..len]).unwrap_or_default();
        self.add(&pair[before..]);
        if before > 0 {
            self.add(pair);
        }
        self.into.lengthen(self.times);
        self.previous = Some(c);
    }

    fn symbol(&mut self, c: char, _: Range<usize>) {
        self.add(c.encode_utf8(&mut [0; 4]));
        self.into.lengthen(self.times);
    }
}

struct Surfaces(Vec<(String, Range<usize>)>);

impl Visitor for Surfaces {
    fn word(&mut self, word: &Word<'_>) {
        self.0.extend(word.parts().map(|(part, source)| (part.to_owned(), source)));
        if let (false, Some((surface, source))) = (word.suffix.is_empty(), self.0.last_mut()) {
            surface.push_str(word.suffix);
            source.end += word.suffix.len();
        }
    }

    fn run(&mut self, c: char, _: bool, source: Range<usize>) {
        self.0.push((c.to_string(), source));
    }

    fn symbol(&mut self, c: char, source: Range<usize>) {
        self.0.push((c.to_string(), source));
    }
}

//! A query to weighted terms and to the units of information that they stand for.
//!
//! The weights were chosen by nDCG@10 over English, Chinese and Japanese question sets together; none helps one of
//! them at a noticeable cost to another.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::compound::Compound;
use super::segment::Segmenter;
use super::stem::Stems;
use super::stop::{is_stop_word, run_stop_word};
use super::word::{Visitor, Word};

/// The whole of a compound, whose parts are terms too.
const WHOLE_WEIGHT: f64 = 0.5;
/// A word of one letter among others: mostly an initial or a list's label.
const LETTER_WEIGHT: f64 = 0.1;
/// A single character of a run whose pairs are terms too.
const CHARACTER_WEIGHT: f64 = 0.7;
/// A single Hiragana character, and a pair of them: mostly particles and endings.
const HIRAGANA_WEIGHT: f64 = 0.1;
const HIRAGANA_PAIR_WEIGHT: f64 = 0.5;

/// A term to be looked up and scored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QueryTerm {
    /// The term as the index has it.
    pub(crate) term: String,
    /// What its score is multiplied by; more than 0.
    pub(crate) weight: f64,
}

/// One piece of what a query asks for: a word with its parts, or a pair of characters of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct QueryUnit {
    /// The piece as the query has it.
    pub(crate) surface: String,
    /// Indexes of terms: a chunk has the unit if it has all of these. Never empty.
    pub(crate) primary: Vec<usize>,
    /// Indexes of terms of which each alone stands for the unit: the wholes of a compound.
    pub(crate) wholes: Vec<usize>,
    /// Indexes of terms that all together are some of the unit: the characters of a pair, the word of `C++`.
    pub(crate) partial: Vec<usize>,
    /// Whether this is a character or a pair of a run.
    pub(crate) of_run: bool,
}

/// What a query asks for. Scores are summed in the order of `terms`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LexedQuery {
    /// Distinct terms in order of first appearance. A term that the query has twice has the sum of its weights.
    pub(crate) terms: Vec<QueryTerm>,
    /// The pieces, without repeats.
    pub(crate) units: Vec<QueryUnit>,
}

/// The terms of a word with a point before it or a mark behind it: `.net`, `c++`.
pub(super) fn marked(word: &Word<'_>) -> impl Iterator<Item = String> {
    let dotted = word.dotted.then(|| format!(".{}", word.text));
    let suffixed = (!word.suffix.is_empty()).then(|| format!("{}{}", word.text, word.suffix));
    dotted.into_iter().chain(suffixed)
}

/// Words that hang together, or a run, or a symbol.
#[derive(Default)]
struct Group {
    source: Range<usize>,
    /// The smallest parts, folded.
    leaves: Vec<String>,
    /// Words of mixed case and wholes of compounds, folded.
    wholes: Vec<String>,
    /// Terms that are never stemmed: with a point or a mark, a symbol.
    exact: Vec<String>,
    run: Vec<char>,
    /// Where each character of `run` stands in the text.
    run_sources: Vec<Range<usize>>,
}

impl Group {
    /// Whether it is made of stop words and nothing else.
    fn is_stop(&self) -> bool {
        self.wholes.is_empty()
            && self.exact.is_empty()
            && self.pieces(false).is_empty()
            && self.leaves.iter().all(|leaf| is_stop_word(leaf))
    }

    /// The pieces of the run between its stop words, or all of it.
    fn pieces(&self, keep_stop_words: bool) -> Vec<Range<usize>> {
        let (mut pieces, mut start, mut at) = (Vec::new(), 0, 0);
        while at < self.run.len() {
            let skip = if keep_stop_words { 0 } else { run_stop_word(&self.run[at..]) };
            if skip > 0 && start < at {
                pieces.push(start..at);
            }
            at += skip.max(1);
            if skip > 0 {
                start = at;
            }
        }
        if start < self.run.len() {
            pieces.push(start..self.run.len());
        }
        pieces
    }
}

#[derive(Default)]
struct Groups {
    groups: Vec<Group>,
    compound: Compound,
}

impl Groups {
    fn end_compound(&mut self) {
        if let Some(group) = self.groups.last_mut() {
            self.compound.finish(&mut |whole| group.wholes.push(whole.to_owned()));
        }
    }
}

impl Visitor for Groups {
    fn word(&mut self, word: &Word<'_>) {
        if word.joiner.is_none() {
            self.end_compound();
            let source = word.source.start - usize::from(word.dotted)..word.source.end;
            self.groups.push(Group { source, ..Group::default() });
        }
        let Some(group) = self.groups.last_mut() else { return };
        group.source.end = word.source.end + word.suffix.len();
        group.leaves.extend(word.parts().map(|(part, _)| part.to_owned()));
        if !word.cuts.is_empty() {
            group.wholes.push(word.text.to_owned());
        }
        if word.continued || word.joiner.is_some() {
            self.compound.push(word.joiner, word.text, &mut |whole| group.wholes.push(whole.to_owned()));
        }
        group.exact.extend(marked(word));
    }

    fn run(&mut self, c: char, continues: bool, source: Range<usize>) {
        if !continues {
            self.end_compound();
            self.groups.push(Group::default());
        }
        if let Some(group) = self.groups.last_mut() {
            group.run.push(c);
            group.run_sources.push(source);
        }
    }

    fn symbol(&mut self, c: char, source: Range<usize>) {
        self.end_compound();
        self.groups.push(Group { source, exact: vec![c.to_string()], ..Group::default() });
    }
}

/// Collects terms and units without repeats.
struct Builder<'a> {
    text: &'a str,
    stems: &'a mut Stems,
    query: LexedQuery,
    known: HashMap<String, usize>,
    seen: HashSet<(Vec<usize>, Vec<usize>)>,
}

impl Builder<'_> {
    fn exact(&mut self, term: &str, weight: f64) -> usize {
        if let Some(&index) = self.known.get(term) {
            self.query.terms[index].weight += weight;
            return index;
        }
        let index = self.query.terms.len();
        self.query.terms.push(QueryTerm { term: term.to_owned(), weight });
        self.known.insert(term.to_owned(), index);
        index
    }

    fn stemmed(&mut self, word: &str, weight: f64) -> usize {
        let stem = self.stems.stem(word).0.to_owned();
        self.exact(&stem, weight)
    }

    fn unit(&mut self, source: Range<usize>, mut unit: QueryUnit) {
        for indexes in [&mut unit.primary, &mut unit.wholes, &mut unit.partial] {
            indexes.sort_unstable();
            indexes.dedup();
        }
        if !unit.primary.is_empty() && self.seen.insert((unit.primary.clone(), unit.wholes.clone())) {
            self.text[source].clone_into(&mut unit.surface);
            self.query.units.push(unit);
        }
    }

    fn words(&mut self, group: &Group, keep_stop_words: bool) {
        let keep_stop_words = keep_stop_words || group.leaves.iter().all(|leaf| is_stop_word(leaf));
        let alone = group.leaves.len() == 1 && group.exact.is_empty();
        let mut primary = Vec::new();
        for leaf in group.leaves.iter().filter(|leaf| keep_stop_words || !is_stop_word(leaf)) {
            let weight = match leaf.as_bytes() {
                [b'a'..=b'z'] if alone => LETTER_WEIGHT,
                _ if !group.exact.is_empty() => WHOLE_WEIGHT,
                _ => 1.0,
            };
            primary.push(self.stemmed(leaf, weight));
        }
        let wholes = group.wholes.iter().map(|whole| self.stemmed(whole, WHOLE_WEIGHT)).collect();
        let exact: Vec<usize> = group.exact.iter().map(|term| self.exact(term, 1.0)).collect();
        let mut partial = Vec::new();
        if !exact.is_empty() && group.leaves.len() <= 1 {
            partial = std::mem::replace(&mut primary, exact);
        }
        self.unit(group.source.clone(), QueryUnit { primary, wholes, partial, ..QueryUnit::default() });
    }

    fn run(&mut self, run: &[char], sources: &[Range<usize>]) {
        let is_hiragana = |c: char| matches!(c, '\u{3041}'..='\u{309f}');
        let unit = QueryUnit { of_run: true, ..QueryUnit::default() };
        if let ([c], [source]) = (run, sources) {
            let weight = if is_hiragana(*c) { HIRAGANA_WEIGHT } else { 1.0 };
            let primary = vec![self.exact(c.encode_utf8(&mut [0; 4]), weight)];
            return self.unit(source.clone(), QueryUnit { primary, ..unit });
        }
        let mut characters = Vec::with_capacity(run.len());
        for &c in run {
            let weight = if is_hiragana(c) { HIRAGANA_WEIGHT } else { CHARACTER_WEIGHT };
            characters.push(self.exact(c.encode_utf8(&mut [0; 4]), weight));
        }
        for (at, pair) in run.windows(2).enumerate() {
            let weight = if pair.iter().all(|&c| is_hiragana(c)) { HIRAGANA_PAIR_WEIGHT } else { 1.0 };
            let primary = vec![self.exact(&String::from_iter(pair), weight)];
            let partial = characters[at..at + 2].to_vec();
            self.unit(sources[at].start..sources[at + 1].end, QueryUnit { primary, partial, ..unit.clone() });
        }
    }
}

/// Turns a query into terms and units. Stop words count only where there is nothing else.
pub(super) fn lex(segmenter: &mut Segmenter, stems: &mut Stems, text: &str) -> LexedQuery {
    let mut found = Groups::default();
    segmenter.segment(text, &mut found);
    found.end_compound();
    let keep_stop_words = found.groups.iter().all(Group::is_stop);
    let mut builder =
        Builder { text, stems, query: LexedQuery::default(), known: HashMap::new(), seen: HashSet::new() };
    for group in &found.groups {
        if !group.run.is_empty() {
            for piece in group.pieces(keep_stop_words) {
                builder.run(&group.run[piece.clone()], &group.run_sources[piece]);
            }
        } else if keep_stop_words || !group.is_stop() {
            builder.words(group, keep_stop_words);
        }
    }
    builder.query
}

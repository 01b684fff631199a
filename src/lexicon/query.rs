//! A query to weighted terms and to the units of information that they stand for.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::compound::Compound;
use super::segment::{Segmenter, Visitor, Word};
use super::stem::Stems;
use super::stop::is_stop_word;

/// The weight of a single character of a run that has pairs.
const CHARACTER_WEIGHT: f64 = 1.0;

/// A term to be looked up and scored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QueryTerm {
    /// The term as the index has it.
    pub(crate) term: String,
    /// What its score is multiplied by; more than 0.
    pub(crate) weight: f64,
}

/// One piece of what a query asks for: a word with its parts, or a pair of characters of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QueryUnit {
    /// The piece as the query has it.
    pub(crate) surface: String,
    /// Indexes of terms: a chunk has the unit if it has all of these.
    pub(crate) primary: Vec<usize>,
    /// Indexes of all terms that carry some of the unit's information; `primary` is among them.
    pub(crate) terms: Vec<usize>,
}

/// What a query asks for. Scores are summed in the order of `terms`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LexedQuery {
    /// Distinct terms in order of first appearance.
    pub(crate) terms: Vec<QueryTerm>,
    /// The pieces, without repeats.
    pub(crate) units: Vec<QueryUnit>,
}

/// The terms of a word with a point before it or a mark behind it: `.net`, `c++`.
pub(super) fn marked(word: &Word<'_>) -> (Option<String>, Option<String>) {
    let dotted = word.dotted.then(|| format!(".{}", word.text));
    let suffixed = (!word.suffix.is_empty()).then(|| format!("{}{}", word.text, word.suffix));
    (dotted, suffixed)
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
    run: Vec<(char, Range<usize>)>,
}

impl Group {
    fn is_stop(&self) -> bool {
        self.wholes.is_empty()
            && self.exact.is_empty()
            && self.run.is_empty()
            && self.leaves.iter().all(|leaf| is_stop_word(leaf))
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
            self.groups.push(Group { source: word.source.clone(), ..Group::default() });
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
        let (dotted, suffixed) = marked(word);
        group.exact.extend(dotted.into_iter().chain(suffixed));
    }

    fn run(&mut self, c: char, continues: bool, source: Range<usize>) {
        if !continues {
            self.end_compound();
            self.groups.push(Group { source: source.clone(), ..Group::default() });
        }
        if let Some(group) = self.groups.last_mut() {
            group.source.end = source.end;
            group.run.push((c, source));
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
    seen: HashSet<String>,
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
        let stem = self.stems.stem(word, |stem, _| stem.to_owned());
        self.exact(&stem, weight)
    }

    fn unit(&mut self, surface: &str, primary: Vec<usize>, terms: Vec<usize>) {
        if self.seen.insert(surface.to_lowercase()) {
            self.query.units.push(QueryUnit { surface: surface.to_owned(), primary, terms });
        }
    }

    fn group(&mut self, group: &Group, keep_stop_words: bool) {
        if !group.run.is_empty() {
            return self.run(&group.run);
        }
        let surface = &self.text[group.source.clone()];
        let all_stop = keep_stop_words || group.leaves.iter().all(|leaf| is_stop_word(leaf));
        let mut primary = Vec::new();
        for leaf in &group.leaves {
            if all_stop || !is_stop_word(leaf) {
                primary.push(self.stemmed(leaf, 1.0));
            }
        }
        let mut terms = primary.clone();
        for whole in &group.wholes {
            terms.push(self.stemmed(whole, 1.0));
        }
        let exact: Vec<usize> = group.exact.iter().map(|term| self.exact(term, 1.0)).collect();
        terms.extend(&exact);
        if !exact.is_empty() && group.leaves.len() <= 1 {
            primary = exact;
        }
        for indexes in [&mut primary, &mut terms] {
            indexes.sort_unstable();
            indexes.dedup();
        }
        self.unit(surface, primary, terms);
    }

    fn run(&mut self, run: &[(char, Range<usize>)]) {
        let text = self.text;
        if let [(c, source)] = run {
            let term = self.exact(c.encode_utf8(&mut [0; 4]), 1.0);
            return self.unit(&text[source.clone()], vec![term], vec![term]);
        }
        for pair in run.windows(2) {
            let term = self.exact(&String::from_iter([pair[0].0, pair[1].0]), 1.0);
            self.unit(&text[pair[0].1.start..pair[1].1.end], vec![term], vec![term]);
        }
        for (c, _) in run {
            self.exact(c.encode_utf8(&mut [0; 4]), CHARACTER_WEIGHT);
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
        if keep_stop_words || !group.is_stop() {
            builder.group(group, keep_stop_words);
        }
    }
    builder.query
}

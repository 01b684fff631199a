//! How much of a claim stands in a text, in the claim's order.

use std::collections::{HashMap, HashSet};

use super::SupportScorer;
use super::reading::{Reading, SMALL, Unit};

/// The default scorer: which share of the claim's words stands in the span, in the claim's order.
///
/// Words count by their stems, Chinese by characters, values by value; articles and forms of `be` do not count, small
/// words such as prepositions count a quarter. Words of the headings count wherever they stand. A claim with a word,
/// not a small one, that stands nowhere scores 0.85 at most, however long it is: that word may be what is wrong.
#[derive(Clone, Copy, Debug, Default)]
pub struct WordOverlap;

impl SupportScorer for WordOverlap {
    fn score(&self, claim: &str, span: &str) -> f64 {
        let (headings, sentence) = span.rsplit_once("\n\n").unwrap_or(("", span));
        let (claim, sentence, headings) = (Reading::of(claim), Reading::of(sentence), Reading::of(headings));
        let share = align(&claim, &sentence, &headings).share();
        if has_all_words(&claim, &sentence, &headings) { share } else { share.min(WITH_A_WORD_MISSING) }
    }

    fn name(&self) -> &'static str {
        "word_overlap/1"
    }
}

/// The highest score of a claim with a word that the span and the headings do not have.
const WITH_A_WORD_MISSING: f64 = 0.85;

fn has_all_words(claim: &Reading, span: &Reading, headings: &Reading) -> bool {
    let units = span.units.iter().chain(&headings.units);
    let there: HashSet<&str> = units.map(|unit| unit.key.as_str()).collect();
    claim.units.iter().all(|unit| unit.weight == SMALL || there.contains(unit.key.as_str()))
}

/// Texts of more units than this are not compared.
const MOST_CLAIM_UNITS: usize = 512;
const MOST_SPAN_UNITS: usize = 8192;

/// The longest common sequence of a claim and a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Alignment {
    matched: u32,
    by_headings: u32,
    total: u32,
    /// The first and the last token of the span that take part.
    pub(super) window: Option<(usize, usize)>,
}

impl Alignment {
    /// Whether half of the claim or more is matched in the span itself, not in the headings.
    pub(super) fn is_mostly_in_span(self) -> bool {
        self.window.is_some() && 2 * (self.matched - self.by_headings) >= self.total
    }

    /// The share of the claim that is matched, by weight.
    pub(super) fn share(self) -> f64 {
        if self.total == 0 { 0.0 } else { f64::from(self.matched) / f64::from(self.total) }
    }
}

/// Aligns a claim with a span; of equally good ways the one that ends first, and of those the shortest.
pub(super) fn align(claim: &Reading, span: &Reading, headings: &Reading) -> Alignment {
    if claim.units.len() > MOST_CLAIM_UNITS || span.units.len() > MOST_SPAN_UNITS {
        return Alignment::default();
    }
    let in_span: HashSet<&str> = span.units.iter().map(|unit| unit.key.as_str()).collect();
    let in_headings: HashSet<&str> = headings.units.iter().map(|unit| unit.key.as_str()).collect();
    let by_heading = |unit: &&Unit| {
        let key = unit.key.as_str();
        !key.starts_with('=') && !in_span.contains(key) && in_headings.contains(key)
    };
    let weight = |units: &[&Unit]| units.iter().map(|unit| unit.weight).sum::<u32>();
    let total = claim.units.iter().map(|unit| unit.weight).sum();
    let (above, rest): (Vec<&Unit>, Vec<&Unit>) = claim.units.iter().partition(by_heading);
    let (best, window) = longest(&rest, &span.units);
    let by_headings = weight(&above);
    Alignment { matched: by_headings + best, by_headings, total, window }
}

/// Whether a word that the claim has from the headings stands where the span has another word: a heading may say what a
/// sentence is about, and not replace what the sentence says. In the span, the word before the claim's next word, and
/// the one behind its last, must be the claim's as well.
pub(super) fn displaces(claim: &Reading, span: &Reading, headings: &Reading) -> bool {
    fn of(text: &Reading) -> Vec<&str> {
        text.units.iter().filter(|unit| unit.weight != SMALL).map(|unit| unit.key.as_str()).collect()
    }
    let (words, said) = (of(claim), of(span));
    let (claimed, in_span): (HashSet<&str>, HashSet<&str>) =
        (words.iter().copied().collect(), said.iter().copied().collect());
    let in_headings: HashSet<&str> = headings.units.iter().map(|unit| unit.key.as_str()).collect();
    let is_above = |word: &str| !in_span.contains(word) && in_headings.contains(word);
    // Whether the word stands somewhere beside a word of the claim, or beside none.
    let stands_free = |word: &str, beside: fn(usize) -> Option<usize>| {
        let places = said.iter().enumerate().filter(|(_, other)| **other == word);
        places.map(|(at, _)| beside(at).and_then(|at| said.get(at))).any(|it| it.is_none_or(|it| claimed.contains(it)))
    };
    words.windows(2).any(|pair| match (is_above(pair[0]), is_above(pair[1])) {
        (true, false) => in_span.contains(pair[1]) && !stands_free(pair[1], |at| at.checked_sub(1)),
        (false, true) => in_span.contains(pair[0]) && !stands_free(pair[0], |at| Some(at + 1)),
        _ => false,
    })
}

/// The heaviest common sequence: its weight, and the tokens of the span where it begins and ends.
fn longest(claim: &[&Unit], span: &[Unit]) -> (u32, Option<(usize, usize)>) {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    // Backwards, so that a row is read before it is overwritten.
    for (index, unit) in claim.iter().enumerate().rev() {
        places.entry(&unit.key).or_default().push(index);
    }
    // For each count of the claim's units: the weight so far, and the latest place of the span where that begins.
    let mut row = vec![(0_u32, 0_usize); claim.len() + 1];
    let mut best: (u32, Option<(usize, usize)>) = (0, None);
    for unit in span {
        let Some(indexes) = places.get(unit.key.as_str()) else { continue };
        for index in indexes {
            let before = row[*index];
            let start = if before.0 == 0 { unit.at } else { before.1 };
            let candidate = (before.0 + claim[*index].weight, start);
            for cell in &mut row[index + 1..] {
                if *cell >= candidate {
                    break;
                }
                *cell = candidate;
            }
        }
        let (weight, start) = row[claim.len()];
        let shorter = |(from, to): (usize, usize)| unit.at - start < to - from;
        if weight > best.0 || weight == best.0 && best.1.is_some_and(shorter) {
            best = (weight, Some((start, unit.at)));
        }
    }
    best
}

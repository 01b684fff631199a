//! The relevance floor: whether a chunk has enough of what a query asks for to be an answer at all.
//!
//! A score says which chunk is better, not whether the best one is any good. The floor looks at the share of the
//! query's *information* that a chunk has, which does not depend on the length of the query or of the chunk:
//!
//! * A term's information is its idf, times its weight in the query where that is below 1.
//! * A unit's information is the greatest among its primary terms. It counts up to twice where the store has none of
//!   the unit's primary terms and wholes: who asks about something that the store never names is not answered by the
//!   rest of the question. A small store lacks most words there are, so what it does not name says less: the factor
//!   is 1 + N/500 up to 2, for N indexed chunks. Pairs of characters never count more than once, since a pair that is
//!   nowhere mostly straddles two words.
//! * Of a unit's information a chunk has the most of these: all, with one of the unit's wholes; the greatest among
//!   the primary terms that it has; half, with all of the unit's partial terms. So no term makes its share less,
//!   which the index prunes by.
//! * The share is the sum of what the chunk has over the sum of what the units are. A chunk passes if its share is
//!   at least the floor and, where the query has three units or more, it has a primary term or a whole of two.
//!
//! [`DEFAULT_FLOOR`] was chosen on the questions of `fixtures/eval`; `docs/relevance.md` has risk against coverage.

use super::query::LexedQuery;

/// From 0.3 to 0.5 no question of `unanswerable.jsonl` has a hit, and one of `answerable.jsonl` has none.
pub(crate) const DEFAULT_FLOOR: f64 = 0.4;

/// From so many chunks on a unit counts twice where the store has nothing of it.
const CHUNKS_FOR_TWICE: u64 = 500;
/// What a chunk with a unit's partial terms alone has of it.
const PARTIAL_SHARE: f64 = 0.5;
/// Queries with this many units ask for two of them.
const UNITS_FOR_TWO: usize = 3;

struct Unit {
    information: f64,
    /// Term and what it brings.
    primary: Vec<(usize, f64)>,
    wholes: Vec<usize>,
    partial: Vec<usize>,
}

/// The floor for one query against one state of the store. Made once a query, asked once a candidate.
pub(crate) struct FloorRule {
    units: Vec<Unit>,
    total: f64,
    floor: f64,
}

impl FloorRule {
    /// `idf` and `df` are those of `query.terms`, in their order, in a store of `chunks` indexed chunks; a term that
    /// the store has not has a df of 0. With a floor of 0 or less everything passes.
    pub(crate) fn new(query: &LexedQuery, idf: &[f64], df: &[u64], chunks: u64, floor: f64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "at most 500")]
        let unknown_factor = 1.0 + chunks.min(CHUNKS_FOR_TWICE) as f64 / CHUNKS_FOR_TWICE as f64;
        let information = |term: usize| idf[term] * query.terms[term].weight.min(1.0);
        let units: Vec<Unit> = query
            .units
            .iter()
            .map(|unit| {
                let primary: Vec<(usize, f64)> = unit.primary.iter().map(|&term| (term, information(term))).collect();
                let known = unit.of_run || unit.primary.iter().chain(&unit.wholes).any(|&term| df[term] > 0);
                let greatest = primary.iter().map(|&(_, information)| information).fold(0.0, f64::max);
                Unit {
                    information: greatest * if known { 1.0 } else { unknown_factor },
                    primary,
                    wholes: unit.wholes.clone(),
                    partial: unit.partial.clone(),
                }
            })
            .collect();
        let total = units.iter().map(|unit| unit.information).sum();
        Self { units, total, floor }
    }

    /// Whether anything can fail to pass.
    pub(crate) fn is_active(&self) -> bool {
        self.floor > 0.0 && !self.units.is_empty()
    }

    /// Whether a chunk passes; `has` says whether it has the term at an index of the query's terms.
    pub(crate) fn passes(&self, has: impl Fn(usize) -> bool) -> bool {
        if !self.is_active() {
            return true;
        }
        let (matched, units) = self.matched(has);
        matched >= self.floor * self.total && (units >= 2 || self.units.len() < UNITS_FOR_TWO)
    }

    /// The share of the query's information that a chunk has; 1 for a query without units.
    pub(crate) fn share(&self, has: impl Fn(usize) -> bool) -> f64 {
        if self.total > 0.0 { self.matched(has).0 / self.total } else { 1.0 }
    }

    /// The information that a chunk has, and of how many units it has a primary term or a whole.
    fn matched(&self, has: impl Fn(usize) -> bool) -> (f64, usize) {
        let (mut sum, mut units) = (0.0, 0);
        for unit in &self.units {
            let found = unit.primary.iter().filter(|&&(term, _)| has(term)).map(|&(_, information)| information);
            let mut information = found.fold(0.0, f64::max);
            if unit.wholes.iter().any(|&term| has(term)) {
                information = unit.information;
            }
            units += usize::from(information > 0.0);
            if !unit.partial.is_empty() && unit.partial.iter().all(|&term| has(term)) {
                information = information.max(PARTIAL_SHARE * unit.information);
            }
            sum += information;
        }
        (sum, units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::Lexer;
    use rstest::rstest;

    /// A store of `n` chunks in which the words have these frequencies, and whether a chunk with `chunk` passes.
    fn rule(query: &str, known: &[(&str, u32)], floor: f64) -> (LexedQuery, FloorRule) {
        let query = Lexer::new().query(query);
        let df_of = |term: &str| known.iter().find(|(word, _)| *word == term).map_or(0, |&(_, df)| df);
        let df: Vec<u32> = query.terms.iter().map(|term| df_of(&term.term)).collect();
        let n = 1000.0;
        let idf: Vec<f64> =
            df.iter().map(|&df| f64::from(df)).map(|df| (1.0 + (n - df + 0.5) / (df + 0.5)).ln()).collect();
        let df: Vec<u64> = df.into_iter().map(u64::from).collect();
        let rule = FloorRule::new(&query, &idf, &df, 1000, floor);
        (query, rule)
    }

    #[rstest]
    #[case::everything("borrow checker", &[("borrow", 9), ("checker", 9)], &["borrow", "checker"], 1.0)]
    #[case::half("borrow checker", &[("borrow", 9), ("checker", 9)], &["borrow"], 0.5)]
    #[case::nothing("borrow checker", &[("borrow", 9), ("checker", 9)], &[], 0.0)]
    #[case::a_whole_is_all("max_chars", &[("maxchar", 3), ("max", 9), ("char", 9)], &["maxchar"], 1.0)]
    #[case::both_characters_are_half("检索", &[("检", 50), ("索", 50)], &["检", "索"], 0.5)]
    #[case::one_character_is_nothing("检索", &[("检", 50), ("索", 50)], &["检"], 0.0)]
    #[case::no_units("", &[], &[], 1.0)]
    fn share_of_information(
        #[case] query: &str,
        #[case] known: &[(&str, u32)],
        #[case] chunk: &[&str],
        #[case] share: f64,
    ) {
        let (query, rule) = rule(query, known, 0.4);
        let found = rule.share(|term| chunk.contains(&query.terms[term].term.as_str()));
        assert!((found - share).abs() < 1e-12, "{found}");
    }

    #[test]
    fn a_word_that_the_store_never_has_counts_twice() {
        let (query, rule) = rule("kubernetes borrow", &[("borrow", 1)], 0.4);
        let share = rule.share(|term| query.terms[term].term == "borrow");
        let (borrow, unknown) = ((1.0_f64 + 999.5 / 1.5).ln(), (1.0_f64 + 1000.5 / 0.5).ln());
        assert!((share - borrow / (borrow + 2.0 * unknown)).abs() < 1e-12);
        assert!(!rule.passes(|term| query.terms[term].term == "borrow"));
    }

    #[rstest]
    #[case(0, 1.0)]
    #[case(50, 1.1)]
    #[case(500, 2.0)]
    #[case(1_000_000, 2.0)]
    fn an_unknown_word_says_less_in_a_small_store(#[case] chunks: u64, #[case] factor: f64) {
        let query = Lexer::new().query("kubernetes borrow");
        let df: Vec<u64> = query.terms.iter().map(|term| u64::from(term.term == "borrow")).collect();
        let idf = vec![1.0; df.len()];
        let share = FloorRule::new(&query, &idf, &df, chunks, 0.4).share(|term| df[term] > 0);
        assert!((share - 1.0 / (1.0 + factor)).abs() < 1e-12, "{share}");
    }

    #[test]
    fn one_rare_word_of_three_is_not_enough() {
        let known = [("alpha", 1), ("beta", 900), ("gamma", 900)];
        let (query, rule) = rule("alpha beta gamma", &known, 0.4);
        assert!(rule.share(|term| query.terms[term].term == "alpha") > 0.9);
        assert!(!rule.passes(|term| query.terms[term].term == "alpha"));
        assert!(rule.passes(|term| query.terms[term].term != "gamma"));
    }

    #[test]
    fn a_floor_of_zero_lets_everything_pass() {
        assert!(rule("alpha beta gamma", &[], 0.0).1.passes(|_| false));
    }
}

//! A query with all that the store knows about it: read once, before any posting.

use std::sync::Arc;

use super::cursor::List;
use super::kept::{Kept, KeptPart};
use super::lengths::Lengths;
use super::score::{Formula, Statistics, impact_unit};
use super::segment::statistics_of;
use crate::error::{Error, Result};
use crate::lexicon::{FloorRule, LexedQuery, QueryTerm};
use crate::model::Bm25Policy;
use crate::store::postings::{PostingReader, SegmentRow, TermRow, damaged};

/// What is asked of the index.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Query {
    /// The access classes that are searched, ascending: what is in others plays no part, in statistics neither.
    pub classes: Vec<i64>,
    /// Distinct terms, in whose order contributions are summed, and the units of information they stand for.
    pub asked: LexedQuery,
    /// Indexes of units that a hit must have: all of the primary terms, or any of the wholes.
    pub required: Vec<usize>,
    /// Groups of terms: a chunk with all terms of a group is no hit. An empty group excludes nothing.
    pub excluded: Vec<Vec<String>>,
    /// How many hits at most; at least 1.
    pub k: usize,
    /// The share of the query's information that a hit must match, as [`FloorRule`] has it: 0 to 1.
    pub floor: f64,
    /// The score that a hit must reach; 0 for any.
    pub min_score: f64,
}

/// A query term with its statistics and its list in each segment.
pub(crate) struct PlannedTerm {
    /// Live chunks of the classes searched that have it.
    pub df: u64,
    pub idf: f64,
    /// weight · idf.
    pub factor: f64,
    /// Its list in each segment, in the order of the plan's segments.
    pub lists: Vec<Option<Arc<List>>>,
}

/// A query ready to be run on one snapshot.
pub(crate) struct Plan<'q> {
    pub query: &'q Query,
    pub segments: Vec<SegmentRow>,
    /// What is kept of each segment; nothing where the store is read anew.
    kept: Vec<KeptPart>,
    pub statistics: Statistics,
    pub formula: Formula,
    pub terms: Vec<PlannedTerm>,
    pub floor: FloorRule,
    /// Terms that a hit must have.
    pub required: Vec<usize>,
    /// Indexes of required units that a hit can have in more than one way.
    pub alternatives: Vec<usize>,
}

impl<'q> Plan<'q> {
    /// Reads statistics and lists, those that are not `kept`. The caller holds a read transaction open.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a query outside its ranges, [`Error::Damaged`] for impossible statistics.
    pub(crate) fn new(
        reader: &mut PostingReader<'_>,
        kept: Option<&Kept>,
        query: &'q Query,
        policy: &Bm25Policy,
    ) -> Result<Self> {
        let weights = query.asked.terms.iter().all(|term| term.weight > 0.0 && term.weight.is_finite());
        let required = query.required.iter().all(|&index| index < query.asked.units.len());
        if query.k == 0 || !weights || !required || query.floor.is_nan() || query.min_score.is_nan() {
            return Err(Error::Invalid {
                message: "a query needs k of at least 1, positive weights and known units".into(),
            });
        }
        let segments = reader.segments(&query.classes)?;
        let statistics = statistics_of(&segments)?;
        let mut terms = Vec::with_capacity(query.asked.terms.len());
        let kept = kept.map(|kept| kept.parts(&query.classes, &segments)).unwrap_or_default();
        for QueryTerm { term, weight, .. } in &query.asked.terms {
            let lists = lists_of(reader, &segments, &kept, term)?;
            let df = live_df(statistics, term, &lists)?;
            let idf = statistics.idf(df);
            terms.push(PlannedTerm { df, idf, factor: weight * idf, lists });
        }
        let (idf, df): (Vec<f64>, Vec<u64>) = terms.iter().map(|term: &PlannedTerm| (term.idf, term.df)).unzip();
        let floor = FloorRule::new(&query.asked, &idf, &df, statistics.chunks, query.floor);
        let (alternatives, single): (Vec<usize>, Vec<usize>) =
            query.required.iter().partition(|&&unit| !query.asked.units[unit].wholes.is_empty());
        let mut required: Vec<usize> =
            single.iter().flat_map(|&unit| &query.asked.units[unit].primary).copied().collect();
        required.sort_unstable();
        required.dedup();
        let formula = Formula::new(policy, statistics.average_length());
        Ok(Self { query, segments, kept, statistics, formula, terms, floor, required, alternatives })
    }

    /// Whether a chunk with these terms has every required unit and reaches the floor.
    pub(crate) fn admits(&self, has: impl Fn(usize) -> bool) -> bool {
        self.required.iter().all(|&term| has(term))
            && self.alternatives.iter().all(|&unit| {
                let unit = &self.query.asked.units[unit];
                unit.wholes.iter().any(|&term| has(term)) || unit.primary.iter().all(|&term| has(term))
            })
            && self.floor.passes(has)
    }

    /// The most that a chunk of the segment with this index can score; 0 where none can be a hit.
    pub(crate) fn bound(&self, index: usize) -> f64 {
        let list = |term: usize| self.list(term, index);
        if self.required.iter().any(|&term| list(term).is_none()) {
            return 0.0;
        }
        let unit = self.impact_unit(&self.segments[index]);
        let bound = |(term, planned): (usize, &PlannedTerm)| {
            list(term).map_or(0.0, |list| planned.factor * (f64::from(list.max_impact()) * unit))
        };
        self.terms.iter().enumerate().map(bound).sum()
    }

    /// The list of a term in the segment with this index, unless it is empty.
    pub(crate) fn list(&self, term: usize, index: usize) -> Option<&Arc<List>> {
        self.terms[term].lists[index].as_ref().filter(|list| list.df() > 0)
    }

    /// The lengths of the chunks of the segment with this index.
    pub(crate) fn lengths(&self, index: usize) -> Lengths {
        let first_chunk = self.segments[index].first_chunk;
        match self.kept.get(index) {
            Some(part) => Lengths::kept(first_chunk, &part.lengths),
            None => Lengths::on_demand(first_chunk),
        }
    }

    /// What makes an upper bound of the saturation out of an impact of this segment.
    pub(crate) fn impact_unit(&self, segment: &SegmentRow) -> f64 {
        impact_unit(self.statistics.average_length(), segment.average_length)
    }
}

/// The lists of a term in these segments.
pub(super) fn lists_of(
    reader: &mut PostingReader<'_>,
    segments: &[SegmentRow],
    kept: &[KeptPart],
    term: &str,
) -> Result<Vec<Option<Arc<List>>>> {
    let mut known = Vec::with_capacity(segments.len());
    if kept.len() == segments.len() && kept.iter().all(|part| part.segment.knows(term, &mut known)) {
        return Ok(known);
    }
    let rows = segments.iter().zip(reader.term_in(segments, term)?).enumerate();
    let list = |(index, (segment, row)): (usize, (&SegmentRow, Option<TermRow>))| match kept.get(index) {
        Some(part) => part.segment.keep(segment, term, row),
        None => row.map(|row| List::new(segment, row).map(Arc::new)).transpose(),
    };
    rows.map(list).collect()
}

fn live_df(statistics: Statistics, term: &str, lists: &[Option<Arc<List>>]) -> Result<u64> {
    let lists = || lists.iter().flatten();
    let written: u64 = lists().map(|list| u64::from(list.df())).sum();
    let dead = lists().fold(0u64, |sum, list| sum.saturating_add(list.dead()));
    let df = written.checked_sub(dead).filter(|&df| df <= statistics.chunks);
    df.ok_or_else(|| damaged(format_args!("{term:?} has {written} postings and {dead} dead ones")))
}

//! A query with all that the store knows about it: read once, before any posting.

use super::floor::Floor;
use super::score::{Formula, Statistics, impact_unit};
use super::segment::statistics_of;
use crate::error::{Error, Result};
use crate::model::Bm25Policy;
use crate::store::postings::{PostingReader, SegmentRow, TermRow, damaged};

/// One term of a query.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QueryTerm {
    /// The term as the lexicon makes it.
    pub term: String,
    /// A factor on its contribution; above 0.
    pub weight: f64,
    /// The unit of information it belongs to; a term without one counts in the score only.
    pub unit: Option<u32>,
}

/// What is asked of the index.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Query {
    /// Distinct terms. Contributions are summed in this order.
    pub terms: Vec<QueryTerm>,
    /// Indexes of terms that a hit must have.
    pub required: Vec<usize>,
    /// Groups of terms: a chunk with all terms of a group is no hit. An empty group excludes nothing.
    pub excluded: Vec<Vec<String>>,
    /// How many hits at most; at least 1.
    pub k: usize,
    /// The share of the query's information that a hit must match: 0 to 1.
    pub floor: f64,
    /// The score that a hit must reach; 0 for any.
    pub min_score: f64,
}

/// A query term with its statistics and its row in each segment.
pub(crate) struct PlannedTerm {
    /// Live chunks that have it.
    pub df: u64,
    pub idf: f64,
    /// weight · idf.
    pub factor: f64,
    /// Its row in each segment, in the order of the plan's segments.
    pub rows: Vec<Option<TermRow>>,
}

/// A query ready to be run on one snapshot.
pub(crate) struct Plan<'q> {
    pub query: &'q Query,
    pub segments: Vec<SegmentRow>,
    pub statistics: Statistics,
    pub formula: Formula,
    pub terms: Vec<PlannedTerm>,
    pub floor: Floor,
}

impl<'q> Plan<'q> {
    /// Reads statistics and term rows. The caller holds a read transaction open.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a query outside its ranges, [`Error::Damaged`] for impossible statistics.
    pub(crate) fn new(reader: &mut PostingReader<'_>, query: &'q Query, policy: &Bm25Policy) -> Result<Self> {
        let weights = query.terms.iter().all(|term| term.weight > 0.0 && term.weight.is_finite());
        let required = query.required.iter().all(|&index| index < query.terms.len());
        if query.k == 0 || !weights || !required || query.floor.is_nan() || query.min_score.is_nan() {
            return Err(Error::Invalid {
                message: "a query needs k of at least 1, positive weights and known terms".into(),
            });
        }
        let segments = reader.segments()?;
        let statistics = statistics_of(&segments)?;
        let mut terms = Vec::with_capacity(query.terms.len());
        for QueryTerm { term, weight, .. } in &query.terms {
            let rows = term_rows(reader, &segments, term)?;
            let df = live_df(statistics, term, &rows)?;
            let idf = statistics.idf(df);
            terms.push(PlannedTerm { df, idf, factor: weight * idf, rows });
        }
        let floor =
            Floor::new(query.floor, query.terms.iter().zip(&terms).map(|(term, planned)| (term.unit, planned.idf)));
        let formula = Formula::new(policy, statistics.average_length());
        Ok(Self { query, segments, statistics, formula, terms, floor })
    }

    /// What makes an upper bound of the saturation out of an impact of this segment.
    pub(crate) fn impact_unit(&self, segment: &SegmentRow) -> f64 {
        impact_unit(self.statistics.average_length(), segment.average_length)
    }
}

fn term_rows(reader: &mut PostingReader<'_>, segments: &[SegmentRow], term: &str) -> Result<Vec<Option<TermRow>>> {
    segments.iter().map(|segment| reader.term(segment.segment, term)).collect()
}

fn live_df(statistics: Statistics, term: &str, rows: &[Option<TermRow>]) -> Result<u64> {
    let rows = || rows.iter().flatten();
    let written: u64 = rows().map(|row| u64::from(row.df)).sum();
    let dead = rows().fold(0u64, |sum, row| sum.saturating_add(row.dead));
    let df = written.checked_sub(dead).filter(|&df| df <= statistics.chunks);
    df.ok_or_else(|| damaged(format_args!("{term:?} has {written} postings and {dead} dead ones")))
}

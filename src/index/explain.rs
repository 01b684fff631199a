//! Where one chunk's score comes from.

use std::sync::Arc;

use super::cursor::Cursor;
use super::plan::{Plan, Query};
use super::score::{Statistics, saturation};
use crate::error::Result;
use crate::model::Bm25Policy;
use crate::store::postings::PostingReader;

/// What one query term adds to a chunk's score.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TermExplanation {
    /// The term.
    pub term: String,
    /// Its factor in the query.
    pub weight: f64,
    /// Live chunks that have it.
    pub df: u64,
    /// Its inverse document frequency.
    pub idf: f64,
    /// How often the chunk has it; 0 where it does not.
    pub tf: u32,
    /// What it adds to the score.
    pub contribution: f64,
}

/// A chunk's score, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Explanation {
    /// One entry for each query term, in the query's order.
    pub terms: Vec<TermExplanation>,
    /// The sum of the contributions: the score, to the last bit.
    pub score: f64,
    /// The chunk's length as the index keeps it; 0 where it is dead, unknown or without terms.
    pub length: u16,
    /// N and the total length that the idf and the average come from.
    pub statistics: Statistics,
    /// The share of the query's information that the chunk matches.
    pub share: f64,
    /// Whether it reaches the query's floor.
    pub passes: bool,
}

/// Explains the score of a chunk under a query; `k`, filters and the least score play no part.
pub(crate) fn explain(
    reader: &mut PostingReader<'_>,
    query: &Query,
    policy: &Bm25Policy,
    chunk_no: i64,
) -> Result<Explanation> {
    let plan = Plan::new(reader, None, query, policy)?;
    let place = plan.segments.iter().enumerate().find_map(|(index, segment)| {
        let chunk = u32::try_from(chunk_no.checked_sub(segment.first_chunk)?).ok()?;
        (chunk < segment.chunks).then_some((index, segment, chunk))
    });
    let length = match place {
        Some((index, _, chunk)) => plan.lengths(index).get(reader, chunk)?,
        None => 0,
    };
    let norm = plan.formula.norm(length);
    let mut terms = Vec::with_capacity(plan.terms.len());
    for (asked, planned) in query.asked.terms.iter().zip(&plan.terms) {
        let mut tf = 0;
        if let Some((index, _, chunk)) = place
            && length > 0
            && let Some(list) = planned.lists[index].as_ref().filter(|list| list.df() > 0)
        {
            let mut cursor = Cursor::over(reader, Arc::clone(list))?;
            if cursor.seek(reader, chunk)? == chunk {
                tf = cursor.tf();
            }
        }
        let contribution = if tf > 0 { planned.factor * saturation(tf, norm) } else { 0.0 };
        let (df, idf) = (planned.df, planned.idf);
        terms.push(TermExplanation { term: asked.term.clone(), weight: asked.weight, df, idf, tf, contribution });
    }
    let has = |term: usize| terms[term].tf > 0;
    let (share, passes) = (plan.floor.share(has), plan.floor.passes(has));
    let score = terms.iter().map(|term| term.contribution).sum();
    Ok(Explanation { terms, score, length, statistics: plan.statistics, share, passes })
}

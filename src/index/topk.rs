//! The best k chunks of the whole index.

use super::collect::{Callbacks, Collector, Scored};
use super::kept::Kept;
use super::plan::{Plan, Query};
use super::ranges;
use super::score::SLACK;
use crate::error::Result;
use crate::model::Bm25Policy;
use crate::store::postings::PostingReader;

/// The best `query.k` chunks, best first: by score, then by what `tie_key` says (document path, chunk index). Both
/// callbacks are asked only about chunks that would enter the result. The caller holds a read transaction open.
///
/// # Errors
/// [`crate::Error::Invalid`] for a query outside its ranges, [`crate::Error::Damaged`] for an impossible index, and
/// whatever the callbacks return.
pub(crate) fn top_k(
    reader: &mut PostingReader<'_>,
    kept: &Kept,
    query: &Query,
    policy: &Bm25Policy,
    accept: &mut dyn FnMut(i64) -> Result<bool>,
    tie_key: &mut dyn FnMut(i64) -> Result<(String, i64)>,
) -> Result<Vec<Scored>> {
    let plan = Plan::new(reader, Some(kept), query, policy)?;
    let mut callbacks = Callbacks { accept, tie_key };
    // The segment with the highest bound first, the larger of two: it raises the threshold soonest. Once a bound is below
    // the threshold, so are the rest.
    let mut order: Vec<(f64, usize)> = (0..plan.segments.len()).map(|index| (plan.bound(index), index)).collect();
    order.sort_by(|a, b| {
        let indexed = |index: usize| plan.segments[index].indexed;
        b.0.total_cmp(&a.0).then_with(|| indexed(b.1).cmp(&indexed(a.1)))
    });
    let mut collector = Collector::new(query.k, query.min_score);
    for (bound, index) in order {
        if bound * SLACK < collector.threshold() {
            break;
        }
        ranges::walk(reader, &plan, index, &mut collector, &mut callbacks)?;
    }
    collector.into_hits(&mut callbacks)
}

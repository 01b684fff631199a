//! The walk over a large segment, best ranges first.
//!
//! A walk from one end of a segment to the other begins without a threshold, and looks at much that falls behind later. So
//! the segment is cut into ranges, each with the most that a chunk of it can score by the bounds of its blocks, and the
//! few best ranges are walked before all others: what belongs together mostly stands together.

use std::sync::Arc;

use super::collect::{Callbacks, Collector};
use super::cursor::{Cursor, END};
use super::plan::Plan;
use super::walk::Walk;
use crate::error::Result;
use crate::store::postings::PostingReader;

/// Into how many ranges a segment is cut.
const RANGES: u32 = 256;
/// How many of them are walked. With twice or half as many a query takes as long.
const BEST: usize = 4;
/// Lists of at most this many postings are read, to know in which ranges they have any. Tests have short ones.
const SHORT: u32 = if cfg!(test) { 8 } else { 1024 };
/// With fewer postings in all lists, the walk is over as soon as this is. Tests have few.
const FEW_POSTINGS: u64 = if cfg!(test) { 1 } else { 4096 };

/// Offers every chunk of the plan's segment `index` that can be among the best to the collector.
///
/// # Errors
/// As [`super::top_k`].
pub(super) fn walk(
    reader: &mut PostingReader<'_>,
    plan: &Plan<'_>,
    index: usize,
    collector: &mut Collector,
    callbacks: &mut Callbacks<'_>,
) -> Result<()> {
    let best = best_ranges(reader, plan, index)?;
    // Cursors only move forward: one walk for the best, one for what is between them.
    if !best.is_empty() {
        let Some(mut walk) = Walk::open(reader, plan, index)? else { return Ok(()) };
        for &(first, last) in &best {
            walk.run(reader, first, last, collector, callbacks)?;
        }
    }
    let Some(mut walk) = Walk::open(reader, plan, index)? else { return Ok(()) };
    let mut next = 0;
    for (first, last) in best {
        if next < first {
            walk.run(reader, next, first - 1, collector, callbacks)?;
        }
        next = last + 1;
    }
    walk.run(reader, next, END - 1, collector, callbacks)
}

/// The ranges with the highest bounds, by their first and last chunk, in their order; none where the segment has little to
/// walk.
fn best_ranges(reader: &mut PostingReader<'_>, plan: &Plan<'_>, index: usize) -> Result<Vec<(u32, u32)>> {
    let lists = (0..plan.terms.len()).filter_map(|term| plan.list(term, index));
    if lists.map(|list| u64::from(list.df())).sum::<u64>() < FEW_POSTINGS {
        return Ok(Vec::new());
    }
    let width = plan.segments[index].chunks / RANGES + 1;
    let mut ranges: Vec<(u32, f64)> = (0..).zip(bounds(reader, plan, index, width)?).collect();
    if ranges.len() > BEST {
        ranges.select_nth_unstable_by(BEST, |a, b| b.1.total_cmp(&a.1));
        ranges.truncate(BEST);
    }
    let chunks = |(range, _): (u32, f64)| (range * width, (range * width).saturating_add(width - 1).min(END - 1));
    let mut best: Vec<(u32, u32)> = ranges.into_iter().map(chunks).collect();
    best.sort_unstable();
    Ok(best)
}

/// The most that a chunk of each range of `width` chunks can score.
fn bounds(reader: &mut PostingReader<'_>, plan: &Plan<'_>, index: usize, width: u32) -> Result<Vec<f64>> {
    let segment = &plan.segments[index];
    let unit = plan.impact_unit(segment);
    let mut bounds = vec![0.0; segment.chunks.div_ceil(width) as usize];
    let mut impacts = vec![0; bounds.len()];
    for (term, planned) in plan.terms.iter().enumerate() {
        let Some(list) = plan.list(term, index) else { continue };
        impacts.fill(0);
        let mut raise = |first: u32, last: u32, impact: u16| {
            for raised in &mut impacts[(first / width) as usize..=(last / width) as usize] {
                *raised = impact.max(*raised);
            }
        };
        if list.df() <= SHORT {
            let mut cursor = Cursor::over(reader, Arc::clone(list))?;
            while cursor.chunk() != END {
                raise(cursor.chunk(), cursor.chunk(), cursor.impact());
                cursor.next(reader)?;
            }
        } else {
            list.each_bound(raise)?;
        }
        for (bound, &impact) in bounds.iter_mut().zip(&impacts) {
            *bound += planned.factor * (f64::from(impact) * unit);
        }
    }
    Ok(bounds)
}

//! Top k by decoding everything: the yardstick for `topk`, kept as plain as can be.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::collect::{Callbacks, Collector, Scored};
use super::cursor::{Cursor, END};
use super::kept::Kept;
use super::plan::{Plan, Query};
use super::score::saturation;
use crate::error::Result;
use crate::model::Bm25Policy;
use crate::store::postings::PostingReader;

/// What [`super::top_k`] gives, without pruning and from what is stored, whatever is kept.
pub(crate) fn exhaustive(
    reader: &mut PostingReader<'_>,
    _: &Kept,
    query: &Query,
    policy: &Bm25Policy,
    accept: &mut dyn FnMut(i64) -> Result<bool>,
    tie_key: &mut dyn FnMut(i64) -> Result<(String, i64)>,
) -> Result<Vec<Scored>> {
    let plan = Plan::new(reader, None, query, policy)?;
    let mut collector = Collector::new(query.k, query.min_score);
    let mut callbacks = Callbacks { accept, tie_key };
    for (index, segment) in plan.segments.iter().enumerate() {
        let mut found: BTreeMap<u32, Vec<Option<f64>>> = BTreeMap::new();
        let mut lengths = plan.lengths(index);
        for (term, planned) in plan.terms.iter().enumerate() {
            let Some(list) = &planned.lists[index] else { continue };
            let mut cursor = Cursor::over(reader, Arc::clone(list))?;
            while cursor.chunk() != END {
                let length = lengths.get(reader, cursor.chunk())?;
                if length > 0 {
                    let contributions = found.entry(cursor.chunk()).or_insert_with(|| vec![None; plan.terms.len()]);
                    contributions[term] = Some(planned.factor * saturation(cursor.tf(), plan.formula.norm(length)));
                }
                cursor.next(reader)?;
            }
        }
        let mut excluded: BTreeSet<u32> = BTreeSet::new();
        for group in query.excluded.iter().filter(|group| !group.is_empty()) {
            let mut common: Option<BTreeSet<u32>> = None;
            for term in group {
                let mut chunks = BTreeSet::new();
                if let Some(row) = reader.term(segment.segment, term)? {
                    let mut cursor = Cursor::open(reader, segment, row)?;
                    while cursor.chunk() != END {
                        chunks.insert(cursor.chunk());
                        cursor.next(reader)?;
                    }
                }
                common = Some(common.map_or_else(|| chunks.clone(), |common| &common & &chunks));
            }
            excluded.extend(common.into_iter().flatten());
        }
        for (chunk, contributions) in found {
            if !excluded.contains(&chunk) && plan.admits(|term| contributions[term].is_some()) {
                let score = contributions.iter().flatten().sum();
                let chunk_no = segment.first_chunk + i64::from(chunk);
                collector.offer(Scored { chunk_no, score }, &mut callbacks)?;
            }
        }
    }
    collector.into_hits(&mut callbacks)
}

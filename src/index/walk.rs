//! Block-max `MaxScore` over one segment, chunk after chunk.
//!
//! Turtle and Flood's `MaxScore` (1995) on the block bounds of Ding and Suel (2011), with bounds renewed window by window
//! as in Lucene's `MaxScoreBulkScorer`. A *window* is a range of chunk numbers. In each, lists are ordered by
//! the most that they can add there. The longest prefix that can't lift a chunk to the threshold alone is
//! *non-essential*: only chunks of the other lists are candidates. The relevance floor works alike: a prefix whose
//! terms together do not have the information that the floor asks for is non-essential too. With required terms, the
//! rarest of them is the only essential list. What a candidate still lacks is bounded once more, by the blocks that it would
//! stand in, before any of these is read.
//!
//! Nothing is dropped unless a bound is strictly below the threshold, and bounds are widened by
//! [`SLACK`], so the result equals the exhaustive one to the last bit.

use std::sync::Arc;

use super::collect::{Callbacks, Collector, Scored};
use super::cursor::{Cursor, END};
use super::lengths::Lengths;
use super::plan::Plan;
use super::score::{SLACK, saturation};
use crate::error::Result;
use crate::store::postings::{PostingReader, SegmentRow};

/// A window that had fewer candidates than this for each list makes the next one twice as wide.
const FEW: u32 = 32;
/// Windows do not grow beyond this many chunks on their own.
const WIDEST: u32 = 1 << 14;

struct List {
    cursor: Cursor,
    /// Index of its term in the query.
    term: usize,
    factor: f64,
    /// The most that it can add in this window.
    bound: f64,
}

/// Where an essential list stands within a window.
struct Head {
    chunk: u32,
    /// Index of the list.
    list: usize,
    /// The most that it can add from the block that it stands in.
    bound: f64,
}

/// The traversal of one segment.
pub(crate) struct Walk<'p, 'q> {
    plan: &'p Plan<'q>,
    segment: &'p SegmentRow,
    unit: f64,
    lists: Vec<List>,
    /// Required lists by ascending df, as indexes into `lists`; the first leads.
    required: Vec<usize>,
    excluded: Vec<Vec<Cursor>>,
    /// Lists by ascending bound; those from `essential` on give candidates.
    order: Vec<usize>,
    essential: usize,
    heads: Vec<Head>,
    /// `below[i]`: the sum of the bounds of `order[..i]`.
    below: Vec<f64>,
    /// `rest[i]`: the most that `order[..=i]` can add to a chunk from the last candidate on, before `rest_end`.
    rest: Vec<f64>,
    /// The most that all non-essential lists can add to it.
    rest_of_all: f64,
    rest_end: u32,
    lengths: Lengths,
    /// The candidate's contribution of each query term; 0 where it does not have it.
    contributions: Vec<f64>,
    touched: Vec<usize>,
    /// Which terms belong to the lists looked at so far, while lists are split.
    prefix: Vec<bool>,
}

impl<'p, 'q> Walk<'p, 'q> {
    /// The traversal of the plan's segment `index`; nothing where it has no candidates.
    pub(crate) fn open(reader: &mut PostingReader<'_>, plan: &'p Plan<'q>, index: usize) -> Result<Option<Self>> {
        let segment = &plan.segments[index];
        if plan.required.iter().any(|&term| plan.list(term, index).is_none()) {
            return Ok(None);
        }
        let mut lists = Vec::with_capacity(plan.terms.len());
        for (term, planned) in plan.terms.iter().enumerate() {
            if let Some(list) = plan.list(term, index) {
                let cursor = Cursor::over(reader, Arc::clone(list))?;
                lists.push(List { cursor, term, factor: planned.factor, bound: 0.0 });
            }
        }
        if lists.is_empty() {
            return Ok(None);
        }
        let mut required: Vec<usize> =
            (0..lists.len()).filter(|&list| plan.required.contains(&lists[list].term)).collect();
        required.sort_by_key(|&list| lists[list].cursor.df());
        let mut excluded = Vec::new();
        for group in plan.query.excluded.iter().filter(|group| !group.is_empty()) {
            let mut cursors = Vec::with_capacity(group.len());
            for term in group {
                if let Some(row) = reader.term(segment.segment, term)?.filter(|row| row.df > 0) {
                    cursors.push(Cursor::open(reader, segment, row)?);
                }
            }
            if cursors.len() == group.len() {
                excluded.push(cursors);
            }
        }
        Ok(Some(Self {
            plan,
            segment,
            unit: plan.impact_unit(segment),
            order: (0..lists.len()).collect(),
            essential: 0,
            heads: Vec::with_capacity(lists.len()),
            below: vec![0.0; lists.len() + 1],
            rest: vec![0.0; lists.len()],
            rest_of_all: 0.0,
            rest_end: 0,
            lists,
            required,
            excluded,
            lengths: plan.lengths(index),
            contributions: vec![0.0; plan.terms.len()],
            touched: Vec::with_capacity(plan.terms.len()),
            prefix: vec![false; plan.terms.len()],
        }))
    }

    /// Offers every chunk from `first` to `end` that can be among the best to the collector. What these are only grows
    /// from call to call.
    pub(crate) fn run(
        &mut self,
        reader: &mut PostingReader<'_>,
        mut first: u32,
        end: u32,
        collector: &mut Collector,
        callbacks: &mut Callbacks<'_>,
    ) -> Result<()> {
        let mut width = 1u32;
        while first <= end {
            let mut last = self.window_end(first);
            if last == END {
                return Ok(());
            }
            last = last.max(first.saturating_add(width - 1)).min(end);
            let candidates = if self.partition(first, last, collector.threshold()) {
                if self.required.is_empty() {
                    self.any_of(reader, first, &mut last, collector, callbacks)?
                } else {
                    self.all_of(reader, first, &mut last, collector, callbacks)?
                }
            } else {
                0
            };
            let few = candidates < FEW * u32::try_from(self.lists.len()).unwrap_or(1);
            width = if few { (width * 2).min(WIDEST) } else { 1 };
            first = last + 1;
        }
        Ok(())
    }

    /// The first end of a block among the essential lists of the last window (at least the one with the highest
    /// bound); [`END`] once no list has anything left that could be a candidate.
    fn window_end(&mut self, first: u32) -> u32 {
        if let Some(&lead) = self.required.first() {
            return self.lists[lead].cursor.block_end(first);
        }
        let drivers = self.essential.min(self.order.len() - 1);
        let mut end = END;
        for &list in &self.order[drivers..] {
            end = end.min(self.lists[list].cursor.block_end(first));
        }
        if end == END {
            for &list in &self.order[..drivers] {
                end = end.min(self.lists[list].cursor.block_end(first));
            }
        }
        end
    }

    /// Orders the lists by their bounds within the window and splits them; says whether there can be a candidate.
    fn partition(&mut self, first: u32, last: u32, threshold: f64) -> bool {
        for list in &mut self.lists {
            list.bound = list.factor * (f64::from(list.cursor.impact_within(first, last)) * self.unit);
        }
        let lists = &self.lists;
        self.order.sort_by(|&a, &b| lists[a].bound.total_cmp(&lists[b].bound));
        self.prefix.fill(false);
        self.rest_end = 0;
        let mut sum = 0.0;
        let mut passes = !self.plan.floor.is_active();
        self.essential = 0;
        for (index, &list) in self.order.iter().enumerate() {
            sum += lists[list].bound;
            self.below[index + 1] = sum;
            self.prefix[lists[list].term] = true;
            let prefix = &self.prefix;
            // What a chunk has of the query's information only grows with its terms: once a prefix passes, all do.
            passes = passes || self.plan.floor.passes(|term| prefix[term]);
            if sum * SLACK < threshold || sum == 0.0 || !passes {
                self.essential = index + 1;
            }
        }
        self.essential < self.order.len()
    }

    /// Candidates of the essential lists from `first` to `last`; ends the window early once the threshold rises.
    fn any_of(
        &mut self,
        reader: &mut PostingReader<'_>,
        first: u32,
        last: &mut u32,
        collector: &mut Collector,
        callbacks: &mut Callbacks<'_>,
    ) -> Result<u32> {
        if self.essential + 1 == self.order.len() {
            return self.one_of(reader, first, last, collector, callbacks);
        }
        let below = self.below[self.essential];
        let threshold = collector.threshold();
        self.heads.clear();
        for &index in &self.order[self.essential..] {
            let list = &mut self.lists[index];
            let chunk = list.cursor.seek(reader, first)?;
            let bound = list.factor * (f64::from(list.cursor.impact()) * self.unit);
            self.heads.push(Head { chunk, list: index, bound });
        }
        let mut candidates = 0;
        let mut chunk = self.heads.iter().fold(END, |least, head| least.min(head.chunk));
        while chunk <= *last {
            candidates += 1;
            let most =
                self.heads.iter().fold(0.0, |sum, head| if head.chunk == chunk { sum + head.bound } else { sum });
            if (most + below) * SLACK >= threshold
                && (most + self.rest(chunk)) * SLACK >= threshold
                && let Some((norm, partial)) = self.score(reader, chunk, threshold)?
            {
                self.complete(reader, chunk, norm, partial, collector, callbacks)?;
                self.forget();
                if collector.threshold() > threshold {
                    *last = chunk;
                }
            }
            let mut next = END;
            for head in &mut self.heads {
                if head.chunk == chunk {
                    let List { cursor, factor, .. } = &mut self.lists[head.list];
                    head.chunk = cursor.next(reader)?;
                    head.bound = *factor * (f64::from(cursor.impact()) * self.unit);
                }
                next = next.min(head.chunk);
            }
            chunk = next;
        }
        Ok(candidates)
    }

    /// Adds what the heads that stand on a candidate have of it. Gives the norm of its length as well; nothing where it
    /// can't reach the threshold.
    fn score(&mut self, reader: &mut PostingReader<'_>, chunk: u32, threshold: f64) -> Result<Option<(f64, f64)>> {
        let length = self.lengths.get(reader, chunk)?;
        let norm = self.plan.formula.norm(length);
        let mut partial = 0.0;
        for head in self.heads.iter().filter(|head| head.chunk == chunk) {
            let list = &self.lists[head.list];
            partial += list.factor * saturation(list.cursor.tf(), norm);
        }
        if (partial + self.rest(chunk)) * SLACK < threshold || length == 0 {
            return Ok(None);
        }
        for head in self.heads.iter().filter(|head| head.chunk == chunk) {
            let list = &self.lists[head.list];
            self.contributions[list.term] = list.factor * saturation(list.cursor.tf(), norm);
            self.touched.push(list.term);
        }
        Ok(Some((norm, partial)))
    }

    /// As [`Walk::any_of`], where one list is essential: most of the time.
    fn one_of(
        &mut self,
        reader: &mut PostingReader<'_>,
        first: u32,
        last: &mut u32,
        collector: &mut Collector,
        callbacks: &mut Callbacks<'_>,
    ) -> Result<u32> {
        let (only, below) = (self.order[self.essential], self.below[self.essential]);
        let List { factor, term, .. } = self.lists[only];
        let threshold = collector.threshold();
        let mut candidates = 0;
        let mut from = first;
        while from <= *last {
            let list = &mut self.lists[only];
            let (end, impact) = list.cursor.block_bound(from);
            if end == END {
                break;
            }
            let most = factor * (f64::from(impact) * self.unit);
            let stop = end.min(*last);
            if (most + below) * SLACK >= threshold {
                let mut chunk = list.cursor.seek(reader, from)?;
                while chunk <= stop {
                    candidates += 1;
                    let length = self.lengths.get(reader, chunk)?;
                    let norm = self.plan.formula.norm(length);
                    let contribution = factor * saturation(self.lists[only].cursor.tf(), norm);
                    if (contribution + below) * SLACK >= threshold && length > 0 {
                        let rest = self.rest(chunk);
                        if (contribution + rest) * SLACK >= threshold {
                            self.contributions[term] = contribution;
                            self.touched.push(term);
                            self.complete(reader, chunk, norm, contribution, collector, callbacks)?;
                            self.forget();
                            if collector.threshold() > threshold {
                                *last = chunk;
                                return Ok(candidates);
                            }
                        } else if (most + rest) * SLACK < threshold {
                            // Nor can any other before one of the blocks ends.
                            if self.rest_end > stop {
                                break;
                            }
                            chunk = self.lists[only].cursor.seek(reader, self.rest_end)?;
                            continue;
                        }
                    }
                    // The block after this one may not be worth decoding.
                    if chunk == stop {
                        break;
                    }
                    chunk = self.lists[only].cursor.next(reader)?;
                }
            }
            from = end.saturating_add(1);
        }
        Ok(candidates)
    }

    /// Chunks with all required terms from `first` to `last`.
    fn all_of(
        &mut self,
        reader: &mut PostingReader<'_>,
        first: u32,
        last: &mut u32,
        collector: &mut Collector,
        callbacks: &mut Callbacks<'_>,
    ) -> Result<u32> {
        let lead = self.required[0];
        // All lists are completed by seeking, the required ones at no cost.
        self.essential = self.order.len();
        let mut candidates = 0;
        let mut chunk = self.lists[lead].cursor.seek(reader, first)?;
        'candidates: while chunk <= *last {
            candidates += 1;
            for &other in &self.required[1..] {
                let at = self.lists[other].cursor.seek(reader, chunk)?;
                if at > chunk {
                    chunk = self.lists[lead].cursor.seek(reader, at)?;
                    continue 'candidates;
                }
            }
            let threshold = collector.threshold();
            let length = self.lengths.get(reader, chunk)?;
            if length > 0 {
                let norm = self.plan.formula.norm(length);
                self.complete(reader, chunk, norm, 0.0, collector, callbacks)?;
                self.forget();
            }
            if collector.threshold() > threshold {
                *last = chunk;
            }
            chunk = self.lists[lead].cursor.next(reader)?;
        }
        Ok(candidates)
    }

    /// The most that the non-essential lists can add to a chunk: their bounds in the blocks that it would stand in. They
    /// hold for all chunks until one of the blocks ends.
    #[inline]
    fn rest(&mut self, chunk: u32) -> f64 {
        if chunk >= self.rest_end {
            self.renew_rest(chunk);
        }
        self.rest_of_all
    }

    #[inline(never)]
    fn renew_rest(&mut self, chunk: u32) {
        let (mut rest, mut end) = (0.0, END);
        for (&index, most) in self.order[..self.essential].iter().zip(&mut self.rest) {
            let list = &mut self.lists[index];
            if list.bound > 0.0 {
                let (last, impact) = list.cursor.block_bound(chunk);
                rest += list.factor * (f64::from(impact) * self.unit);
                end = end.min(last.saturating_add(1));
            }
            *most = rest;
        }
        (self.rest_of_all, self.rest_end) = (rest, end);
    }

    /// Adds what the non-essential lists have of a candidate, largest bound first, and offers it unless it falls
    /// behind on the way. Their bounds are those of [`Walk::rest`]: blocks are not decoded in vain.
    fn complete(
        &mut self,
        reader: &mut PostingReader<'_>,
        chunk: u32,
        norm: f64,
        mut partial: f64,
        collector: &mut Collector,
        callbacks: &mut Callbacks<'_>,
    ) -> Result<()> {
        let threshold = collector.threshold();
        self.rest(chunk);
        for place in (0..self.essential).rev() {
            if (partial + self.rest[place]) * SLACK < threshold {
                return Ok(());
            }
            let list = &mut self.lists[self.order[place]];
            if list.bound > 0.0 && list.cursor.seek(reader, chunk)? == chunk {
                let contribution = list.factor * saturation(list.cursor.tf(), norm);
                self.contributions[list.term] = contribution;
                self.touched.push(list.term);
                partial += contribution;
            }
        }
        if partial * SLACK < threshold {
            return Ok(());
        }
        let contributions = &self.contributions;
        if !self.plan.admits(|term| contributions[term] > 0.0) || self.is_excluded(reader, chunk)? {
            return Ok(());
        }
        let score = self.contributions.iter().sum();
        let chunk_no = self.segment.first_chunk + i64::from(chunk);
        collector.offer(Scored { chunk_no, score }, callbacks)
    }

    fn is_excluded(&mut self, reader: &mut PostingReader<'_>, chunk: u32) -> Result<bool> {
        for group in &mut self.excluded {
            let mut all = true;
            for cursor in group {
                if cursor.seek(reader, chunk)? != chunk {
                    all = false;
                    break;
                }
            }
            if all {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn forget(&mut self) {
        for term in self.touched.drain(..) {
            self.contributions[term] = 0.0;
        }
    }
}

//! Changing the index: one new segment for each sync and access class, which takes in older ones of the class where
//! that is due. Nothing here looks at another class.
//!
//! All of it runs inside the caller's write transaction. The order of work: mark the dead in the length pages, write
//! the new lengths, choose what to merge, stream all terms into the new segment, drop the merged ones.

use std::io::Read;

use super::apart::{MANY_CHUNKS, write_apart};
use super::intern::Interner;
use super::lengths::{self, Lengths};
use super::list::ListWriter;
use super::merge::{SegmentSource, Source, is_mostly_dead, merge_from, write_lists};
use super::run::{RunReader, kept_length};
use super::score::{Formula, Statistics};
use crate::error::{Error, Result};
use crate::model::Bm25Policy;
use crate::store::postings::{PostingReader, PostingWriter, SegmentRow, damaged};

/// Chunks that died in a sync, with their terms: the same that were added for them.
#[derive(Default)]
pub(crate) struct Deaths {
    chunks: Vec<(i64, u16)>,
    terms: Interner,
    counts: Vec<u64>,
}

impl Deaths {
    /// Adds a chunk with the length and the terms that it was added with.
    pub(crate) fn add<'t>(&mut self, chunk_no: i64, length: u32, terms: impl Iterator<Item = (&'t str, u32)>) {
        if length == 0 {
            return;
        }
        self.chunks.push((chunk_no, kept_length(length)));
        for (term, _) in terms.filter(|(term, tf)| !term.is_empty() && *tf > 0) {
            let id = self.terms.id(term) as usize;
            match self.counts.get_mut(id) {
                Some(count) => *count += 1,
                None => self.counts.push(1),
            }
        }
    }

    /// Joins the deaths of another slice of the same sync to these.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.chunks.extend_from_slice(&other.chunks);
        for (term, count) in other.sorted_terms() {
            let id = self.terms.id(term) as usize;
            match self.counts.get_mut(id) {
                Some(known) => *known += count,
                None => self.counts.push(count),
            }
        }
    }

    fn sorted_terms(&self) -> impl Iterator<Item = (&str, u64)> {
        self.terms.sorted().into_iter().map(|id| (self.terms.term(id), self.counts[id as usize]))
    }
}

/// The numbers of what a sync adds to one access class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewChunks {
    /// The class.
    pub class_no: i64,
    /// The sync's generation.
    pub generation: i64,
    /// The number of its first new chunk.
    pub first_chunk: i64,
    /// How many new chunks it has; their numbers follow one another.
    pub chunks: u32,
}

/// The live statistics of these segments.
pub(crate) fn statistics_of(segments: &[SegmentRow]) -> Result<Statistics> {
    let sum = |value: fn(&SegmentRow) -> u64| segments.iter().try_fold(0u64, |sum, row| sum.checked_add(value(row)));
    let live = |all: Option<u64>, dead: Option<u64>| all?.checked_sub(dead?);
    let chunks = live(sum(|row| row.indexed), sum(|row| row.dead_chunks));
    let total_length = live(sum(|row| row.total_length), sum(|row| row.dead_length));
    match (chunks, total_length) {
        (Some(chunks), Some(total_length)) if total_length >= chunks => Ok(Statistics { chunks, total_length }),
        _ => Err(damaged("more is dead than ever lived")),
    }
}

/// N and the live total length of these classes, exact.
pub(crate) fn statistics(reader: &PostingReader<'_>, classes: &[i64]) -> Result<Statistics> {
    statistics_of(&reader.segments(classes)?)
}

/// Publishes the chunks that a sync has for one class: `runs`, each with the place of its first chunk among the new ones,
/// and `deaths` among older chunks.
///
/// # Errors
/// [`Error::Damaged`] if the deaths contradict the index; [`Error::Io`] if a run can't be read.
pub(crate) fn append_segment<R: Read + Send>(
    writer: &mut PostingWriter<'_>,
    new: NewChunks,
    mut runs: Vec<(u32, RunReader<R>)>,
    deaths: &Deaths,
    policy: &Bm25Policy,
) -> Result<()> {
    let old = writer.reader.segments(&[new.class_no])?;
    if let Some(last) = old.last()
        && new.first_chunk < last.first_chunk + i64::from(last.chunks)
    {
        return Err(damaged(format_args!("chunk {} is not new: segment {} covers it", new.first_chunk, last.segment)));
    }
    runs.sort_unstable_by_key(|&(base, _)| base);
    let new_lengths = lengths_of(new, &runs)?;
    lengths::write_range(writer, new.first_chunk, &new_lengths)?;
    let mut dead = deaths.chunks.clone();
    dead.sort_unstable();
    if dead.last().is_some_and(|&(chunk_no, _)| chunk_no >= new.first_chunk) {
        return Err(Error::Invalid { message: "a chunk can't be added and removed by the same sync".into() });
    }
    lengths::mark_dead(writer, &dead)?;

    let fresh = SegmentRow {
        segment: writer.next_segment()?,
        class_no: new.class_no,
        generation: new.generation,
        first_chunk: new.first_chunk,
        chunks: new.chunks,
        indexed: new_lengths.iter().filter(|&&length| length > 0).count() as u64,
        total_length: new_lengths.iter().map(|&length| u64::from(length)).sum(),
        dead_chunks: dead.len() as u64,
        dead_length: dead.iter().map(|&(_, length)| u64::from(length)).sum(),
        average_length: 1.0,
        first_row: 0,
        rows: 0,
    };
    if fresh.indexed == 0 && dead.is_empty() {
        return Ok(());
    }
    let size = |row: &SegmentRow| row.indexed.saturating_add(row.dead_chunks);
    let sizes: Vec<u64> = old.iter().map(size).collect();
    let from = merge_from(&sizes, size(&fresh));
    let mut sources: Vec<Source<'_, R>> = Vec::with_capacity(runs.len() + 1);
    sources.extend(runs.into_iter().map(|(base, reader)| Source::Run { reader, base }));
    sources.push(Source::Deaths(deaths.sorted_terms().collect()));
    write_segment(writer, &old, from, &fresh, sources, policy)
}

/// Merges the segments of each class into one; nothing that a query sees changes.
pub(crate) fn optimize(writer: &mut PostingWriter<'_>, policy: &Bm25Policy) -> Result<()> {
    writer.reader.classes()?.into_iter().try_for_each(|class_no| optimize_class(writer, class_no, policy))
}

fn optimize_class(writer: &mut PostingWriter<'_>, class_no: i64, policy: &Bm25Policy) -> Result<()> {
    let old = writer.reader.segments(&[class_no])?;
    let Some(last) = old.last() else { return Ok(()) };
    if old.len() == 1 && last.dead_chunks == 0 {
        return Ok(());
    }
    let fresh = SegmentRow {
        segment: writer.next_segment()?,
        first_chunk: last.first_chunk + i64::from(last.chunks),
        chunks: 0,
        indexed: 0,
        total_length: 0,
        dead_chunks: 0,
        dead_length: 0,
        ..last.clone()
    };
    write_segment::<std::io::Empty>(writer, &old, 0, &fresh, Vec::new(), policy)
}

/// Removes a class whose last chunk died.
fn clear_class(writer: &mut PostingWriter<'_>, segments: &[SegmentRow], end: i64) -> Result<()> {
    if let Some(first) = segments.first() {
        lengths::forget(writer, first.first_chunk, end)?;
    }
    segments.iter().try_for_each(|segment| writer.delete_segment(segment))
}

/// Removes everything: for a sync that rebuilds.
pub(crate) fn clear(writer: &mut PostingWriter<'_>) -> Result<()> {
    writer.clear()
}

fn lengths_of<R: Read>(new: NewChunks, runs: &[(u32, RunReader<R>)]) -> Result<Vec<u16>> {
    let mut lengths = vec![0; new.chunks as usize];
    let mut free = 0;
    for (base, run) in runs {
        let start = *base as usize;
        let place = lengths.get_mut(start..start + run.lengths().len()).filter(|_| start >= free);
        let place = place.ok_or_else(|| Error::Invalid { message: "the runs of a sync overlap".into() })?;
        place.copy_from_slice(run.lengths());
        free = start + run.lengths().len();
    }
    Ok(lengths)
}

/// Writes `fresh` (whose lists are in `sources`) together with the old segments from `from` on as one new segment.
fn write_segment<R: Read + Send>(
    writer: &mut PostingWriter<'_>,
    old: &[SegmentRow],
    mut from: usize,
    fresh: &SegmentRow,
    mut sources: Vec<Source<'_, R>>,
    policy: &Bm25Policy,
) -> Result<()> {
    let mut all = old.to_vec();
    all.push(fresh.clone());
    let statistics = statistics_of(&all)?;
    if statistics.chunks == 0 {
        return clear_class(writer, old, fresh.first_chunk + i64::from(fresh.chunks));
    }
    if is_mostly_dead(all.iter().map(|row| row.indexed).sum(), all.iter().map(|row| row.dead_chunks).sum()) {
        from = 0;
    }
    let end = fresh.first_chunk + i64::from(fresh.chunks);
    // A range of 2^32 numbers is too wide for one segment; a merge then waits until the oldest numbers are dead.
    let mut first_chunk = fresh.first_chunk;
    while let Some(oldest) = old.get(from) {
        // Not behind the first new chunk, from which the runs count.
        first_chunk = lengths::first_live(&mut writer.reader, oldest.first_chunk, fresh.first_chunk)?;
        if u32::try_from(end - first_chunk).is_ok() {
            break;
        }
        (from, first_chunk) = (from + 1, fresh.first_chunk);
    }
    let merged = &old[from..];
    let chunks = u32::try_from(end - first_chunk).map_err(|_| damaged("a sync of 2^32 chunks"))?;
    let lengths = Lengths::read(&mut writer.reader, first_chunk, chunks)?;
    let (indexed, total_length) = lengths.totals(chunks);
    let mut row = SegmentRow {
        first_chunk,
        chunks,
        indexed,
        total_length,
        average_length: statistics.average_length(),
        first_row: writer.next_block_row()?,
        ..fresh.clone()
    };
    // What is dead in the merged range goes; the deaths left over concern older segments.
    let totals = &all[from..];
    let left = |all: u64, live: u64, dead: u64| all.checked_sub(live).and_then(|gone| dead.checked_sub(gone));
    let sum = |value: fn(&SegmentRow) -> u64| totals.iter().map(value).fold(0, u64::saturating_add);
    row.dead_chunks = left(sum(|row| row.indexed), row.indexed, sum(|row| row.dead_chunks))
        .ok_or_else(|| damaged("the chunk lengths contradict the segments"))?;
    row.dead_length = left(sum(|row| row.total_length), row.total_length, sum(|row| row.dead_length))
        .ok_or_else(|| damaged("the chunk lengths contradict the segments"))?;

    if first_chunk < fresh.first_chunk {
        // Runs count their chunks from the first new one.
        let shift = u32::try_from(fresh.first_chunk - first_chunk).map_err(|_| damaged("segments are out of order"))?;
        for source in &mut sources {
            if let Source::Run { base, .. } = source {
                *base += shift;
            }
        }
    }
    let older = merged.iter().map(|segment| Source::Segment(SegmentSource::new(segment.clone(), first_chunk)));
    sources.splice(0..0, older);
    let formula = Formula::new(policy, row.average_length);
    let mut lists = ListWriter::new(row.segment, row.first_row, formula, &lengths);
    row.rows = if merged.is_empty() && chunks >= MANY_CHUNKS {
        write_apart(writer, lists, sources, from == 0)?
    } else {
        write_lists(writer, &mut lists, sources, from == 0)?;
        lists.finish(writer)?
    };
    for segment in merged {
        writer.delete_segment(segment)?;
    }
    if row.indexed > 0 || row.dead_chunks > 0 {
        writer.insert_segment(&row)?;
    }
    Ok(())
}

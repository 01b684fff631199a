//! Reading everything: for `check`, which lexes the chunks again and compares.

use std::collections::HashMap;

use super::cursor::{Cursor, END};
use super::encode::BLOCK;
use super::lengths::Lengths;
use super::score::{Formula, impact, saturation};
use crate::error::Result;
use crate::model::Bm25Policy;
use crate::store::postings::{PostingReader, SegmentRow};

const BATCH: u32 = 256;

/// A posting of a live chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posting<'t> {
    pub term: &'t str,
    pub chunk_no: i64,
    pub tf: u32,
    /// The length that the index keeps of the chunk.
    pub length: u16,
}

/// Calls `each` with every posting of a live chunk: segment by segment, in it term by term in byte order, in it by
/// ascending chunk number. Every byte of every list is read and checked. Calls `problem` with each term whose
/// document frequency is not the number of its live postings, and each list and block whose impact is not the
/// largest of its postings (above it is right where some of them died): one that is too small hides hits.
pub(crate) fn for_each_posting(
    reader: &mut PostingReader<'_>,
    policy: &Bm25Policy,
    mut each: impl FnMut(Posting<'_>) -> Result<()>,
    mut problem: impl FnMut(String),
) -> Result<()> {
    // Postings that a term's rows promise beyond those that live; terms of which that is 0 are left out.
    let mut promised: HashMap<String, i128> = HashMap::new();
    for segment in reader.all_segments()? {
        let formula = Formula::new(policy, segment.average_length);
        let mut lengths = Lengths::on_demand(segment.first_chunk);
        let mut after: Option<String> = None;
        loop {
            let batch = reader.terms_after(segment.segment, after.as_deref(), BATCH)?;
            let Some((last, _)) = batch.last() else { break };
            after = Some(last.clone());
            for (term, row) in &batch {
                let mut cursor = Cursor::open(reader, &segment, row.clone())?;
                let (mut live, mut largest) = (0, 0);
                while cursor.chunk() != END {
                    let bound = cursor.impact_within(cursor.chunk(), cursor.chunk());
                    let (mut best, mut died) = (0, false);
                    for _ in 0..BLOCK {
                        let length = lengths.get(reader, cursor.chunk())?;
                        if length > 0 {
                            let (chunk_no, tf) = (chunk_no(&segment, &cursor), cursor.tf());
                            each(Posting { term, chunk_no, tf, length })?;
                            best = best.max(impact(saturation(tf, formula.norm(length))));
                            live += 1;
                        } else {
                            died = true;
                        }
                        if cursor.next(reader)? == END {
                            break;
                        }
                    }
                    largest = largest.max(bound);
                    if bound < best || (bound > best && !died) {
                        problem(format!(
                            "segment {}, term {term:?}: a block has impact {bound}; its postings have {best}",
                            segment.segment
                        ));
                    }
                }
                if row.max_impact != largest {
                    problem(format!(
                        "segment {}, term {term:?}: max_impact is {}; the largest of its blocks is {largest}",
                        segment.segment, row.max_impact
                    ));
                }
                let beyond = i128::from(row.df) - i128::from(row.dead) - live;
                if beyond != 0 {
                    *promised.entry(term.clone()).or_default() += beyond;
                }
            }
        }
    }
    for (term, beyond) in promised.into_iter().filter(|(_, beyond)| *beyond != 0) {
        problem(format!("term {term:?}: its df less its dead is off by {beyond} from its live postings"));
    }
    Ok(())
}

/// The terms that `wanted` asks for, each with a live chunk that it says to have: once for each segment with one.
pub(crate) fn terms_with_chunk(
    reader: &mut PostingReader<'_>,
    mut wanted: impl FnMut(&str) -> bool,
) -> Result<Vec<(String, i64)>> {
    let mut found = Vec::new();
    for segment in reader.all_segments()? {
        let mut lengths = Lengths::on_demand(segment.first_chunk);
        let mut after: Option<String> = None;
        loop {
            let batch = reader.terms_after(segment.segment, after.as_deref(), BATCH)?;
            let Some((last, _)) = batch.last() else { break };
            after = Some(last.clone());
            for (term, row) in batch.iter().filter(|(term, _)| wanted(term)) {
                let mut cursor = Cursor::open(reader, &segment, row.clone())?;
                while cursor.chunk() != END && lengths.get(reader, cursor.chunk())? == 0 {
                    cursor.next(reader)?;
                }
                if cursor.chunk() != END {
                    found.push((term.clone(), chunk_no(&segment, &cursor)));
                }
            }
        }
    }
    Ok(found)
}

fn chunk_no(segment: &SegmentRow, cursor: &Cursor) -> i64 {
    segment.first_chunk + i64::from(cursor.chunk())
}

/// How many chunks have a length above 0 in the index, and the sum of their lengths.
pub(crate) fn kept_lengths(reader: &mut PostingReader<'_>) -> Result<(u64, u64)> {
    let (mut chunks, mut sum) = (0, 0);
    reader.each_lengths(i64::MIN, i64::MAX, |_, page| {
        for length in page.as_chunks().0 {
            let length = u16::from_be_bytes(*length);
            chunks += u64::from(length > 0);
            sum += u64::from(length);
        }
        true
    })?;
    Ok((chunks, sum))
}

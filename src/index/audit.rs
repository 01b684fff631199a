//! Reading everything: for `check`, which lexes the chunks again and compares.

use super::cursor::{Cursor, END};
use super::lengths::Lengths;
use crate::error::Result;
use crate::store::postings::{PostingReader, SegmentRow};

const BATCH: u32 = 256;

/// Calls `each` with the term, chunk number and frequency of every posting of a live chunk: segment by segment, in it
/// term by term in byte order, in it by ascending chunk number. Every byte of every list is read and checked.
pub(crate) fn for_each_posting(
    reader: &mut PostingReader<'_>,
    mut each: impl FnMut(&str, i64, u32) -> Result<()>,
) -> Result<()> {
    for segment in reader.segments()? {
        let mut lengths = Lengths::on_demand(segment.first_chunk);
        let mut after: Option<String> = None;
        loop {
            let batch = reader.terms_after(segment.segment, after.as_deref(), BATCH)?;
            let Some((last, _)) = batch.last() else { break };
            after = Some(last.clone());
            for (term, row) in &batch {
                let mut cursor = Cursor::open(reader, &segment, row)?;
                while cursor.chunk() != END {
                    if lengths.get(reader, cursor.chunk())? > 0 {
                        each(term, chunk_no(&segment, &cursor), cursor.tf())?;
                    }
                    cursor.next(reader)?;
                }
            }
        }
    }
    Ok(())
}

fn chunk_no(segment: &SegmentRow, cursor: &Cursor) -> i64 {
    segment.first_chunk + i64::from(cursor.chunk())
}

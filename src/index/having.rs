//! Which chunks have a term, for those that are ranked by something else.

use super::cursor::{Cursor, END};
use super::kept::Kept;
use super::plan::lists_of;
use crate::error::Result;
use crate::store::postings::PostingReader;

/// The numbers of the chunks of these classes that have each of these terms, ascending; dead ones among them. The caller holds
/// a read transaction open.
///
/// # Errors
/// [`crate::Error::Damaged`] for an impossible index.
pub(crate) fn having(
    reader: &mut PostingReader<'_>,
    kept: &Kept,
    classes: &[i64],
    terms: &[&str],
) -> Result<Vec<Vec<i64>>> {
    let segments = reader.segments(classes)?;
    let parts = kept.parts(classes, &segments);
    let mut all = Vec::with_capacity(terms.len());
    for term in terms {
        let mut chunks = Vec::new();
        for (segment, list) in segments.iter().zip(lists_of(reader, &segments, &parts, term)?) {
            let Some(list) = list.filter(|list| list.df() > 0) else { continue };
            let mut cursor = Cursor::over(reader, list)?;
            while cursor.chunk() != END {
                chunks.push(segment.first_chunk + i64::from(cursor.chunk()));
                cursor.next(reader)?;
            }
        }
        chunks.sort_unstable();
        all.push(chunks);
    }
    Ok(all)
}

//! A document moves to another access class outside a sync: its chunks get numbers and postings there.

use super::deletion::{bury_postings, for_each_indexed, policy_of_postings};
use crate::error::{Error, Result};
use crate::index::{self, Deaths, Interner, NewChunks, RunBuilder, RunReader};
use crate::store::classes::{self, ClassChange};
use crate::store::postings::PostingWriter;
use crate::store::record::DocumentChange;
use crate::store::{Connection, chunks, documents, generations, tombstones};

/// Moves a document to a class, inside the caller's write transaction. Texts, ids and generations stay as they are, and so
/// does what generations are noted to have done.
///
/// # Errors
/// [`Error::Damaged`] where the stored text is not what was indexed.
pub(crate) fn reclass(tx: &Connection, document_no: i64, class_no: i64) -> Result<()> {
    let row = documents::by_number(tx, document_no)?;
    if row.class_no == class_no {
        return Ok(());
    }
    let (Some(policy), Some(head)) = (policy_of_postings(tx)?, generations::head(tx)?) else {
        return Err(Error::Damaged { detail: format!("document {} is of no generation", row.document_id) });
    };
    let first_chunk = classes::next_chunk(tx, class_no)?;
    let rows = chunks::of_document(tx, document_no)?;
    let (mut run, mut terms, mut deaths) = (RunBuilder::new(), Interner::default(), Deaths::default());
    for_each_indexed(tx, &row, &rows, |place, chunk, counts| {
        run.add(place, counts.length(), counts.iter().map(|(term, tf)| (terms.id(term), tf)));
        deaths.add(chunk.chunk_no, counts.length(), counts.iter());
    })?;
    let mut number = 0;
    for chunk in &rows {
        chunks::renumber(tx, chunk.chunk_no, first_chunk + i64::from(number))?;
        number += 1;
    }
    let run = run.finish(number, |id| terms.term(id));
    let mut writer = PostingWriter::new(tx)?;
    bury_postings(tx, &mut writer, row.class_no, head.number, &deaths, &policy.bm25)?;
    let new = NewChunks { class_no, generation: head.number.cast_signed(), first_chunk, chunks: number };
    let runs = vec![(0, RunReader::open(run.as_bytes())?)];
    index::append_segment(&mut writer, new, runs, &Deaths::default(), &policy.bm25)?;
    classes::advance(tx, class_no, number)?;
    documents::set_class(tx, document_no, class_no)?;
    tombstones::hide(tx, row.class_no, row.document_id)?;
    // What generations did stays as it was noted, in both classes: the document counts where it was counted. The class that
    // it enters has a place in the history from now on, at a generation that who could read the document knows already.
    let known = match classes::newest_generation(tx, class_no)? {
        Some(known) => known,
        None => classes::newest_generation(tx, row.class_no)?.unwrap_or(row.generation_updated),
    };
    let ids = rows.iter().map(|chunk| (chunk.id(), chunk.content)).collect();
    let mut entered = ClassChange::default();
    entered.changes.push((row.document_id, DocumentChange { removed: Vec::new(), added: ids }.digest()));
    classes::record(tx, class_no, known, entered)
}

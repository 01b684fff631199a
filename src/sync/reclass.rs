//! A document moves to another access class outside a sync: its chunks get numbers and postings there.

use crate::error::{Error, Result};
use crate::index::{self, Deaths, NewChunks, RunBuilder, RunReader};
use crate::lexicon::{Lexer, TermCounts};
use crate::store::classes::{self, ClassChange};
use crate::store::postings::PostingWriter;
use crate::store::record::DocumentChange;
use crate::store::{Connection, chunks, documents, generations, settings, tombstones};

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
    let (Some(policy), Some(head)) = (settings::policy(tx)?, generations::head(tx)?) else {
        return Err(Error::Damaged { detail: format!("document {} is of no generation", row.document_id) });
    };
    if policy.lexer_version != crate::LEXER_VERSION {
        let detail =
            format!("lexer_version is {} in the store and {} here", policy.lexer_version, crate::LEXER_VERSION);
        return Err(Error::PolicyMismatch { detail });
    }
    let first_chunk = classes::next_chunk(tx, class_no)?;
    let (mut lexer, mut counts) = (Lexer::new(), TermCounts::new());
    let (mut run, mut deaths, mut number) = (RunBuilder::new(), Deaths::default(), 0);
    let mut ids = Vec::new();
    for chunk in chunks::of_document(tx, document_no)? {
        if chunk.is_indexed() {
            let text = chunks::text(tx, chunk.chunk_no)?;
            lexer.chunk_terms(&row.title, &chunk.headings()?, &text, &mut counts);
            run.add(number, counts.length(), counts.iter());
            deaths.add(chunk.chunk_no, counts.length(), counts.iter());
        }
        chunks::renumber(tx, chunk.chunk_no, first_chunk + i64::from(number))?;
        ids.push((chunk.id(), chunk.content));
        number += 1;
    }
    let generation = head.number.cast_signed();
    let run = run.finish(number);
    let mut writer = PostingWriter::new(tx)?;
    let left = classes::next_chunk(tx, row.class_no)?;
    let left = NewChunks { class_no: row.class_no, generation, first_chunk: left, chunks: 0 };
    index::append_segment::<std::io::Empty>(&mut writer, left, Vec::new(), &deaths, &policy.bm25)?;
    let new = NewChunks { class_no, generation, first_chunk, chunks: number };
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
    let mut entered = ClassChange::default();
    entered.changes.push((row.document_id, DocumentChange { removed: Vec::new(), added: ids }.digest()));
    classes::record(tx, class_no, known, entered)
}

//! What is stored of a document that a sync replaces or deletes, and the postings that die with it.

use super::{Output, Worker};
use crate::error::Result;
use crate::store::chunks::{self, ChunkRow};
use crate::store::classes;
use crate::store::documents::{self, DocumentRow};
use crate::store::findings::{self, FindingRow};
use crate::store::tombstones::Reason;
use crate::sync::mend;
use crate::sync::spool::{Prepared, PreparedDeletion};

/// A document as it is stored.
pub(super) struct Stored {
    pub document_no: i64,
    pub row: DocumentRow,
    pub chunks: Vec<ChunkRow>,
    pub findings: Vec<FindingRow>,
}

impl Worker<'_> {
    pub(super) fn delete(&mut self, document_no: i64, reason: Reason, slice: &mut Output) -> Result<()> {
        let Stored { document_no, row, chunks, .. } = self.stored(document_no)?;
        if self.context.checksum && !self.context.store.read(|conn| mend::is_sound(conn, document_no))? {
            self.dying.are_untold = true;
        } else {
            chunks.iter().try_for_each(|chunk| self.bury(chunk, &row))?;
        }
        let deletion = PreparedDeletion { document_no, row, chunks, reason };
        slice.entries.push(Prepared::Deletion(Box::new(deletion)));
        Ok(())
    }

    pub(super) fn stored(&self, document_no: i64) -> Result<Stored> {
        self.context.store.read(|conn| {
            let row = documents::by_number(conn, document_no)?;
            let findings = findings::of_document(conn, document_no)?;
            Ok(Stored { document_no, row, chunks: chunks::of_document(conn, document_no)?, findings })
        })
    }

    /// Counts out the postings of a chunk whose number dies. A rebuild clears the index instead.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) where the stored text is not what was indexed.
    pub(super) fn bury(&mut self, chunk: &ChunkRow, document: &DocumentRow) -> Result<()> {
        if self.context.rebuild || !chunk.is_indexed() {
            return Ok(());
        }
        let text = self.context.store.read(|conn| mend::indexed_text(conn, chunk, document))?;
        self.lexer.numbered_terms(&document.title, &chunk.headings()?, &text, self.counts);
        let deaths = self.dying.by_class.entry(classes::class_of(chunk.chunk_no)).or_default();
        deaths.add(chunk.chunk_no, self.counts.length(), self.counts.iter());
        Ok(())
    }
}

//! What `sync --checksum` mends: documents whose rows do not have their hashes. They are written again under the numbers
//! that they have, so that the postings, which are those of the right text, need no change. Where the file changed as well
//! nobody knows any more what was indexed, and the sync makes the whole index again.

use std::collections::BTreeMap;

use super::spool::Fate;
use crate::error::{Error, Result};
use crate::index::Deaths;
use crate::store::chunks::{self, ChunkRow};
use crate::store::documents::{self, DocumentRow, StoredDocument};
use crate::store::{Connection, Store, classes, findings, record};

/// Stored rows of a document that are not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Doubted {
    /// Whether the file and what is made of it are what they were when the document was indexed: then every chunk has the
    /// postings that its number stands for.
    pub same_file: bool,
    /// Whether the rows of the document and of its chunks have their hash, so that only a text does not.
    pub record_holds: bool,
    /// The class that the document is in.
    class_no: i64,
}

impl Doubted {
    /// Whether a stored chunk with the id of a new one keeps its number; `keeps` says whether it would if it were believed.
    pub(super) fn mends(self, stored: &ChunkRow, keeps: bool) -> bool {
        classes::class_of(stored.chunk_no) == self.class_no && (keeps || self.same_file)
    }

    /// Whether the postings are still right once chunks had these fates and no stored one is left over.
    pub(super) fn leaves_postings(self, mut fates: impl Iterator<Item = Fate>) -> bool {
        self.same_file && fates.all(|fate| fate == Fate::Mended)
    }
}

/// Chunks whose numbers die in a sync.
#[derive(Default)]
pub(super) struct Dying {
    /// Their postings, by access class.
    pub by_class: BTreeMap<i64, Deaths>,
    /// Whether there are others whose postings can't be told: what is stored of them is not what was indexed. Then the
    /// index is made again instead of counting any out.
    pub are_untold: bool,
}

impl Dying {
    /// Joins those of another slice of the same sync to these.
    pub(super) fn merge(&mut self, other: Self) {
        self.are_untold |= other.are_untold;
        for (class_no, deaths) in other.by_class {
            self.by_class.entry(class_no).or_default().merge(&deaths);
        }
    }
}

/// What of a document's rows does not have its hash.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The rows together.
    Record,
    /// A chunk's text, or the headings above it; or its number is not one of the document's class.
    Chunk,
}

/// Looks whether a stored document is to be doubted.
pub(super) fn doubted(store: &Store, stored: &StoredDocument, same_file: bool) -> Result<Option<Doubted>> {
    let fault = store.read(|conn| fault(conn, stored.document_no))?;
    let doubted = |fault| Doubted { same_file, record_holds: fault == Fault::Chunk, class_no: stored.class_no };
    Ok(fault.map(doubted))
}

/// The text of a stored chunk as it was indexed: what its postings are counted out by.
///
/// # Errors
/// [`Error::Damaged`] where text, headings or title are not those that were indexed.
pub(super) fn indexed_text(conn: &Connection, chunk: &ChunkRow, document: &DocumentRow) -> Result<String> {
    let text = chunks::text_as_stored(conn, chunk.chunk_no)?;
    if record::fits(chunk, &document.title, &text) {
        return Ok(text);
    }
    let place = chunk.span.cite(&document.path);
    Err(Error::Damaged {
        detail: format!(
            "what is stored of {place} ({}) is not what was indexed; `ragdb sync --checksum` makes its rows again from the file",
            document.source_id
        ),
    })
}

/// Whether the rows of a document have their hashes, and its chunks the numbers of its access class.
pub(super) fn is_sound(conn: &Connection, document_no: i64) -> Result<bool> {
    Ok(fault(conn, document_no)?.is_none())
}

fn fault(conn: &Connection, document_no: i64) -> Result<Option<Fault>> {
    let document = documents::by_number(conn, document_no)?;
    let rows = chunks::of_document(conn, document_no)?;
    let marks = findings::of_document(conn, document_no)?;
    if record::document(&document, &rows, &marks) != document.record_hash {
        return Ok(Some(Fault::Record));
    }
    for row in &rows {
        let text = chunks::text_as_stored(conn, row.chunk_no)?;
        if classes::class_of(row.chunk_no) != document.class_no || !record::fits(row, &document.title, &text) {
            return Ok(Some(Fault::Chunk));
        }
    }
    Ok(None)
}

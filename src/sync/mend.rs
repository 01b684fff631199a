//! What `sync --checksum` mends: documents whose rows do not have their hashes. They are written again under the numbers
//! that they have, so that the postings, which are those of the right text, need no change.

use crate::error::Result;
use crate::store::chunks::{self, ChunkRow};
use crate::store::documents::{self, StoredDocument};
use crate::store::{Connection, Store, classes, findings, record};

/// Stored rows of a document that are not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Doubted {
    /// Whether the file and what is made of it are what they were when the document was indexed: then every chunk has the
    /// postings that its number stands for.
    pub same_file: bool,
}

impl Doubted {
    /// Whether a stored chunk with the id of a new one keeps its number; `keeps` says whether it would if it were believed.
    pub(super) fn mends(self, keeps: bool) -> bool {
        keeps || self.same_file
    }
}

/// Looks whether a stored document is to be doubted.
pub(super) fn doubted(store: &Store, stored: &StoredDocument, same_file: bool) -> Result<Option<Doubted>> {
    let is_sound = store.read(|conn| is_sound(conn, stored.document_no))?;
    Ok((!is_sound).then_some(Doubted { same_file }))
}

/// Whether the rows of a document have their hashes, and its chunks the numbers of its access class.
pub(super) fn is_sound(conn: &Connection, document_no: i64) -> Result<bool> {
    let document = documents::by_number(conn, document_no)?;
    let rows = chunks::of_document(conn, document_no)?;
    let marks = findings::of_document(conn, document_no)?;
    if record::document(&document, &rows, &marks) != document.record_hash {
        return Ok(false);
    }
    let is_sound = |row: &ChunkRow| -> Result<bool> {
        let text = chunks::text(conn, row.chunk_no)?;
        Ok(classes::class_of(row.chunk_no) == document.class_no && record::fits(row, &document.title, &text))
    };
    for row in &rows {
        if !is_sound(row)? {
            return Ok(false);
        }
    }
    Ok(true)
}

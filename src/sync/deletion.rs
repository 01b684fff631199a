//! A document goes: its rows become tombstones, its postings deaths, and a generation says so. What a sync does to a
//! deleted file's document, and a purge or a rollback to others.

use super::mend;
use crate::error::{Error, Result};
use crate::index::{self, Deaths, NewChunks};
use crate::lexicon::{LEXER_VERSION, Lexer, TermCounts};
use crate::model::{Bm25Policy, Policy};
use crate::store::chunks::{self, ChunkRow};
use crate::store::classes::{self, ClassChange};
use crate::store::documents::{self, DocumentRow};
use crate::store::generations::{self, ChunkCounts, DocumentCounts, Generation};
use crate::store::postings::PostingWriter;
use crate::store::record::{self, DocumentChange};
use crate::store::sources::StoredFailure;
use crate::store::tombstones::{self, Kind, NewTombstone, Reason};
use crate::store::{Connection, access, findings, settings, sources, vectors};

/// Where and why something goes.
#[derive(Clone, Copy)]
pub(super) struct Burial<'a> {
    pub tx: &'a Connection,
    /// The generation without it.
    pub generation: u64,
    pub reason: Reason,
}

impl Burial<'_> {
    /// A chunk id that is gone leaves a tombstone.
    pub(super) fn chunk(self, row: &DocumentRow, chunk: &ChunkRow, change: &mut DocumentChange) -> Result<()> {
        let id = chunk.id();
        chunks::delete(self.tx, chunk.chunk_no)?;
        tombstones::insert(
            self.tx,
            &NewTombstone {
                kind: Kind::Chunk,
                id: &id.to_string(),
                document_id: &row.document_id.to_string(),
                source_id: &row.source_id,
                path: &row.path,
                content_hash: &chunk.content.to_string(),
                generation_added: chunk.generation_added,
                generation_deleted: self.generation,
                reason: self.reason,
                class_no: classes::class_of(chunk.chunk_no),
                class_generation: row.class_generation,
            },
        )?;
        change.removed.push((id, chunk.content));
        Ok(())
    }

    /// A document that is gone leaves one for itself and one for each of its chunks.
    pub(super) fn document(self, document_no: i64, row: &DocumentRow, chunks: &[ChunkRow]) -> Result<DocumentChange> {
        let mut change = DocumentChange::default();
        for chunk in chunks {
            self.chunk(row, chunk, &mut change)?;
        }
        let (id, hash) = (row.document_id.to_string(), row.content_hash.to_string());
        tombstones::insert(
            self.tx,
            &NewTombstone {
                kind: Kind::Document,
                id: &id,
                document_id: &id,
                source_id: &row.source_id,
                path: &row.path,
                content_hash: &hash,
                generation_added: row.generation_added,
                generation_deleted: self.generation,
                reason: self.reason,
                class_no: row.class_no,
                class_generation: row.class_generation,
            },
        )?;
        findings::delete(self.tx, document_no)?;
        documents::delete(self.tx, document_no)?;
        Ok(change)
    }
}

/// Publishes, in the open transaction, a generation in which one document is gone.
///
/// # Errors
/// [`Error::PolicyMismatch`] where the index was made by another version of the lexer: the postings of the document can't
/// be told then.
pub(crate) fn publish(tx: &Connection, document_no: i64, reason: Reason) -> Result<Generation> {
    let nothing = || Error::Damaged { detail: "there is a document, and no generation".into() };
    let parent = generations::head(tx)?.ok_or_else(nothing)?;
    let policy = policy_of_postings(tx)?.ok_or_else(nothing)?;
    let row = documents::by_number(tx, document_no)?;
    let rows = chunks::of_document(tx, document_no)?;
    let mut deaths = Deaths::default();
    for_each_indexed(tx, &row, &rows, |_, chunk, counts| {
        deaths.add(chunk.chunk_no, counts.length(), counts.iter());
    })?;
    let number = parent.number + 1;
    let mut generation = Generation {
        number,
        parent: Some(parent.number),
        published_at: settings::now(),
        documents: DocumentCounts { deleted: 1, ..DocumentCounts::default() },
        chunks: ChunkCounts { removed: rows.len() as u64, ..ChunkCounts::default() },
        policy_digest: parent.policy_digest,
        digest: parent.policy_digest,
        parent_digest: Some(parent.digest),
        acl_epoch: access::epoch(tx)?,
        tool_version: concat!("ragdb ", env!("CARGO_PKG_VERSION")).into(),
    };
    generations::insert(tx, &generation)?;
    // No source was read: what was missing is missing still.
    for StoredFailure { source_id, path, code, message } in sources::failures(tx, parent.number)? {
        sources::insert_failure(tx, number, &source_id, &path, &code, &message)?;
    }
    let change = Burial { tx, generation: number, reason }.document(document_no, &row, &rows)?;
    vectors::sweep(tx)?;
    bury_postings(tx, &mut PostingWriter::new(tx)?, row.class_no, number, &deaths, &policy.bm25)?;
    let of_class = ClassChange {
        documents: generation.documents,
        chunks: generation.chunks,
        changes: vec![(row.document_id, change.clone().digest())],
    };
    classes::record(tx, row.class_no, number, of_class)?;
    let changes = vec![(row.document_id, change.digest())];
    generation.digest = record::generation(Some(parent.digest), number, parent.policy_digest, changes);
    generations::complete(tx, &generation)?;
    Ok(generation)
}

/// The policy that the postings were made under; `None` before the first sync.
///
/// # Errors
/// [`Error::PolicyMismatch`] where another version of the lexer made them: those of a stored text can't be told then.
pub(super) fn policy_of_postings(tx: &Connection) -> Result<Option<Policy>> {
    let policy = settings::policy(tx)?;
    if let Some(Policy { lexer_version, .. }) = policy
        && lexer_version != LEXER_VERSION
    {
        let detail = format!("lexer_version is {lexer_version} in the store and {LEXER_VERSION} here");
        return Err(Error::PolicyMismatch { detail });
    }
    Ok(policy)
}

/// Calls `each` with those of a document's stored chunks that have postings: with their places in `rows` and their terms.
///
/// # Errors
/// [`Error::Damaged`] where a stored text is not what was indexed.
pub(super) fn for_each_indexed(
    tx: &Connection,
    document: &DocumentRow,
    rows: &[ChunkRow],
    mut each: impl FnMut(u32, &ChunkRow, &TermCounts),
) -> Result<()> {
    let (mut lexer, mut counts) = (Lexer::new(), TermCounts::new());
    for (place, chunk) in (0..).zip(rows).filter(|(_, chunk)| chunk.is_indexed()) {
        let text = mend::indexed_text(tx, chunk, document)?;
        lexer.chunk_terms(&document.title, &chunk.headings()?, &text, &mut counts);
        each(place, chunk, &counts);
    }
    Ok(())
}

/// Takes chunks that died out of the postings of their class, which gets no new ones.
pub(super) fn bury_postings(
    tx: &Connection,
    writer: &mut PostingWriter<'_>,
    class_no: i64,
    generation: u64,
    deaths: &Deaths,
    policy: &Bm25Policy,
) -> Result<()> {
    let first_chunk = classes::next_chunk(tx, class_no)?;
    let none = NewChunks { class_no, generation: generation.cast_signed(), first_chunk, chunks: 0 };
    index::append_segment::<std::io::Empty>(writer, none, Vec::new(), deaths, policy)
}

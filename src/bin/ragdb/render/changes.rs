//! What lies between two generations, as `diff` and `show` name it.

use std::io;

use ragdb::{ChangedChunk, ChangedDocument, Citation, GenerationDiff};
use serde::Serialize;

use super::{Role, Screen};

#[derive(Serialize)]
struct DocumentView {
    source_id: String,
    document_id: String,
    path: String,
}

impl From<&ChangedDocument> for DocumentView {
    fn from(document: &ChangedDocument) -> Self {
        Self {
            source_id: document.source_id.clone(),
            document_id: document.document_id.clone(),
            path: document.path.clone(),
        }
    }
}

#[derive(Serialize)]
struct ChunkView {
    source_id: String,
    path: String,
    chunk_id: String,
    content_hash: String,
    start_line: Option<u32>,
    end_line: Option<u32>,
    citation: Option<String>,
}

impl From<&ChangedChunk> for ChunkView {
    fn from(chunk: &ChangedChunk) -> Self {
        let citation = chunk
            .lines
            .map(|(start_line, end_line)| Citation { path: chunk.path.clone(), start_line, end_line }.to_string());
        Self {
            source_id: chunk.source_id.clone(),
            path: chunk.path.clone(),
            chunk_id: chunk.chunk_id.clone(),
            content_hash: chunk.content_hash.clone(),
            start_line: chunk.lines.map(|lines| lines.0),
            end_line: chunk.lines.map(|lines| lines.1),
            citation,
        }
    }
}

#[derive(Serialize)]
struct DocumentChanges {
    added: Vec<DocumentView>,
    updated: Vec<DocumentView>,
    deleted: Vec<DocumentView>,
}

#[derive(Serialize)]
struct ChunkChanges {
    added: Vec<ChunkView>,
    removed: Vec<ChunkView>,
}

/// The documents and chunks that differ.
#[derive(Serialize)]
pub struct ChangesView {
    from: u64,
    to: u64,
    documents: DocumentChanges,
    chunks: ChunkChanges,
}

impl From<&GenerationDiff> for ChangesView {
    fn from(diff: &GenerationDiff) -> Self {
        let documents = |documents: &[ChangedDocument]| documents.iter().map(DocumentView::from).collect();
        let chunks = |chunks: &[ChangedChunk]| chunks.iter().map(ChunkView::from).collect();
        Self {
            from: diff.from,
            to: diff.to,
            documents: DocumentChanges {
                added: documents(&diff.documents_added),
                updated: documents(&diff.documents_updated),
                deleted: documents(&diff.documents_removed),
            },
            chunks: ChunkChanges { added: chunks(&diff.chunks_added), removed: chunks(&diff.chunks_removed) },
        }
    }
}

impl ChangesView {
    /// Writes a line for each document (`A`dded, `M`odified, `D`eleted) and chunk (`+`, `-`).
    pub fn write(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let palette = screen.palette;
        let Self { documents, chunks, .. } = self;
        let marked = [
            ("A", Role::Good, &documents.added),
            ("M", Role::Warning, &documents.updated),
            ("D", Role::Bad, &documents.deleted),
        ];
        for (mark, role, documents) in marked {
            for document in documents {
                let (path, source) =
                    (super::clean::one_line(&document.path), super::clean::one_line(&document.source_id));
                writeln!(screen.out, "{} {path}  {}", palette.paint(role, mark), palette.paint(Role::Faint, &source))?;
            }
        }
        for (mark, role, chunks) in [("+", Role::Good, &chunks.added), ("-", Role::Bad, &chunks.removed)] {
            for chunk in chunks {
                let place = super::clean::one_line(chunk.citation.as_deref().unwrap_or(&chunk.path));
                let id = palette.paint(Role::Faint, &chunk.chunk_id);
                writeln!(screen.out, "{} {place}  {id}", palette.paint(role, mark))?;
            }
        }
        Ok(())
    }
}

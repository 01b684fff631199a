//! What a document's rows say, as digests: how `check` notices a row that was changed behind ragdb's back.

use super::chunks::ChunkRow;
use super::documents::DocumentRow;
use super::findings::FindingRow;
use crate::model::{ChunkId, Digest, DigestBuilder, DocumentId, Trust};

/// The digest of what is indexed and embedded of a chunk; its first half is `chunks.composition_digest`.
pub(crate) fn composition(title: &str, heading_path: &str, text: &str) -> [u8; 16] {
    DigestBuilder::new("ragdb composition 1").field(title).field(heading_path).field(text).finish().half()
}

/// Whether a chunk's text, and the title and headings above it, have the hashes of its row.
pub(crate) fn fits(chunk: &ChunkRow, title: &str, text: &str) -> bool {
    Digest::of(text) == chunk.content && composition(title, &chunk.heading_path, text) == chunk.composition
}

/// The digest over a document's row (but for its stamps, which follow the file system) and its chunks' rows (but
/// for their internal numbers) and its findings: `documents.record_hash`.
pub(crate) fn document<'a>(
    document: &DocumentRow,
    chunks: impl IntoIterator<Item = &'a ChunkRow>,
    findings: &[FindingRow],
) -> Digest {
    let number = |value: u64| value.cast_signed();
    let mut hash = DigestBuilder::new("ragdb document record 1");
    hash.field(document.document_id.as_bytes()).field(&document.source_id).field(&document.path);
    hash.field(&document.title).field(&document.lang).number(number(document.revision));
    hash.field(document.content_hash.as_bytes()).number(number(document.size_bytes)).number(document.lines.into());
    hash.number(document.front_matter.is_some().into()).field(document.front_matter.as_deref().unwrap_or_default());
    hash.number(number(document.generation_added)).number(number(document.generation_updated));
    let mut unsafe_chunks = Vec::new();
    for chunk in chunks {
        let span = &chunk.span;
        hash.number(chunk.chunk_index.into()).number(span.start_line.into()).number(span.end_line.into());
        hash.number(number(span.start_byte)).number(number(span.end_byte)).number(chunk.token_count.into());
        hash.number(chunk.heading_only.into()).number(number(chunk.generation_added));
        hash.field(chunk.document_id.as_bytes()).field(chunk.content.as_bytes()).number(chunk.repeat.into());
        hash.field(chunk.composition).field(&chunk.heading_path);
        if let Some(reason) = &chunk.unsafe_reason {
            unsafe_chunks.push((chunk.chunk_index, reason));
        }
    }
    // What the unsafe gate says comes last and only where it says something: rows from before it have their old hash.
    // No chunk begins with a field of such a length.
    if document.trust != Trust::None.as_str() {
        hash.field("trust").field(&document.trust);
    }
    for (index, reason) in unsafe_chunks {
        hash.field("unsafe").number(index.into()).field(reason);
    }
    for finding in findings {
        hash.field("finding").field(&finding.rule);
        hash.number(finding.start_line.into()).number(finding.end_line.into());
        hash.number(number(finding.start_byte)).number(number(finding.end_byte));
    }
    hash.finish()
}

/// What one generation did to the chunks of one document.
#[derive(Clone, Debug, Default)]
pub(crate) struct DocumentChange {
    /// Ids and content hashes that are gone.
    pub removed: Vec<(ChunkId, Digest)>,
    /// Ids and content hashes that are new.
    pub added: Vec<(ChunkId, Digest)>,
}

impl DocumentChange {
    pub(crate) fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty()
    }

    /// The digest of the change, whatever order it was collected in.
    pub(crate) fn digest(mut self) -> Digest {
        let mut hash = DigestBuilder::new("ragdb document change 1");
        for (sign, chunks) in [("-", &mut self.removed), ("+", &mut self.added)] {
            chunks.sort_unstable();
            for (id, content) in chunks {
                hash.field(sign).field(id.to_string()).field(content.as_bytes());
            }
        }
        hash.finish()
    }
}

/// The digest of a generation: SHA-256 over its parent's digest, its number, its policy's digest, and for each
/// document that changed, in order of id, the id and the digest of its change.
pub(crate) fn generation(
    parent: Option<Digest>,
    number: u64,
    policy: Digest,
    mut changes: Vec<(DocumentId, Digest)>,
) -> Digest {
    let mut hash = DigestBuilder::new("ragdb generation 1");
    hash.field(parent.as_ref().map_or(&[][..], |digest| digest.as_bytes())).number(number.cast_signed());
    hash.field(policy.as_bytes());
    changes.sort_unstable();
    for (document, change) in changes {
        hash.field(document.as_bytes()).field(change.as_bytes());
    }
    hash.finish()
}

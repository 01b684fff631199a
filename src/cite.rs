//! `cite`: from a reference to the verbatim lines, and whether they still stand in the source.

mod lines;

use std::collections::BTreeMap;

use crate::access::history::Numbers;
use crate::access::{Scope, Seen};
use crate::error::{Error, Result};
use crate::ingest::source::SourceReader;
use crate::model::{ChunkId, Citation, Digest, DocumentId, Principal};
use crate::store::chunks::ChunkRow;
use crate::store::documents::DocumentRow;
use crate::store::sources::SourceRow;
use crate::store::{Connection, Store, chunks, documents, sources, tombstones};

use crate::sync::stored_root;
use lines::Lines;

pub(crate) use lines::split as split_lines;

/// Why a source file can't be read, as it is told to who reads. Where a source lies is the operator's to know.
pub(crate) fn why_unread(principal: &Principal, why: String) -> String {
    if principal.is_operator() { why } else { "its source file can't be read".to_owned() }
}

/// Larger files are never indexed, whatever a configuration says.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// What became of cited lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CiteStatus {
    /// They stand in the source file where the store says.
    Current,
    /// They stand in the source file, at other lines.
    Moved,
    /// The source file changed or is gone, and they do not stand in it any more.
    Stale,
    /// The document or chunk was deleted from the store.
    Deleted,
    /// Nothing in the store has this reference, or ever had.
    Unknown,
}

impl CiteStatus {
    /// The name in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Moved => "moved",
            Self::Stale => "stale",
            Self::Deleted => "deleted",
            Self::Unknown => "unknown",
        }
    }
}

/// What a reference stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cited {
    /// The reference as it was given.
    pub reference: String,
    /// What became of it.
    pub status: CiteStatus,
    /// The source of the document.
    pub source_id: Option<String>,
    /// The document's path below the source's root.
    pub path: Option<String>,
    /// The lines, from 1: where they stand now if they moved, else where they stood when they were indexed.
    pub lines: Option<(u32, u32)>,
    /// The verbatim lines: of a chunk as indexed; of a run of lines as the source file has them while it is
    /// unchanged, else those that the store holds. `None` where it is deleted or unknown.
    pub text: Option<String>,
    /// The SHA-256 of the chunk's text, or for a run of lines that of `text`.
    pub content_hash: Option<Digest>,
    /// The generation that brought the chunk, or for a run of lines the one that last updated its document.
    pub generation: Option<u64>,
    /// The generation that deleted it.
    pub generation_deleted: Option<u64>,
    /// The status in words.
    pub detail: String,
}

/// Lines as the store has them.
struct Stored {
    document: DocumentRow,
    lines: Lines,
    /// Of a chunk: its row and text.
    chunk: Option<(ChunkRow, String)>,
}

impl Store {
    /// Looks up a chunk id, `path#L3-L6`, or `source:path#L3-L6` where a path stands in more than one source. What the
    /// principal may not read is as unknown as what never was.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the reference has none of these forms, or fits documents of several sources;
    /// [`Error::Damaged`] where the store holds other text than the source file that it says is unchanged.
    pub fn cite(&self, principal: &Principal, reference: &str) -> Result<Cited> {
        let (found, numbers) = self.read_as(principal, Seen::Stored, |conn, scope| {
            let seen = Visible::new(conn, scope)?;
            Ok((seen.find(reference)?, seen.numbers))
        })?;
        match found {
            Found::Stored(stored) => {
                let current = self.source_text(&stored.document)?.map_err(|why| why_unread(principal, why));
                judge(reference, *stored, &numbers, current)
            }
            Found::Gone(cited) => Ok(*cited),
        }
    }

    /// The document's source file as it is now, or why it can't be read.
    pub(crate) fn source_text(&self, document: &DocumentRow) -> Result<std::result::Result<String, String>> {
        let reader = self.source_reader(document.source_no)?;
        Ok(reader.and_then(|reader| reader.read(&document.path).map_err(|failure| failure.message)).map(|it| it.text))
    }

    /// What reads the files of a stored source, or why its folder can't be opened.
    pub(crate) fn source_reader(&self, source_no: i64) -> Result<std::result::Result<SourceReader, String>> {
        let row = self.read(|conn| sources::by_number(conn, source_no))?;
        let Some(row) = row else { return Ok(Err("its source is not in the store any more".into())) };
        Ok(self.reader_of(&row).map_err(|error| error.to_string()))
    }

    /// What reads the files of a source, or the refusal to open its folder.
    pub(crate) fn reader_of(&self, source: &SourceRow) -> Result<SourceReader> {
        let folder = self.folder();
        stored_root(folder, source).and_then(|root| SourceReader::open(&root, ".", MAX_FILE_BYTES))
    }
}

/// Compares stored lines with the source file as it is now, or as why it can't be read.
fn judge(
    reference: &str,
    stored: Stored,
    numbers: &Numbers,
    current: std::result::Result<String, String>,
) -> Result<Cited> {
    let Stored { document, lines, chunk } = stored;
    let seen = |stored: u64| numbers.seen_in(document.class_generation, stored);
    let indexed = seen(document.generation_updated);
    let (text, generation) = match &chunk {
        Some((row, text)) if Digest::of(text) == row.content => (text.clone(), seen(row.generation_added)),
        Some(_) => return Err(damaged(reference, "its text does not have its content hash")),
        None => (lines.text(), indexed),
    };
    let mut cited = Cited {
        reference: reference.to_owned(),
        status: CiteStatus::Current,
        source_id: Some(document.source_id),
        path: Some(document.path),
        lines: Some((lines.first, lines.last())),
        content_hash: Some(Digest::of(&text)),
        text: Some(text),
        generation: Some(generation),
        generation_deleted: None,
        detail: "the lines stand in the source file as they were indexed".into(),
    };
    let current = match current {
        Ok(current) => current,
        Err(message) => {
            cited.status = CiteStatus::Stale;
            cited.detail = format!("the source file can't be compared: {message}");
            return Ok(cited);
        }
    };
    let file: Vec<&str> = lines::split(&current).collect();
    if Digest::of(&current) == document.content_hash {
        if let Some((row, text)) = &chunk {
            let bytes = usize::try_from(row.span.start_byte).ok().zip(usize::try_from(row.span.end_byte).ok());
            if bytes.and_then(|(start, end)| current.get(start..end)) != Some(text) {
                return Err(damaged(reference, "its text is not what its unchanged source file has at its place"));
            }
            return Ok(cited);
        }
        let verbatim = file.get(lines.first as usize - 1..lines.last() as usize);
        let verbatim = verbatim.ok_or_else(|| damaged(reference, "its source file has fewer lines than are stored"))?;
        if !lines.agree_with(verbatim) {
            return Err(damaged(reference, "the stored lines are not those of their unchanged source file"));
        }
        let text = verbatim.join("\n");
        cited.content_hash = Some(Digest::of(&text));
        cited.text = Some(text);
        return Ok(cited);
    }
    if lines.stand_at(&file, lines.first) {
        cited.detail = format!("the source file changed since generation {indexed}, these lines did not");
    } else if let Some(start) = lines.find(&file) {
        cited.status = CiteStatus::Moved;
        cited.lines = Some((start, start + (lines.count - 1)));
        let (first, last) = (lines.first, lines.last());
        cited.detail =
            format!("the source file changed since generation {indexed}; the lines were at L{first}-L{last}");
    } else {
        cited.status = CiteStatus::Stale;
        cited.detail = format!("the source file changed since generation {indexed} and no longer has these lines");
    }
    Ok(cited)
}

enum Found {
    Stored(Box<Stored>),
    Gone(Box<Cited>),
}

/// What somebody may read of a snapshot: what many look-ups have in common is read once.
pub(crate) struct Visible<'a> {
    conn: &'a Connection,
    scope: &'a Scope,
    numbers: Numbers,
    /// The sources that a path may be in, each with the classes that its documents may be in.
    sources: BTreeMap<String, Vec<i64>>,
}

impl<'a> Visible<'a> {
    pub(crate) fn new(conn: &'a Connection, scope: &'a Scope) -> Result<Self> {
        Ok(Self { conn, scope, numbers: Numbers::of(conn, scope)?, sources: scope.classes_of_paths(conn)? })
    }

    /// The sources that a path may be in, by id.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &str> {
        self.sources.keys().map(String::as_str)
    }

    /// The live document of a source with this path.
    pub(crate) fn document(&self, source: &str, path: &str) -> Result<Option<(i64, DocumentRow)>> {
        match self.sources.get(source) {
            Some(classes) => self.document_in(classes, DocumentId::new(source, path)),
            None => Ok(None),
        }
    }

    fn document_in(&self, classes: &[i64], id: DocumentId) -> Result<Option<(i64, DocumentRow)>> {
        if self.scope.is_everything() {
            return documents::by_id(self.conn, id);
        }
        documents::visible(self.conn, classes, id)
    }

    /// What a document of a source with this path was, in words, if it was deleted.
    pub(crate) fn deleted(&self, source: &str, path: &str) -> Result<Option<String>> {
        Ok(self.deleted_document("", source, path)?.map(|cited| cited.detail))
    }

    fn deleted_document(&self, reference: &str, source: &str, path: &str) -> Result<Option<Cited>> {
        let Some(classes) = self.sources.get(source) else { return Ok(None) };
        self.gone(reference, classes, &DocumentId::new(source, path).to_string())
    }

    fn find(&self, reference: &str) -> Result<Found> {
        if let Some(id) = ChunkId::parse(reference) {
            return self.find_chunk(reference, id);
        }
        let citation = Citation::parse(reference)
            .ok_or_else(|| Error::Invalid { message: format!("{reference:?} is neither a chunk id nor path#L3-L6") })?;
        self.find_lines(reference, &citation)
    }

    /// Looks a reference up, and has `read` read the source file of what it is.
    pub(crate) fn cite(
        &self,
        reference: &str,
        read: impl FnOnce(&DocumentRow) -> Result<std::result::Result<String, String>>,
    ) -> Result<Cited> {
        match self.find(reference)? {
            Found::Stored(stored) => {
                let current = read(&stored.document)?;
                judge(reference, *stored, &self.numbers, current)
            }
            Found::Gone(cited) => Ok(*cited),
        }
    }

    fn find_chunk(&self, reference: &str, id: ChunkId) -> Result<Found> {
        if let Some((number, document)) = self.document_in(self.scope.classes(), id.document)?
            && let Some(row) = chunks::by_id(self.conn, number, id)?
        {
            let text = chunks::text(self.conn, row.chunk_no)?;
            let count = row.span.end_line.checked_sub(row.span.start_line).and_then(|more| more.checked_add(1));
            let count = count.filter(|_| row.span.start_line > 0);
            let count = count.ok_or_else(|| damaged(reference, "its lines run backwards"))?;
            let mut lines = Lines::new(row.span.start_line, count);
            lines.add(row.span.start_line, &text);
            return Ok(Found::Stored(Box::new(Stored { document, lines, chunk: Some((row, text)) })));
        }
        Ok(Found::Gone(Box::new(match self.gone(reference, self.scope.classes(), &id.to_string())? {
            Some(deleted) => deleted,
            None => self.unknown(reference)?,
        })))
    }

    fn find_lines(&self, reference: &str, citation: &Citation) -> Result<Found> {
        let mut candidates: Vec<(&str, &str)> = self.sources().map(|source| (source, citation.path.as_str())).collect();
        if let Some((source, path)) = citation.path.split_once(':')
            && self.sources.contains_key(source)
        {
            candidates.push((source, path));
        }
        let mut found = Vec::new();
        let mut deleted = None;
        for (source, path) in candidates {
            if let Some(document) = self.document(source, path)? {
                found.push(document);
            } else if let Some(cited) = self.deleted_document(reference, source, path)? {
                deleted = Some(cited);
            }
        }
        if found.len() > 1 {
            let names: Vec<&str> = found.iter().map(|(_, document)| document.source_id.as_str()).collect();
            let message =
                format!("{reference} stands in the sources {}; write SOURCE:{reference}", names.join(" and "));
            return Err(Error::Invalid { message });
        }
        let Some((number, document)) = found.pop() else {
            return Ok(Found::Gone(Box::new(match deleted {
                Some(deleted) => deleted,
                None => self.unknown(reference)?,
            })));
        };
        if citation.end_line > document.lines {
            let mut unknown = self.unknown(reference)?;
            unknown.detail = format!("{} had {} lines when it was indexed", document.path, document.lines);
            return Ok(Found::Gone(Box::new(unknown)));
        }
        let mut lines = Lines::new(citation.start_line, citation.end_line - citation.start_line + 1);
        for chunk in chunks::of_document(self.conn, number)? {
            if chunk.span.end_line >= citation.start_line && chunk.span.start_line <= citation.end_line {
                lines.add(chunk.span.start_line, &chunks::text(self.conn, chunk.chunk_no)?);
            }
        }
        Ok(Found::Stored(Box::new(Stored { document, lines, chunk: None })))
    }

    /// What is said of a reference that nothing has, or had.
    fn unknown(&self, reference: &str) -> Result<Cited> {
        Ok(Cited {
            reference: reference.to_owned(),
            status: CiteStatus::Unknown,
            source_id: None,
            path: None,
            lines: None,
            text: None,
            content_hash: None,
            generation: self.numbers.newest(self.conn)?,
            generation_deleted: None,
            detail: "nothing in the store has this reference".into(),
        })
    }

    /// What tombstones in these classes say of an id that is not live.
    fn gone(&self, reference: &str, classes: &[i64], id: &str) -> Result<Option<Cited>> {
        let Some(tombstone) = tombstones::latest(self.conn, classes, id)? else { return Ok(None) };
        let deleted = self.numbers.seen(tombstone.generation_deleted);
        Ok(Some(Cited {
            reference: reference.to_owned(),
            status: CiteStatus::Deleted,
            source_id: Some(tombstone.source_id),
            path: Some(tombstone.path),
            lines: None,
            text: None,
            content_hash: Digest::parse(&tombstone.content_hash),
            generation: Some(self.numbers.seen_in(tombstone.class_generation, tombstone.generation_added)),
            generation_deleted: Some(deleted),
            detail: format!("deleted in generation {deleted}: {}", tombstone.reason.replace('_', " ")),
        }))
    }
}

fn damaged(reference: &str, what: &str) -> Error {
    Error::Damaged { detail: format!("{reference}: {what}") }
}

//! `cite`: from a reference to the verbatim lines, and whether they still stand in the source.

mod lines;

use crate::access::history::{self, Numbers};
use crate::access::{Scope, Seen};
use crate::error::{Error, Result};
use crate::ingest::source::{FileId, SourceReader};
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
            let seen = Visible { conn, scope, numbers: Numbers::of(conn, scope)? };
            let found = if let Some(id) = ChunkId::parse(reference) {
                seen.find_chunk(reference, id)?
            } else {
                let citation = Citation::parse(reference).ok_or_else(|| Error::Invalid {
                    message: format!("{reference:?} is neither a chunk id nor path#L3-L6"),
                })?;
                seen.find_lines(reference, &citation)?
            };
            Ok((found, seen.numbers))
        })?;
        match found {
            Found::Stored(stored) => self.judge(principal, reference, *stored, &numbers),
            Found::Gone(cited) => Ok(*cited),
        }
    }

    /// Compares stored lines with the source file as it is now.
    fn judge(&self, principal: &Principal, reference: &str, stored: Stored, numbers: &Numbers) -> Result<Cited> {
        let Stored { document, lines, chunk } = stored;
        let seen = |stored: u64| numbers.seen_in(document.class_generation, stored);
        let indexed = seen(document.generation_updated);
        let (text, generation) = match &chunk {
            Some((row, text)) if Digest::of(text) == row.content => (text.clone(), seen(row.generation_added)),
            Some(_) => return Err(damaged(reference, "its text does not have its content hash")),
            None => (lines.text(), indexed),
        };
        let current = self.source_text(&document)?;
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
                cited.detail = format!("the source file can't be compared: {}", why_unread(principal, message));
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
            let verbatim =
                verbatim.ok_or_else(|| damaged(reference, "its source file has fewer lines than are stored"))?;
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

    /// The document's source file as it is now, or why it can't be read.
    pub(crate) fn source_text(&self, document: &DocumentRow) -> Result<std::result::Result<String, String>> {
        let reader = self.source_reader(document.source_no)?;
        Ok(reader.and_then(|reader| reader.read(&document.path).map_err(|failure| failure.message)).map(|it| it.text))
    }

    /// What reads the files of a stored source, or why its folder can't be opened.
    pub(crate) fn source_reader(&self, source_no: i64) -> Result<std::result::Result<SourceReader, String>> {
        let row = self.read(|conn| sources::by_number(conn, source_no))?;
        let Some(row) = row else { return Ok(Err("its source is not in the store any more".into())) };
        Ok(self.reader_of(&row)?.map_err(|error| error.to_string()))
    }

    /// What reads the files of a source, or the refusal to open its folder.
    pub(crate) fn reader_of(&self, source: &SourceRow) -> Result<Result<SourceReader>> {
        let folder = self.path().parent().unwrap_or(std::path::Path::new("/"));
        let own_files = FileId::of_store(self.path())?;
        Ok(stored_root(folder, source).and_then(|root| SourceReader::open(&root, ".", own_files, MAX_FILE_BYTES)))
    }
}

enum Found {
    Stored(Box<Stored>),
    Gone(Box<Cited>),
}

/// What somebody may read of a snapshot.
struct Visible<'a> {
    conn: &'a Connection,
    scope: &'a Scope,
    numbers: Numbers,
}

impl Visible<'_> {
    fn document(&self, id: DocumentId) -> Result<Option<(i64, DocumentRow)>> {
        documents::visible(self.conn, self.scope.classes(), id)
    }

    fn find_chunk(&self, reference: &str, id: ChunkId) -> Result<Found> {
        if let Some((number, document)) = self.document(id.document)?
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
        Ok(Found::Gone(Box::new(self.gone(reference, &id.to_string())?)))
    }

    fn find_lines(&self, reference: &str, citation: &Citation) -> Result<Found> {
        let sources = self.scope.sources_of_paths(self.conn)?;
        let mut candidates: Vec<(&str, &str)> =
            sources.iter().map(|source| (source.as_str(), citation.path.as_str())).collect();
        if let Some((source, path)) = citation.path.split_once(':')
            && sources.iter().any(|known| known == source)
        {
            candidates.push((source, path));
        }
        let mut found = Vec::new();
        let mut deleted = None;
        for (source, path) in candidates {
            let id = DocumentId::new(source, path);
            if let Some(document) = self.document(id)? {
                found.push(document);
                continue;
            }
            let cited = self.gone(reference, &id.to_string())?;
            if cited.status == CiteStatus::Deleted {
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
            let unknown = self.gone(reference, "")?;
            return Ok(Found::Gone(Box::new(deleted.unwrap_or(unknown))));
        };
        if citation.end_line > document.lines {
            let mut unknown = self.gone(reference, "")?;
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

    /// What tombstones say of an id that is not live.
    fn gone(&self, reference: &str, id: &str) -> Result<Cited> {
        let mut cited = Cited {
            reference: reference.to_owned(),
            status: CiteStatus::Unknown,
            source_id: None,
            path: None,
            lines: None,
            text: None,
            content_hash: None,
            generation: history::newest(self.conn, self.scope)?,
            generation_deleted: None,
            detail: "nothing in the store has this reference".into(),
        };
        if let Some(tombstone) = tombstones::latest(self.conn, self.scope.classes(), id)? {
            let deleted = self.numbers.seen(tombstone.generation_deleted);
            cited.status = CiteStatus::Deleted;
            cited.source_id = Some(tombstone.source_id);
            cited.path = Some(tombstone.path);
            cited.content_hash = Digest::parse(&tombstone.content_hash);
            cited.generation = Some(self.numbers.seen_in(tombstone.class_generation, tombstone.generation_added));
            cited.generation_deleted = Some(deleted);
            cited.detail = format!("deleted in generation {deleted}: {}", tombstone.reason.replace('_', " "));
        }
        Ok(cited)
    }
}

fn damaged(reference: &str, what: &str) -> Error {
    Error::Damaged { detail: format!("{reference}: {what}") }
}

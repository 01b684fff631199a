//! `cite`: from a reference to the verbatim lines, and whether they still stand in the source.

use std::ops::RangeInclusive;

use crate::error::{Error, Result};
use crate::ingest::source::{FileId, SourceReader};
use crate::model::{ChunkId, Citation, Digest, DocumentId};
use crate::store::documents::DocumentRow;
use crate::store::{Connection, Store, chunks, documents, generations, sources, tombstones};

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
    /// The verbatim text as it was indexed; `None` where it is deleted or unknown.
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
    lines: RangeInclusive<u32>,
    text: String,
    content_hash: Digest,
    generation: u64,
}

impl Store {
    /// Looks up a chunk id, `path#L3-L6`, or `source:path#L3-L6` where a path stands in more than one source.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the reference has none of these forms, or fits documents of several sources.
    pub fn cite(&self, reference: &str) -> Result<Cited> {
        let found = self.read(|conn| {
            if let Some(id) = ChunkId::parse(reference) {
                return find_chunk(conn, reference, id);
            }
            let citation = Citation::parse(reference).ok_or_else(|| Error::Invalid {
                message: format!("{reference:?} is neither a chunk id nor path#L3-L6"),
            })?;
            find_lines(conn, reference, &citation)
        })?;
        match found {
            Found::Stored(stored) => self.judge(reference, *stored),
            Found::Gone(cited) => Ok(*cited),
        }
    }

    /// Compares stored lines with the source file as it is now.
    fn judge(&self, reference: &str, stored: Stored) -> Result<Cited> {
        let Stored { document, lines, text, content_hash, generation } = stored;
        let mut cited = Cited {
            reference: reference.to_owned(),
            status: CiteStatus::Current,
            source_id: Some(document.source_id.clone()),
            path: Some(document.path.clone()),
            lines: Some((*lines.start(), *lines.end())),
            text: Some(text.clone()),
            content_hash: Some(content_hash),
            generation: Some(generation),
            generation_deleted: None,
            detail: "the lines stand in the source file as they were indexed".into(),
        };
        let current = match self.source_text(&document)? {
            Ok(current) => current,
            Err(message) => {
                cited.status = CiteStatus::Stale;
                cited.detail = format!("the source file can't be compared: {message}");
                return Ok(cited);
            }
        };
        if Digest::of(&current) == document.content_hash {
            return Ok(cited);
        }
        let indexed = document.generation_updated;
        match find_in_file(&current, &text, *lines.start()) {
            Some(start) if start == *lines.start() => {
                cited.detail = format!("the source file changed since generation {indexed}, these lines did not");
            }
            Some(start) => {
                cited.status = CiteStatus::Moved;
                cited.lines = Some((start, start + (lines.end() - lines.start())));
                cited.detail = format!(
                    "the source file changed since generation {indexed}; the lines were at L{}-L{}",
                    lines.start(),
                    lines.end()
                );
            }
            None => {
                cited.status = CiteStatus::Stale;
                cited.detail =
                    format!("the source file changed since generation {indexed} and no longer has these lines");
            }
        }
        Ok(cited)
    }

    /// The document's source file as it is now, or why it can't be read.
    pub(crate) fn source_text(&self, document: &DocumentRow) -> Result<std::result::Result<String, String>> {
        let row = self.read(|conn| sources::by_number(conn, document.source_no))?;
        let folder = self.path().parent().unwrap_or(std::path::Path::new("/"));
        let reader =
            match SourceReader::open(&folder.join(&row.root), ".", FileId::of_store(self.path())?, MAX_FILE_BYTES) {
                Ok(reader) => reader,
                Err(error) => return Ok(Err(error.to_string())),
            };
        Ok(reader.read(&document.path).map(|text| text.text).map_err(|failure| failure.message))
    }
}

enum Found {
    Stored(Box<Stored>),
    Gone(Box<Cited>),
}

fn find_chunk(conn: &Connection, reference: &str, id: ChunkId) -> Result<Found> {
    if let Some((number, document)) = documents::by_id(conn, id.document)? {
        let row = chunks::of_document(conn, number)?.into_iter().find(|chunk| chunk.id() == id);
        if let Some(row) = row {
            let text = chunks::text(conn, row.chunk_no)?;
            return Ok(Found::Stored(Box::new(Stored {
                document,
                lines: row.span.start_line..=row.span.end_line,
                text,
                content_hash: row.content,
                generation: row.generation_added,
            })));
        }
    }
    Ok(Found::Gone(Box::new(gone(conn, reference, &id.to_string())?)))
}

fn find_lines(conn: &Connection, reference: &str, citation: &Citation) -> Result<Found> {
    let sources: Vec<String> = sources::all(conn)?.into_iter().map(|(_, row)| row.source_id).collect();
    let mut candidates: Vec<(String, String)> =
        sources.iter().map(|source| (source.clone(), citation.path.clone())).collect();
    if let Some((source, path)) = citation.path.split_once(':')
        && sources.iter().any(|known| known == source)
    {
        candidates.push((source.to_owned(), path.to_owned()));
    }
    let mut found = Vec::new();
    let mut deleted = None;
    for (source, path) in candidates {
        let id = DocumentId::new(&source, &path);
        if let Some(document) = documents::by_id(conn, id)? {
            found.push(document);
            continue;
        }
        let cited = gone(conn, reference, &id.to_string())?;
        if cited.status == CiteStatus::Deleted {
            deleted = Some(cited);
        }
    }
    if found.len() > 1 {
        let names: Vec<&str> = found.iter().map(|(_, document)| document.source_id.as_str()).collect();
        let message = format!("{reference} stands in the sources {}; write SOURCE:{reference}", names.join(" and "));
        return Err(Error::Invalid { message });
    }
    let Some((number, document)) = found.pop() else {
        let unknown = gone(conn, reference, "")?;
        return Ok(Found::Gone(Box::new(deleted.unwrap_or(unknown))));
    };
    if citation.end_line > document.lines {
        let mut unknown = gone(conn, reference, "")?;
        unknown.detail = format!("{} had {} lines when it was indexed", document.path, document.lines);
        return Ok(Found::Gone(Box::new(unknown)));
    }
    let text = stored_lines(conn, number, citation)?;
    let (content_hash, generation) = (Digest::of(&text), document.generation_updated);
    let lines = citation.start_line..=citation.end_line;
    Ok(Found::Stored(Box::new(Stored { document, lines, text, content_hash, generation })))
}

/// Lines put together from the chunks that hold them, as text with LF line ends; lines that no chunk holds (blank
/// ones, front matter) are empty.
fn stored_lines(conn: &Connection, document_no: i64, citation: &Citation) -> Result<String> {
    let count = (citation.end_line - citation.start_line + 1) as usize;
    let mut lines = vec![String::new(); count];
    for chunk in chunks::of_document(conn, document_no)? {
        if chunk.span.end_line < citation.start_line || chunk.span.start_line > citation.end_line {
            continue;
        }
        let text = chunks::text(conn, chunk.chunk_no)?;
        for (number, line) in (chunk.span.start_line..).zip(source_lines(&text)) {
            if let Some(slot) = number.checked_sub(citation.start_line).and_then(|index| lines.get_mut(index as usize))
            {
                line.clone_into(slot);
            }
        }
    }
    Ok(lines.join("\n"))
}

/// The lines of a text without their ends (LF, CRLF or a lone CR).
fn source_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').flat_map(|line| {
        let line = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
        line.split('\r')
    })
}

/// Where a text stands in a file, as whole lines: its first line there, nearest to where it was.
fn find_in_file(file: &str, text: &str, was_at: u32) -> Option<u32> {
    let (file, text): (Vec<&str>, Vec<&str>) = (source_lines(file).collect(), source_lines(text).collect());
    if text.is_empty() || text.iter().all(|line| line.trim().is_empty()) {
        return None;
    }
    let starts = file.windows(text.len()).enumerate().filter(|(_, window)| *window == text).map(|(index, _)| index);
    let lines = starts.filter_map(|index| u32::try_from(index + 1).ok());
    lines.min_by_key(|line| line.abs_diff(was_at))
}

/// What tombstones say of an id that is not live.
fn gone(conn: &Connection, reference: &str, id: &str) -> Result<Cited> {
    let mut cited = Cited {
        reference: reference.to_owned(),
        status: CiteStatus::Unknown,
        source_id: None,
        path: None,
        lines: None,
        text: None,
        content_hash: None,
        generation: generations::head(conn)?.map(|head| head.number),
        generation_deleted: None,
        detail: "nothing in the store has this reference".into(),
    };
    if let Some(tombstone) = tombstones::latest(conn, id)? {
        cited.status = CiteStatus::Deleted;
        cited.source_id = Some(tombstone.source_id);
        cited.path = Some(tombstone.path);
        cited.content_hash = Digest::parse(&tombstone.content_hash);
        cited.generation = Some(tombstone.generation_added);
        cited.generation_deleted = Some(tombstone.generation_deleted);
        cited.detail =
            format!("deleted in generation {}: {}", tombstone.generation_deleted, tombstone.reason.replace('_', " "));
    }
    Ok(cited)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a\nb\nc\n", "b", 2, Some(2))]
    #[case("a\nb\nx\nb\n", "b", 4, Some(4))]
    #[case("a\nb\nx\ny\nb\n", "b", 4, Some(5))]
    #[case("a\r\nb\r\nc", "b\nc", 1, Some(2))]
    #[case("a\rb\rc", "b\rc", 1, Some(2))]
    #[case("ab\n", "a", 1, None)]
    #[case("a\n\nb\n", "", 2, None)]
    #[case("a", "a\nb", 1, None)]
    fn text_is_found_as_whole_lines(
        #[case] file: &str,
        #[case] text: &str,
        #[case] at: u32,
        #[case] line: Option<u32>,
    ) {
        assert_eq!(find_in_file(file, text, at), line);
    }
}

//! `purge`: a document's text leaves the file for good, and what left can be looked for in the file's bytes.
//!
//! The data path: one transaction publishes a generation without the document, removes every run and answer that met it,
//! merges the index so that none of its postings is left, and works out which of the removed lines and words stand
//! nowhere else. Then the file is written anew without its free pages and the log is emptied. The proof is a step of its
//! own, in a process in which the store is not open.

mod scan;
#[cfg(test)]
mod tests;
mod text;

use std::time::Duration;

use crate::error::{Error, Result};
use crate::index;
use crate::lexicon::{Lexer, TermCounts};
use crate::model::{Digest, DocumentId};
use crate::store::documents::DocumentRow;
use crate::store::postings::{PostingReader, PostingWriter};
use crate::store::purges::{self, Named, Records};
use crate::store::tombstones::Reason;
use crate::store::{Connection, Store, chunks, documents, generations, log, settings, sources};
use crate::sync::publish_deletion;
pub use scan::{FoundText, Proof};
use text::{Candidates, Origin, Sieve};

/// What to purge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PurgeRequest {
    /// A document's id, its path, or its source and path as in `docs:guide/keys.md`. It may be deleted already.
    pub document: String,
    /// Why, for the record; kept in the store as it is.
    pub reason: Option<String>,
    /// Refuse, before anything is removed, where another process reads: the log could not be emptied.
    pub undisturbed: bool,
}

/// What [`Store::purge`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeReport {
    /// The document's id.
    pub document_id: String,
    /// Its source.
    pub source_id: String,
    /// Its path, which its tombstone keeps.
    pub path: String,
    /// Whether it was there; else only what runs and answers had of it was removed.
    pub was_live: bool,
    /// The newest generation after the call.
    pub generation: u64,
    /// Chunks that were removed.
    pub chunks: u64,
    /// Runs that were removed, with all that belongs to them.
    pub runs: u64,
    /// Answers that were removed.
    pub answers: u64,
    /// Entries of the cache that were removed.
    pub cached: u64,
    /// Whether the write-ahead log is empty; another process that reads keeps it from being so.
    pub log_is_empty: bool,
    /// The file's size, its log included, before.
    pub bytes_before: u64,
    /// And after.
    pub bytes_after: u64,
    /// What can be looked for.
    pub removed: RemovedText,
}

/// Text that was removed and that nothing which stays has, in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovedText {
    /// Lines of 16 characters or more; longer ones in pieces of 64.
    pub lines: Vec<String>,
    /// Words, and the stems under which the index had them.
    pub words: Vec<String>,
    /// Lines that stand elsewhere too, so that finding them would prove nothing.
    pub lines_elsewhere: u64,
    /// Such words: in other documents, in paths, in settings.
    pub words_elsewhere: u64,
    /// Such words that stand in recorded questions or answers that have nothing else to do with the document.
    pub words_in_records: u64,
    /// Words that are too short to tell them from other bytes.
    pub words_too_short: u64,
}

/// What the transaction did.
struct Purged {
    named: Named,
    was_live: bool,
    generation: u64,
    chunks: u64,
    records: Records,
    cached: u64,
    removed: RemovedText,
}

impl Store {
    /// Removes a document's text from chunks, postings, runs, answers and the cache, overwrites what it stood on, and
    /// empties the log. Its tombstones stay: ids, path, hashes, when. A file with the same content does not come back
    /// with a later sync; a changed one does. What is purged stays in backups made before, and in the source folder.
    ///
    /// # Errors
    /// [`Error::NotFound`] where no document has or had that name, [`Error::Invalid`] where several have,
    /// [`Error::Refused`] with `store_is_read` where [`PurgeRequest::undisturbed`] can't be had. Nothing is removed then.
    /// [`Error::Refused`] with `purge_unfinished` where the document is purged, and the file could not be written anew: the
    /// same call does the rest, and so does the next one that writes.
    pub fn purge(&self, request: &PurgeRequest) -> Result<PurgeReport> {
        self.require_writable()?;
        let bytes_before = self.size()?;
        if request.undisturbed && !self.is_undisturbed()? {
            return Err(Error::Refused {
                code: "store_is_read",
                message: format!(
                    "another process reads {}, so that its log can't be emptied; nothing was purged",
                    self.path().display()
                ),
                hint: "end that process, or purge without a proof".into(),
            });
        }
        let file = self.file_as_purged(&request.document)?;
        let purged = self.remove_document(request, file.as_deref())?;
        self.finish_purge().map_err(|error| unfinished(&purged, &error))?;
        let Purged { named, was_live, generation, chunks, records, cached, removed } = purged;
        Ok(PurgeReport {
            document_id: named.document_id,
            source_id: named.source_id,
            path: named.path,
            was_live,
            generation,
            chunks,
            runs: records.runs.len() as u64,
            answers: records.answers.len() as u64,
            cached,
            log_is_empty: !log::has_log(self.path()),
            bytes_before,
            bytes_after: self.size()?,
            removed,
        })
    }

    /// The text of a document that was purged before, where its file still has it: nothing else says then what to look for.
    fn file_as_purged(&self, name: &str) -> Result<Option<String>> {
        let gone = self.read(|conn| {
            let named = resolve(conn, name)?;
            let live =
                DocumentId::parse(&named.document_id).map(|id| documents::by_id(conn, id)).transpose()?.flatten();
            let content = purges::last_content(conn, &named.document_id)?.filter(|_| live.is_none());
            let source = sources::by_id(conn, &named.source_id)?;
            Ok(content.zip(source).map(|(content, (_, source))| (content, source, named.path)))
        })?;
        let Some((content, source, path)) = gone else { return Ok(None) };
        let file = self.reader_of(&source).ok().and_then(|reader| reader.read(&path).ok());
        Ok(file.map(|file| file.text).filter(|text| Digest::of(text).to_string() == content))
    }

    /// The transaction, which notes that the file is to be written anew. `file` is what the document's file has of it, where
    /// the store has it no more.
    fn remove_document(&self, request: &PurgeRequest, file: Option<&str>) -> Result<Purged> {
        self.write_in_any_case(|tx| {
            settings::write_unfinished_purge(tx, Some(FILE))?;
            purges::wiping(tx, || remove(tx, request, file))
        })
    }

    /// Does what is left to do of a purge whose process ended too early, or whose log somebody still read: until then what
    /// was removed may stand in free pages or in the log.
    pub(crate) fn finish_purge(&self) -> Result<()> {
        let Some(left) = self.read(settings::unfinished_purge)? else { return Ok(()) };
        let is_empty = if left == LOG {
            self.empty_log()?
        } else if self.has_room_in_log(Duration::ZERO)? {
            self.vacuum()?
        } else {
            // The whole file would go through a log that is at its limit: later.
            return Ok(());
        };
        self.write_in_any_case(|tx| settings::write_unfinished_purge(tx, (!is_empty).then_some(LOG)))?;
        if is_empty {
            self.empty_log()?;
        }
        Ok(())
    }
}

/// What is left to do of a purge: the file is to be written anew without its free pages, and the log to be emptied.
const FILE: &str = "file";
/// Only the log is to be emptied.
const LOG: &str = "log";

/// What is done, and what is not.
fn unfinished(purged: &Purged, error: &Error) -> Error {
    let (Named { source_id, path, .. }, generation) = (&purged.named, purged.generation);
    Error::Refused {
        code: "purge_unfinished",
        message: format!(
            "{path} ({source_id}) is purged, and generation {generation} is without it; but the store's file could not be \
             written anew, so that free pages or the log may still hold its text, and nothing is proved: {error}"
        ),
        hint:
            "mend that, and run the same purge once more: it does the rest. With --prove it looks for what the source \
               file says, so keep that file as it is until then"
                .into(),
    }
}

/// The whole transaction.
fn remove(tx: &Connection, request: &PurgeRequest, file: Option<&str>) -> Result<Purged> {
    let named = resolve(tx, &request.document)?;
    let id = DocumentId::parse(&named.document_id)
        .ok_or_else(|| Error::Damaged { detail: format!("document id {:?} can't be read", named.document_id) })?;
    let live = documents::by_id(tx, id)?;
    let mut candidates = Candidates::new();
    let (mut generation, mut removed_chunks) = (generations::head(tx)?.map_or(0, |head| head.number), 0);
    let mut records = purges::records_of(tx, &named.document_id)?;
    collect_records(tx, &records, &mut candidates)?;
    let content = if let Some((number, row)) = &live {
        collect_document(tx, *number, row, &mut candidates)?;
        let published = publish_deletion(tx, *number, Reason::Purged)?;
        (generation, removed_chunks) = (published.number, published.chunks.removed);
        Some(row.content_hash.to_string())
    } else {
        if let Some(text) = file {
            candidates.text(text, Origin::Document);
            candidates.terms("", &[], text);
        }
        purges::last_content(tx, &named.document_id)?
    };
    if let Some(content) = content {
        purges::insert(tx, &named.document_id, &content, generation, request.reason.as_deref())?;
    }
    purges::blank_failures(tx, &named)?;
    let mut cached = purges::delete_records(tx, &records)?;
    if let Some(policy) = settings::policy(tx)? {
        index::optimize(&mut PostingWriter::new(tx)?, &policy.bm25)?;
    }
    let mut sieve = Sieve::new(candidates)?;
    purges::for_each_kept(tx, |text| sieve.kept(text))?;
    keep_terms(tx, &mut sieve)?;
    let quoting = quoting(tx, &sieve)?;
    cached += purges::delete_records(tx, &quoting)?;
    records.runs.extend(quoting.runs);
    records.answers.extend(quoting.answers);
    purges::for_each_recorded(tx, |_, text| sieve.recorded(text))?;
    let removed = sieve.into_removed();
    Ok(Purged { named, was_live: live.is_some(), generation, chunks: removed_chunks, records, cached, removed })
}

/// The one document that is meant.
fn resolve(conn: &Connection, name: &str) -> Result<Named> {
    let mut found = purges::named(conn, name)?;
    match found.len() {
        0 => Err(Error::NotFound { what: format!("document {name}, and there was none") }),
        1 => Ok(found.remove(0)),
        _ => {
            let places: Vec<String> = found.iter().map(|it| format!("{}:{}", it.source_id, it.path)).collect();
            let message = format!("{name} is a document of several sources; say which: {}", places.join(", "));
            Err(Error::Invalid { message })
        }
    }
}

/// All text of a live document.
fn collect_document(conn: &Connection, number: i64, row: &DocumentRow, candidates: &mut Candidates) -> Result<()> {
    candidates.text(&row.title, Origin::Document);
    if let Some(fields) = row.front_matter.as_deref().and_then(|json| serde_json::from_str(json).ok()) {
        candidates.json(&fields);
    }
    for chunk in chunks::of_document(conn, number)? {
        let (headings, text) = (chunk.headings()?, chunks::text_as_stored(conn, chunk.chunk_no)?);
        for heading in &headings {
            candidates.text(heading, Origin::Document);
        }
        candidates.text(&text, Origin::Document);
        candidates.terms(&row.title, &headings, &text);
    }
    let failed = sources::failures(conn, generations::head(conn)?.map_or(0, |head| head.number))?;
    for failure in failed.iter().filter(|failure| failure.source_id == row.source_id && failure.path == row.path) {
        candidates.text(&failure.message, Origin::Record);
    }
    Ok(())
}

/// All text of runs and answers that go.
fn collect_records(conn: &Connection, records: &Records, candidates: &mut Candidates) -> Result<()> {
    purges::for_each_recorded(conn, |place, text| {
        let goes =
            records.runs.contains(place.run_id) || place.answer_id.is_some_and(|it| records.answers.contains(it));
        if goes {
            candidates.text(text, Origin::Record);
        }
    })
}

/// Terms of the index that are another chunk's: they need not stand in its text as the index writes them. The index is
/// not taken at its word: the chunk is lexed again.
fn keep_terms(conn: &Connection, sieve: &mut Sieve) -> Result<()> {
    let met = index::terms_with_chunk(&mut PostingReader::new(conn)?, |term| sieve.meets(term))?;
    let (mut lexer, mut counts) = (Lexer::new(), TermCounts::new());
    for (term, chunk_no) in met {
        if !sieve.meets(&term) {
            continue;
        }
        let (document_no, chunk, text) = match chunks::by_number(conn, chunk_no) {
            // What the index has of no chunk is nobody's: `check` names it.
            Err(Error::Damaged { .. }) => continue,
            found => found?,
        };
        let title = documents::by_number(conn, document_no)?.title;
        lexer.chunk_terms(&title, &chunk.headings()?, &text, &mut counts);
        if counts.iter().any(|(known, _)| known == term) {
            sieve.kept(&term);
        }
    }
    Ok(())
}

/// Runs and answers about other documents in which a line of this one stands.
fn quoting(conn: &Connection, sieve: &Sieve) -> Result<Records> {
    let mut records = Records::default();
    purges::for_each_recorded(conn, |place, text| {
        if sieve.quotes(text) {
            match place.answer_id {
                Some(answer) => records.answers.insert(answer.to_owned()),
                None => records.runs.insert(place.run_id.to_owned()),
            };
        }
    })?;
    purges::with_answers(conn, records)
}

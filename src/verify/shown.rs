//! What a run showed, as store and sources are now.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use super::references::{self, Elsewhere};
use super::types::StoredNumber;
use super::{Failed, VerifiedSpan, VerifyRequest};
use crate::access::history::{self, Numbers};
use crate::access::{Scope, Seen};
use crate::cite::why_unread;
use crate::error::{Error, Result};
use crate::gate::source::{SourceFault, SourceFile};
use crate::gate::verdict::Verdict;
use crate::ingest::source::SourceReader;
use crate::model::{self, ChunkId, Digest, Manifest, Principal, Span, line_ends};
use crate::store::documents::DocumentRow;
use crate::store::{Connection, Store, chunks, documents, generations, runs, settings, tombstones};

/// The chunks of a run, and the store's word on every other reference of the answer.
pub(super) struct Context<'s> {
    store: &'s Store,
    principal: &'s Principal,
    /// The generation that the answer is judged against.
    pub generation: u64,
    pub generation_digest: Digest,
    pub stored: StoredNumber,
    pub shown: Vec<Shown>,
    /// What the store says of each reference to what was not shown.
    elsewhere: HashMap<String, Elsewhere>,
    /// What reads the files of each source, or why its folder can't be opened.
    readers: HashMap<i64, std::result::Result<SourceReader, String>>,
    /// Source files by document, as they are now.
    files: HashMap<String, File>,
}

/// A source file as it is now.
enum File {
    Text(SourceFile),
    /// The file is missing or can't be read, below a folder that can be opened.
    Unreadable(String),
    /// The folder of its source can't be opened.
    Unavailable(String),
}

/// A chunk that the run showed.
pub(super) struct Shown {
    pub label: String,
    /// The chunk's text; empty where it is gone.
    pub text: String,
    pub headings: Vec<String>,
    pub chunk_id: String,
    pub source_id: String,
    pub path: String,
    /// Its first and last line as the run showed them.
    pub lines: (u32, u32),
    place: Span,
    document: Option<DocumentRow>,
    /// Hashes of chunk and file when the run showed them.
    content_hash: String,
    document_hash: String,
    /// Hash of the chunk's text as its row has it.
    stored_hash: Option<Digest>,
    /// Why the chunk is no evidence any more, as far as the store knows.
    gone: Option<(Verdict, String)>,
    /// It was held to its source file, and is what was shown.
    stands: bool,
    /// Characters of the file before the chunk, once the file was read.
    chars_before: Option<u64>,
}

impl<'s> Context<'s> {
    pub(super) fn load(store: &'s Store, principal: &'s Principal, request: &VerifyRequest<'_>) -> Result<Self> {
        let manifest = request.manifest;
        store.read_as(principal, Seen::Stored, |conn, scope| {
            if settings::store_id(conn)? != manifest.store_id {
                let message = format!("run {} was made from another store; verify it there", manifest.run_id);
                return Err(Error::Invalid { message });
            }
            let generation = match history::newest(conn, scope)? {
                None if scope.is_whole() => return Err(Error::NotFound { what: "published generation".into() }),
                newest => newest.unwrap_or(0),
            };
            let numbers = Numbers::of(conn, scope)?;
            // Where the reader sees none, it is the one in which they don't.
            let stored = match generation {
                0 => generations::head(conn)?.map(|head| head.number),
                seen => Some(numbers.stored(conn, seen)?),
            };
            let generation_digest = history::newest_digest(conn, scope)?;
            let reader = Reader { conn, scope, numbers: &numbers, evidence: evidence_of(conn, principal, manifest)? };
            let shown = manifest.shown.iter().map(|entry| reader.load(entry)).collect::<Result<Vec<_>>>()?;
            let (readers, files) = (HashMap::new(), HashMap::new());
            let (elsewhere, stored) = (HashMap::new(), StoredNumber(stored));
            let mut context =
                Self { store, principal, generation, generation_digest, stored, shown, elsewhere, readers, files };
            for citation in request.answer.claims.iter().flat_map(|claim| &claim.citations) {
                let reference = &citation.reference;
                if !context.elsewhere.contains_key(reference) && references::among(&context.shown, reference).is_none()
                {
                    context.elsewhere.insert(reference.clone(), Elsewhere::of(conn, scope, reference)?);
                }
            }
            Ok(context)
        })
    }

    /// The place among what was shown that a reference means.
    pub(super) fn resolve(&self, reference: &str) -> std::result::Result<usize, Failed> {
        let elsewhere = || self.elsewhere.get(reference).copied().unwrap_or(Elsewhere::Unknown);
        references::among(&self.shown, reference).unwrap_or_else(|| Err(elsewhere().failed()))
    }

    /// The source file of a document as it is now; each is read once.
    fn file<'a>(
        store: &Store,
        readers: &mut HashMap<i64, std::result::Result<SourceReader, String>>,
        files: &'a mut HashMap<String, File>,
        document: &DocumentRow,
    ) -> Result<&'a File> {
        Ok(match files.entry(document.document_id.to_string()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let reader = match readers.entry(document.source_no) {
                    Entry::Occupied(entry) => entry.into_mut(),
                    Entry::Vacant(entry) => entry.insert(store.source_reader(document.source_no)?),
                };
                entry.insert(match reader.as_ref().map(|reader| reader.read(&document.path)) {
                    Ok(Ok(read)) => File::Text(SourceFile::new(read.text)),
                    Ok(Err(failure)) => File::Unreadable(failure.message),
                    Err(why) => File::Unavailable(why.clone()),
                })
            }
        })
    }

    /// Whether a chunk still is what was shown: live, with the source file it had, and undamaged.
    pub(super) fn still_so(
        &mut self,
        place: usize,
        request: &VerifyRequest<'_>,
    ) -> Result<std::result::Result<(), Failed>> {
        let shown = &mut self.shown[place];
        if shown.stands {
            return Ok(Ok(()));
        }
        if let Some((verdict, detail)) = &shown.gone {
            return Ok(Err(Failed::new(*verdict, detail.clone())));
        }
        let Some(document) = &shown.document else {
            return Ok(Err(references::unknown()));
        };
        let path = &document.path;
        if document.content_hash.to_string() != shown.document_hash {
            let detail = format!("{path} was synced with other content since the run; ask for evidence again");
            return Ok(Err(Failed::new(Verdict::Stale, detail)));
        }
        let file = match Self::file(self.store, &mut self.readers, &mut self.files, document)? {
            File::Text(file) => Some(file),
            File::Unavailable(_) if request.allow_unverified_source => None,
            File::Unavailable(reason) | File::Unreadable(reason) => {
                let why = why_unread(self.principal, reason.clone());
                let detail = format!("the source file can't be compared: {why}");
                return Ok(Err(Failed::new(Verdict::Stale, detail)));
            }
        };
        let text_hash = Digest::of(&shown.text);
        let as_shown = text_hash.to_string() == shown.content_hash;
        let stands = match file {
            _ if shown.stored_hash != Some(text_hash) => Err(SourceFault::Hash),
            Some(file) => file.holds(document.content_hash, &shown.place, &shown.text),
            None => Ok(()),
        };
        match stands {
            Err(SourceFault::Changed) => {
                let detail = format!("{path} changed since the run; sync, and ask for evidence again");
                return Ok(Err(Failed::new(Verdict::Stale, detail)));
            }
            Err(fault) => {
                let detail = format!("{}; run `ragdb check`", fault.detail());
                return Ok(Err(Failed::new(Verdict::Integrity, detail)));
            }
            Ok(()) if !as_shown => {
                let detail = "the chunk does not have the hash that the run showed it with";
                return Ok(Err(Failed::new(Verdict::Integrity, detail)));
            }
            Ok(()) => {}
        }
        let start = usize::try_from(shown.place.start_byte).unwrap_or(usize::MAX);
        shown.chars_before = file.and_then(|file| Some(file.text().get(..start)?.chars().count() as u64));
        shown.stands = true;
        Ok(Ok(()))
    }

    /// The texts of the other chunks that were shown.
    pub(super) fn other_texts(&self, place: usize) -> Vec<&str> {
        let others = self.shown.iter().enumerate().filter(|(other, _)| *other != place);
        others.map(|(_, shown)| shown.text.as_str()).collect()
    }

    /// The label of the chunk with this index among [`Context::other_texts`].
    pub(super) fn label_of_other(&self, cited: &Shown, other: usize) -> &str {
        let mut others = self.shown.iter().filter(|shown| shown.label != cited.label);
        others.nth(other).map_or("another block", |shown| &shown.label)
    }
}

/// What the one may read whom the run's evidence was for: the principal, and where that is the operator, the one for
/// whom the run is recorded.
fn evidence_of(conn: &Connection, principal: &Principal, manifest: &Manifest) -> Result<Scope> {
    let recorded = if principal.is_operator() { runs::principal(conn, &manifest.run_id)? } else { None };
    let reader = recorded.and_then(|json| Principal::from_record(&json));
    match reader.filter(|reader| !reader.is_operator()) {
        Some(reader) => Scope::of(conn, &reader, Seen::Evidence),
        None => Scope::of(conn, principal, Seen::Evidence),
    }
}

/// Reads what a run showed.
struct Reader<'a> {
    conn: &'a Connection,
    scope: &'a Scope,
    numbers: &'a Numbers,
    /// What may be evidence.
    evidence: Scope,
}

impl Reader<'_> {
    fn load(&self, entry: &model::Shown) -> Result<Shown> {
        let (conn, classes) = (self.conn, self.scope.classes());
        let mut shown = Shown {
            label: entry.label.clone(),
            text: String::new(),
            headings: Vec::new(),
            chunk_id: entry.chunk_id.clone(),
            source_id: entry.source_id.clone(),
            path: entry.path.clone(),
            lines: (entry.start_line, entry.end_line),
            place: Span { start_line: 0, end_line: 0, start_byte: 0, end_byte: 0 },
            document: None,
            content_hash: entry.content_hash.clone(),
            document_hash: entry.document_hash.clone(),
            stored_hash: None,
            gone: None,
            stands: false,
            chars_before: None,
        };
        let Some(id) = ChunkId::parse(&entry.chunk_id) else { return Ok(shown) };
        let live = documents::visible(conn, classes, id.document)?;
        let row = match &live {
            Some((number, _)) => chunks::by_id(conn, *number, id)?,
            None => None,
        };
        if let (Some((_, document)), Some(row)) = (live, row) {
            if !self.evidence.covers(document.class_no) {
                let detail = "it is in the store, but whom the run was for may not read it now";
                shown.gone = Some((Verdict::Forbidden, detail.into()));
                return Ok(shown);
            }
            shown.text = chunks::text(conn, row.chunk_no)?;
            shown.headings = row.headings()?;
            shown.place = row.span;
            shown.stored_hash = Some(row.content);
            if row.unsafe_reason.is_some() {
                let detail =
                    "it is marked as unsafe now: it, or its document, tries to instruct the model that reads it";
                shown.gone = Some((Verdict::Stale, detail.into()));
            }
            shown.document = Some(document);
        } else if let Some(tombstone) = tombstones::latest(conn, classes, &entry.chunk_id)? {
            let generation = self.numbers.seen(tombstone.generation_deleted);
            shown.gone = Some(match tombstone.reason.as_str() {
                "file_deleted" | "source_removed" | "rolled_back" | "purged" => {
                    (Verdict::Deleted, format!("{} was deleted in generation {generation}", tombstone.path))
                }
                _ => (Verdict::Stale, format!("{} was synced with other text in generation {generation}", entry.path)),
            });
        }
        Ok(shown)
    }
}

impl Shown {
    /// Where bytes of the chunk stand, in it and in its file; `None` where they are no text of it.
    pub(super) fn span(&self, range: &Range<usize>) -> Option<VerifiedSpan> {
        let text = self.text.get(range.clone()).filter(|text| !text.is_empty())?;
        let document = self.document.as_ref()?;
        let before = &self.text[..range.start];
        let (skipped, chars) = (before.chars().count() as u64, text.chars().count() as u64);
        let bytes = self.text.as_bytes();
        let start_line = self.place.start_line + line_ends(bytes, 0..range.start);
        // A line end that the span itself ends with does not open another line.
        let said = range.start + text.trim_end_matches(['\r', '\n']).len();
        let end_line = start_line + line_ends(bytes, range.start..said);
        let start_char = self.chars_before.map(|before| before + skipped);
        Some(VerifiedSpan {
            chunk_id: self.chunk_id.clone(),
            source_id: document.source_id.clone(),
            path: document.path.clone(),
            start_line,
            end_line,
            start_byte: self.place.start_byte + range.start as u64,
            end_byte: self.place.start_byte + range.end as u64,
            start_char,
            end_char: start_char.map(|start| start + chars),
            chunk_start_byte: range.start as u64,
            chunk_end_byte: range.end as u64,
            chunk_start_char: skipped,
            chunk_end_char: skipped + chars,
            content_hash: self.content_hash.clone(),
            headings: self.headings.clone(),
            text: text.to_owned(),
        })
    }
}

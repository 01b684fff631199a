//! What a run showed, as store and sources are now.

use std::collections::HashMap;
use std::ops::Range;

use super::{Failed, VerifiedSpan, VerifyRequest};
use crate::error::{Error, Result};
use crate::gate::source::{SourceFault, SourceFile};
use crate::gate::verdict::Verdict;
use crate::model::{self, ChunkId, Digest, Span};
use crate::store::documents::DocumentRow;
use crate::store::{Connection, Store, chunks, documents, generations, settings, tombstones};

/// The chunks of a run, and the store's word on every other reference of the answer.
pub(super) struct Context<'s> {
    store: &'s Store,
    /// The generation that the answer is judged against.
    pub generation: u64,
    pub shown: Vec<Shown>,
    /// Whether a chunk id that was not shown is or was in the store.
    elsewhere: HashMap<String, bool>,
    /// Source files by document, as they are now, or why they can't be read.
    files: HashMap<String, std::result::Result<String, String>>,
}

/// A chunk that the run showed.
pub(super) struct Shown {
    pub label: String,
    /// The chunk's text; empty where it is gone.
    pub text: String,
    pub headings: Vec<String>,
    chunk_id: String,
    citation: String,
    place: Span,
    document: Option<DocumentRow>,
    /// Hashes of chunk and file when the run showed them.
    content_hash: String,
    document_hash: String,
    /// Hash of the chunk's text as its row has it.
    stored_hash: Option<Digest>,
    /// Why the chunk is no evidence any more, as far as the store knows.
    gone: Option<(Verdict, String)>,
    /// Characters of the file before the chunk, once the file was read.
    chars_before: Option<u64>,
}

impl<'s> Context<'s> {
    pub(super) fn load(store: &'s Store, request: &VerifyRequest<'_>) -> Result<Self> {
        let manifest = request.manifest;
        store.read(|conn| {
            if settings::store_id(conn)? != manifest.store_id {
                let message = format!("run {} was made from another store; verify it there", manifest.run_id);
                return Err(Error::Invalid { message });
            }
            let head = generations::head(conn)?;
            let generation = head.ok_or_else(|| Error::NotFound { what: "published generation".into() })?.number;
            let shown = manifest.shown.iter().map(|entry| Shown::load(conn, entry)).collect::<Result<Vec<_>>>()?;
            let mut context = Self { store, generation, shown, elsewhere: HashMap::new(), files: HashMap::new() };
            for citation in request.answer.claims.iter().flat_map(|claim| &claim.citations) {
                let reference = &citation.reference;
                if context.place(reference).is_none() && !context.elsewhere.contains_key(reference) {
                    context.elsewhere.insert(reference.clone(), is_known(conn, reference)?);
                }
            }
            Ok(context)
        })
    }

    fn place(&self, reference: &str) -> Option<usize> {
        let names = |shown: &Shown| [&shown.label, &shown.chunk_id, &shown.citation].iter().any(|it| *it == reference);
        self.shown.iter().position(names)
    }

    /// The place among what was shown that a reference means.
    pub(super) fn resolve(&self, reference: &str) -> std::result::Result<usize, Failed> {
        match self.place(reference) {
            Some(place) => Ok(place),
            None if self.elsewhere.get(reference).copied().unwrap_or(false) => {
                Err(Failed::new(Verdict::NotInContext, "it is in the store, but was not shown in this run"))
            }
            None => Err(Failed::new(Verdict::UnknownReference, "nothing in the store has this reference")),
        }
    }

    /// Whether a chunk still is what was shown: live, with the source file it had, and undamaged.
    pub(super) fn still_so(
        &mut self,
        place: usize,
        request: &VerifyRequest<'_>,
    ) -> Result<std::result::Result<(), Failed>> {
        let shown = &mut self.shown[place];
        if let Some((verdict, detail)) = &shown.gone {
            return Ok(Err(Failed::new(*verdict, detail.clone())));
        }
        let Some(document) = &shown.document else {
            return Ok(Err(Failed::new(Verdict::UnknownReference, "nothing in the store has this reference")));
        };
        let path = &document.path;
        if document.content_hash.to_string() != shown.document_hash {
            let detail = format!("{path} was synced with other content since the run; ask for evidence again");
            return Ok(Err(Failed::new(Verdict::Stale, detail)));
        }
        let key = document.document_id.to_string();
        let file = match self.files.entry(key) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => entry.insert(self.store.source_text(document)?),
        };
        let file = match file {
            Ok(file) => Some(file.as_str()),
            Err(_) if request.allow_unverified_source => None,
            Err(reason) => {
                let detail = format!("the source file can't be compared: {reason}");
                return Ok(Err(Failed::new(Verdict::Stale, detail)));
            }
        };
        let text_hash = Digest::of(&shown.text);
        let as_shown = text_hash.to_string() == shown.content_hash;
        let stands = match file {
            _ if shown.stored_hash != Some(text_hash) => Err(SourceFault::Hash),
            Some(file) => SourceFile::new(file).holds(document.content_hash, &shown.place, &shown.text),
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
        shown.chars_before = file.and_then(|file| Some(file.get(..start)?.chars().count() as u64));
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

impl Shown {
    fn load(conn: &Connection, entry: &model::Shown) -> Result<Self> {
        let mut shown = Self {
            label: entry.label.clone(),
            text: String::new(),
            headings: Vec::new(),
            chunk_id: entry.chunk_id.clone(),
            citation: format!("{}#L{}-L{}", entry.path, entry.start_line, entry.end_line),
            place: Span { start_line: 0, end_line: 0, start_byte: 0, end_byte: 0 },
            document: None,
            content_hash: entry.content_hash.clone(),
            document_hash: entry.document_hash.clone(),
            stored_hash: None,
            gone: None,
            chars_before: None,
        };
        let Some(id) = ChunkId::parse(&entry.chunk_id) else { return Ok(shown) };
        let live = documents::by_id(conn, id.document)?;
        let row = match &live {
            Some((number, _)) => chunks::of_document(conn, *number)?.into_iter().find(|chunk| chunk.id() == id),
            None => None,
        };
        if let (Some((_, document)), Some(row)) = (live, row) {
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
        } else if let Some(tombstone) = tombstones::latest(conn, &entry.chunk_id)? {
            let generation = tombstone.generation_deleted;
            shown.gone = Some(match tombstone.reason.as_str() {
                "file_deleted" | "source_removed" => {
                    (Verdict::Deleted, format!("{} was deleted in generation {generation}", tombstone.path))
                }
                _ => (Verdict::Stale, format!("{} was synced with other text in generation {generation}", entry.path)),
            });
        }
        Ok(shown)
    }

    /// Where bytes of the chunk stand, in it and in its file; `None` where they are no text of it.
    pub(super) fn span(&self, range: &Range<usize>) -> Option<VerifiedSpan> {
        let text = self.text.get(range.clone()).filter(|text| !text.is_empty())?;
        let document = self.document.as_ref()?;
        let before = &self.text[..range.start];
        let (skipped, chars) = (before.chars().count() as u64, text.chars().count() as u64);
        let start_line = self.place.start_line + line_ends(before);
        // A line end that the span itself ends with does not open another line.
        let end_line = start_line + line_ends(text.trim_end_matches(['\r', '\n']));
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
            text: text.to_owned(),
        })
    }
}

/// How many line ends (LF, CRLF or a lone CR) a text has.
fn line_ends(text: &str) -> u32 {
    let bytes = text.as_bytes();
    let ends = bytes.iter().enumerate().filter(|&(at, byte)| match byte {
        b'\n' => true,
        b'\r' => bytes.get(at + 1) != Some(&b'\n'),
        _ => false,
    });
    u32::try_from(ends.count()).unwrap_or(u32::MAX)
}

/// Whether a chunk id is or was in the store.
fn is_known(conn: &Connection, reference: &str) -> Result<bool> {
    let Some(id) = ChunkId::parse(reference) else { return Ok(false) };
    if let Some((number, _)) = documents::by_id(conn, id.document)?
        && chunks::of_document(conn, number)?.iter().any(|chunk| chunk.id() == id)
    {
        return Ok(true);
    }
    Ok(tombstones::latest(conn, reference)?.is_some())
}

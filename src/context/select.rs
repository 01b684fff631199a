//! Which hits become evidence: each is held to its source file as it is at this moment, and goes into the prompt if it is
//! new and fits.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::{Candidate, ContextRequest, Found};
use crate::cite::why_unread;
use crate::error::{Error, Result};
use crate::evidence::prompt::{Block, Prompt};
use crate::gate::source::{SourceFault, SourceFile};
use crate::ingest::code;
use crate::ingest::source::SourceReader;
use crate::model::{Digest, DocumentId, Principal, Refused, Shown};
use crate::store::Store;
use crate::store::documents::DocumentRow;
use crate::store::record;
use crate::store::sources::SourceRow;

impl Candidate {
    fn shown(&self, label: String) -> Shown {
        let (hit, span) = (&self.hit, self.hit.span);
        Shown {
            label,
            chunk_id: hit.chunk_id.to_string(),
            source_id: hit.source_id.clone(),
            path: hit.path.clone(),
            start_line: span.start_line,
            end_line: span.end_line,
            start_byte: span.start_byte,
            end_byte: span.end_byte,
            content_hash: hit.content_hash.to_string(),
            document_hash: self.document.content_hash.to_string(),
            score: hit.score,
        }
    }

    fn refused(&self, code: &str, detail: String) -> Refused {
        let Shown {
            chunk_id,
            source_id,
            path,
            start_line,
            end_line,
            start_byte,
            end_byte,
            content_hash,
            document_hash,
            score,
            ..
        } = self.shown(String::new());
        Refused {
            chunk_id,
            source_id,
            path,
            start_line,
            end_line,
            start_byte,
            end_byte,
            content_hash,
            document_hash,
            score: Some(score),
            code: code.to_owned(),
            detail,
        }
    }
}

/// Why a chunk is not shown: a code and the reason in words.
pub(super) type Reason = (&'static str, String);

/// Evidence as it comes together.
pub(super) struct Selection<'a> {
    request: &'a ContextRequest,
    sources: Sources<'a>,
    prompt: Prompt<'a>,
    shown: Vec<Shown>,
    refused: Vec<Refused>,
    /// How many shown chunks were not compared with a source file.
    unverified: usize,
}

/// What came of it.
pub(super) struct Selected<'a> {
    pub prompt: Prompt<'a>,
    pub shown: Vec<Shown>,
    pub refused: Vec<Refused>,
    pub unverified: usize,
}

impl<'a> Selection<'a> {
    pub(super) fn new(
        store: &'a Store,
        principal: &'a Principal,
        request: &'a ContextRequest,
        found: &'a Found,
        prompt: Prompt<'a>,
    ) -> Self {
        let sources = Sources::new(store, principal, &found.candidates, &found.sources);
        Self { request, sources, prompt, shown: Vec::new(), refused: Vec::new(), unverified: 0 }
    }

    pub(super) fn finish(self) -> Selected<'a> {
        let Self { prompt, shown, refused, unverified, .. } = self;
        Selected { prompt, shown, refused, unverified }
    }

    /// Shows the candidate, or refuses it.
    pub(super) fn take(&mut self, index: usize, candidate: &Candidate) -> Result<()> {
        match self.offer(index, candidate)? {
            Ok((label, is_verified)) => {
                self.unverified += usize::from(!is_verified);
                self.shown.push(candidate.shown(label));
            }
            Err((code, detail)) => self.refused.push(candidate.refused(code, detail)),
        }
        Ok(())
    }

    /// The label of the candidate and whether it was compared with its source file, or why it is not shown.
    fn offer(&mut self, index: usize, candidate: &Candidate) -> Result<std::result::Result<(String, bool), Reason>> {
        let Candidate { hit, .. } = candidate;
        if self.shown.len() >= self.request.max_chunks {
            return Ok(Err(("over_count", format!("max_chunks is {}", self.request.max_chunks))));
        }
        let is_verified = match self.sources.check(index, candidate)? {
            Ok(()) => true,
            Err((code, _)) if code == SOURCE_UNAVAILABLE && self.request.allow_unverified_source => false,
            Err(reason) => return Ok(Err(reason)),
        };
        let content = hit.content_hash.to_string();
        if let Some(same) = self.shown.iter().find(|shown| shown.content_hash == content) {
            return Ok(Err(("duplicate", format!("has the same text as {}", same.label))));
        }
        let citation = hit.citation();
        let block =
            Block { citation: &citation, is_verified, headings: &hit.heading_path, title: &hit.title, body: &hit.text };
        Ok(match self.prompt.offer(&block) {
            Ok(label) => Ok((label, is_verified)),
            Err(excess) => Err(("over_budget", excess)),
        })
    }
}

pub(super) const SOURCE_UNAVAILABLE: &str = "source_unavailable";

/// The source files of the candidates. Each folder is opened once, and each file is read once: all candidates of a
/// document are judged by the same bytes.
pub(super) struct Sources<'a> {
    store: &'a Store,
    principal: &'a Principal,
    candidates: &'a [Candidate],
    sources: &'a HashMap<i64, SourceRow>,
    readers: HashMap<i64, std::result::Result<SourceReader, String>>,
    /// Of each document that was looked at: what became of its candidates, by their index.
    documents: HashMap<DocumentId, HashMap<usize, std::result::Result<(), Reason>>>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(
        store: &'a Store,
        principal: &'a Principal,
        candidates: &'a [Candidate],
        sources: &'a HashMap<i64, SourceRow>,
    ) -> Self {
        Self { store, principal, candidates, sources, readers: HashMap::new(), documents: HashMap::new() }
    }

    /// Whether the candidate with this index is what its source file has at its place.
    pub(super) fn check(&mut self, index: usize, candidate: &Candidate) -> Result<std::result::Result<(), Reason>> {
        let id = candidate.hit.document_id;
        if !self.documents.contains_key(&id) {
            let judged = self.judge(&candidate.document)?;
            self.documents.insert(id, judged);
        }
        let judged = self.documents.get(&id).and_then(|judged| judged.get(&index));
        Ok(judged.cloned().unwrap_or_else(|| Err(("integrity", "was not compared with its source file".into()))))
    }

    /// Reads the document's file and compares all its candidates with it.
    fn judge(&mut self, document: &DocumentRow) -> Result<HashMap<usize, std::result::Result<(), Reason>>> {
        let file = self.read(document)?.map(SourceFile::new);
        let mut judged = HashMap::new();
        for (index, Candidate { hit, composition, .. }) in self.candidates.iter().enumerate() {
            if hit.document_id != document.document_id {
                continue;
            }
            let reason = |fault: SourceFault| (fault.code(), fault.detail().to_owned());
            let headings = serde_json::Value::from(hit.heading_path.as_slice()).to_string();
            let holds = if record::composition(&hit.title, &headings, &hit.text) != *composition {
                Err(("integrity", "its title, its headings or its text are not those that were indexed".into()))
            } else if Digest::of(&hit.text) == hit.content_hash {
                match &file {
                    Ok(file) => file.holds(document.content_hash, &hit.span, &hit.text).map_err(reason),
                    Err(why) => Err((*why).clone()),
                }
            } else {
                Err(reason(SourceFault::Hash))
            };
            judged.insert(index, holds);
        }
        Ok(judged)
    }

    /// The document's source file as it is at this moment.
    fn read(&mut self, document: &DocumentRow) -> Result<std::result::Result<String, Reason>> {
        let reader = match self.readers.entry(document.source_no) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let source = self.sources.get(&document.source_no).ok_or_else(|| Error::Damaged {
                    detail: format!("the source of {} is not stored", document.path),
                })?;
                let reader = self.store.reader_of(source);
                entry.insert(reader.map_err(|error| why_unread(self.principal, error.to_string())))
            }
        };
        let reader = match reader {
            Ok(reader) => reader,
            Err(why) => return Ok(Err((SOURCE_UNAVAILABLE, why.clone()))),
        };
        Ok(reader.read(&document.path).map(|read| read.text).map_err(|failure| {
            let code = match failure.code {
                code::VANISHED => "source_missing",
                code::NOT_UTF8 | code::NUL_BYTE | code::TOO_LARGE | code::CHANGED_WHILE_READING => "source_changed",
                _ => "source_unreadable",
            };
            (code, format!("the source file {}", failure.message))
        }))
    }
}

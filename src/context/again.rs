//! The evidence of a recorded run, made again of what is stored now, for whoever may read all of it.
//!
//! Only the search is left out. Every chunk that was found is looked up among what the reader may read, and held to its
//! source file as it is at this moment; what was shown must make the same prompt, and what was refused must be refused
//! for the same reason.

use std::collections::HashMap;

use super::select::{Reason, SOURCE_UNAVAILABLE, Sources};
use super::{Candidate, found_sources};
use crate::access::Scope;
use crate::error::Result;
use crate::evidence::budget::Budget;
use crate::evidence::prompt::{Block, Prompt};
use crate::model::{ChunkId, Digest, Manifest, Place, Principal, Refused, Shown};
use crate::search::{FoundBy, Hit};
use crate::store::sources::SourceRow;
use crate::store::{Connection, Store, chunks, documents};

/// The chunks of a run as they are stored now.
pub(crate) struct Again {
    /// Those that were shown, in order, then those that were found and not shown.
    candidates: Vec<Candidate>,
    sources: HashMap<i64, SourceRow>,
}

impl Again {
    /// Looks the chunks of a run up; `None` where one of them is gone, is another now, or may not be read.
    pub(crate) fn load(conn: &Connection, scope: &Scope, run: &Manifest) -> Result<Option<Self>> {
        let mut candidates = Vec::with_capacity(run.shown.len());
        let places = run.shown.iter().map(Shown::place).map(|place| (place, true));
        for (place, is_shown) in places.chain(run.refused.iter().map(Refused::place).map(|place| (place, false))) {
            let Some(candidate) = candidate(conn, scope, &place, is_shown)? else { return Ok(None) };
            candidates.push(candidate);
        }
        let sources = found_sources(conn, &candidates)?;
        Ok(Some(Self { candidates, sources }))
    }

    /// How many characters a chunk has before this byte.
    pub(crate) fn chars_before(&self, chunk_id: &str, byte: u64) -> Option<usize> {
        let hit =
            self.candidates.iter().map(|candidate| &candidate.hit).find(|hit| hit.chunk_id.to_string() == chunk_id)?;
        Some(hit.text.get(..usize::try_from(byte).ok()?)?.chars().count())
    }

    /// The prompt of the run, made again; `None` where it would be another now, or something else would be refused.
    pub(crate) fn prompt(
        &self,
        store: &Store,
        principal: &Principal,
        run: &Manifest,
        allow_unverified_source: bool,
    ) -> Result<Option<String>> {
        let mut sources = Sources::new(store, principal, &self.candidates, &self.sources);
        let budget = Budget { max_chars: usize::MAX, counter: None, max_tokens: None };
        let mut prompt = Prompt::new(&run.nonce, budget)?;
        let mut any_unverified = false;
        for (index, shown) in run.shown.iter().enumerate() {
            let Candidate { hit, .. } = &self.candidates[index];
            let is_verified = match sources.check(index, &self.candidates[index])? {
                Ok(()) => true,
                Err((SOURCE_UNAVAILABLE, _)) if allow_unverified_source => false,
                Err(_) => return Ok(None),
            };
            any_unverified |= !is_verified;
            let citation = hit.citation();
            let (headings, title, body) = (&hit.heading_path, &hit.title, &hit.text);
            if prompt.offer(&Block { citation: &citation, is_verified, headings, title, body }).as_ref()
                != Ok(&shown.label)
            {
                return Ok(None);
            }
        }
        for (index, refused) in (run.shown.len()..).zip(&run.refused) {
            let still = match (refused.code.as_str(), refused.score) {
                // It was refused for what it is, or for its rank: nobody looked at its source file.
                (_, None) | ("over_count", _) => true,
                (code, Some(_)) => {
                    let found = sources.check(index, &self.candidates[index])?;
                    is_still_refused(code, refused, &found, allow_unverified_source)
                }
            };
            if !still {
                return Ok(None);
            }
        }
        let (prompt, ..) = prompt.finish();
        let same = any_unverified == run.unverified_source && Digest::of(&prompt).to_string() == run.prompt_hash;
        Ok(same.then_some(prompt))
    }
}

/// Whether a chunk that was found would be refused for the same reason.
fn is_still_refused(
    code: &str,
    refused: &Refused,
    found: &std::result::Result<(), Reason>,
    allow_unverified_source: bool,
) -> bool {
    match (code, found) {
        ("duplicate" | "over_budget", Ok(())) => true,
        ("duplicate", Err((now, _))) => *now == SOURCE_UNAVAILABLE && allow_unverified_source,
        (_, Ok(())) => false,
        (_, Err((now, detail))) => *now == code && *detail == refused.detail,
    }
}

/// The chunk at this place, if the reader may read it and it is what the run says.
fn candidate(conn: &Connection, scope: &Scope, place: &Place<'_>, is_shown: bool) -> Result<Option<Candidate>> {
    let Some(id) = ChunkId::parse(place.chunk_id) else { return Ok(None) };
    let Some((number, document)) = documents::visible(conn, scope.classes(), id.document)? else { return Ok(None) };
    let Some(row) = chunks::by_id(conn, number, id)? else { return Ok(None) };
    let span = row.span;
    let same = document.source_id == place.source_id
        && document.path == place.path
        && document.content_hash.to_string() == place.document_hash
        && row.content.to_string() == place.content_hash
        && (span.start_line, span.end_line) == place.lines
        && (span.start_byte, span.end_byte) == place.bytes
        && (row.is_indexed() || !is_shown);
    if !same {
        return Ok(None);
    }
    let hit = Hit {
        rank: 0,
        score: place.score.unwrap_or(0.0),
        found_by: FoundBy::default(),
        chunk_id: id,
        document_id: id.document,
        source_id: document.source_id.clone(),
        path: document.path.clone(),
        title: document.title.clone(),
        span,
        heading_path: row.headings()?,
        text: chunks::text(conn, row.chunk_no)?,
        content_hash: row.content,
        highlights: Vec::new(),
        explanation: None,
    };
    Ok(Some(Candidate { hit, document, composition: row.composition }))
}

//! What a manifest must hold to be believed, and its JSON form.
//!
//! A manifest file is anybody's: nothing of it is used before all of it was checked. What is checked here needs no
//! store; whether its chunks exist, and what they say, is found out where it is used.

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::model::{ChunkId, Digest, DocumentId, MANIFEST_FORMAT, Manifest, Place, RunEvent, parse_hex};

/// The longest manifest file that is read, in bytes.
const LONGEST_FILE: usize = 16 << 20;
/// The most chunks, and the most events, of a run.
const MOST_ROWS: usize = 10_000;
/// The longest query, path, detail or JSON object, in bytes.
const LONGEST_TEXT: usize = 16 << 10;
/// The longest code, source id or name of an event, in bytes.
const LONGEST_NAME: usize = 256;

impl Manifest {
    /// Reads a manifest from its JSON form and checks all of it that can be checked without the store.
    ///
    /// # Errors
    /// [`Error::Invalid`] with what is wrong.
    pub fn from_json(json: &str) -> Result<Self> {
        let invalid = |what: String| Error::Invalid { message: format!("the manifest can't be used: {what}") };
        if json.len() > LONGEST_FILE {
            return Err(invalid(format!("it has {} bytes; {LONGEST_FILE} are allowed", json.len())));
        }
        let manifest: Self = serde_json::from_str(json).map_err(|error| invalid(error.to_string()))?;
        manifest.check().map_err(invalid)?;
        Ok(manifest)
    }

    /// The manifest as JSON, for [`Manifest::from_json`].
    ///
    /// # Panics
    /// Never: names, numbers and objects serialise.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("names, numbers and objects serialise")
    }

    /// What is wrong with it, if anything is.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        if self.format != MANIFEST_FORMAT {
            return Err(format!("its format is {}; this ragdb knows {MANIFEST_FORMAT}", self.format));
        }
        for (name, id) in [("run_id", &self.run_id), ("store_id", &self.store_id), ("nonce", &self.nonce)] {
            hex::<16>(name, id)?;
        }
        for (name, hash) in [
            ("generation_digest", &self.generation_digest),
            ("policy_digest", &self.policy_digest),
            ("prompt_hash", &self.prompt_hash),
        ] {
            hex::<32>(name, hash)?;
        }
        if self.created_at.len() > LONGEST_NAME || self.created_at.parse::<jiff::Timestamp>().is_err() {
            return Err("created_at is not a time".into());
        }
        length("query", &self.query, LONGEST_TEXT)?;
        object("settings", &self.settings)?;
        // Somebody who may read nothing asks before the first generation, and is shown nothing.
        if self.generation == 0 && !(self.shown.is_empty() && self.refused.is_empty()) {
            return Err("generation is 0".into());
        }
        // What SQLite can keep.
        for number in [self.generation, self.acl_epoch, self.chars as u64, self.tokens.unwrap_or(0) as u64] {
            i64::try_from(number).map_err(|_| format!("{number} is too large a number"))?;
        }
        if self.shown.len() + self.refused.len() > MOST_ROWS {
            return Err(format!("it has more than {MOST_ROWS} chunks"));
        }
        for (number, shown) in (1_usize..).zip(&self.shown) {
            if shown.label != format!("S{number}") {
                return Err(format!("label {number} is not S{number}"));
            }
            check_place(&shown.place()).map_err(|what| format!("S{number}: {what}"))?;
        }
        for (number, refused) in (1_usize..).zip(&self.refused) {
            let fault = check_place(&refused.place()).and_then(|()| name("code", &refused.code));
            let fault = fault.and_then(|()| length("detail", &refused.detail, LONGEST_TEXT));
            fault.map_err(|what| format!("refused chunk {number}: {what}"))?;
        }
        check_events(&self.events)
    }
}

/// What is wrong with the events of a run, if anything is.
pub(crate) fn check_events(events: &[RunEvent]) -> std::result::Result<(), String> {
    if events.len() > MOST_ROWS {
        return Err(format!("it has more than {MOST_ROWS} events"));
    }
    for (number, event) in (1_usize..).zip(events) {
        let fault = name("name", &event.name).and_then(|()| object("detail", &event.detail));
        fault.map_err(|what| format!("event {number}: {what}"))?;
    }
    Ok(())
}

/// What is wrong with a chunk of a run, if anything is.
fn check_place(place: &Place<'_>) -> std::result::Result<(), String> {
    length("source_id", place.source_id, LONGEST_NAME)?;
    length("path", place.path, LONGEST_TEXT)?;
    hex::<32>("content_hash", place.content_hash)?;
    hex::<32>("document_hash", place.document_hash)?;
    // An id is made of its document's place and its text's digest: no other chunk can bear it.
    let id = ChunkId::parse(place.chunk_id).filter(|id| id.to_string() == place.chunk_id);
    let content = Digest::parse(place.content_hash);
    let derived = id.zip(content).map(|(id, content)| {
        let document = DocumentId::new(place.source_id, place.path);
        ChunkId::new(document, &content, id.repeat) == id
    });
    if derived != Some(true) {
        return Err("chunk_id is not that of a chunk with this source, path and content_hash".into());
    }
    if place.lines.0 == 0 || place.lines.0 > place.lines.1 {
        return Err("its lines run backwards".into());
    }
    if place.bytes.0 >= place.bytes.1 || i64::try_from(place.bytes.1).is_err() {
        return Err("its bytes run backwards".into());
    }
    if place.score.is_some_and(|score| !score.is_finite()) {
        return Err("its score is not a number".into());
    }
    Ok(())
}
/// Lower-case hex digits of `N` bytes.
pub(super) fn hex<const N: usize>(name: &str, text: &str) -> std::result::Result<(), String> {
    let is_lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
    let good = is_lower && parse_hex::<N>(text).is_some();
    if good { Ok(()) } else { Err(format!("{name} is not {} lower-case hex digits", 2 * N)) }
}

/// At most so many bytes.
pub(super) fn length(name: &str, text: &str, most: usize) -> std::result::Result<(), String> {
    if text.len() <= most { Ok(()) } else { Err(format!("{name} is longer than {most} bytes")) }
}

/// A code or the name of an event.
fn name(what: &str, text: &str) -> std::result::Result<(), String> {
    let plain = text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let good = plain && (1..=LONGEST_NAME).contains(&text.len());
    if good { Ok(()) } else { Err(format!("{what} is not a name of lower-case letters")) }
}

fn object(name: &str, object: &Map<String, Value>) -> std::result::Result<(), String> {
    let json = serde_json::to_string(object).map_err(|error| format!("{name}: {error}"))?;
    length(name, &json, LONGEST_TEXT)
}

#[cfg(test)]
mod tests;

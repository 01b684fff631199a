//! A receipt: what an answer claimed and the words it rests on, for anyone to check without the store. Its JSON form and
//! its digest; pure. How one is made and checked is in `receipt.rs`, beside the verbs.
//!
//! The digest shows that a receipt was changed. It is no signature: whoever rewrites the receipt can compute it again, so
//! keep the digest elsewhere where that matters.

use serde::{Deserialize, Serialize};

use super::manifest::{hex, length};
use crate::error::{Error, Result};
use crate::model::Digest;

/// The version of the receipt's JSON form that this build writes and reads.
pub(crate) const RECEIPT_FORMAT: u32 = 1;

/// The longest receipt that is read, in bytes.
const LONGEST_FILE: usize = 16 << 20;
/// The most claims, and the most spans of all claims.
const MOST_ROWS: usize = 1000;
/// The most warnings, and the most headings, of a span.
const MOST_NOTES: usize = 64;
/// The longest query, claim, path or id, in bytes.
const LONGEST_TEXT: usize = 64 << 10;
/// The longest span, in bytes.
const LONGEST_SPAN: usize = 4 << 20;

/// What was published of an answer, and the words that prove it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The version of this form: 1.
    pub format: u32,
    /// The question, as asked.
    pub query: String,
    /// The run whose evidence the answer used.
    pub run_id: String,
    /// The store that it was verified in.
    pub store_id: String,
    /// The generation that it was verified against.
    pub generation: u64,
    /// That generation's digest, hex.
    pub generation_digest: String,
    /// Whether something was verified by the stored text alone, because the folder of its source could not be opened.
    pub unverified_source: bool,
    /// The verified claims, in order; none where the answer was an abstention.
    pub claims: Vec<ReceiptClaim>,
    /// SHA-256, hex, of the other fields as JSON on one line without blanks, in this order.
    pub digest: String,
}

/// A verified claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptClaim {
    /// As it was published.
    pub text: String,
    /// `verified` or `verified_normalised`.
    pub verdict: String,
    /// What proves it.
    pub spans: Vec<ReceiptSpan>,
}

/// Words in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptSpan {
    /// The source.
    pub source_id: String,
    /// The file's path below the source's root.
    pub path: String,
    /// The first line, from 1.
    pub start_line: u32,
    /// The last line, included.
    pub end_line: u32,
    /// The first byte in the file, from 0.
    pub start_byte: u64,
    /// Behind the last byte.
    pub end_byte: u64,
    /// The words, byte for byte.
    pub text: String,
    /// What a reader should know although it was verified.
    pub warnings: Vec<String>,
    /// The headings above the chunk, outermost first.
    pub headings: Vec<String>,
    /// The chunk that they stand in.
    pub chunk_id: String,
    /// The chunk's first byte in the file.
    pub chunk_start_byte: u64,
    /// Behind the chunk's last byte.
    pub chunk_end_byte: u64,
    /// SHA-256 of the chunk's text, hex.
    pub content_hash: String,
    /// SHA-256 of the source file at the time of the run, hex.
    pub document_hash: String,
}

/// A receipt without its digest: what the digest is of.
#[derive(Serialize)]
struct Undigested<'a> {
    format: u32,
    query: &'a str,
    run_id: &'a str,
    store_id: &'a str,
    generation: u64,
    generation_digest: &'a str,
    unverified_source: bool,
    claims: &'a [ReceiptClaim],
}

impl Receipt {
    /// Reads a receipt from its JSON form. Its digest is not compared here: that is part of checking it.
    ///
    /// # Errors
    /// [`Error::Invalid`] with what is wrong.
    pub fn from_json(json: &str) -> Result<Self> {
        let invalid = |what: String| Error::Invalid { message: format!("the receipt can't be used: {what}") };
        if json.len() > LONGEST_FILE {
            return Err(invalid(format!("it has {} bytes; {LONGEST_FILE} are allowed", json.len())));
        }
        let receipt: Self = serde_json::from_str(json).map_err(|error| invalid(error.to_string()))?;
        receipt.check_form().map_err(invalid)?;
        Ok(receipt)
    }

    /// The receipt as JSON, for [`Receipt::from_json`].
    ///
    /// # Panics
    /// Never: names and numbers serialise.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("names and numbers serialise")
    }

    /// The digest that its other fields have.
    pub(crate) fn computed_digest(&self) -> Digest {
        let Self { format, query, run_id, store_id, generation, generation_digest, unverified_source, claims, .. } =
            self;
        let undigested = Undigested {
            format: *format,
            query,
            run_id,
            store_id,
            generation: *generation,
            generation_digest,
            unverified_source: *unverified_source,
            claims,
        };
        Digest::of(serde_json::to_string(&undigested).expect("names and numbers serialise"))
    }

    /// What is wrong with its form, if anything is.
    pub(crate) fn check_form(&self) -> std::result::Result<(), String> {
        if self.format != RECEIPT_FORMAT {
            return Err(format!("its format is {}; this ragdb knows {RECEIPT_FORMAT}", self.format));
        }
        hex::<16>("run_id", &self.run_id)?;
        hex::<16>("store_id", &self.store_id)?;
        hex::<32>("generation_digest", &self.generation_digest)?;
        hex::<32>("digest", &self.digest)?;
        length("query", &self.query, LONGEST_TEXT)?;
        if self.claims.len() > MOST_ROWS || self.claims.iter().map(|claim| claim.spans.len()).sum::<usize>() > MOST_ROWS
        {
            return Err(format!("it has more than {MOST_ROWS} claims or spans"));
        }
        for (number, claim) in (1_usize..).zip(&self.claims) {
            claim.check_form().map_err(|what| format!("claim {number}: {what}"))?;
        }
        Ok(())
    }
}

impl ReceiptClaim {
    fn check_form(&self) -> std::result::Result<(), String> {
        length("text", &self.text, LONGEST_TEXT)?;
        if !matches!(self.verdict.as_str(), "verified" | "verified_normalised") {
            return Err("its verdict is not one of those that publish".into());
        }
        if self.spans.is_empty() {
            return Err("it rests on nothing".into());
        }
        self.spans.iter().try_for_each(ReceiptSpan::check_form)
    }
}

impl ReceiptSpan {
    fn check_form(&self) -> std::result::Result<(), String> {
        for (name, text) in [("source_id", &self.source_id), ("path", &self.path), ("chunk_id", &self.chunk_id)] {
            length(name, text, LONGEST_TEXT)?;
        }
        for (name, texts) in [("warnings", &self.warnings), ("headings", &self.headings)] {
            if texts.len() > MOST_NOTES {
                return Err(format!("it has more than {MOST_NOTES} {name}"));
            }
            texts.iter().try_for_each(|text| length(name, text, LONGEST_TEXT))?;
        }
        length("text", &self.text, LONGEST_SPAN)?;
        hex::<32>("content_hash", &self.content_hash)?;
        hex::<32>("document_hash", &self.document_hash)?;
        if self.start_line == 0 || self.start_line > self.end_line {
            return Err("its lines run backwards".into());
        }
        let in_chunk = self.chunk_start_byte <= self.start_byte && self.end_byte <= self.chunk_end_byte;
        if self.text.is_empty() || self.end_byte.checked_sub(self.start_byte) != Some(self.text.len() as u64) {
            return Err("its text has not as many bytes as it says".into());
        }
        if in_chunk { Ok(()) } else { Err("it does not lie in its chunk".into()) }
    }
}

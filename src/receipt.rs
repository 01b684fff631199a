//! Receipts: made from a verification, and checked against source files without the store.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::evidence::receipt::{RECEIPT_FORMAT, Receipt, ReceiptClaim, ReceiptSpan};
use crate::gate::claim::{self, Cited, WordOverlap};
use crate::ingest::code;
use crate::ingest::source::SourceReader;
use crate::model::{Digest, Manifest, line_ends};
use crate::verify::{JudgedCitation, Verification};

/// Larger files are not read: no source file was larger when it was indexed.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// What became of the words that a receipt names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanStatus {
    /// They stand where they stood, in a file that is as it was, and state the claim.
    Current,
    /// They stand where they stood; the file changed around them.
    ChangedAround,
    /// They stand elsewhere in the file, which changed.
    Moved,
    /// The file is there and no longer has them.
    Changed,
    /// The file, or the folder of its source, is not there or can't be read.
    Missing,
    /// They stand where they stood, and are no proof of the claim.
    Unsupported,
}

impl SpanStatus {
    /// The name in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::ChangedAround => "changed_around",
            Self::Moved => "moved",
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::Unsupported => "unsupported",
        }
    }

    /// Whether the words still prove the claim. What was added elsewhere in a file may take them back, so they do only in
    /// the file as it was.
    #[must_use]
    pub const fn holds(self) -> bool {
        matches!(self, Self::Current)
    }
}

/// What checking a receipt came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptReport {
    /// The receipt has the digest that it says. Whoever rewrites a receipt can compute its digest again.
    pub intact: bool,
    /// Its claims, in order.
    pub claims: Vec<ClaimReport>,
}

impl ReceiptReport {
    /// Whether the receipt is intact, proves something, and all its words hold.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.intact
            && !self.claims.is_empty()
            && self.claims.iter().flat_map(|claim| &claim.spans).all(|span| span.status.holds())
    }
}

/// A claim of a receipt, and what became of its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimReport {
    /// As it was published.
    pub text: String,
    /// What proves it, in order.
    pub spans: Vec<SpanReport>,
}

/// What became of one span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanReport {
    /// The source.
    pub source_id: String,
    /// The file's path below the source's root.
    pub path: String,
    /// What became of it.
    pub status: SpanStatus,
    /// The lines where the words stand now, else where they stood.
    pub lines: (u32, u32),
    /// The status in words.
    pub detail: String,
}

impl Receipt {
    /// A receipt for what was verified.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the verification is not one of this run.
    pub fn from_verification(manifest: &Manifest, verification: &Verification) -> Result<Self> {
        let invalid = |what: String| Error::Invalid { message: format!("no receipt can be made: {what}") };
        if verification.run_id != manifest.run_id {
            return Err(invalid(format!("run {} was verified, not {}", verification.run_id, manifest.run_id)));
        }
        let mut claims = Vec::new();
        for claim in verification.claims.iter().filter(|claim| claim.verdict.is_verified()) {
            let verified = claim.citations.iter().filter(|citation| citation.verdict.is_verified());
            let spans = verified.map(|citation| receipt_span(manifest, citation)).collect::<Option<Vec<_>>>();
            let spans = spans.ok_or_else(|| invalid(format!("{:?} rests on what was not shown", claim.text)))?;
            claims.push(ReceiptClaim { text: claim.text.clone(), verdict: claim.verdict.code().into(), spans });
        }
        let mut receipt = Self {
            format: RECEIPT_FORMAT,
            query: manifest.query.clone(),
            run_id: manifest.run_id.clone(),
            store_id: manifest.store_id.clone(),
            generation: verification.generation,
            generation_digest: verification.generation_digest.clone(),
            unverified_source: verification.unverified_source(),
            claims,
            digest: String::new(),
        };
        receipt.digest = receipt.computed_digest().to_string();
        receipt.check_form().map_err(invalid)?;
        Ok(receipt)
    }

    /// Compares the receipt with source files. `root` gives the folder of a source; nothing outside these folders is
    /// read, and no symbolic link is followed. No store is needed.
    #[must_use]
    pub fn check(&self, mut root: impl FnMut(&str) -> Option<PathBuf>) -> ReceiptReport {
        let report = |claim: &ReceiptClaim| ClaimReport {
            text: claim.text.clone(),
            spans: claim.spans.iter().map(|span| span_report(span, SpanStatus::Missing, None, "")).collect(),
        };
        let mut claims: Vec<ClaimReport> = self.claims.iter().map(report).collect();
        let reports = claims.iter_mut().flat_map(|claim| &mut claim.spans);
        let spans = self.claims.iter().flat_map(|claim| claim.spans.iter().map(|span| (claim.text.as_str(), span)));
        let mut spans: Vec<_> = spans.zip(reports).map(|((claim, span), report)| (span, claim, report)).collect();
        // Each folder is opened once, each file is read once, and one file at a time is held.
        spans.sort_by(|(a, ..), (b, ..)| (&a.source_id, &a.path).cmp(&(&b.source_id, &b.path)));
        for of_source in spans.chunk_by_mut(|(a, ..), (b, ..)| a.source_id == b.source_id) {
            let source_id = &of_source[0].0.source_id;
            let reader = open(source_id, root(source_id));
            for of_file in of_source.chunk_by_mut(|(a, ..), (b, ..)| a.path == b.path) {
                let file = reader.as_ref().map_err(Clone::clone).and_then(|reader| read(reader, &of_file[0].0.path));
                let file = file.as_ref().map(|text| (text.as_str(), Digest::of(text)));
                for (span, claim, report) in of_file {
                    **report = match &file {
                        Ok((text, digest)) => look_up(claim, span, text, *digest),
                        Err(why) => span_report(span, SpanStatus::Missing, None, why),
                    };
                }
            }
        }
        ReceiptReport { claims, intact: self.digest == self.computed_digest().to_string() }
    }
}

/// The span with its chunk's place and its file's hash; `None` where the run did not show the chunk.
fn receipt_span(manifest: &Manifest, citation: &JudgedCitation) -> Option<ReceiptSpan> {
    let span = citation.span.as_ref()?;
    let shown = manifest.shown.iter().find(|shown| shown.chunk_id == span.chunk_id)?;
    // The chunk may have moved since the run; its length is that of its text.
    let chunk_start_byte = span.start_byte.checked_sub(span.chunk_start_byte)?;
    let chunk_end_byte = chunk_start_byte.checked_add(shown.end_byte.checked_sub(shown.start_byte)?)?;
    Some(ReceiptSpan {
        source_id: span.source_id.clone(),
        path: span.path.clone(),
        start_line: span.start_line,
        end_line: span.end_line,
        start_byte: span.start_byte,
        end_byte: span.end_byte,
        text: span.text.clone(),
        warnings: citation.warnings.clone(),
        headings: span.headings.clone(),
        chunk_id: span.chunk_id.clone(),
        chunk_start_byte,
        chunk_end_byte,
        content_hash: span.content_hash.clone(),
        document_hash: shown.document_hash.clone(),
    })
}

fn open(source_id: &str, root: Option<PathBuf>) -> std::result::Result<SourceReader, String> {
    let root = root.ok_or_else(|| format!("no folder is given for source {source_id}"))?;
    SourceReader::open(&root, ".", MAX_FILE_BYTES).map_err(|error| error.to_string())
}

fn read(reader: &SourceReader, path: &str) -> std::result::Result<String, String> {
    reader.read(path).map(|read| read.text).map_err(|failure| match failure.code {
        code::VANISHED => "the source file is not there".to_owned(),
        _ => format!("the source file {}", failure.message),
    })
}

/// Where the words of a span stand in a file.
fn look_up(claim: &str, span: &ReceiptSpan, file: &str, digest: Digest) -> SpanReport {
    let bytes = |start: u64, end: u64| file.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?);
    let unchanged = digest.to_string() == span.document_hash;
    let chunk = bytes(span.chunk_start_byte, span.chunk_end_byte);
    let in_place = bytes(span.start_byte, span.end_byte) == Some(&span.text);
    let lines = |start: usize| (line_of(file, start), line_of(file, start + span.text.len()));
    let said = (span.start_line, span.end_line);
    if in_place && usize::try_from(span.start_byte).is_ok_and(|start| lines(start) == said) {
        let chunk = chunk.filter(|chunk| Digest::of(chunk).to_string() == span.content_hash);
        let (status, detail) = match (unchanged, chunk) {
            (true, Some(chunk)) => return prove(claim, span, file, chunk),
            // The file is the one that the receipt names, and its own words about it do not agree.
            (true, None) => {
                (SpanStatus::Changed, "the source file is as it was and has another text at the place of the chunk")
            }
            (false, Some(_)) => (
                SpanStatus::ChangedAround,
                "the words stand where they stood, and so does their chunk; the source file changed",
            ),
            (false, None) => {
                (SpanStatus::ChangedAround, "the words stand where they stood; what stands around them changed")
            }
        };
        return span_report(span, status, None, detail);
    }
    let found =
        memchr::memmem::find_iter(file.as_bytes(), &span.text).filter(|&at| is_whole(file, at, span.text.len()));
    match found.min_by_key(|&at| (at as u64).abs_diff(span.start_byte)) {
        Some(at) => {
            let what = format!("the same words stand at another place; they stood on L{}-L{}", said.0, said.1);
            span_report(span, SpanStatus::Moved, Some(lines(at)), &what)
        }
        None => span_report(span, SpanStatus::Changed, None, "the source file no longer has these words"),
    }
}

/// Whether words that stand where they stood prove the claim: the check that published it, made again.
fn prove(claim: &str, span: &ReceiptSpan, file: &str, chunk: &str) -> SpanReport {
    let place = |at: u64| usize::try_from(at.saturating_sub(span.chunk_start_byte)).unwrap_or(usize::MAX);
    // A heading that the file does not have was put there by whoever wrote the receipt.
    let headings: Vec<String> = span.headings.iter().filter(|it| file.contains(it.as_str())).cloned().collect();
    let quote = Some(place(span.start_byte)..place(span.end_byte));
    let cited = Cited { text: chunk, headings: &headings, quote };
    let check = claim::check(claim, &cited, &WordOverlap, claim::LEAST_SUPPORT);
    if check.verdict.is_verified() {
        let detail = "the words stand where they stood, and the source file is as it was";
        return span_report(span, SpanStatus::Current, None, detail);
    }
    let detail = format!("the words stand there and are no proof of the claim: {}: {}", check.verdict, check.detail);
    span_report(span, SpanStatus::Unsupported, None, &detail)
}

/// Whether text in a file begins and ends where words and numbers do.
fn is_whole(file: &str, at: usize, length: usize) -> bool {
    let end = at + length;
    !cuts(file, at) && !cuts(file, end)
}

/// Whether the place `at` in a text lies within a word or a number. Words in scripts without spaces have no border to
/// keep.
fn cuts(text: &str, at: usize) -> bool {
    let Some((before, after)) = text.split_at_checked(at) else { return true };
    let (mut before, mut after) = (before.chars().rev(), after.chars());
    let (last, previous) = (before.next().unwrap_or(' '), before.next().unwrap_or(' '));
    let (first, second) = (after.next().unwrap_or(' '), after.next().unwrap_or(' '));
    let in_word = |c: char| c.is_alphanumeric() && !is_unspaced(c);
    let separates = |c: char| matches!(c, '.' | ',' | '\'' | '_' | '-');
    let numeric = |c: char| c.is_ascii_digit();
    in_word(last) && in_word(first)
        || numeric(previous) && separates(last) && numeric(first)
        || numeric(last) && separates(first) && numeric(second)
        || matches!(last, '-' | '\u{2212}') && numeric(first)
}

/// Han, kana and hangul, which stand without spaces between words or with endings.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// The line, from 1, that the byte at `at` is in or ends; a line ends with LF, CRLF or a lone CR.
fn line_of(file: &str, at: usize) -> u32 {
    line_ends(file.as_bytes(), 0..at).saturating_add(1)
}

fn span_report(span: &ReceiptSpan, status: SpanStatus, lines: Option<(u32, u32)>, detail: &str) -> SpanReport {
    SpanReport {
        source_id: span.source_id.clone(),
        path: span.path.clone(),
        status,
        lines: lines.unwrap_or((span.start_line, span.end_line)),
        detail: detail.to_owned(),
    }
}

#[cfg(test)]
mod tests;

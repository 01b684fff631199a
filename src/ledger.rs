//! The ledger of answers: what was judged is kept as rows, and asked later what has changed since.

use std::collections::HashMap;

use crate::access::{self, Scope, Seen};
use crate::error::{Error, Result};
use crate::model::{ChunkId, Citation, Principal, Span};
use crate::store::answers::{self, AnswerRow, CitationRow, PublishedCitation, SpanColumns, ValueRow};
use crate::store::runs::{self, Of};
use crate::store::{Connection, Store, chunks, documents, generations, settings};
use crate::verify::{JudgedClaim, Outcome, Verification};

/// A judged answer, to be kept.
#[derive(Clone, Copy, Debug)]
pub struct AnswerRecord<'a> {
    /// What the gate said of it.
    pub verification: &'a Verification,
    /// Who made it: `external`, `extractive`, or a model's name.
    pub synthesiser: &'a str,
    /// How `ragdb answer` ended.
    pub stop_reason: Option<&'a str>,
    /// How often `ragdb answer` searched.
    pub calls: Option<u32>,
}

/// A kept answer in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// Its id.
    pub answer_id: String,
    /// The run it was to use.
    pub run_id: String,
    /// When it was judged, UTC, RFC 3339.
    pub created_at: String,
    /// The question.
    pub query: String,
    /// Who made it.
    pub synthesiser: String,
    /// Whether every claim and citation of it was verified.
    pub passed: bool,
    /// How `ragdb answer` ended.
    pub stop_reason: Option<String>,
    /// How many claims were verified.
    pub verified: u32,
    /// How many it has.
    pub claims: u32,
}

/// A published citation whose chunk is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impact {
    /// The answer.
    pub answer_id: String,
    /// When it was judged.
    pub created_at: String,
    /// Its question.
    pub query: String,
    /// The claim's place in the answer, from 0.
    pub claim: u32,
    /// The claim.
    pub text: String,
    /// The citation, as proposed.
    pub reference: String,
    /// The verified lines, as they were cited.
    pub citation: Citation,
    /// The chunk.
    pub chunk_id: String,
    /// What became of it.
    pub change: Change,
}

/// What became of a cited chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The chunk is gone: its text changed, or its document was deleted.
    Gone,
    /// The chunk is as it was; its document has changed elsewhere.
    DocumentChanged,
}

impl Change {
    /// The stable name, in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::DocumentChanged => "document_changed",
        }
    }
}

impl Store {
    /// Keeps a judged answer, its claims, their values and their citations; returns the answer's id.
    ///
    /// # Errors
    /// [`Error::NotFound`] where its run is not in the store, or is another's.
    pub fn record_answer(&self, principal: &Principal, record: &AnswerRecord<'_>) -> Result<String> {
        self.write(|tx| insert(tx, principal, record))
    }

    /// The kept answers, newest first, at most `limit`: all of them to the operator, to others those of the runs that
    /// [`Store::run`] gives them.
    pub fn answers(&self, principal: &Principal, limit: u64) -> Result<Vec<StoredAnswer>> {
        let lines = self.read_as(principal, Seen::Stored, |conn, scope| {
            let of = Of::new(principal);
            if scope.is_whole() {
                return answers::list(conn, &of, limit);
            }
            let (mut known, mut lines) = (HashMap::new(), Vec::new());
            for line in answers::list(conn, &of, u64::MAX)? {
                if !known.contains_key(&line.run_id) {
                    known.insert(line.run_id.clone(), access::is_run_met(conn, scope, &line.run_id)?);
                }
                if known[&line.run_id] && (lines.len() as u64) < limit {
                    lines.push(line);
                }
            }
            Ok(lines)
        })?;
        let answer = |line: answers::AnswerLine| StoredAnswer {
            answer_id: line.answer_id,
            run_id: line.run_id,
            created_at: line.created_at,
            query: line.query,
            synthesiser: line.synthesiser,
            passed: line.passed,
            stop_reason: line.stop_reason,
            verified: line.verified,
            claims: line.claims,
        };
        Ok(lines.into_iter().map(answer).collect())
    }

    /// The published citations of kept answers whose chunks changed or vanished since, as far as syncs have noticed: of
    /// the principal's own runs. Of a claim with a citation of what they may not read any more, and could still read when
    /// it went, nothing is told.
    pub fn impact(&self, principal: &Principal) -> Result<Vec<Impact>> {
        self.read_as(principal, Seen::Stored, |conn, scope| {
            let mut impacts = Impacts { conn, scope, known: HashMap::new(), claim: Vec::new(), found: Vec::new() };
            answers::for_each_published(conn, &Of::new(principal), |cited| impacts.add(cited))?;
            impacts.end_claim()?;
            Ok(impacts.found)
        })
    }
}

/// What [`Store::record_answer`] does, in a transaction of the caller's.
pub(crate) fn insert(tx: &Connection, principal: &Principal, record: &AnswerRecord<'_>) -> Result<String> {
    let AnswerRecord { verification, synthesiser, stop_reason, calls } = *record;
    if runs::ids(tx, &Of::new(principal), &verification.run_id)?.is_empty() {
        return Err(Error::NotFound { what: format!("run {} in the store", verification.run_id) });
    }
    let row = AnswerRow {
        run_id: &verification.run_id,
        judged_by: &principal.identity().to_string(),
        created_at: &settings::now(),
        generation: stored_generation(tx, verification)?,
        synthesiser,
        passed: verification.outcome() == Outcome::Verified,
        unverified_source: verification.unverified_source(),
        stop_reason,
        calls,
        text: &verification.text(),
    };
    let answer_id = answers::insert(tx, &row)?;
    for (claim_no, claim) in verification.claims.iter().enumerate() {
        record_claim(tx, &answer_id, claim_no, claim)?;
    }
    Ok(answer_id)
}

/// Published citations, claim by claim, held to what is stored.
struct Impacts<'a> {
    conn: &'a Connection,
    scope: &'a Scope,
    /// Of each chunk: whether the reader may be told of it, and the hash of its document where it is live.
    known: HashMap<String, (bool, Option<String>)>,
    /// The citations of the claim that is read.
    claim: Vec<PublishedCitation>,
    found: Vec<Impact>,
}

impl Impacts<'_> {
    fn add(&mut self, cited: PublishedCitation) -> Result<()> {
        let claim = |cited: &PublishedCitation| (cited.answer_id.clone(), cited.claim_no);
        if self.claim.last().is_some_and(|last| claim(last) != claim(&cited)) {
            self.end_claim()?;
        }
        self.claim.push(cited);
        Ok(())
    }

    /// A claim rests on all that it cites: it is told where all of that may be.
    fn end_claim(&mut self) -> Result<()> {
        let mut changed = Vec::new();
        let mut is_met = true;
        for cited in std::mem::take(&mut self.claim) {
            let (may_be_told, hash) = self.look_up(&cited.chunk_id)?;
            is_met &= may_be_told;
            let change = match hash {
                None => Change::Gone,
                hash if hash == cited.document_hash => continue,
                Some(_) => Change::DocumentChanged,
            };
            changed.push(impact(cited, change));
        }
        if is_met {
            self.found.append(&mut changed);
        }
        Ok(())
    }

    fn look_up(&mut self, chunk_id: &str) -> Result<(bool, Option<String>)> {
        if let Some(known) = self.known.get(chunk_id) {
            return Ok(known.clone());
        }
        let found = (access::is_met(self.conn, self.scope, chunk_id)?, document_hash(self.conn, self.scope, chunk_id)?);
        self.known.insert(chunk_id.to_owned(), found.clone());
        Ok(found)
    }
}

/// The stored number of the generation that an answer was judged against: that of its run, where nothing was judged.
fn stored_generation(tx: &Connection, verification: &Verification) -> Result<u64> {
    match verification.stored.0 {
        Some(number) => Ok(generations::get(tx, number)?.number),
        None => runs::generation(tx, &verification.run_id),
    }
}

fn record_claim(conn: &Connection, answer_id: &str, claim_no: usize, claim: &JudgedClaim) -> Result<()> {
    let support = claim.support.clamp(0.0, 1.0);
    answers::insert_claim(conn, answer_id, claim_no, &claim.text, claim.verdict.code(), support)?;
    for (value_no, value) in claim.values.iter().enumerate() {
        let row = ValueRow {
            kind: value.kind.as_str(),
            written: &value.written,
            value: &value.value,
            unit: value.unit.as_deref(),
            stands: value.stands,
        };
        answers::insert_value(conn, answer_id, claim_no, value_no, &row)?;
    }
    for (citation_no, citation) in claim.citations.iter().enumerate() {
        let names: Vec<&str> = citation.normalisations.iter().map(|it| it.name()).collect();
        let row = CitationRow {
            reference: &citation.reference,
            quote: citation.quote.as_deref(),
            verdict: citation.verdict.code(),
            normalisations: &serde_json::Value::from(names).to_string(),
            detail: &citation.detail,
            warnings: &serde_json::Value::from(citation.warnings.clone()).to_string(),
            span: citation.span.as_ref().map(|span| SpanColumns {
                chunk_id: &span.chunk_id,
                path: &span.path,
                span: Span {
                    start_line: span.start_line,
                    end_line: span.end_line,
                    start_byte: span.start_byte,
                    end_byte: span.end_byte,
                },
                chunk_bytes: (span.chunk_start_byte, span.chunk_end_byte),
                content_hash: &span.content_hash,
            }),
        };
        answers::insert_citation(conn, answer_id, claim_no, citation_no, &row)?;
    }
    Ok(())
}

/// The hash of a live chunk's document.
fn document_hash(conn: &Connection, scope: &Scope, chunk_id: &str) -> Result<Option<String>> {
    let Some(id) = ChunkId::parse(chunk_id) else { return Ok(None) };
    let Some((number, document)) = documents::visible(conn, scope.classes(), id.document)? else { return Ok(None) };
    let live = chunks::by_id(conn, number, id)?.is_some();
    Ok(live.then(|| document.content_hash.to_string()))
}

fn impact(cited: PublishedCitation, change: Change) -> Impact {
    Impact {
        answer_id: cited.answer_id,
        created_at: cited.created_at,
        query: cited.query,
        claim: cited.claim_no,
        text: cited.claim,
        reference: cited.reference,
        citation: Citation { path: cited.path, start_line: cited.start_line, end_line: cited.end_line },
        chunk_id: cited.chunk_id,
        change,
    }
}

//! `answers`, `claims`, `claim_values` and `citations`: what was answered, and how it was judged.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use super::runs::Of;
use crate::error::Result;
use crate::model::Span;

/// A row of `answers`.
pub(crate) struct AnswerRow<'a> {
    pub run_id: &'a str,
    /// The digest of who had it judged.
    pub judged_by: &'a str,
    pub created_at: &'a str,
    pub generation: u64,
    pub synthesiser: &'a str,
    pub passed: bool,
    pub unverified_source: bool,
    pub stop_reason: Option<&'a str>,
    pub calls: Option<u32>,
    pub text: &'a str,
}

/// Adds an answer and returns its id, which is random.
pub(crate) fn insert(conn: &Connection, row: &AnswerRow<'_>) -> Result<String> {
    let sql = "INSERT INTO answers (answer_id, run_id, created_at, generation, synthesiser, passed, unverified_source, \
               stop_reason, calls, text, judged_by) \
               VALUES (lower(hex(randomblob(16))), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) RETURNING answer_id";
    let values = params![
        row.run_id,
        row.created_at,
        row.generation,
        row.synthesiser,
        row.passed,
        row.unverified_source,
        row.stop_reason,
        row.calls,
        row.text,
        row.judged_by,
    ];
    Ok(conn.prepare_cached(sql)?.query_row(values, |row| row.get(0))?)
}

/// Adds a claim of an answer.
pub(crate) fn insert_claim(
    conn: &Connection,
    answer_id: &str,
    claim_no: usize,
    text: &str,
    verdict: &str,
    support: f64,
) -> Result<()> {
    let sql = "INSERT INTO claims (answer_id, claim_no, text, verdict, support) VALUES (?1, ?2, ?3, ?4, ?5)";
    conn.prepare_cached(sql)?.execute(params![answer_id, claim_no, text, verdict, support])?;
    Ok(())
}

/// A row of `claim_values`.
pub(crate) struct ValueRow<'a> {
    pub kind: &'a str,
    pub written: &'a str,
    pub value: &'a str,
    pub unit: Option<&'a str>,
    pub stands: bool,
}

/// Adds a value of a claim.
pub(crate) fn insert_value(
    conn: &Connection,
    answer_id: &str,
    claim_no: usize,
    value_no: usize,
    row: &ValueRow<'_>,
) -> Result<()> {
    let sql = "INSERT INTO claim_values (answer_id, claim_no, value_no, kind, written, value, unit, stands) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let ValueRow { kind, written, value, unit, stands } = *row;
    let values = params![answer_id, claim_no, value_no, kind, written, value, unit, stands];
    conn.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

/// A row of `citations`.
pub(crate) struct CitationRow<'a> {
    pub reference: &'a str,
    pub quote: Option<&'a str>,
    pub verdict: &'a str,
    /// A JSON array of names.
    pub normalisations: &'a str,
    pub detail: &'a str,
    /// A JSON array of sentences.
    pub warnings: &'a str,
    pub span: Option<SpanColumns<'a>>,
}

/// Where a verified citation stands.
pub(crate) struct SpanColumns<'a> {
    pub chunk_id: &'a str,
    pub path: &'a str,
    pub span: Span,
    /// In the chunk.
    pub chunk_bytes: (u64, u64),
    pub content_hash: &'a str,
}

/// Adds a citation of a claim.
pub(crate) fn insert_citation(
    conn: &Connection,
    answer_id: &str,
    claim_no: usize,
    citation_no: usize,
    row: &CitationRow<'_>,
) -> Result<()> {
    let sql = "INSERT INTO citations (answer_id, claim_no, citation_no, ref, quote, verdict, normalisations, detail, \
               chunk_id, path, start_line, end_line, start_byte, end_byte, chunk_start_byte, chunk_end_byte, \
               content_hash, warnings) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)";
    let span = row.span.as_ref();
    conn.prepare_cached(sql)?.execute(params![
        answer_id,
        claim_no,
        citation_no,
        row.reference,
        row.quote,
        row.verdict,
        row.normalisations,
        row.detail,
        span.map(|it| it.chunk_id),
        span.map(|it| it.path),
        span.map(|it| it.span.start_line),
        span.map(|it| it.span.end_line),
        span.map(|it| it.span.start_byte),
        span.map(|it| it.span.end_byte),
        span.map(|it| it.chunk_bytes.0),
        span.map(|it| it.chunk_bytes.1),
        span.map(|it| it.content_hash),
        row.warnings,
    ])?;
    Ok(())
}

/// A citation that an answer was published with.
pub(crate) struct PublishedCitation {
    pub answer_id: String,
    pub created_at: String,
    pub query: String,
    pub claim_no: u32,
    pub claim: String,
    pub reference: String,
    pub chunk_id: String,
    pub path: String,
    pub start_line: u32,
    pub end_line: u32,
    /// SHA-256 of the source file when the run showed the chunk.
    pub document_hash: Option<String>,
}

/// Calls `each` with every verified citation of every stored answer, oldest answer first.
pub(crate) fn for_each_published(
    conn: &Connection,
    of: &Of,
    mut each: impl FnMut(PublishedCitation) -> Result<()>,
) -> Result<()> {
    let (from, values) = answers_of(of, -1);
    let sql = format!(
        "SELECT a.answer_id, a.created_at, r.query, k.claim_no, k.text, c.ref, c.chunk_id, c.path, c.start_line, \
         c.end_line, (SELECT h.document_hash FROM run_hits h WHERE h.run_id = a.run_id \
         AND h.chunk_id = c.chunk_id AND h.label IS NOT NULL) \
         FROM {from} JOIN claims k USING (answer_id) JOIN citations c USING (answer_id, claim_no) \
         WHERE c.verdict IN ('verified', 'verified_normalised') AND c.chunk_id IS NOT NULL \
         ORDER BY a.created_at, a.answer_id, k.claim_no, c.citation_no LIMIT ?1"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    while let Some(row) = rows.next()? {
        each(PublishedCitation {
            answer_id: row.get(0)?,
            created_at: row.get(1)?,
            query: row.get(2)?,
            claim_no: row.get(3)?,
            claim: row.get(4)?,
            reference: row.get(5)?,
            chunk_id: row.get(6)?,
            path: row.get(7)?,
            start_line: row.get(8)?,
            end_line: row.get(9)?,
            document_hash: row.get(10)?,
        })?;
    }
    Ok(())
}

/// A stored answer in one line.
pub(crate) struct AnswerLine {
    pub answer_id: String,
    pub run_id: String,
    pub created_at: String,
    pub query: String,
    pub synthesiser: String,
    pub passed: bool,
    pub stop_reason: Option<String>,
    pub verified: u32,
    pub claims: u32,
}

/// Answers `a` with their runs `r`, and the values of the statement's parameters: a limit, and whose runs where that is
/// one's: of these the answers that they had judged themselves.
fn answers_of(of: &Of, limit: i64) -> (&'static str, Vec<Value>) {
    match of {
        Of::Anyone(_) => ("answers a JOIN runs r ON 0", vec![limit.into()]),
        Of::Everybody => ("answers a JOIN runs r USING (run_id)", vec![limit.into()]),
        Of::One(digest) => (
            "(SELECT run_id, query FROM runs INDEXED BY runs_by_principal WHERE principal_digest = ?2) r \
             CROSS JOIN answers a ON a.run_id = r.run_id AND a.judged_by = ?2",
            vec![limit.into(), digest.clone().into()],
        ),
    }
}

/// The stored answers to somebody's runs, newest first, at most `limit` of them.
pub(crate) fn list(conn: &Connection, of: &Of, limit: u64) -> Result<Vec<AnswerLine>> {
    let (from, values) = answers_of(of, i64::try_from(limit).unwrap_or(i64::MAX));
    let sql = format!(
        "SELECT a.answer_id, a.run_id, a.created_at, r.query, a.synthesiser, a.passed, a.stop_reason, \
         (SELECT count(*) FROM claims k WHERE k.answer_id = a.answer_id \
         AND k.verdict IN ('verified', 'verified_normalised')), \
         (SELECT count(*) FROM claims k WHERE k.answer_id = a.answer_id) \
         FROM {from} ORDER BY a.created_at DESC, a.answer_id LIMIT ?1"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map(params_from_iter(values), |row| {
        Ok(AnswerLine {
            answer_id: row.get(0)?,
            run_id: row.get(1)?,
            created_at: row.get(2)?,
            query: row.get(3)?,
            synthesiser: row.get(4)?,
            passed: row.get(5)?,
            stop_reason: row.get(6)?,
            verified: row.get(7)?,
            claims: row.get(8)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// An answer as it was kept, with what was judged.
pub(crate) struct KeptAnswer {
    pub run_id: String,
    pub synthesiser: String,
    pub stop_reason: Option<String>,
    pub calls: Option<u32>,
    pub text: String,
    pub claims: Vec<KeptClaim>,
}

/// A claim of it.
pub(crate) struct KeptClaim {
    pub text: String,
    pub verdict: String,
    pub citations: Vec<KeptCitation>,
}

/// A citation of that.
pub(crate) struct KeptCitation {
    pub reference: String,
    pub quote: Option<String>,
    pub verdict: String,
    /// The chunk and the bytes of it in which the verified text stands.
    pub chunk_id: Option<String>,
    pub chunk_bytes: Option<(u64, u64)>,
}

/// The answer with this id; nothing in it was checked.
pub(crate) fn get(conn: &Connection, answer_id: &str) -> Result<Option<KeptAnswer>> {
    let sql = "SELECT run_id, synthesiser, stop_reason, calls, text FROM answers WHERE answer_id = ?1";
    let read = |row: &rusqlite::Row<'_>| {
        Ok(KeptAnswer {
            run_id: row.get(0)?,
            synthesiser: row.get(1)?,
            stop_reason: row.get(2)?,
            calls: row.get(3)?,
            text: row.get(4)?,
            claims: Vec::new(),
        })
    };
    let Some(mut answer) = conn.prepare_cached(sql)?.query_row([answer_id], read).optional()? else { return Ok(None) };
    let sql = "SELECT text, verdict FROM claims WHERE answer_id = ?1 ORDER BY claim_no";
    let mut statement = conn.prepare_cached(sql)?;
    let claims = statement.query_map([answer_id], |row| {
        Ok(KeptClaim { text: row.get(0)?, verdict: row.get(1)?, citations: Vec::new() })
    })?;
    answer.claims = claims.collect::<rusqlite::Result<_>>()?;
    let sql = "SELECT claim_no, ref, quote, verdict, chunk_id, chunk_start_byte, chunk_end_byte FROM citations \
               WHERE answer_id = ?1 ORDER BY claim_no, citation_no";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([answer_id])?;
    while let Some(row) = rows.next()? {
        let bytes: (Option<u64>, Option<u64>) = (row.get(5)?, row.get(6)?);
        let citation = KeptCitation {
            reference: row.get(1)?,
            quote: row.get(2)?,
            verdict: row.get(3)?,
            chunk_id: row.get(4)?,
            chunk_bytes: bytes.0.zip(bytes.1),
        };
        // Claims are numbered from 0; what belongs to none of them is left out, and missed by who compares.
        if let Some(claim) = answer.claims.get_mut(row.get::<_, usize>(0)?) {
            claim.citations.push(citation);
        }
    }
    Ok(Some(answer))
}

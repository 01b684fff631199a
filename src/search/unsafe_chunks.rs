//! Unsafe chunks that a query would have met: named, never scored.

use std::collections::HashSet;

use super::Refusal;
use super::query::Lexed;
use crate::access::Scope;
use crate::error::Result;
use crate::lexicon::{Lexer, TermCounts};
use crate::store::findings::Reason;
use crate::store::{Connection, chunks, documents, findings};

/// At most so many unsafe chunks are looked at: they have no postings, so each is lexed again.
const LOOKED_AT: usize = 1000;

/// The unsafe chunks that share the most of the query's words, `most` at most: those with more distinct words first,
/// then by path and place. `accept` says whether a chunk passes the query's filters.
/// Also how many unsafe chunks were not looked at.
pub(crate) fn matching(
    conn: &Connection,
    scope: &Scope,
    lexed: &Lexed,
    lexer: &mut Lexer,
    accept: &mut dyn FnMut(i64) -> Result<bool>,
    most: usize,
) -> Result<(Vec<Refusal>, u64)> {
    let strong = lexed.asked.units.iter().flat_map(|unit| unit.primary.iter().chain(&unit.wholes));
    let wanted: HashSet<&str> = strong.map(|&index| lexed.asked.terms[index].term.as_str()).collect();
    if wanted.is_empty() {
        return Ok((Vec::new(), 0));
    }
    let left = findings::unsafe_chunks(conn, scope.classes())?.saturating_sub(LOOKED_AT as u64);
    let mut counts = TermCounts::new();
    let mut found = Vec::new();
    findings::for_each_unsafe(conn, scope.classes(), LOOKED_AT, |document_no, row| {
        let text = chunks::text(conn, row.chunk_no)?;
        lexer.chunk_terms("", &row.headings()?, &text, &mut counts);
        let shared = counts.iter().filter(|(term, _)| wanted.contains(term)).count();
        if shared > 0 && accept(row.chunk_no)? {
            found.push((shared, document_no, row));
        }
        Ok(())
    })?;
    found.sort_by_key(|(shared, _, _)| std::cmp::Reverse(*shared));
    found.truncate(most);
    let refusal = |(_, document_no, row): (usize, i64, chunks::ChunkRow)| {
        let path = documents::place(conn, document_no)?.path;
        let detail = row.unsafe_reason.as_deref().and_then(Reason::read).map_or_else(
            || "its unsafe_reason can't be read".to_owned(),
            |reason| format!("{} at line {} of its document; it is never scored", reason.rule, reason.line),
        );
        Ok(Refusal { chunk_id: row.id(), citation: row.span.cite(path), code: "unsafe", detail })
    };
    Ok((found.into_iter().map(refusal).collect::<Result<_>>()?, left))
}

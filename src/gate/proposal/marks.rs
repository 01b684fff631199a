//! Text with marks: `[S1]`, `[S1, S2]`, `[S1][S3]`, `【S1】`, and chunk ids in the same brackets.
//!
//! A mark is about the sentence that it stands in or right behind. A passage in quotation marks (`"…"`, `“…”`, `「…」`,
//! `『…』`, `«…»`) that is long enough to be a quote is one: of each mark that follows it in its sentence, up to the
//! next group of marks; a passage behind the last group is of that group. Shorter ones are words of the claim.

use std::ops::Range;

use super::sentences::{Piece, enclosed, split};
use super::{MOST_CITATIONS, MOST_CLAIMS, ProposedAnswer, ProposedCitation, ProposedClaim, invalid};
use crate::error::Result;
use crate::gate::quote::is_long_enough;
use crate::model::ChunkId;

/// A citation that stands beside the text: which bytes of it it is about.
pub(super) struct Beside {
    pub at: Range<usize>,
    pub citation: ProposedCitation,
}

/// A mark at the beginning of a text.
pub(super) struct Mark<'a> {
    /// What it names.
    pub references: Vec<&'a str>,
    /// Its bytes.
    pub length: usize,
}

/// The mark that a text begins with.
pub(super) fn mark<'a>(text: &'a str, labels: &[String]) -> Option<Mark<'a>> {
    let (open, close) = [('[', ']'), ('【', '】')].into_iter().find(|(open, _)| text.starts_with(*open))?;
    let inside = &text[open.len_utf8()..];
    // Longer than any list that an answer may have.
    let end =
        inside.char_indices().take(100 * MOST_CITATIONS).find(|(_, c)| *c == close || *c == '\n' || *c == open)?;
    let inside = inside.get(..end.0).filter(|_| end.1 == close)?;
    let references: Vec<&str> =
        inside.split([',', ';', '，', '；', '、', ' ']).map(str::trim).filter(|it| !it.is_empty()).collect();
    let named = |it: &&str| is_label(it) || labels.iter().any(|label| label == it) || ChunkId::parse(it).is_some();
    (!references.is_empty() && references.iter().all(named))
        .then(|| Mark { references, length: open.len_utf8() + end.0 + close.len_utf8() })
}

/// `S` and a number.
fn is_label(text: &str) -> bool {
    text.strip_prefix('S').is_some_and(|it| (1..=6).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_digit()))
}

/// Reads text with marks in it and beside it.
pub(super) fn parse(text: &str, beside: &[Beside], labels: &[String]) -> Result<ProposedAnswer> {
    let mut claims = Vec::new();
    for piece in split(text) {
        if claims.len() > MOST_CLAIMS {
            return Err(invalid(format!("the answer has more than {MOST_CLAIMS} claims")));
        }
        let Piece { range: piece, is_title } = piece;
        let mut claim = read(&text[piece.clone()], labels);
        let meets = beside.iter().filter(|it| it.at.start < piece.end && it.at.end > piece.start);
        claim.citations.extend(meets.map(|it| it.citation.clone()).take(MOST_CITATIONS + 1));
        // What stands above other text says what that is about, as long as it cites nothing.
        let is_title = is_title && claim.citations.is_empty();
        if claim.text.contains(char::is_alphanumeric) && !is_title {
            claims.push(claim);
        }
    }
    Ok(ProposedAnswer { claims })
}

/// One sentence: its words without the marks, and what the marks say.
fn read(sentence: &str, labels: &[String]) -> ProposedClaim {
    let quotations = enclosed(sentence, 0..sentence.len());
    let passages: Vec<(usize, &str)> =
        quotations.iter().filter_map(|range| Some((range.start, passage(&sentence[range.clone()])?))).collect();
    let mut text = String::with_capacity(sentence.len());
    let mut marks: Vec<(usize, &str)> = Vec::new();
    let mut skip = quotations.iter().peekable();
    let mut at = 0;
    while let Some(c) = sentence[at..].chars().next() {
        // A mark inside a quotation or code is text of it.
        if let Some(range) = skip.next_if(|range| range.start <= at) {
            text.push_str(&sentence[at..range.end]);
            at = range.end;
        } else if let Some(found) = mark(&sentence[at..], labels).filter(|_| matches!(c, '[' | '【')) {
            marks.extend(found.references.into_iter().map(|it| (at, it)));
            text.truncate(text.trim_end().len());
            at += found.length;
        } else {
            text.push(c);
            at += c.len_utf8();
        }
    }
    // The lines of a paragraph are one, without the markers of a quotation.
    let lines = text.trim().trim_end_matches('|').lines();
    let words = lines.flat_map(|line| line.trim_start().trim_start_matches('>').split_whitespace());
    let text = words.collect::<Vec<_>>().join(" ");
    ProposedClaim { text, citations: cite(&marks, &passages) }
}

/// The words of a quotation that is long enough to be a quote; code is none.
fn passage(quotation: &str) -> Option<&str> {
    let mut chars = quotation.chars();
    let (open, _) = (chars.next()?, chars.next_back()?);
    let words = chars.as_str();
    (open != '`' && is_long_enough(words)).then_some(words)
}

/// Gives each mark the passages that are its own. Both are in the order of the sentence.
fn cite(marks: &[(usize, &str)], passages: &[(usize, &str)]) -> Vec<ProposedCitation> {
    let mut citations = Vec::new();
    let last = marks.last().map_or(0, |it| it.0);
    let mut passages = passages.iter().peekable();
    let mut rest = marks;
    while let Some((first, _)) = rest.first() {
        let mut own: Vec<&str> = Vec::new();
        while let Some((_, words)) = passages.next_if(|(at, _)| at < first) {
            own.push(words);
        }
        // The marks up to the next passage are one group, which has the passages behind it where no mark follows.
        let next = passages.peek().map(|(at, _)| *at).filter(|at| *at < last).unwrap_or(usize::MAX);
        let (group, others) = rest.split_at(rest.partition_point(|(at, _)| *at < next));
        rest = others;
        if rest.is_empty() {
            own.extend(passages.by_ref().map(|(_, words)| *words));
        }
        let quotes: Vec<Option<&str>> = if own.is_empty() { vec![None] } else { own.into_iter().map(Some).collect() };
        for (reference, quote) in group.iter().flat_map(|(_, it)| quotes.iter().map(move |quote| (it, quote))) {
            if citations.len() > MOST_CITATIONS {
                return citations;
            }
            let quote = quote.map(str::to_owned);
            citations.push(ProposedCitation { reference: (*reference).to_owned(), quote, range: None });
        }
    }
    citations
}

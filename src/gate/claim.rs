//! Whether a claim's values, identifiers and polarity stand in the cited span, and how much of it does. Pure.
//!
//! A claim is read into tokens, then into values, identifiers, cue words and words; so is what it cites, and the two
//! are compared. Nothing is inferred: no synonyms, no conversion of units, no arithmetic. What can't be established
//! that way is [`Verdict::Unsupported`]. The work is bounded by the lengths below, whatever the texts hold.

mod amount;
mod bounds;
mod contained;
mod cues;
mod dates;
mod decide;
mod decimal;
mod identifiers;
mod numerals;
mod phrase;
mod polarity;
mod reading;
mod sentence;
mod support;
#[cfg(test)]
mod tests;
mod token;
mod units;
mod values;

use std::fmt;
use std::ops::Range;

use super::verdict::Verdict;
use decide::{Basis, Outcome};
use reading::Reading;
use sentence::Piece;

pub use support::WordOverlap;

/// The support that a claim with a quote needs where nothing else is asked for; `docs/claims.md` has what it was
/// measured on.
pub const LEAST_SUPPORT: f64 = 0.9;

/// Claims and texts beyond these are not read.
const MAX_CLAIM_BYTES: usize = 4096;
const MAX_TEXT_BYTES: usize = 1 << 20;
const MAX_PIECES: usize = 2000;
const MAX_UNQUOTED_BYTES: usize = 1 << 18;
/// A statement has fewer values, identifiers and cues.
const MAX_FACTS: usize = 200;

/// Without a quote, a mismatch is told only of a sentence that has at least this much of the claim: another sentence
/// is about something else.
const SAME_TOPIC: f64 = 0.5;

/// Scores how much of a claim a span supports.
pub trait SupportScorer: Send + Sync {
    /// From 0 (nothing) to 1 (all of it). `span` is the sentence or sentences that are cited, on one line; before them
    /// the headings above, one a line, and an empty line.
    fn score(&self, claim: &str, span: &str) -> f64;

    /// A stable name and version, kept with what it scored.
    fn name(&self) -> &str;
}

impl fmt::Debug for dyn SupportScorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What kind of value a claim states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// A number, with or without a unit.
    Number,
    /// A percentage.
    Percent,
    /// A date.
    Date,
    /// An identifier, such as `E42` or `max_chars`.
    Identifier,
}

impl ValueKind {
    /// The stable name, in the store and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Percent => "percent",
            Self::Date => "date",
            Self::Identifier => "identifier",
        }
    }
}

/// A value that a claim states, and whether the cited span has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimValue {
    /// What it is.
    pub kind: ValueKind,
    /// As the claim writes it.
    pub written: String,
    /// Normalised: `1200`, `-0.5`, `2024-03-01`, `E42`.
    pub value: String,
    /// The unit's normalised name, where it has one.
    pub unit: Option<String>,
    /// Whether the cited span has it.
    pub stands: bool,
}

/// What is cited: a chunk, and the bytes of it that were quoted, where they were.
#[derive(Clone, Debug)]
pub(crate) struct Cited<'a> {
    /// The chunk's text.
    pub text: &'a str,
    /// The headings above it, outermost first.
    pub headings: &'a [String],
    /// The verified quote's bytes in `text`.
    pub quote: Option<Range<usize>>,
}

/// What the check of a claim against a citation came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClaimCheck {
    /// [`Verdict::Verified`], one of the four mismatches, or [`Verdict::Unsupported`].
    pub verdict: Verdict,
    /// The verdict in words.
    pub detail: String,
    /// The claim's values.
    pub values: Vec<ClaimValue>,
    /// The support score, 0 to 1.
    pub support: f64,
    /// The bytes of the cited text that establish the claim: the quote, else the sentence; empty where none do.
    pub span: Range<usize>,
    /// What a reader should know although the verdict stands: the quote's sentence denies or conditions it.
    pub warnings: Vec<String>,
}

/// Holds a claim to what it cites. `least` is the support that a claim needs to be verified.
pub(crate) fn check(claim: &str, cited: &Cited<'_>, scorer: &dyn SupportScorer, least: f64) -> ClaimCheck {
    if claim.chars().any(is_hidden) {
        return refused("the claim has characters that are not seen");
    }
    if claim.len() > MAX_CLAIM_BYTES || cited.text.len() > MAX_TEXT_BYTES {
        return refused("the claim or the cited text is too long to be read");
    }
    let reading = Reading::of(claim);
    if !reading.has_content() {
        return refused("the claim states nothing that could be checked");
    }
    if reading.values.len() + reading.identifiers.len() + reading.cues.len() > MAX_FACTS {
        return refused("the claim states too much at once");
    }
    if cited.quote.is_none() && cited.text.len() > MAX_UNQUOTED_BYTES {
        return refused("the cited text is too long to be looked through; quote the sentence that is meant");
    }
    let pieces = sentence::pieces(cited.text);
    let headings = cited.headings.join("\n");
    let heading_reading = Reading::of(&headings);
    let checker = Checker { claim, text: cited.text, reading, scorer, least, heading_reading, headings };
    match &cited.quote {
        None => checker.unquoted(&pieces),
        Some(range) => match cited.text.get(range.clone()).filter(|quote| !quote.trim().is_empty()) {
            Some(quote) => checker.quoted(quote, range, &pieces),
            None => checker.report(Outcome::unsupported("the quote has no text"), 0.0, 0..0, None),
        },
    }
}

/// The bytes of each sentence, list item, table row and line of code of a text.
pub(crate) fn sentences(text: &str) -> Vec<Range<usize>> {
    sentence::pieces(text).into_iter().map(|piece| piece.range).collect()
}

/// Whether a text states anything that could be checked, and is short enough to be.
pub(crate) fn is_claim(text: &str) -> bool {
    text.len() <= MAX_CLAIM_BYTES && Reading::of(text).has_content()
}

/// The bytes of the first run of digits that belongs to a value of a text, not to an identifier.
pub(crate) fn first_digits(text: &str) -> Option<Range<usize>> {
    let reading = Reading::of(text);
    let tokens = reading.values.iter().flat_map(|value| &reading.tokens[value.tokens.clone()]);
    tokens.filter(|token| token.kind == token::Kind::Digits).map(|token| token.range.clone()).next()
}

/// The bytes of the first identifier of a text; words in capitals are none.
pub(crate) fn first_identifier(text: &str) -> Option<Range<usize>> {
    let reading = Reading::of(text);
    let found = reading.identifiers.iter().find(|identifier| !identifier.soft)?;
    let tokens = &reading.tokens[found.tokens.clone()];
    Some(tokens.first()?.range.start..tokens.last()?.range.end)
}

fn refused(detail: &str) -> ClaimCheck {
    ClaimCheck {
        verdict: Verdict::Unsupported,
        detail: detail.to_owned(),
        values: Vec::new(),
        support: 0.0,
        span: 0..0,
        warnings: Vec::new(),
    }
}

/// Characters that a claim could carry unseen to whoever, or whatever, reads it: tags, direction controls, invisible
/// operators. Joiners and marks of the writing systems are no such characters.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e0fff}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{200b}' | '\u{feff}')
        || c.is_control() && !matches!(c, '\n' | '\r' | '\t')
}

struct Checker<'a> {
    claim: &'a str,
    text: &'a str,
    reading: Reading,
    scorer: &'a dyn SupportScorer,
    least: f64,
    headings: String,
    heading_reading: Reading,
}

impl Checker<'_> {
    /// The scorer's support, held to its range.
    fn support(&self, sentence: &str) -> f64 {
        let score = if self.headings.is_empty() {
            self.scorer.score(self.claim, sentence)
        } else {
            self.scorer.score(self.claim, &format!("{}\n\n{sentence}", self.headings))
        };
        if score.is_finite() { score.clamp(0.0, 1.0) } else { 0.0 }
    }

    fn quoted(&self, quote: &str, range: &Range<usize>, pieces: &[Piece]) -> ClaimCheck {
        let meets = |piece: &Piece| piece.range.start < range.end && range.start < piece.range.end;
        let first = pieces.iter().position(meets).unwrap_or(pieces.len());
        let around = &pieces[first..pieces.iter().rposition(meets).map_or(first, |last| last + 1)];
        let sentence = around.iter().map(|piece| piece.says.as_str()).collect::<Vec<_>>().join(" ");
        let support = self.support(&sentence);
        let (quote, sentence) = (Reading::of(quote), Reading::of(&sentence));
        let basis = Basis { region: &quote, sentence: &sentence, headings: &self.heading_reading };
        let mut outcome = decide::decide(&self.reading, &basis, support, self.least);
        if outcome.verdict.is_verified()
            && let Err(why) = self.is_said(pieces, first..first + around.len(), &sentence)
        {
            outcome = Outcome::unsupported(why);
        }
        self.report(outcome, support, range.clone(), Some(&quote))
    }

    fn unquoted(&self, pieces: &[Piece]) -> ClaimCheck {
        if pieces.len() > MAX_PIECES {
            return refused("the cited text has too many sentences to look at each; quote the one that is meant");
        }
        // Halfway between what a quote needs and every word.
        let least = f64::midpoint(self.least.min(1.0), 1.0);
        let mut best: Option<(bool, f64, Outcome, &Piece, Reading)> = None;
        for (index, piece) in pieces.iter().enumerate() {
            let support = self.support(&piece.says);
            if best.as_ref().is_some_and(|(verified, most, ..)| *verified && *most >= support) {
                continue;
            }
            let region = Reading::of(&piece.says);
            let basis = Basis { region: &region, sentence: &region, headings: &self.heading_reading };
            let mut outcome = decide::decide(&self.reading, &basis, support, least);
            if outcome.verdict.is_verified()
                && let Err(why) = self.is_said(pieces, index..index + 1, &region)
            {
                outcome = Outcome::unsupported(why);
            }
            let verified = outcome.verdict.is_verified();
            let better = best.as_ref().is_none_or(|(had, most, ..)| (verified, support) > (*had, *most));
            if better {
                best = Some((verified, support, outcome, piece, region));
            }
        }
        match best {
            Some((true, support, outcome, piece, region)) => {
                self.report(outcome, support, piece.range.clone(), Some(&region))
            }
            Some((false, support, outcome, _, region)) if support >= SAME_TOPIC => {
                self.report(outcome, support, 0..0, Some(&region))
            }
            Some((_, support, ..)) => {
                let outcome = Outcome::unsupported("no sentence of the cited text says most of what the claim says");
                self.report(outcome, support, 0..0, None)
            }
            None => self.report(Outcome::unsupported("the cited text has no sentence"), 0.0, 0..0, None),
        }
    }

    /// Whether these pieces, read as `sentence`, say the claim, and nothing above them takes it back.
    fn is_said(&self, pieces: &[Piece], cited: Range<usize>, sentence: &Reading) -> Result<(), &'static str> {
        let contained = |sentence: &Reading| contained::contains(&self.reading, sentence, &self.heading_reading);
        contained(sentence).or_else(|why| {
            // A row of a table may be claimed as it is written, without its headings.
            let written = pieces[cited.clone()].iter().map(|piece| &self.text[piece.range.clone()]);
            contained(&Reading::of(&written.collect::<Vec<_>>().join(" "))).map_err(|_| why)
        })?;
        let takes_back = |text: &Reading| text.cues.iter().any(|cue| contained::takes_back(cue.class));
        let denies = |text: &Reading| text.cues.iter().any(|cue| contained::denies(cue.class));
        if let Some(lead) = sentence::lead_in(pieces, cited.start, self.text) {
            let lead = Reading::of(lead);
            if takes_back(&lead) || contained::is_false(&lead) {
                return Err("the list that it stands in is introduced by a condition, a demand or a denial");
            }
        }
        let innermost = Reading::of(self.headings.rsplit('\n').next().unwrap_or_default());
        if (denies(&innermost) || contained::is_false(&innermost)) && !denies(&self.reading) {
            return Err("the heading that it stands under denies something");
        }
        Ok(())
    }

    fn report(&self, outcome: Outcome, support: f64, span: Range<usize>, region: Option<&Reading>) -> ClaimCheck {
        let span = if outcome.verdict.is_verified() { span } else { 0..0 };
        ClaimCheck {
            verdict: outcome.verdict,
            detail: outcome.detail,
            values: decide::claim_values(self.claim, &self.reading, region, &self.heading_reading),
            support,
            span,
            warnings: outcome.warnings,
        }
    }
}

//! The decision: a claim against the text that it is held to, one check after the other.

use super::identifiers;
use super::polarity::{self, Agreement, Class, Cue};
use super::reading::{Reading, Unit};
use super::support::{self, Alignment};
use super::token::Token;
use super::values::{Content, Likeness, Value};
use super::{ClaimValue, SAME_TOPIC, ValueKind};
use crate::gate::verdict::Verdict;

/// What a claim is held to.
pub(super) struct Basis<'a> {
    /// The quote, or the sentence.
    pub(super) region: &'a Reading,
    /// The sentence or sentences around the region.
    pub(super) sentence: &'a Reading,
    pub(super) headings: &'a Reading,
}

/// How many times the claim's own weight the part of the text may have over which the claim's words are spread.
const MOST_SPREAD: u32 = 2;

/// A verdict with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) verdict: Verdict,
    pub(super) detail: String,
    pub(super) warnings: Vec<String>,
}

impl Outcome {
    fn new(verdict: Verdict, detail: impl Into<String>) -> Self {
        Self { verdict, detail: detail.into(), warnings: Vec::new() }
    }

    /// Nothing was shown either way.
    pub(super) fn unsupported(detail: impl Into<String>) -> Self {
        Self::new(Verdict::Unsupported, detail)
    }
}

/// Decides; the mismatches in the order of the verdicts, then what stays open.
pub(super) fn decide(claim: &Reading, basis: &Basis<'_>, support: f64, least: f64) -> Outcome {
    let mut open: Option<String> = None;
    for value in &claim.values {
        let written = claim.written(value);
        match likeness(value, basis.region) {
            Likeness::Same => {}
            Likeness::Different => {
                return Outcome::new(Verdict::ValueMismatch, not_there(&written, &basis.region.values_written()));
            }
            Likeness::OtherUnit => {
                let there = basis.region.values_written();
                return Outcome::new(Verdict::UnitMismatch, not_there(&written, &there));
            }
            Likeness::Unclear => {
                open = Some(format!("whether {written:?} is what the cited text says of it can't be told"));
            }
        }
    }
    let alignment = support::align(claim, basis.region, basis.headings);
    let agreement = polarity::agreement(&claim.cues, &basis.region.cues_at(alignment.window));
    // Where the quote alone has too little of the claim, the sentence around it must agree as well.
    let leans = alignment.share() < least;
    let around_alignment = support::align(claim, basis.sentence, basis.headings);
    let around = polarity::agreement(&claim.cues, &basis.sentence.cues_at(around_alignment.window));
    // A quote may leave out a cue that its sentence has and the claim repeats.
    let agreement = if around == Agreement::Same { Agreement::Same } else { agreement };
    match (agreement, &around) {
        (Agreement::Opposed(why), _) if support >= SAME_TOPIC && is_near(claim, basis.region, &alignment) => {
            return Outcome::new(Verdict::PolarityMismatch, why);
        }
        (Agreement::Opposed(why) | Agreement::Unclear(why), _) => open = open.or(Some(why)),
        (Agreement::Same, Agreement::Opposed(why)) if leans && support >= SAME_TOPIC => {
            return Outcome::new(Verdict::PolarityMismatch, format!("{why}, outside the quote"));
        }
        (Agreement::Same, Agreement::Unclear(why)) if leans => {
            open = open.or_else(|| Some(format!("{why}, outside the quote")));
        }
        _ => {}
    }
    for identifier in &claim.identifiers {
        let name = &claim.tokens[identifier.tokens.clone()];
        if stands(name, basis.region) || stands(name, basis.headings) {
            continue;
        }
        let detail = format!("{:?} does not stand in the cited text", identifier.name);
        if !identifier.soft {
            return Outcome::new(Verdict::IdentifierMismatch, detail);
        }
        open = open.or(Some(detail));
    }
    if basis.region.question != claim.question {
        open = open.or_else(|| Some("only one of the claim and the cited text is a question".to_owned()));
    }
    open = open.or_else(|| scattered(claim, basis.region, &alignment));
    if leans {
        open = open.or_else(|| scattered(claim, basis.sentence, &around_alignment));
    }
    if !firm_units_follow(claim, basis) {
        open =
            open.or_else(|| Some("the claim's values and names stand in another order in the cited text".to_owned()));
    }
    if support::displaces(claim, basis.sentence, basis.headings) {
        let why = "a word that only the headings have stands in the claim where the cited text has another";
        open = open.or_else(|| Some(why.to_owned()));
    }
    if !around_alignment.is_mostly_in_span() {
        open = open.or_else(|| Some("most of the claim does not stand in the cited sentence".to_owned()));
    }
    if support < least {
        open =
            open.or_else(|| Some(format!("{support:.2} of the claim stands in the cited text; {least:.2} is needed")));
    }
    if let Some(why) = open {
        return Outcome::unsupported(why);
    }
    let warnings = match around {
        Agreement::Same => Vec::new(),
        Agreement::Opposed(why) | Agreement::Unclear(why) => {
            vec![format!("the sentence around the quote says more ({why}): {}", basis.sentence.shown())]
        }
    };
    Outcome { warnings, ..Outcome::new(Verdict::Verified, "its values and words stand in the cited text") }
}

/// Whether what opposes a claim stands by the words that the two have in common; a denial elsewhere in a long sentence
/// denies something else.
fn is_near(claim: &Reading, region: &Reading, alignment: &Alignment) -> bool {
    const NEAR: usize = 4;
    let tells = |cue: &&Cue| !matches!(cue.class, Class::Condition | Class::Quantifier | Class::Voice);
    let Some((from, to)) = alignment.window else { return false };
    let near = from.saturating_sub(NEAR)..=to + NEAR;
    let in_region = region.cues.iter().filter(tells).any(|cue| near.contains(&cue.at));
    in_region || !region.cues.iter().any(|cue| tells(&cue)) && claim.cues.iter().any(|cue| tells(&cue))
}

/// Whether the claim's values, identifiers, denials and demands come in the sentence in the claim's order, each as
/// often; a name of the headings may be missing.
fn firm_units_follow(claim: &Reading, basis: &Basis<'_>) -> bool {
    let mut there = basis.sentence.units.iter();
    let in_headings = |unit: &Unit| {
        !unit.key.starts_with(['=', '!']) && basis.headings.units.iter().any(|other| other.key == unit.key)
    };
    claim.units.iter().filter(|unit| unit.firm).all(|unit| {
        let rest = there.clone();
        if there.any(|other| other.key == unit.key) {
            return true;
        }
        there = rest;
        in_headings(unit)
    })
}

fn not_there(written: &str, there: &[String]) -> String {
    if there.is_empty() {
        return format!("the claim says {written:?}, the cited text has no value");
    }
    format!("the claim says {written:?}, the cited text {}", there.join(", "))
}

fn stands(name: &[Token], text: &Reading) -> bool {
    identifiers::stands(name, &text.tokens)
}

fn likeness(value: &Value, region: &Reading) -> Likeness {
    region.values.iter().map(|other| value.likeness(other)).max().unwrap_or(Likeness::Different)
}

fn same_kind(a: &Value, b: &Value) -> bool {
    match (&a.content, &b.content) {
        (Content::Date(_), Content::Date(_)) => true,
        (Content::Quantity(a), Content::Quantity(b)) => a.unit == b.unit,
        _ => false,
    }
}

/// Why what matches may not be one statement: it is spread over much that the claim does not say, its denials stand
/// elsewhere, or values compete.
fn scattered(claim: &Reading, region: &Reading, alignment: &Alignment) -> Option<String> {
    let (from, to) = alignment.window?;
    let inside = from..=to;
    let weight = |units: &[Unit]| units.iter().map(|unit| unit.weight).sum::<u32>();
    let first = region.units.partition_point(|unit| unit.at < from);
    let behind = region.units.partition_point(|unit| unit.at <= to);
    if weight(&region.units[first..behind]) > MOST_SPREAD * weight(&claim.units) {
        return Some("the claim's words are scattered over the cited text".to_owned());
    }
    if region.cues.iter().any(|cue| cue.class.is_closed() && !inside.contains(&cue.at)) {
        return Some("what the cited text denies, demands or allows is not said of the claim's words".to_owned());
    }
    let opposite = |cue: &&Cue| matches!(cue.class, Class::Opposite(..));
    let said = |wanted: Class| region.cues.iter().any(|cue| cue.class == wanted && inside.contains(&cue.at));
    if let Some(cue) = claim.cues.iter().filter(opposite).find(|cue| !said(cue.class)) {
        return Some(format!("the cited text does not say {:?} of it", cue.words));
    }
    rivals(claim, region, from, to)
}

/// Where the text has other values like the claim's, which of them belongs to what must be clear: the part that says
/// what the claim says holds no other, and no border of clauses that the claim does not have.
fn rivals(claim: &Reading, region: &Reading, from: usize, to: usize) -> Option<String> {
    let rivals: Vec<&Value> = region
        .values
        .iter()
        .filter(|other| claim.values.iter().any(|value| same_kind(value, other)))
        .filter(|other| claim.values.iter().all(|value| value.likeness(other) != Likeness::Same))
        .collect();
    let inside = rivals.iter().any(|rival| (from..=to).contains(&rival.tokens.start));
    let borders = |tokens: &[Token]| tokens.iter().filter(|token| is_border(token)).count();
    let crossed = borders(&region.tokens[from..=to]) > borders(&claim.tokens);
    let unclear = !rivals.is_empty() && (inside || crossed);
    unclear.then(|| "the cited text has several such values, and which is meant is not clear".to_owned())
}

fn is_border(token: &Token) -> bool {
    const BORDERS: &str = " , ; \u{2014} \u{2013} ( ) 、 \u{ff0c} and or but while whereas 和 与 及 或 而 但 ";
    BORDERS.contains(&format!(" {} ", token.folded))
}

impl Reading {
    /// The cues; those of roles only within the window, where the claim's words stand.
    fn cues_at(&self, window: Option<(usize, usize)>) -> Vec<Cue> {
        let (from, to) = window.unwrap_or((0, usize::MAX));
        let kept = |cue: &&Cue| cue.class != Class::Voice || (from..=to).contains(&cue.at);
        self.cues.iter().filter(kept).cloned().collect()
    }

    /// A value as it is written.
    fn written(&self, value: &Value) -> String {
        let tokens = &self.tokens[value.tokens.clone()];
        tokens.iter().enumerate().fold(String::new(), |mut text, (index, token)| {
            if index > 0 && token.spaced {
                text.push(' ');
            }
            text.extend(token.cased.chars().take(60));
            text
        })
    }

    fn values_written(&self) -> Vec<String> {
        self.values.iter().take(6).map(|value| format!("{:?}", self.written(value))).collect()
    }

    /// The text, shortened for a message.
    fn shown(&self) -> String {
        const LONGEST: usize = 60;
        let mut text = self.tokens.iter().take(LONGEST).enumerate().fold(String::new(), |mut text, (index, token)| {
            if index > 0 && token.spaced {
                text.push(' ');
            }
            text.push_str(&token.cased);
            text
        });
        if self.tokens.len() > LONGEST {
            text.push('…');
        }
        text
    }
}

/// The claim's values and identifiers, and whether each stands in the region.
pub(super) fn claim_values(
    text: &str,
    claim: &Reading,
    region: Option<&Reading>,
    headings: &Reading,
) -> Vec<ClaimValue> {
    let written = |tokens: &[Token]| match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => text.get(first.range.start..last.range.end).unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    let values = claim.values.iter().map(|value| {
        let kind = match &value.content {
            Content::Date(_) => ValueKind::Date,
            Content::Quantity(quantity) => match quantity.unit.as_deref() {
                Some("%" | "‰") => ValueKind::Percent,
                _ => ValueKind::Number,
            },
        };
        ClaimValue {
            kind,
            written: written(&claim.tokens[value.tokens.clone()]),
            value: value.canonical(),
            unit: value.unit().map(str::to_owned),
            stands: region.is_some_and(|region| likeness(value, region) == Likeness::Same),
        }
    });
    let identifiers = claim.identifiers.iter().filter(|identifier| !identifier.soft).map(|identifier| {
        let tokens = &claim.tokens[identifier.tokens.clone()];
        ClaimValue {
            kind: ValueKind::Identifier,
            written: written(tokens),
            value: identifier.name.clone(),
            unit: None,
            stands: region.is_some_and(|region| stands(tokens, region)) || stands(tokens, headings),
        }
    });
    let mut all: Vec<ClaimValue> = values.chain(identifiers).collect();
    // What stands between backticks was read twice: as it stands there, and as what it is.
    all.dedup_by(|next, kept| next.kind == ValueKind::Identifier && next.value == kept.value);
    all
}

//! The values of a text: quantities with their bounds, ranges and units, and dates.

use std::ops::Range;

use super::amount::{Amount, amount, is_unit_behind_hyphen};
use super::bounds::{self, Bound};
use super::dates::{self, Date};
use super::numerals::Number;
use super::token::{Kind, Token};
use super::units;

/// A number or a range, with what it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Quantity {
    pub(super) low: Number,
    /// The upper end of a range.
    pub(super) high: Option<Number>,
    pub(super) bound: Bound,
    pub(super) unit: Option<String>,
    /// The word behind a number without a unit: what it counts.
    noun: Option<String>,
    /// The words behind it.
    nearby: Vec<String>,
}

/// A value's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A number with what belongs to it.
    Quantity(Quantity),
    /// A date.
    Date(Date),
}

/// A value, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) content: Content,
    /// Its tokens.
    pub(super) tokens: Range<usize>,
}

/// How a claim's value and a span's compare, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Likeness {
    /// Another number, or another kind of value.
    Different,
    /// The same number with another unit.
    OtherUnit,
    /// Perhaps the same; it can't be told.
    Unclear,
    /// The same.
    Same,
}

impl Value {
    /// The normalised form without the unit.
    pub(super) fn canonical(&self) -> String {
        match &self.content {
            Content::Date(date) => date.canonical(),
            Content::Quantity(quantity) => {
                let high = quantity.high.as_ref().map(|high| format!("..{}", high.canonical())).unwrap_or_default();
                format!("{}{}{high}", quantity.bound.sign(), quantity.low.canonical())
            }
        }
    }

    /// The unit's name.
    pub(super) fn unit(&self) -> Option<&str> {
        match &self.content {
            Content::Quantity(quantity) => quantity.unit.as_deref(),
            Content::Date(_) => None,
        }
    }

    /// How this value, a claim's, compares with a span's.
    pub(super) fn likeness(&self, span: &Self) -> Likeness {
        match (&self.content, &span.content) {
            (Content::Date(claim), Content::Date(span)) => date_likeness(*claim, *span),
            (Content::Quantity(claim), Content::Quantity(span)) => claim.likeness(span),
            (Content::Date(date), Content::Quantity(quantity)) | (Content::Quantity(quantity), Content::Date(date)) => {
                if quantity.is_year(*date) {
                    Likeness::Same
                } else {
                    Likeness::Different
                }
            }
        }
    }
}

fn date_likeness(claim: Date, span: Date) -> Likeness {
    if claim == span {
        return Likeness::Same;
    }
    let agrees = |a: Option<u16>, b: Option<u16>| a.is_none() || b.is_none() || a == b;
    let widened = |part: Option<u8>| part.map(u16::from);
    let compatible = agrees(claim.year, span.year)
        && agrees(widened(claim.month), widened(span.month))
        && agrees(widened(claim.day), widened(span.day));
    if compatible { Likeness::Unclear } else { Likeness::Different }
}

impl Quantity {
    fn is_year(&self, date: Date) -> bool {
        let plain = self.bound == Bound::Exact && self.high.is_none() && self.unit.is_none();
        match (&self.low, date) {
            (Number::Exact(number), Date { year: Some(year), month: None, day: None }) => {
                plain && number.small() == Some(year.into())
            }
            _ => false,
        }
    }

    fn looks_like_a_year(&self) -> bool {
        matches!(&self.low, Number::Exact(number) if number.small().is_some_and(|value| (1000..=2999).contains(&value)))
    }

    fn likeness(&self, span: &Self) -> Likeness {
        if self.low != span.low || self.high != span.high {
            return Likeness::Different;
        }
        if self.unit != span.unit {
            return Likeness::OtherUnit;
        }
        if self.bound != span.bound {
            let opposed = self.bound.direction() * span.bound.direction() < 0;
            return if opposed { Likeness::Different } else { Likeness::Unclear };
        }
        match &self.noun {
            Some(noun) if self.unit.is_none() && !self.looks_like_a_year() && !span.nearby.contains(noun) => {
                Likeness::Unclear
            }
            _ => Likeness::Same,
        }
    }
}

/// The value that begins at `at`.
pub(super) fn value(tokens: &[Token], at: usize) -> Option<Value> {
    if let Some((date, next)) = dates::date(tokens, at) {
        return Some(Value { content: Content::Date(date), tokens: at..next });
    }
    let (bound, start) = bounds::before(tokens, at).unwrap_or((Bound::Exact, at));
    let start = start + usize::from(start > at && tokens.get(start).is_some_and(|token| token.folded == "the"));
    if start > at && dates::date(tokens, start).is_some() {
        return None;
    }
    range(tokens, start, bound).map(|(quantity, next)| Value { content: Content::Quantity(quantity), tokens: at..next })
}

fn range(tokens: &[Token], at: usize, bound: Bound) -> Option<(Quantity, usize)> {
    let word = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.folded == word);
    let between = word(at, "between");
    let start = at + usize::from(between || word(at, "from") || word(at, "从"));
    let first = amount(tokens, start)?;
    let second = high_end(tokens, first.next, between).and_then(|to| amount(tokens, to));
    let second = second.filter(|second| {
        let same_unit = first.unit.is_none() || second.unit.is_none() || first.unit == second.unit;
        let plain = tokens.get(first.next).is_none_or(|token| !token.is('-'));
        same_unit && (plain || is_ascending(&first.number, &second.number))
    });
    let Amount { number: low, unit, next } = first;
    let mut quantity = Quantity { low, high: None, bound, unit, noun: None, nearby: Vec::new() };
    let mut next = next;
    if let Some(second) = second {
        quantity.high = Some(second.number);
        quantity.unit = quantity.unit.or(second.unit);
        next = second.next;
    } else if start > at || ends_inside(tokens, next) {
        return None;
    }
    if let (Bound::Exact, Some((bound, after))) = (bound, bounds::after(tokens, next)) {
        (quantity.bound, next) = (bound, after);
    }
    if quantity.unit.is_none() {
        quantity.noun = noun(tokens, next);
    }
    quantity.nearby = nearby(tokens, next);
    Some((quantity, next))
}

fn is_ascending(low: &Number, high: &Number) -> bool {
    match (low, high) {
        (Number::Exact(low), Number::Exact(high)) => low.compare(high).is_lt(),
        _ => false,
    }
}

/// Where the upper end of a range begins.
fn high_end(tokens: &[Token], at: usize, between: bool) -> Option<usize> {
    let token = tokens.get(at)?;
    let joins = match token.kind {
        Kind::Word if between => token.folded == "and",
        Kind::Word => matches!(token.folded.as_str(), "to" | "through"),
        Kind::Han => matches!(token.folded.as_str(), "至" | "到"),
        Kind::Mark if token.is('-') => !token.spaced && tokens.get(at + 1).is_some_and(|next| !next.spaced),
        Kind::Mark => matches!(token.folded.as_str(), "–" | "—" | "~" | "〜"),
        Kind::Digits => false,
    };
    joins.then_some(at + 1)
}

/// Whether what was read up to `at` is only a part of a longer token, such as `3` of `3D` or `192.168` of an address.
fn ends_inside(tokens: &[Token], at: usize) -> bool {
    let Some(token) = tokens.get(at).filter(|token| !token.spaced) else { return false };
    let behind = tokens.get(at + 1).filter(|next| !next.spaced && matches!(next.kind, Kind::Word | Kind::Digits));
    let tied = behind.is_some() && token.folded.starts_with(['-', '.', '_', ':', '@', '#', '/']);
    match token.kind {
        Kind::Word => tokens[at - 1].kind != Kind::Han,
        Kind::Digits => true,
        Kind::Mark => tied && !is_unit_behind_hyphen(tokens, at),
        Kind::Han => false,
    }
}

const NEARBY: usize = 6;

/// The words behind a number, up to the next mark or number.
fn nearby(tokens: &[Token], at: usize) -> Vec<String> {
    let words: Vec<&Token> = tokens
        .iter()
        .skip(at)
        .take(NEARBY)
        .skip_while(|token| token.is('-') && !token.spaced)
        .take_while(|token| matches!(token.kind, Kind::Word | Kind::Han))
        .collect();
    words.iter().map(|token| crate::lexicon::stem(&token.folded).into_owned()).collect()
}

/// What a number without a unit counts: the word behind it.
fn noun(tokens: &[Token], at: usize) -> Option<String> {
    let skip =
        usize::from(tokens.get(at).is_some_and(|token| units::is_classifier(token) || token.is('-') && !token.spaced));
    let token = tokens.get(at + skip).filter(|token| matches!(token.kind, Kind::Word | Kind::Han))?;
    if super::reading::is_small_word(&token.folded) {
        return None;
    }
    Some(crate::lexicon::stem(&token.folded).into_owned())
}

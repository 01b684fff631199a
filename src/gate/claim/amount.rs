//! One number with its sign, magnitude and unit.

use super::numerals::{self, Number};
use super::token::{Kind, Token};
use super::units;

/// One number.
pub(super) struct Amount {
    pub(super) number: Number,
    pub(super) unit: Option<String>,
    /// The token behind it.
    pub(super) next: usize,
}

/// `30-day`: the hyphen joins a word that is no identifier.
pub(super) fn is_unit_behind_hyphen(tokens: &[Token], at: usize) -> bool {
    let plain = |token: &Token| {
        token.kind == Kind::Word && token.cased.chars().all(char::is_lowercase) && token.cased.len() > 1
    };
    tokens[at].is('-')
        && tokens.get(at + 1).is_some_and(plain)
        && tokens.get(at + 2).is_none_or(|token| token.spaced || token.kind == Kind::Mark && !token.is('_'))
}

/// One number with its sign, magnitude and unit.
pub(super) fn amount(tokens: &[Token], at: usize) -> Option<Amount> {
    if let Some(found) = percent_in_words(tokens, at).or_else(|| ordinal(tokens, at)) {
        return Some(found);
    }
    let mut start = at;
    let mut negative = is_sign(tokens, start);
    start += usize::from(negative) + usize::from(!negative && is_plus(tokens, start));
    let currency = units::before(tokens, start);
    start = currency.map_or(start, |(_, next)| next);
    if currency.is_some() && !negative && is_sign(tokens, start) {
        (negative, start) = (true, start + 1);
    }
    if is_list_number(tokens, start) {
        return None;
    }
    let read = numerals::digits(tokens, start);
    let in_digits = read.is_some();
    let read = read.or_else(|| numerals::words(tokens, start)).or_else(|| numerals::chinese(tokens, start));
    let (mut number, mut next) = read?;
    if in_digits {
        (number, next) = magnified(tokens, number, next, currency.is_some());
        (number, next) = composite(tokens, number, start, next);
    }
    if negative {
        number = match number {
            Number::Exact(value) => Number::Exact(value.negated()),
            other => Number::Written(format!("-{}", other.canonical())),
        };
    }
    let mut unit = currency.map(|(name, _)| name.to_owned());
    if unit.is_none()
        && let Some((name, after)) = unit_at(tokens, next)
    {
        (unit, next) = (Some(name), after);
    }
    // A number word that is also a plain word counts only with a unit: `one`, and single Chinese numerals.
    let weak = !in_digits && next - start == 1 && (tokens[start].kind == Kind::Han || tokens[start].folded == "one");
    let counts = tokens.get(next).is_some_and(|token| tokens[start].kind == Kind::Han && units::is_classifier(token));
    if weak && unit.is_none() && !counts {
        return None;
    }
    Some(Amount { number, unit, next })
}

fn is_sign(tokens: &[Token], at: usize) -> bool {
    let number_follows = |skip: usize| {
        tokens
            .get(at + skip)
            .is_some_and(|token| matches!(token.kind, Kind::Digits) || token.folded.starts_with(['$', '€', '£']))
    };
    let Some(token) = tokens.get(at) else { return false };
    let opens = token.spaced
        || at == 0
        || tokens[at - 1].kind == Kind::Han
        || tokens[at - 1].kind == Kind::Mark
            && tokens[at - 1].folded.starts_with(['(', '[', '=', ':', '<', '>', '|', '`', '"', '~']);
    match token.folded.as_str() {
        "-" => opens && number_follows(1) && !tokens[at + 1].spaced,
        "minus" | "negative" => number_follows(1) && (at == 0 || tokens[at - 1].kind != Kind::Digits),
        "负" => tokens
            .get(at + 1)
            .is_some_and(|next| next.kind == Kind::Digits || numerals::chinese(tokens, at + 1).is_some()),
        _ => false,
    }
}

fn is_plus(tokens: &[Token], at: usize) -> bool {
    tokens.get(at).is_some_and(|token| token.is('+') && token.spaced)
        && tokens.get(at + 1).is_some_and(|next| next.kind == Kind::Digits && !next.spaced)
}

/// `3.` or `3)` at the start of a line numbers an item.
fn is_list_number(tokens: &[Token], at: usize) -> bool {
    let short = |token: &Token| token.leads && token.kind == Kind::Digits && token.folded.len() <= 3;
    tokens.get(at).is_some_and(short)
        && tokens.get(at + 1).is_some_and(|token| !token.spaced && (token.is('.') || token.is(')')))
        && tokens.get(at + 2).is_some_and(|token| token.spaced)
}

/// `2nd`, `第二`.
fn ordinal(tokens: &[Token], at: usize) -> Option<Amount> {
    if tokens.get(at)?.folded == "第" {
        let (number, next) = numerals::digits(tokens, at + 1).or_else(|| numerals::chinese(tokens, at + 1))?;
        let Number::Exact(value) = number else { return None };
        return Some(Amount { number: Number::Ordinal(value), unit: None, next });
    }
    let (Number::Exact(value), next) = numerals::digits(tokens, at)? else { return None };
    let ending = tokens.get(next).filter(|token| !token.spaced)?;
    let ordinal = matches!(ending.folded.as_str(), "st" | "nd" | "rd" | "th");
    ordinal.then_some(Amount { number: Number::Ordinal(value), unit: None, next: next + 1 })
}

/// `百分之五`, `千分之三`, and fractions such as `三分之一`, which stay as they are written.
fn percent_in_words(tokens: &[Token], at: usize) -> Option<Amount> {
    let says = |at: usize, words: &str| {
        words.chars().enumerate().all(|(index, c)| {
            tokens.get(at + index).is_some_and(|token| token.kind == Kind::Han && token.folded.starts_with(c))
        })
    };
    let read = |at: usize| numerals::digits(tokens, at).or_else(|| numerals::chinese(tokens, at));
    for (words, unit) in [("百分之", "%"), ("千分之", "‰")] {
        if says(at, words) {
            let (number, next) = read(at + 3)?;
            return Some(Amount { number, unit: Some(unit.to_owned()), next });
        }
    }
    let (below, next) = read(at)?;
    if !says(next, "分之") {
        return None;
    }
    let (above, next) = read(next + 2)?;
    let number = Number::Written(format!("{}/{}", above.canonical(), below.canonical()));
    Some(Amount { number, unit: None, next })
}

/// A number in digits with the magnitude behind it: `1.2 million`, `3万`, and with a currency `$3m`.
fn magnified(tokens: &[Token], number: Number, at: usize, money: bool) -> (Number, usize) {
    let Some(token) = tokens.get(at) else { return (number, at) };
    let in_words = match token.kind {
        Kind::Word if token.folded != "mn" && token.folded != "bn" => {
            numerals::magnitude(&token.folded).map(|power| (power, at + 1))
        }
        Kind::Word if money => numerals::magnitude(&token.folded).map(|power| (power, at + 1)),
        Kind::Han => numerals::chinese_magnitude(tokens, at),
        _ => None,
    };
    let short = || match token.folded.as_str() {
        "k" if money && !token.spaced => Some((3, at + 1)),
        "m" if money && !token.spaced => Some((6, at + 1)),
        "b" if money && !token.spaced => Some((9, at + 1)),
        _ => None,
    };
    match (number, in_words.or_else(short)) {
        (Number::Exact(value), Some((power, next))) => (Number::Exact(value.shifted(power)), next),
        (number, Some((power, next))) => (Number::Written(format!("{}e{power}", number.canonical())), next),
        (number, None) if token.kind == Kind::Han && chinese_number_goes_on(token) => {
            (Number::Written(format!("{}{}", number.canonical(), token.folded)), at + 1)
        }
        (number, None) => (number, at),
    }
}

fn chinese_number_goes_on(token: &Token) -> bool {
    !token.spaced && "百千万亿".contains(token.folded.as_str())
}

/// The most tokens behind the first number of a time, a fraction or a date in digits.
const MOST_PARTS: usize = 8;

/// `10:30`, `3/4` and `03/04/2024` stay as they are written.
fn composite(tokens: &[Token], number: Number, start: usize, at: usize) -> (Number, usize) {
    let mut next = at;
    while let (Some(mark), Some(digits), true) = (tokens.get(next), tokens.get(next + 1), next - at < MOST_PARTS) {
        let joins = !mark.spaced && !digits.spaced && (mark.is(':') || mark.is('/')) && digits.kind == Kind::Digits;
        if !joins {
            break;
        }
        next += 2;
    }
    if next == at {
        return (number, at);
    }
    (Number::Written(tokens[start..next].iter().map(|token| token.folded.as_str()).collect()), next)
}

/// The unit at `at`, with what it is counted by: `km/h`, `元/晚`, `GB per month`.
fn unit_at(tokens: &[Token], at: usize) -> Option<(String, usize)> {
    let hyphen =
        tokens.get(at).is_some_and(|token| token.is('-') && !token.spaced) && is_unit_behind_hyphen(tokens, at);
    let classifier = tokens.get(at).is_some_and(|token| token.folded == "个");
    let (name, next) = units::unit(tokens, at + usize::from(hyphen))
        .or_else(|| if classifier { units::unit(tokens, at + 1) } else { None })?;
    let by = match tokens.get(next) {
        Some(token) if token.is('/') && !token.spaced => true,
        Some(token) => matches!(token.folded.as_str(), "per" | "每"),
        None => false,
    };
    let measure = by.then(|| tokens.get(next + 1)).flatten().filter(|token| token.kind != Kind::Mark);
    let Some(measure) = measure else { return Some((name.to_owned(), next)) };
    let (by, after) = units::unit(tokens, next + 1)
        .map_or_else(|| (measure.folded.clone(), next + 2), |(by, after)| (by.to_owned(), after));
    Some((format!("{name}/{by}"), after))
}

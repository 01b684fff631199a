//! The values of a text: quantities with their bounds, ranges and units, and dates.

use std::ops::Range;
use std::sync::LazyLock;

use super::dates::{self, Date};
use super::numerals::{self, Number};
use super::phrase::Phrases;
use super::token::{Kind, Token};
use super::units;

/// What is said of a number beside its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// The number itself.
    Exact,
    /// It or more.
    AtLeast,
    /// It or less.
    AtMost,
    /// More than it.
    MoreThan,
    /// Less than it.
    LessThan,
    /// Near it.
    About,
    /// It on both sides.
    PlusMinus,
}

impl Bound {
    fn sign(self) -> &'static str {
        match self {
            Self::Exact => "",
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
            Self::MoreThan => ">",
            Self::LessThan => "<",
            Self::About => "~",
            Self::PlusMinus => "±",
        }
    }

    fn direction(self) -> i8 {
        match self {
            Self::AtLeast | Self::MoreThan => 1,
            Self::AtMost | Self::LessThan => -1,
            _ => 0,
        }
    }
}

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

const BEFORE: &[(Bound, &str)] = &[
    (
        Bound::AtLeast,
        "at least,no less than,not less than,no fewer than,not fewer than,a minimum of,minimum of,min.,≥,>=,至少,最少,起码,不少于,不低于,不小于,最低",
    ),
    (
        Bound::AtMost,
        "at most,no more than,not more than,no greater than,not exceeding,not exceed,cannot exceed,must not exceed,up to,a maximum of,maximum of,max.,within,no later than,no longer than,not longer than,≤,<=,至多,最多,不超过,不得超过,不能超过,不多于,不高于,不大于,不晚于,最高",
    ),
    (
        Bound::MoreThan,
        "more than,over,above,exceeding,exceeds,greater than,higher than,longer than,larger than,upwards of,>,超过,多于,大于,高于,逾",
    ),
    (
        Bound::LessThan,
        "less than,fewer than,under,below,lower than,shorter than,smaller than,<,少于,小于,低于,不足,不到,未满,不满",
    ),
    (
        Bound::About,
        "about,around,approximately,approx.,roughly,nearly,almost,circa,ca.,some,~,≈,∼,大约,约,约为,大概,近,将近,接近",
    ),
    (Bound::PlusMinus, "±,+/-,plus or minus"),
];

const AFTER: &[(Bound, &str)] = &[
    (
        Bound::AtLeast,
        "or more,or above,or over,or higher,or longer,or greater,and above,and over,+,以上,及以上,或以上,或更多,起",
    ),
    (Bound::AtMost, "or less,or fewer,or below,or under,or lower,or shorter,and below,以下,及以下,或以下,以内,之内,内"),
    (Bound::About, "or so,左右,上下"),
];

fn table(rows: &'static [(Bound, &'static str)]) -> Phrases<Bound> {
    Phrases::new(false, rows.iter().flat_map(|(bound, list)| list.split(',').map(|phrase| (phrase, *bound))))
}

static BOUND_BEFORE: LazyLock<Phrases<Bound>> = LazyLock::new(|| table(BEFORE));
static BOUND_AFTER: LazyLock<Phrases<Bound>> = LazyLock::new(|| table(AFTER));

struct Amount {
    number: Number,
    unit: Option<String>,
    next: usize,
}

/// The value that begins at `at`.
pub(super) fn value(tokens: &[Token], at: usize) -> Option<Value> {
    if let Some((date, next)) = dates::date(tokens, at) {
        return Some(Value { content: Content::Date(date), tokens: at..next });
    }
    let (bound, start) = BOUND_BEFORE.find(tokens, at).unwrap_or((Bound::Exact, at));
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
    if let (Bound::Exact, Some((bound, after))) = (bound, bound_after(tokens, next)) {
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

fn bound_after(tokens: &[Token], at: usize) -> Option<(Bound, usize)> {
    let (bound, next) = BOUND_AFTER.find(tokens, at)?;
    let plus = tokens[at].is('+') && (tokens[at].spaced || tokens.get(next).is_some_and(|token| !token.spaced));
    // `内` of `内容`, `起` of `起来`.
    let cut = next == at + 1
        && tokens
            .get(next)
            .is_some_and(|token| !token.spaced && "容部存核置网地来始源点草诉".contains(token.folded.as_str()));
    (!plus && !cut).then_some((bound, next))
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

/// `30-day`: the hyphen joins a word that is no identifier.
fn is_unit_behind_hyphen(tokens: &[Token], at: usize) -> bool {
    let plain = |token: &Token| {
        token.kind == Kind::Word && token.cased.chars().all(char::is_lowercase) && token.cased.len() > 1
    };
    tokens[at].is('-')
        && tokens.get(at + 1).is_some_and(plain)
        && tokens.get(at + 2).is_none_or(|token| token.spaced || token.kind == Kind::Mark && !token.is('_'))
}

/// One number with its sign, magnitude and unit.
fn amount(tokens: &[Token], at: usize) -> Option<Amount> {
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

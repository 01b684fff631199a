//! Dates by value. A date that could be read in two ways is none here: it stays a number as it is written.

use super::numerals;
use super::numerals::Number;
use super::token::{Kind, Token};

/// A date, or the part of it that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    /// The year.
    pub(super) year: Option<u16>,
    /// The month, from 1.
    pub(super) month: Option<u8>,
    /// The day of the month, from 1.
    pub(super) day: Option<u8>,
}

impl Date {
    /// `2024-03-01`, with `?` for what is not said.
    pub(super) fn canonical(self) -> String {
        let year = self.year.map_or_else(|| "?".to_owned(), |year| format!("{year:04}"));
        match (self.month, self.day) {
            (Some(month), Some(day)) => format!("{year}-{month:02}-{day:02}"),
            (Some(month), None) => format!("{year}-{month:02}"),
            _ => year,
        }
    }

    fn checked(year: Option<u64>, month: Option<u64>, day: Option<u64>) -> Option<Self> {
        let year = match year {
            Some(year @ 1000..=2999) => Some(u16::try_from(year).ok()?),
            Some(_) => return None,
            None => None,
        };
        let month =
            month.filter(|month| (1..=12).contains(month)).map_or(Ok(None), |month| u8::try_from(month).map(Some));
        let month = month.ok()?;
        let longest = match month? {
            2 => 29,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let day = match day {
            Some(day) if (1..=longest).contains(&day) => Some(u8::try_from(day).ok()?),
            Some(_) => return None,
            None => None,
        };
        Some(Self { year, month, day })
    }
}

const MONTHS: [(&str, &str); 12] = [
    ("january", "jan"),
    ("february", "feb"),
    ("march", "mar"),
    ("april", "apr"),
    ("may", "may"),
    ("june", "jun"),
    ("july", "jul"),
    ("august", "aug"),
    ("september", "sep"),
    ("october", "oct"),
    ("november", "nov"),
    ("december", "dec"),
];

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl Reader<'_> {
    fn token(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn skip(&mut self, wanted: impl Fn(&Token) -> bool) -> bool {
        let found = self.token().is_some_and(wanted);
        self.at += usize::from(found);
        found
    }

    fn digits(&mut self, lengths: std::ops::RangeInclusive<usize>) -> Option<u64> {
        let token = self.token().filter(|token| token.kind == Kind::Digits && lengths.contains(&token.folded.len()))?;
        let value = token.folded.parse().ok()?;
        self.at += 1;
        Some(value)
    }

    fn month(&mut self) -> Option<u64> {
        let token =
            self.token().filter(|token| token.kind == Kind::Word && token.cased.starts_with(char::is_uppercase))?;
        let name = token.folded.as_str();
        let known =
            |(long, short): &(&str, &str)| *long == name || *short == name || (name == "sept" && *short == "sep");
        let index = MONTHS.iter().position(known)?;
        let whole = MONTHS[index].0 == name;
        self.at += 1;
        if !whole {
            self.skip(|token| token.is('.') && !token.spaced);
        }
        u64::try_from(index + 1).ok()
    }

    /// A day with an optional `st`, `nd`, `rd`, `th`.
    fn day(&mut self) -> Option<u64> {
        let day = self.digits(1..=2)?;
        self.skip(|token| !token.spaced && matches!(token.folded.as_str(), "st" | "nd" | "rd" | "th"));
        Some(day)
    }

    fn year(&mut self) -> Option<u64> {
        let before = self.at;
        self.skip(|token| token.is(',') && !token.spaced);
        let year = if self.token().is_some_and(|token| token.spaced) { self.digits(4..=4) } else { None };
        if year.is_none() || self.goes_on() {
            self.at = before;
            return None;
        }
        year
    }

    /// Whether the token here is tied to what was read, so that it was only a part of something longer.
    fn goes_on(&self) -> bool {
        let Some(token) = self.token().filter(|token| !token.spaced) else { return false };
        let behind = self.tokens.get(self.at + 1).filter(|behind| !behind.spaced && behind.kind != Kind::Mark);
        match token.kind {
            Kind::Word | Kind::Digits => true,
            Kind::Han => false,
            Kind::Mark => {
                token.folded.starts_with(['-', '/', '.', ':', '_']) && behind.is_some_and(|next| next.kind != Kind::Han)
                    || token.is('%')
            }
        }
    }
}

/// The date that begins at `at`, and the token behind it.
pub(super) fn date(tokens: &[Token], at: usize) -> Option<(Date, usize)> {
    [numeric, day_first, month_first, chinese].iter().find_map(|form| form(tokens, at))
}

/// `2024-03-01` and `2024/3/1`.
fn numeric(tokens: &[Token], at: usize) -> Option<(Date, usize)> {
    let mut reader = Reader { tokens, at };
    let year = reader.digits(4..=4)?;
    let separator = reader.token().filter(|token| !token.spaced && (token.is('-') || token.is('/')))?.folded.clone();
    reader.at += 1;
    let month = reader.digits(1..=2)?;
    if !reader.skip(|token| !token.spaced && token.folded == separator) {
        return None;
    }
    let day = reader.digits(1..=2)?;
    if tokens[at + 1..reader.at].iter().any(|token| token.spaced) || reader.goes_on() {
        return None;
    }
    Date::checked(Some(year), Some(month), Some(day)).map(|date| (date, reader.at))
}

/// `3 March 2024`, `3rd of March`.
fn day_first(tokens: &[Token], at: usize) -> Option<(Date, usize)> {
    let mut reader = Reader { tokens, at };
    let day = reader.day()?;
    reader.skip(|token| token.folded == "of");
    let month = reader.month()?;
    let year = reader.year();
    Date::checked(year, Some(month), Some(day)).map(|date| (date, reader.at))
}

/// `March 3, 2024`, `March 3`, `March 2024`.
fn month_first(tokens: &[Token], at: usize) -> Option<(Date, usize)> {
    let mut reader = Reader { tokens, at };
    let month = reader.month()?;
    if let Some(year) = reader.year() {
        return Date::checked(Some(year), Some(month), None).map(|date| (date, reader.at));
    }
    let day = reader.day()?;
    if reader.goes_on() {
        return None;
    }
    let year = reader.year();
    Date::checked(year, Some(month), Some(day)).map(|date| (date, reader.at))
}

/// `2024年3月3日`, `3月3号`, `二〇二四年三月`, `2024年`.
fn chinese(tokens: &[Token], at: usize) -> Option<(Date, usize)> {
    let part = |at: usize, names: &str| {
        let (number, next) = numerals::digits(tokens, at).or_else(|| numerals::chinese(tokens, at))?;
        let named = tokens.get(next).is_some_and(|token| token.kind == Kind::Han && names.contains(&token.folded));
        match number {
            Number::Exact(value) if named => Some((value.small()?, next + 1)),
            _ => None,
        }
    };
    let (year, after_year) = part(at, "年").filter(|(year, _)| (1000..=2999).contains(year)).unzip();
    let start = after_year.unwrap_or(at);
    let month = part(start, "月");
    let Some((month, after_month)) = month else {
        let year = u16::try_from(year?).ok()?;
        return Some((Date { year: Some(year), month: None, day: None }, after_year?));
    };
    let (day, after_day) = part(after_month, "日号").unzip();
    Date::checked(year, Some(month), day).map(|date| (date, after_day.unwrap_or(after_month)))
}

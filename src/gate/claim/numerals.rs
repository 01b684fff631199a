//! Numbers as they are written: digits with separators, English number words, Chinese numerals. Nothing is guessed:
//! what can be read in two ways stays as it is written, and equals only the same writing.

use super::decimal::Decimal;
use super::token::{Kind, Token};

/// A number that was read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Number {
    /// Its value is certain.
    Exact(Decimal),
    /// A place in an order: `2nd`, `第二`.
    Ordinal(Decimal),
    /// It could mean several things, such as `1.200`.
    Written(String),
}

impl Number {
    /// The normalised form.
    pub(super) fn canonical(&self) -> String {
        match self {
            Self::Exact(value) => value.to_string(),
            Self::Ordinal(value) => format!("#{value}"),
            Self::Written(text) => text.clone(),
        }
    }
}

/// A number and the index of the token behind it.
pub(super) type Read = Option<(Number, usize)>;

fn joined(tokens: &[Token], at: usize) -> bool {
    tokens.get(at).is_some_and(|token| !token.spaced)
}

/// No number has more groups of digits; what goes on behind is no number.
const MOST_GROUPS: usize = 32;

/// Digits with their separators, from `at`.
pub(super) fn digits(tokens: &[Token], at: usize) -> Read {
    let first = tokens.get(at).filter(|token| token.kind == Kind::Digits)?;
    let mut groups = vec![(' ', first.folded.as_str())];
    let mut next = at + 1;
    while groups.len() <= MOST_GROUPS {
        let (Some(token), Some(after)) = (tokens.get(next), tokens.get(next + 1)) else { break };
        let separator = token.folded.chars().next().unwrap_or(' ');
        let joins = token.kind == Kind::Mark && matches!(separator, ',' | '.' | '\'' | '_') && !token.spaced;
        if !joins || after.kind != Kind::Digits || after.spaced {
            break;
        }
        groups.push((separator, after.folded.as_str()));
        next += 2;
    }
    if groups.len() == 1 {
        next = spaced_groups(tokens, at, &mut groups);
    }
    Some((assemble(&groups)?, next))
}

/// `1 200 000`: groups of three after one of up to three digits, with a space before each and nothing joined behind.
fn spaced_groups<'a>(tokens: &'a [Token], at: usize, groups: &mut Vec<(char, &'a str)>) -> usize {
    let mut next = at + 1;
    if !(1..=3).contains(&tokens[at].folded.len()) || tokens[at].folded.starts_with('0') {
        return next;
    }
    while let Some(token) = tokens.get(next) {
        let joins = token.kind == Kind::Digits && token.folded.len() == 3 && token.spaced && !token.leads;
        let ends = tokens.get(next + 1).is_none_or(|after| after.spaced || after.kind == Kind::Han || !is_joint(after));
        if !joins || !ends {
            break;
        }
        groups.push((' ', &token.folded));
        next += 1;
    }
    next
}

/// Marks that tie what stands around them to one token.
fn is_joint(token: &Token) -> bool {
    token.kind != Kind::Mark || token.folded.starts_with(['.', ',', '-', '/', '_', ':', '–'])
}

fn assemble(groups: &[(char, &str)]) -> Option<Number> {
    let whole = |groups: &[(char, &str)]| groups.iter().map(|(_, digits)| *digits).collect::<String>();
    let written = || {
        let mut text = groups[0].1.to_owned();
        groups[1..].iter().for_each(|(separator, digits)| {
            text.push(*separator);
            text.push_str(digits);
        });
        text
    };
    let thousands = |groups: &[(char, &str)]| {
        (1..=3).contains(&groups[0].1.len())
            && groups[1..].iter().all(|(separator, digits)| digits.len() == 3 && *separator == groups[1].0)
    };
    let points = groups[1..].iter().filter(|(separator, _)| *separator == '.').count();
    Some(match groups {
        [(_, only)] => Number::Exact(Decimal::new(false, only, "")),
        [(_, before), ('.', behind)] => {
            let could_be_thousands = behind.len() == 3 && (1..=3).contains(&before.len()) && !before.starts_with('0');
            if could_be_thousands {
                Number::Written(written())
            } else {
                Number::Exact(Decimal::new(false, before, behind))
            }
        }
        _ if points > 1 => return None,
        [before @ .., ('.', behind)] if thousands(before) => Number::Exact(Decimal::new(false, &whole(before), behind)),
        all if points == 0 && thousands(all) => Number::Exact(Decimal::new(false, &whole(all), "")),
        all if all.iter().any(|(separator, _)| *separator == '_') => return None,
        _ => Number::Written(written()),
    })
}

const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

fn small(word: &str) -> Option<u128> {
    SMALL.iter().position(|known| *known == word).and_then(|value| u128::try_from(value).ok())
}

fn tens(word: &str) -> Option<u128> {
    TENS.iter().position(|known| *known == word).and_then(|value| u128::try_from(value * 10 + 20).ok())
}

/// The power of ten of a magnitude word.
pub(super) fn magnitude(word: &str) -> Option<u8> {
    Some(match word {
        "hundred" => 2,
        "thousand" => 3,
        "million" | "millions" | "mn" => 6,
        "billion" | "billions" | "bn" => 9,
        "trillion" | "trillions" => 12,
        _ => return None,
    })
}

/// English number words, from `at`: `forty-five`, `a hundred and twenty`, `two million`, `a dozen`.
pub(super) fn words(tokens: &[Token], at: usize) -> Read {
    let word = |at: usize| tokens.get(at).filter(|token| token.kind == Kind::Word).map(|token| token.folded.as_str());
    let first = word(at)?;
    if matches!(first, "a" | "an") {
        let next = word(at + 1)?;
        if next == "dozen" {
            return Some((Number::Exact(Decimal::whole(12)), at + 2));
        }
        magnitude(next)?;
    }
    let (mut total, mut part, mut next) = (0_u128, 0_u128, at);
    let (mut any, mut room) = (false, 1_000_000_000_000_000_u128);
    if matches!(first, "a" | "an") {
        (part, any, next) = (1, true, at + 1);
    }
    let mut last = 0_u128;
    while let Some(text) = word(next) {
        if let Some(value) = small(text) {
            let fits =
                !any || part % 100 == 0 && last != 0 || (value < 10 && value > 0 && part % 10 == 0 && last == 10);
            if !fits || (any && part == 0 && last == 0) {
                break;
            }
            (part, last) = (part + value, 0);
        } else if let Some(value) = tens(text) {
            if any && (part % 100 != 0 || last == 0) {
                break;
            }
            (part, last) = (part + value, 10);
        } else if text == "hundred" && any && part > 0 && part < 100 {
            (part, last) = (part * 100, 100);
        } else if let (true, Some(power)) = (any && text != "hundred", magnitude(text)) {
            let unit = 10_u128.pow(power.into());
            if part == 0 || unit >= room {
                break;
            }
            (total, part, room, last) = (total + part * unit, 0, unit, 1000);
        } else if text == "and" && any && last >= 100 && word(next + 1).is_some_and(|w| small(w).or(tens(w)).is_some())
        {
            next += 1;
            continue;
        } else {
            break;
        }
        any = true;
        next += 1;
        // The hyphen of `forty-five`.
        if last == 10
            && tokens.get(next).is_some_and(|token| token.is('-'))
            && joined(tokens, next)
            && joined(tokens, next + 1)
            && word(next + 1).and_then(small).is_some_and(|value| (1..10).contains(&value))
        {
            next += 1;
        }
    }
    if !any || tokens.get(next).is_some_and(|token| token.is('-')) && joined(tokens, next) && next == at {
        return None;
    }
    Some((Number::Exact(Decimal::whole(total + part)), next))
}

fn chinese_digit(c: char) -> Option<u128> {
    Some(match c {
        '零' | '〇' => 0,
        '一' | '壹' => 1,
        '二' | '两' | '贰' => 2,
        '三' | '叁' => 3,
        '四' | '肆' => 4,
        '五' | '伍' => 5,
        '六' | '陆' => 6,
        '七' | '柒' => 7,
        '八' | '捌' => 8,
        '九' | '玖' => 9,
        _ => return None,
    })
}

fn chinese_power(c: char) -> Option<u8> {
    Some(match c {
        '十' | '拾' => 1,
        '百' | '佰' => 2,
        '千' | '仟' => 3,
        '万' => 4,
        '亿' => 8,
        _ => return None,
    })
}

/// Chinese numerals, from `at`: `四十五`, `一千二百`, `二〇二四`, `三点五`. What is longer than any number in words is
/// none.
pub(super) fn chinese(tokens: &[Token], at: usize) -> Read {
    const LONGEST: usize = 24;
    let run: Vec<char> = tokens[at..]
        .iter()
        .take(LONGEST + 1)
        .enumerate()
        .take_while(|(index, token)| token.kind == Kind::Han && (*index == 0 || !token.spaced))
        .map_while(|(_, token)| token.folded.chars().next())
        .take_while(|c| chinese_digit(*c).is_some() || chinese_power(*c).is_some())
        .collect();
    let first = *run.first()?;
    if run.len() > LONGEST || chinese_digit(first).is_none() && first != '十' && first != '拾' {
        return None;
    }
    let end = at + run.len();
    let digits: Option<Vec<u128>> = run.iter().map(|c| chinese_digit(*c)).collect();
    let text: String = run.iter().collect();
    let Some(digits) = digits else {
        return Some((sum(&run).map_or(Number::Written(text), |value| Number::Exact(Decimal::whole(value))), end));
    };
    let figures: String = digits.iter().map(u128::to_string).collect();
    // `三点五`, but not `三点` (three o'clock).
    if let (1, Some('点')) = (run.len(), tokens.get(end).and_then(|token| token.folded.chars().next())) {
        let fraction: String = tokens[end + 1..]
            .iter()
            .take(LONGEST)
            .map_while(|token| token.folded.chars().next().and_then(chinese_digit))
            .map(|digit| digit.to_string())
            .collect();
        if !fraction.is_empty() {
            let next = end + 1 + fraction.len();
            return Some((Number::Exact(Decimal::new(false, &figures, &fraction)), next));
        }
    }
    // `三四天` is three or four days; a year or a code has a zero or three and more digits.
    let certain = run.len() != 2 || run.contains(&'〇') || run.contains(&'零');
    let number = if certain { Number::Exact(Decimal::new(false, &figures, "")) } else { Number::Written(text) };
    Some((number, end))
}

/// The value of numerals with powers, or `None` where they are not in order: `一万二` and the like.
fn sum(run: &[char]) -> Option<u128> {
    let (mut total, mut section, mut digit) = (0_u128, 0_u128, None::<u128>);
    let (mut lowest, mut highest_section) = (u8::MAX, u8::MAX);
    let mut zero = false;
    for c in run {
        if let Some(value) = chinese_digit(*c) {
            if digit.is_some() {
                return None;
            }
            if value == 0 {
                zero = true;
            } else {
                digit = Some(value);
            }
            continue;
        }
        let power = chinese_power(*c)?;
        if power < 4 {
            let value = digit.take().or_else(|| (power == 1 && section == 0 && total == 0).then_some(1))?;
            if power >= lowest {
                return None;
            }
            lowest = power;
            section += value * 10_u128.pow(power.into());
        } else {
            let value = section + digit.take().unwrap_or(0);
            if value == 0 || power >= highest_section {
                return None;
            }
            (highest_section, lowest, section) = (power, u8::MAX, 0);
            total += value * 10_u128.pow(power.into());
        }
        zero = false;
    }
    // `一百二` says 120 in speech: its last digit must stand behind a zero or a ten.
    if digit.is_some() && !zero && lowest != 1 {
        return None;
    }
    Some(total + section + digit.unwrap_or(0))
}

/// The power of ten that follows a number in digits, as in `3万`: the power and the token behind it. `None` where a
/// number follows, as in `3万5`.
pub(super) fn chinese_magnitude(tokens: &[Token], at: usize) -> Option<(u8, usize)> {
    let mut next = at;
    let mut power = 0;
    while let Some(token) = tokens.get(next).filter(|token| token.kind == Kind::Han && next - at < 2) {
        let Some(more) = token.folded.chars().next().and_then(chinese_power).filter(|more| *more > 1) else { break };
        power += more;
        next += 1;
    }
    let number_follows = tokens.get(next).is_some_and(|token| {
        !token.spaced && (token.kind == Kind::Digits || token.folded.chars().next().and_then(chinese_digit).is_some())
    });
    (power > 0 && !number_follows).then_some((power, next))
}

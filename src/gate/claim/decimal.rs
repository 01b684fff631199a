//! Exact decimal numbers, as long as they are written.

use std::cmp::Ordering;
use std::fmt;

/// `digits` times ten to the `exponent`; without leading and trailing zeros, so that equal numbers are equal values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

/// Numbers are shown in full up to this many digits.
const SHOWN: usize = 40;

impl Decimal {
    /// A number from the digits before and behind its point.
    pub(super) fn new(negative: bool, whole: &str, fraction: &str) -> Self {
        let all = format!("{whole}{fraction}");
        let kept = all.trim_end_matches('0');
        #[allow(clippy::cast_possible_wrap)] // lengths of texts in memory
        let exponent = (all.len() - kept.len()) as i64 - fraction.len() as i64;
        let digits = kept.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            return Self { negative: false, digits, exponent: 0 };
        }
        Self { negative, digits, exponent }
    }

    /// A whole number.
    pub(super) fn whole(value: u128) -> Self {
        Self::new(false, &value.to_string(), "")
    }

    /// Times ten to the `by`.
    pub(super) fn shifted(mut self, by: u8) -> Self {
        if !self.digits.is_empty() {
            self.exponent = self.exponent.saturating_add(by.into());
        }
        self
    }

    /// The number below zero.
    pub(super) fn negated(mut self) -> Self {
        self.negative = !self.negative && !self.digits.is_empty();
        self
    }

    /// A whole number of at most 18 digits.
    pub(super) fn small(&self) -> Option<u64> {
        let shown = self.plain()?;
        if shown.len() > 18 { None } else { shown.parse().ok() }
    }

    fn plain(&self) -> Option<String> {
        let length = i64::try_from(self.digits.len()).ok()?;
        let point = length + self.exponent;
        let limit = i64::try_from(SHOWN).ok()?;
        if point > limit || -point > limit || length > limit {
            return None;
        }
        let sign = if self.negative { "-" } else { "" };
        let places = usize::try_from(point.max(0)).ok()?;
        Some(if self.digits.is_empty() {
            "0".to_owned()
        } else if places >= self.digits.len() {
            format!("{sign}{}{}", self.digits, "0".repeat(places - self.digits.len()))
        } else if point > 0 {
            format!("{sign}{}.{}", &self.digits[..places], &self.digits[places..])
        } else {
            format!("{sign}0.{}{}", "0".repeat(usize::try_from(-point).ok()?), self.digits)
        })
    }

    /// Which of two numbers is less, by value.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.digits.is_empty(), number.negative) {
            (true, _) => 0,
            (_, true) => -1,
            _ => 1,
        };
        let by_sign = sign(self).cmp(&sign(other));
        if by_sign != Ordering::Equal || self.digits.is_empty() {
            return by_sign;
        }
        let size =
            |number: &Self| i64::try_from(number.digits.len()).unwrap_or(i64::MAX).saturating_add(number.exponent);
        let by_size = size(self).cmp(&size(other)).then_with(|| self.digits.cmp(&other.digits));
        if self.negative { by_size.reverse() } else { by_size }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(plain) = self.plain() {
            return f.write_str(&plain);
        }
        let sign = if self.negative { "-" } else { "" };
        let shown = self.digits.get(..SHOWN).unwrap_or(&self.digits);
        let more = if shown.len() < self.digits.len() { "…" } else { "" };
        write!(f, "{sign}{shown}{more}e{}", self.exponent)
    }
}

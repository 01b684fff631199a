//! Words that are part of a number, and words that deny what stands before them.

use super::script::{Kind, is_gap, is_number, kind};

/// Behind a number.
const RATES: &[&str] = &["percent", "per", "pct", "percentage", "basis", "bps"];
/// Behind a number or another word: `5 million`, `two hundred`.
const MULTIPLES: &[&str] = &["hundred", "thousand", "million", "billion", "trillion", "dozen"];
/// Before a number: how it is meant.
const COMPARISONS: &[&str] = &[
    "than",
    "least",
    "most",
    "over",
    "under",
    "above",
    "below",
    "nearly",
    "almost",
    "approximately",
    "about",
    "around",
    "roughly",
    "minus",
    "negative",
];
/// Behind a number, the same.
const BOUNDS: &[&str] = &[
    "or more",
    "or less",
    "or fewer",
    "or later",
    "or newer",
    "or higher",
    "or greater",
    "or above",
    "or older",
    "or earlier",
    "or below",
    "or lower",
    "and above",
    "and later",
    "and newer",
    "and higher",
];
const HAN_BEFORE: &[&str] = &[
    "至少", "最少", "最多", "至多", "超过", "超過", "少于", "少於", "多于", "多於", "低于", "低於", "高于", "高於",
    "小于", "大于", "不足", "大约", "约",
];
const HAN_BEHIND: &[&str] =
    &["个百分点", "個百分點", "百分点", "百分點", "以上", "以下", "以内", "以內", "以后", "左右", "余", "多"];
/// Before or behind a number.
const CURRENCIES: &[&str] = &["USD", "EUR", "GBP", "JPY", "CNY", "RMB", "CHF", "KRW", "INR", "HKD", "TWD"];
const MONTHS: &[&str] = &[
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Sept",
    "Oct",
    "Nov",
    "Dec",
];
/// Deny at the end of a word or a clause, where a script has no spaces.
const DENIALS: &[&str] = &[
    "ない",
    "なか",
    "なく",
    "なけ",
    "ませ",
    "いない",
    "いませ",
    "はない",
    "はあり",
    "ではな",
    "ではあ",
    "ず",
    "ぬ",
    "不了",
    "不到",
    "不起",
    "不成",
    "不动",
];
/// The longest listed word.
const LONGEST: usize = 16;

/// Whether a number and a word that is part of it stand on the two sides of a place.
pub(super) fn part_of_number(before: &str, after: &str) -> bool {
    let (Some(left), Some(right)) = (near_end(before), near_start(after)) else { return false };
    let (number_left, number_right) = (left.ends_with(is_number), right.starts_with(is_number));
    let next = first_word(right);
    if number_left
        && (listed(RATES, next)
            || CURRENCIES.contains(&next)
            || MONTHS.contains(&next)
            || bounds(right)
            || HAN_BEHIND.iter().any(|it| right.starts_with(it)))
    {
        return true;
    }
    if listed(MULTIPLES, next) && left.ends_with(char::is_alphanumeric) {
        return true;
    }
    let previous = last_word(left);
    number_right
        && (listed(COMPARISONS, previous)
            || CURRENCIES.contains(&previous)
            || MONTHS.contains(&previous)
            || HAN_BEFORE.iter().any(|it| left.ends_with(it)))
}

/// Whether what follows denies what stands before: in Japanese and Chinese at the end of the word, in Korean behind it.
pub(super) fn denied_behind(before: &str, after: &str) -> bool {
    let run = before.chars().next_back().is_some_and(|c| kind(c) == Kind::Run);
    if run && DENIALS.iter().any(|it| after.starts_with(it)) {
        return true;
    }
    let korean = |left: &str| left.ends_with('지') || left.ends_with("지는") || left.ends_with("지도");
    near_end(before).is_some_and(korean) && near_start(after).is_some_and(|right| right.starts_with(['않', '못']))
}

/// A text without the white space at its end, of which there may be a little.
fn near_end(text: &str) -> Option<&str> {
    let left = text.trim_end_matches(is_space);
    (text.len() - left.len() <= 3).then_some(left)
}

fn near_start(text: &str) -> Option<&str> {
    let right = text.trim_start_matches(is_space);
    (text.len() - right.len() <= 3).then_some(right)
}

fn is_space(c: char) -> bool {
    is_gap(c) || c == '\n' || c == '\r'
}

fn listed(words: &[&str], word: &str) -> bool {
    words.iter().any(|it| it.eq_ignore_ascii_case(word))
}

fn bounds(text: &str) -> bool {
    BOUNDS.iter().any(|it| text.get(..it.len()).is_some_and(|head| head.eq_ignore_ascii_case(it)))
}

/// The ASCII letters that a text begins with, as far as a listed word could go.
fn first_word(text: &str) -> &str {
    let end = text.bytes().take(LONGEST).take_while(u8::is_ascii_alphabetic).count();
    text.get(..end).unwrap_or("")
}

fn last_word(text: &str) -> &str {
    let length = text.bytes().rev().take(LONGEST).take_while(u8::is_ascii_alphabetic).count();
    let (rest, word) = text.split_at(text.len() - length);
    // The end of a longer word, or of one with other letters, is none.
    if rest.ends_with(|c: char| kind(c) == Kind::Spaced) { "" } else { word }
}

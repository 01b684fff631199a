//! Claims broken on purpose, English and Chinese: what the gate must notice. Pure and deterministic; what does not
//! apply to a text gives `None`.

use crate::gate::claim;
use crate::model::ChunkId;

/// A way to break a claim or its citation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Mutation {
    /// Another number.
    Number,
    /// Another unit behind the same number.
    Unit,
    /// The opposite: a denial taken away or put in.
    Negation,
    /// Another identifier.
    Identifier,
    /// A chunk that does not exist: the cited one's document with another text.
    UnknownSnapshot,
    /// A claim that the answer no longer makes.
    DroppedClaim,
    /// The citation of another claim.
    SwappedCitation,
    /// A character of the quote.
    QuoteTampering,
}

impl Mutation {
    /// Every mutation.
    pub const ALL: [Self; 8] = [
        Self::Number,
        Self::Unit,
        Self::Negation,
        Self::Identifier,
        Self::UnknownSnapshot,
        Self::DroppedClaim,
        Self::SwappedCitation,
        Self::QuoteTampering,
    ];

    /// The stable name, in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Unit => "unit",
            Self::Negation => "negation",
            Self::Identifier => "identifier",
            Self::UnknownSnapshot => "unknown_snapshot",
            Self::DroppedClaim => "dropped_claim",
            Self::SwappedCitation => "swapped_citation",
            Self::QuoteTampering => "quote_tampering",
        }
    }

    /// What the mutation makes of a claim's text; `None` for those of citations and answers, and where the claim has
    /// nothing of the kind.
    #[must_use]
    pub fn of_claim(self, text: &str) -> Option<String> {
        match self {
            Self::Number => number(text),
            Self::Unit => unit(text),
            Self::Negation => negation(text),
            Self::Identifier => identifier(text),
            _ => None,
        }
    }

    /// What [`Self::QuoteTampering`] makes of a quote.
    #[must_use]
    pub fn of_quote(self, quote: &str) -> Option<String> {
        if self == Self::QuoteTampering { tampered(quote) } else { None }
    }

    /// What [`Self::UnknownSnapshot`] makes of a cited chunk.
    #[must_use]
    pub fn of_chunk(self, chunk: ChunkId) -> Option<ChunkId> {
        (self == Self::UnknownSnapshot).then(|| unknown_snapshot(chunk))
    }

    /// What [`Self::SwappedCitation`] makes of the citations of an answer's claims, one for each claim, and
    /// [`Self::DroppedClaim`] of its claims: the first two that differ change places; the first is left out.
    #[must_use]
    pub fn of_list<T: Clone + PartialEq>(self, items: &[T]) -> Option<Vec<T>> {
        match self {
            Self::SwappedCitation => swapped(items),
            Self::DroppedClaim => items.split_first().map(|(_, rest)| rest.to_vec()),
            _ => None,
        }
    }
}

fn replaced(text: &str, range: std::ops::Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..range.start], &text[range.end..])
}

/// 900 for 45: twenty times the first number in digits; 7 for 0.
fn number(text: &str) -> Option<String> {
    let range = claim::first_digits(text)?;
    let value: u64 = text[range.clone()].parse().ok()?;
    let other = if value == 0 { 7 } else { value.checked_mul(20)? };
    Some(replaced(text, range, &other.to_string()))
}

const UNITS: &[(&str, &str)] = &[
    ("个工作日", "个月"),
    ("工作日", "小时"),
    ("小时", "天"),
    ("分钟", "小时"),
    ("毫秒", "分钟"),
    ("个月", "年"),
    ("美元", "欧元"),
    ("公里", "米"),
    ("天", "小时"),
    ("日", "小时"),
    ("周", "天"),
    ("年", "个月"),
    ("秒", "小时"),
    ("元", "美元"),
    ("milliseconds", "hours"),
    ("seconds", "hours"),
    ("second", "hour"),
    ("minutes", "days"),
    ("minute", "day"),
    ("hours", "weeks"),
    ("hour", "week"),
    ("days", "hours"),
    ("day", "hour"),
    ("weeks", "days"),
    ("week", "day"),
    ("months", "days"),
    ("month", "day"),
    ("years", "months"),
    ("year", "month"),
    ("bytes", "bits"),
    ("byte", "bit"),
    ("kB", "MB"),
    ("KB", "MB"),
    ("MB", "GB"),
    ("GB", "TB"),
    ("TB", "GB"),
    ("KiB", "MiB"),
    ("MiB", "GiB"),
    ("GiB", "MiB"),
    ("ms", "min"),
    ("km", "mm"),
    ("percent", "percentage points"),
    ("dollars", "euros"),
    ("%", "‰"),
];

/// Another unit behind the first number that has one of the list.
fn unit(text: &str) -> Option<String> {
    let digits = text.char_indices().filter(|(_, c)| c.is_ascii_digit());
    digits.map(|(at, _)| at + 1).find_map(|end| {
        let gap = text[end..].len() - text[end..].trim_start_matches([' ', '\u{a0}', '-']).len();
        let behind = &text[end + gap..];
        let (from, to) = UNITS.iter().find(|(from, _)| {
            let next = behind.strip_prefix(from).map(|rest| rest.chars().next());
            let word = from.ends_with(|c: char| c.is_ascii_alphabetic());
            next.is_some_and(|next| !word || next.is_none_or(|c| !c.is_alphanumeric() && c != '_'))
        })?;
        Some(replaced(text, end + gap..end + gap + from.len(), to))
    })
}

/// What is put for what, in the order in which it is looked for; the words of a denial before those that they hold.
const DENIALS: &[(&str, &str)] = &[
    ("必须双重批准", "不需要批准"),
    ("不需要", "必须"),
    ("不得", "可以"),
    ("禁止", "允许"),
    ("不能", "可以"),
    ("不可以", "可以"),
    ("无需", "必须"),
    ("必须", "不需要"),
    ("需要", "不需要"),
    ("可以", "不得"),
    ("允许", "禁止"),
    ("没有", "有"),
    ("不是", "是"),
    ("表示", "不表示"),
    ("保留", "不保留"),
    ("是", "不是"),
    ("为", "不为"),
    (" must not ", " must "),
    (" cannot ", " can "),
    (" can't ", " can "),
    (" may not ", " may "),
    (" does not ", " does "),
    (" is not ", " is "),
    (" are not ", " are "),
    (" isn't ", " is "),
    (" never ", " always "),
    (" must ", " must not "),
    (" can ", " cannot "),
    (" may ", " may not "),
    (" should ", " should not "),
    (" will ", " will not "),
    (" is ", " is not "),
    (" are ", " are not "),
    (" was ", " was not "),
    (" were ", " were not "),
    (" has ", " has no "),
    (" have ", " have no "),
];

/// The claim denied, or its denial taken away.
fn negation(text: &str) -> Option<String> {
    let (at, from, to) = DENIALS.iter().find_map(|(from, to)| text.find(from).map(|at| (at, *from, *to)))?;
    Some(replaced(text, at..at + from.len(), to))
}

/// The next identifier: its last digit counted up, or its last letter changed.
fn identifier(text: &str) -> Option<String> {
    let range = claim::first_identifier(text)?;
    let name = &text[range.clone()];
    let (at, last) = name.char_indices().rfind(|(_, c)| c.is_ascii_alphanumeric())?;
    let other = match last {
        '9' => '0',
        'z' => 'a',
        'Z' => 'A',
        c => char::from_u32(u32::from(c) + 1)?,
    };
    let at = range.start + at;
    Some(replaced(text, at..at + 1, &other.to_string()))
}

/// The id of a chunk of the same document with another text: every bit of its digest turned.
fn unknown_snapshot(chunk: ChunkId) -> ChunkId {
    ChunkId { content: chunk.content.map(|byte| !byte), ..chunk }
}

/// The quote with the character in its middle changed: a digit or a letter, the nearest to the middle.
fn tampered(quote: &str) -> Option<String> {
    let middle = quote.len() / 2;
    let changeable = quote.char_indices().filter(|(_, c)| c.is_alphanumeric());
    let (at, c) = changeable.min_by_key(|(at, _)| at.abs_diff(middle))?;
    let other = match c {
        '9' => '0',
        '0'..='8' => char::from_u32(u32::from(c) + 1)?,
        'x' | 'X' => 'q',
        _ if c.is_ascii() => 'x',
        '否' => '是',
        _ => '否',
    };
    Some(replaced(quote, at..at + c.len_utf8(), &other.to_string()))
}

/// The list with its first item and the first that differs from it swapped; `None` where all are equal.
fn swapped<T: Clone + PartialEq>(items: &[T]) -> Option<Vec<T>> {
    let other = items.iter().position(|item| *item != items[0])?;
    let mut swapped = items.to_vec();
    swapped.swap(0, other);
    Some(swapped)
}

#[cfg(test)]
mod tests;

//! Whether a quote is a contiguous span of the cited text. Pure.
//!
//! Exact means byte for byte. ASCII white space around the quote is dropped first: it holds no word, and models add it.
//! Both ends of the span must stand on borders of words and numbers (`border`), and it must be long enough to show
//! something (`length`). A normalisation is tried only where the exact text does not stand, only where it is allowed,
//! and named only where it is needed. Never overlooked: case, digits, words, negation, accents, look-alike letters,
//! compatibility forms, the marks of Markdown, a minus sign, the border between two blocks.

mod border;
mod length;
mod pattern;
mod pieces;
mod script;
mod shadow;
#[cfg(test)]
mod tests;
mod words;

use std::ops::Range;

use border::{Cut, cut};
use length::{Length, stands_alone};
use pattern::{Longest, Pattern};
use shadow::Shadow;

/// A difference between a quote and its source that may be overlooked where the caller asks for it; nothing else ever is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Normalisation {
    /// Canonical composition (NFC): the same characters, encoded in another way.
    Nfc,
    /// A run of white space, line ends included, for another.
    WhiteSpace,
    /// Typographic quotation marks and apostrophes for plain ones.
    Quotes,
    /// Typographic dashes and hyphens for the plain hyphen; never the minus sign.
    Dashes,
    /// Soft hyphens.
    SoftHyphen,
}

impl Normalisation {
    /// The whole list.
    pub const ALL: [Self; 5] = [Self::Nfc, Self::WhiteSpace, Self::Quotes, Self::Dashes, Self::SoftHyphen];

    /// The stable name: on the command line, in the store and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nfc => "nfc",
            Self::WhiteSpace => "white_space",
            Self::Quotes => "quotes",
            Self::Dashes => "dashes",
            Self::SoftHyphen => "soft_hyphen",
        }
    }
}

/// Where a quote stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QuoteMatch {
    /// The bytes of the cited text that the quote is.
    pub range: Range<usize>,
    /// What had to be overlooked, in the order of [`Normalisation::ALL`]; empty for a verbatim quote.
    pub normalisations: Vec<Normalisation>,
}

/// Why a quote does not stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum QuoteFault {
    /// It has no text.
    Empty,
    /// It is too short to show anything.
    TooShort,
    /// It stands nowhere; the words say what is nearest or which border it breaks.
    Altered(String),
    /// It stands in the other text with this index.
    Misattributed(usize),
    /// Its pieces stand, apart from each other.
    Stitched(String),
}

/// Finds a quote in the cited text. `others` are the other texts of the run, looked at only to say what went wrong.
/// `place` is where the quote is said to begin, in characters: it picks among several places and is held to nothing else.
pub(crate) fn find(
    quote: &str,
    cited: &str,
    place: Option<usize>,
    others: &[&str],
    allowed: &[Normalisation],
) -> Result<QuoteMatch, QuoteFault> {
    let quote = quote.trim_matches(|c: char| c.is_ascii_whitespace());
    if quote.chars().all(|c| c.is_whitespace() || script::is_format(c)) {
        return Err(QuoteFault::Empty);
    }
    let length = Length::of(quote);
    if !length.enough_alone() {
        return Err(QuoteFault::TooShort);
    }
    let needle = Needle::new(quote, allowed);
    let mut found = needle.find(cited, place);
    if let Some(stands) = found.found.take()
        && (length.enough() || stands_alone(cited, &stands.range))
    {
        return Ok(stands);
    }
    if !length.enough() {
        return Err(QuoteFault::TooShort);
    }
    if let Some(index) = others.iter().position(|other| needle.find(other, None).found.is_some()) {
        return Err(QuoteFault::Misattributed(index));
    }
    Err(needle.fault(cited, others, &found))
}

/// Whether a text says enough to be a quote wherever it stands.
pub(crate) fn is_long_enough(text: &str) -> bool {
    Length::of(text).enough()
}

/// A quote to look for, as it is and normalised.
struct Needle<'a> {
    quote: &'a str,
    exact: Pattern<'a>,
    /// In the order of [`Normalisation::ALL`], each once.
    allowed: Vec<Normalisation>,
}

/// What a search came to.
struct Search {
    found: Option<QuoteMatch>,
    /// What the first place that has the words would cut.
    cut: Option<Cut>,
    /// The longest beginning of the quote that stands, as it is.
    longest: Longest,
}

impl<'a> Needle<'a> {
    /// `quote` is not empty.
    fn new(quote: &'a str, allowed: &[Normalisation]) -> Self {
        let allowed = Normalisation::ALL.into_iter().filter(|it| allowed.contains(it)).collect();
        Self { quote, exact: Pattern::new(quote), allowed }
    }

    fn find(&self, text: &str, place: Option<usize>) -> Search {
        let mut nearest = Nearest::new(text, place);
        let longest = self.exact.each(text, |start| nearest.offer(start..start + self.quote.len()));
        let mut normalisations = Vec::new();
        if nearest.best.is_none() && !self.allowed.is_empty() {
            let own = Shadow::new(self.quote, &self.allowed);
            let own = own.text.trim_matches(char::is_whitespace);
            if !own.is_empty() {
                let shadow = Shadow::new(text, &self.allowed);
                Pattern::new(own).each(&shadow.text, |start| {
                    shadow.original(start..start + own.len()).is_none_or(|range| nearest.offer(range))
                });
            }
            if let Some((_, range)) = &nearest.best {
                normalisations = self.needed(&text[range.clone()]);
            }
        }
        let found = nearest.best.map(|(_, range)| QuoteMatch { range, normalisations });
        Search { found, cut: nearest.cut, longest }
    }

    /// The fewest of the allowed normalisations under which the quote is `span`: each is left out in turn, and comes
    /// back where the two differ without it.
    fn needed(&self, span: &str) -> Vec<Normalisation> {
        let equal = |set: &[Normalisation]| {
            let (own, other) = (Shadow::new(self.quote, set), Shadow::new(span, set));
            own.text.trim_matches(char::is_whitespace) == other.text
        };
        let mut needed = self.allowed.clone();
        for it in &self.allowed {
            let fewer: Vec<Normalisation> = needed.iter().copied().filter(|other| other != it).collect();
            if equal(&fewer) {
                needed = fewer;
            }
        }
        needed
    }

    /// What is wrong with a quote that stands nowhere.
    fn fault(&self, cited: &str, others: &[&str], found: &Search) -> QuoteFault {
        let texts: Vec<&str> = std::iter::once(cited).chain(others.iter().copied()).collect();
        let joined = if self.allowed.is_empty() {
            pieces::joined(self.quote, &texts)
        } else {
            let own = Shadow::new(self.quote, &self.allowed);
            let shadows: Vec<Shadow> = texts.iter().map(|text| Shadow::new(text, &self.allowed)).collect();
            let texts: Vec<&str> = shadows.iter().map(|shadow| shadow.text.as_str()).collect();
            pieces::joined(own.text.trim(), &texts)
        };
        if let Some(how) = joined {
            return QuoteFault::Stitched(how);
        }
        QuoteFault::Altered(if let Some(cut) = found.cut {
            format!("the words stand there, but the quote cuts {}", cut.what())
        } else if let Some(more) = Needle::new(self.quote, &Normalisation::ALL).find(cited, None).found {
            let names: Vec<&str> = more.normalisations.iter().map(|it| it.name()).collect();
            format!("it differs from the text in {}, which is not overlooked here", names.join(" and "))
        } else {
            self.difference(cited, found.longest)
        })
    }

    /// Where the longest beginning that stands comes to its end, in words.
    fn difference(&self, cited: &str, longest: Longest) -> String {
        let end = (0..=longest.length).rev().find(|end| self.quote.is_char_boundary(*end)).unwrap_or(0);
        let (same, rest) = self.quote.split_at(end);
        if !Length::of(same).enough_alone() {
            if stands_without_marks(self.quote, cited) {
                return "it stands there without its Markdown marks; quote the marks too".to_owned();
            }
            return "nothing like it stands in the cited text".to_owned();
        }
        let next = cited.get(longest.start + end..).unwrap_or("");
        let excerpt = |text: &str| -> String { text.chars().take(24).collect() };
        let (next, rest) = (excerpt(next), excerpt(rest));
        format!("behind its first {} characters the text has {next:?}, the quote {rest:?}", same.chars().count())
    }
}

/// Whether a quote stands, on borders, once the marks of Markdown are left out of it and of the text.
fn stands_without_marks(quote: &str, text: &str) -> bool {
    let bare = |text: &str| text.replace(['*', '_', '`'], "");
    let (quote, text) = (bare(quote), bare(text));
    !quote.is_empty() && Needle::new(&quote, &[]).find(&text, None).found.is_some()
}

/// Picks among the places where a quote could stand: the one nearest to a place, or the first.
struct Nearest<'a> {
    text: &'a str,
    /// In characters.
    place: Option<usize>,
    /// How far characters were counted: bytes and characters.
    counted: (usize, usize),
    /// The distance from the place, and the bytes.
    best: Option<(usize, Range<usize>)>,
    cut: Option<Cut>,
}

impl<'a> Nearest<'a> {
    fn new(text: &'a str, place: Option<usize>) -> Self {
        Self { text, place, counted: (0, 0), best: None, cut: None }
    }

    /// Looks at one more place, behind the last one; `false` where no later one could be better.
    fn offer(&mut self, range: Range<usize>) -> bool {
        if let Some(cut) = cut(self.text, range.start).or_else(|| cut(self.text, range.end)) {
            self.cut.get_or_insert(cut);
            return true;
        }
        let Some(place) = self.place else {
            self.best = Some((0, range));
            return false;
        };
        let (bytes, chars) = self.counted;
        let start = chars + self.text.get(bytes..range.start).map_or(0, |text| text.chars().count());
        self.counted = (range.start, start);
        let distance = start.abs_diff(place);
        if self.best.as_ref().is_some_and(|(best, _)| *best <= distance) {
            return false;
        }
        self.best = Some((distance, range));
        true
    }
}

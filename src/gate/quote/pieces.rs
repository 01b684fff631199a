//! Whether a quote that does not stand is joined from pieces that do.

use super::border::cut;
use super::length::Length;
use super::pattern::Pattern;

/// A quote in more pieces than this is not taken apart.
const MOST_PIECES: usize = 8;
/// Words that must be left out between two pieces before they stand apart; fewer is an alteration of one span.
const LEAST_GAP: usize = 3;

const ELLIPSES: &[&str] = &["[...]", "[…]", "(...)", "(…)", "...", "…", "。。。"];

/// Where a piece stands: which text, from which byte to which.
type Place = (usize, usize, usize);

/// How a quote is joined from pieces of these texts, in words; none where it is not.
pub(super) fn joined(quote: &str, texts: &[&str]) -> Option<String> {
    if let Some(parts) = around_ellipses(quote) {
        let all = parts.iter().all(|part| texts.iter().any(|text| text.contains(part)));
        return (all && !parts.is_empty())
            .then(|| "its parts stand, but its ellipsis does not: an ellipsis makes two quotes".to_owned());
    }
    let mut places: Vec<Place> = Vec::new();
    let mut rest = quote;
    while !rest.is_empty() {
        if places.len() == MOST_PIECES {
            return None;
        }
        let (place, length) = longest_piece(rest, texts)?;
        places.push(place);
        rest = rest[length..].trim_start();
    }
    let apart = places.windows(2).any(|pair| {
        let ((text, _, end), (next_text, start, _)) = (pair[0], pair[1]);
        let between = texts.get(text).and_then(|text| text.get(end..start));
        text != next_text || between.is_none_or(|between| words(between) >= LEAST_GAP)
    });
    (places.len() > 1 && apart).then(|| format!("it is joined from {} pieces that stand apart", places.len()))
}

/// The parts of a quote between its ellipses; none where it has no ellipsis, or too many.
fn around_ellipses(quote: &str) -> Option<Vec<&str>> {
    let mut parts = vec![quote];
    for ellipsis in ELLIPSES {
        if !quote.contains(ellipsis) {
            continue;
        }
        let mut split = Vec::new();
        for part in parts {
            split.extend(part.split(ellipsis).take(MOST_PIECES + 1));
        }
        parts = split;
        parts.truncate(MOST_PIECES * ELLIPSES.len());
    }
    let whole = parts.len() == 1;
    parts.retain_mut(|part| {
        *part = part.trim_matches(|c: char| c.is_whitespace() || c == '.');
        !part.is_empty()
    });
    (!whole && parts.len() <= MOST_PIECES).then_some(parts)
}

/// The longest beginning of `rest` that stands in a text and could be a quote, and its length in `rest`.
fn longest_piece(rest: &str, texts: &[&str]) -> Option<(Place, usize)> {
    let pattern = Pattern::new(rest);
    let all = texts.iter().enumerate().map(|(index, text)| (index, pattern.each(text, |_| false)));
    let (index, longest) = all.rev().max_by_key(|(_, longest)| longest.length)?;
    let ends = (longest.length.saturating_sub(256)..=longest.length).rev();
    let end = ends.filter(|end| rest.is_char_boundary(*end)).find(|end| cut(rest, *end).is_none())?;
    let piece = rest[..end].trim_end();
    Length::of(piece).enough().then_some(((index, longest.start, longest.start + piece.len()), end))
}

fn words(text: &str) -> usize {
    text.split_whitespace().take(LEAST_GAP).count().max(text.chars().take(200).filter(|c| !c.is_ascii()).count() / 4)
}

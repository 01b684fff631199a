//! Identifiers: names that must stand as whole tokens and in their own case, such as `E42`, `max_chars`, `HTTP/2`,
//! `--dry-run`, `src/lib.rs`, `1.2.3`.

use std::ops::Range;

use super::token::{Kind, Token};

/// An identifier, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identifier {
    /// As it is written, full-width forms as plain ones.
    pub(super) name: String,
    /// Its tokens.
    pub(super) tokens: Range<usize>,
    /// Whether it only may be one: a word in capitals. Where it is missing, nothing can be said of the claim.
    pub(super) soft: bool,
}

/// Marks that stand inside identifiers.
const JOINTS: &[char] =
    &['_', '-', '.', '/', ':', '+', '#', '@', '~', '\\', '=', '&', '?', '%', '$', '*', '<', '>', '(', ')'];
/// A chain of more tokens is cut there.
const LONGEST_CHAIN: usize = 128;
/// Marks that begin one.
const OPENERS: &[char] = &['-', '/', '.', '~', '@', '#', '$', '_'];

fn has(token: &Token, marks: &[char]) -> bool {
    token.kind == Kind::Mark && token.folded.starts_with(marks)
}

/// The tokens tied together from `at`: letters, digits and the joints between them, without what trails; and where
/// they end with it.
fn chain(tokens: &[Token], at: usize) -> (Range<usize>, usize) {
    let mut end = at;
    while let Some(token) = tokens.get(end).filter(|_| end - at < LONGEST_CHAIN) {
        let tied = end == at || !token.spaced;
        let part = matches!(token.kind, Kind::Word | Kind::Digits);
        let joint = has(token, JOINTS) && !has(token, &['(', ')', '<', '>']) && (end > at || has(token, OPENERS));
        if !tied || !part && !joint {
            break;
        }
        end += 1;
    }
    let keeps = |token: &Token| {
        matches!(token.kind, Kind::Word | Kind::Digits) || token.is('#') || token.is('+') || token.is('_')
    };
    let whole = end;
    while end > at && !keeps(&tokens[end - 1]) {
        end -= 1;
    }
    (at..end, whole)
}

fn text(tokens: &[Token]) -> String {
    tokens.iter().map(|token| token.cased.as_str()).collect()
}

/// The identifier that begins at `at`. `shouting` texts, in capitals throughout, have no words in capitals. `seen` is
/// where what was found to be none ends, so that each token is looked at once.
pub(super) fn identifier(tokens: &[Token], at: usize, shouting: bool, seen: &mut usize) -> Option<Identifier> {
    if tokens.get(at)?.is('`') {
        return code(tokens, at);
    }
    if at < *seen {
        return None;
    }
    if at > 0 && !tokens[at].spaced && matches!(tokens[at - 1].kind, Kind::Word | Kind::Digits) {
        return None;
    }
    let (range, whole) = chain(tokens, at);
    *seen = whole;
    let parts = &tokens[range.clone()];
    if parts.is_empty() {
        return None;
    }
    let name = text(parts);
    let hard = is_hard(parts, &name);
    let soft = !hard && !shouting && is_acronym(&name);
    (hard || soft).then_some(Identifier { name, tokens: range, soft })
}

/// What stands between backticks, where it is short and holds anything but a number.
fn code(tokens: &[Token], at: usize) -> Option<Identifier> {
    const LONGEST: usize = 40;
    let len = tokens[at + 1..].iter().take(LONGEST).position(|token| token.is('`'))?;
    let inside = &tokens[at + 1..at + 1 + len];
    let named = inside.iter().any(|token| token.kind == Kind::Word || token.kind == Kind::Han);
    if !named {
        return None;
    }
    let name = inside.iter().enumerate().fold(String::new(), |mut name, (index, token)| {
        if index > 0 && token.spaced {
            name.push(' ');
        }
        name.push_str(&token.cased);
        name
    });
    Some(Identifier { name, tokens: at..at + len + 2, soft: false })
}

fn is_hard(parts: &[Token], name: &str) -> bool {
    let words = parts.iter().filter(|token| token.kind == Kind::Word).count();
    let digits = parts.iter().filter(|token| token.kind == Kind::Digits).count();
    let marks = |mark: char| parts.iter().filter(|token| token.is(mark)).count();
    if parts.len() == 1 {
        return is_mixed_case(name);
    }
    let first_is_mark = parts[0].kind == Kind::Mark;
    let points_of_number = digits >= 3 && words == 0 && marks('.') + 1 == digits;
    let abbreviated = marks('.') > 0
        && words > 0
        && parts.iter().all(|token| token.is('.') || token.kind == Kind::Word && token.cased.chars().count() == 1);
    if abbreviated {
        return false;
    }
    // Compounds with a hyphen are words, unless they hold digits or capitals inside: `GPT-4`, not `well-known`.
    (words > 0 && digits > 0)
        || points_of_number
        || digits >= 2 && words == 0 && (marks('-') > 0 || marks(':') > 1)
        || marks('_') > 0 && words > 0
        || name.starts_with('-') && words > 0
        || name.contains("::")
        || (marks('@') > 0 || marks('#') > 0) && words > 0
        || marks('/') > 0 && words > 0 && (first_is_mark || marks('/') > 1 || marks('.') > 0)
        || marks('.') > 0 && words > 0 && !parts[parts.len() - 1].is('.')
        || parts.iter().any(|token| token.kind == Kind::Word && is_mixed_case(&token.cased))
        || name.ends_with("++")
}

/// `maxChars`, `GitHub`, `mRNA`: a capital behind a small letter; not `APIs`.
fn is_mixed_case(word: &str) -> bool {
    let chars: Vec<char> = word.chars().collect();
    chars.windows(2).any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase())
}

/// `NASA`, `APIs`, `I/O`.
fn is_acronym(name: &str) -> bool {
    let stem = name.strip_suffix('s').unwrap_or(name);
    let letters = stem.chars().filter(|c| c.is_alphabetic()).count();
    letters >= 2 && stem.chars().all(|c| c.is_uppercase() || matches!(c, '/' | '-' | '&'))
}

/// Whether a text is in capitals throughout.
pub(super) fn is_shouting(tokens: &[Token]) -> bool {
    let words: Vec<&Token> = tokens.iter().filter(|token| token.kind == Kind::Word).collect();
    let capitals = words.iter().filter(|token| token.cased.chars().all(char::is_uppercase)).count();
    capitals >= 3 && capitals * 2 > words.len()
}

/// Whether an identifier stands in a text as a whole token. The text is read as tokens, so that full-width forms and
/// line ends make no difference.
pub(super) fn stands(name: &[Token], text: &[Token]) -> bool {
    let name = trimmed(name);
    let Some(first) = name.first() else { return false };
    (0..text.len()).any(|at| {
        let end = at + name.len();
        if text[at].cased != first.cased || end > text.len() {
            return false;
        }
        let equal = name
            .iter()
            .zip(&text[at..end])
            .enumerate()
            .all(|(index, (a, b))| a.cased == b.cased && (index == 0 || a.spaced == b.spaced));
        equal && is_border_before(text, at) && is_border_behind(text, end)
    })
}

fn trimmed(name: &[Token]) -> &[Token] {
    match name {
        [first, inside @ .., last] if first.is('`') && last.is('`') => inside,
        all => all,
    }
}

fn is_border_before(text: &[Token], at: usize) -> bool {
    if at == 0 || text[at].spaced || text[at].kind == Kind::Han {
        return true;
    }
    let before = &text[at - 1];
    match before.kind {
        Kind::Han => true,
        Kind::Word | Kind::Digits => text[at].kind == Kind::Mark && !has(&text[at], JOINTS),
        // A joint with something before it, or one that begins a name: `max_` of `max_chars`, `--` of `--force`.
        Kind::Mark => !has(before, &['_', '-', '.', '/', '+', '#', '@', '~', '$', ':']) || is_loose(text, at - 1),
    }
}

/// Whether a mark before a name only separates: one colon, not two.
fn is_loose(text: &[Token], at: usize) -> bool {
    text[at].is(':') && !(at > 0 && !text[at].spaced && text[at - 1].is(':'))
}

fn is_border_behind(text: &[Token], end: usize) -> bool {
    let Some(next) = text.get(end) else { return true };
    if next.spaced || next.kind == Kind::Han {
        return true;
    }
    match next.kind {
        Kind::Word | Kind::Digits => text[end - 1].kind == Kind::Mark,
        Kind::Han => true,
        Kind::Mark => {
            let goes_on = text.get(end + 1).is_some_and(|after| {
                !after.spaced && (matches!(after.kind, Kind::Word | Kind::Digits) || has(after, &['_', '/', '+', '#']))
            });
            let joint = has(next, &['_', '-', '.', '/', '+', '#', '@', '~', '\\', ':', '&', '\'']);
            !(joint && goes_on || has(next, &['_', '+']))
        }
    }
}

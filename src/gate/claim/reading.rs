//! One reading of a text: its values, identifiers and cues, and the units by which it is compared with another.

use super::cues;
use super::identifiers::{self, Identifier};
use super::polarity::{Class, Cue};
use super::token::{self, Kind, Token};
use super::values::{self, Value};

/// What two texts are compared by: a word's stem, a Han character, a value, an identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) key: String,
    /// How much it says; at least 1.
    pub(super) weight: u32,
    /// Its first token.
    pub(super) at: usize,
    /// Whether it is a value, an identifier or a closed cue: never to be passed over.
    pub(super) firm: bool,
}

/// The weight of a word that only ties others together.
pub(super) const SMALL: u32 = 1;
const HAN: u32 = 2;
const CONTENT: u32 = 4;

/// A text, read.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    pub(super) tokens: Vec<Token>,
    pub(super) values: Vec<Value>,
    pub(super) identifiers: Vec<Identifier>,
    pub(super) cues: Vec<Cue>,
    pub(super) units: Vec<Unit>,
    /// It asks.
    pub(super) question: bool,
}

/// Words without which a sentence says the same: articles, forms of be, do and have, and the like.
const EMPTY: &str = " a an the is are was were be been being am do does did has have had it its this these those that there \
    which who also then so as 's 的 了 是 为 着 也 就 之 其 该 这 那 ";
/// Words that tie others together.
const TYING: &str = " of in on at to for from with into onto and or but as by than about over under between through during per \
    via not no if when while will would can could may might must shall should we you they he she i our your their his her \
    在 于 有 会 和 与 及 或 而 但 对 从 到 向 把 将 被 由 里 中 上 可 以 能 ";

/// Marks that close a sentence behind its end.
const CLOSING: &str = "*_`\"')]}”’」』";

fn listed(list: &str, word: &str) -> bool {
    !word.contains(' ') && list.contains(&format!(" {word} "))
}

/// Whether a word says nothing by itself.
pub(super) fn is_small_word(word: &str) -> bool {
    listed(EMPTY, word) || listed(TYING, word)
}

impl Reading {
    /// Reads a text.
    pub(super) fn of(text: &str) -> Self {
        let mut reading = Self { tokens: token::tokens(text), ..Self::default() };
        reading.read();
        reading
    }

    fn read(&mut self) {
        let tokens = std::mem::take(&mut self.tokens);
        let shouting = identifiers::is_shouting(&tokens);
        let (mut at, mut cue_end, mut said_end, mut opposite_end, mut seen, mut code_end) = (0, 0, 0, 0, 0, 0);
        let mut ends = Vec::new();
        while at < tokens.len() {
            if at >= opposite_end
                && let Some((class, next)) = cues::opposite(&tokens, at)
            {
                self.cues.push(Cue { class, words: words(&tokens[at..next]), at, anchor: None });
                ends.push(next);
                opposite_end = next;
            }
            if at >= cue_end
                && let Some(value) = values::value(&tokens, at)
            {
                let unit = value.unit().map(|unit| format!(" {unit}")).unwrap_or_default();
                self.units.push(Unit { key: format!("={}{unit}", value.canonical()), weight: CONTENT, at, firm: true });
                at = value.tokens.end.max(at + 1);
                self.values.push(value);
                continue;
            }
            if at >= cue_end
                && let Some((class, next)) = cues::cue(&tokens, at)
            {
                if class != Class::Neutral {
                    self.cues.push(Cue { class, words: words(&tokens[at..next]), at, anchor: None });
                    ends.push(next);
                }
                if class.is_closed() {
                    self.units.push(Unit { key: format!("!{class:?}"), weight: CONTENT, at, firm: true });
                    at = next;
                    continue;
                }
                cue_end = next;
                // The words of a cue are compared as a cue; those of what only looks like one as words.
                said_end = if class == Class::Neutral { said_end } else { next };
            }
            if let Some(identifier) = identifiers::identifier(&tokens, at, shouting, &mut seen) {
                if tokens[at].is('`') {
                    code_end = identifier.tokens.end;
                }
                at = self.add_identifier(&tokens, identifier);
                continue;
            }
            self.add_word(&tokens[at], at, at < said_end, at < code_end);
            at += 1;
        }
        for (cue, end) in self.cues.iter_mut().zip(ends) {
            let from = self.units.partition_point(|unit| unit.at < end);
            cue.anchor =
                self.units[from..].iter().take(12).find(|unit| unit.weight > SMALL).map(|unit| unit.key.clone());
        }
        let closes = |token: &&Token| token.kind == Kind::Mark && !token.is('?') && CLOSING.contains(&token.folded[..]);
        self.question = tokens.iter().rev().find(|token| !closes(token)).is_some_and(|token| token.is('?'));
        self.tokens = tokens;
    }

    /// Notes an identifier; returns where to read on. What stands between backticks is read as well.
    fn add_identifier(&mut self, tokens: &[Token], identifier: Identifier) -> usize {
        let (start, end) = (identifier.tokens.start, identifier.tokens.end);
        let code = tokens[start].is('`');
        if !code {
            let key = if identifier.soft { identifier.name.to_lowercase() } else { identifier.name.clone() };
            self.units.push(Unit { key, weight: CONTENT, at: start, firm: true });
        }
        self.identifiers.push(identifier);
        if code { start + 1 } else { end }
    }

    fn add_word(&mut self, token: &Token, at: usize, in_cue: bool, in_code: bool) {
        let weight = match token.kind {
            Kind::Mark | Kind::Digits if !token.is('%') => return,
            Kind::Word | Kind::Digits if in_code => CONTENT,
            _ if listed(EMPTY, &token.folded) => return,
            _ if in_cue || listed(TYING, &token.folded) => SMALL,
            Kind::Han => HAN,
            _ => CONTENT,
        };
        let word = token.folded.strip_suffix("'s").unwrap_or(&token.folded);
        self.units.push(Unit { key: crate::lexicon::stem(word).into_owned(), weight, at, firm: in_code });
    }

    /// Whether it says anything that could be compared.
    pub(super) fn has_content(&self) -> bool {
        self.units.iter().any(|unit| unit.weight > SMALL)
    }
}

fn words(tokens: &[Token]) -> String {
    tokens.iter().enumerate().fold(String::new(), |mut words, (index, token)| {
        if index > 0 && token.spaced {
            words.push(' ');
        }
        words.push_str(&token.folded);
        words
    })
}

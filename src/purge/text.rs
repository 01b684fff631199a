//! What was removed, as texts that can be looked for: lines and words that nothing which stays has.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::AhoCorasick;

use super::RemovedText;
use crate::error::{Error, Result};
use crate::lexicon::{Lexer, TermCounts};

/// A shorter line stands in too many texts to be anybody's.
const LINE_CHARS: usize = 16;
/// A longer line is looked for in pieces of this length: it may be cut where one of SQLite's pages ends.
const PIECE_CHARS: usize = 64;
/// A shorter word is met by chance in the bytes of a large file.
const WORD_BYTES: usize = 6;
/// As is a shorter one of hexadecimal digits, since the store is full of digests.
const HEX_BYTES: usize = 12;

/// A text in the form in which texts are compared: each character in lower case.
pub(super) fn folded(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Whether finding a word says anything.
fn tells(word: &str) -> bool {
    word.len() >= WORD_BYTES && (word.len() >= HEX_BYTES || !word.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Where a text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The document, or a quote from it: a record that has one of its lines has it from there.
    Document,
    /// Somebody's words about it.
    Record,
}

/// What is removed, collected.
pub(super) struct Candidates {
    /// Lines, and whether they are the document's own.
    lines: BTreeMap<String, bool>,
    words: BTreeSet<String>,
    too_short: BTreeSet<String>,
    lexer: Lexer,
    counts: TermCounts,
}

impl Candidates {
    pub(super) fn new() -> Self {
        Self {
            lines: BTreeMap::new(),
            words: BTreeSet::new(),
            too_short: BTreeSet::new(),
            lexer: Lexer::new(),
            counts: TermCounts::new(),
        }
    }

    /// Adds the lines and words of a text.
    pub(super) fn text(&mut self, text: &str, origin: Origin) {
        for line in text.lines().map(str::trim).filter(|line| line.chars().count() >= LINE_CHARS) {
            for piece in pieces(line) {
                // As it stands in a column of JSON, too.
                let json = serde_json::Value::from(piece).to_string();
                for form in [piece, &json[1..json.len() - 1]] {
                    *self.lines.entry(folded(form)).or_default() |= origin == Origin::Document;
                }
            }
        }
        folded(text).split(|c: char| !c.is_alphanumeric()).for_each(|word| self.word(word));
        for (word, _) in self.lexer.surface_terms(text) {
            self.word(&folded(&word));
        }
    }

    /// Adds what the index has of a chunk.
    pub(super) fn terms(&mut self, title: &str, headings: &[String], text: &str) {
        let mut counts = std::mem::replace(&mut self.counts, TermCounts::new());
        self.lexer.chunk_terms(title, headings, text, &mut counts);
        counts.iter().for_each(|(term, _)| self.word(&folded(term)));
        self.counts = counts;
    }

    /// Adds every text of a JSON value.
    pub(super) fn json(&mut self, value: &serde_json::Value) {
        match value {
            serde_json::Value::String(text) => self.text(text, Origin::Document),
            serde_json::Value::Array(values) => values.iter().for_each(|value| self.json(value)),
            serde_json::Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                self.text(name, Origin::Document);
                self.json(value);
            }),
            _ => {}
        }
    }

    fn word(&mut self, word: &str) {
        let set = if tells(word) { &mut self.words } else { &mut self.too_short };
        if !word.is_empty() && !set.contains(word) {
            set.insert(word.to_owned());
        }
    }
}

/// A line in pieces; the last one reaches back, so that none is short.
fn pieces(line: &str) -> Vec<&str> {
    let starts: Vec<usize> = line.char_indices().map(|(at, _)| at).collect();
    if starts.len() <= PIECE_CHARS {
        return vec![line];
    }
    let end = |first: usize| starts.get(first + PIECE_CHARS).copied().unwrap_or(line.len());
    let mut firsts: Vec<usize> = (0..=starts.len() - PIECE_CHARS).step_by(PIECE_CHARS).collect();
    firsts.push(starts.len() - PIECE_CHARS);
    firsts.dedup();
    firsts.into_iter().map(|first| line[starts[first]..end(first)].trim()).collect()
}

/// Where else a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Elsewhere {
    Nowhere,
    /// In another document, or in what is kept of all.
    Kept,
    /// In a question or an answer that has nothing else to do with the document.
    Recorded,
}

/// Takes out of the candidates what stands elsewhere: finding it would prove nothing.
pub(super) struct Sieve {
    texts: Vec<(String, Kind)>,
    elsewhere: Vec<Elsewhere>,
    automaton: AhoCorasick,
    too_short: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    OwnLine,
    Line,
    Word,
}

impl Sieve {
    pub(super) fn new(candidates: Candidates) -> Result<Self> {
        let Candidates { lines, words, too_short, .. } = candidates;
        let kind = |own: bool| if own { Kind::OwnLine } else { Kind::Line };
        let mut texts: Vec<(String, Kind)> = lines.into_iter().map(|(line, own)| (line, kind(own))).collect();
        texts.extend(words.into_iter().map(|word| (word, Kind::Word)));
        let automaton = automaton(texts.iter().map(|(text, _)| text))?;
        let elsewhere = vec![Elsewhere::Nowhere; texts.len()];
        Ok(Self { texts, elsewhere, automaton, too_short: too_short.len() as u64 })
    }

    /// A text that stays.
    pub(super) fn kept(&mut self, text: &str) {
        self.mark(text, Elsewhere::Kept);
    }

    /// A recorded text that stays.
    pub(super) fn recorded(&mut self, text: &str) {
        self.mark(text, Elsewhere::Recorded);
    }

    fn mark(&mut self, text: &str, elsewhere: Elsewhere) {
        for found in self.automaton.find_overlapping_iter(&folded(text)) {
            let mark = &mut self.elsewhere[found.pattern().as_usize()];
            if *mark == Elsewhere::Nowhere {
                *mark = elsewhere;
            }
        }
    }

    /// Whether a text has a word that stood nowhere else so far.
    pub(super) fn meets(&self, text: &str) -> bool {
        let nowhere = |place: usize| self.elsewhere[place] == Elsewhere::Nowhere;
        self.automaton.find_overlapping_iter(&folded(text)).any(|found| nowhere(found.pattern().as_usize()))
    }

    /// Whether a text has a line of the document that stood nowhere else so far.
    pub(super) fn quotes(&self, text: &str) -> bool {
        let own = |place: usize| self.texts[place].1 == Kind::OwnLine && self.elsewhere[place] == Elsewhere::Nowhere;
        self.automaton.find_overlapping_iter(&folded(text)).any(|found| own(found.pattern().as_usize()))
    }

    /// What is left.
    pub(super) fn into_removed(self) -> RemovedText {
        let mut removed = RemovedText { words_too_short: self.too_short, ..RemovedText::default() };
        for ((text, kind), elsewhere) in self.texts.into_iter().zip(self.elsewhere) {
            match (kind, elsewhere) {
                (Kind::Word, Elsewhere::Nowhere) => removed.words.push(text),
                (_, Elsewhere::Nowhere) => removed.lines.push(text),
                (Kind::Word, Elsewhere::Kept) => removed.words_elsewhere += 1,
                (Kind::Word, Elsewhere::Recorded) => removed.words_in_records += 1,
                (_, _) => removed.lines_elsewhere += 1,
            }
        }
        removed
    }
}

/// Finds any of the texts, which are in lower case.
pub(super) fn automaton(texts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<AhoCorasick> {
    AhoCorasick::new(texts)
        .map_err(|error| Error::Invalid { message: format!("there is too much text to look for: {error}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn removed(document: &str, kept: &[&str], recorded: &[&str]) -> RemovedText {
        let mut candidates = Candidates::new();
        candidates.text(document, Origin::Document);
        candidates.terms("", &[], document);
        let mut sieve = Sieve::new(candidates).unwrap();
        for text in kept {
            sieve.kept(text);
        }
        for text in recorded {
            sieve.recorded(text);
        }
        sieve.into_removed()
    }

    #[test]
    fn words_stems_and_lines_are_looked_for_unless_they_stand_elsewhere() {
        let found = removed("# Zebrafish\nThe Canaries were flying, 42 of them.\n", &["Flying lessons"], &["why were"]);
        assert_eq!(found.lines, ["the canaries were flying, 42 of them."]);
        assert!(["zebrafish", "canaries", "canari"].iter().all(|word| found.words.iter().any(|it| it == word)));
        assert!(!found.words.iter().any(|word| word == "flying" || word == "42"), "{found:?}");
        assert!(found.words_elsewhere >= 1 && found.words_too_short >= 3, "{found:?}");
        let all = removed("the secret is the canary bird", &["THE SECRET IS THE CANARY BIRD!", "canari"], &[]);
        assert!(all.lines.is_empty() && all.words.is_empty(), "{all:?}");
        assert_eq!(all.lines_elsewhere, 1);
        let asked = removed("zebrafish", &[], &["Zebrafish?"]);
        assert_eq!((asked.words.len(), asked.words_in_records), (0, 1), "{asked:?}");
    }

    #[test]
    fn long_lines_come_in_pieces_and_json_as_it_is_written() {
        let line = "wörter ".repeat(30);
        let parts = pieces(line.trim());
        assert!(
            parts.len() == 4 && parts.iter().all(|part| (LINE_CHARS..=PIECE_CHARS).contains(&part.chars().count()))
        );
        let quoted = removed("He said \"zebrafish\" to me", &[], &[]);
        assert!(quoted.lines.contains(&"he said \\\"zebrafish\\\" to me".to_owned()), "{quoted:?}");
        assert_eq!(quoted.lines.len(), 2);
    }

    #[test]
    fn short_words_and_digits_of_digests_tell_nothing() {
        assert!(tells("canary") && tells("密钥") && tells("deadbeefdead"));
        assert!(!tells("bird") && !tells("密") && !tells("deadbeef") && !tells("20261130"));
    }
}

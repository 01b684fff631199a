//! The rules, read from their file once.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::Anchored;
use aho_corasick::Input;
use aho_corasick::automaton::{Automaton, OverlappingState, StateID};
use aho_corasick::dfa::DFA;
use regex::Regex;
use serde::Deserialize;

use super::hidden::Detector;
use super::shadow::{Form, Sink, fold, fold_letters};

/// A match and the anchors it needs lie within so many bytes of its first anchor.
const NEAR: usize = 600;

/// The rules of this build.
pub(super) static RULES: LazyLock<Rules> =
    LazyLock::new(|| Rules::read(include_str!("../unsafe_rules.toml")).expect("the rules of the build can be read"));

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRules {
    fragments: HashMap<String, String>,
    rule: Vec<RawRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    id: String,
    class: String,
    #[serde(default)]
    needs: Vec<Vec<String>>,
    #[serde(default)]
    patterns: Vec<String>,
    unless: Option<String>,
    detector: Option<String>,
    positive: Vec<String>,
    negative: Vec<String>,
}

/// One rule.
pub(super) struct Rule {
    pub id: &'static str,
    /// What it is about: the first part of its id, but for tests' sake in words.
    #[cfg_attr(not(test), allow(dead_code))]
    pub class: String,
    /// Of each group of anchors, one must stand near; one of the first group, in the match itself.
    needs: Vec<Vec<usize>>,
    /// One pattern for all of the rule's.
    pattern: String,
    unless: Option<String>,
    compiled: OnceLock<Option<(Regex, Option<Regex>)>>,
    pub detector: Option<Detector>,
    #[cfg_attr(not(test), allow(dead_code))]
    pub positive: Vec<String>,
    #[cfg_attr(not(test), allow(dead_code))]
    pub negative: Vec<String>,
}

/// All rules, and the automaton of their anchors.
pub(super) struct Rules {
    rules: Vec<Rule>,
    automaton: DFA,
    start: StateID,
    anchors: usize,
}

/// What one pass over a text finds.
pub(super) struct Seen {
    anchors: Vec<bool>,
    /// Whether the text has characters that the shadow leaves out.
    pub format_characters: bool,
}

impl Rules {
    fn read(toml: &str) -> Result<Self, String> {
        let RawRules { fragments, rule: raw } = toml::from_str(toml).map_err(|error| error.to_string())?;
        let mut anchors: Vec<String> = Vec::new();
        let mut rules = Vec::with_capacity(raw.len());
        for raw in raw {
            let mut number = |anchor: &String| {
                let anchor = fold_letters(&anchor.replace('_', " "));
                anchors.iter().position(|known| *known == anchor).unwrap_or_else(|| {
                    anchors.push(anchor);
                    anchors.len() - 1
                })
            };
            let needs = raw.needs.iter().map(|group| group.iter().map(&mut number).collect()).collect();
            let patterns: Vec<String> = raw.patterns.iter().map(|pattern| expand(pattern, &fragments)).collect();
            let detector = raw.detector.as_deref().map(|name| {
                Detector::named(name).ok_or_else(|| format!("rule {}: no detector is called {name}", raw.id))
            });
            rules.push(Rule {
                // Read once in the life of a process, and few.
                id: raw.id.leak(),
                class: raw.class,
                needs,
                pattern: patterns.join("|"),
                unless: raw.unless.map(|pattern| expand(&pattern, &fragments)),
                compiled: OnceLock::new(),
                detector: detector.transpose()?,
                positive: raw.positive,
                negative: raw.negative,
            });
        }
        let automaton = DFA::new(&anchors).map_err(|error| error.to_string())?;
        let start = automaton.start_state(Anchored::No).map_err(|error| error.to_string())?;
        Ok(Self { rules, automaton, start, anchors: anchors.len() })
    }

    pub(super) fn all(&self) -> &[Rule] {
        &self.rules
    }

    /// Which anchors stand in the shadow of a text, without making it.
    pub(super) fn anchors_in(&self, text: &str, form: Form) -> Seen {
        let mut watch = Watch { automaton: &self.automaton, state: self.start, seen: vec![false; self.anchors] };
        let format_characters = fold(text, form, &mut watch);
        Seen { anchors: watch.seen, format_characters }
    }

    /// Where anchors end in a shadow, by place.
    pub(super) fn hits(&self, shadow: &str) -> Vec<(usize, usize)> {
        // To an anchor, where a block begins is a space like another.
        let shadow = shadow.replace('\n', " ");
        let input = Input::new(&shadow);
        let mut state = OverlappingState::start();
        let mut hits = Vec::new();
        loop {
            // Only a search that starts anchored, which this one does not, could be refused.
            if self.automaton.try_find_overlapping(&input, &mut state).is_err() {
                return hits;
            }
            let Some(found) = state.get_match() else { return hits };
            hits.push((found.end(), found.pattern().as_usize()));
        }
    }

    /// The rules whose patterns could match.
    pub(super) fn concerned<'a>(&'a self, seen: &'a Seen) -> impl Iterator<Item = &'a Rule> {
        let all_there = |rule: &&Rule| rule.needs.iter().all(|group| group.iter().any(|&anchor| seen.anchors[anchor]));
        self.rules.iter().filter(|rule| rule.detector.is_none()).filter(all_there)
    }
}

impl Rule {
    /// The pattern, and what must not stand before it; compiled when first needed.
    pub(super) fn compile(&self) -> Result<(Regex, Option<Regex>), regex::Error> {
        let unless = self.unless.as_deref().map(Regex::new).transpose()?;
        Ok((Regex::new(&format!("(?s){}", self.pattern))?, unless))
    }

    /// Each match in a shadow, in order, given where anchors stand in it.
    pub(super) fn find<'t>(
        &'t self,
        shadow: &'t str,
        hits: &[(usize, usize)],
    ) -> impl Iterator<Item = Range<usize>> + use<'t> {
        let windows = self.windows(shadow, hits);
        let compiled = self.compiled.get_or_init(|| self.compile().ok()).as_ref();
        compiled.into_iter().flat_map(move |(pattern, unless)| {
            let matches = windows.clone().into_iter().flat_map(move |window| {
                // What stands before the window is seen by borders; where it is cut off, nothing ends.
                let (seen, mut at) = (&shadow[..window.end], window.start);
                std::iter::from_fn(move || {
                    let found = pattern.find_at(seen, at)?;
                    at = found.end();
                    Some(found.range())
                })
            });
            matches.filter(move |range| {
                let before = shadow[..range.start].char_indices().rev().nth(15).map_or(0, |(at, _)| at);
                !unless.as_ref().is_some_and(|unless| unless.is_match(&shadow[before..range.start]))
            })
        })
    }

    /// The parts of a shadow in which all anchors stand near one another, in order and apart.
    fn windows(&self, shadow: &str, hits: &[(usize, usize)]) -> Vec<Range<usize>> {
        let places = |group: &Vec<usize>| -> Vec<usize> {
            hits.iter().filter(|(_, anchor)| group.contains(anchor)).map(|(at, _)| *at).collect()
        };
        let Some((first, others)) = self.needs.split_first() else { return Vec::new() };
        let others: Vec<Vec<usize>> = others.iter().map(places).collect();
        let mut windows: Vec<Range<usize>> = Vec::new();
        for at in places(first) {
            let start = shadow.floor_char_boundary(at.saturating_sub(NEAR));
            let end = shadow.ceil_char_boundary((at + NEAR).min(shadow.len()));
            let near =
                |places: &Vec<usize>| places.get(places.partition_point(|&it| it < start)).is_some_and(|&it| it <= end);
            if !others.iter().all(near) {
                continue;
            }
            match windows.last_mut() {
                Some(last) if start <= last.end => last.end = end,
                _ => windows.push(start..end),
            }
        }
        windows
    }
}

/// Steps the automaton over what the folding emits.
struct Watch<'a> {
    automaton: &'a DFA,
    state: StateID,
    seen: Vec<bool>,
}

impl Sink for Watch<'_> {
    #[inline]
    fn put(&mut self, source: usize, character: char) {
        for byte in character.encode_utf8(&mut [0; 4]).bytes() {
            self.put_ascii(source, byte);
        }
    }

    #[inline]
    fn put_ascii(&mut self, _: usize, byte: u8) {
        let byte = if byte == b'\n' { b' ' } else { byte };
        self.state = self.automaton.next_state(Anchored::No, self.state, byte);
        if self.automaton.is_special(self.state) && self.automaton.is_match(self.state) {
            for index in 0..self.automaton.match_len(self.state) {
                self.seen[self.automaton.match_pattern(self.state, index).as_usize()] = true;
            }
        }
    }
}

/// A gap between words: a space, perhaps with what quoting, listing or breaking lines puts there.
const GAP: &str = r#"(?:[ \n,:;>"'()|#-]{1,4})"#;

/// Writes a rule's pattern out as a regular expression: fragments, gaps, ASCII classes, folded letters.
fn expand(pattern: &str, fragments: &HashMap<String, String>) -> String {
    let mut text = pattern.to_owned();
    // A fragment may have others in it, and they none.
    for (name, fragment) in fragments.iter().chain(fragments) {
        text = text.replace(&format!("<{name}>"), fragment);
    }
    let mut expanded = String::with_capacity(2 * text.len());
    let (mut characters, mut in_class) = (text.chars(), false);
    while let Some(c) = characters.next() {
        match c {
            '\\' => match characters.next() {
                Some(class @ ('b' | 'w' | 'd')) => expanded.extend(["(?-u:\\", class.encode_utf8(&mut [0; 4]), ")"]),
                Some(other) => expanded.extend(['\\', other]),
                None => expanded.push('\\'),
            },
            ' ' | '_' if !in_class => expanded.push_str(GAP),
            _ => {
                in_class = match c {
                    '[' => true,
                    ']' => false,
                    _ => in_class,
                };
                expanded.push(c);
            }
        }
    }
    fold_letters(&expanded)
}

//! The rules, read from their file once.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex::Regex;
use serde::Deserialize;

use super::hidden::Detector;
use super::seam::{Seam, Stretch};
use super::shadow::fold_letters;
use super::skim::{Skim, Skimmer};

/// A match and the anchors it needs lie within so many bytes of its first anchor.
const NEAR: usize = 600;

/// An outline ends before its anchor does, and characters are whole.
const LOOSELY_NEAR: usize = NEAR + 16;

/// So much before and after is folded: a match is looked at from a little before it.
const AROUND: usize = NEAR + 100;

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
    needs: Vec<Vec<String>>,
    /// The numbers of these groups among those of all rules.
    pub(super) groups: Range<u32>,
    /// As they are written; together they are one.
    patterns: Vec<String>,
    unless: Option<String>,
    /// What stands for a name in a pattern.
    fragments: Arc<HashMap<String, String>>,
    anchors: OnceLock<Option<AhoCorasick>>,
    compiled: OnceLock<Option<Compiled>>,
    pub detector: Option<Detector>,
    #[cfg_attr(not(test), allow(dead_code))]
    pub positive: Vec<String>,
    #[cfg_attr(not(test), allow(dead_code))]
    pub negative: Vec<String>,
}

/// What a rule looks for.
pub(super) struct Compiled {
    pattern: Regex,
    unless: Option<Regex>,
}

/// All rules, and where to look for them.
pub(super) struct Rules {
    rules: Vec<Rule>,
    skimmer: Skimmer,
}

impl Rules {
    fn read(toml: &str) -> Result<Self, String> {
        let RawRules { fragments, rule: raw } = toml::from_str(toml).map_err(|error| error.to_string())?;
        let fragments = Arc::new(fragments);
        let mut rules: Vec<Rule> = Vec::with_capacity(raw.len());
        for raw in raw {
            let first_group = rules.last().map_or(0, |rule| rule.groups.end);
            let fold = |anchor: &String| fold_letters(&anchor.replace('_', " "));
            let needs: Vec<Vec<_>> = raw.needs.iter().map(|group| group.iter().map(fold).collect()).collect();
            let groups = (first_group..).zip(&needs).last().map_or(first_group, |(group, _)| group + 1);
            let detector = raw.detector.as_deref().map(|name| {
                Detector::named(name).ok_or_else(|| format!("rule {}: no detector is called {name}", raw.id))
            });
            rules.push(Rule {
                // Read once in the life of a process, and few.
                id: raw.id.leak(),
                class: raw.class,
                needs,
                groups: first_group..groups,
                patterns: raw.patterns,
                unless: raw.unless,
                fragments: Arc::clone(&fragments),
                anchors: OnceLock::new(),
                compiled: OnceLock::new(),
                detector: detector.transpose()?,
                positive: raw.positive,
                negative: raw.negative,
            });
        }
        let mut anchors = Vec::new();
        for rule in &rules {
            for (number, group) in rule.groups.clone().zip(&rule.needs) {
                let number = 1_u64.checked_shl(number).ok_or("the rules have too many groups of anchors")?;
                anchors.extend(group.iter().map(|anchor| (anchor.as_str(), number)));
            }
        }
        let skimmer = Skimmer::new(&anchors)?;
        Ok(Self { rules, skimmer })
    }

    pub(super) fn all(&self) -> &[Rule] {
        &self.rules
    }

    /// Looks at a text without making a shadow; `None` where only a shadow can tell.
    pub(super) fn skim(&self, text: &str) -> Option<Skim> {
        self.skimmer.skim(text)
    }

    /// The parts of a text in which all anchors of a rule stand near one another in the shadow of either form, as far as
    /// a skim can tell, in order and apart; each with those rules.
    pub(super) fn stretches(&self, text: &str, skim: &Skim) -> Vec<(Stretch, Vec<&Rule>)> {
        let of_rule = |rule| Rule::near(rule, skim).into_iter().map(move |place| (place, rule));
        let mut places: Vec<(usize, &Rule)> = self.met(skim.groups).flat_map(of_rule).collect();
        places.sort_unstable_by_key(|&(place, rule)| (place, rule.groups.start));
        let mut stretches: Vec<(Stretch, Vec<&Rule>)> = Vec::new();
        for (place, rule) in places {
            let start = skim.place_before(place.saturating_sub(AROUND));
            let end = skim.place_after(place + AROUND).unwrap_or(text.len());
            let done = stretches.last().map_or(0, |(last, _)| last.end);
            let seam = if start <= done { None } else { Seam::last(text, done, start) };
            match stretches.last_mut() {
                Some((last, rules)) if seam.is_none() => {
                    last.end = end.max(last.end);
                    if !rules.iter().any(|known| known.id == rule.id) {
                        rules.push(rule);
                    }
                }
                _ => stretches.push((Stretch { seam, end }, vec![rule])),
            }
        }
        stretches
    }

    /// The rules whose anchors may all stand in a shadow.
    pub(super) fn concerned(&self, shadow: &str) -> Vec<&Rule> {
        self.met(self.skimmer.groups(shadow)).collect()
    }

    /// The rules of which each group is there.
    fn met(&self, groups: u64) -> impl Iterator<Item = &Rule> {
        let all_there = move |rule: &&Rule| rule.groups.clone().all(|group| groups >> group & 1 == 1);
        self.rules.iter().filter(|rule| rule.detector.is_none()).filter(all_there)
    }
}

impl Rule {
    /// All of its anchors, group by group.
    fn anchors(&self) -> Option<&AhoCorasick> {
        self.anchors.get_or_init(|| AhoCorasick::new(self.needs.iter().flatten()).ok()).as_ref()
    }

    /// Compiled when first needed, which takes far longer than to look for anchors.
    pub(super) fn compile(&self) -> Result<Compiled, Box<dyn std::error::Error>> {
        let expanded = |pattern: &String| expand(pattern, &self.fragments);
        let patterns: Vec<String> = self.patterns.iter().map(expanded).collect();
        Ok(Compiled {
            pattern: Regex::new(&format!("(?s){}", patterns.join("|")))?,
            unless: self.unless.as_ref().map(|unless| Regex::new(&expanded(unless))).transpose()?,
        })
    }

    /// Each match in a shadow, in order; also given with a space for each line feed, since to an anchor where a block
    /// begins is a space like another.
    pub(super) fn find<'t>(&'t self, shadow: &'t str, spaced: &str) -> impl Iterator<Item = Range<usize>> + use<'t> {
        let windows = Self::windows(shadow, &self.hits(spaced));
        let compiled = || self.compiled.get_or_init(|| self.compile().ok()).as_ref();
        let found = if windows.is_empty() { None } else { compiled().map(|compiled| (compiled, windows)) };
        found.into_iter().flat_map(move |(Compiled { pattern, unless, .. }, windows)| {
            let matches = windows.into_iter().flat_map(move |window| {
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

    /// Where anchors of each group end, in order.
    pub(super) fn hits(&self, spaced: &str) -> Vec<Vec<usize>> {
        let Some(anchors) = self.anchors() else { return Vec::new() };
        let mut hits = vec![Vec::new(); self.needs.len()];
        let mut ends = Vec::with_capacity(self.needs.len());
        for group in &self.needs {
            ends.push(ends.last().copied().unwrap_or(0) + group.len());
        }
        for found in anchors.find_overlapping_iter(spaced) {
            let group = ends.partition_point(|&end| end <= found.pattern().as_usize());
            hits[group].push(found.end());
        }
        hits
    }

    /// Where anchors of the first group may stand near all others, by the least length of a shadow before them.
    fn near(&self, skim: &Skim) -> Vec<usize> {
        let places = |group: u32| -> Vec<usize> {
            skim.hits.iter().filter(|hit| hit.groups >> group & 1 == 1).map(|hit| hit.length).collect()
        };
        let mut groups = self.groups.clone();
        let mut first = groups.next().map(places).unwrap_or_default();
        for other in groups.map(places) {
            first.retain(|at| {
                let near = other.partition_point(|&it| it + LOOSELY_NEAR < *at);
                other.get(near).is_some_and(|&it| it <= at + LOOSELY_NEAR)
            });
        }
        first
    }

    /// The parts of a shadow in which all anchors stand near one another, in order and apart.
    fn windows(shadow: &str, hits: &[Vec<usize>]) -> Vec<Range<usize>> {
        let Some((first, others)) = hits.split_first() else { return Vec::new() };
        let mut windows: Vec<Range<usize>> = Vec::new();
        for &at in first {
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

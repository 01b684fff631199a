//! The gate before ranking: text that tries to instruct the model that reads it. Pure: text in, places out.
//!
//! Rules are data (`unsafe_rules.toml`). They run on a *shadow* of the text ([`shadow`]), so that a disguise does not
//! hide a phrase, and again on one without markup; the text itself is never altered. One pass looks for the rules'
//! anchors ([`skim`]); a shadow is made, and a pattern compiled and run, only near where all anchors of a rule stand.
//! Knows no store, no document and no front matter.

mod hidden;
mod lines;
mod look_alikes;
mod markup;
#[cfg(test)]
mod model;
mod rules;
mod seam;
mod shadow;
mod skim;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;

use rules::{RULES, Rule};
use seam::Stretch;
use shadow::{Form, Shadow};

/// A text has this many findings at most. Where there are as many, there may be more: all of the text is unsafe then.
pub(crate) const FINDINGS_AT_MOST: usize = 100;

/// A place where a rule matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The rule's id, such as `override.en`.
    pub rule: &'static str,
    /// The matched bytes of the text.
    pub range: Range<usize>,
}

/// The rule that matches first in a text.
pub(crate) fn first_rule(text: &str) -> Option<&'static str> {
    scan(text).first().map(|finding| finding.rule)
}

/// All places where a rule matches, in order of place and then of rule; at most 100.
pub(crate) fn scan(text: &str) -> Vec<Finding> {
    let skim = RULES.skim(text);
    let mut findings = Vec::new();
    if skim.as_ref().is_none_or(|skim| skim.format_characters) {
        for rule in RULES.all() {
            let Some(detector) = rule.detector else { continue };
            let found = detector.find(text).take(FINDINGS_AT_MOST);
            findings.extend(found.map(|range| Finding { rule: rule.id, range }));
        }
    }
    let stretches = skim.map(|skim| RULES.stretches(text, &skim));
    for form in [Form::Written, Form::Bare] {
        let mut matches = Matches::default();
        if let Some(stretches) = &stretches {
            for (stretch, rules) in stretches {
                matches.look_in(text, &Shadow::of(text, *stretch, form), rules);
            }
        } else {
            let shadow = Shadow::of(text, Stretch::whole(text), form);
            matches.look_in(text, &shadow, &RULES.concerned(shadow.text()));
        }
        findings.extend(matches.findings);
    }
    ordered(findings)
}

/// Where patterns match in one form.
#[derive(Default)]
struct Matches {
    findings: Vec<Finding>,
    counts: HashMap<&'static str, usize>,
}

impl Matches {
    /// Looks for these rules in the shadow of a part of a text, which comes after all parts before.
    fn look_in(&mut self, text: &str, shadow: &Shadow, rules: &[&'static Rule]) {
        let spaced = shadow.text().replace('\n', " ");
        for rule in rules {
            let count = self.counts.entry(rule.id).or_default();
            for range in rule.find(shadow.text(), &spaced).take(FINDINGS_AT_MOST - *count) {
                self.findings.push(Finding { rule: rule.id, range: shadow.source(text, range) });
                *count += 1;
            }
        }
    }
}

/// In order, each place once, and not too many.
fn ordered(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| (finding.range.start, finding.rule, finding.range.end));
    // Both forms show most of it.
    let mut ends: HashMap<&str, usize> = HashMap::new();
    findings.retain(|finding| {
        let end = ends.entry(finding.rule).or_default();
        let is_new = finding.range.start >= *end;
        *end = finding.range.end.max(*end);
        is_new
    });
    findings.truncate(FINDINGS_AT_MOST);
    findings
}

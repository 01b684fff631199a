//! The gate before ranking: text that tries to instruct the model that reads it. Pure: text in, places out.
//!
//! Rules are data (`unsafe_rules.toml`). They run on a *shadow* of the text ([`shadow`]), so that a disguise does not
//! hide a phrase, and again on one without markup; the text itself is never altered. One pass looks for the rules' anchors; a pattern is compiled and
//! run only near where all of its anchors stand. Knows no store, no document and no front matter.

mod hidden;
mod lines;
mod look_alikes;
mod markup;
mod rules;
mod shadow;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;

use rules::RULES;
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
    let mut findings = Vec::new();
    for form in [Form::Written, Form::Bare] {
        let seen = RULES.anchors_in(text, form);
        if seen.format_characters && form == Form::Written {
            for rule in RULES.all() {
                let Some(detector) = rule.detector else { continue };
                let found = detector.find(text).take(FINDINGS_AT_MOST);
                findings.extend(found.map(|range| Finding { rule: rule.id, range }));
            }
        }
        let mut made = None;
        for rule in RULES.concerned(&seen) {
            let (shadow, hits) = made.get_or_insert_with(|| {
                let shadow = Shadow::of(text, form);
                let hits = RULES.hits(shadow.text());
                (shadow, hits)
            });
            let found = rule.find(shadow.text(), hits).take(FINDINGS_AT_MOST);
            findings.extend(found.map(|range| Finding { rule: rule.id, range: shadow.source(text, range) }));
        }
    }
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

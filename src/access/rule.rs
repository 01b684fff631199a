//! From what `ragdb.yaml` says of a source, what a document says of itself and what was granted and revoked, to the rule
//! of a class. Pure.
//!
//! A document can only narrow: whatever its front matter says, it lets in nobody whom its source keeps out. What it
//! says in vain is noted. An act on a source is part of what the source says, an act on a document stands beside what the document says,
//! and a denial is stronger than all of them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::model::rule::{Member, Narrowing, Rule, instant, written};
use crate::model::{Visibility, check_name};
use crate::store::access::Act;
use crate::store::sources::SourceRow;

/// What is accepted as a moment.
const A_TIME: &str = "a date such as 2026-11-30 or a time with its offset such as 2026-11-30T12:00:00Z";

/// What a source says of its readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceRule {
    pub visibility: Visibility,
    /// Empty where the source names none.
    pub tenant: String,
    /// Those that may read; everyone inside the visibility, where there is none.
    pub groups: Vec<String>,
    pub scope: Option<String>,
}

impl SourceRule {
    /// Reads a stored declaration.
    ///
    /// # Errors
    /// [`Error::Damaged`] where it is none.
    pub(crate) fn of(row: &SourceRow) -> Result<Self> {
        let visibility = Visibility::named(&row.visibility).ok_or_else(|| Error::Damaged {
            detail: format!("source {}: {:?} is no visibility", row.source_id, row.visibility),
        })?;
        Ok(Self {
            visibility,
            tenant: row.tenant.clone().unwrap_or_default(),
            groups: row.list(&row.groups)?,
            scope: row.scope.clone(),
        })
    }
}

/// The rule of a class, and how it came to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Effective {
    pub rule: Rule,
    /// How widely the documents may be read, acts left out.
    pub visibility: Visibility,
    /// The groups that may read them, further acts left out; `None` where there is no such limit.
    pub groups: Option<Vec<String>>,
    /// What was said in vain, and what is odd about the outcome: one sentence each.
    pub notes: Vec<String>,
}

/// The keys of front matter that are about readers.
const KEYS: [&str; 5] = ["visibility", "groups", "tenant", "valid_from", "valid_until"];

/// The key about readers that `key` is, or nearly is: in other letters' case, or with its words written apart, joined or
/// with a hyphen.
fn meant(key: &str) -> Option<&'static str> {
    let folded = |key: &str| -> String {
        let chars = key.chars().filter(|c| !matches!(c, '-' | '_') && !c.is_whitespace());
        chars.flat_map(char::to_lowercase).collect()
    };
    let key = folded(key);
    KEYS.into_iter().find(|known| folded(known) == key)
}

/// The first key of front matter that is about readers, as it is written.
pub(crate) fn key_about_readers(fields: &Map<String, Value>) -> Option<&str> {
    fields.keys().map(String::as_str).find(|key| meant(key).is_some())
}

/// Reads `visibility`, `groups`, `tenant`, `valid_from` and `valid_until` of a document's front matter. Another spelling of
/// such a key is none of metadata: whoever wrote it meant to close the document.
///
/// # Errors
/// A sentence that names the key and what is accepted there.
pub(crate) fn narrowing(
    fields: Option<&Map<String, Value>>,
    source_tenant: Option<&str>,
) -> std::result::Result<Narrowing, String> {
    let Some(fields) = fields else { return Ok(Narrowing::default()) };
    for key in fields.keys() {
        if let Some(meant) = meant(key).filter(|meant| *meant != key) {
            return Err(format!("{key:?} is no key of front matter; did you mean {meant}?"));
        }
    }
    let visibility = fields.get("visibility").map(|value| {
        let named = value.as_str().and_then(Visibility::named);
        named.ok_or_else(|| format!("visibility is {}; it must be public, internal or private", shown(value)))
    });
    if let Some(value) = fields.get("tenant")
        && (value.as_str().is_none() || value.as_str() != source_tenant)
    {
        let own = source_tenant.map_or_else(|| "which has none".into(), |tenant| format!("which is {tenant:?}"));
        return Err(format!("tenant is {}; it must be that of the source, {own}, or be left out", shown(value)));
    }
    let valid_from = fields.get("valid_from").map(|value| moment("valid_from", value, false)).transpose()?;
    let valid_until = fields.get("valid_until").map(|value| moment("valid_until", value, true)).transpose()?;
    if let (Some(from), Some(until)) = (&valid_from, &valid_until)
        && from >= until
    {
        return Err(format!("valid_from ({from}) must lie before valid_until ({until}, exclusive)"));
    }
    Ok(Narrowing {
        visibility: visibility.transpose()?,
        groups: fields.get("groups").map(groups).transpose()?,
        valid_from,
        valid_until,
    })
}

/// One name or a list of names, sorted, without repeats.
fn groups(value: &Value) -> std::result::Result<Vec<String>, String> {
    let wrong = || format!("groups is {}; it must be a name or a list of names", shown(value));
    let names = match value {
        Value::String(name) if name.contains(',') => {
            return Err(format!("groups is {}; write several names as a list", shown(value)));
        }
        Value::String(name) => vec![name.clone()],
        Value::Array(names) => {
            let names = names.iter().map(|name| name.as_str().map(str::to_owned).ok_or_else(wrong));
            names.collect::<std::result::Result<_, _>>()?
        }
        _ => return Err(wrong()),
    };
    for name in &names {
        check_name("group", name).map_err(|error| format!("groups: {error}"))?;
    }
    Ok(sorted(names))
}

/// A date or a time in the form of [`instant`]. A date is its first moment, or the first one after it.
fn moment(key: &str, value: &Value, after: bool) -> std::result::Result<String, String> {
    let wrong = || format!("{key} is {}; it must be {A_TIME}", shown(value));
    let text = value.as_str().ok_or_else(wrong)?;
    let start = instant(text).map_err(|_| wrong())?;
    if !after || text.trim().len() != "2026-11-30".len() {
        return Ok(start);
    }
    let start: jiff::Timestamp = start.parse().map_err(|_| wrong())?;
    start.checked_add(jiff::SignedDuration::from_hours(24)).map(written).map_err(|_| wrong())
}

/// The rule of the documents of a source with this narrowing. `on_source` and `on_document` are the acts on each;
/// `known` are the groups that there are, where they are declared.
///
/// What is granted on a source is part of what the source says: a document that names its readers narrows that too. What
/// is granted on the document itself stands beside what it says.
pub(crate) fn effective(
    source: &SourceRule,
    narrowing: &Narrowing,
    on_source: &[Act],
    on_document: &[Act],
    known: Option<&[String]>,
) -> Effective {
    let mut notes = Vec::new();
    // Users and groups of another tenant may have the same names. What was revoked stays so.
    let stale = |act: &&Act| act.allow && act.tenant != source.tenant;
    notes.extend(on_source.iter().chain(on_document).filter(stale).map(|act| {
        format!("{} was granted when the source belonged to tenant {:?}: ignored", act.subject, act.tenant)
    }));
    let [on_source, on_document] = [on_source, on_document].map(|acts| acts.iter().filter(move |act| !stale(act)));
    // A document's own act replaces the one of its source on the same subject.
    let acts: BTreeMap<&Member, (bool, bool)> = (on_source.map(|act| (&act.subject, (act.allow, false))))
        .chain(on_document.map(|act| (&act.subject, (act.allow, true))))
        .collect();
    let deny: Vec<Member> = acts.iter().filter(|(_, (allow, _))| !allow).map(|(&subject, _)| subject.clone()).collect();
    let mut granted = Vec::new();
    for (&subject, &(_, own)) in acts.iter().filter(|(_, (allow, _))| *allow) {
        match subject {
            Member::Group(name) if !is_known(name, known) => {
                notes.push(format!("{subject} was granted and is not declared in access.groups: ignored"));
            }
            _ => granted.push((subject, own)),
        }
    }
    let narrowed = narrowed(source, narrowing, &granted, known, &mut notes);
    let mut allow = match (&narrowed.groups, narrowed.visibility) {
        (Some(groups), _) => groups.iter().cloned().map(Member::Group).collect(),
        (None, Visibility::Public) => vec![Member::Everyone],
        (None, Visibility::Internal) => vec![Member::Tenant],
        (None, Visibility::Private) => Vec::new(),
    };
    for (subject, own) in granted {
        if own || !narrowed.narrows {
            allow.push(subject.clone());
        } else if !allow.contains(subject) {
            notes.push(format!("{subject} was granted on the source, which the document narrows: not let in"));
        }
    }
    allow.sort_unstable();
    allow.dedup();
    if allow.contains(&Member::Everyone) && !deny.is_empty() {
        notes.push("anyone may read it: what was revoked can be read without a name".into());
    }
    if allow.iter().all(|member| deny.contains(member)) {
        notes.push("no members: nobody but the operator may read it".into());
    }
    let rule = Rule {
        tenant: source.tenant.clone(),
        scope: source.scope.clone(),
        valid_from: narrowing.valid_from.clone(),
        valid_until: narrowing.valid_until.clone(),
        allow,
        deny,
    };
    Effective { rule, visibility: narrowed.visibility, groups: narrowed.groups, notes }
}

/// The rule of documents whose source is declared no longer: it lets nobody in.
pub(crate) fn orphaned(narrowing: &Narrowing) -> Effective {
    let rule = Rule {
        tenant: String::new(),
        scope: None,
        valid_from: narrowing.valid_from.clone(),
        valid_until: narrowing.valid_until.clone(),
        allow: Vec::new(),
        deny: Vec::new(),
    };
    let notes = vec!["no members: its source is declared no longer".into()];
    Effective { rule, visibility: Visibility::Private, groups: None, notes }
}

/// What a document makes of its source's rule.
struct Narrowed {
    visibility: Visibility,
    groups: Option<Vec<String>>,
    /// Whether it names other members than the source does.
    narrows: bool,
}

fn narrowed(
    source: &SourceRule,
    narrowing: &Narrowing,
    granted: &[(&Member, bool)],
    known: Option<&[String]>,
    notes: &mut Vec<String>,
) -> Narrowed {
    let mut visibility = source.visibility;
    if let Some(own) = narrowing.visibility {
        if own < source.visibility {
            let (own, source) = (own.as_str(), source.visibility.as_str());
            notes.push(format!("visibility {own} widens that of the source, {source}: ignored"));
        }
        visibility = visibility.max(own);
    }
    let narrows = visibility != source.visibility || narrowing.groups.is_some();
    // What the source lets in, as groups: none of them where it is private and names none.
    let limit = match (source.groups.as_slice(), source.visibility) {
        ([], Visibility::Public | Visibility::Internal) => None,
        (groups, _) => Some(groups),
    };
    let is_granted = |name: &String| {
        granted.iter().any(|(subject, own)| !own && matches!(subject, Member::Group(group) if group == name))
    };
    let groups = match &narrowing.groups {
        Some(own) => {
            let widens = |group: &String| limit.is_some_and(|limit| !limit.contains(group) && !is_granted(group));
            let (wider, own): (Vec<String>, Vec<String>) = own.iter().cloned().partition(widens);
            notes.extend(wider.iter().map(|group| format!("group {group:?} widens the source's rule: ignored")));
            Some(own)
        }
        // A document that is more private than its source has members of its own or none.
        None if visibility == Visibility::Private && narrows => Some(Vec::new()),
        None => limit.map(<[String]>::to_vec),
    };
    let groups = groups.map(|groups| {
        let (groups, unknown): (Vec<String>, Vec<String>) = groups.into_iter().partition(|name| is_known(name, known));
        notes.extend(unknown.iter().map(|group| format!("group {group:?} is not declared in access.groups: ignored")));
        sorted(groups)
    });
    if groups.is_some() {
        visibility = visibility.max(Visibility::Internal);
    }
    Narrowed { visibility, groups, narrows }
}

/// Whether there is such a group; where none is declared, any name is one.
pub(super) fn is_known(name: &String, known: Option<&[String]>) -> bool {
    known.is_none_or(|known| known.contains(name))
}

/// The start of a value, for a message.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    let mut start: String = text.chars().take(80).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    start
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests;

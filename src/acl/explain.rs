//! Why somebody may read a document, or not.

use super::target;
use crate::access::{Grounds, Scope, Seen};
use crate::error::{Error, Result};
use crate::model::rule::{Member, Narrowing, Rule};
use crate::model::{Principal, Who};
use crate::store::access::{self, Act, ClassRow, Target};
use crate::store::{Connection, Store};

/// Whether somebody may read a document, step by step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessExplanation {
    /// The document's source.
    pub source_id: String,
    /// Its path below the source's root.
    pub path: String,
    /// Its id.
    pub document_id: String,
    /// The number of its class.
    pub class_no: i64,
    /// As of when: RFC 3339.
    pub at: String,
    /// Whether it may be evidence for them.
    pub allowed: bool,
    /// How that comes about, in the order in which it is decided.
    pub steps: Vec<AccessStep>,
}

/// One step of an [`AccessExplanation`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessStep {
    /// What is looked at: `source`, `front_matter`, `acts`, `rule`, `note`, `reader`, `scope` or `validity`.
    pub name: &'static str,
    /// Whether it keeps the reader out; `None` where it says what the rule is and decides nothing.
    pub passed: Option<bool>,
    /// What it comes to, in words.
    pub detail: String,
}

impl AccessStep {
    fn tells(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, passed: None, detail: detail.into() }
    }

    fn decides(name: &'static str, passed: bool, detail: impl Into<String>) -> Self {
        Self { name, passed: Some(passed), detail: detail.into() }
    }
}

impl Store {
    /// Why `principal` may read a document or not: for the operator, who may see the rules of all. `document` is its id,
    /// its path, or `SOURCE:path` where the path stands in several sources.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown document, [`Error::Invalid`] where a path stands in several sources, or where
    /// the principal looks ahead and is not the operator.
    pub fn explain_access(&self, document: &str, principal: &Principal) -> Result<AccessExplanation> {
        self.read(|conn| {
            let (_, row) = target::document(conn, document)?;
            let scope = Scope::of(conn, principal, Seen::Evidence)?;
            let allowed = scope.covers(row.class_no);
            let mut steps = Vec::new();
            if row.class_no == 0 {
                let detail = "indexed before there were rules: only the operator may read it until the next sync";
                steps.push(AccessStep::tells("rule", detail));
                steps.push(AccessStep::decides("reader", allowed, who(principal)));
            } else {
                let class = class(conn, row.class_no)?;
                came_about(conn, &class, &row.document_id.to_string(), &mut steps)?;
                judged(&class.rule, principal, scope.at(), &mut steps);
            }
            Ok(AccessExplanation {
                source_id: row.source_id,
                path: row.path,
                document_id: row.document_id.to_string(),
                class_no: row.class_no,
                at: scope.at().to_owned(),
                allowed,
                steps,
            })
        })
    }
}

fn class(conn: &Connection, class_no: i64) -> Result<ClassRow> {
    let found = access::classes(conn)?.into_iter().find(|class| class.class_no == class_no);
    found.ok_or_else(|| Error::Damaged { detail: format!("access class {class_no} is missing") })
}

/// The steps that made the rule.
fn came_about(conn: &Connection, class: &ClassRow, document_id: &str, steps: &mut Vec<AccessStep>) -> Result<()> {
    let grounds = Grounds::read(conn)?;
    let source_id = &class.key.source_id;
    let declared = match grounds.source(source_id) {
        None => format!("{source_id} is declared no longer"),
        Some(source) => {
            let mut words = vec![format!("{source_id} is {}", source.visibility.as_str())];
            if !source.tenant.is_empty() {
                words.push(format!("of tenant {:?}", source.tenant));
            }
            if !source.groups.is_empty() {
                words.push(format!("for {}", listed(source.groups.iter().cloned().map(Member::Group))));
            }
            words.join(", ")
        }
    };
    steps.push(AccessStep::tells("source", declared));
    steps.push(AccessStep::tells("front_matter", narrows(&class.key.narrowing)));
    let on_source = grounds.acts_on(&Target::Source(source_id.clone())).iter().map(|act| (act, "its source"));
    let target = Target::Document(document_id.to_owned());
    let on_document = grounds.acts_on(&target).iter().map(|act| (act, "the document"));
    let acts: Vec<String> = on_source.chain(on_document).map(|(act, on)| said(act, on)).collect();
    let acts = if acts.is_empty() { "nothing was granted or revoked".to_owned() } else { acts.join("; ") };
    steps.push(AccessStep::tells("acts", acts));
    let Rule { allow, deny, .. } = &class.rule;
    let mut rule = vec![match allow.as_slice() {
        [] => "lets nobody in".to_owned(),
        allow => format!("lets in {}", listed(allow.iter().cloned())),
    }];
    if !deny.is_empty() {
        rule.push(format!("keeps out {}", listed(deny.iter().cloned())));
    }
    steps.push(AccessStep::tells("rule", rule.join("; ")));
    steps.extend(class.notes.iter().map(|note| AccessStep::tells("note", note)));
    Ok(())
}

fn said(act: &Act, on: &str) -> String {
    let verb = if act.allow { "granted" } else { "revoked" };
    format!("{} was {verb} on {on}", act.subject)
}

fn narrows(narrowing: &Narrowing) -> String {
    let Narrowing { visibility, groups, valid_from, valid_until } = narrowing;
    let mut words = Vec::new();
    words.extend(visibility.map(|visibility| format!("visibility {}", visibility.as_str())));
    words.extend(groups.as_ref().map(|groups| match groups.as_slice() {
        [] => "no groups".to_owned(),
        groups => listed(groups.iter().cloned().map(Member::Group)),
    }));
    words.extend(valid_from.as_ref().map(|from| format!("valid from {from}")));
    words.extend(valid_until.as_ref().map(|until| format!("valid until {until}")));
    if words.is_empty() { "says nothing of readers".to_owned() } else { format!("says {}", words.join(", ")) }
}

/// The steps that hold the reader to the rule.
fn judged(rule: &Rule, principal: &Principal, at: &str, steps: &mut Vec<AccessStep>) {
    let (passed, detail) = read_by(rule, principal);
    steps.push(AccessStep::decides("reader", passed, detail));
    let scopes = principal.scopes();
    if !scopes.is_empty() {
        let own =
            rule.scope.as_ref().map_or_else(|| "the source has none".into(), |own| format!("the source has {own:?}"));
        let passed = rule.scope.as_ref().is_some_and(|own| scopes.contains(own));
        let detail = format!("the reader is limited to {}; {own}", scopes.join(", "));
        steps.push(AccessStep::decides("scope", passed, detail));
    }
    let (passed, detail) = match (&rule.valid_from, &rule.valid_until) {
        (None, None) => (true, "always valid".to_owned()),
        (Some(from), _) if from.as_str() > at => (false, format!("not valid before {from}; it is {at}")),
        (_, Some(until)) if until.as_str() <= at => (false, format!("not valid any more since {until}; it is {at}")),
        (_, Some(until)) => (true, format!("valid until {until}")),
        (Some(from), None) => (true, format!("valid since {from}")),
    };
    steps.push(AccessStep::decides("validity", passed, detail));
}

/// Whether a rule lets somebody in, and by what.
fn read_by(rule: &Rule, principal: &Principal) -> (bool, String) {
    let (tenant, subject, groups) = match principal.who() {
        Who::Operator => return (true, who(principal)),
        Who::Public if rule.allow.contains(&Member::Everyone) => return (true, "anyone is let in".into()),
        Who::Public => return (false, "without a name, only what anyone may read".into()),
        Who::Known { tenant, subject, groups } => (tenant, subject, groups),
    };
    let own: Vec<Member> = [Member::Everyone, Member::Tenant]
        .into_iter()
        .chain(groups.iter().cloned().map(Member::Group))
        .chain([Member::User(subject.clone())])
        .collect();
    if rule.tenant != *tenant {
        let words = format!("{} is of tenant {tenant:?}, the rule is that of {:?}", who(principal), rule.tenant);
        return if rule.allow.contains(&Member::Everyone) {
            (true, format!("{words}; anyone is let in"))
        } else {
            (false, words)
        };
    }
    if let Some(member) = own.iter().find(|member| rule.deny.contains(member)) {
        return (false, format!("{member} is kept out"));
    }
    match own.iter().find(|member| rule.allow.contains(member)) {
        Some(member) => (true, format!("{member} is let in")),
        None => (false, format!("{} is not let in, by name or by a group", who(principal))),
    }
}

fn who(principal: &Principal) -> String {
    match principal.who() {
        Who::Operator => "the operator holds the file: no rule applies".into(),
        Who::Public => "a reader without a name".into(),
        Who::Known { subject, groups, .. } if groups.is_empty() => Member::User(subject.clone()).to_string(),
        Who::Known { subject, groups, .. } => {
            let groups = listed(groups.iter().cloned().map(Member::Group));
            format!("{} in {groups}", Member::User(subject.clone()))
        }
    }
}

fn listed(members: impl Iterator<Item = Member>) -> String {
    let words: Vec<String> = members.map(|member| member.to_string()).collect();
    words.join(", ")
}

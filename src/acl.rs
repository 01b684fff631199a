//! `acl`: what is granted and revoked on top of the declared rules, and why somebody may read a document or not.
//!
//! These are the operator's verbs. Each change is one transaction: the act, the rules of the classes that it touches, and
//! the epoch with its reason.

mod explain;
mod target;

use std::collections::BTreeSet;

use crate::access::{Update, differs, outcome};
use crate::error::{Error, Result};
use crate::model::rule::{ClassKey, Member, Rule};
use crate::model::{DocumentId, Visibility, check_name};
use crate::store::access::{self, AccessEpoch, Act, ClassRow, ClassRule};
use crate::store::{Connection, Store, documents};
use crate::sync::reclass;

pub use explain::{AccessExplanation, AccessStep};
use target::Named;

/// A reason may have this many bytes.
const LONGEST_REASON: usize = 1000;

/// Somebody to let in or to keep out, of a source or of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AclChange {
    target: String,
    subject: Member,
    reason: Option<String>,
}

impl AclChange {
    /// About the members of a group. `target` is the id of a source, or a document: its id, its path, or
    /// `SOURCE:path` where the path stands in several sources.
    ///
    /// # Errors
    /// [`Error::Invalid`] where it can't be a group's name.
    pub fn group(target: impl Into<String>, name: impl Into<String>) -> Result<Self> {
        let name = name.into();
        check_name("group", &name)?;
        Ok(Self { target: target.into(), subject: Member::Group(name), reason: None })
    }

    /// About one user; `target` as in [`AclChange::group`].
    ///
    /// # Errors
    /// [`Error::Invalid`] where it can't be a user's name.
    pub fn user(target: impl Into<String>, name: impl Into<String>) -> Result<Self> {
        let name = name.into();
        check_name("user", &name)?;
        Ok(Self { target: target.into(), subject: Member::User(name), reason: None })
    }

    /// The same, with a reason that is kept with the epoch.
    ///
    /// # Errors
    /// [`Error::Invalid`] where it is empty or has more than 1,000 bytes.
    pub fn with_reason(mut self, reason: impl Into<String>) -> Result<Self> {
        let reason = reason.into();
        if reason.trim().is_empty() || reason.len() > LONGEST_REASON {
            let message = format!("the reason has {} bytes; it must have 1 to {LONGEST_REASON}", reason.len());
            return Err(Error::Invalid { message });
        }
        self.reason = Some(reason);
        Ok(self)
    }
}

/// What [`Store::grant`] or [`Store::revoke`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AclReport {
    /// What it was done on: `source docs` or `document docs:guide/keys.md`.
    pub target: String,
    /// Whom it was about.
    pub subject: Member,
    /// Whether anything changed. Nothing is written otherwise, and no epoch begins.
    pub changed: bool,
    /// The newest epoch.
    pub epoch: u64,
    /// How many documents have other readers now.
    pub documents: u64,
    /// Who may read more than before.
    pub gained: Vec<Member>,
    /// Who may read less than before.
    pub lost: Vec<Member>,
    /// What else there is to know, a sentence each.
    pub notes: Vec<String>,
}

/// Documents that have one rule in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessClass {
    /// Its number in the store; 0 for documents from before there were rules, until the next sync.
    pub class_no: i64,
    /// The source that the documents are of.
    pub source_id: String,
    /// The document, where acts of its own make it a class by itself.
    pub document_id: Option<String>,
    /// The path of that document, if it is stored.
    pub path: Option<String>,
    /// The tenant whose groups and users the rule is about; empty for none.
    pub tenant: String,
    /// How widely the documents may be read, acts left out.
    pub visibility: Visibility,
    /// The label that queries can be limited to.
    pub scope: Option<String>,
    /// The first moment at which they may be read: RFC 3339.
    pub valid_from: Option<String>,
    /// The first moment at which they may not be read any more.
    pub valid_until: Option<String>,
    /// Whom the rule lets in.
    pub allow: Vec<Member>,
    /// Whom it keeps out, whatever lets them in.
    pub deny: Vec<Member>,
    /// How many documents are in it now.
    pub documents: u64,
    /// What was said in vain, and what is odd about the outcome, a sentence each.
    pub notes: Vec<String>,
}

impl Store {
    /// Lets a group or a user in. What the document narrows stays closed to whoever is let in by a grant on its source.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown target, [`Error::Refused`] (`unknown_group`) for a group that the declared list
    /// does not have, or (`unruled`) for a document that was indexed before there were rules.
    pub fn grant(&self, change: &AclChange) -> Result<AclReport> {
        self.change(change, true)
    }

    /// Keeps a group or a user out: a denial, which is stronger than all that lets them in.
    ///
    /// # Errors
    /// As [`Store::grant`], and [`Error::Refused`] (`public_rule`) where anyone may read the target. The target may also be
    /// a source that is declared no longer, or a document that was deleted.
    pub fn revoke(&self, change: &AclChange) -> Result<AclReport> {
        self.change(change, false)
    }

    fn change(&self, change: &AclChange, allow: bool) -> Result<AclReport> {
        // Who is to be kept out is not to wait for somebody who reads.
        self.write_in_any_case(|tx| {
            // To keep somebody out of what is gone is to be sure that it does not come back open.
            let named = target::find(tx, &change.target, !allow)?;
            let target = named.target();
            let act = Act { target, subject: change.subject.clone(), allow, tenant: String::new() };
            apply(tx, &named, act, change.reason.as_deref())
        })
    }

    /// The rules in force, by source; those of one source alone, where it is named.
    ///
    /// # Errors
    /// [`Error::NotFound`] where no such source is known.
    pub fn access_rules(&self, source_id: Option<&str>) -> Result<Vec<AccessClass>> {
        self.read(|conn| {
            let documents = access::document_counts(conn)?;
            let mut classes = Vec::new();
            let unruled = documents.get(&0).copied().unwrap_or(0);
            if unruled > 0 && source_id.is_none() {
                classes.push(unruled_class(unruled));
            }
            let rows = access::classes(conn)?;
            if let Some(id) = source_id
                && !rows.iter().any(|row| row.key.source_id == id)
                && !target::is_source(conn, id)?
            {
                return Err(Error::NotFound { what: format!("source {id:?}") });
            }
            for row in rows {
                if source_id.is_none_or(|id| row.key.source_id == id) {
                    let documents = documents.get(&row.class_no).copied().unwrap_or(0);
                    classes.push(described(conn, row, documents)?);
                }
            }
            classes.sort_by(|a, b| (&a.source_id, &a.path, a.class_no).cmp(&(&b.source_id, &b.path, b.class_no)));
            Ok(classes)
        })
    }

    /// All changes of who may read what, newest first.
    ///
    /// # Errors
    /// [`Error::Database`] or [`Error::Damaged`] where the store can't be read.
    pub fn access_log(&self) -> Result<Vec<AccessEpoch>> {
        self.read(access::epochs)
    }
}

/// Does an act inside a write transaction, unless it is a grant that changes nothing, or was done before.
fn apply(tx: &Connection, named: &Named, act: Act, reason: Option<&str>) -> Result<AclReport> {
    let verb = if act.allow { "grant" } else { "revoke" };
    let mut update = Update::begin(tx, None)?;
    let tenant = update.tenant_of(named.source_id()).unwrap_or_default().to_owned();
    let act = Act { tenant, ..act };
    if let (Member::Group(name), Some(known)) = (&act.subject, update.known_groups())
        && !known.contains(name)
    {
        return Err(Error::Refused {
            code: "unknown_group",
            message: format!("group {name:?} is not one of those that ragdb.yaml declares"),
            hint: "mend its spelling, or declare it in access.groups and sync".into(),
        });
    }
    let counts = access::document_counts(tx)?;
    let (alone, before) = match named {
        Named::Source(_) | Named::FormerSource(_) => (None, None),
        Named::FormerDocument { key, .. } => (Some(key.clone()), Some(update.rule_of(key))),
        Named::Document { row, .. } => {
            let class = update.class(row.class_no).ok_or_else(|| unruled(&named.to_string()))?;
            let alone = ClassKey { document: Some(row.document_id.to_string()), ..class.key.clone() };
            (Some(alone), Some(class.rule.clone()))
        }
    };
    let mut report = AclReport {
        target: named.to_string(),
        subject: act.subject.clone(),
        changed: false,
        epoch: access::epoch(tx)?,
        documents: 0,
        gained: Vec::new(),
        lost: Vec::new(),
        notes: Vec::new(),
    };
    // The rules that the act is about, before and after, with the number of their documents. The first one is that of the
    // target as a whole.
    let mut rules: Vec<(Rule, Rule, u64)> = Vec::new();
    let then = update.grounds_with(&act);
    match (named, &alone, before) {
        (Named::Document { .. }, Some(key), Some(before)) => rules.push((before, then.rule(key).rule, 1)),
        (Named::FormerDocument { .. }, Some(key), Some(before)) => rules.push((before, then.rule(key).rule, 0)),
        (named, ..) => {
            let source_id = named.source_id();
            let whole = ClassKey::new(source_id, crate::model::rule::Narrowing::default(), None);
            rules.push((update.rule_of(&whole), then.rule(&whole).rule, 0));
            for class in update.classes().iter().filter(|class| class.key.source_id == source_id) {
                let documents = counts.get(&class.class_no).copied().unwrap_or(0);
                rules.push((class.rule.clone(), then.rule(&class.key).rule, documents));
            }
        }
    }
    let whole = &rules[0].0;
    if !act.allow && whole.allow.contains(&Member::Everyone) {
        return Err(Error::Refused {
            code: "public_rule",
            message: format!("{} is public: anyone may read it, also without a name", report.target),
            hint: "make its source internal or private, or narrow the document in its front matter, and sync".into(),
        });
    }
    report.notes.extend(meaning(&act, whole));
    rules.retain(|(before, after, _)| differs(before, after));
    let is_known = update.acts_on(&act.target).contains(&act);
    // What is revoked is noted also where it changes nothing yet: it must hold against what is granted later.
    if named.is_gone() && !is_known {
        report.notes.push(format!("{named} is stored no longer: the act holds when it comes back"));
    } else if rules.is_empty() && (act.allow || is_known) {
        report.notes.insert(0, unchanged(&act, is_known));
        report.epoch = update.finish("the rules followed their sources")?.epoch;
        return Ok(report);
    }
    let (mut gained, mut lost) = (BTreeSet::new(), BTreeSet::new());
    for (before, after, documents) in &rules {
        report.documents += documents;
        let (more, less) = outcome(before, after);
        gained.extend(more);
        lost.extend(less);
    }
    (report.gained, report.lost) = (gained.into_iter().collect(), lost.into_iter().collect());
    update.act(act)?;
    if let (Named::Document { number, row }, Some(alone)) = (named, &alone) {
        let class_no = update.class_of(alone)?;
        if class_no != row.class_no {
            reclass(tx, *number, class_no)?;
            update.moved(row.class_no, class_no)?;
        }
    }
    let because = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    let outcome = update.finish(&format!("{verb} {} on {named}{because}", report.subject))?;
    (report.changed, report.epoch) = (true, outcome.epoch);
    report.notes.extend(outcome.notes.into_iter().map(|(_, note)| note));
    Ok(report)
}

/// Why an act changes nothing.
fn unchanged(act: &Act, is_known: bool) -> String {
    let subject = &act.subject;
    match (is_known, act.allow) {
        (true, true) => format!("{subject} was granted already: nothing changed"),
        (true, false) => format!("{subject} was revoked already: nothing changed"),
        _ => format!("{subject} is let in already, but where documents narrow their readers: nothing changed"),
    }
}

/// What an act means beyond its words, given the rule before it.
fn meaning(act: &Act, before: &Rule) -> Option<String> {
    let subject = &act.subject;
    match subject {
        _ if act.allow => None,
        Member::User(_) if !before.allow.contains(subject) && !before.allow.contains(&Member::Tenant) => Some(format!(
            "{subject} was not let in by name: from now on they are kept out, also where a group of theirs is let in"
        )),
        Member::Group(_) if before.allow.contains(&Member::Tenant) => Some(format!(
            "anyone of the tenant is let in: from now on all but the members of {subject}, also those in other groups"
        )),
        Member::Group(_) if !before.allow.contains(subject) => Some(format!(
            "{subject} was not let in: from now on its members are kept out, also where something else lets them in"
        )),
        _ => None,
    }
}

fn unruled(target: &str) -> Error {
    Error::Refused {
        code: "unruled",
        message: format!("{target} was indexed before there were rules: only the operator may read it"),
        hint: "run `ragdb sync` first".into(),
    }
}

fn described(conn: &Connection, row: ClassRow, documents: u64) -> Result<AccessClass> {
    let ClassRow { class_no, key, rule, visibility, notes, .. } = row;
    let id = key.document.as_deref().and_then(DocumentId::parse);
    let path = match id {
        Some(id) => documents::by_id(conn, id)?.map(|(_, document)| document.path),
        None => None,
    };
    Ok(AccessClass {
        class_no,
        source_id: key.source_id,
        document_id: key.document,
        path,
        tenant: rule.tenant,
        visibility,
        scope: rule.scope,
        valid_from: rule.valid_from,
        valid_until: rule.valid_until,
        allow: rule.allow,
        deny: rule.deny,
        documents,
        notes,
    })
}

fn unruled_class(documents: u64) -> AccessClass {
    let ClassRule { class_no, source_id, rule } = ClassRule::unruled();
    AccessClass {
        class_no,
        source_id,
        document_id: None,
        path: None,
        tenant: rule.tenant,
        visibility: Visibility::Private,
        scope: None,
        valid_from: None,
        valid_until: None,
        allow: rule.allow,
        deny: rule.deny,
        documents,
        notes: vec!["indexed before there were rules: only the operator may read it until the next sync".into()],
    }
}

//! The classes of a store, kept true to what their rules come from.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::lost::require_classes;
use super::rule::{Effective, SourceRule, effective, orphaned};
use crate::error::{Error, Result};
use crate::model::rule::{ClassKey, Member, Rule};
use crate::store::access::{self, Act, ClassRow, ClassRule, Concern, Target};
use crate::store::{Connection, classes as history, sources, tombstones};

/// All that the rules of classes come from, as it is stored.
#[derive(Clone)]
pub(crate) struct Grounds {
    sources: HashMap<String, SourceRule>,
    acts: HashMap<Target, Vec<Act>>,
    known: Option<Vec<String>>,
}

impl Grounds {
    /// Reads them.
    pub(crate) fn read(conn: &Connection) -> Result<Self> {
        let known = access::known_groups(conn)?;
        let mut grounds = Self { sources: HashMap::new(), acts: HashMap::new(), known };
        grounds.read_sources(conn)?;
        for act in access::acts(conn)? {
            grounds.put(act);
        }
        Ok(grounds)
    }

    fn read_sources(&mut self, conn: &Connection) -> Result<()> {
        let rows = sources::all(conn)?.into_iter();
        let rules = rows.map(|(_, row)| Ok((row.source_id.clone(), SourceRule::of(&row)?)));
        self.sources = rules.collect::<Result<_>>()?;
        Ok(())
    }

    /// An act replaces an earlier one on the same subject.
    fn put(&mut self, act: Act) {
        let acts = self.acts.entry(act.target.clone()).or_default();
        acts.retain(|known| known.subject != act.subject);
        acts.push(act);
    }

    /// What a target's acts are.
    pub(crate) fn acts_on(&self, target: &Target) -> &[Act] {
        self.acts.get(target).map_or(&[], Vec::as_slice)
    }

    /// What a source says, if it is declared.
    pub(crate) fn source(&self, source_id: &str) -> Option<&SourceRule> {
        self.sources.get(source_id)
    }

    /// The rule of the class with this key.
    pub(crate) fn rule(&self, key: &ClassKey) -> Effective {
        let Some(source) = self.sources.get(&key.source_id) else { return orphaned(&key.narrowing) };
        let on_document = key.document.clone().map(Target::Document);
        let on_document = on_document.as_ref().map_or(&[][..], |target| self.acts_on(target));
        let on_source = self.acts_on(&Target::Source(key.source_id.clone()));
        effective(source, &key.narrowing, on_source, on_document, self.known.as_deref())
    }
}

/// What `ragdb.yaml` says of the groups that there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KnownGroups {
    /// Nothing: any name is a group.
    Any,
    /// These, and no others; none at all where there is none.
    Only(Vec<String>),
}

impl KnownGroups {
    /// The list, in the form in which it is stored.
    pub(crate) fn list(&self) -> Option<&[String]> {
        match self {
            Self::Any => None,
            Self::Only(groups) => Some(groups),
        }
    }
}

/// What an [`Update`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AccessReport {
    /// The newest epoch.
    pub epoch: u64,
    /// Whether this update began it.
    pub raised: bool,
    /// What is odd about rules that are new or have changed: source by source, each sentence once.
    pub notes: Vec<(String, String)>,
}

/// A change of who may read what, inside one write transaction: classes follow what their rules come from, and at most
/// one epoch is raised.
///
/// Begin it once the declared sources are stored; ask for the classes of documents and say which documents moved; finish
/// it once the sources that go are gone. Dropped unfinished it leaves classes that no read knows: end the transaction
/// without a commit then.
pub(crate) struct Update<'c> {
    tx: &'c Connection,
    grounds: Grounds,
    classes: Vec<ClassRow>,
    numbers: HashMap<ClassKey, usize>,
    /// Classes that have, or had, documents.
    populated: HashSet<i64>,
    concerned: BTreeSet<Concern>,
    /// Classes that other readers, or other documents, make another one.
    changed: BTreeSet<i64>,
    acts: Vec<Act>,
    notes: BTreeSet<(String, String)>,
}

impl<'c> Update<'c> {
    /// Begins an update. `declared` is what `ragdb.yaml` says of groups now; `None` leaves those that are stored.
    ///
    /// # Errors
    /// [`Error::Damaged`] where the row of a class with documents is lost.
    pub(crate) fn begin(tx: &'c Connection, declared: Option<&KnownGroups>) -> Result<Self> {
        require_classes(tx)?;
        if let Some(groups) = declared.map(KnownGroups::list)
            && access::known_groups(tx)?.as_deref() != groups
        {
            access::write_known_groups(tx, groups)?;
        }
        let classes = access::classes(tx)?;
        let mut update = Self {
            tx,
            grounds: Grounds::read(tx)?,
            numbers: classes.iter().enumerate().map(|(index, class)| (class.key.clone(), index)).collect(),
            classes,
            populated: HashSet::new(),
            concerned: BTreeSet::new(),
            changed: BTreeSet::new(),
            acts: Vec::new(),
            notes: BTreeSet::new(),
        };
        // Before any document moves: who may read it now is told from those who may read it then.
        update.refresh()?;
        Ok(update)
    }

    /// The number of the class with this key, which is made where there is none yet.
    pub(crate) fn class_of(&mut self, key: &ClassKey) -> Result<i64> {
        if let Some(&index) = self.numbers.get(key) {
            return Ok(self.classes[index].class_no);
        }
        let mut class = row(0, key.clone(), self.grounds.rule(key));
        class.class_no = access::insert_class(self.tx, &class)?;
        let class_no = class.class_no;
        self.note(&class);
        self.numbers.insert(key.clone(), self.classes.len());
        self.classes.push(class);
        Ok(class_no)
    }

    /// Notes that a document which was in one class is in another now.
    pub(crate) fn moved(&mut self, old: i64, new: i64) -> Result<()> {
        let (before, after) = (self.numbered(old)?, self.numbered(new)?);
        let concerned = difference(&before, &after);
        if !concerned.is_empty() {
            self.concerned.extend(concerned);
            self.changed.extend([old, new]);
        }
        self.populated.extend([old, new]);
        Ok(())
    }

    /// The tenant that a source belongs to, if the source is declared.
    pub(crate) fn tenant_of(&self, source_id: &str) -> Option<&str> {
        self.grounds.source(source_id).map(|source| source.tenant.as_str())
    }

    /// Grants or revokes something. It begins an epoch, also where nobody reads more or less for it.
    pub(crate) fn act(&mut self, act: Act) -> Result<()> {
        self.grounds.put(act.clone());
        self.acts.push(act);
        self.refresh()
    }

    /// The groups that there are, where they are declared.
    pub(crate) fn known_groups(&self) -> Option<&[String]> {
        self.grounds.known.as_deref()
    }

    /// What was granted and revoked on a target.
    pub(crate) fn acts_on(&self, target: &Target) -> &[Act] {
        self.grounds.acts_on(target)
    }

    /// All classes with a rule, as they are now.
    pub(crate) fn classes(&self) -> &[ClassRow] {
        &self.classes
    }

    /// The class with this number; `None` for the one without a rule.
    pub(crate) fn class(&self, class_no: i64) -> Option<&ClassRow> {
        let index = self.classes.binary_search_by_key(&class_no, |class| class.class_no);
        index.ok().map(|index| &self.classes[index])
    }

    /// The rule of the class with this key, whether there is one or not.
    pub(crate) fn rule_of(&self, key: &ClassKey) -> Rule {
        self.grounds.rule(key).rule
    }

    /// What rules come from, if something was granted or revoked.
    pub(crate) fn grounds_with(&self, act: &Act) -> Grounds {
        let mut grounds = self.grounds.clone();
        grounds.put(act.clone());
        grounds
    }

    /// Writes the rules for those who read, and begins an epoch if any document's readers changed.
    pub(crate) fn finish(mut self, reason: &str) -> Result<AccessReport> {
        self.grounds.read_sources(self.tx)?;
        self.refresh()?;
        let mut rules = vec![ClassRule::unruled()];
        rules.extend(self.classes.iter().map(|class| ClassRule {
            class_no: class.class_no,
            source_id: class.key.source_id.clone(),
            rule: class.rule.clone(),
        }));
        access::write_rules(self.tx, &rules)?;
        let raised = !self.concerned.is_empty() || !self.acts.is_empty();
        let epoch = if raised {
            access::raise(self.tx, reason, &self.concerned, &self.changed)?
        } else {
            access::epoch(self.tx)?
        };
        for act in &self.acts {
            access::put_act(self.tx, act, epoch)?;
        }
        Ok(AccessReport { epoch, raised, notes: self.notes.into_iter().collect() })
    }

    /// Makes the rule of every class what it comes from.
    fn refresh(&mut self) -> Result<()> {
        for index in 0..self.classes.len() {
            let before = &self.classes[index];
            let after = row(before.class_no, before.key.clone(), self.grounds.rule(&before.key));
            if *before == after {
                continue;
            }
            let concerned = difference(&before.rule, &after.rule);
            if !concerned.is_empty()
                && (self.populated.contains(&after.class_no) || access::is_populated(self.tx, after.class_no)?)
            {
                self.concerned.extend(concerned);
                self.changed.insert(after.class_no);
            }
            if before.rule.tenant != after.rule.tenant {
                // What was deleted in it is nothing that the other tenant may know of.
                tombstones::hide_class(self.tx, after.class_no)?;
                history::forget_history(self.tx, after.class_no)?;
            }
            access::update_class(self.tx, &after)?;
            self.note(&after);
            self.classes[index] = after;
        }
        Ok(())
    }

    fn note(&mut self, class: &ClassRow) {
        self.notes.extend(class.notes.iter().map(|note| (class.key.source_id.clone(), note.clone())));
    }

    fn numbered(&self, class_no: i64) -> Result<Rule> {
        if class_no == 0 {
            return Ok(ClassRule::unruled().rule);
        }
        let class = self.class(class_no);
        let class = class.ok_or_else(|| Error::Damaged { detail: format!("access class {class_no} is missing") })?;
        Ok(class.rule.clone())
    }
}

/// Whether anybody can tell one rule from the other.
pub(crate) fn differs(before: &Rule, after: &Rule) -> bool {
    !difference(before, after).is_empty()
}

/// Who may read more after a change of members, and who less.
pub(crate) fn outcome(before: &Rule, after: &Rule) -> (Vec<Member>, Vec<Member>) {
    let readers = |rule: &Rule| -> Vec<Member> {
        let_in(&rule.allow).iter().filter(|member| !rule.deny.contains(member)).cloned().collect()
    };
    let more = |from: &[Member], to: &[Member]| -> Vec<Member> {
        to.iter().filter(|member| !from.contains(member)).cloned().collect()
    };
    let (old, new) = (readers(before), readers(after));
    let (mut gained, mut lost) = (more(&old, &new), more(&new, &old));
    // Who was kept out although something let them in, or is from now on.
    gained.extend(more(&after.deny, &before.deny).into_iter().filter(|member| !new.contains(member)));
    lost.extend(more(&before.deny, &after.deny).into_iter().filter(|member| !old.contains(member)));
    (gained, lost)
}

/// The row of a class.
pub(crate) fn row(class_no: i64, key: ClassKey, effective: Effective) -> ClassRow {
    let Effective { rule, visibility, groups, notes } = effective;
    ClassRow { class_no, key, rule, visibility, groups, notes }
}

/// Who may tell one rule from the other: the members that they do not share. Where all of the rule is another, as by a
/// scope or a time, all members of both.
fn difference(before: &Rule, after: &Rule) -> BTreeSet<Concern> {
    let is_another =
        before.scope != after.scope || before.valid_from != after.valid_from || before.valid_until != after.valid_until;
    let concerns = |rule: &Rule, members: &[Member]| -> BTreeSet<Concern> {
        members.iter().map(|member| Concern::new(&rule.tenant, member.clone())).collect()
    };
    let [(old_allow, old_deny), (new_allow, new_deny)] =
        [before, after].map(|rule| (concerns(rule, let_in(&rule.allow)), concerns(rule, &rule.deny)));
    if is_another {
        return old_allow.into_iter().chain(new_allow).collect();
    }
    let allow = old_allow.symmetric_difference(&new_allow);
    allow.chain(old_deny.symmetric_difference(&new_deny)).cloned().collect()
}

/// Those of the members, sorted, that let in somebody whom no wider one does.
fn let_in(members: &[Member]) -> &[Member] {
    match members.first() {
        Some(Member::Everyone | Member::Tenant) => &members[..1],
        _ => members,
    }
}

#[cfg(test)]
mod tests;

//! From a principal to the classes that they may read.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::model::rule::{Member, Rule, written};
use crate::model::{Digest, DigestBuilder, Principal, Who};
use crate::store::access::{self, ClassRule};
use crate::store::{Connection, sources};

/// What a read is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Evidence: only what is valid at the time, also for the operator.
    Evidence,
    /// What is stored: the operator sees all of it. Others see what is valid at the time, since something that is to be
    /// published tomorrow is a secret today.
    Stored,
}

/// The classes that one call reads, on one snapshot.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// Whether nothing is left out.
    everything: bool,
    /// Whether it is whoever holds the file that reads.
    operator: bool,
    /// Whether that one reads with no limit to some scopes.
    whole: bool,
    /// Sorted.
    classes: Vec<ClassRule>,
    numbers: Vec<i64>,
    /// The next moment at which a class that the principal may read becomes valid or stops being so.
    border: Option<String>,
    /// As of when.
    at: String,
}

impl Scope {
    /// The classes that `principal` may read.
    ///
    /// # Errors
    /// [`Error::Invalid`] where somebody else than the operator looks ahead; [`Error::Damaged`] where the rules can't be
    /// read.
    pub(crate) fn of(conn: &Connection, principal: &Principal, seen: Seen) -> Result<Self> {
        let now = written(jiff::Timestamp::now());
        let at = principal.time().map_or_else(|| now.clone(), str::to_owned);
        if !principal.is_operator() && at > now {
            let message = format!("{at} lies ahead; only the operator may read as of then");
            return Err(Error::Invalid { message });
        }
        let mut classes = access::rules(conn)?;
        classes.retain(|class| admits(&class.rule, principal));
        let everything = principal.is_operator() && principal.scopes().is_empty() && seen == Seen::Stored;
        let mut border: Option<String> = None;
        if !(principal.is_operator() && seen == Seen::Stored) {
            let edges = classes.iter().flat_map(|class| [&class.rule.valid_from, &class.rule.valid_until]);
            border = edges.flatten().filter(|edge| **edge > at).min().cloned();
            classes.retain(|class| is_valid(&class.rule, &at));
        }
        classes.sort_unstable_by_key(|class| class.class_no);
        let numbers = classes.iter().map(|class| class.class_no).collect();
        let operator = principal.is_operator();
        let whole = principal.reads_everything();
        Ok(Self { everything, operator, whole, classes, numbers, border, at })
    }

    /// Whether nothing that is stored is left out.
    pub(crate) fn is_everything(&self) -> bool {
        self.everything
    }

    /// Whether the operator reads, who is told what is wrong with a store.
    pub(crate) fn is_operator(&self) -> bool {
        self.operator
    }

    /// Whether the operator reads, of all sources: they see generations, numbers and runs as they are stored. Others see
    /// what comes of the classes that they read.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    /// The numbers of the classes, ascending.
    pub(crate) fn classes(&self) -> &[i64] {
        &self.numbers
    }

    /// Whether a document of this class may be read.
    pub(crate) fn covers(&self, class_no: i64) -> bool {
        self.everything || self.numbers.binary_search(&class_no).is_ok()
    }

    /// The sources that a path may be in, by id: those that have classes in it, and all for who reads documents of no
    /// class, whose source no class tells.
    pub(crate) fn sources_of_paths(&self, conn: &Connection) -> Result<Vec<String>> {
        let mut ids: Vec<String> = self.sources().into_iter().map(str::to_owned).collect();
        if self.numbers.first() == Some(&0) {
            ids.extend(sources::all(conn)?.into_iter().map(|(_, row)| row.source_id));
            ids.retain(|id| !id.is_empty());
            ids.sort_unstable();
            ids.dedup();
        }
        Ok(ids)
    }

    /// Those sources, each with the numbers of the classes that its documents may be in.
    pub(crate) fn classes_of_paths(&self, conn: &Connection) -> Result<BTreeMap<String, Vec<i64>>> {
        let unruled: Vec<i64> = self.numbers.first().filter(|&&class_no| class_no == 0).copied().into_iter().collect();
        let sources = self.sources_of_paths(conn)?.into_iter();
        let mut classes: BTreeMap<String, Vec<i64>> = sources.map(|source| (source, unruled.clone())).collect();
        for class in &self.classes {
            if let Some(own) = classes.get_mut(&class.source_id) {
                own.push(class.class_no);
            }
        }
        Ok(classes)
    }

    /// The sources that have classes in it, by id, each once.
    pub(crate) fn sources(&self) -> Vec<&str> {
        let mut sources: Vec<&str> = self.classes.iter().map(|class| class.source_id.as_str()).collect();
        sources.sort_unstable();
        sources.dedup();
        sources
    }

    /// The numbers of the classes of a source, ascending.
    pub(crate) fn classes_of(&self, source_id: &str) -> Vec<i64> {
        self.classes.iter().filter(|class| class.source_id == source_id).map(|class| class.class_no).collect()
    }

    /// The next moment at which the same principal may read something else without any rule having changed.
    pub(crate) fn border(&self) -> Option<&str> {
        self.border.as_deref()
    }

    /// As of when it holds: RFC 3339.
    pub(crate) fn at(&self) -> &str {
        &self.at
    }

    /// The digest of what may be read: equal for two principals exactly where the same classes under the same rules let
    /// them in.
    pub(crate) fn digest(&self) -> Digest {
        let mut hash = DigestBuilder::new("ragdb scope 1");
        for class in &self.classes {
            hash.number(class.class_no).field(class.rule.digest().as_bytes());
        }
        hash.finish()
    }
}

impl Rule {
    /// The digest of the whole rule.
    pub(crate) fn digest(&self) -> Digest {
        let mut hash = DigestBuilder::new("ragdb rule 1");
        hash.field(&self.tenant);
        for text in [&self.scope, &self.valid_from, &self.valid_until] {
            hash.number(text.is_some().into()).field(text.as_deref().unwrap_or_default());
        }
        for members in [&self.allow, &self.deny] {
            hash.number(i64::try_from(members.len()).unwrap_or(i64::MAX));
            for member in members {
                let (kind, name) = member.columns();
                hash.field(kind).field(name);
            }
        }
        hash.finish()
    }
}

/// Whether a rule lets the principal in, at some time.
pub(crate) fn admits(rule: &Rule, principal: &Principal) -> bool {
    let scopes = principal.scopes();
    if !scopes.is_empty() && !rule.scope.as_ref().is_some_and(|scope| scopes.contains(scope)) {
        return false;
    }
    match principal.who() {
        Who::Operator => true,
        Who::Public => rule.allow.contains(&Member::Everyone),
        Who::Known { tenant, subject, groups } => {
            let is = |member: &Member| match member {
                Member::Everyone => true,
                _ if rule.tenant != *tenant => false,
                Member::Tenant => true,
                Member::Group(group) => groups.contains(group),
                Member::User(user) => user == subject,
            };
            rule.allow.iter().any(is) && !rule.deny.iter().any(is)
        }
    }
}

fn is_valid(rule: &Rule, at: &str) -> bool {
    rule.valid_from.as_deref().is_none_or(|from| from <= at)
        && rule.valid_until.as_deref().is_none_or(|until| at < until)
}

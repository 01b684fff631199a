//! Who may read what: the rule of each class of documents, and the classes that a principal may read.
//!
//! Access is decided once for each call, before anything else is read: a [`Scope`] is a set of classes. Every class has
//! postings, statistics, chunk numbers and a history of its own, so that what is in the others is never touched.
//!
//! A class is what documents of one source have in common that narrow its rule alike. [`Update`] keeps the rules of all
//! classes true to what they come from: sources, front matter, acts and the groups that there are.

mod classes;
pub(crate) mod history;
mod lost;
mod met;
mod narrow;
mod rule;
mod scope;

pub(crate) use classes::{Grounds, KnownGroups, Update, differs, outcome, row};
pub(crate) use lost::{Lost, key_of, lost, require_classes, restore_classes};
pub(crate) use met::{is_met, is_run_met};
pub(crate) use narrow::narrower;
pub(crate) use rule::{key_about_readers, narrowing};
pub(crate) use scope::{Scope, Seen};

use crate::error::Result;
use crate::model::Principal;
use crate::store::{Connection, Store};

impl Store {
    /// Runs `work` on one snapshot, with what `principal` may read on it.
    pub(crate) fn read_as<T>(
        &self,
        principal: &Principal,
        seen: Seen,
        work: impl FnOnce(&Connection, &Scope) -> Result<T>,
    ) -> Result<T> {
        self.read(|conn| work(conn, &Scope::of(conn, principal, seen)?))
    }
}

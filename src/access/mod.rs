//! Who may read what: the rule of each class of documents, and the classes that a principal may read.
//!
//! Access is decided once for each call, before anything else is read: a [`Scope`] is a set of classes. Every class has
//! postings, statistics, chunk numbers and a history of its own, so that what is in the others is never touched.

mod scope;
mod shim;

pub(crate) use scope::{Scope, Seen};
pub(crate) use shim::{Update, narrowing};

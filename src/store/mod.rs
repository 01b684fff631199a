//! All SQL.

pub(crate) mod postings;

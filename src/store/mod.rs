//! All SQL.

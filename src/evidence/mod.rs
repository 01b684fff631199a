//! Evidence: what a model is shown, and the record of it.
//!
//! [`manifest`] is that record, the only thing by which the gate knows what was in a run's context.

pub(crate) mod manifest;

pub use manifest::{Manifest, Refused, RunEvent, Shown};

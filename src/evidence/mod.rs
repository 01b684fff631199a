//! Evidence: what a model is shown, and the record of it.
//!
//! [`prompt`] writes it, under the limits of [`budget`]; [`manifest`] holds what its record must be like to be
//! believed, and [`receipt`] what outlives the store. All of it is pure but for [`nonce`]. Which chunks become evidence is for the verb to find out.

pub(crate) mod budget;
pub(crate) mod manifest;
pub(crate) mod nonce;
pub(crate) mod prompt;
pub(crate) mod receipt;

pub use crate::model::{Manifest, Refused, RunEvent, Shown};

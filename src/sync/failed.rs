//! Files that could not become documents, and whether what is stored of them may stay.

use super::Work;
use crate::access::narrower;
use crate::error::{Error, Failure, Result};
use crate::ingest::{InputError, code};
use crate::model::rule::{ClassKey, Narrowing};

/// A file that could not become a document.
pub(super) struct FailedFile {
    pub failure: Failure,
    /// Whether an earlier version of it is stored, and stays.
    pub stored: bool,
    /// Why that version may not stay, where the file's rule of access is not the stored one, or may be another.
    pub rule: Option<&'static str>,
}

/// Why a text could not be parsed, and what it says of its readers as far as that can be told.
pub(super) struct Unparsed {
    pub error: InputError,
    pub narrowing: Option<Narrowing>,
}

impl From<InputError> for Unparsed {
    fn from(error: InputError) -> Self {
        Self { error, narrowing: None }
    }
}

/// Why the stored version of a file that fails may not stay; `stored` is the key of its class, `None` for one from before
/// there were rules, which nobody but the operator reads. A file that could not be read at all says nothing: what its front
/// matter is can't be known.
pub(super) fn unread_rule(unparsed: &Unparsed, stored: Option<&ClassKey>) -> Option<&'static str> {
    let stored = &stored?.narrowing;
    match &unparsed.narrowing {
        Some(said) => (narrower(said, stored) != *stored).then_some("its front matter lets in fewer readers now"),
        None => matches!(
            unparsed.error.code,
            code::ACCESS_INVALID | code::FRONT_MATTER_INVALID | code::FRONT_MATTER_UNCLOSED
        )
        .then_some("its new rule of access can't be read"),
    }
}

/// A document whose rule of access was narrowed, or can't be read any more, would stay as widely readable as it was.
pub(super) fn refuse_unread_rules(work: &Work) -> Result<()> {
    let unread = work.failed.iter().find_map(|failed| Some((&failed.failure, failed.rule?)));
    let Some((failure, why)) = unread else { return Ok(()) };
    Err(Error::Refused {
        code: "rule_unread",
        message: format!("{} is stored, and {why}: {}; nothing was changed", failure.path, failure.message),
        hint: "mend the file, or delete or exclude it".into(),
    })
}

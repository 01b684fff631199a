//! `acl_classes`, `acl_members`, `acl_acts`, `acl_epochs` and `acl_concerns`: who may read what.
//!
//! What a read needs of them stands once more in one row of `settings` (`acl`): a reader's statements are the same
//! then, however many rules there are that do not concern them.

use serde::{Deserialize, Serialize};

use rusqlite::Connection;

use super::settings;
use crate::error::{Error, Result};
use crate::model::rule::Rule;

/// A class and its rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClassRule {
    pub class_no: i64,
    pub source_id: String,
    pub rule: Rule,
}

impl ClassRule {
    /// The class of documents from before there were rules, until the next sync looks at them: for the operator alone.
    pub(crate) fn unruled() -> Self {
        let rule = Rule {
            tenant: String::new(),
            scope: None,
            valid_from: None,
            valid_until: None,
            allow: Vec::new(),
            deny: Vec::new(),
        };
        Self { class_no: 0, source_id: String::new(), rule }
    }
}

/// All classes with their rules, as reads see them.
pub(crate) fn rules(conn: &Connection) -> Result<Vec<ClassRule>> {
    let Some(json) = settings::acl(conn)? else { return Ok(vec![ClassRule::unruled()]) };
    serde_json::from_str(&json)
        .map_err(|error| Error::Damaged { detail: format!("settings.acl can't be read: {error}") })
}

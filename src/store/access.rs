//! `acl_classes`, `acl_members`, `acl_acts`, `acl_epochs` and `acl_concerns`: who may read what.
//!
//! What a read needs of them stands once more in one row of `settings` (`acl`): a reader's statements are the same
//! then, however many rules there are that do not concern them.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use rusqlite::Connection;

use super::settings;
use crate::error::{Error, Result};
use crate::model::DocumentId;
use crate::model::rule::{ClassKey, Rule};

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

/// The number of the newest change of the rules; 0 where none ever changed.
pub(crate) fn epoch(conn: &Connection) -> Result<u64> {
    let sql = "SELECT coalesce(max(epoch), 0) FROM acl_epochs";
    Ok(conn.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// The keys of all classes, by number.
pub(crate) fn keys(conn: &Connection) -> Result<HashMap<i64, ClassKey>> {
    let mut statement = conn.prepare_cached("SELECT class_no, class_key FROM acl_classes WHERE class_no > 0")?;
    let mut rows = statement.query([])?;
    let mut keys = HashMap::new();
    while let Some(row) = rows.next()? {
        let (number, json): (i64, String) = (row.get(0)?, row.get(1)?);
        let key = ClassKey::from_json(&json)
            .ok_or_else(|| Error::Damaged { detail: format!("acl_classes.class_key of {number} can't be read") })?;
        keys.insert(number, key);
    }
    Ok(keys)
}

/// The documents with acts of their own.
pub(crate) fn documents_with_acts(conn: &Connection) -> Result<HashSet<DocumentId>> {
    let mut statement = conn.prepare_cached("SELECT DISTINCT target FROM acl_acts WHERE target_kind = 'document'")?;
    let mut rows = statement.query([])?;
    let mut documents = HashSet::new();
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        let id = DocumentId::parse(&id)
            .ok_or_else(|| Error::Damaged { detail: format!("acl_acts.target {id:?} is no document id") })?;
        documents.insert(id);
    }
    Ok(documents)
}

/// The groups that were declared; `None` where none were.
pub(crate) fn groups(conn: &Connection) -> Result<Option<Vec<String>>> {
    let Some(json) = settings::acl_groups(conn)? else { return Ok(None) };
    serde_json::from_str(&json)
        .map(Some)
        .map_err(|_| Error::Damaged { detail: "settings.acl_groups is not a JSON array of strings".into() })
}

pub(crate) fn shim_class(conn: &Connection, key: &ClassKey) -> Result<i64> {
    use rusqlite::OptionalExtension;
    let json = key.to_json();
    let found: Option<i64> = conn
        .query_row("SELECT class_no FROM acl_classes WHERE class_key = ?1", [&json], |row| row.get(0))
        .optional()?;
    if let Some(n) = found {
        return Ok(n);
    }
    let n: i64 = conn.query_row("SELECT max(class_no) + 1 FROM acl_classes", [], |row| row.get(0))?;
    conn.execute("INSERT INTO acl_classes VALUES (?1, ?2, ?3, NULL, '', 'internal', NULL, NULL, NULL, NULL, '[]', 0, printf('%064d', 0))", rusqlite::params![n, json, key.source_id])?;
    Ok(n)
}

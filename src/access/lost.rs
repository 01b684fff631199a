//! Classes whose rows are lost: another tool emptied `acl_classes`, or took rows out of it. What a class is follows from
//! the documents that are in it, so that it can be made again.

use std::collections::HashMap;

use super::{Grounds, differs, narrowing, row};
use crate::error::{Error, Result};
use crate::model::DocumentId;
use crate::model::rule::ClassKey;
use crate::store::access;
use crate::store::documents::{self, DocumentRow};
use crate::store::{Connection, classes};

/// A class with documents and without a row.
pub(crate) struct Lost {
    pub class_no: i64,
    /// Its key, or why that can't be told.
    pub key: std::result::Result<ClassKey, String>,
}

/// The key of the class that a document belongs to, or why its front matter has none. `alone` is its id, where something
/// was granted or revoked on it alone.
pub(crate) fn key_of(
    document: &DocumentRow,
    alone: Option<DocumentId>,
    grounds: &Grounds,
) -> std::result::Result<ClassKey, String> {
    let fields = match &document.front_matter {
        Some(json) => serde_json::from_str(json).map_err(|_| "its front matter is no JSON object".to_owned())?,
        None => None,
    };
    let tenant = grounds.source(&document.source_id).map(|source| source.tenant.as_str());
    let narrowing = narrowing(fields.as_ref(), tenant.filter(|tenant| !tenant.is_empty()))?;
    Ok(ClassKey::new(&document.source_id, narrowing, alone))
}

/// The classes whose rows are lost.
pub(crate) fn lost(conn: &Connection, grounds: &Grounds) -> Result<Vec<Lost>> {
    let numbers = classes::without_row(conn)?;
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let alone = access::documents_with_acts(conn)?;
    let mut keys: HashMap<i64, std::result::Result<ClassKey, String>> = HashMap::new();
    documents::for_each(conn, |_, document| {
        if numbers.contains(&document.class_no) {
            let own = alone.contains(&document.document_id).then_some(document.document_id);
            let key = key_of(&document, own, grounds);
            let known = keys.entry(document.class_no).or_insert_with(|| key.clone());
            if *known != key {
                *known = Err("its documents belong to several classes".into());
            }
        }
        Ok(())
    })?;
    let used = access::written_rules(conn).unwrap_or_default();
    let mut taken: Vec<ClassKey> = access::classes(conn)?.into_iter().map(|class| class.key).collect();
    let mut told = |class_no| {
        let key = keys.remove(&class_no).unwrap_or_else(|| Err("it has no documents".into()))?;
        let before = used.iter().find(|class| class.class_no == class_no);
        if before.is_some_and(|before| differs(&before.rule, &grounds.rule(&key).rule)) {
            // As after a rollback, which keeps a document narrower than its front matter says.
            return Err("the rule that reads use of it is not what source, front matter and acts make".into());
        }
        if taken.contains(&key) {
            return Err("its documents belong to another class".into());
        }
        taken.push(key.clone());
        Ok(key)
    };
    Ok(numbers.into_iter().map(|class_no| Lost { class_no, key: told(class_no) }).collect())
}

/// Refuses where the row of a class that has documents is lost: what is written now would leave these to nobody.
///
/// # Errors
/// [`Error::Damaged`].
pub(crate) fn require_classes(conn: &Connection) -> Result<()> {
    match classes::without_row(conn)?.first() {
        Some(class_no) => Err(missing(*class_no, "it has documents, and no row in acl_classes")),
        None => Ok(()),
    }
}

/// Makes the rows that are lost again, inside the caller's write transaction. Of classes without documents nothing is known
/// any more: what generations did to them is forgotten, and their tombstones are left to the operator.
///
/// # Errors
/// [`Error::Damaged`] where the rule of a class can't be told.
pub(crate) fn restore_classes(tx: &Connection) -> Result<()> {
    classes::restore_unruled(tx)?;
    let grounds = Grounds::read(tx)?;
    for Lost { class_no, key } in lost(tx, &grounds)? {
        let key = key.map_err(|why| missing(class_no, &why))?;
        let effective = grounds.rule(&key);
        access::restore_class(tx, &row(class_no, key, effective))?;
    }
    classes::forget_without_row(tx)
}

fn missing(class_no: i64, why: &str) -> Error {
    Error::Damaged { detail: format!("access class {class_no} is missing: {why}") }
}

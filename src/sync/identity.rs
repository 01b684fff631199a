//! What another tool did to paths of documents and ids of sources. A document is known by its id, which is made of both.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::ingest::plan::{SourcePlan, Suspect};
use crate::model::DocumentId;
use crate::store::sources::SourceRow;
use crate::store::{Connection, Store, documents};

/// Refuses where a source has another id than its documents were made under: they would come in a second time under ids
/// that are taken, and no sync would come to an end with them.
///
/// # Errors
/// [`Error::Damaged`].
pub(super) fn require_own_documents(conn: &Connection, sources: &[(i64, SourceRow)]) -> Result<()> {
    for (source_no, SourceRow { source_id, .. }) in sources {
        if documents::are_of_another_source(conn, *source_no, source_id)? {
            return Err(Error::Damaged {
                detail: format!(
                    "none of the documents of source {source_id} has an id of it, so its id was changed; give it the one that \
                     it had, restore a backup, or make a new store with `ragdb --db NEW sync` (and its folders, where no \
                     ragdb.yaml declares them)"
                ),
            });
        }
    }
    Ok(())
}

/// A document that seems to be gone, and a file that seems to be new, are one where they have one id: the row has a path
/// that it was not written with. The file is read, and the row is written again.
pub(super) fn pair(store: &Store, source_id: &str, plan: &mut SourcePlan) -> Result<()> {
    if plan.new.is_empty() || plan.deleted.is_empty() {
        return Ok(());
    }
    let ids = |conn: &Connection| plan.deleted.iter().map(|gone| documents::id(conn, gone.document_no)).collect();
    let ids: Vec<DocumentId> = store.read(ids)?;
    let mut gone: HashMap<DocumentId, _> = ids.into_iter().zip(std::mem::take(&mut plan.deleted)).collect();
    for file in std::mem::take(&mut plan.new) {
        match gone.remove(&DocumentId::new(source_id, &file.path)) {
            Some(stored) => plan.suspect.push(Suspect { file, stored }),
            None => plan.new.push(file),
        }
    }
    plan.suspect.sort_unstable_by(|a, b| a.file.path.cmp(&b.file.path));
    plan.deleted = gone.into_values().collect();
    plan.deleted.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(())
}

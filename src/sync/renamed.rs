//! What was granted and revoked on a document stays with its path: whoever renames the file is told.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Planned;
use crate::model::{Digest, DocumentId};
use crate::store::documents::DocumentRow;

/// Documents with acts of their own that go, and those that come, by content.
pub(super) struct LeftBehind<'a> {
    /// Documents with acts of their own.
    alone: &'a HashSet<DocumentId>,
    added: HashMap<Digest, (String, String)>,
    deleted: BTreeMap<(String, String), Digest>,
}

impl<'a> LeftBehind<'a> {
    pub(super) fn new(planned: &'a Planned) -> Self {
        Self { alone: &planned.basis.alone, added: HashMap::new(), deleted: BTreeMap::new() }
    }

    pub(super) fn added(&mut self, row: &DocumentRow) {
        if !self.alone.is_empty() {
            self.added.entry(row.content_hash).or_insert_with(|| (row.source_id.clone(), row.path.clone()));
        }
    }

    pub(super) fn deleted(&mut self, row: &DocumentRow) {
        if self.alone.contains(&row.document_id) {
            self.deleted.insert((row.source_id.clone(), row.path.clone()), row.content_hash);
        }
    }

    /// A sentence for each document that went, with its source.
    pub(super) fn notes(self) -> Vec<(String, String)> {
        let Self { added, deleted, .. } = self;
        let note = |((source_id, path), content): ((String, String), Digest)| {
            let also = added.get(&content).map_or_else(String::new, |(source, path)| {
                format!("; {source}:{path} has the same content: grant or revoke there")
            });
            let note = format!("acts on {source_id}:{path} stay with that path{also}");
            (source_id, note)
        };
        deleted.into_iter().map(note).collect()
    }
}

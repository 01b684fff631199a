//! What a sync would do to a source: found × stored → plan. Pure: no file, no database, no clock.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use unicode_normalization::UnicodeNormalization;

use super::source::{FoundFile, Listing};
use crate::error::{Error, Failure, Result};
use crate::sabotage::Sabotage;

/// A source with fewer stored documents may lose any number of them without being asked, and be removed, unless a
/// limit says otherwise.
const GUARDED_DOCUMENTS: usize = 10;

pub(crate) use crate::store::documents::StoredDocument;

/// A stored document whose file must be read to know whether it changed. It is unchanged only if both its digest
/// and its path are the stored ones: the path can differ in Unicode composition, which names the same document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Suspect {
    /// The file as found.
    pub file: FoundFile,
    /// The document as stored.
    pub stored: StoredDocument,
}

/// What a sync would do to one source. Each stored document is in exactly one of `suspect`, `unchanged`,
/// `deleted` and `kept`; each found file in exactly one of `new`, `suspect` and `unchanged`. All are in path order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SourcePlan {
    /// Files without a stored document.
    pub new: Vec<FoundFile>,
    /// Documents to be read and compared.
    pub suspect: Vec<Suspect>,
    /// Documents whose stamps prove that they did not change.
    pub unchanged: Vec<StoredDocument>,
    /// Documents whose file is proven to be gone.
    pub deleted: Vec<StoredDocument>,
    /// Documents whose file, or a folder above it, failed: the stored version stays.
    pub kept: Vec<StoredDocument>,
    /// What the walk refused.
    pub failures: Vec<Failure>,
    /// Folders that are now without any entry, and how many deleted documents lay in each.
    pub emptied: Vec<(String, usize)>,
}

impl SourcePlan {
    fn stored(&self) -> usize {
        self.suspect.len() + self.unchanged.len() + self.deleted.len() + self.kept.len()
    }

    fn found(&self) -> usize {
        self.new.len() + self.suspect.len() + self.unchanged.len()
    }
}

/// Compares what was found with what is stored. With `reread`, stamps prove nothing: every file is read (as for
/// `--checksum`, and for a changed policy).
pub(crate) fn plan(listing: Listing, mut stored: Vec<StoredDocument>, reread: bool) -> SourcePlan {
    let Listing { files, failures, empty_folders } = listing;
    stored.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let mut plan = SourcePlan::default();

    let mut missing = Vec::new();
    let mut stored = stored.into_iter().peekable();
    for file in files {
        while let Some(document) = stored.next_if(|document| document.path < file.path) {
            missing.push(document);
        }
        match stored.next_if(|document| document.path == file.path) {
            Some(document) if !reread && document.stamps == Some(file.stamps) => plan.unchanged.push(document),
            Some(document) => plan.suspect.push(Suspect { file, stored: document }),
            None => plan.new.push(file),
        }
    }
    missing.extend(stored);
    pair_respelled(&mut plan, &mut missing);

    let failed: HashSet<String> = failures.iter().map(|failure| composed(&failure.path)).collect();
    for document in missing {
        let list = if is_covered(&failed, &document.path) { &mut plan.kept } else { &mut plan.deleted };
        list.push(document);
    }
    plan.emptied = emptied(empty_folders, &plan.deleted);
    plan.failures = failures;
    plan
}

/// A missing document and a new file whose paths differ only in Unicode composition have one document id: they
/// are one document, to be read under its new path.
fn pair_respelled(plan: &mut SourcePlan, missing: &mut Vec<StoredDocument>) {
    let mut by_composition: HashMap<String, StoredDocument> =
        missing.extract_if(.., |document| !document.path.is_ascii()).map(|it| (composed(&it.path), it)).collect();
    if by_composition.is_empty() {
        return;
    }
    let suspects = plan.suspect.len();
    for file in std::mem::take(&mut plan.new) {
        match by_composition.remove(&composed(&file.path)) {
            Some(stored) => plan.suspect.push(Suspect { file, stored }),
            None => plan.new.push(file),
        }
    }
    if plan.suspect.len() > suspects {
        plan.suspect.sort_unstable_by(|a, b| a.file.path.cmp(&b.file.path));
    }
    missing.extend(by_composition.into_values());
    missing.sort_unstable_by(|a, b| a.path.cmp(&b.path));
}

fn composed(path: &str) -> String {
    if path.is_ascii() { path.to_owned() } else { path.nfc().collect() }
}

/// Failures of an earlier sync, by path. A document that one of them concerns was not checked then, although it is
/// stored: neither its stamps nor its digest say that it would pass now.
#[derive(Default)]
pub(crate) struct Doubts(HashSet<String>);

impl Doubts {
    pub(crate) fn new<'a>(failed: impl Iterator<Item = &'a str>) -> Self {
        Self(failed.map(composed).collect())
    }

    /// Whether the document with this path failed, or a folder above it did.
    pub(crate) fn concern(&self, path: &str) -> bool {
        is_covered(&self.0, path)
    }
}

/// Whether the path itself, or a folder above it, failed, so that it is not known to be gone.
fn is_covered(failed: &HashSet<String>, path: &str) -> bool {
    if failed.is_empty() || Sabotage::TombstoneOnFailure.is_on() {
        return false;
    }
    let path = composed(path);
    let above = path.match_indices('/').map(|(slash, _)| &path[..slash]);
    failed.contains(".") || failed.contains(&path) || above.into_iter().any(|folder| failed.contains(folder))
}

/// How many of the deleted documents (in path order) lay in each folder that is empty now.
fn emptied(empty_folders: Vec<String>, deleted: &[StoredDocument]) -> Vec<(String, usize)> {
    let count = |folder: &String| {
        let from = deleted.partition_point(|document| document.path.as_str() < format!("{folder}/").as_str());
        let inside = |document: &&StoredDocument| {
            document.path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        deleted[from..].iter().take_while(inside).count()
    };
    let counted = empty_folders.into_iter().map(|folder| (count(&folder), folder));
    counted.filter(|&(count, _)| count > 0).map(|(count, folder)| (folder, count)).collect()
}

/// How many documents a sync may delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeletionLimit {
    /// Nothing was said: less than half of a source of ten documents or more.
    Default,
    /// So many at most, by the configuration: which was written before this sync's folders went empty.
    Standing(u64),
    /// So many at most, said for this sync: then nothing else limits it.
    ThisSync(u64),
}

/// Refuses plans that delete so much that a missing mount or a wrong path is the likelier reason. Each plan comes
/// with its source's folder, as shown to the user; `removed` are the sources that are declared no longer, each with
/// how many documents go with it. The limit holds for all of them together.
///
/// # Errors
/// [`Error::Refused`] with `root_empty`, `folder_emptied`, `source_removed` or `too_many_deletions`.
pub(crate) fn guard(plans: &[(&Path, &SourcePlan)], removed: &[(&str, usize)], limit: DeletionLimit) -> Result<()> {
    let planned: usize = plans.iter().map(|(_, plan)| plan.deleted.len()).sum();
    let deletions = planned + removed.iter().map(|(_, count)| count).sum::<usize>();
    let refuse = |code: &'static str, message: String| {
        Err(Error::Refused {
            code,
            message: format!("{message}; nothing was changed"),
            hint: format!(
                "check that everything is mounted, named and declared as before; if it is meant, say --max-delete \
                 {deletions}"
            ),
        })
    };
    if let DeletionLimit::Standing(most) | DeletionLimit::ThisSync(most) = limit
        && deletions as u64 > most
    {
        let message = format!("this sync would delete {deletions} documents; at most {most} are allowed");
        return refuse("too_many_deletions", message);
    }
    if matches!(limit, DeletionLimit::ThisSync(_)) {
        return Ok(());
    }
    for (root, plan) in plans {
        let (root, deleted, stored) = (root.display(), plan.deleted.len(), plan.stored());
        if plan.found() == 0 && plan.failures.is_empty() {
            let message = format!("the source folder {root} has no file of its kind ({stored} documents are stored)");
            return refuse("root_empty", message);
        }
        if let Some((folder, count)) = plan.emptied.iter().find(|(_, count)| *count >= GUARDED_DOCUMENTS) {
            let message = format!("the folder {folder} below {root} is empty now; {count} documents were in it");
            return refuse("folder_emptied", message);
        }
        if limit == DeletionLimit::Default && stored >= GUARDED_DOCUMENTS && deleted * 2 >= stored {
            let message = format!("{deleted} of the {stored} documents of {root} are gone");
            return refuse("too_many_deletions", message);
        }
    }
    if let Some((source_id, count)) = removed.iter().find(|(_, count)| *count >= GUARDED_DOCUMENTS) {
        let message = format!("source {source_id} is declared no longer; its {count} documents would go");
        return refuse("source_removed", message);
    }
    Ok(())
}

#[cfg(test)]
mod tests;

//! Whether a sync has anything to publish, and what it says of it.

use std::collections::BTreeSet;

use super::publication::Publication;
use super::spool::Prepared;
use super::{Planned, PlannedFile, SyncEvent, SyncPlan, SyncReport, Work, failures};
use crate::error::{Failure, Result};
use crate::store::Connection;
use crate::store::generations::{ChunkCounts, DocumentCounts};
use crate::store::sources::StoredFailure;

/// Whether there is a generation to publish: documents changed, or which files fail did.
pub(super) fn publishes(planned: &Planned, work: &Work) -> bool {
    let known = planned.basis.known_failures.iter().filter(|failure| !is_elsewhere(planned, failure));
    let known: BTreeSet<_> = known.map(|it| (it.source_id.as_str(), it.path.as_str(), it.code.as_str())).collect();
    let now: BTreeSet<_> = current_failures(planned, work).map(|it| (&*it.source_id, &*it.path, it.code)).collect();
    work.documents > 0 || !planned.rebuilt.is_empty() || (planned.basis.parent.is_some() && known != now)
}

/// Whether an earlier failure is that of a source which is not read now and stays.
pub(super) fn is_elsewhere(planned: &Planned, failure: &StoredFailure) -> bool {
    let mut concerned = planned.sources.iter().map(|source| &source.config.id);
    let mut removed = planned.removed.iter().map(|(_, row, _)| &row.source_id);
    planned.past.copy.is_some()
        || !concerned.any(|id| *id == failure.source_id) && !removed.any(|id| *id == failure.source_id)
}

/// The failures of the sources that are read.
pub(super) fn current_failures<'a>(planned: &'a Planned, work: &'a Work) -> impl Iterator<Item = &'a Failure> {
    let walked = planned.plans.iter().flat_map(|plan| &plan.failures);
    walked.chain(work.failed.iter().map(|failed| &failed.failure))
}

/// Whether there is anything to write but, perhaps, a generation.
pub(super) fn has_bookkeeping(planned: &Planned, work: &Work) -> bool {
    planned.sources.iter().any(|source| source.changed)
        || planned.groups_changed
        || !planned.removed.is_empty()
        || work.unchanged.iter().any(|(_, stamps)| stamps.is_some())
}

/// What is reported where nothing was published.
pub(super) fn unpublished(planned: &Planned, work: &Work) -> SyncReport {
    SyncReport {
        generation: planned.basis.parent.as_ref().map(|parent| parent.number),
        published: false,
        rebuilt: Vec::new(),
        documents: DocumentCounts {
            unchanged: unchanged(planned, work),
            failed: failures(planned, work).len() as u64,
            ..DocumentCounts::default()
        },
        chunks: ChunkCounts::default(),
        failures: failures(planned, work),
        unsafe_documents: planned.basis.unsafe_documents,
        newly_unsafe: Vec::new(),
        newly_found_in_reviewed: Vec::new(),
        purged: left_out(work),
        bytes_read: work.bytes_read,
        acl_epoch: planned.basis.acl_epoch,
        access_notes: Vec::new(),
        seconds: super::StageSeconds::default(),
    }
}

fn left_out(work: &Work) -> Vec<PlannedFile> {
    let mut files = work.left_out.clone();
    files.sort_by(|a, b| (&a.source_id, &a.path).cmp(&(&b.source_id, &b.path)));
    files
}

/// Documents that stay as they are in the sources that were read, kept ones included.
fn unchanged(planned: &Planned, work: &Work) -> u64 {
    let by_stamps: usize = planned.plans.iter().map(|plan| plan.unchanged.len() + plan.kept.len()).sum();
    let kept = work.failed.iter().filter(|failed| failed.stored).count();
    (by_stamps + kept + work.unchanged.len()) as u64
}

/// Writes everything in the open transaction; `None`, with nothing written, where the store is not any more what the sync
/// was planned against.
pub(super) fn publish(
    tx: &Connection,
    planned: &Planned,
    mut work: Work,
    tell: &dyn Fn(SyncEvent),
) -> Result<Option<SyncReport>> {
    let Some(mut publication) = Publication::begin(tx, planned)? else { return Ok(None) };
    let mut entries = work.spool.take_reader()?;
    while let Some(entry) = entries.next()? {
        let is_document = !matches!(entry, Prepared::EndOfSlice { .. });
        publication.write(&work.keys, entry)?;
        if is_document {
            tell(SyncEvent::Written);
        }
    }
    publication.finish(work, tell).map(Some)
}

/// What a sync would do, in the words of a plan.
pub(super) fn describe(planned: &Planned, mut work: Work) -> Result<SyncPlan> {
    let mut plan = SyncPlan {
        generation: planned.basis.parent.as_ref().map(|parent| parent.number),
        rebuild: planned.rebuilt.clone(),
        unchanged: unchanged(planned, &work),
        failures: failures(planned, &work),
        purged: left_out(&work),
        ..SyncPlan::default()
    };
    let mut entries = work.spool.take_reader()?;
    while let Some(entry) = entries.next()? {
        let (list, row) = match entry {
            Prepared::Document(document) if document.replaces.is_none() => (&mut plan.added, document.row),
            Prepared::Document(document) => (&mut plan.updated, document.row),
            Prepared::Deletion(deletion) => (&mut plan.deleted, deletion.row),
            Prepared::EndOfSlice { .. } => continue,
        };
        list.push(PlannedFile { source_id: row.source_id, path: row.path });
    }
    Ok(plan)
}

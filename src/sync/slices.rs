//! What the workers are given, piece by piece.

use super::{Planned, Task};
use crate::store::documents::StoredDocument;
use crate::store::tombstones::Reason;

/// Slices hold about this many bytes of files: enough to keep a worker busy, little enough for memory.
const SLICE_BYTES: u64 = 4 << 20;

/// Cuts the work into contiguous slices; also returns how many files and bytes are to be read.
pub(super) fn slices(planned: &Planned) -> (Vec<Vec<Task>>, u64, u64) {
    let mut tasks: Vec<(u64, Task)> = Vec::new();
    for (source, plan) in planned.plans.iter().enumerate() {
        let new = plan.new.iter().map(|file| (file, None));
        let suspect = plan.suspect.iter().map(|suspect| (&suspect.file, Some(suspect.stored.clone())));
        let mut files: Vec<_> = new.chain(suspect).collect();
        files.sort_by(|a, b| a.0.path.cmp(&b.0.path));
        for (file, stored) in files {
            let reparse = planned.reparse[source] || planned.doubts[source].concern(&file.path);
            tasks.push((file.stamps.size, Task::Read { source, path: file.path.clone(), stored, reparse }));
        }
        let delete =
            |document: &StoredDocument| Task::Delete { document_no: document.document_no, reason: Reason::FileDeleted };
        tasks.extend(plan.deleted.iter().map(|document| (0, delete(document))));
    }
    for (_, _, documents) in &planned.removed {
        let delete = |document: &StoredDocument| Task::Delete {
            document_no: document.document_no,
            reason: Reason::SourceRemoved,
        };
        tasks.extend(documents.iter().map(|document| (0, delete(document))));
    }
    let past = &planned.past;
    let delete = |&document_no: &i64| (0, Task::Delete { document_no, reason: Reason::RolledBack });
    tasks.extend(past.deletions.iter().map(delete));
    let restore = |&(source, copied, stored): &(usize, i64, Option<i64>)| (0, Task::Restore { source, copied, stored });
    tasks.extend(past.restored.iter().map(restore));
    let reads = |task: &&(u64, Task)| matches!(task.1, Task::Read { .. });
    let files = tasks.iter().filter(reads).count() as u64;
    let bytes: u64 = tasks.iter().map(|(bytes, _)| bytes).sum();
    let limit = (bytes / 16).clamp(SLICE_BYTES / 16, SLICE_BYTES);
    let (mut slices, mut slice, mut weight) = (Vec::new(), Vec::new(), 0);
    for (bytes, task) in tasks {
        // An entry weighs something even when it is empty: reading and deleting take time too.
        weight += bytes + 1024;
        slice.push(task);
        if weight >= limit {
            slices.push(std::mem::take(&mut slice));
            weight = 0;
        }
    }
    if !slice.is_empty() {
        slices.push(slice);
    }
    (slices, files, bytes)
}

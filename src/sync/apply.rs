//! The transaction of a sync: prepared documents become rows, an index segment and a generation.

use std::collections::BTreeSet;

use super::spool::{Fate, Prepared, PreparedChunk, PreparedDeletion, PreparedDocument};
use super::{Planned, PlannedFile, SyncEvent, SyncPlan, SyncReport, UnsafeDocument, Work, failures};
use crate::error::{Failure, Result};
use crate::index::{self, NewChunks};
use crate::model::{ChunkId, Digest, DocumentId};
use crate::store::chunks::{self, ChunkRow};
use crate::store::documents::{self, DocumentRow};
use crate::store::generations::{self, ChunkCounts, DocumentCounts, Generation};
use crate::store::postings::PostingWriter;
use crate::store::record::{self, DocumentChange};
use crate::store::sources::StoredFailure;
use crate::store::tombstones::{self, Kind, NewTombstone, Reason};
use crate::store::{Connection, findings, settings, sources};

/// So many documents are named in each list of findings.
const UNSAFE_NAMED: usize = 100;

/// Whether there is a generation to publish: documents changed, or which files fail did.
pub(super) fn publishes(planned: &Planned, work: &Work) -> bool {
    let known = planned.known_failures.iter().filter(|failure| !is_elsewhere(planned, failure));
    let known: BTreeSet<_> = known.map(|it| (it.source_id.as_str(), it.path.as_str(), it.code.as_str())).collect();
    let now: BTreeSet<_> = current_failures(planned, work).map(|it| (&*it.source_id, &*it.path, it.code)).collect();
    work.documents > 0 || !planned.rebuilt.is_empty() || (planned.parent.is_some() && known != now)
}

/// Whether an earlier failure is that of a source which is not read now and stays.
fn is_elsewhere(planned: &Planned, failure: &StoredFailure) -> bool {
    let mut concerned = planned.sources.iter().map(|source| &source.config.id);
    let mut removed = planned.removed.iter().map(|(_, row, _)| &row.source_id);
    !concerned.any(|id| *id == failure.source_id) && !removed.any(|id| *id == failure.source_id)
}

/// The failures of the sources that are read.
pub(super) fn current_failures<'a>(planned: &'a Planned, work: &'a Work) -> impl Iterator<Item = &'a Failure> {
    let walked = planned.plans.iter().flat_map(|plan| &plan.failures);
    walked.chain(work.failed.iter().map(|failed| &failed.failure))
}

/// Whether there is anything to write but, perhaps, a generation.
pub(super) fn has_bookkeeping(planned: &Planned, work: &Work) -> bool {
    planned.sources.iter().any(|source| source.changed)
        || !planned.removed.is_empty()
        || work.unchanged.iter().any(|(_, stamps)| stamps.is_some())
}

/// What is reported where nothing was published.
pub(super) fn unpublished(planned: &Planned, work: &Work) -> SyncReport {
    SyncReport {
        generation: planned.parent.as_ref().map(|parent| parent.number),
        published: false,
        rebuilt: Vec::new(),
        documents: DocumentCounts {
            unchanged: unchanged(planned, work),
            failed: failures(planned, work).len() as u64,
            ..DocumentCounts::default()
        },
        chunks: ChunkCounts::default(),
        failures: failures(planned, work),
        unsafe_documents: planned.unsafe_documents,
        newly_unsafe: Vec::new(),
        newly_found_in_reviewed: Vec::new(),
        bytes_read: work.bytes_read,
        seconds: super::StageSeconds::default(),
    }
}

/// Documents that stay as they are in the sources that were read, kept ones included.
fn unchanged(planned: &Planned, work: &Work) -> u64 {
    let by_stamps: usize = planned.plans.iter().map(|plan| plan.unchanged.len() + plan.kept.len()).sum();
    let kept = work.failed.iter().filter(|failed| failed.stored).count();
    (by_stamps + kept + work.unchanged.len()) as u64
}

/// Writes everything in the open transaction; `None`, with nothing written, where the parent generation is no
/// longer the one that was planned against.
pub(super) fn publish(
    tx: &Connection,
    planned: &Planned,
    work: Work,
    tell: &dyn Fn(SyncEvent),
) -> Result<Option<SyncReport>> {
    let parent = generations::head(tx)?;
    if parent.as_ref().map(|head| head.number) != planned.parent.as_ref().map(|head| head.number) {
        return Ok(None);
    }
    let mut report = unpublished(planned, &work);
    let rebuild = !planned.rebuilt.is_empty();
    let mut source_numbers = Vec::with_capacity(planned.sources.len());
    for source in &planned.sources {
        // Also where it is as planned: a sync that changed no document may have removed the row meanwhile.
        source_numbers.push(sources::put(tx, &source.row)?);
    }
    for (document_no, stamps) in &work.unchanged {
        if let Some(stamps) = stamps {
            documents::restamp(tx, *document_no, *stamps)?;
        }
    }
    let number = parent.as_ref().map_or(1, |parent| parent.number + 1);
    if !publishes(planned, &work) {
        remove_sources(tx, planned)?;
        return Ok(Some(report));
    }
    let parent_digest = parent.as_ref().map(|parent| parent.digest);
    let policy_digest = settings::write_policy(tx, &planned.policy)?;
    let mut generation = Generation {
        number,
        parent: parent.map(|parent| parent.number),
        published_at: settings::now(),
        documents: DocumentCounts::default(),
        chunks: ChunkCounts::default(),
        policy_digest,
        digest: policy_digest,
        parent_digest,
        tool_version: concat!("ragdb ", env!("CARGO_PKG_VERSION")).into(),
    };
    generations::insert(tx, &generation)?;
    write_failures(tx, number, planned, &work)?;
    if rebuild {
        index::clear(&mut PostingWriter::new(tx)?)?;
    }
    let first_chunk = settings::next_chunk(tx)?;
    let mut writer = Writer {
        tx,
        number,
        rebuild,
        next: first_chunk,
        source_numbers: &source_numbers,
        report: &mut report,
        changes: Vec::new(),
    };
    let mut entries = work.spool.into_reader()?;
    while let Some(entry) = entries.next()? {
        match entry {
            Prepared::Document(document) => writer.document(*document)?,
            Prepared::Deletion(deletion) => writer.deletion(*deletion)?,
            Prepared::EndOfSlice { chunks } => {
                writer.next += i64::from(chunks);
                continue;
            }
        }
        tell(SyncEvent::Written);
    }
    let (next, changes) = (writer.next, writer.changes);
    let new = NewChunks { generation: number.cast_signed(), first_chunk, chunks: work.runs.chunks() };
    index::append_segment(
        &mut PostingWriter::new(tx)?,
        new,
        work.runs.into_readers()?,
        &work.deaths,
        &planned.policy.bm25,
    )?;
    settings::write_next_chunk(tx, next)?;
    remove_sources(tx, planned)?;
    report.unsafe_documents = findings::unsafe_documents(tx)?;
    generation.documents = report.documents;
    generation.chunks = report.chunks;
    generation.digest = record::generation(parent_digest, number, policy_digest, changes);
    generations::complete(tx, &generation)?;
    tell(SyncEvent::Publishing);
    report.generation = Some(number);
    report.published = true;
    report.rebuilt.clone_from(&planned.rebuilt);
    Ok(Some(report))
}

fn remove_sources(tx: &Connection, planned: &Planned) -> Result<()> {
    planned.removed.iter().try_for_each(|(source_no, _, _)| sources::delete(tx, *source_no))
}

/// Notes what the generation is published without; also in sources that were not read now.
fn write_failures(tx: &Connection, generation: u64, planned: &Planned, work: &Work) -> Result<()> {
    for known in planned.known_failures.iter().filter(|known| is_elsewhere(planned, known)) {
        let StoredFailure { source_id, path, code, message } = known;
        sources::insert_failure(tx, generation, source_id, path, code, message)?;
    }
    for Failure { source_id, path, code, message } in current_failures(planned, work) {
        sources::insert_failure(tx, generation, source_id, path, code, message)?;
    }
    Ok(())
}

/// Writes documents and counts what it does.
struct Writer<'a> {
    tx: &'a Connection,
    number: u64,
    rebuild: bool,
    /// The number of the current slice's first chunk.
    next: i64,
    source_numbers: &'a [i64],
    report: &'a mut SyncReport,
    changes: Vec<(DocumentId, Digest)>,
}

impl Writer<'_> {
    fn document(&mut self, mut document: PreparedDocument) -> Result<()> {
        let tx = self.tx;
        let mut change = DocumentChange::default();
        let reason = if self.rebuild { Reason::PolicyChanged } else { Reason::TextChanged };
        document.row.source_no = self.source_numbers[document.source];
        for chunk in &document.removed {
            self.bury(&document.row, chunk, reason, &mut change)?;
        }
        let document_no = if let Some(number) = document.document_no {
            documents::update(tx, number, &document.row, document.stamps)?;
            self.report.documents.updated += 1;
            number
        } else {
            self.report.documents.added += 1;
            documents::insert(tx, &document.row, document.stamps)?
        };
        findings::put(tx, document_no, &document.findings)?;
        self.note_unsafe(&document);
        let moves = document.chunks.iter().any(|chunk| matches!(chunk.fate, Fate::Kept { moved: true }));
        if moves {
            chunks::vacate(tx, document_no)?;
        }
        for PreparedChunk { row, fate } in &mut document.chunks {
            match *fate {
                Fate::Kept { .. } => {
                    self.report.chunks.reused += 1;
                    continue;
                }
                Fate::Reindexed { old } => {
                    chunks::delete(tx, old)?;
                    self.report.chunks.reused += 1;
                }
                Fate::Added => {
                    change.added.push((row.id(), row.content));
                    self.report.chunks.added += 1;
                }
            }
            row.chunk_no += self.next;
        }
        // All rows that go are gone and all places that move are vacated: no two rows claim one place.
        for PreparedChunk { row, fate } in &document.chunks {
            match fate {
                Fate::Kept { .. } if moves => chunks::relocate(tx, row)?,
                Fate::Kept { .. } => {}
                Fate::Reindexed { .. } | Fate::Added => {
                    let range = usize::try_from(row.span.start_byte).unwrap_or(usize::MAX)
                        ..usize::try_from(row.span.end_byte).unwrap_or(usize::MAX);
                    chunks::insert(tx, document_no, row, document.text.get(range).unwrap_or_default())?;
                }
            }
        }
        self.note(document.row.document_id, change);
        Ok(())
    }

    fn deletion(&mut self, deletion: PreparedDeletion) -> Result<()> {
        let PreparedDeletion { document_no, row, chunks, source_removed } = deletion;
        let reason = if source_removed { Reason::SourceRemoved } else { Reason::FileDeleted };
        let mut change = DocumentChange::default();
        for chunk in &chunks {
            self.bury(&row, chunk, reason, &mut change)?;
        }
        let (id, hash) = (row.document_id.to_string(), row.content_hash.to_string());
        tombstones::insert(
            self.tx,
            &NewTombstone {
                kind: Kind::Document,
                id: &id,
                document_id: &id,
                source_id: &row.source_id,
                path: &row.path,
                content_hash: &hash,
                generation_added: row.generation_added,
                generation_deleted: self.number,
                reason,
            },
        )?;
        findings::delete(self.tx, document_no)?;
        documents::delete(self.tx, document_no)?;
        self.report.documents.deleted += 1;
        self.note(row.document_id, change);
        Ok(())
    }

    fn note_unsafe(&mut self, document: &PreparedDocument) {
        let unsafe_chunks = document.chunks.iter().filter(|chunk| chunk.row.unsafe_reason.is_some()).count() as u64;
        let (Some(first), DocumentRow { source_id, path, .. }) = (document.findings.first(), &document.row) else {
            return;
        };
        let list = match unsafe_chunks {
            0 if document.gained => &mut self.report.newly_found_in_reviewed,
            0 => return,
            _ => &mut self.report.newly_unsafe,
        };
        if list.len() < UNSAFE_NAMED {
            list.push(UnsafeDocument {
                source_id: source_id.clone(),
                path: path.clone(),
                rule: first.rule.clone(),
                line: first.start_line,
                chunks: unsafe_chunks,
            });
        }
    }

    /// A chunk id that is gone leaves a tombstone.
    fn bury(&mut self, row: &DocumentRow, chunk: &ChunkRow, reason: Reason, change: &mut DocumentChange) -> Result<()> {
        let id: ChunkId = chunk.id();
        chunks::delete(self.tx, chunk.chunk_no)?;
        tombstones::insert(
            self.tx,
            &NewTombstone {
                kind: Kind::Chunk,
                id: &id.to_string(),
                document_id: &row.document_id.to_string(),
                source_id: &row.source_id,
                path: &row.path,
                content_hash: &chunk.content.to_string(),
                generation_added: chunk.generation_added,
                generation_deleted: self.number,
                reason,
            },
        )?;
        change.removed.push((id, chunk.content));
        self.report.chunks.removed += 1;
        Ok(())
    }

    fn note(&mut self, document: DocumentId, change: DocumentChange) {
        if !change.is_empty() {
            self.changes.push((document, change.digest()));
        }
    }
}

/// What a sync would do, in the words of a plan.
pub(super) fn describe(planned: &Planned, work: Work) -> Result<SyncPlan> {
    let mut plan = SyncPlan {
        generation: planned.parent.as_ref().map(|parent| parent.number),
        rebuild: planned.rebuilt.clone(),
        unchanged: unchanged(planned, &work),
        failures: failures(planned, &work),
        ..SyncPlan::default()
    };
    let mut entries = work.spool.into_reader()?;
    while let Some(entry) = entries.next()? {
        let (list, row) = match entry {
            Prepared::Document(document) if document.document_no.is_none() => (&mut plan.added, document.row),
            Prepared::Document(document) => (&mut plan.updated, document.row),
            Prepared::Deletion(deletion) => (&mut plan.deleted, deletion.row),
            Prepared::EndOfSlice { .. } => continue,
        };
        list.push(PlannedFile { source_id: row.source_id, path: row.path });
    }
    Ok(plan)
}

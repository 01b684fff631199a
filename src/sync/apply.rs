//! The transaction of a sync: prepared documents become rows, an index segment and a generation.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::deletion::{Burial, bury_postings};
use super::renamed::LeftBehind;
use super::spool::{ClassRuns, Fate, Prepared, PreparedChunk, PreparedDeletion, PreparedDocument, RunSpool};
use super::{Planned, PlannedFile, SyncEvent, SyncPlan, SyncReport, UnsafeDocument, Work, failures};
use crate::access;
use crate::error::{Error, Failure, Result};
use crate::index::{self, Deaths, NewChunks};
use crate::model::rule::ClassKey;
use crate::model::{Digest, DocumentId};
use crate::store::chunks::{self, ChunkRow};
use crate::store::classes::{self, ClassChange};
use crate::store::documents::{self, DocumentRow};
use crate::store::generations::{self, ChunkCounts, DocumentCounts, Generation};
use crate::store::postings::PostingWriter;
use crate::store::record::{self, DocumentChange};
use crate::store::sources::StoredFailure;
use crate::store::tombstones::{self, Reason};
use crate::store::{Connection, findings, settings, sources};

/// So many documents are named in each list of findings.
const UNSAFE_NAMED: usize = 100;

/// Whether there is a generation to publish: documents changed, or which files fail did.
pub(super) fn publishes(planned: &Planned, work: &Work) -> bool {
    let known = planned.basis.known_failures.iter().filter(|failure| !is_elsewhere(planned, failure));
    let known: BTreeSet<_> = known.map(|it| (it.source_id.as_str(), it.path.as_str(), it.code.as_str())).collect();
    let now: BTreeSet<_> = current_failures(planned, work).map(|it| (&*it.source_id, &*it.path, it.code)).collect();
    work.documents > 0 || !planned.rebuilt.is_empty() || (planned.basis.parent.is_some() && known != now)
}

/// Whether an earlier failure is that of a source which is not read now and stays.
fn is_elsewhere(planned: &Planned, failure: &StoredFailure) -> bool {
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
    work: Work,
    tell: &dyn Fn(SyncEvent),
) -> Result<Option<SyncReport>> {
    if !planned.basis.holds(tx)? {
        return Ok(None);
    }
    let parent = planned.basis.parent.clone();
    let mut report = unpublished(planned, &work);
    let rebuild = !planned.rebuilt.is_empty();
    let mut source_numbers = Vec::with_capacity(planned.sources.len());
    for source in &planned.sources {
        // Also where it is as planned: a sync that changed no document may have removed the row meanwhile.
        source_numbers.push(sources::put(tx, &source.row)?);
    }
    let mut access = access::Update::begin(tx, planned.groups.as_ref())?;
    for (document_no, stamps) in &work.unchanged {
        if let Some(stamps) = stamps {
            documents::restamp(tx, *document_no, *stamps)?;
        }
    }
    let number = parent.as_ref().map_or(1, |parent| parent.number + 1);
    if !publishes(planned, &work) {
        remove_sources(tx, planned)?;
        note_access(&mut report, access, "a source was declared anew")?;
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
        acl_epoch: planned.basis.acl_epoch,
        tool_version: concat!("ragdb ", env!("CARGO_PKG_VERSION")).into(),
    };
    generations::insert(tx, &generation)?;
    write_failures(tx, number, planned, &work)?;
    if rebuild {
        index::clear(&mut PostingWriter::new(tx)?)?;
    }
    let mut writer = Writer {
        tx,
        number,
        rebuild,
        classes: Classes { keys: &work.keys, access: &mut access, met: BTreeMap::new() },
        source_numbers: &source_numbers,
        report: &mut report,
        touched: BTreeMap::new(),
        changes: Vec::new(),
        left_behind: LeftBehind::new(planned),
    };
    let mut entries = work.spool.into_reader()?;
    while let Some(entry) = entries.next()? {
        match entry {
            Prepared::Document(document) => writer.document(*document)?,
            Prepared::Deletion(deletion) => writer.deletion(*deletion)?,
            Prepared::EndOfSlice { chunks } => {
                for (class, chunks) in chunks {
                    writer.classes.meet(tx, class)?.next += i64::from(chunks);
                }
                continue;
            }
        }
        tell(SyncEvent::Written);
    }
    let Writer { classes: Classes { met, .. }, touched, changes, left_behind, .. } = writer;
    let left_behind = left_behind.notes();
    append_segments(tx, planned, number, &met, work.runs, work.deaths)?;
    for (class_no, change) in touched {
        classes::record(tx, class_no, number, change)?;
    }
    remove_sources(tx, planned)?;
    generation.acl_epoch = note_access(&mut report, access, &format!("generation {number}"))?;
    report.access_notes.extend(left_behind);
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

/// Writes the postings of each access class that gained or lost chunks.
fn append_segments(
    tx: &Connection,
    planned: &Planned,
    generation: u64,
    met: &BTreeMap<u32, Met>,
    runs: RunSpool,
    mut deaths: BTreeMap<i64, Deaths>,
) -> Result<()> {
    let mut writer = PostingWriter::new(tx)?;
    let policy = &planned.policy.bm25;
    for (class, ClassRuns { runs, chunks }) in runs.into_readers()? {
        let class_no = met.get(&class).map(|met| met.class_no);
        let class_no = class_no.ok_or_else(|| Error::Damaged { detail: "a run has chunks of no document".into() })?;
        let first_chunk = classes::next_chunk(tx, class_no)?;
        let new = NewChunks { class_no, generation: generation.cast_signed(), first_chunk, chunks };
        let deaths = deaths.remove(&class_no).unwrap_or_default();
        index::append_segment(&mut writer, new, runs, &deaths, policy)?;
        classes::advance(tx, class_no, chunks)?;
    }
    for (class_no, deaths) in deaths {
        bury_postings(tx, &mut writer, class_no, generation, &deaths, policy)?;
    }
    Ok(())
}

/// Ends the update of the access rules, and says what came of it; returns the epoch.
fn note_access(report: &mut SyncReport, access: access::Update<'_>, reason: &str) -> Result<u64> {
    let outcome = access.finish(reason)?;
    report.acl_epoch = outcome.epoch;
    report.access_notes = outcome.notes;
    Ok(outcome.epoch)
}

fn remove_sources(tx: &Connection, planned: &Planned) -> Result<()> {
    planned.removed.iter().try_for_each(|(source_no, _, _)| sources::delete(tx, *source_no))
}

/// Notes what the generation is published without; also in sources that were not read now.
fn write_failures(tx: &Connection, generation: u64, planned: &Planned, work: &Work) -> Result<()> {
    for known in planned.basis.known_failures.iter().filter(|known| is_elsewhere(planned, known)) {
        let StoredFailure { source_id, path, code, message } = known;
        sources::insert_failure(tx, generation, source_id, path, code, message)?;
    }
    for Failure { source_id, path, code, message } in current_failures(planned, work) {
        sources::insert_failure(tx, generation, source_id, path, code, message)?;
    }
    Ok(())
}

/// Writes documents and counts what it does.
struct Writer<'a, 'c> {
    tx: &'a Connection,
    number: u64,
    rebuild: bool,
    classes: Classes<'a, 'c>,
    source_numbers: &'a [i64],
    report: &'a mut SyncReport,
    /// What happens to each access class.
    touched: BTreeMap<i64, ClassChange>,
    changes: Vec<(DocumentId, Digest)>,
    left_behind: LeftBehind<'a>,
}

/// The access classes that the documents of this sync are in.
struct Classes<'a, 'c> {
    /// The keys, by the numbers of [`super::prepare::Keys`].
    keys: &'a [ClassKey],
    access: &'a mut access::Update<'c>,
    met: BTreeMap<u32, Met>,
}

/// An access class with its number in the store.
#[derive(Clone, Copy)]
struct Met {
    class_no: i64,
    /// The number of the current slice's first chunk of it.
    next: i64,
}

impl Classes<'_, '_> {
    fn meet(&mut self, tx: &Connection, class: u32) -> Result<&mut Met> {
        Ok(match self.met.entry(class) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let key = self.keys.get(class as usize);
                let key = key.ok_or_else(|| Error::Damaged { detail: "a document has no access class".into() })?;
                let class_no = self.access.class_of(key)?;
                entry.insert(Met { class_no, next: classes::next_chunk(tx, class_no)? })
            }
        })
    }
}

impl Writer<'_, '_> {
    fn document(&mut self, mut document: PreparedDocument) -> Result<()> {
        let tx = self.tx;
        let mut change = DocumentChange::default();
        let reason = if self.rebuild { Reason::PolicyChanged } else { Reason::TextChanged };
        document.row.source_no = self.source_numbers[document.source];
        let Met { class_no, next } = *self.classes.meet(tx, document.class)?;
        document.row.class_no = class_no;
        for chunk in &document.removed {
            self.bury(&document.row, chunk, reason, &mut change)?;
        }
        let document_no = if let Some((number, old_class)) = document.replaces {
            if old_class != class_no {
                document.row.class_generation = self.number;
            }
            documents::update(tx, number, &document.row, document.stamps)?;
            self.report.documents.updated += 1;
            if old_class != class_no {
                self.classes.access.moved(old_class, class_no)?;
                tombstones::hide(tx, old_class, document.row.document_id)?;
            }
            number
        } else {
            self.report.documents.added += 1;
            self.left_behind.added(&document.row);
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
            row.chunk_no += next;
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
        self.note_classes(&document, &change);
        self.note(document.row.document_id, change);
        Ok(())
    }

    /// Notes what the document means for its access class, and for the one that it leaves.
    fn note_classes(&mut self, document: &PreparedDocument, change: &DocumentChange) {
        let id = document.row.document_id;
        let reused = || document.chunks.iter().filter(|chunk| chunk.fate != Fate::Added).map(|chunk| &chunk.row);
        let left = document.replaces.map(|(_, class_no)| class_no).filter(|&left| left != document.row.class_no);
        if let Some(left) = left {
            let kept = reused().map(|row| (row.id(), row.content));
            let lost =
                DocumentChange { removed: kept.chain(change.removed.iter().copied()).collect(), added: Vec::new() };
            let class = self.touched.entry(left).or_default();
            class.documents.deleted += 1;
            class.chunks.removed += lost.removed.len() as u64;
            class.changes.push((id, lost.digest()));
        }
        let class = self.touched.entry(document.row.class_no).or_default();
        if left.is_some() || document.replaces.is_none() {
            class.documents.added += 1;
            let all = document.chunks.iter().map(|chunk| (chunk.row.id(), chunk.row.content));
            let gained = DocumentChange { removed: Vec::new(), added: all.collect() };
            class.chunks.added += gained.added.len() as u64;
            class.changes.push((id, gained.digest()));
        } else {
            class.documents.updated += 1;
            class.chunks.added += change.added.len() as u64;
            class.chunks.removed += change.removed.len() as u64;
            class.chunks.reused += reused().count() as u64;
            class.changes.extend((!change.is_empty()).then(|| (id, change.clone().digest())));
        }
    }

    fn deletion(&mut self, deletion: PreparedDeletion) -> Result<()> {
        let PreparedDeletion { document_no, row, chunks, reason } = deletion;
        self.left_behind.deleted(&row);
        let change = self.burial(reason).document(document_no, &row, &chunks)?;
        self.report.chunks.removed += change.removed.len() as u64;
        self.report.documents.deleted += 1;
        let class = self.touched.entry(row.class_no).or_default();
        class.documents.deleted += 1;
        class.chunks.removed += change.removed.len() as u64;
        class.changes.push((row.document_id, change.clone().digest()));
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

    fn bury(&mut self, row: &DocumentRow, chunk: &ChunkRow, reason: Reason, change: &mut DocumentChange) -> Result<()> {
        self.burial(reason).chunk(row, chunk, change)?;
        self.report.chunks.removed += 1;
        Ok(())
    }

    fn burial(&self, reason: Reason) -> Burial<'_> {
        Burial { tx: self.tx, generation: self.number, reason }
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
        generation: planned.basis.parent.as_ref().map(|parent| parent.number),
        rebuild: planned.rebuilt.clone(),
        unchanged: unchanged(planned, &work),
        failures: failures(planned, &work),
        purged: left_out(&work),
        ..SyncPlan::default()
    };
    let mut entries = work.spool.into_reader()?;
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

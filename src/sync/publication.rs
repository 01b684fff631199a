//! A generation in the making, inside the transaction that publishes it: prepared documents become rows, an index segment
//! for each access class, and the generation.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::apply::{current_failures, is_elsewhere, publishes, unpublished};
use super::deletion::{Burial, bury_postings};
use super::keys::Keys;
use super::mend::Dying;
use super::reindex::make_postings;
use super::renamed::LeftBehind;
use super::spool::{ClassRuns, Fate, Prepared, PreparedChunk, PreparedDeletion, PreparedDocument, RunSpool};
use super::{Planned, SyncEvent, SyncReport, UnsafeDocument, Work};
use crate::access;
use crate::error::{Error, Failure, Result};
use crate::index::{self, NewChunks};
use crate::model::{Digest, DocumentId};
use crate::store::chunks::{self, ChunkRow};
use crate::store::classes::{self, ClassChange};
use crate::store::documents::{self, DocumentRow};
use crate::store::generations::{self, ChunkCounts, DocumentCounts, Generation};
use crate::store::postings::PostingWriter;
use crate::store::record::{self, DocumentChange};
use crate::store::sources::StoredFailure;
use crate::store::tombstones::{self, Reason};
use crate::store::{Connection, findings, settings, sources, vectors};

/// So many documents are named in each list of findings.
const UNSAFE_NAMED: usize = 100;

/// The rows of a generation, as far as they are written. Dropped unfinished it leaves what no read may see: end the
/// transaction without a commit then.
pub(super) struct Publication<'a> {
    tx: &'a Connection,
    planned: &'a Planned,
    number: u64,
    /// Set once its row is written.
    generation: Option<Generation>,
    source_numbers: Vec<i64>,
    access: access::Update<'a>,
    /// The access classes that the documents are in, by the numbers of [`Keys`].
    met: BTreeMap<u32, Met>,
    /// What happens to each access class.
    touched: BTreeMap<i64, ClassChange>,
    changes: Vec<(DocumentId, Digest)>,
    left_behind: LeftBehind<'a>,
    /// Whether there are vectors, which new chunks may take over.
    has_vectors: bool,
    tally: Tally,
}

/// What was done to documents, for the report.
#[derive(Default)]
struct Tally {
    documents: DocumentCounts,
    chunks: ChunkCounts,
    newly_unsafe: Vec<UnsafeDocument>,
    newly_found_in_reviewed: Vec<UnsafeDocument>,
}

/// An access class with its number in the store.
#[derive(Clone, Copy)]
struct Met {
    class_no: i64,
    /// The number of the current slice's first chunk of it.
    next: i64,
}

impl<'a> Publication<'a> {
    /// Begins one; `None`, with nothing written, where the store is not any more what the sync was planned against.
    pub(super) fn begin(tx: &'a Connection, planned: &'a Planned) -> Result<Option<Self>> {
        if !planned.basis.holds(tx)? {
            return Ok(None);
        }
        let mut source_numbers = Vec::with_capacity(planned.sources.len());
        for source in &planned.sources {
            // Also where it is as planned: a sync that changed no document may have removed the row meanwhile.
            source_numbers.push(sources::put(tx, &source.row)?);
        }
        Ok(Some(Self {
            tx,
            planned,
            number: planned.basis.parent.as_ref().map_or(1, |parent| parent.number + 1),
            generation: None,
            source_numbers,
            access: access::Update::begin(tx, planned.groups.as_ref())?,
            met: BTreeMap::new(),
            touched: BTreeMap::new(),
            changes: Vec::new(),
            left_behind: LeftBehind::new(planned),
            has_vectors: vectors::any(tx)?,
            tally: Tally::default(),
        }))
    }

    /// Writes the next entry of a sync; its class is one of `keys`.
    pub(super) fn write(&mut self, keys: &Keys, entry: Prepared) -> Result<()> {
        match entry {
            Prepared::Document(document) => {
                self.open()?;
                self.document(keys, *document)
            }
            Prepared::Deletion(deletion) => {
                self.open()?;
                self.deletion(*deletion)
            }
            Prepared::EndOfSlice { chunks } => chunks.into_iter().try_for_each(|(class, chunks)| {
                self.meet(keys, class)?.next += i64::from(chunks);
                Ok(())
            }),
        }
    }

    /// Writes the rest once all entries are written, and says what came of it.
    pub(super) fn finish(mut self, work: Work, tell: &dyn Fn(SyncEvent)) -> Result<SyncReport> {
        let (tx, planned) = (self.tx, self.planned);
        let mut report = unpublished(planned, &work);
        for (document_no, stamps) in &work.unchanged {
            if let Some(stamps) = stamps {
                documents::restamp(tx, *document_no, *stamps)?;
            }
        }
        if !publishes(planned, &work) {
            remove_sources(tx, planned)?;
            note_access(&mut report, self.access, "a source was declared anew")?;
            return Ok(report);
        }
        self.open()?;
        let rebuilds = self.rebuilds();
        let Self { number, generation, access, met, touched, changes, left_behind, tally, .. } = self;
        let Some(mut generation) = generation else { return Ok(report) };
        generation.published_at = settings::now();
        settings::write_policy(tx, &planned.policy)?;
        write_failures(tx, number, planned, &work)?;
        // What a rebuild clears needs no counting.
        let remake = (work.dying.are_untold && !rebuilds).then(|| work.runs.folder().to_owned());
        if remake.is_some() {
            number_chunks(tx, &met, &work.runs)?;
        } else {
            append_segments(tx, planned, number, &met, work.runs, work.dying)?;
        }
        for (class_no, change) in touched {
            classes::record(tx, class_no, number, change)?;
        }
        if let Some(folder) = remake {
            make_postings(tx, &folder, &planned.policy.bm25)?;
        }
        remove_sources(tx, planned)?;
        vectors::sweep(tx)?;
        generation.acl_epoch = note_access(&mut report, access, &format!("generation {number}"))?;
        report.access_notes.extend(left_behind.notes());
        report.unsafe_documents = findings::unsafe_documents(tx)?;
        let Tally { documents, chunks, newly_unsafe, newly_found_in_reviewed } = tally;
        let DocumentCounts { added, updated, deleted, .. } = documents;
        report.documents = DocumentCounts { added, updated, deleted, ..report.documents };
        (report.chunks, report.newly_unsafe) = (chunks, newly_unsafe);
        report.newly_found_in_reviewed = newly_found_in_reviewed;
        (generation.documents, generation.chunks) = (report.documents, report.chunks);
        generation.digest = record::generation(generation.parent_digest, number, generation.policy_digest, changes);
        generations::complete(tx, &generation)?;
        tell(SyncEvent::Publishing);
        report.generation = Some(number);
        report.published = true;
        report.rebuilt.clone_from(&planned.rebuilt);
        Ok(report)
    }

    /// Writes the row that all others refer to, before the first of them.
    fn open(&mut self) -> Result<()> {
        if self.generation.is_some() {
            return Ok(());
        }
        let (tx, parent) = (self.tx, self.planned.basis.parent.as_ref());
        let policy_digest = self.planned.policy.digest();
        let generation = Generation {
            number: self.number,
            parent: parent.map(|parent| parent.number),
            published_at: settings::now(),
            documents: DocumentCounts::default(),
            chunks: ChunkCounts::default(),
            policy_digest,
            digest: policy_digest,
            parent_digest: parent.map(|parent| parent.digest),
            acl_epoch: self.planned.basis.acl_epoch,
            tool_version: concat!("ragdb ", env!("CARGO_PKG_VERSION")).into(),
        };
        generations::insert(tx, &generation)?;
        if self.rebuilds() {
            index::clear(&mut PostingWriter::new(tx)?)?;
        }
        self.generation = Some(generation);
        Ok(())
    }

    fn rebuilds(&self) -> bool {
        !self.planned.rebuilt.is_empty()
    }

    fn meet(&mut self, keys: &Keys, class: u32) -> Result<&mut Met> {
        Ok(match self.met.entry(class) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let key = keys.key(class);
                let key = key.ok_or_else(|| Error::Damaged { detail: "a document has no access class".into() })?;
                let class_no = self.access.class_of(&key)?;
                entry.insert(Met { class_no, next: classes::next_chunk(self.tx, class_no)? })
            }
        })
    }

    fn document(&mut self, keys: &Keys, mut document: PreparedDocument) -> Result<()> {
        let tx = self.tx;
        let mut change = DocumentChange::default();
        let reason = if self.rebuilds() { Reason::PolicyChanged } else { Reason::TextChanged };
        document.row.source_no = self.source_numbers[document.source];
        let Met { class_no, next } = *self.meet(keys, document.class)?;
        document.row.class_no = class_no;
        for chunk in &document.removed {
            self.bury(&document.row, chunk, reason, &mut change)?;
        }
        if let Some((_, old_class)) = &mut document.replaces
            && self.access.class(*old_class).is_none()
        {
            // The document says of itself that it was where nothing is.
            *old_class = 0;
        }
        let document_no = if let Some((number, old_class)) = document.replaces {
            if old_class != class_no {
                document.row.class_generation = self.number;
            }
            documents::update(tx, number, &document.row, document.stamps)?;
            findings::delete(tx, number)?;
            self.tally.documents.updated += 1;
            if old_class != class_no {
                self.access.moved(old_class, class_no)?;
                tombstones::hide(tx, old_class, document.row.document_id)?;
            }
            number
        } else {
            self.tally.documents.added += 1;
            self.left_behind.added(&document.row);
            documents::insert(tx, &document.row, document.stamps)?
        };
        findings::insert(tx, document_no, &document.findings)?;
        self.note_unsafe(&document);
        let moves = document.chunks.iter().any(|chunk| matches!(chunk.fate, Fate::Kept { moved: true }));
        if moves {
            chunks::vacate(tx, document_no)?;
        }
        for PreparedChunk { row, fate } in &mut document.chunks {
            match *fate {
                Fate::Kept { .. } => {
                    self.tally.chunks.reused += 1;
                    continue;
                }
                Fate::Mended => {
                    chunks::delete(tx, row.chunk_no)?;
                    self.tally.chunks.reused += 1;
                    continue;
                }
                Fate::Reindexed { old } => {
                    chunks::delete(tx, old)?;
                    self.tally.chunks.reused += 1;
                }
                Fate::Added => {
                    change.added.push((row.id(), row.content));
                    self.tally.chunks.added += 1;
                }
            }
            row.chunk_no += next;
        }
        // All rows that go are gone and all places that move are vacated: no two rows claim one place.
        for PreparedChunk { row, fate } in &document.chunks {
            match fate {
                Fate::Kept { .. } if moves => chunks::relocate(tx, row)?,
                Fate::Kept { .. } => {}
                Fate::Mended | Fate::Reindexed { .. } | Fate::Added => {
                    let range = usize::try_from(row.span.start_byte).unwrap_or(usize::MAX)
                        ..usize::try_from(row.span.end_byte).unwrap_or(usize::MAX);
                    let text = document.text.get(range).unwrap_or_default();
                    chunks::insert(tx, document_no, &document.row.title, row, text)?;
                    if self.has_vectors && row.is_indexed() {
                        let before = if let Fate::Reindexed { old } = *fate { Some(old) } else { None };
                        vectors::carry(tx, row.chunk_no, &row.composition, before)?;
                    }
                }
            }
        }
        let digest = change.clone().digest();
        self.note_classes(&document, &change, digest);
        self.note(document.row.document_id, &change, digest);
        Ok(())
    }

    /// Notes what the document means for its access class, and for the one that it leaves.
    fn note_classes(&mut self, document: &PreparedDocument, change: &DocumentChange, digest: Digest) {
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
        if document.replaces.is_none() {
            class.documents.added += 1;
            class.chunks.added += change.added.len() as u64;
            class.changes.push((id, digest));
        } else if left.is_some() {
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
            class.changes.extend((!change.is_empty()).then_some((id, digest)));
        }
    }

    fn deletion(&mut self, deletion: PreparedDeletion) -> Result<()> {
        let PreparedDeletion { document_no, row, chunks, reason } = deletion;
        self.left_behind.deleted(&row);
        let change = self.burial(reason).document(document_no, &row, &chunks)?;
        self.tally.chunks.removed += change.removed.len() as u64;
        self.tally.documents.deleted += 1;
        let class = self.touched.entry(row.class_no).or_default();
        class.documents.deleted += 1;
        class.chunks.removed += change.removed.len() as u64;
        let digest = change.clone().digest();
        class.changes.push((row.document_id, digest));
        self.note(row.document_id, &change, digest);
        Ok(())
    }

    fn note_unsafe(&mut self, document: &PreparedDocument) {
        let unsafe_chunks = document.chunks.iter().filter(|chunk| chunk.row.unsafe_reason.is_some()).count() as u64;
        let (Some(first), DocumentRow { source_id, path, .. }) = (document.findings.first(), &document.row) else {
            return;
        };
        let list = match unsafe_chunks {
            0 if document.gained => &mut self.tally.newly_found_in_reviewed,
            0 => return,
            _ => &mut self.tally.newly_unsafe,
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
        self.tally.chunks.removed += 1;
        Ok(())
    }

    fn burial(&self, reason: Reason) -> Burial<'_> {
        Burial { tx: self.tx, generation: self.number, reason }
    }

    fn note(&mut self, document: DocumentId, change: &DocumentChange, digest: Digest) {
        self.changes.extend((!change.is_empty()).then_some((document, digest)));
    }
}

/// Writes the postings of each access class that gained or lost chunks.
fn append_segments(
    tx: &Connection,
    planned: &Planned,
    generation: u64,
    met: &BTreeMap<u32, Met>,
    runs: RunSpool,
    dying: Dying,
) -> Result<()> {
    let mut deaths = dying.by_class;
    let mut writer = PostingWriter::new(tx)?;
    let policy = &planned.policy.bm25;
    for (class, ClassRuns { runs, chunks }) in runs.into_readers()? {
        let class_no = class_of_run(met, class)?;
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

/// Takes the numbers of the new chunks, whose postings are made with those of all others.
fn number_chunks(tx: &Connection, met: &BTreeMap<u32, Met>, runs: &RunSpool) -> Result<()> {
    runs.chunks().try_for_each(|(class, chunks)| classes::advance(tx, class_of_run(met, class)?, chunks))
}

fn class_of_run(met: &BTreeMap<u32, Met>, class: u32) -> Result<i64> {
    let class_no = met.get(&class).map(|met| met.class_no);
    class_no.ok_or_else(|| Error::Damaged { detail: "a run has chunks of no document".into() })
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

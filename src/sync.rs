//! `sync`: a folder becomes a generation.
//!
//! The data path, top to bottom: the request's sources are joined with the stored ones, walked and planned against
//! the manifest; the files that may have changed are read, cut and lexed in parallel, outside any transaction; then
//! one IMMEDIATE transaction checks that the parent generation is still the one planned against and publishes. A store's
//! first generation is written while its files are read.

mod apply;
mod basis;
mod clock;
mod deletion;
mod failed;
mod identity;
mod keys;
mod mark;
mod matching;
mod mend;
mod parallel;
mod prepare;
mod publication;
mod reclass;
mod reindex;
mod renamed;
mod restore;
mod slices;
mod sources;
mod spool;
mod types;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

use crate::access::KnownGroups;
use crate::config::{Reviewed, SourceConfig};
use crate::error::{Error, Failure, Result};
use crate::ingest::plan::{DeletionLimit, Doubts, SourcePlan, guard, plan};
use crate::ingest::source::SourceReader;
use crate::model::{Bm25Policy, ChunkId, DocumentId, Policy, Stamps};
use crate::store::connect::BUSY_TIMEOUT;
use crate::store::documents::StoredDocument;
use crate::store::sources::SourceRow;
use crate::store::tombstones::Reason;
use crate::store::{Store, access as acl, documents, settings};
use basis::Basis;
use clock::Clock;
use failed::{FailedFile, refuse_unread_rules};
use keys::Keys;
use mend::Dying;
use prepare::{Context, Slice};
use publication::Publication;
use restore::Past;
use slices::slices;
use sources::Resolved;
use spool::{RunSpool, Spool};

pub(crate) use deletion::publish as publish_deletion;
pub(crate) use reclass::reclass;
pub(crate) use reindex::reindex;
pub(crate) use sources::{config_for, reviewed_of, stored_root};
pub use types::{
    PlannedFile, StageSeconds, SyncEvent, SyncPlan, SyncProgress, SyncReport, SyncRequest, SyncSources, UnsafeDocument,
};

/// How often a sync plans at least, where others publish meanwhile, before it gives up.
const ATTEMPTS: usize = 5;

/// A source that is being read.
struct Source {
    config: SourceConfig,
    row: SourceRow,
    changed: bool,
    /// `None` where its files are not read.
    reader: Option<SourceReader>,
    /// Which documents are reviewed.
    reviewed: Reviewed,
    /// Which ones were, as the store has it.
    reviewed_before: Option<Reviewed>,
}

/// One piece of a worker's work.
enum Task {
    Read {
        source: usize,
        path: String,
        stored: Option<StoredDocument>,
        reparse: bool,
    },
    Delete {
        document_no: i64,
        reason: Reason,
    },
    /// A document of a copy, by its number there, and the number of the one that it replaces.
    Restore {
        source: usize,
        copied: i64,
        stored: Option<i64>,
    },
}

/// Everything known before a file is read.
struct Planned {
    basis: Basis,
    policy: Policy,
    rebuilt: Vec<String>,
    sources: Vec<Source>,
    plans: Vec<SourcePlan>,
    removed: Vec<(i64, SourceRow, Vec<StoredDocument>)>,
    reparse: Vec<bool>,
    /// Whether what is stored is held to its hashes.
    checksum: bool,
    /// For each source, the documents that the parent was published without a look at.
    doubts: Vec<Doubts>,
    /// What the configuration says of groups; `None` where there is no configuration, and what is stored stays.
    groups: Option<KnownGroups>,
    /// Whether the store has others.
    groups_changed: bool,
    /// What makes it a rollback.
    past: Past,
    started: SystemTime,
}

/// What the workers made of it.
struct Work {
    spool: Spool,
    runs: RunSpool,
    /// The access classes that the documents are in.
    keys: Keys,
    /// Chunks that die.
    dying: Dying,
    documents: u64,
    unchanged: Vec<(i64, Option<Stamps>)>,
    failed: Vec<FailedFile>,
    /// Files whose content was purged.
    left_out: Vec<PlannedFile>,
    /// For a rollback, the chunks of each document that was prepared.
    ids: HashMap<DocumentId, BTreeSet<ChunkId>>,
    /// And the documents that go.
    changed: HashSet<DocumentId>,
    bytes_read: u64,
}

impl Store {
    /// Publishes one new generation from the sources of the request, or nothing where nothing changed: no document,
    /// and not which files fail. Then nothing is written but file stamps that changed, and a source's declaration.
    ///
    /// # Errors
    /// [`Error::Refused`] where a guard stops it, or where the log is at its limit and somebody reads an old state
    /// (`log_is_held`); [`Error::SyncFailed`] where files failed and [`SyncRequest::keep_going`] is not set. Nothing is
    /// published then, and the store is as it was.
    pub fn sync(&self, request: &SyncRequest) -> Result<SyncReport> {
        self.require_writable()?;
        let begun = Instant::now();
        // What can't be done now, as without space for a second file, is done by a later call.
        let _ = self.finish_purge();
        self.bound_log()?;
        let mut report = self.unless_overtaken(|| self.try_sync(request))?;
        report.seconds.total = begun.elapsed().as_secs_f64();
        Ok(report)
    }

    /// What [`Store::sync`] would do with the same request, without writing anything.
    ///
    /// # Errors
    /// As [`Store::sync`], but for failed files, which the plan lists.
    pub fn plan(&self, request: &SyncRequest) -> Result<SyncPlan> {
        self.unless_overtaken(|| {
            let planned = self.prepare_plan(request)?;
            let work = self.work_on(&planned, request)?;
            work.map(|work| apply::describe(&planned, work)).transpose()
        })
    }

    /// Attempts it until no other sync publishes meanwhile: as often as [`ATTEMPTS`] says, and for as long as one waits
    /// for another writer.
    fn unless_overtaken<T>(&self, mut attempt: impl FnMut() -> Result<Option<T>>) -> Result<T> {
        let begun = Instant::now();
        for attempts in 1.. {
            if let Some(done) = attempt()? {
                return Ok(done);
            }
            if attempts >= ATTEMPTS && begun.elapsed() >= BUSY_TIMEOUT {
                break;
            }
        }
        Err(Error::Busy { path: self.path().to_owned(), waited_seconds: begun.elapsed().as_secs() })
    }

    /// One attempt; `None` where another sync published meanwhile.
    fn try_sync(&self, request: &SyncRequest) -> Result<Option<SyncReport>> {
        let tell = |event| request.progress.iter().for_each(|progress| progress.event(event));
        let mut seconds = StageSeconds::default();
        let mut clock = Clock::start();
        tell(SyncEvent::Walking);
        let planned = self.prepare_plan(request)?;
        seconds.walk = clock.lap();
        let published = if is_first(&planned) {
            self.publish_first(&planned, request, &mut seconds, &mut clock)?
        } else {
            let Some(work) = self.work_on(&planned, request)? else { return Ok(None) };
            seconds.read = clock.lap();
            refuse_failures(&planned, &work, request.keep_going)?;
            if !apply::publishes(&planned, &work) && !apply::has_bookkeeping(&planned, &work) {
                let _ = self.finish_log();
                let mut report = apply::unpublished(&planned, &work);
                report.seconds = seconds;
                return Ok(Some(report));
            }
            tell(SyncEvent::Writing { documents: work.documents });
            self.write(|tx| apply::publish(tx, &planned, work, &tell))?
        };
        let Some(mut report) = published else { return Ok(None) };
        seconds.write = clock.lap();
        // It is committed. A log that can't be moved now is moved later: by the next checkpoint, or who opens next.
        let _ = self.checkpoint();
        seconds.checkpoint = clock.lap();
        report.seconds = seconds;
        Ok(Some(report))
    }

    /// The first generation. There is nothing yet to search, and no run to record: the transaction is open while files are
    /// read, and documents are written as they are ready. Only another sync of the same store has to wait, as it has to
    /// for any other transaction.
    fn publish_first(
        &self,
        planned: &Planned,
        request: &SyncRequest,
        seconds: &mut StageSeconds,
        clock: &mut Clock,
    ) -> Result<Option<SyncReport>> {
        let tell = |event| request.progress.iter().for_each(|progress| progress.event(event));
        self.write(|tx| {
            let Some(mut publication) = Publication::begin(tx, planned)? else { return Ok(None) };
            let work = self.work(planned, request, Some(&mut publication))?;
            seconds.read = clock.lap();
            refuse_failures(planned, &work, request.keep_going)?;
            tell(SyncEvent::Writing { documents: work.documents });
            (0..work.documents).for_each(|_| tell(SyncEvent::Written));
            publication.finish(work, &tell).map(Some)
        })
    }

    /// Lists the folders and compares them with what is stored.
    fn prepare_plan(&self, request: &SyncRequest) -> Result<Planned> {
        let started = SystemTime::now();
        let (basis, stored_policy, stored_sources, known_groups) = self.read(|conn| {
            let sources = crate::store::sources::all(conn)?;
            identity::require_own_documents(conn, &sources)?;
            Ok((Basis::read(conn)?, settings::policy(conn)?, sources, acl::known_groups(conn)?))
        })?;
        let groups = match &request.sources {
            SyncSources::Config(config) => {
                Some(config.access.groups.clone().map_or(KnownGroups::Any, KnownGroups::Only))
            }
            SyncSources::Registered | SyncSources::Folders(_) => None,
        };
        let policy = wanted_policy(request, stored_policy.as_ref())?;
        let rebuilt = stored_policy.as_ref().map_or(Vec::new(), |stored| stored.differences(&policy));
        let Resolved { read, removed, settings } =
            sources::resolve(self.path(), request, stored_sources, !rebuilt.is_empty())?;
        let (mut sources, mut plans, mut reparse, mut doubts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for declared in read {
            let config = declared.config;
            let reader = SourceReader::open(&config.base, &config.path, declared.row.max_file_bytes)?;
            let selection = config.selection(&settings)?;
            let (mut listing, stored) = std::thread::scope(|scope| {
                let stored = scope.spawn(|| match declared.source_no {
                    Some(number) => self.read(|conn| documents::manifest(conn, number)),
                    None => Ok(Vec::new()),
                });
                let listing = reader.list(&selection);
                (listing, stored.join())
            });
            let mut stored = stored.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            let failed = basis.known_failures.iter().filter(|failure| failure.source_id == config.id);
            let doubt = Doubts::new(failed.map(|failure| failure.path.as_str()));
            for document in stored.iter_mut().filter(|document| doubt.concern(&document.path)) {
                document.stamps = None;
            }
            doubts.push(doubt);
            for failure in &mut listing.failures {
                failure.source_id.clone_from(&config.id);
            }
            // Documents from before there were access rules.
            let unruled = stored.iter().any(|document| document.class_no == 0);
            let look_again = declared.reparse || unruled || !rebuilt.is_empty();
            let mut plan = plan(listing, stored, request.checksum || look_again);
            identity::pair(self, &config.id, &mut plan)?;
            plans.push(plan);
            reparse.push(look_again);
            let (row, changed, reviewed_before) = (declared.row, declared.changed, declared.reviewed_before);
            let reviewed = config.reviewed()?;
            sources.push(Source { config, row, changed, reader: Some(reader), reviewed, reviewed_before });
        }
        let mut gone = Vec::new();
        for (source_no, row) in removed {
            let stored = self.read(|conn| documents::manifest(conn, source_no))?;
            gone.push((source_no, row, stored));
        }
        let roots: Vec<PathBuf> = sources.iter().map(|source| source.config.root()).collect();
        let shown: Vec<_> = roots.iter().map(PathBuf::as_path).zip(&plans).collect();
        let limit = match (request.max_delete, settings.max_delete) {
            (Some(most), _) => DeletionLimit::ThisSync(most),
            (None, Some(most)) => DeletionLimit::Standing(most),
            (None, None) => DeletionLimit::Default,
        };
        let removed: Vec<_> =
            gone.iter().map(|(_, row, documents)| (row.source_id.as_str(), documents.len())).collect();
        guard(&shown, &removed, limit)?;
        Ok(Planned {
            basis,
            policy,
            rebuilt,
            sources,
            plans,
            removed: gone,
            reparse,
            checksum: request.checksum,
            doubts,
            groups_changed: groups.as_ref().is_some_and(|groups| groups.list() != known_groups.as_deref()),
            groups,
            past: Past::default(),
            started,
        })
    }

    /// As [`Store::work`]; `None` where the store is not any more what the plan was made for.
    fn work_on(&self, planned: &Planned, request: &SyncRequest) -> Result<Option<Work>> {
        let work = self.work(planned, request, None);
        if !self.read(|conn| planned.basis.holds(conn))? {
            return Ok(None);
        }
        work.map(Some)
    }

    /// Reads, cuts and lexes all that may have changed. What comes of it is written at once where a generation is being
    /// published already, and waits in the spool where not.
    fn work(
        &self,
        planned: &Planned,
        request: &SyncRequest,
        mut publication: Option<&mut Publication<'_>>,
    ) -> Result<Work> {
        let tell = |event| request.progress.iter().for_each(|progress| progress.event(event));
        let (slices, files, bytes) = slices(planned);
        tell(SyncEvent::Reading { files, bytes });
        let keys = Keys::default();
        let context = Context {
            keys: &keys,
            known_keys: &planned.basis.class_keys,
            alone: &planned.basis.alone,
            purged: &planned.basis.purged,
            past: &planned.past,
            store: self,
            sources: &planned.sources,
            chunking: planned.policy.chunking,
            unsafe_scope: planned.policy.unsafe_scope,
            generation: planned.basis.parent.as_ref().map_or(1, |parent| parent.number + 1),
            rebuild: !planned.rebuilt.is_empty(),
            checksum: planned.checksum,
            started: planned.started,
        };
        let folder = self.folder();
        let mut work = Work {
            spool: Spool::new(folder),
            runs: RunSpool::new(folder),
            keys: Keys::default(),
            dying: Dying::default(),
            documents: 0,
            unchanged: Vec::new(),
            failed: Vec::new(),
            left_out: Vec::new(),
            ids: HashMap::new(),
            changed: HashSet::new(),
            bytes_read: 0,
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        parallel::ordered(
            slices,
            threads,
            prepare::Tools::new,
            |tools, tasks| prepare::prepare(&context, tools, tasks),
            |slice| {
                let Slice { entries, runs, dying, unchanged, failed, left_out, bytes_read } = slice?;
                work.documents += entries.len() as u64 - 1;
                work.failed.extend(failed);
                for entry in entries {
                    if planned.past.is_rollback {
                        restore::note_ids(&mut work, &entry);
                    }
                    match &mut publication {
                        // It will be refused.
                        Some(_) if !request.keep_going && !work.failed.is_empty() => {}
                        Some(publication) => publication.write(&keys, entry)?,
                        None => work.spool.push(entry)?,
                    }
                }
                for (class, run, chunks) in &runs {
                    work.runs.push(*class, run, *chunks)?;
                }
                work.dying.merge(dying);
                work.unchanged.extend(unchanged);
                work.left_out.extend(left_out);
                work.bytes_read += bytes_read;
                tell(SyncEvent::Read { bytes: bytes_read });
                Ok(())
            },
        )?;
        work.keys = keys;
        Ok(work)
    }
}

/// Whether nothing was ever published, so that what a sync writes is read by nobody before it is through.
fn is_first(planned: &Planned) -> bool {
    planned.basis.parent.is_none() && planned.sources.iter().any(|source| source.changed)
}

/// The policy that the request asks for; what it does not speak of is the store's.
fn wanted_policy(request: &SyncRequest, stored: Option<&Policy>) -> Result<Policy> {
    let (chunking, bm25) = match stored {
        Some(stored) => (request.chunking.applied_to(stored.chunking)?, stored.bm25),
        None => (request.chunking.resolve()?, Bm25Policy::default()),
    };
    let known = stored.map(|stored| stored.unsafe_scope).unwrap_or_default();
    let policy = Policy::new(chunking, request.bm25.unwrap_or(bm25))?;
    Ok(Policy { unsafe_scope: request.unsafe_scope.unwrap_or(known), ..policy })
}

/// Failed files stop a sync unless it may go on. A rebuild can't keep what it can't read: its old chunks were cut
/// under another policy.
fn refuse_failures(planned: &Planned, work: &Work, keep_going: bool) -> Result<()> {
    let failures = failures(planned, work);
    if failures.is_empty() {
        return Ok(());
    }
    if !keep_going {
        return Err(Error::SyncFailed { failures });
    }
    let kept = planned.plans.iter().map(|plan| plan.kept.len()).sum::<usize>();
    let kept = kept + work.failed.iter().filter(|failed| failed.stored).count();
    if kept > 0 && !planned.rebuilt.is_empty() {
        return Err(Error::Refused {
            code: "rebuild_needs_all_files",
            message: format!(
                "the settings changed ({}), and {kept} stored documents can't be read to be cut anew",
                planned.rebuilt.join("; ")
            ),
            hint: "mend the files first, or keep the settings".into(),
        });
    }
    refuse_unread_rules(work)?;
    refuse_unread_reviews(planned, work)
}

/// A document whose review is withdrawn would stay evidence while its file can't be read.
fn refuse_unread_reviews(planned: &Planned, work: &Work) -> Result<()> {
    let mut kept = Vec::new();
    for (source, plan) in planned.sources.iter().zip(&planned.plans) {
        let Some(before) = &source.reviewed_before else { continue };
        let failed = work.failed.iter().filter(|failed| failed.stored && failed.failure.source_id == source.config.id);
        let unread = plan.kept.iter().map(|document| &document.path).chain(failed.map(|failed| &failed.failure.path));
        kept.extend(unread.filter(|path| before.covers(path) && !source.reviewed.covers(path)));
    }
    if let Some(first) = kept.first() {
        return Err(Error::Refused {
            code: "rebuild_needs_all_files",
            message: format!(
                "the review of {} stored documents was withdrawn, and they can't be read to be looked at anew: {first}{}",
                kept.len(),
                if kept.len() > 1 { ", …" } else { "" }
            ),
            hint: "mend the files first, exclude them, or keep the review".into(),
        });
    }
    Ok(())
}

/// All failures of the walk and of reading, by source and path.
fn failures(planned: &Planned, work: &Work) -> Vec<Failure> {
    let mut failures: Vec<Failure> = apply::current_failures(planned, work).cloned().collect();
    failures.sort_by(|a, b| (&a.source_id, &a.path, a.code).cmp(&(&b.source_id, &b.path, b.code)));
    failures
}

//! The documents of an earlier generation come in again: a sync whose plan is that generation.
//!
//! From the sources, files that were not in it are left out, documents that were not in it are deleted, and every other
//! file must give the very chunks that it gave then. From a copy, documents are read from its rows as if they were
//! files. Either way they are compared, numbered and written as a sync does it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::time::SystemTime;

use super::basis::Basis;
use super::spool::Prepared;
use super::{Planned, PlannedFile, Source, SyncRequest, Work, apply, config_for, reviewed_of};
use crate::access::narrower;
use crate::error::{Error, Failure, Result};
use crate::ingest::chunk::{Chunked, RawChunk};
use crate::ingest::code;
use crate::ingest::plan::SourcePlan;
use crate::ingest::source::SourceText;
use crate::model::rule::{ClassKey, Narrowing};
use crate::model::{ChunkId, Digest, DocumentId};
use crate::rollback::{NotRevived, RollbackReport, RollbackRequest, WhyNot};
use crate::store::chunks::ChunkRow;
use crate::store::documents::{DocumentRow, StoredDocument};
use crate::store::findings::FindingRow;
use crate::store::generations::Generation;
use crate::store::past::{self, PastDocument};
use crate::store::{Store, access as acl, chunks, documents, findings, generations, purges, record, settings, sources};

/// So many files are named in a refusal.
const NAMED_AT_MOST: usize = 20;

/// What a rollback adds to the plan of a sync.
#[derive(Default)]
pub(super) struct Past {
    /// Whether it is one.
    pub is_rollback: bool,
    /// Live documents that the generation did not have.
    pub deletions: Vec<i64>,
    /// The copy that documents come from.
    pub copy: Option<Store>,
    /// Its documents that come in: which of the plan's sources each is of, its number there, and its number here.
    pub restored: Vec<(usize, i64, Option<i64>)>,
    /// What the documents last said of their readers.
    pub narrowings: HashMap<DocumentId, Narrowing>,
}

impl Past {
    /// The class of a document, made no wider than what the document said last.
    pub(super) fn kept(&self, id: DocumentId, said: ClassKey) -> ClassKey {
        let Some(last) = self.narrowings.get(&id) else { return said };
        let narrowing = narrower(&said.narrowing, last);
        ClassKey { kept: narrowing != said.narrowing, narrowing, ..said }
    }
}

impl Source {
    /// Reads a file; a source of a copy has none.
    pub(super) fn read(&self, path: &str) -> std::result::Result<SourceText, Failure> {
        let unread = || Failure {
            source_id: self.config.id.clone(),
            path: path.to_owned(),
            code: code::UNREADABLE,
            message: "its folder is not open".into(),
        };
        self.reader.as_ref().ok_or_else(unread)?.read(path)
    }
}

/// A document of a copy.
pub(super) struct Copied {
    pub row: DocumentRow,
    pub text: String,
    pub chunked: Chunked,
    pub findings: Vec<FindingRow>,
}

/// Reads a document of a copy, and holds its rows to their hashes. Where its chunks leave out a part of the file, the text
/// has spaces.
pub(super) fn read_copied(copy: &Store, number: i64) -> Result<Copied> {
    let (row, rows, texts, findings) = copy.read(|conn| {
        let rows = chunks::of_document(conn, number)?;
        let texts: Vec<String> = rows.iter().map(|chunk| chunks::text(conn, chunk.chunk_no)).collect::<Result<_>>()?;
        Ok((documents::by_number(conn, number)?, rows, texts, findings::of_document(conn, number)?))
    })?;
    let unsound = || Error::Damaged { detail: format!("the copy's document {} is not as it was written", row.path) };
    let size = usize::try_from(row.size_bytes).map_err(|_| unsound())?;
    if record::document(&row, &rows, &findings) != row.record_hash || size > 1 << 30 {
        return Err(unsound());
    }
    let mut bytes = vec![b' '; size];
    for (chunk, text) in rows.iter().zip(&texts) {
        let range = usize::try_from(chunk.span.start_byte).ok().zip(usize::try_from(chunk.span.end_byte).ok());
        let place = range.and_then(|(start, end)| bytes.get_mut(start..end)).filter(|it| it.len() == text.len());
        if Digest::of(text) != chunk.content {
            return Err(unsound());
        }
        place.ok_or_else(unsound)?.copy_from_slice(text.as_bytes());
    }
    let text = String::from_utf8(bytes).map_err(|_| unsound())?;
    let raw = |chunk: &ChunkRow| -> Result<RawChunk> {
        Ok(RawChunk { span: chunk.span, heading_path: chunk.headings()?, heading_only: chunk.heading_only })
    };
    let chunked = Chunked { chunks: rows.iter().map(raw).collect::<Result<_>>()?, title: Some(row.title.clone()) };
    Ok(Copied { row, text, chunked, findings })
}

/// What is wanted, and what of it can't be had.
struct Wanted {
    generation: Generation,
    /// The newest generation when this was worked out.
    head: Option<u64>,
    documents: BTreeMap<DocumentId, PastDocument>,
    not_revived: Vec<NotRevived>,
    narrowings: HashMap<DocumentId, Narrowing>,
}

impl Wanted {
    /// Takes out a document whose content then was purged, whenever that was: before the generation, it came in by
    /// another way.
    fn refuse_purged(&mut self, id: &DocumentId) {
        if let Some(PastDocument { source_id, path, .. }) = self.documents.remove(id) {
            self.not_revived.push(NotRevived { source_id, path, why: WhyNot::Purged });
        }
    }
}

impl Store {
    /// See [`Store::rollback`].
    pub(crate) fn restore(&self, request: &RollbackRequest) -> Result<RollbackReport> {
        if !request.dry_run {
            self.require_writable()?;
        }
        self.unless_overtaken(|| self.try_restore(request))
    }

    /// One attempt; `None` where a sync published meanwhile.
    fn try_restore(&self, request: &RollbackRequest) -> Result<Option<RollbackReport>> {
        let mut wanted = self.wanted(request.generation)?;
        let sync = SyncRequest {
            max_delete: Some(u64::MAX),
            keep_going: true,
            progress: request.progress.clone(),
            ..SyncRequest::default()
        };
        let mut left_out = Vec::new();
        let planned = if let Some(path) = &request.from {
            self.plan_copy(&mut wanted, path)?
        } else {
            let mut planned = self.prepare_plan(&sync)?;
            if !planned.rebuilt.is_empty() {
                return Err(Error::PolicyMismatch { detail: planned.rebuilt.join("; ") });
            }
            left_out = choose(&mut planned, &wanted);
            planned
        };
        // What was purged meanwhile is not known to be.
        if wanted.head != planned.basis.parent.as_ref().map(|parent| parent.number) {
            return Ok(None);
        }
        let Some(work) = self.work_on(&planned, &sync)? else { return Ok(None) };
        for file in &work.left_out {
            wanted.refuse_purged(&DocumentId::new(&file.source_id, &file.path));
        }
        self.refuse_differences(&wanted, &planned, &work)?;
        wanted.not_revived.sort();
        let head = planned.basis.parent.as_ref().map_or(0, |parent| parent.number);
        let mut report = RollbackReport {
            to: request.generation,
            generation: head,
            not_revived: wanted.not_revived,
            left_out,
            acl_epoch: planned.basis.acl_epoch,
            ..RollbackReport::default()
        };
        if request.dry_run {
            let plan = apply::describe(&planned, work)?;
            let counts = &mut report.documents;
            (counts.added, counts.updated) = (plan.added.len() as u64, plan.updated.len() as u64);
            (counts.deleted, counts.unchanged) = (plan.deleted.len() as u64, plan.unchanged);
            return Ok(Some(report));
        }
        if work.documents == 0 {
            report.documents = apply::unpublished(&planned, &work).documents;
            return Ok(Some(report));
        }
        let tell = |event| request.progress.iter().for_each(|progress| progress.event(event));
        let Some(done) = self.write(|tx| apply::publish(tx, &planned, work, &tell))? else { return Ok(None) };
        let _ = self.checkpoint();
        report.generation = done.generation.unwrap_or(head);
        (report.published, report.documents, report.chunks) = (done.published, done.documents, done.chunks);
        report.acl_epoch = done.acl_epoch;
        Ok(Some(report))
    }

    /// The documents of the generation, but for those that may not come back.
    fn wanted(&self, generation: u64) -> Result<Wanted> {
        self.read(|conn| {
            let generation = generations::get(conn, generation)?;
            let head = generations::head(conn)?.map(|head| head.number);
            let mut documents = past::documents(conn, generation.number)?;
            let purged = purges::since(conn, generation.number)?;
            let declared: BTreeSet<String> =
                sources::all(conn)?.into_iter().map(|(_, source)| source.source_id).collect();
            let mut not_revived = Vec::new();
            documents.retain(|id, past| {
                let why = if purged.contains(id) {
                    WhyNot::Purged
                } else if !declared.contains(&past.source_id) {
                    WhyNot::SourceRemoved
                } else if past.deleted && past.class_no == 0 {
                    WhyNot::RuleUnknown
                } else {
                    return true;
                };
                let (source_id, path) = (past.source_id.clone(), past.path.clone());
                not_revived.push(NotRevived { source_id, path, why });
                false
            });
            let keys = acl::keys(conn)?;
            let narrowing = |past: &PastDocument| keys.get(&past.class_no).map(|key| key.narrowing.clone());
            let narrowings = documents.iter().filter_map(|(id, past)| Some((*id, narrowing(past)?))).collect();
            Ok(Wanted { generation, head, documents, not_revived, narrowings })
        })
    }

    /// A plan whose documents come from a copy.
    fn plan_copy(&self, wanted: &mut Wanted, path: &Path) -> Result<Planned> {
        let copy = Store::open_copy(path)?;
        let number = wanted.generation.number;
        let misfit = |why: String| Error::Refused {
            code: "backup_does_not_fit",
            message: format!("{}: {why}; nothing was changed", path.display()),
            hint: format!("name a backup of this store that was made at generation {number}"),
        };
        let (own, other) = (self.read(settings::store_id)?, copy.read(settings::store_id)?);
        if own != other {
            return Err(misfit("it is a copy of another store".into()));
        }
        let head = copy.read(generations::head)?;
        match head {
            Some(head) if head.number == number && head.digest == wanted.generation.digest => {}
            Some(head) => {
                return Err(misfit(format!("its newest generation is {}, or has another digest", head.number)));
            }
            None => return Err(misfit("it has no generation".into())),
        }
        let folder = self.folder().to_owned();
        let (mut planned, live) = self.read(|conn| {
            let policy = settings::policy(conn)?;
            let policy = policy.ok_or_else(|| Error::Damaged { detail: "a generation has no policy".into() })?;
            let mut live = HashMap::new();
            documents::for_each(conn, |number, row| {
                live.insert(row.document_id, (number, row.content_hash));
                Ok(())
            })?;
            let mut declared = Vec::new();
            for (_, row) in sources::all(conn)? {
                let (config, reviewed) = (config_for(&folder, &row)?, reviewed_of(&row)?);
                let reviewed_before = Some(reviewed_of(&row)?);
                declared.push(Source { config, row, changed: false, reader: None, reviewed, reviewed_before });
            }
            let planned = Planned {
                basis: Basis::read(conn)?,
                policy,
                rebuilt: Vec::new(),
                plans: Vec::new(),
                removed: Vec::new(),
                reparse: Vec::new(),
                checksum: false,
                doubts: Vec::new(),
                groups: None,
                groups_changed: false,
                past: Past { is_rollback: true, narrowings: wanted.narrowings.clone(), ..Past::default() },
                started: SystemTime::now(),
                sources: declared,
            };
            Ok((planned, live))
        })?;
        refuse_other_policy(&planned, wanted, &misfit)?;
        copy.read(|conn| {
            documents::for_each(conn, |_, row| {
                if planned.basis.purged.contains(&(row.document_id, row.content_hash)) {
                    wanted.refuse_purged(&row.document_id);
                }
                Ok(())
            })
        })?;
        let ids = self.read(past::live_chunks)?;
        let stays = |id: &DocumentId, hash: Digest| {
            live.get(id).is_some_and(|(_, known)| *known == hash)
                && wanted.documents.get(id).map(|past| &past.chunks) == ids.get(id)
        };
        let mut unchanged = Vec::new();
        copy.read(|conn| {
            documents::for_each(conn, |number, row| {
                let source = planned.sources.iter().position(|source| source.row.source_id == row.source_id);
                let (Some(source), true) = (source, wanted.documents.contains_key(&row.document_id)) else {
                    return Ok(());
                };
                let here = live.get(&row.document_id).map(|&(here, _)| here);
                match here {
                    Some(here) if stays(&row.document_id, row.content_hash) => {
                        unchanged.push(unchanged_document(here, &row));
                    }
                    here => planned.past.restored.push((source, number, here)),
                }
                Ok(())
            })
        })?;
        planned.plans.push(SourcePlan { unchanged, ..SourcePlan::default() });
        let gone = live.iter().filter(|(id, _)| !wanted.documents.contains_key(id));
        planned.past.deletions = gone.map(|(_, &(number, _))| number).collect();
        planned.past.deletions.sort_unstable();
        planned.past.copy = Some(copy);
        Ok(planned)
    }

    /// Every wanted document must have the chunks that it had.
    fn refuse_differences(&self, wanted: &Wanted, planned: &Planned, work: &Work) -> Result<()> {
        let live = self.read(past::live_chunks)?;
        let failed = |past: &PastDocument| {
            let failures = work.failed.iter().map(|failed| &failed.failure);
            let failures = failures.chain(planned.plans.iter().flat_map(|plan| &plan.failures));
            let mut of_it = failures.filter(|it| it.source_id == past.source_id && it.path == past.path);
            of_it.next().map(|failure| failure.code)
        };
        let mut differing = Vec::new();
        for (id, past) in &wanted.documents {
            let now = work.ids.get(id).or_else(|| live.get(id).filter(|_| !work.changed.contains(id)));
            let why = match (failed(past), now) {
                (Some(code), _) => code,
                (None, Some(now)) if *now == past.chunks => continue,
                (None, Some(_)) => "changed",
                (None, None) => "missing",
            };
            differing.push(format!("{}:{} ({why})", past.source_id, past.path));
        }
        if differing.is_empty() {
            return Ok(());
        }
        let (number, count) = (wanted.generation.number, differing.len());
        let more = if count > NAMED_AT_MOST { ", …" } else { "" };
        differing.truncate(NAMED_AT_MOST);
        let other_policy = planned.policy.digest() != wanted.generation.policy_digest;
        Err(Error::Refused {
            code: "sources_differ",
            message: format!(
                "not as generation {number} had {}: {}{more}; nothing was published",
                if count == 1 { "it".into() } else { format!("them, {count} documents") },
                differing.join(", ")
            ),
            hint: if other_policy {
                format!("generation {number} was cut or scored under other settings; go back to them first")
            } else {
                "restore the files first, as with `git checkout`, or name a backup with --from".into()
            },
        })
    }
}

/// Takes out of a sync's plan what the generation did not have; returns the files that stay out for it.
fn choose(planned: &mut Planned, wanted: &Wanted) -> Vec<PlannedFile> {
    let mut left_out = Vec::new();
    let mut deletions = Vec::new();
    for (source, plan) in planned.sources.iter().zip(&mut planned.plans) {
        let source_id = &source.config.id;
        let has = |path: &str| wanted.documents.contains_key(&DocumentId::new(source_id, path));
        plan.new.retain(|file| {
            let kept = has(&file.path);
            if !kept {
                left_out.push(PlannedFile { source_id: source_id.clone(), path: file.path.clone() });
            }
            kept
        });
        let mut others: Vec<StoredDocument> = plan.unchanged.extract_if(.., |document| !has(&document.path)).collect();
        others.extend(plan.suspect.extract_if(.., |suspect| !has(&suspect.stored.path)).map(|suspect| suspect.stored));
        left_out.extend(
            others.iter().map(|document| PlannedFile { source_id: source_id.clone(), path: document.path.clone() }),
        );
        others.extend(plan.kept.extract_if(.., |document| !has(&document.path)));
        deletions.extend(others.iter().map(|document| document.document_no));
    }
    left_out.sort_by(|a, b| (&a.source_id, &a.path).cmp(&(&b.source_id, &b.path)));
    deletions.sort_unstable();
    planned.past = Past { is_rollback: true, deletions, narrowings: wanted.narrowings.clone(), ..Past::default() };
    left_out
}

/// The chunks of a copy are cut already: they fit only where the store cuts alike.
fn refuse_other_policy(planned: &Planned, wanted: &Wanted, misfit: &dyn Fn(String) -> Error) -> Result<()> {
    if planned.policy.lexer_version != crate::LEXER_VERSION {
        let detail = format!("lexer_version is {} in the store", planned.policy.lexer_version);
        return Err(Error::PolicyMismatch { detail });
    }
    if planned.policy.digest() == wanted.generation.policy_digest {
        return Ok(());
    }
    Err(misfit("it was cut or scored under other settings than the store's".into()))
}

fn unchanged_document(document_no: i64, row: &DocumentRow) -> StoredDocument {
    StoredDocument {
        document_no,
        class_no: row.class_no,
        path: row.path.clone(),
        stamps: None,
        content_hash: row.content_hash,
    }
}

/// The ids of what was prepared for a document.
pub(super) fn note_ids(work: &mut Work, entry: &Prepared) {
    match entry {
        Prepared::Document(document) => {
            let ids: BTreeSet<ChunkId> = document.chunks.iter().map(|chunk| chunk.row.id()).collect();
            work.ids.insert(document.row.document_id, ids);
        }
        Prepared::Deletion(deletion) => {
            work.changed.insert(deletion.row.document_id);
        }
        Prepared::EndOfSlice { .. } => {}
    }
}

//! `ragdb sync`: publishes one new generation, or with `--dry-run` shows what it would be.

use std::io;
use std::sync::Arc;

use ragdb::{
    ChunkPolicy, ChunkSettings, Config, EmbedRequest, Embedder, Failure, PlannedFile, SourceConfig, Store, SyncPlan,
    SyncProgress, SyncReport, SyncRequest, SyncSources, UnsafeDocument,
};
use serde::Serialize;

use super::embed::{EmbedView, embed};
use crate::args::{ChunkingArgs, SyncArgs};
use crate::context::{Context, Verbosity};
use crate::embedder;
use crate::exit::{Outcome, Stop};
use crate::progress::SyncBar;
use crate::render::{ChunksView, DocumentsView, FailureView, Role, Screen, View, bytes, clean, counted, optional};

/// So many newly unsafe documents are named on standard error.
const UNSAFE_SHOWN: usize = 10;

/// So many notes on rules of access are said on standard error.
const NOTES_SHOWN: usize = 10;

/// Runs the verb.
pub fn run(args: &SyncArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let config = if args.folders.is_empty() { context.config()? } else { None };
    let embedder = if args.embed { Some(embedder::required(&args.embedder, config.as_ref(), context)?) } else { None };
    let request = request(args, config, context)?;
    if args.dry_run { plan(args, &request, context) } else { publish(request, embedder.as_deref(), context) }
}

/// What to sync: the folders named, else the sources of the configuration, else those that the store knows.
fn request(args: &SyncArgs, config: Option<Config>, context: &Context) -> Result<SyncRequest, Stop> {
    let chunking = args.chunking.into();
    let request = if args.folders.is_empty() {
        declared(config, chunking)?
    } else if context.config_argument.is_some() {
        return Err(Stop::Usage("--config can't be used with DIR: the folders named are the sources".into()));
    } else {
        SyncRequest { sources: SyncSources::Folders(args.folders.clone()), chunking, ..SyncRequest::default() }
    };
    Ok(SyncRequest {
        checksum: args.checksum,
        keep_going: args.keep_going,
        max_delete: args.max_delete,
        reroot: args.reroot,
        ..request
    })
}

/// The request of a sync without DIR. A configuration that says something about the chunking decides it whole, so
/// that a search under the same file agrees; `chunking` goes before it.
pub fn declared(config: Option<Config>, chunking: ChunkSettings) -> Result<SyncRequest, Stop> {
    let Some(config) = config else { return Ok(SyncRequest { chunking, ..SyncRequest::default() }) };
    let chunking = match config.chunking {
        None => chunking,
        Some(declared) => {
            let ChunkPolicy { target_chars, max_chars, overlap_chars } = chunking.or(declared).resolve()?;
            ChunkSettings {
                target_chars: Some(target_chars),
                max_chars: Some(max_chars),
                overlap_chars: Some(overlap_chars),
            }
        }
    };
    let (bm25, unsafe_scope) = (config.bm25, config.unsafe_scope);
    Ok(SyncRequest { sources: SyncSources::Config(config), chunking, bm25, unsafe_scope, ..SyncRequest::default() })
}

impl From<ChunkingArgs> for ChunkSettings {
    fn from(args: ChunkingArgs) -> Self {
        Self { target_chars: args.target_chars, max_chars: args.max_chars, overlap_chars: args.overlap_chars }
    }
}

/// Opens the store; makes one where the request brings sources of its own.
fn open(request: &SyncRequest, context: &Context) -> Result<Store, Stop> {
    match request.sources {
        SyncSources::Registered => context.open(),
        _ => context.open_or_create(),
    }
}

fn publish(mut request: SyncRequest, embedder: Option<&dyn Embedder>, context: &mut Context) -> Result<Outcome, Stop> {
    if let (SyncSources::Folders(folders), false) = (&request.sources, context.db.exists()) {
        // A mistyped folder should not leave an empty store behind.
        folders.iter().try_for_each(|folder| SourceConfig::for_folder(folder).map(drop))?;
    }
    let store = open(&request, context)?;
    let bar = SyncBar::new(context);
    request.progress = bar.clone().map(|bar| bar as Arc<dyn SyncProgress>);
    let report = store.sync(&request);
    if let Some(bar) = bar {
        bar.clear();
    }
    let report = report?;
    tell_failures(&report.failures, "failed, left out; a document keeps its last good version", context);
    tell_purged(&report.purged, context);
    tell_unsafe(&report, context);
    tell_access(&report, context);
    let verbose = context.verbosity == Verbosity::Verbose;
    let made = embedder.map(|embedder| embed(&store, embedder, EmbedRequest::default(), context));
    let (embed, failed) = match made.transpose() {
        Ok(view) => (view, None),
        Err(stop) => (None, Some(stop)),
    };
    if failed.is_none() || !context.json {
        // What was published is said, also where the vectors failed; in JSON there is one document.
        context.print(&SyncView { embed, verbose, ..SyncView::from(&report) })?;
    }
    failed.map_or(Ok(Outcome::Done), Err)
}

fn plan(args: &SyncArgs, request: &SyncRequest, context: &mut Context) -> Result<Outcome, Stop> {
    // A dry run writes nothing, so where there is no store yet it plans against an empty one elsewhere.
    let missing = !matches!(request.sources, SyncSources::Registered) && !context.db.exists();
    let plan = if missing {
        let elsewhere = tempfile::tempdir()?;
        Store::create(elsewhere.path().join("empty.db"))?.plan(request)?
    } else {
        context.open_read_only()?.plan(request)?
    };
    tell_failures(&plan.failures, "would fail the sync; --keep-going publishes the others", context);
    tell_purged(&plan.purged, context);
    context.print(&PlanView::from(&plan))?;
    Ok(Outcome::of(plan.failures.is_empty() || args.keep_going))
}

/// Says on standard error what documents say of their readers in vain; a JSON result says it itself.
fn tell_access(report: &SyncReport, context: &Context) {
    if context.json {
        return;
    }
    for (source, note) in report.access_notes.iter().take(NOTES_SHOWN) {
        context.note(&format!("source {source}: {note}"));
    }
    if let Some(more) = report.access_notes.len().checked_sub(NOTES_SHOWN).filter(|more| *more > 0) {
        context.note(&format!("{more} more of these: ragdb acl list"));
    }
}

/// Lists on standard error the files that can't be published, and what becomes of them; a JSON result lists them
/// itself.
fn tell_failures(failures: &[Failure], outcome: &str, context: &Context) {
    if context.json || failures.is_empty() {
        return;
    }
    context.diagnose(|out, palette| {
        failures.iter().try_for_each(|failure| FailureView::from(failure).write_line(out, palette))
    });
    context.warn(&format!("{} {outcome}", counted(failures.len() as u64, "file")));
}

/// Names on standard error the files that stay out because they were purged; a JSON result lists them itself.
fn tell_purged(files: &[PlannedFile], context: &Context) {
    if context.json {
        return;
    }
    for PlannedFile { source_id, path } in files {
        context.note(&format!("{path} ({source_id}) was purged; as long as its content is the same, it stays out"));
    }
}

/// Names on standard error the documents that this sync found unsafe; a JSON result lists them itself.
fn tell_unsafe(report: &SyncReport, context: &Context) {
    tell_reviewed(&report.newly_found_in_reviewed, context);
    let found = &report.newly_unsafe;
    if context.json || found.is_empty() {
        return;
    }
    for UnsafeDocument { source_id, path, rule, line, chunks } in found.iter().take(UNSAFE_SHOWN) {
        let kept = counted(*chunks, "chunk");
        context.warn(&format!("{path}:{line}: {rule}: {kept} of this document will not be evidence ({source_id})"));
    }
    if found.len() > UNSAFE_SHOWN {
        context.warn("there are more; `ragdb sql --audit unsafe` lists them all");
    }
    context.note("if such a document only writes about injection, say `reviewed: [PATH]` in ragdb.yaml");
}

/// Names reviewed documents in which there is something that their reviewer may not have seen.
fn tell_reviewed(found: &[UnsafeDocument], context: &Context) {
    if context.json || found.is_empty() {
        return;
    }
    for UnsafeDocument { source_id, path, rule, line, .. } in found.iter().take(UNSAFE_SHOWN) {
        context.warn(&format!("{path}:{line}: {rule}: new in a reviewed document, which stays evidence ({source_id})"));
    }
    if found.len() > UNSAFE_SHOWN {
        context.warn("there are more; `ragdb sql --audit unsafe` lists all findings");
    }
    context.note("review them again, or take them out of `reviewed` in ragdb.yaml");
}

#[derive(Serialize)]
struct UnsafeView {
    source_id: String,
    path: String,
    rule: String,
    line: u32,
    chunks: u64,
}

impl From<&UnsafeDocument> for UnsafeView {
    fn from(document: &UnsafeDocument) -> Self {
        let UnsafeDocument { source_id, path, rule, line, chunks } = document.clone();
        Self { source_id, path, rule, line, chunks }
    }
}

#[derive(Serialize)]
struct SyncView {
    generation: Option<u64>,
    published: bool,
    rebuilt: Vec<String>,
    documents: DocumentsView,
    chunks: ChunksView,
    failures: Vec<FailureView>,
    purged: Vec<FileView>,
    unsafe_documents: u64,
    #[serde(rename = "unsafe")]
    newly_unsafe: Vec<UnsafeView>,
    newly_found_in_reviewed: Vec<UnsafeView>,
    acl_epoch: u64,
    access_notes: Vec<NoteView>,
    bytes_read: u64,
    seconds: Seconds,
    #[serde(skip_serializing_if = "Option::is_none")]
    embed: Option<EmbedView>,
    #[serde(skip)]
    verbose: bool,
}

#[derive(Serialize)]
struct NoteView {
    source_id: String,
    note: String,
}

#[derive(Serialize)]
struct Seconds {
    walk: f64,
    read: f64,
    write: f64,
    checkpoint: f64,
    total: f64,
}

impl From<&SyncReport> for SyncView {
    fn from(report: &SyncReport) -> Self {
        let seconds = &report.seconds;
        let notes = report.access_notes.iter().cloned();
        Self {
            generation: report.generation,
            published: report.published,
            rebuilt: report.rebuilt.clone(),
            documents: report.documents.into(),
            chunks: report.chunks.into(),
            failures: report.failures.iter().map(FailureView::from).collect(),
            purged: file_views(&report.purged),
            unsafe_documents: report.unsafe_documents,
            newly_unsafe: report.newly_unsafe.iter().map(UnsafeView::from).collect(),
            newly_found_in_reviewed: report.newly_found_in_reviewed.iter().map(UnsafeView::from).collect(),
            acl_epoch: report.acl_epoch,
            access_notes: notes.map(|(source_id, note)| NoteView { source_id, note }).collect(),
            bytes_read: report.bytes_read,
            seconds: Seconds {
                walk: seconds.walk,
                read: seconds.read,
                write: seconds.write,
                checkpoint: seconds.checkpoint,
                total: seconds.total,
            },
            embed: None,
            verbose: false,
        }
    }
}

impl View for SyncView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let generation = optional(self.generation);
        match (self.published, self.generation) {
            (true, _) => writeln!(screen.out, "published generation {generation}")?,
            (false, Some(_)) => writeln!(screen.out, "nothing changed; generation {generation} is current")?,
            (false, None) => writeln!(screen.out, "nothing to publish; the store is empty")?,
        }
        write_rebuild(screen, "rebuilt the index", &self.rebuilt)?;
        writeln!(screen.out, "  documents  {}", self.documents.sentence())?;
        writeln!(screen.out, "  chunks     {}", self.chunks.sentence())?;
        if self.unsafe_documents > 0 {
            writeln!(screen.out, "  unsafe     {}", counted(self.unsafe_documents, "document"))?;
        }
        if self.verbose {
            let Seconds { walk, read, write, checkpoint, total } = self.seconds;
            writeln!(screen.out, "  read       {}", bytes(self.bytes_read))?;
            let stages = format!("walk {walk:.3}, read {read:.3}, write {write:.3}, checkpoint {checkpoint:.3}");
            writeln!(screen.out, "  seconds    {total:.3} ({stages})")?;
        }
        self.embed.as_ref().map_or(Ok(()), |embed| embed.text(screen))
    }
}

fn write_rebuild(screen: &mut Screen<'_>, what: &str, differences: &[String]) -> io::Result<()> {
    differences.iter().try_for_each(|difference| writeln!(screen.out, "  {what}: {}", clean::Clean(difference)))
}

#[derive(Serialize)]
struct PlanView {
    generation: Option<u64>,
    rebuild: Vec<String>,
    documents: DocumentsView,
    added: Vec<FileView>,
    updated: Vec<FileView>,
    deleted: Vec<FileView>,
    purged: Vec<FileView>,
    failures: Vec<FailureView>,
}

#[derive(Serialize)]
struct FileView {
    source_id: String,
    path: String,
}

fn file_views(files: &[PlannedFile]) -> Vec<FileView> {
    let view = |file: &PlannedFile| FileView { source_id: file.source_id.clone(), path: file.path.clone() };
    files.iter().map(view).collect()
}

impl From<&SyncPlan> for PlanView {
    fn from(plan: &SyncPlan) -> Self {
        Self {
            generation: plan.generation,
            rebuild: plan.rebuild.clone(),
            documents: planned_counts(plan),
            added: file_views(&plan.added),
            updated: file_views(&plan.updated),
            deleted: file_views(&plan.deleted),
            purged: file_views(&plan.purged),
            failures: plan.failures.iter().map(FailureView::from).collect(),
        }
    }
}

/// How many documents a plan would touch.
pub fn planned_counts(plan: &SyncPlan) -> DocumentsView {
    DocumentsView {
        added: plan.added.len() as u64,
        updated: plan.updated.len() as u64,
        deleted: plan.deleted.len() as u64,
        unchanged: plan.unchanged,
        failed: plan.failures.len() as u64,
    }
}

impl View for PlanView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let palette = screen.palette;
        writeln!(screen.out, "a sync would change (nothing was written)")?;
        write_rebuild(screen, "rebuild the index", &self.rebuild)?;
        writeln!(screen.out, "  documents  {}", self.documents.sentence())?;
        let marked =
            [("A", Role::Good, &self.added), ("M", Role::Warning, &self.updated), ("D", Role::Bad, &self.deleted)];
        for (mark, role, files) in marked {
            for file in files {
                let source = clean::one_line(&file.source_id);
                let (mark, source) = (palette.paint(role, mark), palette.paint(Role::Faint, &source));
                writeln!(screen.out, "{mark} {}  {source}", clean::one_line(&file.path))?;
            }
        }
        Ok(())
    }
}

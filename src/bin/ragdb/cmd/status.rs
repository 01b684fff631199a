//! `ragdb status`: what the store holds, and what a sync would change now.

use std::io;

use ragdb::{ChunkSettings, Error, SourceStatus, Status, Store, VectorStatus};
use serde::Serialize;

use super::embed::ProfileView;
use super::sync::{declared, planned_counts};
use crate::args::StatusArgs;
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{Align, DocumentsView, GenerationView, Screen, Table, View, bytes, clean, counted};

#[derive(Serialize)]
struct StatusView {
    path: String,
    store_id: String,
    created_at: String,
    created_by: String,
    schema_version: i64,
    generation: Option<u64>,
    latest: Option<GenerationView>,
    policy: Option<ragdb::Policy>,
    documents: u64,
    chunks: u64,
    unsafe_documents: u64,
    indexed_chunks: u64,
    average_length: f64,
    segments: Option<u64>,
    tombstones: u64,
    file_bytes: Option<u64>,
    vectors: Vec<VectorView>,
    sources: Vec<SourceView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Pending>,
}

#[derive(Serialize)]
struct SourceView {
    source_id: String,
    kind: String,
    root: Option<String>,
    documents: u64,
}

#[derive(Serialize)]
struct VectorView {
    profile: ProfileView,
    ready: bool,
    vectors: u64,
    missing: u64,
}

/// What a sync would do now, or why it would refuse.
#[derive(Serialize)]
#[serde(untagged)]
enum Pending {
    Plan { documents: DocumentsView, rebuild: Vec<String> },
    Refused { error: Refused },
}

#[derive(Serialize)]
struct Refused {
    code: &'static str,
    message: String,
}

/// Runs the verb.
pub fn run(args: &StatusArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let store = context.open_read_only()?;
    let reader = args.reader.principal()?;
    let plans = !args.no_plan && reader.reads_everything();
    let pending = if plans { Some(pending(&store, context)?) } else { None };
    let path = context.db.display().to_string();
    let view = StatusView { path, pending, ..StatusView::from(store.status(&reader)?) };
    context.print(&view)?;
    Ok(Outcome::Done)
}

fn pending(store: &Store, context: &Context) -> Result<Pending, Stop> {
    match store.plan(&declared(context.config()?, ChunkSettings::default())?) {
        Ok(plan) => Ok(Pending::Plan { documents: planned_counts(&plan), rebuild: plan.rebuild }),
        Err(error @ (Error::Refused { .. } | Error::Io { .. })) => {
            Ok(Pending::Refused { error: Refused { code: error.code(), message: error.to_string() } })
        }
        Err(error) => Err(error.into()),
    }
}

impl From<Status> for StatusView {
    fn from(status: Status) -> Self {
        Self {
            path: String::new(),
            store_id: status.store_id,
            created_at: status.created_at,
            created_by: status.created_by,
            schema_version: status.schema_version,
            generation: status.generation.as_ref().map(|generation| generation.number),
            latest: status.generation.as_ref().map(GenerationView::from),
            policy: status.policy,
            documents: status.documents,
            chunks: status.chunks,
            unsafe_documents: status.unsafe_documents,
            indexed_chunks: status.indexed_chunks,
            average_length: status.average_length,
            segments: status.segments,
            tombstones: status.tombstones,
            file_bytes: status.file_bytes,
            vectors: status.vectors.into_iter().map(VectorView::from).collect(),
            sources: status.sources.into_iter().map(SourceView::from).collect(),
            pending: None,
        }
    }
}

impl From<VectorStatus> for VectorView {
    fn from(status: VectorStatus) -> Self {
        let VectorStatus { profile, is_ready, vectors, missing } = status;
        Self { profile: profile.into(), ready: is_ready, vectors, missing }
    }
}

impl VectorView {
    fn sentence(&self) -> String {
        let missing = match (self.missing, self.ready) {
            (0, true) => String::new(),
            (missing, true) => format!("; {} without, see `ragdb embed`", counted(missing, "chunk")),
            (missing, false) => format!("; {missing} to go, not used yet: `ragdb embed` goes on"),
        };
        format!("{} of {}{missing}", self.vectors, self.profile.sentence())
    }
}

impl From<SourceStatus> for SourceView {
    fn from(source: SourceStatus) -> Self {
        Self { source_id: source.source_id, kind: source.kind, root: source.root, documents: source.documents }
    }
}

impl View for StatusView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let size = self.file_bytes.map_or_else(String::new, |size| format!("{}, ", bytes(size)));
        writeln!(screen.out, "store       {} ({size}schema {})", clean::one_line(&self.path), self.schema_version)?;
        match &self.latest {
            Some(latest) => writeln!(screen.out, "generation  {}, {}", latest.generation, latest.published_at)?,
            None => writeln!(screen.out, "generation  none published yet")?,
        }
        writeln!(screen.out, "documents   {}", self.documents)?;
        writeln!(screen.out, "chunks      {}, {} of them indexed", self.chunks, self.indexed_chunks)?;
        if self.unsafe_documents > 0 {
            let what = counted(self.unsafe_documents, "document");
            writeln!(screen.out, "unsafe      {what}, never scored; see `ragdb sql --audit unsafe`")?;
        }
        let average = self.average_length;
        let segments = self.segments.map_or_else(String::new, |segments| counted(segments, "segment") + ", ");
        writeln!(screen.out, "index       {segments}{average:.1} terms a chunk")?;
        for vectors in &self.vectors {
            writeln!(screen.out, "vectors     {}", vectors.sentence())?;
        }
        writeln!(screen.out, "tombstones  {}", self.tombstones)?;
        if let Some(policy) = &self.policy {
            let (cut, bm25) = (policy.chunking, policy.bm25);
            let sizes =
                format!("{} target, {} at most, {} overlap", cut.target_chars, cut.max_chars, cut.overlap_chars);
            writeln!(screen.out, "chunking    {sizes} (characters)")?;
            writeln!(screen.out, "scoring     BM25, k1 {}, b {}; lexer {}", bm25.k1, bm25.b, policy.lexer_version)?;
            let (rules, scope) = (policy.unsafe_rules, policy.unsafe_scope.as_str());
            writeln!(screen.out, "gate        unsafe rules {rules}, scope {scope}")?;
        }
        match &self.pending {
            None => {}
            Some(Pending::Plan { documents, rebuild }) => {
                writeln!(screen.out, "sync now    {}", documents.sentence())?;
                for difference in rebuild {
                    writeln!(screen.out, "            rebuilds the index: {}", clean::Clean(difference))?;
                }
            }
            Some(Pending::Refused { error }) => {
                writeln!(screen.out, "sync now    would be refused: {}", clean::Clean(&error.message))?;
            }
        }
        if self.sources.is_empty() {
            return Ok(());
        }
        writeln!(screen.out)?;
        let headings =
            [("source", Align::Left), ("kind", Align::Left), ("documents", Align::Right), ("root", Align::Left)];
        let mut table = Table::new(headings, 200);
        for source in &self.sources {
            table.row([
                &source.source_id,
                &source.kind,
                &source.documents.to_string(),
                source.root.as_deref().unwrap_or_default(),
            ]);
        }
        table.write(screen, 0)
    }
}

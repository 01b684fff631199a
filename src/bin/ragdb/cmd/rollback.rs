//! `ragdb rollback`: the documents of an earlier generation, as a new one.

use std::io;

use ragdb::{NotRevived, RollbackReport, RollbackRequest};
use serde::Serialize;

use crate::args::RollbackArgs;
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{ChunksView, DocumentsView, Screen, View, clean, counted};

#[derive(Serialize)]
struct RollbackView {
    to: u64,
    generation: u64,
    published: bool,
    documents: DocumentsView,
    chunks: Option<ChunksView>,
    not_revived: Vec<NotRevivedView>,
    left_out: Vec<FileView>,
    acl_epoch: u64,
    #[serde(skip)]
    dry_run: bool,
}

#[derive(Serialize)]
struct NotRevivedView {
    source_id: String,
    path: String,
    why: &'static str,
}

#[derive(Serialize)]
struct FileView {
    source_id: String,
    path: String,
}

impl RollbackView {
    fn new(report: RollbackReport, dry_run: bool) -> Self {
        let not_revived = report.not_revived.into_iter();
        let file = |file: ragdb::PlannedFile| FileView { source_id: file.source_id, path: file.path };
        Self {
            to: report.to,
            generation: report.generation,
            published: report.published,
            documents: report.documents.into(),
            chunks: report.published.then(|| report.chunks.into()),
            not_revived: not_revived
                .map(|NotRevived { source_id, path, why }| NotRevivedView { source_id, path, why: why.as_str() })
                .collect(),
            left_out: report.left_out.into_iter().map(file).collect(),
            acl_epoch: report.acl_epoch,
            dry_run,
        }
    }
}

/// Runs the verb.
pub fn run(args: &RollbackArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let store = if args.dry_run { context.open_read_only()? } else { context.open()? };
    let request =
        RollbackRequest { generation: args.generation, from: args.from.clone(), dry_run: args.dry_run, progress: None };
    let view = RollbackView::new(store.rollback(&request)?, args.dry_run);
    if !context.json {
        for NotRevivedView { source_id, path, why } in &view.not_revived {
            let why = if *why == "purged" { "it was purged" } else { "its source is declared no longer" };
            context.warn(&format!("{path} ({source_id}) does not come back: {why}"));
        }
        if !view.left_out.is_empty() {
            let files = counted(view.left_out.len() as u64, "file");
            context
                .note(&format!("{files} of later generations stay where they are; the next sync brings them in again"));
        }
    }
    context.print(&view)?;
    Ok(Outcome::Done)
}

impl View for RollbackView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        match (self.published, self.dry_run) {
            (true, _) => {
                writeln!(
                    screen.out,
                    "published generation {}: the documents of generation {}",
                    self.generation, self.to
                )?;
            }
            (false, true) => {
                writeln!(screen.out, "going back to generation {} would change (nothing was written)", self.to)?;
            }
            (false, false) => writeln!(
                screen.out,
                "nothing to do: generation {} has the documents of generation {}",
                self.generation, self.to
            )?,
        }
        writeln!(screen.out, "  documents  {}", self.documents.sentence())?;
        if let Some(chunks) = &self.chunks {
            writeln!(screen.out, "  chunks     {}", chunks.sentence())?;
        }
        for file in &self.left_out {
            writeln!(screen.out, "  left out   {}  {}", clean::one_line(&file.path), clean::one_line(&file.source_id))?;
        }
        Ok(())
    }
}

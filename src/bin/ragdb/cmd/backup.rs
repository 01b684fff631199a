//! `ragdb backup`: a checked copy.

use std::io;

use ragdb::BackupReport;
use serde::Serialize;

use crate::args::BackupArgs;
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{Screen, View, bytes, clean, counted, optional};

#[derive(Serialize)]
struct BackupView {
    path: String,
    generation: Option<u64>,
    generation_digest: Option<String>,
    documents: u64,
    chunks: u64,
    bytes: u64,
    /// The path as it was typed.
    #[serde(skip)]
    named: String,
}

impl From<BackupReport> for BackupView {
    fn from(report: BackupReport) -> Self {
        Self {
            path: report.path.display().to_string(),
            generation: report.generation,
            generation_digest: report.generation_digest.map(|digest| digest.to_string()),
            documents: report.documents,
            chunks: report.chunks,
            bytes: report.bytes,
            named: String::new(),
        }
    }
}

/// Runs the verb.
pub fn run(args: &BackupArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let report = context.open_read_only()?.backup(&args.file)?;
    let named = args.file.display().to_string();
    context.print(&BackupView { named, ..BackupView::from(report) })?;
    Ok(Outcome::Done)
}

impl View for BackupView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        writeln!(screen.out, "checked copy: {} ({})", clean::one_line(&self.named), bytes(self.bytes))?;
        let (documents, chunks) = (counted(self.documents, "document"), counted(self.chunks, "chunk"));
        writeln!(screen.out, "  generation {}, {documents}, {chunks}", optional(self.generation))
    }
}

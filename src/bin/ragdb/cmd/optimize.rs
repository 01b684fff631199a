//! `ragdb optimize`: one index segment for each access class, no free space; or the index made again.

use std::io;

use ragdb::{OptimizeReport, OptimizeRequest};
use serde::Serialize;

use crate::args::OptimizeArgs;
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{Screen, View, bytes, counted};

#[derive(Serialize)]
struct OptimizeView {
    segments_before: u64,
    segments_after: u64,
    rebuilt_chunks: Option<u64>,
    bytes_before: u64,
    bytes_after: u64,
}

impl From<OptimizeReport> for OptimizeView {
    fn from(report: OptimizeReport) -> Self {
        Self {
            segments_before: report.segments_before,
            segments_after: report.segments_after,
            rebuilt_chunks: report.rebuilt_chunks,
            bytes_before: report.bytes_before,
            bytes_after: report.bytes_after,
        }
    }
}

/// Runs the verb.
pub fn run(args: &OptimizeArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let report = context.open()?.optimize(&OptimizeRequest { rebuild: args.rebuild })?;
    context.print(&OptimizeView::from(report))?;
    Ok(Outcome::Done)
}

impl View for OptimizeView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        if let Some(chunks) = self.rebuilt_chunks {
            writeln!(screen.out, "made again from {}", counted(chunks, "chunk"))?;
        }
        let (before, after) = (self.segments_before, counted(self.segments_after, "segment"));
        let sizes = format!("{} to {}", bytes(self.bytes_before), bytes(self.bytes_after));
        writeln!(screen.out, "index: {before} to {after}; file: {sizes}")
    }
}

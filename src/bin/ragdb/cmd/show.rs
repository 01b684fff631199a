//! `ragdb show`: one generation and what it changed.

use std::io;

use serde::Serialize;

use crate::args::ShowArgs;
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{ChangesView, FailureView, GenerationView, Screen, View};

#[derive(Serialize)]
struct ShowView {
    #[serde(flatten)]
    generation: GenerationView,
    changes: ChangesView,
    failures: Vec<FailureView>,
}

/// Runs the verb.
pub fn run(args: &ShowArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let detail = context.open_read_only()?.show(&args.reader.principal()?, args.generation)?;
    context.print(&ShowView {
        generation: (&detail.generation).into(),
        changes: (&detail.changes).into(),
        failures: detail.failures.iter().map(FailureView::from).collect(),
    })?;
    Ok(Outcome::Done)
}

impl View for ShowView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let generation = &self.generation;
        let parent = generation.parent.map_or_else(|| "none".to_owned(), |parent| parent.to_string());
        writeln!(screen.out, "generation {}", generation.generation)?;
        writeln!(screen.out, "  published  {} by {}", generation.published_at, generation.tool_version)?;
        writeln!(screen.out, "  parent     {parent}")?;
        writeln!(screen.out, "  documents  {}", generation.documents.sentence())?;
        writeln!(screen.out, "  chunks     {}", generation.chunks.sentence())?;
        writeln!(screen.out, "  policy     {}", generation.policy_digest)?;
        writeln!(screen.out, "  digest     {}", generation.digest)?;
        writeln!(screen.out)?;
        self.changes.write(screen)?;
        if !self.failures.is_empty() {
            writeln!(screen.out, "\npublished without:")?;
        }
        for failure in &self.failures {
            failure.write_line(screen.out, screen.palette)?;
        }
        Ok(())
    }
}

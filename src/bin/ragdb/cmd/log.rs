//! `ragdb log`: the published generations, newest first.

use std::io;

use serde::Serialize;

use crate::args::LogArgs;
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{Align, GenerationView, Screen, Table, View, short};

#[derive(Serialize)]
struct LogView {
    generations: Vec<GenerationView>,
}

/// Runs the verb.
pub fn run(args: &LogArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let generations = context.open_read_only()?.log(&args.reader.principal()?, args.limit)?;
    if generations.is_empty() && !context.json {
        context.note("nothing has been published yet");
    }
    context.print(&LogView { generations: generations.iter().map(GenerationView::from).collect() })?;
    Ok(Outcome::Done)
}

impl View for LogView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        if self.generations.is_empty() {
            return Ok(());
        }
        let headings = [
            ("generation", Align::Right),
            ("published", Align::Left),
            ("documents +", Align::Right),
            ("~", Align::Right),
            ("-", Align::Right),
            ("chunks +", Align::Right),
            ("-", Align::Right),
            ("digest", Align::Left),
        ];
        let mut table = Table::new(headings, 60);
        for generation in &self.generations {
            let (documents, chunks) = (generation.documents, generation.chunks);
            table.row([
                generation.generation.to_string(),
                generation.published_at.clone(),
                documents.added.to_string(),
                documents.updated.to_string(),
                documents.deleted.to_string(),
                chunks.added.to_string(),
                chunks.removed.to_string(),
                short(&generation.digest).to_owned(),
            ]);
        }
        table.write(screen, 0)
    }
}

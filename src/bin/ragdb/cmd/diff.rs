//! `ragdb diff`: what changed from one generation to another.

use std::io;

use crate::args::DiffArgs;
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{ChangesView, Screen, View};

/// Runs the verb.
pub fn run(args: &DiffArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let diff = context.open_read_only()?.diff(&args.reader.principal()?, args.from, args.to)?;
    context.print(&ChangesView::from(&diff))?;
    Ok(Outcome::Done)
}

impl View for ChangesView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        self.write(screen)
    }
}

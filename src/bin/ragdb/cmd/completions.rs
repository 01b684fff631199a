//! `ragdb completions`: a shell's completion script, from the clap definitions.

use std::io;

use clap::CommandFactory;
use serde::Serialize;

use crate::args::{Cli, CompletionsArgs};
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{Screen, View};

#[derive(Serialize)]
struct CompletionsView {
    shell: String,
    script: String,
}

/// Runs the verb.
pub fn run(args: &CompletionsArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ragdb", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    context.print(&CompletionsView { shell: args.shell.to_string(), script })?;
    Ok(Outcome::Done)
}

impl View for CompletionsView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        screen.out.write_all(self.script.as_bytes())
    }
}

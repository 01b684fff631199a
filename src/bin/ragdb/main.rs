//! The `ragdb` command: reads its arguments, calls the library, and renders what comes back.
//!
//! Everything that knows a terminal, the environment, clap or an exit code is here; everything that knows a store
//! is in the library, of which only the public interface is used.
#![warn(clippy::pedantic)]
#![forbid(unsafe_code)]

mod args;
mod cmd;
mod context;
mod embedder;
mod exit;
mod files;
mod progress;
mod reader;
mod render;
mod retriever;

use std::process::ExitCode;

use args::{Cli, Glance};
use context::Context;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let glance = Glance::at(&arguments);
    let cli = match Cli::read(&arguments, glance.clap_color()) {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error, glance.json).into(),
    };

    let mut context = Context::new(&cli.global);
    let result = cmd::run(&cli.command, &mut context);
    if let Err(stop) = &result {
        context.reporter().stop(stop);
    }
    exit::code(&result).into()
}

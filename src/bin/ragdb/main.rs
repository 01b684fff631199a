//! The `ragdb` command: reads its arguments, calls the library, and renders what comes back.
//!
//! Everything that knows a terminal, the environment, clap or an exit code is here; everything that knows a store
//! is in the library, of which only the public interface is used.
#![warn(clippy::pedantic)]
#![forbid(unsafe_code)]

mod args;
mod cmd;
mod context;
mod exit;
mod files;
mod progress;
mod reader;
mod render;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use args::{Cli, Glance};
use context::Context;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let glance = Glance::at(&arguments);
    let parsed = Cli::command()
        .color(glance.clap_color())
        .try_get_matches_from(arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
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

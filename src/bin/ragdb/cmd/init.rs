//! `ragdb init`: a commented configuration file for a folder.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

use ragdb::{Config, Error};
use serde::Serialize;

use crate::args::InitArgs;
use crate::context::{CONFIG_NAME, Context};
use crate::exit::{Outcome, Stop};
use crate::render::{Screen, View, clean};

#[derive(Serialize)]
struct InitView {
    path: String,
    source: String,
}

/// Runs the verb. Never overwrites a file.
pub fn run(args: &InitArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let path = context.config_argument.clone().unwrap_or_else(|| PathBuf::from(CONFIG_NAME));
    let source = args.folder.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    let template = Config::template(&source)?;
    let file = OpenOptions::new().write(true).create_new(true).open(&path);
    let mut file = file.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::Refused {
            code: "config_exists",
            message: format!("{} exists already; it was left as it is", path.display()),
            hint: "edit it, or write another one with --config".into(),
        },
        _ => Error::Io { path: path.clone(), source: error },
    })?;
    file.write_all(template.as_bytes()).map_err(|source| Error::Io { path: path.clone(), source })?;
    context.print(&InitView { path: path.display().to_string(), source })?;
    Ok(Outcome::Done)
}

impl View for InitView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let (path, source) = (clean::one_line(&self.path), clean::one_line(&self.source));
        writeln!(screen.out, "wrote {path} with the source {source}; next: ragdb sync")
    }
}

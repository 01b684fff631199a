//! `ragdb man`: the man pages, from the clap definitions. Hidden: it is for those who package ragdb.

use std::fs;
use std::io;

use clap::CommandFactory;
use clap_mangen::Man;
use ragdb::Error;
use serde::Serialize;

use crate::args::{Cli, ManArgs};
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{Screen, View};

#[derive(Serialize)]
struct ManView {
    pages: Vec<Page>,
    #[serde(skip)]
    written: bool,
}

#[derive(Serialize)]
struct Page {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// Runs the verb.
pub fn run(args: &ManArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let view = match &args.folder {
        None => ManView { pages: vec![page(Cli::command(), "ragdb")?], written: false },
        Some(folder) => {
            let io = |source| Error::Io { path: folder.clone(), source };
            fs::create_dir_all(folder).map_err(io)?;
            let mut pages = Vec::new();
            for mut page in pages_of_all_verbs()? {
                let path = folder.join(&page.name);
                let text = page.text.take().unwrap_or_default();
                fs::write(&path, text).map_err(|source| Error::Io { path, source })?;
                pages.push(page);
            }
            ManView { pages, written: true }
        }
    };
    context.print(&view)?;
    Ok(Outcome::Done)
}

fn pages_of_all_verbs() -> io::Result<Vec<Page>> {
    let mut root = Cli::command().disable_help_subcommand(true);
    // Hands the global options down to the verbs.
    root.build();
    let verbs: Vec<_> = root.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned().collect();
    let mut pages = vec![page(root, "ragdb")?];
    for verb in verbs {
        let name = format!("ragdb-{}", verb.get_name());
        let below: Vec<_> = verb.get_subcommands().cloned().collect();
        pages.push(page(verb, &name)?);
        for command in below {
            let name = format!("{name}-{}", command.get_name());
            pages.push(page(command, &name)?);
        }
    }
    Ok(pages)
}

fn page(command: clap::Command, name: &str) -> io::Result<Page> {
    let mut text = Vec::new();
    Man::new(command).title(name).source(concat!("ragdb ", env!("CARGO_PKG_VERSION"))).render(&mut text)?;
    Ok(Page { name: format!("{name}.1"), text: Some(String::from_utf8_lossy(&text).into_owned()) })
}

impl View for ManView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        for page in &self.pages {
            match &page.text {
                Some(text) if !self.written => screen.out.write_all(text.as_bytes())?,
                _ => writeln!(screen.out, "{}", page.name)?,
            }
        }
        Ok(())
    }
}

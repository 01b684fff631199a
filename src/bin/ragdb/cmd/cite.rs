//! `ragdb cite`: the cited lines, and whether they still stand in the source.

mod lock;

use std::io;

use ragdb::{CiteStatus, Cited, Error, Manifest};
use serde::Serialize;

use crate::args::{CiteArgs, CiteCommand};
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{Role, Screen, View, clean};

#[derive(Serialize)]
struct CiteView {
    r#ref: String,
    status: &'static str,
    source_id: Option<String>,
    path: Option<String>,
    start_line: Option<u32>,
    end_line: Option<u32>,
    text: Option<String>,
    content_hash: Option<String>,
    generation: Option<u64>,
    generation_deleted: Option<u64>,
    detail: String,
    #[serde(skip)]
    holds: bool,
}

impl From<Cited> for CiteView {
    fn from(cited: Cited) -> Self {
        Self {
            r#ref: cited.reference,
            status: cited.status.as_str(),
            source_id: cited.source_id,
            path: cited.path,
            start_line: cited.lines.map(|lines| lines.0),
            end_line: cited.lines.map(|lines| lines.1),
            text: cited.text,
            content_hash: cited.content_hash.map(|hash| hash.to_string()),
            generation: cited.generation,
            generation_deleted: cited.generation_deleted,
            detail: cited.detail,
            // The cited text stands in the source as the store has it.
            holds: matches!(cited.status, CiteStatus::Current | CiteStatus::Moved),
        }
    }
}

/// Runs the verb.
pub fn run(args: &CiteArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let reference = match (&args.command, &args.reference) {
        (Some(CiteCommand::Lock(args)), _) => return lock::lock(args, context),
        (Some(CiteCommand::Check(args)), _) => return lock::check(args, context),
        (None, Some(reference)) => reference,
        (None, None) => return Err(Stop::Usage("name a reference, or lock or check folders".into())),
    };
    let reader = args.reader.principal()?;
    let store = context.open_read_only()?;
    let cited = match &args.run {
        Some(run) => {
            Cited { reference: reference.clone(), ..store.cite(&reader, shown(&store.run(&reader, run)?, reference)?)? }
        }
        None if is_label(reference) => {
            return Err(Stop::Usage(format!("{reference} is a label of a run; name the run with --run ID")));
        }
        None => store.cite(&reader, reference)?,
    };
    let view = CiteView::from(cited);
    context.print(&view)?;
    Ok(Outcome::of(view.holds))
}

/// `S1`, as models write it.
fn label(reference: &str) -> &str {
    reference.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(reference)
}

fn is_label(reference: &str) -> bool {
    label(reference).strip_prefix('S').is_some_and(|digits| digits.parse::<u32>().is_ok())
}

/// The chunk that a run showed under a label.
fn shown<'a>(run: &'a Manifest, reference: &str) -> Result<&'a str, Error> {
    let shown = run.shown.iter().find(|shown| shown.label == label(reference));
    let what = || format!("label {reference} in run {}", run.run_id);
    shown.map(|shown| shown.chunk_id.as_str()).ok_or_else(|| Error::NotFound { what: what() })
}

impl View for CiteView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let palette = screen.palette;
        let place = match (&self.path, self.start_line, self.end_line) {
            (Some(path), Some(start), Some(end)) => format!("{path}#L{start}-L{end}"),
            (Some(path), ..) => path.clone(),
            (None, ..) => self.r#ref.clone(),
        };
        let role = if self.holds { Role::Good } else { Role::Bad };
        let place = clean::one_line(&place);
        let status = palette.paint(role, self.status);
        writeln!(screen.out, "{}  {status}: {}", palette.paint(Role::Place, &place), clean::Clean(&self.detail))?;
        let Some(text) = &self.text else { return Ok(()) };
        writeln!(screen.out, "\n{}", clean::Clean(text.trim_end_matches(['\r', '\n'])))
    }
}

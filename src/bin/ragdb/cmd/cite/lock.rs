//! `ragdb cite lock` and `ragdb cite check`: the citations of a folder of prose.

use std::io;

use ragdb::{LinkStatus, LockReport, LockedLink};
use serde::Serialize;

use crate::args::{CiteCheckArgs, CiteLockArgs};
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{FailureView, Role, Screen, View, clean, counted};

#[derive(Serialize)]
struct LockView {
    ok: bool,
    documents: u64,
    links: Vec<LinkView>,
    reanchored: Vec<ReanchoredView>,
    failures: Vec<FailureView>,
    #[serde(skip)]
    verb: &'static str,
}

#[derive(Serialize)]
struct LinkView {
    folder: String,
    document: String,
    line: Option<u32>,
    citation: String,
    status: &'static str,
    source_id: Option<String>,
    path: Option<String>,
    start_line: Option<u32>,
    end_line: Option<u32>,
    content_hash: Option<String>,
    detail: String,
    #[serde(skip)]
    shown: bool,
    #[serde(skip)]
    holds: bool,
}

#[derive(Serialize)]
struct ReanchoredView {
    folder: String,
    document: String,
    from: String,
    to: String,
}

impl From<LockedLink> for LinkView {
    fn from(link: LockedLink) -> Self {
        Self {
            folder: link.folder.display().to_string(),
            document: link.document,
            line: link.line,
            citation: link.citation,
            status: link.status.as_str(),
            source_id: link.source_id,
            path: link.path,
            start_line: link.lines.map(|lines| lines.0),
            end_line: link.lines.map(|lines| lines.1),
            content_hash: link.content_hash.map(|hash| hash.to_string()),
            detail: link.detail,
            shown: link.status != LinkStatus::Current,
            holds: link.status.holds(),
        }
    }
}

impl LockView {
    fn of(report: LockReport, verb: &'static str) -> Self {
        let reanchored = report.reanchored.iter().map(|it| ReanchoredView {
            folder: it.folder.display().to_string(),
            document: it.document.clone(),
            from: it.from.clone(),
            to: it.to.clone(),
        });
        Self {
            ok: report.holds(),
            documents: report.documents,
            reanchored: reanchored.collect(),
            failures: report.failures.iter().map(FailureView::from).collect(),
            links: report.links.into_iter().map(LinkView::from).collect(),
            verb,
        }
    }
}

/// Runs `cite lock`.
pub fn lock(args: &CiteLockArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let report = context.open_read_only()?.lock_citations(&args.reader.principal()?, &args.folders)?;
    finish(&LockView::of(report, "locked"), context)
}

/// Runs `cite check`.
pub fn check(args: &CiteCheckArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let report = context.open_read_only()?.check_citations(&args.reader.principal()?, &args.folders, args.reanchor)?;
    finish(&LockView::of(report, "current"), context)
}

fn finish(view: &LockView, context: &mut Context) -> Result<Outcome, Stop> {
    context.print(view)?;
    Ok(Outcome::of(view.ok))
}

impl View for LockView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let palette = screen.palette;
        for failure in &self.failures {
            failure.write_line(screen.out, palette)?;
        }
        for it in &self.reanchored {
            let (place, from, to) = (place(&it.folder, &it.document, None), &it.from, &it.to);
            let words = clean::one_line(&format!("{from} is {to} now"));
            writeln!(screen.out, "{}  {words}", palette.paint(Role::Place, &place))?;
        }
        for link in self.links.iter().filter(|link| link.shown) {
            let place = place(&link.folder, &link.document, link.line);
            let role = if link.holds { Role::Faint } else { Role::Bad };
            let (citation, detail) = (clean::one_line(&link.citation), clean::Clean(&link.detail));
            let status = palette.paint(role, link.status);
            writeln!(screen.out, "{}  {citation}  {status}: {detail}", palette.paint(Role::Place, &place))?;
        }
        let written = self.links.iter().filter(|link| link.line.is_some());
        let good = written.clone().filter(|link| !link.shown).count() as u64;
        let (all, documents) = (counted(written.count() as u64, "citation"), counted(self.documents, "document"));
        writeln!(screen.out, "{all} in {documents}, {good} {}", self.verb)
    }
}

fn place(folder: &str, document: &str, line: Option<u32>) -> String {
    let line = line.map_or(String::new(), |line| format!(":{line}"));
    clean::one_line(&format!("{}/{document}{line}", folder.trim_end_matches('/')))
}

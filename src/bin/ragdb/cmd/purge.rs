//! `ragdb purge`: a document's text leaves the store, and a process of its own looks whether it did.

use std::io;

use ragdb::{PurgeReport, PurgeRequest};
use serde::Serialize;

use crate::args::PurgeArgs;
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{Role, Screen, View, bytes, clean, counted};

pub mod proof;

use proof::ProofView;

#[derive(Serialize)]
struct PurgeView {
    document_id: String,
    source_id: String,
    path: String,
    was_live: bool,
    generation: u64,
    chunks: u64,
    runs: u64,
    answers: u64,
    cached: u64,
    log_is_empty: bool,
    bytes_before: u64,
    bytes_after: u64,
    proof: Option<ProofView>,
}

impl From<&PurgeReport> for PurgeView {
    fn from(report: &PurgeReport) -> Self {
        Self {
            document_id: report.document_id.clone(),
            source_id: report.source_id.clone(),
            path: report.path.clone(),
            was_live: report.was_live,
            generation: report.generation,
            chunks: report.chunks,
            runs: report.runs,
            answers: report.answers,
            cached: report.cached,
            log_is_empty: report.log_is_empty,
            bytes_before: report.bytes_before,
            bytes_after: report.bytes_after,
            proof: None,
        }
    }
}

/// Runs the verb.
pub fn run(args: &PurgeArgs, context: &mut Context) -> Result<Outcome, Stop> {
    // Before anything is removed: what can't be read later can't be a part of the proof.
    for file in &args.also {
        std::fs::File::open(file).map_err(|source| ragdb::Error::Io { path: file.clone(), source })?;
    }
    let request =
        PurgeRequest { document: args.document.clone(), reason: args.reason.clone(), undisturbed: args.prove };
    let store = context.open()?;
    let (report, path) = (store.purge(&request)?, store.path().to_owned());
    // The proof opens the files of the store, which no process that has it open may do.
    drop(store);
    let mut view = PurgeView::from(&report);
    if args.prove {
        view.proof = Some(proof::of(&report, &path, &args.also)?);
    }
    if !report.log_is_empty {
        context.warn(
            "another process reads the store: its log still holds what was removed; purge once more when it ends",
        );
    }
    context.print(&view)?;
    Ok(Outcome::of(view.proof.is_none_or(|proof| proof.proved)))
}

impl View for PurgeView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let (path, source) = (clean::one_line(&self.path), clean::one_line(&self.source_id));
        let gone = if self.was_live { "purged" } else { "purged what was left of" };
        writeln!(screen.out, "{gone} {path} ({source}); generation {}", self.generation)?;
        let removed = [(self.chunks, "chunk"), (self.runs, "run"), (self.answers, "answer")];
        let removed = removed.map(|(number, what)| counted(number, what)).join(", ");
        writeln!(screen.out, "  removed  {removed}, {} from the cache", self.cached)?;
        let log = if self.log_is_empty { "the log is empty" } else { "the log is NOT empty" };
        writeln!(screen.out, "  file     {} to {}; {log}", bytes(self.bytes_before), bytes(self.bytes_after))?;
        let Some(proof) = &self.proof else { return Ok(()) };
        let (role, word) = if proof.proved { (Role::Good, "proved") } else { (Role::Bad, "NOT PROVED") };
        writeln!(screen.out, "{}: {}", screen.palette.paint(role, word), proof.sentence())?;
        for found in &proof.found {
            let (file, what) = (clean::one_line(&found.file), &found.what);
            writeln!(screen.out, "  a {what} at byte {} of {file}", found.offset)?;
        }
        writeln!(screen.out, "  {}", proof.limits())
    }
}

//! `ragdb qualify`: good answers are broken on purpose, and the gate must notice.

use std::io;

use ragdb::{EvalSet, Experiment, Missed, QualifyReport, QualifyRequest};
use serde::Serialize;

use crate::args::QualifyArgs;
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{Align, Role, Screen, Table, View, clean, counted};

#[derive(Serialize)]
struct QualifyView {
    passed: bool,
    claims: usize,
    tried: usize,
    experiments: Vec<ExperimentView>,
    missed: Vec<MissedView>,
    unestablished: Vec<String>,
    not_applicable: Vec<&'static str>,
}

#[derive(Serialize)]
struct ExperimentView {
    name: String,
    mutation: &'static str,
    count: usize,
    metric: &'static str,
    before: f64,
    after: f64,
    expected: f64,
    bound: &'static str,
    passed: bool,
}

#[derive(Serialize)]
struct MissedView {
    mutation: &'static str,
    chunk_id: String,
    claim: String,
    broken: String,
}

/// Runs the verb.
pub fn run(args: &QualifyArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let report = match &args.file {
        Some(file) => {
            let set = EvalSet::load(file)?;
            context.open_read_only()?.qualify(&QualifyRequest { cases: Some(&set), ..QualifyRequest::default() })?
        }
        None if args.corpus => {
            let request = QualifyRequest { sample: args.sample.into(), ..QualifyRequest::default() };
            context.open_read_only()?.qualify(&request)?
        }
        None => ragdb::qualify(&std::env::temp_dir())?,
    };
    let view = QualifyView::from(report);
    context.print(&view)?;
    if !context.json && view.claims == 0 {
        context.note("no claim was verified to begin with, so nothing was broken");
    }
    Ok(Outcome::of(view.passed))
}

impl From<QualifyReport> for QualifyView {
    fn from(report: QualifyReport) -> Self {
        Self {
            passed: report.passed,
            claims: report.claims,
            tried: report.tried,
            experiments: report.experiments.into_iter().map(ExperimentView::from).collect(),
            missed: report.missed.into_iter().map(MissedView::from).collect(),
            unestablished: report.unestablished,
            not_applicable: report.not_applicable.into_iter().map(ragdb::Mutation::as_str).collect(),
        }
    }
}

impl From<Experiment> for ExperimentView {
    fn from(experiment: Experiment) -> Self {
        let Experiment { name, mutation, count, metric, before, after, expected, bound, passed, .. } = experiment;
        Self { name, mutation, count, metric, before, after, expected, bound: bound.as_str(), passed }
    }
}

impl From<Missed> for MissedView {
    fn from(missed: Missed) -> Self {
        let Missed { mutation, chunk_id, claim, broken, .. } = missed;
        Self { mutation: mutation.as_str(), chunk_id, claim, broken }
    }
}

impl View for QualifyView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        writeln!(screen.out, "{}, {} verified and broken", counted(self.tried as u64, "claim"), self.claims)?;
        let headings =
            [("", Align::Left), ("experiment", Align::Left), ("count", Align::Right), ("metric", Align::Left)];
        let numbers = [("before", Align::Right), ("after", Align::Right), ("expected", Align::Left)];
        let mut table = Table::new(headings.into_iter().chain(numbers), 40);
        for it in &self.experiments {
            let state = if it.passed { "ok" } else { "MISSED" };
            let bound = if it.bound == "exactly" { String::new() } else { it.bound.replace('_', " ") + " " };
            let expected = format!("{bound}{:.4}", it.expected);
            let [before, after] = [it.before, it.after].map(|value| format!("{value:.4}"));
            table.row([state, &it.name, &it.count.to_string(), it.metric, &before, &after, &expected]);
        }
        table.write(screen, 2)?;
        for name in &self.not_applicable {
            writeln!(screen.out, "not applicable to any claim: {name}")?;
        }
        for fact in &self.unestablished {
            writeln!(screen.out, "{}: {}", screen.palette.paint(Role::Bad, "not established"), clean::one_line(fact))?;
        }
        for missed in &self.missed {
            let mark = screen.palette.paint(Role::Bad, "not noticed");
            writeln!(screen.out, "{mark}: {} in {}", missed.mutation, clean::one_line(&missed.chunk_id))?;
            writeln!(screen.out, "  was  {}", clean::one_line(&missed.claim))?;
            writeln!(screen.out, "  now  {}", clean::one_line(&missed.broken))?;
        }
        Ok(())
    }
}

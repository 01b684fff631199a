//! `ragdb eval --injection`: the unsafe gate on labelled texts and on documents without attacks.

use std::io;

use ragdb::{BenignSet, InjectionReport, InjectionRequest, InjectionSet, UnsafeDocument};
use serde::Serialize;

use crate::args::EvalArgs;
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{Align, Screen, Table, View, clean};

#[derive(Serialize)]
struct InjectionView {
    unsafe_rules: u32,
    sets: Vec<SetView>,
    benign: Vec<BenignView>,
}

#[derive(Serialize)]
struct SetView {
    name: String,
    attacks: u64,
    found: u64,
    others: u64,
    false_alarms: u64,
    precision: Option<f64>,
    recall: Option<f64>,
}

#[derive(Serialize)]
struct BenignView {
    name: String,
    documents: u64,
    flagged: u64,
    named: Vec<FlaggedView>,
}

#[derive(Serialize)]
struct FlaggedView {
    path: String,
    line: u32,
    rule: String,
}

/// Runs the verb.
pub fn run(args: &EvalArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let request = InjectionRequest {
        labelled: args.injection.clone(),
        benign: args.benign.clone(),
        scratch: std::env::temp_dir(),
    };
    let report = ragdb::evaluate_injection(&request)?;
    context.print(&InjectionView::from(report))?;
    Ok(Outcome::Done)
}

impl From<InjectionReport> for InjectionView {
    fn from(report: InjectionReport) -> Self {
        Self {
            unsafe_rules: report.rules,
            sets: report.sets.into_iter().map(SetView::from).collect(),
            benign: report.benign.into_iter().map(BenignView::from).collect(),
        }
    }
}

impl From<InjectionSet> for SetView {
    fn from(set: InjectionSet) -> Self {
        let (precision, recall) = (set.precision(), set.recall());
        let InjectionSet { name, attacks, found, others, false_alarms } = set;
        Self { name, attacks, found, others, false_alarms, precision, recall }
    }
}

impl From<BenignSet> for BenignView {
    fn from(set: BenignSet) -> Self {
        let named =
            set.named.into_iter().map(|UnsafeDocument { path, line, rule, .. }| FlaggedView { path, line, rule });
        Self { name: set.name, documents: set.documents, flagged: set.flagged, named: named.collect() }
    }
}

impl View for InjectionView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        writeln!(screen.out, "unsafe rules {}", self.unsafe_rules)?;
        let right = |name| (name, Align::Right);
        if !self.sets.is_empty() {
            let headings = ["attacks", "found", "others", "false alarms", "precision", "recall"].map(right);
            let mut table = Table::new([("set", Align::Left)].into_iter().chain(headings), 60);
            let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
            for set in &self.sets {
                let counts = [set.attacks, set.found, set.others, set.false_alarms].map(|count| count.to_string());
                let shares = [share(set.precision), share(set.recall)];
                table.row([set.name.clone()].into_iter().chain(counts).chain(shares));
            }
            table.write(screen, 2)?;
        }
        if !self.benign.is_empty() {
            let headings = ["documents", "flagged"].map(right);
            let mut table = Table::new([("folder", Align::Left)].into_iter().chain(headings), 60);
            for set in &self.benign {
                table.row([set.name.clone(), set.documents.to_string(), set.flagged.to_string()]);
            }
            table.write(screen, 2)?;
        }
        for flagged in self.benign.iter().flat_map(|set| set.named.iter().take(5)) {
            writeln!(screen.out, "flagged: {}:{}: {}", clean::one_line(&flagged.path), flagged.line, flagged.rule)?;
        }
        Ok(())
    }
}

//! Other labels for the same questions: scores change, runs do not.

use serde_json::json;

use super::built_in::share;
use super::facts::FACTS;
use super::{Experiment, NONE};
use crate::error::Result;
use crate::eval::cases::EvalSet;
use crate::eval::evaluate::{EvalReport, EvalRequest};
use crate::eval::threshold::EvalMetric;
use crate::evidence::Manifest;
use crate::store::Store;

/// Evaluates the questions with their labels and with wrong ones.
pub(super) fn change(store: &Store) -> Result<Vec<Experiment>> {
    let right = store.evaluate(&set(|fact| FACTS[fact].path)?, &EvalRequest::default())?;
    let wrong = store.evaluate(&set(|_| "nowhere.md")?, &EvalRequest::default())?;
    let runs = right.results.iter().zip(&wrong.results);
    let differ = runs.filter(|(a, b)| trace(&a.evidence.manifest) != trace(&b.evidence.manifest)).count();
    let values = [recall(&right), recall(&wrong)];
    let changed = share(differ, right.results.len());
    let experiments = [
        Experiment::new("other_labels", NONE, EvalMetric::RecallAtK.name(), values, 0.0),
        Experiment::new("other_labels", NONE, "changed_runs", [0.0, changed], 0.0),
    ];
    Ok(experiments.map(|experiment| experiment.times(right.results.len())).to_vec())
}

fn set(relevant: impl Fn(usize) -> &'static str) -> Result<EvalSet> {
    let case = |at: usize| json!({"id": FACTS[at].name, "query": FACTS[at].question, "relevant": [relevant(at)]});
    let lines: Vec<String> = (0..FACTS.len()).map(|at| case(at).to_string()).collect();
    EvalSet::parse(&lines.join("\n"), "built-in cases")
}

fn recall(report: &EvalReport) -> f64 {
    let found = report.metrics.iter().find(|(metric, _)| *metric == EvalMetric::RecallAtK);
    found.and_then(|(_, value)| *value).unwrap_or(0.0)
}

/// A run without what is drawn by chance or is the time.
fn trace(run: &Manifest) -> Manifest {
    let none = String::new;
    Manifest { run_id: none(), created_at: none(), nonce: none(), prompt_hash: none(), ..run.clone() }
}

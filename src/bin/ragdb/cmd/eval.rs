//! `ragdb eval`: what the store shows for labelled questions; how good retrieval, the claim check and the unsafe gate
//! are on data sets.

mod cases;
mod claims;
mod injection;

use std::io;
use std::path::Path;

use ragdb::{BeirCase, BeirReport, BeirRequest, RetrievalMetrics};
use serde::Serialize;

use crate::args::EvalArgs;
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{Align, FailureView, Role, Screen, Table, View, counted};

#[derive(Serialize)]
struct EvalView {
    retriever: &'static str,
    k: usize,
    cases: usize,
    documents: u64,
    chunks: u64,
    metrics: MetricsView,
    /// The same metrics over a longer ranking.
    deep: DeepView,
    thresholds: Vec<Threshold>,
    passed: bool,
    failures: Vec<FailureView>,
    results: Vec<CaseView>,
}

#[derive(Clone, Copy, Serialize)]
struct MetricsView {
    ndcg_at_k: f64,
    recall_at_k: f64,
    precision_at_k: f64,
    hit_rate: f64,
    mrr: f64,
}

#[derive(Serialize)]
struct DeepView {
    k: usize,
    #[serde(flatten)]
    metrics: MetricsView,
}

#[derive(Serialize)]
struct Threshold {
    metric: &'static str,
    minimum: f64,
    value: f64,
    passed: bool,
}

#[derive(Serialize)]
struct CaseView {
    id: String,
    metrics: MetricsView,
    hits: Vec<CaseHit>,
}

#[derive(Serialize)]
struct CaseHit {
    document: String,
    score: f64,
}

/// Runs the verb.
pub fn run(args: &EvalArgs, context: &mut Context) -> Result<Outcome, Stop> {
    match (&args.file, &args.claims, &args.beir) {
        (Some(file), ..) => cases::run(file, args, context),
        (None, Some(folder), _) => claims::run(folder, args, context),
        (None, None, Some(folder)) => beir(folder, args, context),
        (None, None, None) => injection::run(args, context),
    }
}

fn beir(folder: &Path, args: &EvalArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let request = BeirRequest {
        k: args.k.into(),
        chunking: args.chunking.into(),
        ..BeirRequest::new(folder, std::env::temp_dir())
    };
    let view = EvalView::new(ragdb::evaluate_beir(&request)?, args);
    if !context.json && !view.failures.is_empty() {
        context.diagnose(|out, palette| view.failures.iter().try_for_each(|failure| failure.write_line(out, palette)));
        context.warn(&format!("{} could not be indexed", counted(view.failures.len() as u64, "document")));
    }
    context.print(&view)?;
    Ok(Outcome::of(view.passed))
}

impl EvalView {
    fn new(report: BeirReport, args: &EvalArgs) -> Self {
        let metrics = MetricsView::from(report.metrics);
        let wanted =
            [("ndcg_at_k", args.min_ndcg, metrics.ndcg_at_k), ("recall_at_k", args.min_recall, metrics.recall_at_k)];
        let threshold = |(metric, minimum, value): (_, Option<f64>, f64)| {
            minimum.map(|minimum| Threshold { metric, minimum, value, passed: value >= minimum })
        };
        let thresholds: Vec<Threshold> = wanted.into_iter().filter_map(threshold).collect();
        Self {
            retriever: report.retriever,
            k: report.metrics.k,
            cases: report.cases,
            documents: report.documents,
            chunks: report.chunks,
            metrics,
            deep: DeepView { k: report.deep.k, metrics: report.deep.into() },
            passed: thresholds.iter().all(|threshold| threshold.passed),
            thresholds,
            failures: report.failures.iter().map(FailureView::from).collect(),
            results: report.results.into_iter().map(CaseView::from).collect(),
        }
    }
}

impl From<RetrievalMetrics> for MetricsView {
    fn from(metrics: RetrievalMetrics) -> Self {
        Self {
            ndcg_at_k: metrics.ndcg,
            recall_at_k: metrics.recall,
            precision_at_k: metrics.precision,
            hit_rate: metrics.hit_rate,
            mrr: metrics.mrr,
        }
    }
}

impl From<BeirCase> for CaseView {
    fn from(case: BeirCase) -> Self {
        let hits = case.hits.into_iter().map(|(document, score)| CaseHit { document, score });
        Self { id: case.id, metrics: case.metrics.into(), hits: hits.collect() }
    }
}

impl MetricsView {
    fn cells(self) -> [String; 5] {
        [self.ndcg_at_k, self.recall_at_k, self.precision_at_k, self.hit_rate, self.mrr].map(|x| format!("{x:.4}"))
    }
}

impl View for EvalView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let Self { retriever, cases, documents, chunks, .. } = self;
        writeln!(screen.out, "{retriever}: {cases} queries over {documents} documents in {chunks} chunks")?;
        let headings = ["k", "nDCG@k", "recall@k", "precision@k", "hit rate", "MRR"];
        let mut table = Table::new(headings.map(|name| (name, Align::Right)), 20);
        for (k, metrics) in [(self.k, self.metrics), (self.deep.k, self.deep.metrics)] {
            table.row([k.to_string()].into_iter().chain(metrics.cells()));
        }
        table.write(screen, 2)?;
        for Threshold { metric, minimum, value, passed } in &self.thresholds {
            let (role, word) = if *passed { (Role::Good, "passed") } else { (Role::Bad, "MISSED") };
            let word = screen.palette.paint(role, word);
            writeln!(screen.out, "{word}: {metric} is {value:.4}, at least {minimum} was asked for")?;
        }
        Ok(())
    }
}

//! `ragdb eval`: what the store shows for labelled questions; how good retrieval, the claim check and the unsafe gate
//! are on data sets.

mod cases;
mod claims;
mod injection;

use std::io;
use std::path::Path;

use ragdb::{BeirCase, BeirReport, BeirRequest, RetrievalMetrics, RetrieverKind};
use serde::Serialize;

use super::embed::ProfileView;
use crate::args::EvalArgs;
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::progress::EmbedBar;
use crate::render::{Align, FailureView, Role, Screen, Table, View, counted};
use crate::retriever;

#[derive(Serialize)]
struct EvalView {
    retriever: &'static str,
    k: usize,
    cases: usize,
    documents: u64,
    chunks: u64,
    metrics: MetricsView,
    /// The same metrics over the first five.
    shallow: DeepView,
    /// The same metrics over a longer ranking.
    deep: DeepView,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<ProfileView>,
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
    let mut kinds: Vec<RetrieverKind> = args.retriever.iter().map(|named| named.0).collect();
    if kinds.is_empty() {
        kinds.push(RetrieverKind::Bm25);
    }
    // What ranks by words alone asks nothing of a configuration.
    let config = if kinds == [RetrieverKind::Bm25] { None } else { context.config()? };
    let retrievers = retriever::retrievers(&kinds, &args.ranking, config.as_ref(), context)?;
    let bar = EmbedBar::new(context);
    let reports = ragdb::compare_beir(&request, &retrievers, &|progress| bar.show(progress))?;
    drop(bar);
    let views: Vec<EvalView> = reports.into_iter().map(|report| EvalView::new(report, args)).collect();
    if let Some(view) = views.first().filter(|view| !context.json && !view.failures.is_empty()) {
        context.diagnose(|out, palette| view.failures.iter().try_for_each(|failure| failure.write_line(out, palette)));
        context.warn(&format!("{} could not be indexed", counted(view.failures.len() as u64, "document")));
    }
    let passed = views.iter().all(|view| view.passed);
    match <[EvalView; 1]>::try_from(views) {
        Ok([view]) => context.print(&view)?,
        Err(comparison) => context.print(&Comparison { comparison })?,
    }
    Ok(Outcome::of(passed))
}

/// Several retrievers over one corpus.
#[derive(Serialize)]
struct Comparison {
    comparison: Vec<EvalView>,
}

impl View for Comparison {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let Some(EvalView { cases, documents, chunks, k, .. }) = self.comparison.first() else { return Ok(()) };
        writeln!(screen.out, "{cases} queries over {documents} documents in {chunks} chunks")?;
        if let Some(profile) = self.comparison.iter().find_map(|view| view.profile.as_ref()) {
            writeln!(screen.out, "vectors of {}", profile.sentence())?;
        }
        let (mrr, ndcg) = (format!("MRR@{k}"), format!("nDCG@{k}"));
        let headings = ["recall@5", mrr.as_str(), "nDCG@5", ndcg.as_str()].map(|name| (name, Align::Right));
        let [recall, mrr, shallow, ndcg] = headings;
        let mut table = Table::new([("retriever", Align::Left), recall, mrr, shallow, ndcg], 20);
        for view in &self.comparison {
            let metrics = [
                view.shallow.metrics.recall_at_k,
                view.metrics.mrr,
                view.shallow.metrics.ndcg_at_k,
                view.metrics.ndcg_at_k,
            ];
            table.row([view.retriever.to_owned()].into_iter().chain(metrics.map(|metric| format!("{metric:.4}"))));
        }
        table.write(screen, 2)?;
        self.comparison.iter().try_for_each(|view| view.write_thresholds(screen))
    }
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
            shallow: DeepView { k: report.shallow.k, metrics: report.shallow.into() },
            profile: report.profile.map(ProfileView::from),
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
        self.write_thresholds(screen)
    }
}

impl EvalView {
    fn write_thresholds(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        for Threshold { metric, minimum, value, passed } in &self.thresholds {
            let (role, word) = if *passed { (Role::Good, "passed") } else { (Role::Bad, "MISSED") };
            let word = screen.palette.paint(role, word);
            writeln!(screen.out, "{word}: {metric} is {value:.4}, at least {minimum} was asked for")?;
        }
        Ok(())
    }
}

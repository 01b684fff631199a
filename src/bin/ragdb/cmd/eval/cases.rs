//! `ragdb eval FILE`: what the store shows for labelled questions.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use ragdb::{CaseAnswer, Citation, EvalCase, EvalReport, EvalRequest, EvalSet, ExpectedPolicy, HeldThreshold};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::args::EvalArgs;
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{Align, Role, Screen, Table, View, clean, counted};
use crate::retriever;

#[derive(Serialize)]
struct EvalView {
    retriever: &'static str,
    k: usize,
    cases: usize,
    generation: u64,
    metrics: Map<String, Value>,
    thresholds: Vec<ThresholdView>,
    passed: bool,
    results: Vec<CaseView>,
}

#[derive(Serialize)]
struct ThresholdView {
    metric: &'static str,
    /// `at_least` or `at_most`.
    bound: &'static str,
    limit: f64,
    value: Option<f64>,
    passed: bool,
}

#[derive(Serialize)]
struct CaseView {
    id: String,
    query: String,
    k: usize,
    max_chars: usize,
    chars: usize,
    truncated: bool,
    expect_abstain: bool,
    abstained: bool,
    metrics: Option<RankView>,
    hits: Vec<HitView>,
    shown: Vec<ShownView>,
    refused: Vec<RefusedView>,
    answer: Option<AnswerView>,
    faults: Vec<String>,
}

#[derive(Serialize)]
struct AnswerView {
    answer: String,
    stop_reason: &'static str,
    calls: u32,
    published: usize,
    dropped: usize,
    established: Vec<bool>,
}

#[derive(Serialize)]
struct RankView {
    recall_at_k: f64,
    hit: f64,
    reciprocal_rank: f64,
    ndcg_at_k: f64,
}

#[derive(Serialize)]
struct HitView {
    rank: usize,
    score: f64,
    chunk_id: String,
    source_id: String,
    citation: String,
    relevant: bool,
}

#[derive(Serialize)]
struct ShownView {
    label: String,
    chunk_id: String,
    citation: String,
    verbatim: bool,
    stale: bool,
    unsafe_rule: Option<String>,
    forbidden: bool,
}

#[derive(Serialize)]
struct RefusedView {
    chunk_id: String,
    citation: String,
    score: Option<f64>,
    code: String,
    detail: String,
}

/// Evaluates a file of cases.
pub fn run(file: &Path, args: &EvalArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let config = context.config()?;
    let mut kinds: Vec<_> = args.retriever.iter().map(|named| named.0).collect();
    if kinds.is_empty() {
        kinds.push(config.as_ref().map(|config| config.retrieval.kind).unwrap_or_default());
    }
    let retrievers = retriever::retrievers(&kinds, &args.ranking, config.as_ref(), context)?;
    let set = EvalSet::load(file)?;
    let store = context.open_read_only()?;
    let mut views = Vec::with_capacity(retrievers.len());
    for retriever in retrievers {
        let request = EvalRequest {
            k: args.k.into(),
            thresholds: args.thresholds.clone(),
            allow_unverified_source: args.allow_unverified_source,
            expected_policy: config.as_ref().map(ExpectedPolicy::from),
            answer: args.answer.map(|strategy| strategy.0),
            retriever,
            similarity_floor: args.ranking.similarity_floor,
            ..EvalRequest::default()
        };
        views.push(EvalView::from(store.evaluate(&set, &request)?));
    }
    let passed = views.iter().all(|view| view.passed);
    match <[EvalView; 1]>::try_from(views) {
        Ok([view]) => context.print(&view)?,
        Err(comparison) => context.print(&Comparison { comparison })?,
    }
    Ok(Outcome::of(passed))
}

/// Several retrievers, one after the other.
#[derive(Serialize)]
struct Comparison {
    comparison: Vec<EvalView>,
}

impl View for Comparison {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        for (position, view) in self.comparison.iter().enumerate() {
            if position > 0 {
                writeln!(screen.out)?;
            }
            view.text(screen)?;
        }
        Ok(())
    }
}

impl From<EvalReport> for EvalView {
    fn from(report: EvalReport) -> Self {
        let metrics = report.metrics.iter().map(|(metric, value)| (metric.name().to_owned(), Value::from(*value)));
        Self {
            retriever: report.retriever,
            k: report.k,
            cases: report.results.len(),
            generation: report.generation,
            metrics: metrics.collect(),
            thresholds: report.thresholds.iter().map(ThresholdView::from).collect(),
            passed: report.passed,
            results: report.results.into_iter().map(CaseView::from).collect(),
        }
    }
}

impl From<&HeldThreshold> for ThresholdView {
    fn from(held: &HeldThreshold) -> Self {
        let metric = held.threshold.metric;
        let bound = if metric.is_fault_rate() { "at_most" } else { "at_least" };
        Self { metric: metric.name(), bound, limit: held.threshold.limit, value: held.value, passed: held.passed }
    }
}

impl From<EvalCase> for CaseView {
    fn from(case: EvalCase) -> Self {
        let abstained = case.abstained();
        let manifest = case.evidence.manifest;
        let hits = case.hits.into_iter().zip(1..).map(|(hit, rank)| HitView {
            rank,
            score: hit.score,
            chunk_id: hit.chunk_id,
            source_id: hit.source_id,
            citation: hit.citation.to_string(),
            relevant: hit.is_relevant,
        });
        let cite = |path, start_line, end_line| Citation { path, start_line, end_line }.to_string();
        let shown = manifest.shown.into_iter().zip(case.shown).map(|(shown, check)| ShownView {
            label: shown.label,
            chunk_id: shown.chunk_id,
            citation: cite(shown.path, shown.start_line, shown.end_line),
            verbatim: check.is_verbatim,
            stale: check.is_stale,
            unsafe_rule: check.unsafe_rule,
            forbidden: check.is_forbidden,
        });
        let refused = manifest.refused.into_iter().map(|refused| RefusedView {
            chunk_id: refused.chunk_id,
            citation: cite(refused.path, refused.start_line, refused.end_line),
            score: refused.score,
            code: refused.code,
            detail: refused.detail,
        });
        Self {
            id: case.id,
            query: case.query,
            k: case.k,
            max_chars: case.max_chars,
            chars: manifest.chars,
            truncated: manifest.truncated,
            expect_abstain: case.expect_abstain,
            abstained,
            metrics: case.ranking.map(|scores| RankView {
                recall_at_k: scores.recall,
                hit: scores.hit,
                reciprocal_rank: scores.reciprocal_rank,
                ndcg_at_k: scores.ndcg,
            }),
            hits: hits.collect(),
            shown: shown.collect(),
            refused: refused.collect(),
            answer: case.answer.map(|CaseAnswer { answer, established, .. }| AnswerView {
                stop_reason: answer.stop_reason.as_str(),
                calls: answer.calls,
                published: answer.published.len(),
                dropped: answer.dropped.len(),
                answer: answer.text,
                established,
            }),
            faults: case.faults,
        }
    }
}

/// What stands for a value that nothing was counted for.
const NOTHING_COUNTED: &str = "-";

impl View for EvalView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let Self { retriever, generation, k, .. } = self;
        let cases = counted(self.cases as u64, "case");
        writeln!(screen.out, "{retriever}: {cases} on generation {generation}, k {k}")?;
        let headings = [("", Align::Left), ("case", Align::Left), ("recall@k", Align::Right), ("shown", Align::Right)];
        let mut table = Table::new(headings.into_iter().chain([("refused", Align::Left)]), 60);
        for case in &self.results {
            let state = if case.faults.is_empty() { "ok" } else { "FAULT" };
            let recall = case.metrics.as_ref().map(|metrics| metrics.recall_at_k);
            table.row([state, &case.id, &number(recall), &case.shown.len().to_string(), &case.refusals()]);
        }
        table.write(screen, 2)?;
        for case in &self.results {
            for fault in &case.faults {
                let (id, fault) = (clean::one_line(&case.id), clean::one_line(fault));
                writeln!(screen.out, "{}: {fault}", screen.palette.paint(Role::Bad, &id))?;
            }
        }
        let mut table = Table::new([("metric", Align::Left), ("value", Align::Right), ("", Align::Left)], 40);
        for (name, value) in &self.metrics {
            let held = self.thresholds.iter().find(|threshold| threshold.metric == name);
            table.row([name, &number(value.as_f64()), &held.map_or(String::new(), ThresholdView::words)]);
        }
        table.write(screen, 2)
    }
}

impl CaseView {
    /// How many chunks were refused by each code.
    fn refusals(&self) -> String {
        let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
        for refused in &self.refused {
            *codes.entry(&refused.code).or_default() += 1;
        }
        codes.iter().map(|(code, count)| format!("{code} {count}")).collect::<Vec<_>>().join(", ")
    }
}

impl ThresholdView {
    fn words(&self) -> String {
        let word = if self.passed { "passed" } else { "MISSED" };
        format!("{word}: {} {}", self.bound.replace('_', " "), self.limit)
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| NOTHING_COUNTED.to_owned(), |value| format!("{value:.4}"))
}

//! Runs against labels: what each case and all of them come to. Pure.

use super::ask::{Asked, Ranked, Reread, place_of};
use super::cases::Labels;
use super::metrics::{Judgements, Metrics, Ranking};
use super::threshold::{EvalMetric, Threshold};
use super::unit::Unit;
use crate::answer::Answer;
use crate::context::Evidence;
use crate::gate::claim::{self, Cited, LEAST_SUPPORT, WordOverlap};
use crate::gate::verdict::Verdict;
use crate::model::Citation;

/// A case's run and what it came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EvalCase {
    /// The case's id.
    pub id: String,
    /// The question.
    pub query: String,
    /// How many hits counted, and how many blocks could be shown.
    pub k: usize,
    /// The budget of the prompt in characters.
    pub max_chars: usize,
    /// The prompt, and the record of what is in it, of what was refused and why.
    pub evidence: Evidence,
    /// The first `k` chunks that the gate let pass, best first, whether the prompt had room for them or not.
    pub hits: Vec<EvalHit>,
    /// Each shown chunk, in the order of its label.
    pub shown: Vec<ShownCheck>,
    /// Nothing should be shown.
    pub expect_abstain: bool,
    /// How good the ranking is; `None` where the case does not say what is relevant, or that nothing is.
    pub ranking: Option<RankScores>,
    /// The answer, where one was asked for.
    pub answer: Option<CaseAnswer>,
    /// What is wrong, in words; empty for a case as it should be.
    pub faults: Vec<String>,
}

/// An answer, and which of the expected facts it establishes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CaseAnswer {
    /// The answer, with everything that was published and dropped.
    pub answer: Answer,
    /// For each expected fact, in the order of the case, whether a verified span establishes it.
    pub established: Vec<bool>,
}

/// A chunk of a ranking.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EvalHit {
    /// The chunk.
    pub chunk_id: String,
    /// Its source.
    pub source_id: String,
    /// Where it stands.
    pub citation: Citation,
    /// Its score.
    pub score: f64,
    /// It meets something that the case calls relevant.
    pub is_relevant: bool,
}

/// What was found when a shown chunk was looked at again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShownCheck {
    /// Its source file has, byte for byte and on the cited lines, what the prompt shows.
    pub is_verbatim: bool,
    /// Its source file is not the one that was indexed, or can't be read.
    pub is_stale: bool,
    /// The rule that finds its text unsafe.
    pub unsafe_rule: Option<String>,
    /// The case forbids it.
    pub is_forbidden: bool,
}

/// How good a ranking is, at the case's `k`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankScores {
    /// The share of what is relevant that is met.
    pub recall: f64,
    /// 1 where something relevant is met, else 0.
    pub hit: f64,
    /// 1 / the rank of the first hit that meets something relevant; 0 where none does.
    pub reciprocal_rank: f64,
    /// Discounted gain over that of the best possible ranking.
    pub ndcg: f64,
}

/// A threshold and what it was held to.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct HeldThreshold {
    /// The threshold.
    pub threshold: Threshold,
    /// The metric's value; `None` where there was nothing to count.
    pub value: Option<f64>,
    /// Whether it is within the limit.
    pub passed: bool,
}

/// Holds a run to its case's labels.
pub(crate) fn case(asked: Asked, reread: &[Reread], labels: &Labels) -> EvalCase {
    let hits = asked.ranking();
    let relevant = labels.relevant.as_deref().unwrap_or_default();
    let ranking = (!relevant.is_empty()).then(|| rank(&hits, relevant, asked.k));
    let shown = asked.evidence.manifest.shown.iter().zip(reread).map(|(shown, reread)| ShownCheck {
        is_verbatim: reread.verbatim,
        is_stale: reread.stale,
        unsafe_rule: reread.unsafe_rule.map(str::to_owned),
        is_forbidden: labels.forbidden.iter().any(|unit| unit.is_met_by(&place_of(shown))),
    });
    let mut case = EvalCase {
        id: asked.request.id,
        query: asked.request.query,
        k: asked.k,
        max_chars: asked.max_chars,
        shown: shown.collect(),
        evidence: asked.evidence,
        expect_abstain: labels.expect_abstain,
        ranking: ranking.as_ref().map(|(scores, _)| *scores),
        answer: asked.answer.map(|answer| CaseAnswer::new(answer, &labels.expected_facts)),
        faults: Vec::new(),
        hits: Vec::new(),
    };
    case.faults = faults(&case, labels, ranking.map(|(_, missed)| missed).unwrap_or_default());
    let hit = |hit: Ranked| EvalHit {
        is_relevant: relevant.iter().any(|unit| unit.is_met_by(&hit.place())),
        chunk_id: hit.chunk_id,
        source_id: hit.source_id,
        citation: hit.citation,
        score: hit.score,
    };
    case.hits = hits.into_iter().map(hit).collect();
    case
}

/// The scores of a ranking, and the relevant units that it does not meet. A hit keeps its rank. It gains by the units that
/// no better hit met; several of these count as one in nDCG, and each in recall.
#[allow(clippy::cast_precision_loss)] // both count labels
fn rank<'a>(hits: &[Ranked], relevant: &'a [Unit], k: usize) -> (RankScores, Vec<&'a Unit>) {
    let mut open: Vec<&Unit> = relevant.iter().collect();
    let mut gaining = Vec::new();
    let mut ranking = Vec::new();
    for hit in hits {
        let place = hit.place();
        let (met, rest): (Vec<&Unit>, Vec<&Unit>) = open.into_iter().partition(|unit| unit.is_met_by(&place));
        open = rest;
        if !met.is_empty() {
            gaining.push(hit.chunk_id.clone());
        }
        ranking.push((hit.chunk_id.clone(), hit.score));
    }
    let missed = open.iter().map(|unit| format!("missed {unit}"));
    let judged = gaining.into_iter().chain(missed).map(|id| (id, 1));
    let judgements: Judgements = judged.collect();
    let metrics = Metrics::at(&Ranking::new(ranking), &judgements, k);
    let scores = RankScores {
        recall: (relevant.len() - open.len()) as f64 / relevant.len() as f64,
        hit: metrics.hit,
        reciprocal_rank: metrics.reciprocal_rank,
        ndcg: metrics.ndcg,
    };
    (scores, open)
}

fn faults(case: &EvalCase, labels: &Labels, missed: Vec<&Unit>) -> Vec<String> {
    let mut faults = Vec::new();
    let manifest = &case.evidence.manifest;
    if case.is_falsely_empty(labels) {
        faults.push("no evidence, although something answers the question".into());
    }
    if case.expect_abstain && !case.abstained() {
        faults.push("evidence, although nothing answers the question".into());
    }
    faults.extend(missed.iter().map(|unit| format!("{unit} is not among the hits")));
    for (shown, check) in manifest.shown.iter().zip(&case.shown) {
        let place = format!("{} ({}#L{}-L{})", shown.label, shown.path, shown.start_line, shown.end_line);
        if check.is_forbidden {
            faults.push(format!("{place} is forbidden"));
        }
        if !check.is_verbatim {
            faults.push(format!("{place} is not what the source file has there"));
        }
        if check.is_stale {
            faults.push(format!("{place} is of a source file that is not the indexed one"));
        }
        if let Some(rule) = &check.unsafe_rule {
            faults.push(format!("{place} is unsafe by rule {rule}"));
        }
    }
    if let Some(CaseAnswer { answer, established }) = &case.answer {
        if case.expect_abstain && answer.answered() {
            faults.push("an answer, although nothing answers the question".into());
        }
        let missing = labels.expected_facts.iter().zip(established).filter(|(_, established)| !**established);
        faults.extend(missing.map(|(fact, _)| format!("the answer does not establish: {fact}")));
    }
    if case.exceeds_budget() {
        faults.push(format!("the prompt is longer than {} characters", case.max_chars));
    }
    faults
}

impl EvalCase {
    /// Nothing was shown.
    #[must_use]
    pub fn abstained(&self) -> bool {
        self.shown.is_empty()
    }

    fn exceeds_budget(&self) -> bool {
        self.evidence.prompt.chars().count() > self.max_chars
    }

    fn is_falsely_empty(&self, labels: &Labels) -> bool {
        is_answerable(labels) && self.abstained()
    }
}

impl CaseAnswer {
    fn new(answer: Answer, facts: &[String]) -> Self {
        let established = facts.iter().map(|fact| answer.published.iter().any(|it| establishes(&it.span.text, fact)));
        let established = established.collect();
        Self { answer, established }
    }

    fn verdicts(&self) -> impl Iterator<Item = Verdict> {
        let claims = self.answer.verification.claims.iter();
        claims.flat_map(|claim| &claim.citations).map(|citation| citation.verdict)
    }
}

/// Whether a text states a fact, by the gate's own rule for a claim without a quote.
fn establishes(text: &str, fact: &str) -> bool {
    let cited = Cited { text, headings: &[], quote: None };
    claim::check(fact, &cited, &WordOverlap, LEAST_SUPPORT).verdict.is_verified()
}

fn is_answerable(labels: &Labels) -> bool {
    labels.relevant.as_ref().is_some_and(|units| !units.is_empty()) || !labels.expected_facts.is_empty()
}

/// Every metric over all cases; `None` where there was nothing to count.
pub(crate) fn totals(cases: &[EvalCase], labels: &[Labels]) -> Vec<(EvalMetric, Option<f64>)> {
    let ranked = || cases.iter().filter_map(|case| case.ranking);
    let shown = || cases.iter().flat_map(|case| &case.shown);
    let judged = || cases.iter().zip(labels);
    let answers = || cases.iter().filter_map(|case| case.answer.as_ref());
    let value = |metric| match metric {
        EvalMetric::RecallAtK => mean(ranked().map(|scores| scores.recall)),
        EvalMetric::HitRate => mean(ranked().map(|scores| scores.hit)),
        EvalMetric::Mrr => mean(ranked().map(|scores| scores.reciprocal_rank)),
        EvalMetric::NdcgAtK => mean(ranked().map(|scores| scores.ndcg)),
        EvalMetric::CitationPrecision => share(shown().map(|check| check.is_verbatim)),
        EvalMetric::StaleCitationRate => share(shown().map(|check| check.is_stale)),
        EvalMetric::NegativeAbstentionAccuracy => {
            share(cases.iter().filter(|case| case.expect_abstain).map(EvalCase::abstained))
        }
        EvalMetric::FalseAbstentionRate => {
            share(judged().filter(|(_, labels)| is_answerable(labels)).map(|(case, _)| case.abstained()))
        }
        EvalMetric::ForbiddenSourceRate => share(
            judged()
                .filter(|(_, labels)| !labels.forbidden.is_empty())
                .map(|(case, _)| case.shown.iter().any(|check| check.is_forbidden)),
        ),
        EvalMetric::UnsafeEvidenceRate => share(shown().map(|check| check.unsafe_rule.is_some())),
        EvalMetric::PromptBudgetViolationRate => share(cases.iter().map(EvalCase::exceeds_budget)),
        EvalMetric::CitationResolvability => {
            share(answers().flat_map(CaseAnswer::verdicts).map(|verdict| verdict != Verdict::UnknownReference))
        }
        EvalMetric::ClaimCitationPrecision => share(answers().flat_map(CaseAnswer::verdicts).map(Verdict::is_verified)),
        EvalMetric::ClaimCoverage => share(answers().flat_map(|answer| answer.established.iter().copied())),
    };
    EvalMetric::ALL.into_iter().map(|metric| (metric, value(metric))).collect()
}

fn share(flags: impl Iterator<Item = bool>) -> Option<f64> {
    mean(flags.map(|flag| if flag { 1.0 } else { 0.0 }))
}

#[allow(clippy::cast_precision_loss)] // counts cases
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_usize), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// Holds the thresholds to the metrics.
pub(crate) fn hold(thresholds: &[Threshold], metrics: &[(EvalMetric, Option<f64>)]) -> Vec<HeldThreshold> {
    let held = thresholds.iter().map(|&threshold| {
        let value = metrics.iter().find(|(metric, _)| *metric == threshold.metric).and_then(|(_, value)| *value);
        HeldThreshold { threshold, value, passed: threshold.is_met_by(value) }
    });
    held.collect()
}

#[cfg(test)]
mod tests;

//! The metrics of `eval` by name, and the limits that they are held to. Pure.

use std::fmt;

use crate::error::{Error, Result};

/// A metric of an evaluation: a share from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EvalMetric {
    /// The share of what is relevant that the first k hits meet; the mean over cases that name something relevant.
    RecallAtK,
    /// The share of those cases in which one of the first k hits meets something relevant.
    HitRate,
    /// 1 / the rank of the first hit that does, 0 where none of the first k does; the mean over those cases.
    Mrr,
    /// Discounted gain of the first k hits over that of the best possible k; the mean over those cases.
    NdcgAtK,
    /// The share of shown citations whose lines, read again from the source file, are byte for byte what was shown.
    CitationPrecision,
    /// The share of shown citations whose source file is not the one that was indexed, or can't be read.
    StaleCitationRate,
    /// The share of the cases to abstain in that were shown no evidence.
    NegativeAbstentionAccuracy,
    /// The share of the cases with something relevant or an expected fact that were shown no evidence.
    FalseAbstentionRate,
    /// The share of the cases that forbid something in which it was shown.
    ForbiddenSourceRate,
    /// The share of shown blocks in which a rule for unsafe text finds something.
    UnsafeEvidenceRate,
    /// The share of prompts that are longer than their budget.
    PromptBudgetViolationRate,
    /// The share of the citations of answers whose reference means something in the store.
    CitationResolvability,
    /// The share of the citations of answers that were verified.
    ClaimCitationPrecision,
    /// The share of the expected facts that a verified span of their answer establishes.
    ClaimCoverage,
}

impl EvalMetric {
    /// Every metric, in the order of reports.
    pub const ALL: [Self; 14] = [
        Self::RecallAtK,
        Self::HitRate,
        Self::Mrr,
        Self::NdcgAtK,
        Self::CitationPrecision,
        Self::StaleCitationRate,
        Self::NegativeAbstentionAccuracy,
        Self::FalseAbstentionRate,
        Self::ForbiddenSourceRate,
        Self::UnsafeEvidenceRate,
        Self::PromptBudgetViolationRate,
        Self::CitationResolvability,
        Self::ClaimCitationPrecision,
        Self::ClaimCoverage,
    ];

    /// The stable name: in thresholds and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RecallAtK => "recall_at_k",
            Self::HitRate => "hit_rate",
            Self::Mrr => "mrr",
            Self::NdcgAtK => "ndcg_at_k",
            Self::CitationPrecision => "citation_precision",
            Self::StaleCitationRate => "stale_citation_rate",
            Self::NegativeAbstentionAccuracy => "negative_abstention_accuracy",
            Self::FalseAbstentionRate => "false_abstention_rate",
            Self::ForbiddenSourceRate => "forbidden_source_rate",
            Self::UnsafeEvidenceRate => "unsafe_evidence_rate",
            Self::PromptBudgetViolationRate => "prompt_budget_violation_rate",
            Self::CitationResolvability => "citation_resolvability",
            Self::ClaimCitationPrecision => "claim_citation_precision",
            Self::ClaimCoverage => "claim_coverage",
        }
    }

    /// Whether less is better: a threshold is the most that it may be, not the least.
    #[must_use]
    pub const fn is_fault_rate(self) -> bool {
        matches!(
            self,
            Self::StaleCitationRate
                | Self::FalseAbstentionRate
                | Self::ForbiddenSourceRate
                | Self::UnsafeEvidenceRate
                | Self::PromptBudgetViolationRate
        )
    }

    /// The metric with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }
}

impl fmt::Display for EvalMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A limit for a metric: the least that it may be, or for a rate of faults the most.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Threshold {
    /// The metric.
    pub metric: EvalMetric,
    /// The limit, from 0 to 1.
    pub limit: f64,
}

impl Threshold {
    /// A limit for the metric with this name.
    ///
    /// # Errors
    /// [`Error::Invalid`] where no metric has the name, or the limit is not from 0 to 1.
    pub fn new(metric: &str, limit: f64) -> Result<Self> {
        let invalid = |message| Err(Error::Invalid { message });
        let Some(known) = EvalMetric::parse(metric) else {
            let names = EvalMetric::ALL.map(EvalMetric::name).join(", ");
            return invalid(format!("there is no metric {metric:?}; the metrics are {names}"));
        };
        if !(0.0..=1.0).contains(&limit) {
            return invalid(format!("the threshold of {metric} is {limit}; it must be 0 to 1"));
        }
        Ok(Self { metric: known, limit })
    }

    /// Whether a value is within the limit. A metric that nothing was counted for (`None`) is not: a run in which
    /// nothing happened proves nothing.
    #[must_use]
    pub fn is_met_by(&self, value: Option<f64>) -> bool {
        value.is_some_and(|value| if self.metric.is_fault_rate() { value <= self.limit } else { value >= self.limit })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for metric in EvalMetric::ALL {
            assert_eq!(EvalMetric::parse(metric.name()), Some(metric));
            let rate = metric.name().ends_with("_rate") && metric != EvalMetric::HitRate;
            assert_eq!(metric.is_fault_rate(), rate, "{metric}");
        }
    }

    #[rstest]
    #[case::at_least("recall_at_k", 0.9, Some(0.9), true)]
    #[case::below("recall_at_k", 0.9, Some(0.899), false)]
    #[case::a_hit_rate_is_a_score("hit_rate", 0.5, Some(1.0), true)]
    #[case::at_most("stale_citation_rate", 0.1, Some(0.1), true)]
    #[case::above("stale_citation_rate", 0.1, Some(0.11), false)]
    #[case::a_score_of_nothing("recall_at_k", 0.0, None, false)]
    #[case::a_rate_of_nothing("stale_citation_rate", 1.0, None, false)]
    fn a_limit_is_held(#[case] metric: &str, #[case] limit: f64, #[case] value: Option<f64>, #[case] met: bool) {
        assert_eq!(Threshold::new(metric, limit).unwrap().is_met_by(value), met);
    }

    #[rstest]
    #[case("recall", 0.5, "there is no metric \"recall\"; the metrics are recall_at_k, hit_rate, mrr")]
    #[case("mrr", 1.5, "the threshold of mrr is 1.5; it must be 0 to 1")]
    #[case("mrr", f64::NAN, "the threshold of mrr is NaN; it must be 0 to 1")]
    fn a_limit_without_meaning_is_refused(#[case] metric: &str, #[case] limit: f64, #[case] message: &str) {
        assert!(Threshold::new(metric, limit).unwrap_err().to_string().starts_with(message));
    }
}

//! Metrics of answers, pure: do the citations resolve, are they right, is everything said that had to be.
//!
//! What has to be said comes with the question, as expected facts: an answer that leaves one out makes no
//! denominator smaller. Where there is nothing to divide by, a metric is 0.

use std::collections::BTreeSet;

use crate::gate::verdict::Verdict;

/// A claim of an answer: which expected fact it states, and the verdict on each of its citations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CitedClaim {
    /// The expected fact's name; none for a claim that was not expected.
    pub fact: Option<String>,
    /// A verdict for each citation.
    pub verdicts: Vec<Verdict>,
}

/// How well an answer, or several, cite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClaimMetrics {
    /// Citations made.
    pub citations: usize,
    /// Citations whose reference is known.
    pub resolving: usize,
    /// Citations that were verified.
    pub verified: usize,
    /// Facts that had to be stated.
    pub expected: usize,
    /// Those of them that a verified claim states.
    pub covered: usize,
}

impl ClaimMetrics {
    /// Counts the claims of an answer against the facts that it had to state; a fact that is named twice counts once.
    pub fn new<'a>(expected: impl IntoIterator<Item = &'a str>, claims: &[CitedClaim]) -> Self {
        let expected: BTreeSet<&str> = expected.into_iter().collect();
        let verdicts = || claims.iter().flat_map(|claim| &claim.verdicts);
        let stated: BTreeSet<&str> = claims
            .iter()
            .filter(|claim| claim.verdicts.iter().any(|verdict| verdict.is_verified()))
            .filter_map(|claim| claim.fact.as_deref())
            .collect();
        Self {
            citations: verdicts().count(),
            resolving: verdicts().filter(|verdict| **verdict != Verdict::UnknownReference).count(),
            verified: verdicts().filter(|verdict| verdict.is_verified()).count(),
            expected: expected.len(),
            covered: expected.intersection(&stated).count(),
        }
    }

    /// The share of the citations whose reference is known.
    #[must_use]
    pub fn resolvability(self) -> f64 {
        share(self.resolving, self.citations)
    }

    /// The share of the citations that were verified.
    #[must_use]
    pub fn precision(self) -> f64 {
        share(self.verified, self.citations)
    }

    /// The share of the expected facts that a verified claim states.
    #[must_use]
    pub fn coverage(self) -> f64 {
        share(self.covered, self.expected)
    }
}

#[allow(clippy::cast_precision_loss)] // both count claims
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const FACTS: [&str; 12] = [
        "refund_days",
        "refund_condition",
        "log_days",
        "audit_log_days",
        "overseas_approval",
        "lodging_limit",
        "lodging_limit_other",
        "error_e42",
        "error_e43",
        "key_rotation",
        "export_limit",
        "support_hours",
    ];

    fn answer(change: impl Fn(usize) -> Verdict) -> Vec<CitedClaim> {
        let claim = |(index, fact): (usize, &&str)| CitedClaim {
            fact: Some((*fact).to_owned()),
            verdicts: vec![change(index)],
        };
        FACTS.iter().enumerate().map(claim).collect()
    }

    fn at_first(verdict: Verdict) -> Vec<CitedClaim> {
        answer(|index| if index == 0 { verdict } else { Verdict::Verified })
    }

    const ELEVEN: f64 = 11.0 / 12.0;

    /// S1's figures: what each way to break an answer of twelve facts lowers.
    #[rstest]
    #[case::whole(answer(|_| Verdict::Verified), 1.0, 1.0, 1.0)]
    #[case::normalised(answer(|_| Verdict::VerifiedNormalised), 1.0, 1.0, 1.0)]
    #[case::number(at_first(Verdict::ValueMismatch), 1.0, ELEVEN, ELEVEN)]
    #[case::negation(at_first(Verdict::PolarityMismatch), 1.0, ELEVEN, ELEVEN)]
    #[case::unknown_snapshot(at_first(Verdict::UnknownReference), ELEVEN, ELEVEN, ELEVEN)]
    #[case::dropped_claim(Mutation::DroppedClaim.of_list(&answer(|_| Verdict::Verified)).unwrap(), 1.0, 1.0, ELEVEN)]
    #[case::nothing(Vec::new(), 0.0, 0.0, 0.0)]
    fn what_a_fault_lowers(
        #[case] claims: Vec<CitedClaim>,
        #[case] resolvability: f64,
        #[case] precision: f64,
        #[case] coverage: f64,
    ) {
        let metrics = ClaimMetrics::new(FACTS, &claims);
        let found = [metrics.resolvability(), metrics.precision(), metrics.coverage()];
        assert_eq!(found.map(f64::to_bits), [resolvability, precision, coverage].map(f64::to_bits), "{metrics:?}");
    }

    #[test]
    fn a_fact_counts_once_and_only_when_it_was_expected() {
        let claim = |fact: Option<&str>, verdicts: &[Verdict]| CitedClaim {
            fact: fact.map(str::to_owned),
            verdicts: verdicts.to_vec(),
        };
        let claims = [
            claim(Some("a"), &[Verdict::Stale, Verdict::Verified]),
            claim(Some("a"), &[Verdict::Verified]),
            claim(Some("z"), &[Verdict::Verified]),
            claim(None, &[Verdict::Verified]),
            claim(Some("b"), &[]),
        ];
        let metrics = ClaimMetrics::new(["a", "b", "a"], &claims);
        assert_eq!(metrics, ClaimMetrics { citations: 5, resolving: 5, verified: 4, expected: 2, covered: 1 });
    }

    use crate::eval::Mutation;
}

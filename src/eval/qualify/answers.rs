//! Answers made of known facts, and what the gate says of them.

use super::facts::Fact;
use crate::context::Evidence;
use crate::error::Result;
use crate::eval::claims_metrics::{CitedClaim, ClaimMetrics};
use crate::evidence::Manifest;
use crate::gate::proposal::{ProposedAnswer, ProposedCitation, ProposedClaim};
use crate::gate::verdict::Verdict;
use crate::model::Principal;
use crate::store::Store;
use crate::verify::{Verification, VerifyRequest};

/// A claim of an answer, and the fact that it is to state.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stated {
    pub fact: &'static str,
    pub claim: ProposedClaim,
}

/// What the gate says of an answer.
pub(super) struct Judged {
    pub metrics: ClaimMetrics,
    pub verdicts: Vec<Verdict>,
}

impl Stated {
    /// The fact, quoted from the block that has it. Where none has it the reference means nothing, and nobody will
    /// take it for verified.
    pub(super) fn of(fact: &Fact, evidence: &Evidence) -> Self {
        let blocks = evidence.blocks();
        let block = blocks.iter().zip(&evidence.manifest.shown);
        let found = block.into_iter().find(|(block, shown)| shown.path == fact.path && block.body.contains(fact.claim));
        let reference = found.map_or_else(|| "S0".to_owned(), |(block, _)| block.label.clone());
        let citation = ProposedCitation { reference, quote: Some(fact.claim.to_owned()), range: None };
        Self { fact: fact.name, claim: ProposedClaim { text: fact.claim.to_owned(), citations: vec![citation] } }
    }

    /// The citation; every claim here has one.
    pub(super) fn citation(&mut self) -> Option<&mut ProposedCitation> {
        self.claim.citations.first_mut()
    }
}

/// Holds an answer to a run; `expected` are the facts that it had to state.
pub(super) fn judge(store: &Store, run: &Manifest, answer: &[Stated], expected: &[Fact]) -> Result<Judged> {
    let proposed = ProposedAnswer { claims: answer.iter().map(|stated| stated.claim.clone()).collect() };
    let Verification { claims, .. } = store.verify(&Principal::operator(), &VerifyRequest::new(run, &proposed))?;
    let cited: Vec<CitedClaim> = claims
        .iter()
        .zip(answer)
        .map(|(claim, stated)| CitedClaim {
            fact: Some(stated.fact.to_owned()),
            verdicts: claim.citations.iter().map(|citation| citation.verdict).collect(),
        })
        .collect();
    Ok(Judged {
        metrics: ClaimMetrics::new(expected.iter().map(|fact| fact.name), &cited),
        verdicts: claims.iter().map(|claim| claim.verdict).collect(),
    })
}

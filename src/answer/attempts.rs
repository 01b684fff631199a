//! Propose, judge, send back: the loop between a synthesiser and the gate.

use serde_json::json;

use super::grounds::{Gathered, Grounds};
use super::strategy::event;
use super::synthesis::{Fault, Proposal, SynthesisTask, Synthesiser};
use super::types::{DroppedInAttempt, StopReason, Unreadable};
use crate::error::Result;
use crate::evidence::RunEvent;
use crate::gate::proposal::ProposedAnswer;
use crate::verify::{Dropped, Verification};

/// How much of a synthesiser's own text an event or a fault repeats, in characters.
const REPEATED_CHARS: usize = 200;
/// More faults than this are not sent back.
const MOST_FAULTS: usize = 64;

/// What the attempts came to.
pub(super) struct Tried {
    pub stop_reason: StopReason,
    pub attempts: u32,
    /// The judgement of the attempt that had the most verified claims.
    pub best: Option<Verification>,
    pub dropped: Vec<DroppedInAttempt>,
    pub unreadable: Vec<Unreadable>,
    pub events: Vec<RunEvent>,
}

/// Asks until every claim of an answer is verified, the synthesiser abstains, or it was asked `retries` times again.
pub(super) fn attempt(
    query: &str,
    gathered: &Gathered,
    synthesiser: &dyn Synthesiser,
    retries: u32,
    grounds: &mut dyn Grounds,
) -> Result<Tried> {
    let mut tried = Tried::ending(StopReason::Blocked);
    let mut faults: Vec<Fault> = Vec::new();
    for attempt in 1..=retries.saturating_add(1) {
        tried.attempts = attempt;
        let (prompt, blocks) = (gathered.prompt.as_str(), gathered.blocks.as_slice());
        let proposal = synthesiser.propose(&SynthesisTask { query, prompt, blocks, attempt, faults: &faults })?;
        let found = match read(proposal, gathered, grounds) {
            Read::Nothing => {
                tried.stop_reason = tried.withdrawn();
                return Ok(tried);
            }
            Read::Unreadable(reason) => {
                let reason = short(&reason);
                tried.unreadable.push(Unreadable { attempt, reason: reason.clone() });
                vec![Fault { claim: None, reference: None, code: Fault::UNREADABLE, reason: Some(reason) }]
            }
            Read::Answer(answer) => {
                let verification = grounds.judge(&gathered.manifest, &answer)?;
                let proved = verification.claims.iter().all(|claim| claim.verdict.is_verified());
                let found = tried.take(attempt, verification);
                if proved {
                    tried.stop_reason = StopReason::Answered;
                    return Ok(tried);
                }
                found
            }
        };
        tried.events.push(rejected(attempt, &found));
        for fault in found {
            if faults.len() < MOST_FAULTS && !faults.contains(&fault) {
                faults.push(fault);
            }
        }
    }
    if tried.has_verified() {
        tried.stop_reason = StopReason::PartlyVerified;
    }
    Ok(tried)
}

impl Tried {
    /// No attempt: there was nothing to make an answer of.
    pub fn nothing_shown() -> Self {
        Self::ending(StopReason::AbstainedNoEvidence)
    }

    fn ending(stop_reason: StopReason) -> Self {
        Self { stop_reason, attempts: 0, best: None, dropped: Vec::new(), unreadable: Vec::new(), events: Vec::new() }
    }

    fn has_verified(&self) -> bool {
        self.best.as_ref().is_some_and(|best| verified(best) > 0)
    }

    /// What it means that nothing is proposed now.
    fn withdrawn(&self) -> StopReason {
        match self.attempts {
            1 => StopReason::AbstainedBySynthesiser,
            _ if self.has_verified() => StopReason::PartlyVerified,
            _ => StopReason::AbstainedUnverified,
        }
    }

    /// Keeps what was judged, and tells the faults of the claims that failed.
    fn take(&mut self, attempt: u32, verification: Verification) -> Vec<Fault> {
        let dropped = verification.dropped();
        if !dropped.is_empty() {
            self.events.push(citations_rejected(attempt, &dropped));
        }
        let failed = |claim: usize| verification.claims.get(claim).is_none_or(|claim| !claim.verdict.is_verified());
        let faults = dropped.iter().filter(|dropped| failed(dropped.claim)).map(fault).collect();
        self.dropped.extend(dropped.into_iter().map(|dropped| DroppedInAttempt { attempt, dropped }));
        if self.best.as_ref().is_none_or(|best| verified(&verification) >= verified(best)) {
            self.best = Some(verification);
        }
        faults
    }
}

fn verified(verification: &Verification) -> usize {
    verification.claims.iter().filter(|claim| claim.verdict.is_verified()).count()
}

enum Read {
    Nothing,
    Unreadable(String),
    Answer(ProposedAnswer),
}

fn read(proposal: Proposal, gathered: &Gathered, grounds: &dyn Grounds) -> Read {
    let answer = match proposal {
        Proposal::Abstain => return Read::Nothing,
        Proposal::Text(text) if text.trim().is_empty() => return Read::Unreadable("the answer has no text".into()),
        Proposal::Text(text) => match grounds.read(&text, &gathered.manifest) {
            Err(error) => return Read::Unreadable(error.to_string()),
            Ok(answer) => answer,
        },
        Proposal::Answer(answer) => answer,
    };
    if answer.claims_nothing() { Read::Nothing } else { Read::Answer(answer) }
}

fn fault(dropped: &Dropped) -> Fault {
    let (claim, reference) = (Some(dropped.text.clone()), dropped.reference.clone());
    Fault { claim, reference, code: dropped.verdict.code(), reason: None }
}

fn citations_rejected(attempt: u32, dropped: &[Dropped]) -> RunEvent {
    let dropped = || dropped.iter().take(MOST_FAULTS);
    let codes: Vec<&str> = dropped().map(|dropped| dropped.verdict.code()).collect();
    let refs: Vec<Option<String>> = dropped().map(|dropped| dropped.reference.as_deref().map(short)).collect();
    event("citation_rejected", json!({ "attempt": attempt, "codes": codes, "refs": refs }))
}

fn rejected(attempt: u32, faults: &[Fault]) -> RunEvent {
    let mut codes: Vec<&str> = Vec::new();
    for fault in faults {
        if !codes.contains(&fault.code) {
            codes.push(fault.code);
        }
    }
    let mut detail = json!({ "attempt": attempt, "codes": codes });
    if let Some(reason) = faults.iter().find_map(|fault| fault.reason.as_deref()) {
        detail["reason"] = reason.into();
    }
    event("answer_rejected", detail)
}

/// The beginning of a text that may be of any length.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(REPEATED_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

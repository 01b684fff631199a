//! An answer in the stable names of its JSON document.

use ragdb::{Answer, DroppedInAttempt, StopReason, Unreadable};
use serde::Serialize;

use crate::render::{DroppedView, PublishedView};

#[derive(Serialize)]
pub struct AnswerView {
    pub run_id: String,
    pub answer_id: Option<String>,
    pub answered: bool,
    pub answer: String,
    pub stop_reason: &'static str,
    pub calls: u32,
    pub attempts: u32,
    pub cached: bool,
    pub unverified_source: bool,
    pub synthesiser: String,
    pub published: Vec<PublishedView>,
    pub dropped: Vec<AttemptView>,
    pub unreadable: Vec<UnreadableView>,
    /// Why there is less than an answer, in words.
    #[serde(skip)]
    pub reason: Option<&'static str>,
}

/// An attempt that could not be read.
#[derive(Serialize)]
pub struct UnreadableView {
    pub attempt: u32,
    pub reason: String,
}

/// What was dropped, and in which attempt.
#[derive(Serialize)]
pub struct AttemptView {
    pub attempt: u32,
    #[serde(flatten)]
    pub dropped: DroppedView,
}

impl AnswerView {
    /// The view of an answer; `answer_id` where it was kept, `cached` where it was answered before.
    pub fn new(answer: Answer, synthesiser: &str, answer_id: Option<String>, cached: bool) -> Self {
        Self {
            answer_id,
            answered: answer.answered(),
            reason: reason(&answer),
            run_id: answer.run_id,
            answer: answer.text,
            stop_reason: answer.stop_reason.as_str(),
            calls: answer.calls,
            attempts: answer.attempts,
            cached,
            unverified_source: answer.verification.unverified_source(),
            synthesiser: synthesiser.to_owned(),
            published: answer.published.iter().map(PublishedView::from).collect(),
            dropped: answer.dropped.iter().map(AttemptView::from).collect(),
            unreadable: answer.unreadable.into_iter().map(UnreadableView::from).collect(),
        }
    }
}

fn reason(answer: &Answer) -> Option<&'static str> {
    let refused = |code: &str| answer.manifest.refused.iter().any(|refused| refused.code == code);
    Some(match answer.stop_reason {
        StopReason::Answered => return None,
        StopReason::PartlyVerified => "some claims could not be verified and are not in the answer",
        StopReason::AbstainedNoEvidence if refused("source_unavailable") => {
            "the folder of a source can't be opened, so its text can't be compared; --allow-unverified-source uses it"
        }
        StopReason::AbstainedNoEvidence if refused("over_budget") => {
            "the budget is too small for any of the evidence; give more with --max-chars"
        }
        StopReason::AbstainedNoEvidence => "nothing in the store is relevant to this question",
        StopReason::AbstainedBySynthesiser => "there is evidence, and no answer in it was found",
        StopReason::AbstainedUnverified => "what was proposed first was rejected, and then nothing was proposed",
        StopReason::CallBudget => "parts of the question have no evidence yet; --max-calls allows more searches",
        StopReason::Blocked => "every attempt was rejected",
    })
}

impl From<Unreadable> for UnreadableView {
    fn from(unreadable: Unreadable) -> Self {
        Self { attempt: unreadable.attempt, reason: unreadable.reason }
    }
}

impl From<&DroppedInAttempt> for AttemptView {
    fn from(dropped: &DroppedInAttempt) -> Self {
        Self { attempt: dropped.attempt, dropped: DroppedView::from(&dropped.dropped) }
    }
}

//! An answer in the stable names of its JSON document.

use ragdb::{Answer, DroppedInAttempt, StopReason};
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
    pub synthesiser: String,
    pub published: Vec<PublishedView>,
    pub dropped: Vec<AttemptView>,
    /// Why there is less than an answer, in words.
    #[serde(skip)]
    pub reason: Option<&'static str>,
}

/// What was dropped, and in which attempt.
#[derive(Serialize)]
pub struct AttemptView {
    pub attempt: u32,
    #[serde(flatten)]
    pub dropped: DroppedView,
}

impl AnswerView {
    /// The view of an answer; `answer_id` where it was kept.
    pub fn new(answer: Answer, synthesiser: &str, answer_id: Option<String>) -> Self {
        Self {
            answer_id,
            answered: answer.answered(),
            reason: reason(answer.stop_reason),
            run_id: answer.run_id,
            answer: answer.text,
            stop_reason: answer.stop_reason.as_str(),
            calls: answer.calls,
            attempts: answer.attempts,
            cached: false,
            synthesiser: synthesiser.to_owned(),
            published: answer.published.iter().map(PublishedView::from).collect(),
            dropped: answer.dropped.iter().map(AttemptView::from).collect(),
        }
    }
}

fn reason(stop_reason: StopReason) -> Option<&'static str> {
    Some(match stop_reason {
        StopReason::Answered => return None,
        StopReason::PartlyVerified => "some claims could not be verified and are not in the answer",
        StopReason::AbstainedNoEvidence => "nothing in the store is relevant to this question",
        StopReason::AbstainedBySynthesiser => "there is evidence, and no answer in it was found",
        StopReason::AbstainedUnverified => "what was proposed first was rejected, and then nothing was proposed",
        StopReason::CallBudget => "parts of the question have no evidence yet; --max-calls allows more searches",
        StopReason::Blocked => "every attempt was rejected",
    })
}

impl From<&DroppedInAttempt> for AttemptView {
    fn from(dropped: &DroppedInAttempt) -> Self {
        Self { attempt: dropped.attempt, dropped: DroppedView::from(&dropped.dropped) }
    }
}

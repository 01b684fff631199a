//! How an answer was come by, beside what its rows say: kept as JSON, so that a cached answer tells what it told.

use serde::{Deserialize, Serialize};

use crate::answer::{Answer, DroppedInAttempt, Unreadable};
use crate::gate::verdict::Verdict;
use crate::verify::Dropped;

/// The attempts of an answer.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Attempts {
    /// How often the synthesiser was asked.
    pub attempts: u32,
    dropped: Vec<OneDropped>,
    unreadable: Vec<OneUnreadable>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneDropped {
    attempt: u32,
    claim: usize,
    text: String,
    r#ref: Option<String>,
    quote: Option<String>,
    verdict: String,
    detail: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneUnreadable {
    attempt: u32,
    reason: String,
}

impl Attempts {
    /// Those of an answer.
    pub(super) fn of(answer: &Answer) -> Self {
        let dropped = answer.dropped.iter().map(|DroppedInAttempt { attempt, dropped }| OneDropped {
            attempt: *attempt,
            claim: dropped.claim,
            text: dropped.text.clone(),
            r#ref: dropped.reference.clone(),
            quote: dropped.quote.clone(),
            verdict: dropped.verdict.code().to_owned(),
            detail: dropped.detail.clone(),
        });
        let unreadable = answer.unreadable.iter();
        let unreadable = unreadable.map(|it| OneUnreadable { attempt: it.attempt, reason: it.reason.clone() });
        Self { attempts: answer.attempts, dropped: dropped.collect(), unreadable: unreadable.collect() }
    }

    pub(super) fn to_json(&self) -> String {
        // Names and numbers serialise; if they did not, the entry would not be read.
        serde_json::to_string(self).unwrap_or_else(|_| "{}".to_owned())
    }

    /// Reads that form; `None` for anything else.
    pub(super) fn from_json(json: &str) -> Option<Self> {
        let attempts: Self = serde_json::from_str(json).ok()?;
        attempts.dropped.iter().all(|it| verdict(&it.verdict).is_some()).then_some(attempts)
    }

    /// What was rejected in any attempt.
    pub(super) fn dropped(&self) -> Vec<DroppedInAttempt> {
        let dropped = self.dropped.iter().filter_map(|it| {
            let dropped = Dropped {
                claim: it.claim,
                text: it.text.clone(),
                reference: it.r#ref.clone(),
                quote: it.quote.clone(),
                verdict: verdict(&it.verdict)?,
                detail: it.detail.clone(),
            };
            Some(DroppedInAttempt { attempt: it.attempt, dropped })
        });
        dropped.collect()
    }

    /// The attempts that could not be read.
    pub(super) fn unreadable(&self) -> Vec<Unreadable> {
        let unreadable = self.unreadable.iter();
        unreadable.map(|it| Unreadable { attempt: it.attempt, reason: it.reason.clone() }).collect()
    }
}

fn verdict(code: &str) -> Option<Verdict> {
    Verdict::ALL.into_iter().find(|verdict| verdict.code() == code)
}

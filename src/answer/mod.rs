//! `answer`: a question becomes an answer of which every sentence was verified, or an honest abstention.
//!
//! The data path, top to bottom: [`contract`] reads what the question asks for; [`strategy`] searches for it under a call
//! budget; [`attempts`] has a synthesiser propose an answer and the gate judge it, and sends back what was rejected. A
//! proposal is believed by nobody: what is published comes out of the gate.

mod attempts;
mod contract;
mod endpoint;
mod extract;
mod grounds;
mod strategy;
mod synthesis;
#[cfg(test)]
mod tests;
mod types;

use crate::error::{Error, Result};
use crate::model::Principal;
use crate::store::Store;
use crate::verify::Verification;
use attempts::Tried;
use grounds::{Grounds, StoreGrounds};
use strategy::{Halt, Searched};

pub use endpoint::Endpoint;
pub use extract::Extractive;
pub use synthesis::{Fault, Proposal, SynthesisTask, Synthesiser};
pub use types::{Answer, AnswerRequest, DroppedInAttempt, NOT_SUPPORTED, StopReason, Strategy, Unreadable};

/// The limits of a request: calls, retries, chunks of a call.
const MOST_CALLS: u32 = 16;
const MOST_RETRIES: u32 = 10;
const MOST_CHUNKS: usize = 100;

impl Store {
    /// Answers a question from the store: every sentence of the answer was verified against its source just now, or
    /// there is none. Nothing is written; [`Store::record_run`] and [`Store::record_answer`] keep it.
    ///
    /// # Errors
    /// [`Error::Invalid`] where a limit is out of range; as [`Store::context`] and [`Store::verify`]; what the
    /// synthesiser fails with. That there is no answer is never an error.
    pub fn answer(&self, principal: &Principal, request: &AnswerRequest<'_>) -> Result<Answer> {
        run(request, &mut StoreGrounds { store: self, principal, request })
    }
}

fn check(request: &AnswerRequest<'_>) -> Result<()> {
    let within = |name: &str, value: u64, least: u64, most: u64| {
        let message = || format!("{name} is {value}; it must be {least} to {most}");
        if (least..=most).contains(&value) { Ok(()) } else { Err(Error::Invalid { message: message() }) }
    };
    within("top_k", request.top_k as u64, 1, MOST_CHUNKS as u64)?;
    within("max_calls", request.max_calls.into(), 1, MOST_CALLS.into())?;
    within("retries", request.retries.into(), 0, MOST_RETRIES.into())
}

fn run(request: &AnswerRequest<'_>, grounds: &mut dyn Grounds) -> Result<Answer> {
    check(request)?;
    let AnswerRequest { query, strategy, max_calls, retries, synthesiser, .. } = request;
    let Searched { gathered, calls, halt, calls_made, stopped } =
        strategy::search(query, *strategy, *max_calls, grounds)?;
    let tried = if gathered.blocks.is_empty() {
        Tried::nothing_shown()
    } else {
        attempts::attempt(query, &gathered, *synthesiser, *retries, grounds)?
    };
    let stop_reason = match tried.stop_reason {
        StopReason::AbstainedBySynthesiser if halt == Halt::Budget => StopReason::CallBudget,
        reason => reason,
    };
    let mut manifest = gathered.manifest;
    let of_the_run = std::mem::replace(&mut manifest.events, calls_made);
    manifest.events.extend(of_the_run.into_iter().chain([stopped]).chain(tried.events));
    let verification = tried.best.unwrap_or_else(|| Verification::of_nothing(&manifest));
    let answered = stop_reason.is_answer();
    Ok(Answer {
        run_id: manifest.run_id.clone(),
        text: if answered { verification.text() } else { NOT_SUPPORTED.to_owned() },
        stop_reason,
        calls,
        attempts: tried.attempts,
        published: if answered { verification.published() } else { Vec::new() },
        dropped: tried.dropped,
        unreadable: tried.unreadable,
        manifest,
        verification,
    })
}

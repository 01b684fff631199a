//! An answer in the stable names of its JSON document.

use ragdb::{Answer, Citation, DroppedInAttempt, Normalisation, Published, StopReason, VerifiedSpan};
use serde::Serialize;

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
    pub dropped: Vec<DroppedView>,
    /// Why there is less than an answer, in words.
    #[serde(skip)]
    pub reason: Option<&'static str>,
}

#[derive(Serialize)]
pub struct PublishedView {
    pub claim: usize,
    pub text: String,
    pub r#ref: String,
    pub citation: String,
    pub verdict: &'static str,
    pub quote: Option<String>,
    pub normalisations: Vec<&'static str>,
    pub span: SpanView,
    pub warnings: Vec<String>,
}

#[derive(Serialize)]
pub struct SpanView {
    pub chunk_id: String,
    pub source_id: String,
    pub path: String,
    pub start_line: u32,
    pub end_line: u32,
    pub start_byte: u64,
    pub end_byte: u64,
    pub start_char: Option<u64>,
    pub end_char: Option<u64>,
    pub chunk_start_byte: u64,
    pub chunk_end_byte: u64,
    pub chunk_start_char: u64,
    pub chunk_end_char: u64,
    pub content_hash: String,
    pub text: String,
}

#[derive(Serialize)]
pub struct DroppedView {
    pub attempt: u32,
    pub claim: usize,
    pub text: String,
    pub r#ref: Option<String>,
    pub verdict: &'static str,
    pub quote: Option<String>,
    pub detail: String,
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
            published: answer.published.into_iter().map(PublishedView::from).collect(),
            dropped: answer.dropped.into_iter().map(DroppedView::from).collect(),
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

impl PublishedView {
    /// Whether the claim says it in other words than its source; line ends and spaces do not count.
    pub fn differs(&self) -> bool {
        !self.text.split_whitespace().eq(self.span.text.split_whitespace())
    }
}

impl From<Published> for PublishedView {
    fn from(published: Published) -> Self {
        let Published { claim, text, reference, quote, verdict, normalisations, span, warnings, .. } = published;
        let citation = Citation { path: span.path.clone(), start_line: span.start_line, end_line: span.end_line };
        Self {
            claim,
            text,
            r#ref: reference,
            citation: citation.to_string(),
            verdict: verdict.code(),
            quote,
            normalisations: normalisations.into_iter().map(Normalisation::name).collect(),
            span: span.into(),
            warnings,
        }
    }
}

impl From<VerifiedSpan> for SpanView {
    fn from(span: VerifiedSpan) -> Self {
        Self {
            chunk_id: span.chunk_id,
            source_id: span.source_id,
            path: span.path,
            start_line: span.start_line,
            end_line: span.end_line,
            start_byte: span.start_byte,
            end_byte: span.end_byte,
            start_char: span.start_char,
            end_char: span.end_char,
            chunk_start_byte: span.chunk_start_byte,
            chunk_end_byte: span.chunk_end_byte,
            chunk_start_char: span.chunk_start_char,
            chunk_end_char: span.chunk_end_char,
            content_hash: span.content_hash,
            text: span.text,
        }
    }
}

impl From<DroppedInAttempt> for DroppedView {
    fn from(DroppedInAttempt { attempt, dropped }: DroppedInAttempt) -> Self {
        Self {
            attempt,
            claim: dropped.claim,
            text: dropped.text,
            r#ref: dropped.reference,
            verdict: dropped.verdict.code(),
            quote: dropped.quote,
            detail: dropped.detail,
        }
    }
}

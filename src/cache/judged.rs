//! A kept answer, judged again: it is given only if the gate says of it, word for word, what it said before.

use super::attempts::Attempts;
use super::entry::{Entry, Judged, Loaded};
use crate::answer::{Answer, AnswerRequest, NOT_SUPPORTED, StopReason};
use crate::error::Result;
use crate::gate::proposal::{ProposedAnswer, ProposedCitation, ProposedClaim};
use crate::model::{DigestBuilder, Principal};
use crate::store::Store;
use crate::store::answers::{KeptAnswer, KeptCitation};
use crate::verify::{JudgedCitation, Verification, VerifiedSpan, VerifyRequest};

/// The answer of an entry and its id; `None` where anything of it is not as it was.
pub(super) fn again(
    store: &Store,
    principal: &Principal,
    request: &AnswerRequest<'_>,
    entry: &Entry,
    loaded: &Loaded,
) -> Result<Option<(Answer, String)>> {
    let (Some(kept), Some(row)) = (&loaded.answer, &entry.row.answer) else { return Ok(None) };
    let allow_unverified_source = request.allow_unverified_source;
    if loaded.again.prompt(store, principal, &loaded.run, allow_unverified_source)?.is_none() {
        return Ok(None);
    }
    let (Some(attempts), Some(stop_reason), Some(calls)) =
        (Attempts::from_json(&row.attempts), kept.stop_reason.as_deref().and_then(StopReason::named), kept.calls)
    else {
        return Ok(None);
    };
    let proposed = proposed(kept, loaded);
    let verification = store.verify(
        principal,
        &VerifyRequest {
            normalise: request.normalise.clone(),
            least_support: request.least_support,
            allow_unverified_source,
            ..VerifyRequest::new(&loaded.run, &proposed)
        },
    )?;
    let synthesiser = request.synthesiser.name();
    let judged = Judged {
        synthesiser,
        stop_reason: stop_reason.as_str(),
        calls,
        attempts: &row.attempts,
        verification: &verification,
    };
    if kept.synthesiser != synthesiser || !agrees(kept, &verification) || !entry.holds(&loaded.run, Some(&judged)) {
        return Ok(None);
    }
    let answered = stop_reason.is_answer();
    let answer = Answer {
        run_id: loaded.run.run_id.clone(),
        text: if answered { verification.text() } else { NOT_SUPPORTED.to_owned() },
        stop_reason,
        calls,
        attempts: attempts.attempts,
        published: if answered { verification.published() } else { Vec::new() },
        dropped: attempts.dropped(),
        unreadable: attempts.unreadable(),
        manifest: loaded.run.clone(),
        verification,
    };
    Ok(Some((answer, row.answer_id.clone())))
}

/// The answer as it was proposed. A quote is looked for where it stood, should it stand there twice.
fn proposed(kept: &KeptAnswer, loaded: &Loaded) -> ProposedAnswer {
    let citation = |citation: &KeptCitation| {
        let place = citation.chunk_id.as_deref().zip(citation.chunk_bytes);
        let place = place.and_then(|(chunk_id, (start, _))| loaded.again.chars_before(chunk_id, start));
        ProposedCitation {
            reference: citation.reference.clone(),
            quote: citation.quote.clone(),
            range: place.map(|place| place..place),
        }
    };
    let claims = kept.claims.iter().map(|claim| ProposedClaim {
        text: claim.text.clone(),
        citations: claim.citations.iter().map(citation).collect(),
    });
    ProposedAnswer { claims: claims.collect() }
}

/// Whether the rows of an answer say what the gate says now.
fn agrees(kept: &KeptAnswer, now: &Verification) -> bool {
    kept.text == now.text()
        && kept.claims.len() == now.claims.len()
        && kept.claims.iter().zip(&now.claims).all(|(kept, now)| {
            kept.verdict == now.verdict.code()
                && kept.citations.len() == now.citations.len()
                && kept.citations.iter().zip(&now.citations).all(|(kept, now)| {
                    let span = now.span.as_ref();
                    kept.verdict == now.verdict.code()
                        && kept.chunk_id.as_deref() == span.map(|span| span.chunk_id.as_str())
                        && kept.chunk_bytes == span.map(|span| (span.chunk_start_byte, span.chunk_end_byte))
                })
        })
}

/// Adds all that the gate said of an answer to a digest, but for the id of the run.
pub(super) fn digest(hash: &mut DigestBuilder, verification: &Verification) {
    let Verification { run_id: _, generation, generation_digest: _, stored: _, claims } = verification;
    hash.field(generation.to_le_bytes()).field(claims.len().to_string());
    for claim in claims {
        hash.field(&claim.text).field(claim.verdict.code()).field(claim.support.to_le_bytes());
        hash.field(claim.values.len().to_string());
        for value in &claim.values {
            hash.field(value.kind.as_str()).field(&value.written).field(&value.value).number(value.stands.into());
            hash.number(value.unit.is_some().into()).field(value.unit.as_deref().unwrap_or_default());
        }
        hash.field(claim.citations.len().to_string());
        for citation in &claim.citations {
            digest_citation(hash, citation);
        }
    }
}

fn digest_citation(hash: &mut DigestBuilder, citation: &JudgedCitation) {
    let JudgedCitation { reference, quote, verdict, normalisations, span, detail, warnings } = citation;
    hash.field(reference).number(quote.is_some().into()).field(quote.as_deref().unwrap_or_default());
    hash.field(verdict.code()).field(detail).field(normalisations.len().to_string());
    for normalisation in normalisations {
        hash.field(normalisation.name());
    }
    hash.field(warnings.len().to_string());
    for warning in warnings {
        hash.field(warning);
    }
    hash.number(span.is_some().into());
    let Some(VerifiedSpan { chunk_id, path, start_byte, end_byte, start_char, text, content_hash, .. }) = span else {
        return;
    };
    // The rest of the span follows from these and the chunk.
    hash.field(chunk_id).field(path).field(content_hash).field(text);
    hash.field(start_byte.to_le_bytes()).field(end_byte.to_le_bytes()).number(start_char.is_some().into());
}

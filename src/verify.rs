//! `verify`: a proposed answer is held to the run it was to use, citation by citation.
//!
//! The data path, top to bottom: on one snapshot, what the run showed is looked up as it is now ([`shown`]); the source
//! file of each cited chunk is read again; then each citation passes the checks in the order of [`Verdict::ALL`], and the
//! first that fails is its verdict.

mod references;
mod shown;
mod types;

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::gate::claim::{self, ClaimCheck, SupportScorer, WordOverlap};
use crate::gate::proposal::{ProposedCitation, ProposedClaim};
use crate::gate::quote::{self, QuoteFault};
use crate::gate::verdict::Verdict;
use crate::model::Principal;
use crate::store::Store;
use shown::{Context, Shown};

pub use types::{Dropped, JudgedCitation, JudgedClaim, Outcome, Published, Verification, VerifiedSpan, VerifyRequest};

/// Longer quotes are not looked for.
const LONGEST_QUOTE: usize = 64 << 10;

impl Store {
    /// Judges an answer against the evidence that its run showed, as store and sources are now, and as the principal may
    /// read them. To the operator, a run that is recorded for somebody else is judged by what that one may read now.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the manifest is not of this store or the request is out of range. What is wrong with the
    /// answer is never an error, it is a verdict.
    pub fn verify(&self, principal: &Principal, request: &VerifyRequest<'_>) -> Result<Verification> {
        let least = request.least_support.unwrap_or(claim::LEAST_SUPPORT);
        if !(0.0..=1.0).contains(&least) {
            return Err(Error::Invalid { message: format!("the least support is {least}; it must be 0 to 1") });
        }
        let scorer: &dyn SupportScorer = request.scorer.as_deref().unwrap_or(&WordOverlap);
        let (context, known) = (Context::load(self, principal, request)?, HashMap::new());
        let mut judge = Judge { request, context, scorer, least, known };
        let claims = request.answer.claims.iter().map(|claim| judge.claim(claim)).collect::<Result<Vec<_>>>()?;
        let Context { generation, generation_digest, stored, .. } = judge.context;
        let generation_digest = generation_digest.to_string();
        Ok(Verification { run_id: request.manifest.run_id.clone(), generation, generation_digest, stored, claims })
    }
}

struct Judge<'a> {
    request: &'a VerifyRequest<'a>,
    context: Context<'a>,
    scorer: &'a dyn SupportScorer,
    least: f64,
    /// What was judged already: a hostile answer says the same often.
    known: HashMap<Asked, (JudgedCitation, Option<ClaimCheck>)>,
}

/// A citation of a claim: what its judgement depends on.
type Asked = (String, ProposedCitation);

/// Why a citation was dropped.
struct Failed {
    verdict: Verdict,
    detail: String,
    check: Option<Box<ClaimCheck>>,
}

impl Failed {
    fn new(verdict: Verdict, detail: impl Into<String>) -> Self {
        Self { verdict, detail: detail.into(), check: None }
    }
}

impl Judge<'_> {
    fn claim(&mut self, proposed: &ProposedClaim) -> Result<JudgedClaim> {
        let mut judged = JudgedClaim {
            text: proposed.text.clone(),
            verdict: Verdict::Unsupported,
            values: Vec::new(),
            support: 0.0,
            citations: Vec::with_capacity(proposed.citations.len()),
        };
        let mut best = None;
        for citation in &proposed.citations {
            let (citation, check) = self.citation(&proposed.text, citation)?;
            // A citation that got further says more about the claim; the first of two that got as far.
            let reached = (citation.verdict.is_verified(), citation.verdict.rank());
            if best.is_none_or(|best| reached > best) {
                best = Some(reached);
                judged.verdict = citation.verdict;
                if let Some(ClaimCheck { values, support, .. }) = check {
                    (judged.values, judged.support) = (values, support);
                }
            }
            judged.citations.push(citation);
        }
        Ok(judged)
    }

    fn citation(&mut self, claim: &str, proposed: &ProposedCitation) -> Result<(JudgedCitation, Option<ClaimCheck>)> {
        let asked = (claim.to_owned(), proposed.clone());
        if let Some(known) = self.known.get(&asked) {
            return Ok(known.clone());
        }
        let judged = self.judge(claim, proposed)?;
        self.known.insert(asked, judged.clone());
        Ok(judged)
    }

    fn judge(&mut self, claim: &str, proposed: &ProposedCitation) -> Result<(JudgedCitation, Option<ClaimCheck>)> {
        let mut judged = JudgedCitation {
            reference: proposed.reference.clone(),
            quote: proposed.quote.clone(),
            verdict: Verdict::Unsupported,
            normalisations: Vec::new(),
            span: None,
            detail: String::new(),
            warnings: Vec::new(),
        };
        let check = match self.prove(claim, proposed, &mut judged)? {
            Ok(check) => Some(check),
            Err(Failed { verdict, detail, check }) => {
                (judged.verdict, judged.detail) = (verdict, detail);
                judged.normalisations.clear();
                check.map(|check| *check)
            }
        };
        Ok((judged, check))
    }

    /// All checks of one citation, in order.
    fn prove(
        &mut self,
        claim: &str,
        proposed: &ProposedCitation,
        judged: &mut JudgedCitation,
    ) -> Result<std::result::Result<ClaimCheck, Failed>> {
        let place = match self.context.resolve(&proposed.reference) {
            Ok(place) => place,
            Err(failed) => return Ok(Err(failed)),
        };
        if let Err(failed) = self.context.still_so(place, self.request)? {
            return Ok(Err(failed));
        }
        let others = self.context.other_texts(place);
        let shown = &self.context.shown[place];
        let quoted = match self.quote(proposed, shown, &others) {
            Ok(quoted) => quoted,
            Err(failed) => return Ok(Err(failed)),
        };
        let cited = claim::Cited {
            text: &shown.text,
            headings: &shown.headings,
            quote: quoted.as_ref().map(|quoted| quoted.range.clone()),
        };
        let check = claim::check(claim, &cited, self.scorer, self.least);
        if !check.verdict.is_verified() {
            let (verdict, detail) = (check.verdict, check.detail.clone());
            return Ok(Err(Failed { verdict, detail, check: Some(Box::new(check)) }));
        }
        let range = quoted.as_ref().map_or(&check.span, |quoted| &quoted.range);
        let Some(span) = shown.span(range) else {
            return Ok(Err(Failed::new(Verdict::Unsupported, "nothing in the cited text establishes the claim")));
        };
        judged.span = Some(span);
        judged.normalisations = quoted.map(|quoted| quoted.normalisations).unwrap_or_default();
        judged.verdict = if judged.normalisations.is_empty() { Verdict::Verified } else { Verdict::VerifiedNormalised };
        judged.detail.clone_from(&check.detail);
        judged.warnings.clone_from(&check.warnings);
        Ok(Ok(check))
    }

    fn quote(
        &self,
        proposed: &ProposedCitation,
        shown: &Shown,
        others: &[&str],
    ) -> std::result::Result<Option<quote::QuoteMatch>, Failed> {
        let Some(text) = &proposed.quote else { return Ok(None) };
        if text.len() > LONGEST_QUOTE {
            let detail = format!("the quote has {} bytes; at most {LONGEST_QUOTE} are looked for", text.len());
            return Err(Failed::new(Verdict::QuoteAltered, detail));
        }
        let place = proposed.range.as_ref().map(|range| range.start);
        quote::find(text, &shown.text, place, others, &self.request.normalise).map(Some).map_err(|fault| match fault {
            QuoteFault::Empty => Failed::new(Verdict::QuoteEmpty, "the quote has no text"),
            QuoteFault::TooShort => Failed::new(Verdict::QuoteTooShort, "the quote is too short to show anything"),
            QuoteFault::Altered(detail) => Failed::new(Verdict::QuoteAltered, detail),
            QuoteFault::Stitched(detail) => Failed::new(Verdict::QuoteStitched, detail),
            QuoteFault::Misattributed(other) => {
                let label = self.context.label_of_other(shown, other);
                Failed::new(Verdict::QuoteMisattributed, format!("the quote stands in {label}, not in {}", shown.label))
            }
        })
    }
}

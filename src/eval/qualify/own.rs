//! A store's own sentences, or the expected facts of cases about it: those that are verified are broken in every way that
//! applies to them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::built_in::share;
use super::{COVERAGE, Experiment, Missed, NONE, PRECISION, QualifyReport, RESOLVABILITY};
use crate::context::{ContextRequest, Evidence};
use crate::error::{Error, Result};
use crate::eval::ask::{self, Limits};
use crate::eval::cases::EvalSet;
use crate::eval::claims_metrics::{CitedClaim, ClaimMetrics};
use crate::eval::evaluate::EvalRequest;
use crate::eval::mutate::Mutation;
use crate::gate::claim;
use crate::gate::proposal::{ProposedAnswer, ProposedCitation, ProposedClaim};
use crate::gate::verdict::Verdict;
use crate::model::{ChunkId, Principal};
use crate::store::{Store, chunks};
use crate::verify::{JudgedClaim, VerifyRequest};

/// What a qualification breaks.
#[derive(Clone, Debug)]
pub struct QualifyRequest<'a> {
    /// How many sentences of the store are taken, 1 to 10,000.
    pub sample: usize,
    /// Cases whose expected facts are taken instead.
    pub cases: Option<&'a EvalSet>,
}

impl Default for QualifyRequest<'_> {
    fn default() -> Self {
        Self { sample: 100, cases: None }
    }
}

const MOST_SENTENCES: usize = 10_000;
/// For each sentence that is wanted, this many chunks are looked at.
const CHUNKS_A_SENTENCE: usize = 4;
/// Sentences of other lengths say too little, or too much at once; in characters.
const LENGTHS: RangeInclusive<usize> = 12..=400;
/// Blocks of a run, so that there is another one to cite, and their budget.
const BLOCKS: usize = 6;
const MAX_CHARS: usize = 20_000;

/// The mutations of a claim's text.
const OF_CLAIMS: [Mutation; 4] = [Mutation::Number, Mutation::Unit, Mutation::Negation, Mutation::Identifier];

impl Store {
    /// Takes sentences of the store that state numbers, denials or identifiers (always the same for the same store), or
    /// the expected facts of cases, breaks those that are verified, and expects each to be noticed. Nothing is written.
    ///
    /// # Errors
    /// [`Error::Invalid`] where `sample` is out of range; else as [`Store::context`] and [`Store::verify`].
    pub fn qualify(&self, request: &QualifyRequest<'_>) -> Result<QualifyReport> {
        if !(1..=MOST_SENTENCES).contains(&request.sample) {
            return Err(Error::Invalid { message: format!("the sample must be 1 to {MOST_SENTENCES} sentences") });
        }
        let mut tally = Tally::default();
        match request.cases {
            Some(set) => self.break_facts(set, &mut tally)?,
            None => self.break_sentences(request.sample, &mut tally)?,
        }
        Ok(tally.report(request.cases.is_some()))
    }

    fn break_sentences(&self, sample: usize, tally: &mut Tally) -> Result<()> {
        let numbers = self.read(|conn| chunks::sample(conn, sample.saturating_mul(CHUNKS_A_SENTENCE)))?;
        for number in numbers {
            if tally.claims == sample {
                break;
            }
            let text = self.read(|conn| chunks::text(conn, number))?;
            let Some(quote) = best_sentence(&text) else { continue };
            let mut request = ContextRequest::new(quote);
            // Without the floor there are other blocks, to be cited wrongly.
            (request.search.literal, request.search.floor) = (true, Some(0.0));
            (request.max_chunks, request.max_chars) = (BLOCKS, MAX_CHARS);
            let evidence = self.context(&Principal::operator(), &request)?;
            tally.tried += 1;
            let cited = evidence.blocks().into_iter().find(|block| block.body.contains(quote));
            let Some(cited) = cited else { continue };
            let citation = ProposedCitation { reference: cited.label, quote: Some(quote.to_owned()), range: None };
            let text = quote.split_whitespace().collect::<Vec<_>>().join(" ");
            self.break_claim(&evidence, &ProposedClaim { text, citations: vec![citation] }, tally)?;
        }
        Ok(())
    }

    fn break_facts(&self, set: &EvalSet, tally: &mut Tally) -> Result<()> {
        let (_, asked) = ask::ask(self, set.requests(), &Limits::of(&EvalRequest::default()))?;
        for (asked, labels) in asked.iter().zip(set.labels()) {
            for fact in &labels.expected_facts {
                tally.tried += 1;
                let established = match self.establish(&asked.evidence, fact)? {
                    Some(claim) => self.break_claim(&asked.evidence, &claim, tally)?,
                    None => false,
                };
                if !established {
                    tally.unestablished.push(format!("{}: {fact}", asked.request.id));
                }
            }
        }
        Ok(())
    }

    /// A fact as a claim, quoted from the first shown block that establishes it.
    fn establish(&self, evidence: &Evidence, fact: &str) -> Result<Option<ProposedClaim>> {
        let labels = evidence.manifest.shown.iter().map(|shown| shown.label.clone());
        let citations = labels.map(|reference| ProposedCitation { reference, quote: None, range: None }).collect();
        let answer = ProposedAnswer { claims: vec![ProposedClaim { text: fact.to_owned(), citations }] };
        let judged = self.verify(&Principal::operator(), &VerifyRequest::new(&evidence.manifest, &answer))?;
        Ok(judged.published().into_iter().next().map(|published| {
            let citation =
                ProposedCitation { reference: published.reference, quote: Some(published.span.text), range: None };
            ProposedClaim { text: published.text, citations: vec![citation] }
        }))
    }

    /// Breaks a claim in every way that applies; `false` where it was not verified to begin with.
    fn break_claim(&self, evidence: &Evidence, good: &ProposedClaim, tally: &mut Tally) -> Result<bool> {
        let broken: Vec<(Mutation, ProposedClaim)> =
            Mutation::ALL.into_iter().filter_map(|it| Some((it, broken(it, good, evidence)?))).collect();
        let claims = std::iter::once(good).chain(broken.iter().map(|(_, claim)| claim)).cloned().collect();
        let answer = ProposedAnswer { claims };
        let judged = self.verify(&Principal::operator(), &VerifyRequest::new(&evidence.manifest, &answer))?.claims;
        let Some((first, others)) = judged.split_first().filter(|(first, _)| first.verdict.is_verified()) else {
            return Ok(false);
        };
        tally.claims += 1;
        for ((mutation, claim), judged) in broken.iter().zip(others) {
            tally.count(*mutation, first, claim, judged);
        }
        Ok(true)
    }
}

/// The sentence of a text to which most mutations apply; the first of several.
fn best_sentence(text: &str) -> Option<&str> {
    let sentences = claim::sentences(text).into_iter().map(|range| &text[range]);
    let plain = sentences.filter(|sentence| !sentence.starts_with('#')).map(|sentence| {
        let open = sentence.trim_start_matches(|c: char| c.is_whitespace() || "-*+>|".contains(c));
        open.trim_end_matches(|c: char| c.is_whitespace() || c == '|')
    });
    let mut best = None;
    let mut most = 0;
    for sentence in plain.filter(|sentence| LENGTHS.contains(&sentence.chars().count())) {
        let applying = OF_CLAIMS.iter().filter(|mutation| mutation.of_claim(sentence).is_some()).count();
        if applying > most {
            (best, most) = (Some(sentence), applying);
        }
    }
    best
}

/// A claim broken in one way; `None` where that does not apply to it.
fn broken(mutation: Mutation, good: &ProposedClaim, evidence: &Evidence) -> Option<ProposedClaim> {
    let mut claim = good.clone();
    let citation = claim.citations.first_mut()?;
    let quote = citation.quote.clone()?;
    match mutation {
        Mutation::DroppedClaim => return None,
        Mutation::SwappedCitation => {
            let other = evidence.blocks().into_iter().find(|block| !block.body.contains(&quote))?;
            citation.reference = other.label;
        }
        Mutation::UnknownSnapshot => {
            let shown = evidence.manifest.shown.iter().find(|shown| shown.label == citation.reference)?;
            citation.reference = mutation.of_chunk(ChunkId::parse(&shown.chunk_id)?)?.to_string();
        }
        Mutation::QuoteTampering => citation.quote = Some(mutation.of_quote(&quote)?),
        _ => claim.text = mutation.of_claim(&good.text)?,
    }
    Some(claim)
}

/// What became of the broken claims.
#[derive(Default)]
struct Tally {
    claims: usize,
    tried: usize,
    broken: BTreeMap<Mutation, [usize; 2]>,
    missed: Vec<Missed>,
    unestablished: Vec<String>,
}

impl Tally {
    fn count(&mut self, mutation: Mutation, good: &JudgedClaim, broken: &ProposedClaim, judged: &JudgedClaim) {
        let unnoticed = match mutation {
            Mutation::UnknownSnapshot => judged.citations.iter().any(|it| it.verdict != Verdict::UnknownReference),
            _ => judged.verdict.is_verified(),
        };
        let [tried, accepted] = self.broken.entry(mutation).or_default();
        *tried += 1;
        *accepted += usize::from(unnoticed);
        if unnoticed {
            let citation = broken.citations.first();
            let written = match mutation {
                Mutation::SwappedCitation | Mutation::UnknownSnapshot => citation.map(|it| it.reference.clone()),
                Mutation::QuoteTampering => citation.and_then(|it| it.quote.clone()),
                _ => Some(broken.text.clone()),
            };
            let span = good.citations.iter().find_map(|citation| citation.span.as_ref());
            self.missed.push(Missed {
                mutation,
                chunk_id: span.map(|span| span.chunk_id.clone()).unwrap_or_default(),
                claim: good.text.clone(),
                broken: written.unwrap_or_default(),
            });
        }
    }

    fn report(self, of_cases: bool) -> QualifyReport {
        let mut experiments = Vec::new();
        if of_cases {
            let values = [1.0, share(self.claims, self.tried)];
            experiments.push(Experiment::new("baseline", NONE, COVERAGE, values, 1.0).times(self.tried));
        }
        for (mutation, [tried, accepted]) in &self.broken {
            let metric = if *mutation == Mutation::UnknownSnapshot { RESOLVABILITY } else { PRECISION };
            let values = [1.0, share(*accepted, *tried)];
            let name = mutation.as_str();
            experiments.push(Experiment::new(name, name, metric, values, 0.0).times(*tried));
        }
        if self.claims > 0 {
            experiments.push(dropped(self.claims));
        }
        let applied = |mutation: &Mutation| *mutation == Mutation::DroppedClaim || self.broken.contains_key(mutation);
        let not_applicable = Mutation::ALL.into_iter().filter(|mutation| !applied(mutation)).collect();
        let report = QualifyReport::of(experiments, self.claims, self.tried, self.missed);
        QualifyReport { not_applicable, unestablished: self.unestablished, ..report }
    }
}

/// An answer that leaves out one of its verified claims.
fn dropped(claims: usize) -> Experiment {
    let names: Vec<String> = (0..claims).map(|claim| claim.to_string()).collect();
    let cited = |name: &String| CitedClaim { fact: Some(name.clone()), verdicts: vec![Verdict::Verified] };
    let whole: Vec<CitedClaim> = names.iter().map(cited).collect();
    let coverage = |claims: &[CitedClaim]| ClaimMetrics::new(names.iter().map(String::as_str), claims).coverage();
    let name = Mutation::DroppedClaim.as_str();
    let less = Mutation::DroppedClaim.of_list(&whole).unwrap_or_default();
    Experiment::new(name, name, COVERAGE, [coverage(&whole), coverage(&less)], share(claims - 1, claims))
}

#[cfg(test)]
mod tests;

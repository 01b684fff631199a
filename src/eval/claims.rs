//! `eval --claims`: what the claim check decides on labelled claims, and how often it is right. No store is involved.

mod read;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::gate::claim::{self, Cited, LEAST_SUPPORT, WordOverlap};
use crate::gate::verdict::Verdict;
use read::{Pair, PairSet};

/// What to measure the claim check on.
#[derive(Clone, Debug)]
pub struct ClaimsRequest {
    /// A folder with any of `pairs.jsonl`, `climate-fever/climate-fever.jsonl`, `scifact-claims/*.csv`, and Markdown
    /// files, whose sentences are claims as they stand and broken on purpose.
    pub folder: PathBuf,
    /// The `corpus.jsonl` with the abstracts of `scifact-claims`; without it the one in that folder is used, or the set
    /// is left out.
    pub abstracts: Option<PathBuf>,
    /// The support that a claim needs; `None` for the product's default.
    pub least_support: Option<f64>,
}

impl ClaimsRequest {
    /// A request with the defaults.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), abstracts: None, least_support: None }
    }
}

/// What people said of a claim and its evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub enum ClaimLabel {
    /// The evidence supports the claim.
    #[serde(rename = "SUPPORTS", alias = "supports", alias = "SUPPORT")]
    Supports,
    /// The evidence refutes the claim.
    #[serde(rename = "REFUTES", alias = "refutes", alias = "CONTRADICT")]
    Refutes,
    /// The evidence does neither.
    #[serde(rename = "NOT_ENOUGH_INFO", alias = "not_enough_info")]
    NotEnoughInfo,
}

use ClaimLabel as Label;

impl ClaimLabel {
    /// Every label.
    pub const ALL: [Self; 3] = [Self::Supports, Self::Refutes, Self::NotEnoughInfo];

    /// The stable name, in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Supports => "supports",
            Self::Refutes => "refutes",
            Self::NotEnoughInfo => "not_enough_info",
        }
    }
}

/// What the claim check decided on labelled claims.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimsReport {
    /// The support that a claim with a quote needed.
    pub least_support: f64,
    /// The sets, in the order in which they were read.
    pub sets: Vec<ClaimsSet>,
}

/// One set of claims with their evidence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClaimsSet {
    /// Its name.
    pub name: String,
    /// How many pairs of a claim and its evidence.
    pub pairs: usize,
    /// Rows without a pair: their evidence could not be found, or not told apart into the same sentences.
    pub skipped: usize,
    /// How many pairs of a label had a verdict.
    pub decided: BTreeMap<(ClaimLabel, &'static str), usize>,
    /// The pairs that were verified although their label is another than [`ClaimLabel::Supports`].
    pub wrong: Vec<WrongClaim>,
}

/// A claim that was verified and is not supported, by its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongClaim {
    /// The pair's id in its set.
    pub id: String,
    /// What its label is.
    pub label: ClaimLabel,
    /// The claim.
    pub claim: String,
    /// The text that was taken to establish it.
    pub span: String,
}

impl ClaimsSet {
    /// How many pairs of this label had this verdict.
    #[must_use]
    pub fn count(&self, label: ClaimLabel, verdict: Verdict) -> usize {
        self.decided.get(&(label, verdict.code())).copied().unwrap_or(0)
    }

    /// How many pairs had this verdict.
    #[must_use]
    pub fn total(&self, verdict: Verdict) -> usize {
        ClaimLabel::ALL.iter().map(|label| self.count(*label, verdict)).sum()
    }
}

/// Runs the claim check over every labelled claim of a folder.
///
/// # Errors
/// [`Error::Invalid`] where a file is not what it should be, or the folder has none of the known files; [`Error::Io`]
/// where one can't be read.
pub fn evaluate_claims(request: &ClaimsRequest) -> Result<ClaimsReport> {
    let abstracts = request.abstracts.clone().or_else(|| read::default_abstracts(&request.folder));
    let sets = read::sets(&request.folder, abstracts.as_deref())?;
    if sets.iter().all(|set| set.pairs.is_empty()) {
        let message = format!("no labelled claims: none of {} can be used", read::expected(&request.folder));
        return Err(Error::Invalid { message });
    }
    let least_support = request.least_support.unwrap_or(LEAST_SUPPORT);
    Ok(ClaimsReport { least_support, sets: sets.into_iter().map(|set| measured(set, least_support)).collect() })
}

fn measured(set: PairSet, least: f64) -> ClaimsSet {
    let mut measured =
        ClaimsSet { name: set.name, pairs: set.pairs.len(), skipped: set.skipped, ..ClaimsSet::default() };
    for pair in set.pairs {
        let (verdict, span) = judged(&pair, least);
        *measured.decided.entry((pair.label, verdict.code())).or_default() += 1;
        if verdict.is_verified() && pair.label != Label::Supports {
            measured.wrong.push(WrongClaim { id: pair.id, label: pair.label, claim: pair.claim, span });
        }
    }
    measured
}

fn judged(pair: &Pair, least: f64) -> (Verdict, String) {
    let quote = match &pair.quote {
        None => None,
        Some(quote) => match pair.text.find(quote.as_str()) {
            Some(at) => Some(at..at + quote.len()),
            None => return (Verdict::QuoteAltered, String::new()),
        },
    };
    let cited = Cited { text: &pair.text, headings: &[], quote };
    let check = claim::check(&pair.claim, &cited, &WordOverlap, least);
    (check.verdict, pair.text.get(check.span).unwrap_or_default().to_owned())
}

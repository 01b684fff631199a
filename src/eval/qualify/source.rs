//! The source says something else than it did: 52 days, not 45.

use std::fs;

use super::answers::judge;
use super::built_in::{BuiltIn, everything, share};
use super::facts::{FACTS, with_52_days};
use super::{Experiment, PRECISION};
use crate::answer::{AnswerRequest, Extractive};
use crate::error::{Error, Result};
use crate::gate::claim;
use crate::gate::verdict::Verdict;
use crate::model::{DocumentId, Principal};
use crate::store::documents;

const MUTATION: &str = "source_change";

/// Changes the page of the first fact, syncs, and asks again.
pub(super) fn change(set: &BuiltIn) -> Result<Vec<Experiment>> {
    let (page, text) = with_52_days();
    let (hash_before, revision_before) = state(set, page)?;
    let extracted_before = extracted(set)?;
    let path = set.docs.join(page);
    fs::write(&path, text).map_err(|error| Error::io(&path, error))?;
    set.store.sync(&set.sync)?;
    let (hash_after, revision_after) = state(set, page)?;

    // The old answer before the new evidence: its claim of 45 quotes what the page says now.
    let evidence = everything(&set.store)?;
    let new = FACTS[0].claim.replace("45", "52");
    let mut answer = set.answer.clone();
    let shown = evidence.blocks().into_iter().find(|block| block.body.contains(&new));
    for (stated, fact) in answer.iter_mut().zip(&FACTS) {
        *stated = super::answers::Stated::of(fact, &evidence);
    }
    if let Some(citation) = answer[0].citation() {
        citation.reference = shown.map_or_else(|| "S0".to_owned(), |block| block.label);
        citation.quote = Some(new);
    }
    let precision = judge(&set.store, &evidence.manifest, &answer, &FACTS)?.metrics.precision();

    // The old answer before its own, old run.
    let old = judge(&set.store, &set.evidence.manifest, &set.answer, &FACTS)?;
    let stale = old.verdicts.iter().filter(|verdict| **verdict == Verdict::Stale).count();
    let of_page = FACTS.iter().filter(|fact| fact.path == page).count();
    let (name, all) = ("source_45_to_52", FACTS.len());
    let changed = f64::from(u8::from(hash_before != hash_after));
    Ok(vec![
        Experiment::new(name, MUTATION, "content_hash_changed", [0.0, changed], 1.0),
        Experiment::new(name, MUTATION, "revision", [revision_before, revision_after], revision_before + 1.0),
        Experiment::new(name, MUTATION, "extracted_days", [extracted_before, extracted(set)?], 52.0),
        Experiment::new("claim_of_45", MUTATION, PRECISION, [1.0, precision], share(all - 1, all)),
        Experiment::new("old_run", MUTATION, "stale_citation_rate", [0.0, share(stale, all)], share(of_page, all)),
    ])
}

/// The hash and the revision of a page.
#[allow(clippy::cast_precision_loss)] // counts syncs
fn state(set: &BuiltIn, page: &str) -> Result<(String, f64)> {
    let id = DocumentId::new("docs", page);
    let found = set.store.read(|conn| documents::by_id(conn, id))?;
    Ok(found.map_or((String::new(), 0.0), |(_, row)| (row.content_hash.to_string(), row.revision as f64)))
}

/// The number that the extractive answer to the first question has; 0 where it has none.
fn extracted(set: &BuiltIn) -> Result<f64> {
    let answer = set.store.answer(&Principal::operator(), &AnswerRequest::new(FACTS[0].question, &Extractive))?;
    let text = answer.text;
    Ok(claim::first_digits(&text).and_then(|range| text[range].parse().ok()).unwrap_or(0.0))
}

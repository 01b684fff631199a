//! The built-in set: an answer of twelve verified claims, broken in every way.

use std::path::Path;

use super::answers::{Judged, Stated, judge};
use super::facts::{FACTS, write_pages};
use super::{COVERAGE, Experiment, NONE, PRECISION, QualifyReport, RESOLVABILITY, labels, source, strategies};
use crate::context::{ContextRequest, Evidence};
use crate::error::{Error, Result};
use crate::eval::mutate::Mutation;
use crate::model::{ChunkId, Principal};
use crate::store::Store;
use crate::sync::{SyncRequest, SyncSources};

/// Breaks the built-in answer, and proves that the gate notices. A temporary folder is made in `work_folder`, and removed
/// at the end.
///
/// # Errors
/// [`Error::Io`] where the folder can't be written; else as [`Store::sync`], [`Store::context`] and [`Store::verify`].
pub fn qualify(work_folder: &Path) -> Result<QualifyReport> {
    let temporary = tempfile::Builder::new().prefix("ragdb-qualify-").tempdir_in(work_folder);
    let temporary = temporary.map_err(|error| Error::io(work_folder, error))?;
    let set = BuiltIn::new(temporary.path())?;
    let mut experiments = set.baseline()?;
    for mutation in Mutation::ALL {
        experiments.extend(set.broken(mutation)?);
    }
    experiments.extend(strategies::compare(&set.store)?);
    experiments.extend(labels::change(&set.store)?);
    // Last: it changes the corpus.
    experiments.extend(source::change(&set)?);
    Ok(QualifyReport::of(experiments, FACTS.len(), FACTS.len(), Vec::new()))
}

/// The built-in corpus in a store, a run that shows all of it, and the answer.
pub(super) struct BuiltIn {
    pub store: Store,
    pub sync: SyncRequest,
    pub docs: std::path::PathBuf,
    pub evidence: Evidence,
    pub answer: Vec<Stated>,
}

impl BuiltIn {
    pub(super) fn new(folder: &Path) -> Result<Self> {
        let docs = folder.join("docs");
        write_pages(&docs)?;
        let store = Store::create(folder.join("qualify.db"))?;
        let sync = SyncRequest { sources: SyncSources::Folders(vec![docs.clone()]), ..SyncRequest::default() };
        store.sync(&sync)?;
        let evidence = everything(&store)?;
        let answer = FACTS.iter().map(|fact| Stated::of(fact, &evidence)).collect();
        Ok(Self { store, sync, docs, evidence, answer })
    }

    fn judge(&self, answer: &[Stated]) -> Result<Judged> {
        judge(&self.store, &self.evidence.manifest, answer, &FACTS)
    }

    fn baseline(&self) -> Result<Vec<Experiment>> {
        let metrics = self.judge(&self.answer)?.metrics;
        let values = [
            (PRECISION, metrics.precision()),
            (COVERAGE, metrics.coverage()),
            (RESOLVABILITY, metrics.resolvability()),
        ];
        let experiment =
            |(metric, value)| Experiment::new("baseline", NONE, metric, [value; 2], 1.0).times(FACTS.len());
        Ok(values.map(experiment).to_vec())
    }

    /// The answer broken once, with the figures that it must have then; and every other claim that can be broken in the
    /// same way, one at a time.
    fn broken(&self, mutation: Mutation) -> Result<Vec<Experiment>> {
        let before = self.judge(&self.answer)?.metrics;
        let broken: Vec<Vec<Stated>> = (0..FACTS.len()).filter_map(|at| self.break_at(mutation, at)).collect();
        let Some(first) = broken.first() else { return Ok(Vec::new()) };
        let after = self.judge(first)?.metrics;
        let all = share(FACTS.len(), FACTS.len());
        let one_less = share(FACTS.len() - 1, FACTS.len());
        let (precision, coverage, resolvability) = match mutation {
            Mutation::DroppedClaim => (all, one_less, all),
            Mutation::UnknownSnapshot => (one_less, one_less, one_less),
            Mutation::SwappedCitation => {
                let two_less = share(FACTS.len() - 2, FACTS.len());
                (two_less, two_less, all)
            }
            _ => (one_less, one_less, all),
        };
        let name = mutation.as_str();
        let mut experiments = vec![
            Experiment::new(name, name, PRECISION, [before.precision(), after.precision()], precision),
            Experiment::new(name, name, COVERAGE, [before.coverage(), after.coverage()], coverage),
            Experiment::new(name, name, RESOLVABILITY, [before.resolvability(), after.resolvability()], resolvability),
        ];
        let mut unnoticed = 0;
        for answer in &broken {
            unnoticed += usize::from(self.judge(answer)?.metrics.coverage() > one_less + 1e-9);
        }
        let values = [0.0, share(unnoticed, broken.len())];
        let anywhere = Experiment::new(&format!("{name}_anywhere"), name, "unnoticed_share", values, 0.0);
        experiments.push(anywhere.times(broken.len()));
        Ok(experiments)
    }

    /// The answer with the claim at a place broken; `None` where the mutation does not apply to it.
    fn break_at(&self, mutation: Mutation, at: usize) -> Option<Vec<Stated>> {
        let mut answer = self.answer.clone();
        match mutation {
            Mutation::DroppedClaim => {
                answer.rotate_left(at);
                answer = mutation.of_list(&answer)?;
            }
            Mutation::SwappedCitation => {
                let mut cited: Vec<_> = answer.iter().map(|stated| stated.claim.citations.clone()).collect();
                cited.rotate_left(at);
                cited = mutation.of_list(&cited)?;
                cited.rotate_right(at);
                for (stated, citations) in answer.iter_mut().zip(cited) {
                    stated.claim.citations = citations;
                }
            }
            Mutation::UnknownSnapshot => {
                let citation = answer[at].citation()?;
                let shown = self.evidence.manifest.shown.iter().find(|shown| shown.label == citation.reference)?;
                citation.reference = mutation.of_chunk(ChunkId::parse(&shown.chunk_id)?)?.to_string();
            }
            Mutation::QuoteTampering => {
                let citation = answer[at].citation()?;
                citation.quote = Some(mutation.of_quote(citation.quote.as_deref()?)?);
            }
            _ => answer[at].claim.text = mutation.of_claim(&answer[at].claim.text)?,
        }
        Some(answer)
    }
}

/// A run that shows the whole corpus.
pub(super) fn everything(store: &Store) -> Result<Evidence> {
    let questions: Vec<&str> = FACTS.iter().map(|fact| fact.question).collect();
    let mut request = ContextRequest::new(questions.join(" "));
    (request.search.literal, request.search.floor) = (true, Some(0.0));
    (request.max_chunks, request.max_chars) = (request.search.top_k, 20_000);
    store.context(&Principal::operator(), &request)
}

#[allow(clippy::cast_precision_loss)] // counts claims
pub(super) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

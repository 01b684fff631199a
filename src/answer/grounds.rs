//! What an answer stands on: evidence for its question, and the gate. The one place where this module meets the others.

use crate::error::Result;
use crate::evidence::Manifest;
use crate::gate::proposal::ProposedAnswer;
use crate::verify::Verification;

use super::synthesis::EvidenceBlock;

/// Evidence for one or more queries, under one set of labels.
#[derive(Clone, Debug)]
pub(super) struct Gathered {
    /// The run.
    pub manifest: Manifest,
    /// The prompt.
    pub prompt: String,
    /// The blocks in the prompt, in its order.
    pub blocks: Vec<EvidenceBlock>,
}

/// Finds evidence and judges what was made of it.
pub(super) trait Grounds {
    /// The evidence for all of `queries` together, as one run.
    fn retrieve(&mut self, queries: &[String]) -> Result<Gathered>;

    /// Reads a model's text; `None` where it has none of the forms.
    fn read(&self, text: &str) -> Option<ProposedAnswer>;

    /// Holds an answer to what its run showed.
    fn judge(&mut self, manifest: &Manifest, answer: &ProposedAnswer) -> Result<Verification>;
}

//! The place where something makes an answer of evidence: a model, a rule, a person. What it makes is a proposal.

use std::fmt;

use crate::error::Result;
use crate::evidence::prompt::EvidenceBlock;
use crate::gate::proposal::ProposedAnswer;

/// Makes an answer of evidence. Nothing that it says is believed: each claim is held to the evidence.
pub trait Synthesiser: Send + Sync {
    /// Proposes an answer, or abstains.
    ///
    /// # Errors
    /// Where no proposal could be had at all; the answer fails with this error.
    fn propose(&self, task: &SynthesisTask<'_>) -> Result<Proposal>;

    /// A stable name, kept with what it proposed: `extractive`, a model's name.
    fn name(&self) -> &str;

    /// All that its proposals depend on beside their task, as a text: name, version, address, settings. Two synthesisers
    /// with one identity may be given each other's answers by [`Store::cached_answer`](crate::Store::cached_answer).
    /// `None`, the default, keeps its answers out of the cache.
    fn identity(&self) -> Option<String> {
        None
    }
}

impl fmt::Debug for dyn Synthesiser + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a synthesiser is given.
#[derive(Clone, Debug)]
pub struct SynthesisTask<'a> {
    /// The question.
    pub query: &'a str,
    /// The evidence prompt: guard, labels and blocks, for a model.
    pub prompt: &'a str,
    /// The same blocks, for code.
    pub blocks: &'a [EvidenceBlock],
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// What was wrong with the earlier attempts.
    pub faults: &'a [Fault],
}

/// Why part of an earlier attempt was rejected. It has no text of the evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The claim; none where the answer as a whole could not be read.
    pub claim: Option<String>,
    /// What the claim cited.
    pub reference: Option<String>,
    /// The code of a [`Verdict`](crate::Verdict), or [`Fault::UNREADABLE`].
    pub code: &'static str,
    /// Why the answer could not be read, in the words of its reader.
    pub reason: Option<String>,
}

impl Fault {
    /// The code of an answer that is none of the forms that can be read.
    pub const UNREADABLE: &'static str = "unreadable_answer";
}

/// What a synthesiser says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proposal {
    /// The text that a model gave, in one of the forms that [`ProposedAnswer::parse`] reads.
    Text(String),
    /// Claims with citations.
    Answer(ProposedAnswer),
    /// There is no answer in the evidence.
    Abstain,
}

//! What goes into an answer and what comes out of it.

use super::synthesis::Synthesiser;
use crate::evidence::{Manifest, RunEvent};
use crate::gate::quote::Normalisation;
use crate::search::Retriever;
use crate::verify::{Dropped, Published, Verification};

pub use crate::gate::proposal::NOT_SUPPORTED;

/// How often, and for what, the store is searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Once, for the question.
    #[default]
    Single,
    /// For the question, then for each part of it that no shown block covers by itself.
    Iterative,
    /// As `Iterative`, but a part is covered also by several blocks together, and a call that shows nothing new is the
    /// last.
    Adaptive,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Single, Self::Iterative, Self::Adaptive];

    /// The stable name: on the command line, in the run's record and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Iterative => "iterative",
            Self::Adaptive => "adaptive",
        }
    }
}

/// A question to be answered from the store.
///
/// It has no field for what a labelled data set expects: what an answer does can depend on the question, the evidence
/// and these limits alone.
#[derive(Clone, Debug)]
pub struct AnswerRequest<'a> {
    /// The question.
    pub query: String,
    /// How often the store is searched.
    pub strategy: Strategy,
    /// How many chunks each call may find, 1 to 100.
    pub top_k: usize,
    /// The call budget, 1 to 16.
    pub max_calls: u32,
    /// The budget of the evidence prompt in characters; `None` for the default.
    pub max_chars: Option<usize>,
    /// How many chunks the prompt may have, over all calls; `None` for `top_k` times the calls.
    pub max_chunks: Option<usize>,
    /// How often a rejected answer goes back to the synthesiser, 0 to 10.
    pub retries: u32,
    /// The differences between quote and source that may be overlooked; none by default.
    pub normalise: Vec<Normalisation>,
    /// The support that a claim needs, 0 to 1; `None` for the measured default.
    pub least_support: Option<f64>,
    /// The relevance floor, 0 to 1; `None` for the measured default.
    pub floor: Option<f64>,
    /// Use chunks whose source file can't be read; recorded in the run.
    pub allow_unverified_source: bool,
    /// What ranks chunks.
    pub retriever: Retriever,
    /// As [`SearchRequest::similarity_floor`](crate::SearchRequest::similarity_floor).
    pub similarity_floor: Option<f64>,
    /// Who makes an answer of the evidence.
    pub synthesiser: &'a dyn Synthesiser,
}

impl<'a> AnswerRequest<'a> {
    /// One call for three chunks, two retries.
    #[must_use]
    pub fn new(query: impl Into<String>, synthesiser: &'a dyn Synthesiser) -> Self {
        Self {
            query: query.into(),
            strategy: Strategy::default(),
            top_k: 3,
            max_calls: 4,
            max_chars: None,
            max_chunks: None,
            retries: 2,
            normalise: Vec::new(),
            least_support: None,
            floor: None,
            allow_unverified_source: false,
            retriever: Retriever::Bm25,
            similarity_floor: None,
            synthesiser,
        }
    }
}

/// How an answer came to its end. There are no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// Every claim was verified.
    Answered,
    /// After the last attempt some claims were verified: they are the answer, the others were dropped.
    PartlyVerified,
    /// Nothing in the store is relevant, or nothing relevant may be shown.
    AbstainedNoEvidence,
    /// The synthesiser found no answer in the evidence.
    AbstainedBySynthesiser,
    /// What the synthesiser first proposed was rejected, and then it proposed nothing.
    AbstainedUnverified,
    /// The synthesiser found no answer, and the call budget was used up before every part of the question had evidence.
    CallBudget,
    /// Every attempt was rejected whole.
    Blocked,
}

impl StopReason {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Answered,
        Self::PartlyVerified,
        Self::AbstainedNoEvidence,
        Self::AbstainedBySynthesiser,
        Self::AbstainedUnverified,
        Self::CallBudget,
        Self::Blocked,
    ];

    /// The stable name, in the store and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::PartlyVerified => "partly_verified",
            Self::AbstainedNoEvidence => "abstained_no_evidence",
            Self::AbstainedBySynthesiser => "abstained_by_synthesiser",
            Self::AbstainedUnverified => "abstained_unverified",
            Self::CallBudget => "call_budget",
            Self::Blocked => "blocked",
        }
    }

    /// The one with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == name)
    }

    /// Whether there is an answer.
    #[must_use]
    pub const fn is_answer(self) -> bool {
        matches!(self, Self::Answered | Self::PartlyVerified)
    }
}

/// An answer of which every sentence was verified, or an honest abstention.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The run that showed the evidence.
    pub run_id: String,
    /// The verified claims, a line each; [`NOT_SUPPORTED`] where there are none.
    pub text: String,
    /// How it ended.
    pub stop_reason: StopReason,
    /// How often the store was searched.
    pub calls: u32,
    /// How often the synthesiser was asked.
    pub attempts: u32,
    /// What `text` rests on: each verified citation of its claims.
    pub published: Vec<Published>,
    /// What was rejected in any attempt.
    pub dropped: Vec<DroppedInAttempt>,
    /// The attempts whose text could not be read as an answer.
    pub unreadable: Vec<Unreadable>,
    /// The evidence that was shown; [`Manifest::events`] has what happened, up to the end of the answer.
    pub manifest: Manifest,
    /// What the gate said of the attempt that `text` is taken from; without claims where there is none.
    pub verification: Verification,
}

impl Answer {
    /// Whether anything was verified.
    #[must_use]
    pub fn answered(&self) -> bool {
        self.stop_reason.is_answer()
    }

    /// What happened, in order.
    #[must_use]
    pub fn events(&self) -> &[RunEvent] {
        &self.manifest.events
    }
}

/// An attempt whose text is none of the forms of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The attempt, from 1.
    pub attempt: u32,
    /// Why it could not be read.
    pub reason: String,
}

/// What was dropped, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct DroppedInAttempt {
    /// The attempt, from 1.
    pub attempt: u32,
    /// What was dropped.
    pub dropped: Dropped,
}

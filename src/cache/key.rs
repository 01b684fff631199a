//! What an entry is found by: all that the evidence, or the answer, depends on.
//!
//! Of the store it is what the reader sees of it: a hidden document, class or rule is in no number here, so that none of
//! them can turn a hit into a miss.

use crate::access::{Scope, history};
use crate::answer::AnswerRequest;
use crate::context::{ContextRequest, vectors_of};
use crate::dense;
use crate::error::Result;
use crate::evidence::budget::TokenCounter;
use crate::model::{Digest, DigestBuilder, EmbeddingProfile, Fusion, Manifest, Principal, Who};
use crate::search::{self, ExpectedPolicy, Retriever, SearchRequest};
use crate::store::{Connection, settings};

/// A question with its limits.
pub(super) struct Question {
    digest: Digest,
    expected: Option<ExpectedPolicy>,
    /// What its vector is of, where it is compared with any.
    profile: Option<EmbeddingProfile>,
}

/// What a reader sees of the store, and who they are as far as it matters.
pub(super) struct Basis {
    store_id: String,
    /// The digest of what may be read.
    pub scope: Digest,
    epoch: u64,
    generation: u64,
    generation_digest: Digest,
    policy_digest: Digest,
    /// The next moment at which something else may be read.
    pub border: Option<String>,
    /// What names the vectors that the question is compared with, where it is.
    vectors: Option<String>,
}

/// The keys of a question.
pub(super) struct Keys {
    /// For all who may read the same.
    pub shared: Digest,
    /// For the reader alone, with their groups and scopes.
    pub own: Digest,
}

impl Question {
    /// The evidence that is asked for.
    pub(super) fn of_evidence(request: &ContextRequest) -> Self {
        let ContextRequest {
            search:
                SearchRequest {
                    query,
                    literal,
                    top_k,
                    min_score,
                    floor,
                    all_terms,
                    expected_policy,
                    explain: _,
                    retriever,
                    similarity_floor,
                },
            also,
            max_chars,
            max_tokens,
            counter: _,
            max_chunks,
            allow_unverified_source,
        } = request;
        let mut hash = DigestBuilder::new("ragdb cached evidence 1");
        hash.field(query);
        numbers(&mut hash, [usize::from(*literal), *top_k, usize::from(*all_terms), *max_chars, *max_chunks]);
        numbers(&mut hash, [usize::from(*allow_unverified_source)]);
        share(&mut hash, *min_score);
        share(&mut hash, *floor);
        optional(&mut hash, max_tokens.map(|tokens| tokens.to_string()).as_deref());
        optional(&mut hash, request.counter().map(TokenCounter::name));
        numbers(&mut hash, [also.len()]);
        for query in also {
            hash.field(query);
        }
        ranked_by(&mut hash, retriever, *similarity_floor);
        Self { digest: hash.finish(), expected: *expected_policy, profile: profile(retriever) }
    }

    /// The answer that is asked for; `None` where what its synthesiser says depends on more than can be known.
    pub(super) fn of_answer(request: &AnswerRequest<'_>) -> Option<Self> {
        let AnswerRequest {
            query,
            strategy,
            top_k,
            max_calls,
            max_chars,
            max_chunks,
            retries,
            normalise,
            least_support,
            floor,
            allow_unverified_source,
            retriever,
            similarity_floor,
            synthesiser,
        } = request;
        let mut hash = DigestBuilder::new("ragdb cached answer 1");
        hash.field(synthesiser.name()).field(synthesiser.identity()?);
        hash.field(query).field(strategy.as_str());
        numbers(&mut hash, [*top_k, usize::from(*allow_unverified_source), normalise.len()]);
        for normalisation in normalise {
            hash.field(normalisation.name());
        }
        for number in [Some(u64::from(*max_calls)), Some(u64::from(*retries)), max_chars.map(|n| n as u64)] {
            optional(&mut hash, number.map(|number| number.to_string()).as_deref());
        }
        optional(&mut hash, max_chunks.map(|number| number.to_string()).as_deref());
        share(&mut hash, *least_support);
        share(&mut hash, *floor);
        ranked_by(&mut hash, retriever, *similarity_floor);
        Some(Self { digest: hash.finish(), expected: None, profile: profile(retriever) })
    }

    /// The keys under which it is kept.
    pub(super) fn keys(&self, principal: &Principal, basis: &Basis) -> Keys {
        let mut hash = DigestBuilder::new("ragdb cache 1");
        hash.field(env!("CARGO_PKG_VERSION")).field(self.digest.as_bytes());
        match principal.who() {
            Who::Operator => hash.field("operator"),
            Who::Public => hash.field("public"),
            Who::Known { tenant, .. } => hash.field("known").field(tenant),
        };
        optional(&mut hash, principal.time());
        hash.field(&basis.store_id).field(basis.scope.as_bytes());
        numbers(&mut hash, [basis.epoch, basis.generation]);
        hash.field(basis.generation_digest.as_bytes()).field(basis.policy_digest.as_bytes());
        numbers(&mut hash, [crate::LEXER_VERSION, crate::UNSAFE_RULES_VERSION]);
        optional(&mut hash, basis.border.as_deref());
        optional(&mut hash, basis.vectors.as_deref());
        let shared = hash.finish();
        let mut hash = DigestBuilder::new("ragdb cache of one 1");
        hash.field(shared.as_bytes()).field(principal.identity().as_bytes()).field(principal.to_json());
        Keys { shared, own: hash.finish() }
    }
}

impl Basis {
    /// What `principal` sees now; `None` where the operator finds nothing published.
    ///
    /// # Errors
    /// As a search: [`Error::PolicyMismatch`](crate::Error::PolicyMismatch) where the store was indexed under other
    /// settings than the question relies on.
    pub(super) fn of(conn: &Connection, scope: &Scope, question: &Question) -> Result<Option<Self>> {
        let expected = question.expected.as_ref();
        let Some((generation, generation_digest)) = history::current(conn, scope)? else { return Ok(None) };
        let Some(policy) = search::policy(conn, scope, generation > 0, expected)? else { return Ok(None) };
        search::check_policy(&policy, expected)?;
        let vectors = match &question.profile {
            Some(profile) => dense::stamps(conn, profile, scope.classes())?,
            None => None,
        };
        Ok(Some(Self {
            store_id: settings::store_id(conn)?,
            scope: scope.digest(),
            epoch: history::epoch(conn, scope)?,
            generation,
            generation_digest,
            policy_digest: policy.digest(),
            border: scope.border().map(str::to_owned),
            vectors: vectors.map(|vectors| vectors.to_string()),
        }))
    }

    /// Whether a run was made of what is seen now.
    pub(super) fn made(&self, run: &Manifest) -> bool {
        run.store_id == self.store_id
            && run.acl_epoch == self.epoch
            && run.generation == self.generation
            && run.generation_digest == self.generation_digest.to_string()
            && run.policy_digest == self.policy_digest.to_string()
            && vectors_of(run) == self.vectors.as_deref()
    }
}

/// What ranks, with all its settings.
fn ranked_by(hash: &mut DigestBuilder, retriever: &Retriever, similarity_floor: Option<f64>) {
    hash.field(retriever.kind().as_str());
    if let Some(embedder) = retriever.embedder() {
        hash.field(embedder.profile().digest().as_bytes());
        share(hash, Some(similarity_floor.unwrap_or_else(|| embedder.floor())));
    }
    if let Some(Fusion { k, bm25, dense, depth }) = retriever.fusion() {
        numbers(hash, [*k, *depth]);
        share(hash, Some(*bm25));
        share(hash, Some(*dense));
    }
}

fn profile(retriever: &Retriever) -> Option<EmbeddingProfile> {
    retriever.embedder().map(|embedder| embedder.profile().clone())
}

fn numbers<T: ToString>(hash: &mut DigestBuilder, numbers: impl IntoIterator<Item = T>) {
    for number in numbers {
        hash.field(number.to_string());
    }
}

fn optional(hash: &mut DigestBuilder, text: Option<&str>) {
    hash.number(text.is_some().into()).field(text.unwrap_or_default());
}

/// A number that is compared bit by bit.
fn share(hash: &mut DigestBuilder, number: Option<f64>) {
    optional(hash, number.map(|number| number.to_bits().to_string()).as_deref());
}

//! What an answer stands on: evidence for its question, and the gate. The one place where this module meets the others.

use super::types::AnswerRequest;
use crate::context::ContextRequest;
use crate::error::Result;
use crate::evidence::Manifest;
use crate::evidence::prompt::EvidenceBlock;
use crate::gate::proposal::{AnswerFormat, ProposedAnswer};
use crate::model::Principal;
use crate::search::SearchRequest;
use crate::store::Store;
use crate::verify::{Verification, VerifyRequest};

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

    /// Reads a model's text.
    fn read(&self, text: &str, manifest: &Manifest) -> Result<ProposedAnswer>;

    /// Holds an answer to what its run showed.
    fn judge(&mut self, manifest: &Manifest, answer: &ProposedAnswer) -> Result<Verification>;
}

/// The store itself.
pub(super) struct StoreGrounds<'a> {
    pub store: &'a Store,
    pub principal: &'a Principal,
    pub request: &'a AnswerRequest<'a>,
}

impl Grounds for StoreGrounds<'_> {
    fn retrieve(&mut self, queries: &[String]) -> Result<Gathered> {
        let AnswerRequest { query, top_k, floor, max_chars, max_chunks, allow_unverified_source, .. } = self.request;
        let AnswerRequest { retriever, similarity_floor, .. } = self.request;
        let defaults = ContextRequest::new(query);
        let evidence = self.store.context(
            self.principal,
            &ContextRequest {
                search: SearchRequest {
                    top_k: *top_k,
                    floor: *floor,
                    retriever: retriever.clone(),
                    similarity_floor: *similarity_floor,
                    ..defaults.search
                },
                also: queries.iter().skip(1).cloned().collect(),
                max_chars: max_chars.unwrap_or(defaults.max_chars),
                max_chunks: max_chunks.unwrap_or(top_k * queries.len()),
                allow_unverified_source: *allow_unverified_source,
                ..defaults
            },
        )?;
        let blocks = evidence.blocks();
        Ok(Gathered { manifest: evidence.manifest, prompt: evidence.prompt, blocks })
    }

    fn read(&self, text: &str, manifest: &Manifest) -> Result<ProposedAnswer> {
        let labels: Vec<String> = manifest.shown.iter().map(|shown| shown.label.clone()).collect();
        ProposedAnswer::parse(text, AnswerFormat::Auto, &labels)
    }

    fn judge(&mut self, manifest: &Manifest, answer: &ProposedAnswer) -> Result<Verification> {
        let AnswerRequest { normalise, least_support, allow_unverified_source, .. } = self.request;
        self.store.verify(
            self.principal,
            &VerifyRequest {
                normalise: normalise.clone(),
                least_support: *least_support,
                allow_unverified_source: *allow_unverified_source,
                ..VerifyRequest::new(manifest, answer)
            },
        )
    }
}

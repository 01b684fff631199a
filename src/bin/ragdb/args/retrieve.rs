//! The arguments of all verbs that rank chunks by words, by vectors or by both.

use clap::{Args, ValueEnum};
use ragdb::RetrieverKind;

use super::embed::EmbedderArgs;
use super::verbs::parse_finite;

/// What ranks.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Retrieval")]
pub struct RetrieverArgs {
    /// What ranks chunks: words, vectors (after `ragdb embed`), or both by their ranks [default: `retrieval.kind` of
    /// ragdb.yaml, else bm25]
    #[arg(long, value_name = "NAME")]
    pub retriever: Option<RetrieverArg>,
    /// How the lists are made and joined.
    #[command(flatten)]
    pub ranking: RankingArgs,
}

/// How lists are made and joined.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Retrieval")]
pub struct RankingArgs {
    /// With vectors: the cosine, -1 to 1, that a chunk must have with the question [default: that of the model]
    #[arg(long, value_name = "COSINE", value_parser = parse_cosine, allow_negative_numbers = true)]
    pub similarity_floor: Option<f64>,
    /// With rrf: the k of weight / (k + rank), 0 to 1000000 [default: `retrieval.fusion.k` of ragdb.yaml, else 60]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub fusion_k: Option<u32>,
    /// Which model makes vectors.
    #[command(flatten)]
    pub embedder: EmbedderArgs,
}

/// One of the retrievers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetrieverArg(pub RetrieverKind);

impl ValueEnum for RetrieverArg {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self(RetrieverKind::Bm25), Self(RetrieverKind::Dense), Self(RetrieverKind::Rrf)]
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.as_str()))
    }
}

fn parse_cosine(text: &str) -> Result<f64, String> {
    parse_finite(text)
        .and_then(|cosine| (-1.0..=1.0).contains(&cosine).then_some(cosine).ok_or_else(|| "must be -1 to 1".to_owned()))
}

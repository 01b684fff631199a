//! The arguments of `answer`.

use std::path::PathBuf;

use super::reader::ReaderArgs;
use super::retrieve::RetrieverArgs;
use clap::{Args, ValueEnum};
use ragdb::{Normalisation, Strategy};

use super::verbs::parse_share;

/// Answer a question from the store, with nothing but what was verified.
///
/// Evidence is searched, an answer is made of it, and each of its claims is held to the lines that it cites: what does
/// not stand there word for word, with its numbers and negations, is dropped and listed on standard error. Nothing
/// verified is `Not supported by the corpus.` and exit code 1.
///
/// By default the answer is made of sentences of the sources, without a model. With --endpoint, or where ragdb.yaml has
/// `answer.base_url`, a model behind an OpenAI-compatible API is asked: question and evidence are sent there. A
/// rejected answer goes back to it with the codes of its faults. The key is read from the environment and sent as a
/// bearer token; never over plain http to another machine.
///
/// A question that was asked before is answered as before while nothing changed that the reader may read. Such an answer
/// is judged again first; no model is asked.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb answer how long is the refund window
  ragdb answer --strategy iterative 'What is E42, and how long is a refund valid?'
  ragdb answer --endpoint http://localhost:11434/v1 --model qwen3 how long is the refund window
  ragdb answer --json --no-record how long is the refund window")]
pub struct AnswerArgs {
    /// The question; several words are joined with spaces
    #[arg(value_name = "QUERY", required = true)]
    pub query: Vec<String>,
    /// How often to search: `single` for the question; `iterative` also for each part of it that no shown block covers;
    /// `adaptive` only as long as that brings something new
    #[arg(long, value_name = "NAME", default_value = "single")]
    pub strategy: StrategyArg,
    /// Find at most K chunks with each call, 1 to 100
    #[arg(short = 'k', long, value_name = "K", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub top_k: u16,
    /// Search at most N times, 1 to 16
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub max_calls: u32,
    /// Let the evidence prompt have at most N characters [default: 6000]
    #[arg(long, value_name = "N")]
    pub max_chars: Option<usize>,
    /// Show at most N chunks [default: K for each call]
    #[arg(long, value_name = "N")]
    pub max_chunks: Option<usize>,
    /// The share of the query's information, 0 to 1, that a chunk must match [default: the measured one]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub floor: Option<f64>,
    /// Send a rejected answer back at most N times, 0 to 10 [default: that of ragdb.yaml, else 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=10))]
    pub retries: Option<u32>,
    /// Use text although the folder of its source can't be opened: the run and the answer record it
    #[arg(long)]
    pub allow_unverified_source: bool,
    /// Write a receipt of what was verified, for `ragdb verify --receipt`
    #[arg(long, value_name = "FILE")]
    pub receipt: Option<PathBuf>,
    /// Keep neither the run nor the answer in the store
    #[arg(long)]
    pub no_record: bool,
    /// Answer anew: give no answer from before, and keep none for later
    #[arg(long)]
    pub no_cache: bool,
    /// Which differences between a quote and its source to overlook.
    #[command(flatten)]
    pub normalise: NormaliseArgs,
    /// Which model to ask.
    #[command(flatten)]
    pub model: ModelArgs,
    /// What ranks.
    #[command(flatten)]
    pub retriever: RetrieverArgs,
    /// Who reads.
    #[command(flatten)]
    pub reader: ReaderArgs,
}

/// Differences between a quote and its source.
#[derive(Args, Clone, Debug)]
pub struct NormaliseArgs {
    /// Differences between a quote and its source to overlook, separated by commas [default: none]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub normalise: Vec<NormaliseArg>,
}

impl NormaliseArgs {
    /// As the library takes them.
    pub fn list(&self) -> Vec<Normalisation> {
        self.normalise.iter().map(|&NormaliseArg(normalisation)| normalisation).collect()
    }
}

/// One such difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NormaliseArg(Normalisation);

impl ValueEnum for NormaliseArg {
    fn value_variants<'a>() -> &'a [Self] {
        const {
            &[
                Self(Normalisation::Nfc),
                Self(Normalisation::WhiteSpace),
                Self(Normalisation::Quotes),
                Self(Normalisation::Dashes),
                Self(Normalisation::SoftHyphen),
            ]
        }
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.name()))
    }
}

/// Which model to ask, and how.
#[derive(Args, Debug)]
#[command(next_help_heading = "Model")]
pub struct ModelArgs {
    /// The base URL of an OpenAI-compatible API [default: `answer.base_url` of ragdb.yaml]
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
    /// The model's name [default: `answer.model` of ragdb.yaml]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The environment variable that holds the key; empty for no key [default: `answer.api_key_env` of ragdb.yaml, else
    /// OPENAI_API_KEY]
    #[arg(long, value_name = "NAME")]
    pub api_key_env: Option<String>,
    /// Let one request take at most N seconds [default: `answer.timeout_seconds` of ragdb.yaml, else 60]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub timeout: Option<u32>,
    /// Ask no model, also where ragdb.yaml names one
    #[arg(long, conflicts_with_all = ["endpoint", "model", "api_key_env", "timeout"])]
    pub extractive: bool,
}

/// How often to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrategyArg(pub Strategy);

impl ValueEnum for StrategyArg {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self(Strategy::Single), Self(Strategy::Iterative), Self(Strategy::Adaptive)]
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.as_str()))
    }
}

//! The arguments of the verbs that measure, check and maintain, and of those that serve shells and packagers.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use clap_complete::Shell;
use ragdb::Threshold;

use super::answer::StrategyArg;
use super::retrieve::{RankingArgs, RetrieverArg};
use super::verbs::{ChunkingArgs, parse_share};

/// Measure the store on labelled questions, or a part of ragdb on a labelled data set.
///
/// FILE has a case a line: {"id", "query", "relevant": [path, path#L3-L6 or chunk id], "forbidden": [..],
/// "expect_abstain", "expected_facts": [..], "top_k", "max_chars", "principal"}; a line {"thresholds": {metric: limit}} sets
/// thresholds. A missed threshold gives exit code 1.
///
/// With --beir a store is built from DIR/corpus.jsonl in a temporary folder; the queries of DIR/queries.jsonl are scored
/// against DIR/qrels/test.tsv, the layout of the BEIR collections. ./ragdb.db is not used, nor a relevance floor, and of
/// ragdb.yaml only the model for vectors and the fusion, where --retriever names what needs them.
///
/// With --claims the claims of DIR are held to the text that is cited for them: pairs.jsonl, with lines such as
/// {"claim": "…", "text": "…", "quote": "…", "label": "supports"}, or the files of climate-fever and of SciFact. No
/// store is used.
///
/// With --injection, the rules that mark unsafe text run on labelled attacks and other texts; with --benign, folders
/// without attacks are indexed, and the documents that would be kept from being evidence are counted.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("set").required(true).multiple(true).args(SETS), after_long_help = "\
Examples:
  ragdb eval cases.jsonl
  ragdb eval cases.jsonl --threshold recall_at_k=0.9 --threshold stale_citation_rate=0
  ragdb eval --beir scifact --k 100 --json
  ragdb eval --beir scifact --min-ndcg 0.65    exit 1 below it
  ragdb eval --beir scifact --retriever bm25,dense,rrf
  ragdb eval --claims grounding
  ragdb eval --injection D_injection --benign docs")]
pub struct EvalArgs {
    /// Cases for the store, a JSON object a line
    #[arg(value_name = "FILE", conflicts_with_all = DATA_SETS)]
    pub file: Option<PathBuf>,
    /// A folder in the BEIR layout
    #[arg(long, value_name = "DIR")]
    pub beir: Option<PathBuf>,
    /// A folder with labelled claims
    #[arg(long, value_name = "DIR", conflicts_with = "beir")]
    pub claims: Option<PathBuf>,
    /// SciFact's corpus.jsonl, which has the abstracts of its claims
    #[arg(long, value_name = "FILE", requires = "claims")]
    pub abstracts: Option<PathBuf>,
    /// The support that a claim with a quote needs, 0 to 1, instead of the default
    #[arg(long, value_name = "X", requires = "claims", value_parser = parse_share)]
    pub least_support: Option<f64>,
    /// A folder with the labelled sets deepset, bipia_normalized, handmade and benign_security_docs, or some of them
    #[arg(long, value_name = "DIR", conflicts_with_all = ["beir", "claims"])]
    pub injection: Option<PathBuf>,
    /// A folder of documents without attacks; may be given more than once
    #[arg(long, value_name = "DIR", conflicts_with_all = ["beir", "claims"])]
    pub benign: Vec<PathBuf>,
    /// How many hits (with --beir: documents) of each ranking count, 1 to 1000; a case's top_k goes before it
    #[arg(short, long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub k: u16,
    /// Fail with exit code 1 where a metric of FILE is below X, or a rate of faults above it, 0 to 1
    #[arg(long = "threshold", value_name = "METRIC=X", value_parser = parse_threshold, requires = "file")]
    pub thresholds: Vec<Threshold>,
    /// Also show chunks whose source folder can't be opened
    #[arg(long, requires = "file")]
    pub allow_unverified_source: bool,
    /// Also answer each question of FILE from the store's own sentences, and score the answers
    #[arg(long, requires = "file", value_name = "STRATEGY", num_args = 0..=1, require_equals = true,
        default_missing_value = "single")]
    pub answer: Option<StrategyArg>,
    /// Fail with exit code 1 where nDCG@k of DIR is below this, 0 to 1
    #[arg(long, value_name = "X", value_parser = parse_share)]
    pub min_ndcg: Option<f64>,
    /// Fail with exit code 1 where recall@k of DIR is below this, 0 to 1
    #[arg(long, value_name = "X", value_parser = parse_share)]
    pub min_recall: Option<f64>,
    /// What ranks chunks, separated by commas: words, vectors, or both by their ranks; of several, the metrics stand side by
    /// side [default: bm25; with FILE, `retrieval.kind` of ragdb.yaml]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with_all = ["claims", "injection", "benign"])]
    pub retriever: Vec<RetrieverArg>,
    /// How the lists are made and joined.
    #[command(flatten)]
    pub ranking: RankingArgs,
    /// How documents of DIR are cut.
    #[command(flatten)]
    pub chunking: ChunkingArgs,
}

/// What can be measured.
const SETS: [&str; 5] = ["file", "beir", "claims", "injection", "benign"];

/// What has no meaning beside a file of cases.
const DATA_SETS: [&str; 9] =
    ["beir", "claims", "injection", "benign", "min_ndcg", "min_recall", "target_chars", "max_chars", "overlap_chars"];

fn parse_threshold(text: &str) -> Result<Threshold, String> {
    let (metric, limit) = text.split_once('=').ok_or("expected METRIC=X")?;
    Threshold::new(metric, parse_share(limit)?).map_err(|error| error.to_string())
}

/// Break good answers on purpose, and prove that the gate notices.
///
/// Without arguments, an answer of twelve claims about a small corpus of ragdb's own is broken in every way, in a
/// temporary folder. With --corpus, sentences of the store with numbers, denials and identifiers are taken; with FILE, the
/// expected facts of its cases (the file of `ragdb eval`). Those that are verified are broken; each must be noticed. The
/// exit code is 1 where one is not.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb qualify
  ragdb qualify --corpus --sample 500
  ragdb qualify cases.jsonl")]
pub struct QualifyArgs {
    /// Cases about the store, whose expected facts are broken
    #[arg(value_name = "FILE", conflicts_with = "corpus")]
    pub file: Option<PathBuf>,
    /// Break sentences of the store
    #[arg(long)]
    pub corpus: bool,
    /// Take at most N sentences, 1 to 10000
    #[arg(long, value_name = "N", default_value_t = 100, requires = "corpus",
        value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub sample: u16,
}

/// Check the store against itself and its sources.
///
/// Damage gives exit code 1, a line for each problem, and in words what is damaged, what can be wrong for it and which
/// command mends it. Nothing is repaired.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb check
  ragdb check --no-sources      for a store that was shipped without its folders
  ragdb check --deep            also against a store built anew from the sources")]
pub struct CheckArgs {
    /// Also build a store anew from the sources, in a temporary folder, and compare every row that matters
    #[arg(long, conflicts_with = "no_sources")]
    pub deep: bool,
    /// Do not compare with the source folders
    #[arg(long)]
    pub no_sources: bool,
}

/// Merge the index into one segment for each access class and give free space back.
///
/// With --rebuild, all that is derived from the stored chunks is made again from them, in one transaction: postings,
/// lengths, statistics, SQL's own indexes, and the rules of access. A store that `check` finds damaged there is whole again.
/// No generation is published.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb optimize
  ragdb optimize --rebuild      where `ragdb check` asks for it")]
pub struct OptimizeArgs {
    /// Make the index again from the stored chunks
    #[arg(long)]
    pub rebuild: bool,
}

/// Bring a store made by an older ragdb to the current schema.
///
/// Happens in one transaction. A current store is left alone; make a copy of the file before the others,
/// together with the `-wal` file where there is one beside it.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Example:
  cp ragdb.db ragdb.backup.db && ragdb migrate")]
pub struct MigrateArgs {}

/// Print a completion script for a shell.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb completions bash > ~/.local/share/bash-completion/completions/ragdb
  ragdb completions zsh > ~/.zfunc/_ragdb
  ragdb completions fish > ~/.config/fish/completions/ragdb.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Write the man pages, one for ragdb and one for each verb.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// The folder to write them into; without it ragdb(1) goes to standard output
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

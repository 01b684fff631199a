//! The arguments of `context`, with their long help.

use std::path::PathBuf;

use super::reader::ReaderArgs;
use super::retrieve::RetrieverArgs;
use clap::Args;

use super::verbs::parse_share;

/// Write the evidence for a query as a prompt for a model, within a budget.
///
/// The prompt begins with fixed instructions; each block has a label (S1, S2, …), its citation, its headings, and the
/// chunk's text between delimiters that the text can't contain. A chunk goes in whole or not at all, and only if its
/// source file, read at this moment, is the one that was indexed and has the text at its lines. The query is not part of
/// the prompt. What was shown, and what was refused and why, is recorded in the store as a run; `ragdb verify` and
/// `ragdb cite S1 --run ID` refer to it. No evidence is exit code 1 and a prompt without blocks.
///
/// The same query gives the same run again while nothing changed that the reader may read. All of it is compared again
/// first.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb context how long is the refund window
  ragdb context --max-tokens 2000 --max-chunks 5 retry timeout
  ragdb context --manifest run.json error E42 > prompt.txt")]
pub struct ContextArgs {
    /// The query; several words are joined with spaces
    #[arg(value_name = "QUERY", required = true)]
    pub query: Vec<String>,
    /// Look at the best K hits, 1 to 1000; some are refused [default: four times --max-chunks, at most 1000]
    #[arg(short = 'k', long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub top_k: Option<u16>,
    /// Show at most N blocks, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub max_chunks: u16,
    /// Let the whole prompt have at most N characters [default: 6000; no limit with --max-tokens]
    #[arg(long, value_name = "N")]
    pub max_chars: Option<usize>,
    /// Let the whole prompt have at most N tokens, by an estimate that would rather count too many
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<usize>,
    /// The share of the query's information, 0 to 1, that a hit must match [default: the measured one]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub floor: Option<f64>,
    /// Take the query as plain text: no `+`, `-`, quotes or filters
    #[arg(long)]
    pub literal: bool,
    /// Write the run to FILE, replacing it, instead of recording it; the store is only read then
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
    /// Show text although the folder of its source can't be opened: the prompt and the run say so
    #[arg(long)]
    pub allow_unverified_source: bool,
    /// Search anew: give no evidence from before, and keep none for later
    #[arg(long)]
    pub no_cache: bool,
    /// What ranks.
    #[command(flatten)]
    pub retriever: RetrieverArgs,
    /// Who reads.
    #[command(flatten)]
    pub reader: ReaderArgs,
}

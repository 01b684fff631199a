//! The arguments of the verbs that build, ask and look back, with their long help: units, ranges, defaults and
//! examples.

use std::path::PathBuf;

use clap::Args;

use super::embed::EmbedderArgs;
use super::reader::ReaderArgs;
use super::retrieve::RetrieverArgs;

/// Write a commented ragdb.yaml for a folder.
///
/// The file declares the folder as one source, with every setting at its default in a comment. It is written to
/// ./ragdb.yaml, or where --config says; an existing file is never overwritten.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb init                    write ./ragdb.yaml for the current folder
  ragdb init docs               write ./ragdb.yaml with ./docs as its source
  ragdb init docs --config site/ragdb.yaml    for the folder site/docs")]
pub struct InitArgs {
    /// The folder that becomes the source, as a relative path from where the file is written
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
}

/// Publish one new generation from the sources, in one transaction.
///
/// Without DIR the sources and the chunking come from ragdb.yaml where one is found, else from the store. With
/// DIR the named folders are the sources and ragdb.yaml is not read. Where nothing changed, nothing but file stamps
/// is written; where the chunking is another than the store's, the index is rebuilt.
///
/// A file that can't become a document fails the sync: nothing is published, every such file is listed on
/// standard error (or in `failures`), and the exit code is 2. With --keep-going the others are published, a failed
/// document keeps its last good version, the failures are listed all the same, and the exit code is 0.
#[derive(Args, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[command(after_long_help = "\
Examples:
  ragdb sync docs               index the folder docs into ./ragdb.db
  ragdb sync                    the sources of ragdb.yaml, or those that the store knows
  ragdb sync --dry-run          what a sync would change
  ragdb sync docs --max-chars 900 --overlap-chars 0")]
pub struct SyncArgs {
    /// Folders to index instead of the declared sources
    #[arg(value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Print the plan and write nothing; exit 1 where files would fail the sync
    #[arg(long)]
    pub dry_run: bool,
    /// Read and hash every file, also where its size and times are unchanged, and mend documents whose
    /// stored rows do not have their hashes
    #[arg(long)]
    pub checksum: bool,
    /// Publish what can be read, although some files failed
    #[arg(long)]
    pub keep_going: bool,
    /// Allow at most N deleted documents [default: less than half of a source of ten documents or
    /// more]
    #[arg(long, value_name = "N")]
    pub max_delete: Option<u64>,
    /// Accept that a source's root is another folder than at the last sync
    #[arg(long)]
    pub reroot: bool,
    /// Give the chunks their vectors afterwards, as `ragdb embed` does; what was published stays published if that fails
    #[arg(long, conflicts_with = "dry_run")]
    pub embed: bool,
    /// Which model makes vectors.
    #[command(flatten)]
    pub embedder: EmbedderArgs,
    /// How documents are cut.
    #[command(flatten)]
    pub chunking: ChunkingArgs,
}

/// The chunk policy on the command line.
#[derive(Args, Clone, Copy, Debug)]
#[allow(clippy::struct_field_names, reason = "the names of the settings")]
#[command(next_help_heading = "Chunking")]
pub struct ChunkingArgs {
    /// Split a long section into pieces of about N characters [default: the store's, 800 for a new one]
    #[arg(long, value_name = "N")]
    pub target_chars: Option<u32>,
    /// Let no chunk be longer than N characters, one long line excepted [default: the store's, 1200 for a new one]
    #[arg(long, value_name = "N")]
    pub max_chars: Option<u32>,
    /// Repeat up to N characters, as whole lines, between the pieces of a section [default: the store's, 120 for a
    /// new one]
    #[arg(long, value_name = "N")]
    pub overlap_chars: Option<u32>,
}

/// Show the generation, counts, policy and size, and what a sync would change now.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb status
  ragdb status --no-plan        leave the source folders alone
  ragdb status --json")]
pub struct StatusArgs {
    /// Do not look at the sources for what a sync would change
    #[arg(long)]
    pub no_plan: bool,
    /// Who reads.
    #[command(flatten)]
    pub reader: ReaderArgs,
}

/// Find the chunks that answer a query, best first.
///
/// Bare words are any-of and ranked with BM25. `+word` must be there, `-word` must not, "a phrase" must stand in
/// the text; `path:`, `heading:`, `source:` and `lang:` filter. What is not understood is searched as text.
/// Nothing relevant is an empty result and exit code 1, never filler.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb search how to rotate a key
  ragdb search '\"error code\" +E42 path:guide/'
  ragdb search --top-k 3 --explain retry timeout
  ragdb search -- -draft release   a query that starts with a dash")]
pub struct SearchArgs {
    /// The query; several words are joined with spaces
    #[arg(value_name = "QUERY", required = true)]
    pub query: Vec<String>,
    /// Print at most K hits, 1 to 10000
    #[arg(short = 'k', long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub top_k: u16,
    /// Leave out hits with a lower score [default: none]
    #[arg(long, value_name = "SCORE", value_parser = parse_finite)]
    pub min_score: Option<f64>,
    /// The share of the query's information, 0 to 1, that a hit must match [default: the measured one]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub floor: Option<f64>,
    /// Take the query as plain text: no `+`, `-`, quotes or filters
    #[arg(long)]
    pub literal: bool,
    /// Print only chunks that hold every word of the query
    #[arg(long)]
    pub all_terms: bool,
    /// Show what each term adds to each score, and why chunks were refused; also without hits
    #[arg(long)]
    pub explain: bool,
    /// What ranks.
    #[command(flatten)]
    pub retriever: RetrieverArgs,
    /// Who reads.
    #[command(flatten)]
    pub reader: ReaderArgs,
}

/// List the published generations, newest first.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb log
  ragdb log -n 5")]
pub struct LogArgs {
    /// Show at most N generations [default: all]
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<u64>,
    /// Who reads.
    #[command(flatten)]
    pub reader: ReaderArgs,
}

/// List what changed from one generation to another.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Example:
  ragdb diff 3 5                what generations 4 and 5 changed together")]
pub struct DiffArgs {
    /// The generation to start from; 0 is the empty store
    #[arg(value_name = "G1")]
    pub from: u64,
    /// The generation to compare it with
    #[arg(value_name = "G2")]
    pub to: u64,
    /// Who reads.
    #[command(flatten)]
    pub reader: ReaderArgs,
}

/// Show one generation and what it changed.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Example:
  ragdb show 3")]
pub struct ShowArgs {
    /// The generation's number
    #[arg(value_name = "G")]
    pub generation: u64,
    /// Who reads.
    #[command(flatten)]
    pub reader: ReaderArgs,
}

/// Ask the store with read-only SQL.
///
/// The tables and views are described in schema.sql. Without QUERY the statement is read from standard input.
/// A table cuts cells at 80 columns and shows control characters escaped; --csv and --json give whole, exact
/// values (an empty CSV field is NULL, "" an empty text, x'..' a blob).
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb sql 'SELECT path, title FROM documents ORDER BY path'
  ragdb sql --csv 'SELECT * FROM provenance' > provenance.csv
  ragdb sql --audits
  ragdb sql --audit deleted")]
pub struct SqlArgs {
    /// One SELECT or another statement that only reads
    #[arg(value_name = "QUERY", conflicts_with_all = ["audits", "audit"])]
    pub query: Option<String>,
    /// Print comma-separated values with a header line
    #[arg(long, conflicts_with_all = ["json", "table"])]
    pub csv: bool,
    /// Print an aligned table, also when piped; this is the default
    #[arg(long, conflicts_with = "json")]
    pub table: bool,
    /// List the named audits
    #[arg(long, conflicts_with = "audit")]
    pub audits: bool,
    /// Run a named audit
    #[arg(long, value_name = "NAME")]
    pub audit: Option<String>,
    /// Who reads.
    #[command(flatten)]
    pub reader: ReaderArgs,
}

pub(super) fn parse_finite(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    number.is_finite().then_some(number).ok_or_else(|| "not a finite number".to_owned())
}

pub(super) fn parse_share(text: &str) -> Result<f64, String> {
    parse_finite(text)
        .and_then(|share| (0.0..=1.0).contains(&share).then_some(share).ok_or_else(|| "must be 0 to 1".to_owned()))
}

//! The arguments of the verbs that judge answers.

use std::path::PathBuf;

use super::reader::ReaderArgs;
use clap::{Args, ValueEnum};

use super::answer::NormaliseArgs;
use super::verbs::parse_share;

/// Judge an answer made elsewhere against the evidence of its run.
///
/// Each citation gets a verdict: `verified`, or the code of the first check that it fails. A claim is verified by a
/// citation that is; what is not verified is listed as dropped. The answer is read from FILE or standard input: as JSON
/// ({"claims": [{"text", "citations": [{"ref", "quote"}]}]}), as text with [S1] marks, or as the response of a model's
/// API. The exit code is 0 only where every claim and every citation is verified. With --receipt and neither --run nor
/// --manifest, a receipt is checked against the source files; no store is needed for that.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb verify --run 3f9c0e21 answer.json
  model-of-yours < prompt.txt | ragdb verify --run 3f9c0e21
  ragdb verify --manifest run.json --normalise quotes,white_space answer.txt
  ragdb verify --run 3f9c0e21 answer.json --receipt receipt.json    verify, and write a receipt
  ragdb verify --receipt receipt.json --root docs                   check a receipt")]
pub struct VerifyArgs {
    /// The run that the answer was to use; the first eight digits of its id or more
    #[arg(long, value_name = "ID", required_unless_present_any = ["manifest", "receipt"])]
    pub run: Option<String>,
    /// The manifest file of that run, where it is not in the store
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    pub manifest: Option<PathBuf>,
    /// The answer [default: standard input]
    #[arg(value_name = "FILE")]
    pub answer: Option<PathBuf>,
    /// How the answer is written
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Form::Auto)]
    pub format: Form,
    /// Which differences between a quote and its source to overlook.
    #[command(flatten)]
    pub normalise: NormaliseArgs,
    /// The support, 0 to 1, that a claim needs [default: the measured one]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub min_support: Option<f64>,
    /// Hold quotes to the stored text alone where the folder of a source can't be opened: the answer and the receipt say so
    #[arg(long)]
    pub allow_unverified_source: bool,
    /// Do not keep the verdicts in the store
    #[arg(long)]
    pub no_record: bool,
    /// Write a receipt of what was verified, which anyone can check without the store; alone: check this receipt
    #[arg(long, value_name = "FILE")]
    pub receipt: Option<PathBuf>,
    /// With a receipt alone: the folder of its source files; SOURCE=DIR where there are several sources
    #[arg(long, value_name = "DIR", conflicts_with_all = ["run", "manifest"])]
    pub root: Vec<String>,
    /// Who reads.
    #[command(flatten)]
    pub reader: ReaderArgs,
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Whichever of these it looks like.
    Auto,
    /// `{"claims": …}`.
    Json,
    /// Text with `[S1]` marks.
    Text,
    /// The response of a model's API.
    Api,
}

/// List the kept answers, or those whose evidence changed since.
///
/// With --impact: the published citations whose chunk is gone, or whose document has changed elsewhere, as far as the
/// syncs since have noticed. Exit code 1 where there are such citations.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb answers
  ragdb answers --impact        what the last syncs took the ground from")]
pub struct AnswersArgs {
    /// List the citations whose evidence changed or vanished
    #[arg(long)]
    pub impact: bool,
    /// Show at most N answers [default: all]
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "impact")]
    pub limit: Option<u64>,
    /// Who reads.
    #[command(flatten)]
    pub reader: ReaderArgs,
}

//! The arguments of `cite`: a reference, or what is to be done with the citations of folders.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::reader::ReaderArgs;

/// Show the cited lines, and whether they still stand in the source.
///
/// The status is `current` (the lines stand where they stood), `moved` (the same text on other lines), `stale`
/// (the source file no longer holds them), `deleted` (the store had them once) or `unknown`. The first two exit
/// with 0, the others with 1. Control characters in the text are shown escaped; --json gives the exact text.
///
/// `cite lock` and `cite check` are about every citation in the Markdown files of a folder.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true,
    after_long_help = "\
Examples:
  ragdb cite guide/install.md#L3-L6
  ragdb cite 8c1f0a52b7d94e6f8c1f0a52b7d94e6f:0a1b2c3d4e5f6071:0
  ragdb cite S1 --run last      what the last `ragdb context` showed as S1
  ragdb cite lock handbook      what the citations in ./handbook show now
  ragdb cite check handbook     exit 1 where one shows something else"
)]
pub struct CiteArgs {
    /// A chunk id, `path#L3-L6` or `path#L3`; `source:path#L3-L6` where a path stands in several sources; with --run a
    /// label such as S1
    #[arg(value_name = "REF", required = true)]
    pub reference: Option<String>,
    /// The run whose label REF is: its id, of which 8 digits may do, or `last`
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,
    /// What to do with the citations of folders. No reference looks like one of these: each has a `#L` or colons.
    #[command(subcommand)]
    pub command: Option<CiteCommand>,
    /// Who reads.
    #[command(flatten)]
    pub reader: ReaderArgs,
}

/// What can be done with the citations of folders.
#[derive(Debug, Subcommand)]
pub enum CiteCommand {
    Lock(CiteLockArgs),
    Check(CiteCheckArgs),
}

/// Write down what the citations in folders show now, into DIR/ragdb.lock.
///
/// Citations are `path#L3-L6` and `path#L3` in the Markdown files of DIR: in words, link destinations and code spans, not
/// in fenced blocks. A path is one that the store knows, or `source:path`; that of a link may be relative to its
/// document. An address with `://` is none. A citation that does not stand in the store as it does in its source file is
/// listed and not locked (exit 1): sync first.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Example:
  ragdb cite lock docs handbook")]
pub struct CiteLockArgs {
    /// The folders; each gets a lock of its own
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// Who reads.
    #[command(flatten)]
    pub reader: ReaderArgs,
}

/// Check that the citations in folders show what they showed when they were locked.
///
/// Each cited file is read and compared with DIR/ragdb.lock. Exit 1 where a citation is `moved` (what it showed stands at
/// other lines now), `stale` (it does not stand in the file any more), `deleted`, `unknown`, or `unlocked` (new since).
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb cite check docs
  ragdb cite check docs --reanchor    follow what moved, in the documents and the lock")]
pub struct CiteCheckArgs {
    /// The folders, each with its ragdb.lock
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// Change the line numbers of citations whose lines moved; nothing else of a document changes
    #[arg(long)]
    pub reanchor: bool,
    /// Who reads.
    #[command(flatten)]
    pub reader: ReaderArgs,
}

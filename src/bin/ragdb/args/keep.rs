//! The arguments of the verbs that copy a store, forget a document and go back.

use std::path::PathBuf;

use clap::Args;

/// Copy the store to a new file, and check the copy before saying so.
///
/// Others may read and sync meanwhile: the copy is the store as it was at one moment. It gets its name, readable and
/// writable by its owner only, after SQLite found the file sound and every generation's digest was computed again from
/// the rows. An existing file is never overwritten. Free pages are not copied.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb backup ragdb.backup.db
  ragdb search 'a question' --db ragdb.backup.db    a copy is a store")]
pub struct BackupArgs {
    /// The file to make
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Remove a document's text from the store for good.
///
/// A new generation is published without the document; runs and answers that met it are removed with all their rows; the
/// index is merged, the file is written anew without its free pages, and the log is emptied. Ids, hashes and the path
/// stay in tombstones. A file with the same content is left out by later syncs; once it changes, it comes in again.
/// Backups made before and the file in its folder are not touched.
///
/// With --prove another process then searches the bytes of the store, its log and the files of --also for the removed
/// lines, words and stems, in any case. The exit code is 1 where something is found, or nothing could be looked for.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb purge guide/keys.md --prove
  ragdb purge docs:guide/keys.md --reason 'ticket 42'
  ragdb purge guide/keys.md --prove --also ragdb.backup.db")]
pub struct PurgeArgs {
    /// The document: its id, its path, or SOURCE:PATH
    #[arg(value_name = "DOC")]
    pub document: String,
    /// Search the bytes of the file for what was removed
    #[arg(long)]
    pub prove: bool,
    /// Search this file as well; may be given more than once
    #[arg(long, value_name = "FILE", requires = "prove")]
    pub also: Vec<PathBuf>,
    /// Why, for the record; it stays in the store
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

/// Publish the documents of an earlier generation as a new one.
///
/// The files must be as they were then (`git checkout` brings them back); each that is not is named, and nothing is
/// published. With --from the documents come from a backup that was made at that generation. Documents that it did not
/// have go; their files stay, and the next sync brings them in again.
///
/// What was purged since does not come back, and nobody may read more than now: the rules of sources, grants and
/// revocations stay, and front matter counts as it was then and as it was last.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb rollback 7 --dry-run
  git checkout v1.2 -- docs && ragdb rollback 7
  ragdb rollback 7 --from ragdb.backup.db")]
pub struct RollbackArgs {
    /// The generation whose documents are wanted
    #[arg(value_name = "G")]
    pub generation: u64,
    /// Take the documents from this backup
    #[arg(long, value_name = "BACKUP")]
    pub from: Option<PathBuf>,
    /// Say what would happen, and write nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Search files for what standard input says: the half of `purge --prove` that may not have the store open.
#[derive(Args, Debug)]
pub struct LookForArgs {}

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

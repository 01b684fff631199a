//! Who reads, as arguments of the verbs that read.

use std::path::PathBuf;

use clap::Args;

/// Who reads; without any of these the operator, who holds the file and is kept from nothing.
#[derive(Args, Debug)]
#[command(next_help_heading = "Reader")]
pub struct ReaderArgs {
    /// The user who reads
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// The user's tenant [default: none]
    #[arg(long, value_name = "NAME", requires = "user")]
    pub tenant: Option<String>,
    /// A group that the user is in; may be given more than once
    #[arg(long, value_name = "NAME", requires = "user")]
    pub group: Vec<String>,
    /// Read nothing but sources with this scope; may be given more than once
    #[arg(long, value_name = "NAME")]
    pub scope: Vec<String>,
    /// The reader as a JSON file: {"tenant", "subject", "groups": [..], "scopes": [..]}
    #[arg(long = "as", value_name = "FILE", conflicts_with_all = ["user", "tenant", "group"])]
    pub file: Option<PathBuf>,
    /// Read as anyone may, without a name
    #[arg(long, conflicts_with_all = ["user", "tenant", "group", "file"])]
    pub public: bool,
    /// Read what is valid at this time: a date, or a time such as 2026-11-30T12:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
}

//! Who reads: options of all verbs that read what is stored.

use std::path::PathBuf;

use clap::Args;

/// Who reads. Without any of these it is the operator, who reads everything.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Reader")]
pub struct ReaderArgs {
    /// Read as this user, as if there were nothing that they may not read [default: the operator, who reads all]
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// The user's tenant [default: the one of sources that name none]
    #[arg(long, value_name = "NAME", requires = "user")]
    pub tenant: Option<String>,
    /// A group that the user is in; once for each
    #[arg(long, value_name = "NAME", requires = "user")]
    pub group: Vec<String>,
    /// Read only sources with this scope; once for each
    #[arg(long, value_name = "NAME")]
    pub scope: Vec<String>,
    /// Read as the user in this JSON file: {"tenant", "subject", "groups", "scopes"}
    #[arg(long = "as", value_name = "FILE", conflicts_with_all = ["user", "tenant", "group", "scope", "public"])]
    pub principal: Option<PathBuf>,
    /// Read as anyone, who gets what is public
    #[arg(long, conflicts_with_all = ["user", "tenant", "group"])]
    pub public: bool,
    /// Read what is valid at this time: a date or an RFC 3339 time; ahead of now for the operator alone [default: now]
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
}

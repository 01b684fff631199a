//! The arguments of `acl`: who may read what.

use clap::{ArgGroup, Args, Subcommand};

use super::reader::ReaderArgs;

/// Change who may read what, and see why somebody may read a document.
///
/// What sources and documents declare is the rule (`visibility`, `groups`, `tenant`, `valid_from`, `valid_until`); grants
/// and revocations come on top of it and stay with the store. Each change begins an epoch of access.
#[derive(Args, Debug)]
#[command(
    disable_help_subcommand = true,
    after_long_help = "\
Examples:
  ragdb acl list
  ragdb acl grant handbook --group hr --reason 'audit 7'
  ragdb acl revoke guide/keys.md --user eve
  ragdb acl explain guide/keys.md --user eve --group ops
  ragdb acl log"
)]
pub struct AclArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: AclCommand,
}

/// What can be done with rules of access.
#[derive(Debug, Subcommand)]
pub enum AclCommand {
    Grant(AclGrantArgs),
    Revoke(AclRevokeArgs),
    List(AclListArgs),
    Explain(AclExplainArgs),
    Log(AclLogArgs),
}

/// Let a group or a user read a source or a document.
///
/// What is granted on a source does not open documents that name their own readers in their front matter; what is granted
/// on a document does. A grant takes back what was revoked of the same subject on the same target.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb acl grant handbook --group hr
  ragdb acl grant handbook:pay/2026.md --user eve --reason 'ticket 31'")]
pub struct AclGrantArgs {
    /// What is granted to whom.
    #[command(flatten)]
    pub change: AclChangeArgs,
}

/// Keep a group or a user out of a source or a document.
///
/// A revocation is stronger than all that lets somebody in: whoever is in a revoked group can't read, whatever other group
/// they are in. What is public can't be revoked.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb acl revoke handbook --group contractors
  ragdb acl revoke guide/keys.md --user eve --reason 'left the team'")]
pub struct AclRevokeArgs {
    /// What is revoked from whom.
    #[command(flatten)]
    pub change: AclChangeArgs,
}

/// Of what, whose and why.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("subject").required(true).args(["user", "group"]))]
pub struct AclChangeArgs {
    /// The id of a source, else a document: its id, its path, or SOURCE:path
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// A user of the source's tenant
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// A group of the source's tenant
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
    /// Why; kept with the epoch
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

/// List the rules in force: whom each lets in and keeps out, and for how many documents.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb acl list
  ragdb acl list --source handbook")]
pub struct AclListArgs {
    /// Of this source alone
    #[arg(long, value_name = "ID")]
    pub source: Option<String>,
}

/// Say why a reader may read a document, or not.
///
/// For the operator, who may see the rules of all. The exit code is 1 where they may not read it.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb acl explain guide/keys.md --user eve --tenant acme --group ops
  ragdb acl explain handbook:pay/2026.md --public --at 2026-11-30")]
pub struct AclExplainArgs {
    /// The document: its id, its path, or SOURCE:path
    #[arg(value_name = "DOC")]
    pub document: String,
    /// Who reads.
    #[command(flatten)]
    pub reader: ReaderArgs,
}

/// List the changes of who may read what, newest first.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Example:
  ragdb acl log --limit 5")]
pub struct AclLogArgs {
    /// List at most N
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
}

//! One file a verb: each asks the library, makes a view of the answer, prints it and says how it came out.

mod acl;
mod answer;
mod answers;
mod backup;
mod check;
mod cite;
mod completions;
mod context;
mod diff;
mod embed;
mod eval;
mod init;
mod log;
mod man;
mod migrate;
mod optimize;
mod purge;
mod qualify;
mod rollback;
mod search;
mod show;
mod sql;
mod status;
mod sync;
mod verify;

use crate::args::Command;
use crate::context::Context;
use crate::exit::{Outcome, Stop};

/// Runs a verb.
pub fn run(command: &Command, context: &mut Context) -> Result<Outcome, Stop> {
    match command {
        Command::Init(args) => init::run(args, context),
        Command::Sync(args) => sync::run(args, context),
        Command::Embed(args) => embed::run(args, context),
        Command::Status(args) => status::run(args, context),
        Command::Search(args) => search::run(args, context),
        Command::Context(args) => context::run(args, context),
        Command::Answer(args) => answer::run(args, context),
        Command::Verify(args) => verify::run(args, context),
        Command::Answers(args) => answers::run(args, context),
        Command::Cite(args) => cite::run(args, context),
        Command::Log(args) => log::run(args, context),
        Command::Diff(args) => diff::run(args, context),
        Command::Show(args) => show::run(args, context),
        Command::Acl(args) => acl::run(args, context),
        Command::Eval(args) => eval::run(args, context),
        Command::Qualify(args) => qualify::run(args, context),
        Command::Check(args) => check::run(args, context),
        Command::Sql(args) => sql::run(args, context),
        Command::Backup(args) => backup::run(args, context),
        Command::Purge(args) => purge::run(args, context),
        Command::Rollback(args) => rollback::run(args, context),
        Command::LookFor(_) => purge::proof::look(context),
        Command::Optimize(args) => optimize::run(args, context),
        Command::Migrate(args) => migrate::run(args, context),
        Command::Completions(args) => completions::run(args, context),
        Command::Man(args) => man::run(args, context),
    }
}

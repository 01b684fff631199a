//! The command line as it is typed: clap definitions, and the only source of help, completions, man pages and
//! `docs/cli.md`. Knows nothing of what the verbs do.

#![allow(clippy::doc_markdown, reason = "here doc comments are help text, where backticks would be printed")]

mod acl;
mod answer;
mod cite;
mod embed;
mod evidence;
mod judge;
mod keep;
mod reader;
mod retrieve;
mod upkeep;
mod verbs;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

pub use acl::{AclArgs, AclChangeArgs, AclCommand, AclExplainArgs, AclListArgs, AclLogArgs};
pub use answer::{AnswerArgs, ModelArgs};
pub use cite::{CiteArgs, CiteCheckArgs, CiteCommand, CiteLockArgs};
pub use embed::{EmbedArgs, EmbedderArgs};
pub use evidence::ContextArgs;
pub use judge::{AnswersArgs, Form, VerifyArgs};
pub use keep::{BackupArgs, LookForArgs, PurgeArgs, RollbackArgs};
pub use reader::ReaderArgs;
pub use retrieve::{RankingArgs, RetrieverArgs};
pub use upkeep::{CheckArgs, CompletionsArgs, EvalArgs, ManArgs, MigrateArgs, OptimizeArgs, QualifyArgs};
pub use verbs::{ChunkingArgs, DiffArgs, InitArgs, LogArgs, SearchArgs, ShowArgs, SqlArgs, StatusArgs, SyncArgs};

const EXIT_CODES: &str = "\
Exit codes:
  0  done, found or passed
  1  an honest negative: nothing found, no evidence, a citation that no longer holds, damage,
     a missed threshold
  2  an error: usage, input, input/output, or refused by a guard";

/// A folder of Markdown as one SQLite file whose every answer can be traced to a line and checked again.
#[derive(Debug, Parser)]
#[command(name = "ragdb", version, max_term_width = 100, arg_required_else_help = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// What every verb takes.
    #[command(flatten)]
    pub global: Global,
    /// The verb.
    #[command(subcommand)]
    pub command: Command,
}

/// Adds a verb's arguments to its definition.
type Augment = fn(clap::Command) -> clap::Command;

/// The verbs that programs call again and again.
const OFTEN_CALLED: [(&str, Augment); 4] = [
    ("search", SearchArgs::augment_args),
    ("context", ContextArgs::augment_args),
    ("sync", SyncArgs::augment_args),
    ("status", StatusArgs::augment_args),
];

impl Cli {
    /// Reads the arguments; an error is a request for help or the version too.
    pub fn read(arguments: &[OsString], color: ColorChoice) -> Result<Self, clap::Error> {
        // To define all verbs takes longer than many a search.
        Self::read_often_called(arguments).map_or_else(|| Self::read_any(arguments, color), Ok)
    }

    /// Reads a line that has one of the verbs of [`OFTEN_CALLED`] and nothing wrong: what else there is to say knows all.
    fn read_often_called(arguments: &[OsString]) -> Option<Self> {
        let named = |word: &OsString| OFTEN_CALLED.iter().find(|(name, _)| word == name);
        let (name, augment) = arguments.iter().skip(1).find_map(named)?;
        let command = Global::augment_args(clap::Command::new("ragdb")).subcommand(augment(clap::Command::new(*name)));
        let matches = command.try_get_matches_from(arguments).ok()?;
        Self::from_arg_matches(&matches).ok()
    }

    fn read_any(arguments: &[OsString], color: ColorChoice) -> Result<Self, clap::Error> {
        let matches = Self::command().color(color).try_get_matches_from(arguments)?;
        Self::from_arg_matches(&matches)
    }
}

/// Options that every verb takes.
#[derive(Args, Debug)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// The store [default: $RAGDB_DB, else ./ragdb.db]
    #[arg(long, global = true, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// The configuration file [default: the nearest ragdb.yaml, from the current folder upwards]
    #[arg(long, global = true, value_name = "PATH")]
    pub config: Option<PathBuf>,
    /// Print exactly one JSON document on standard output, errors included
    #[arg(long, global = true)]
    pub json: bool,
    /// Leave out progress, notes and warnings; errors are always printed
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more on standard error: which store and configuration were used, what took how long
    #[arg(short, long, global = true, action = ArgAction::SetTrue)]
    pub verbose: bool,
    /// When to use colour; `auto` means on a terminal, unless NO_COLOR is set or TERM is `dumb`
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: When,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The verbs, in the order of help; each is described at its arguments.
#[derive(Debug, Subcommand)]
pub enum Command {
    Init(InitArgs),
    Sync(SyncArgs),
    Embed(EmbedArgs),
    Status(StatusArgs),
    Search(SearchArgs),
    Context(ContextArgs),
    Answer(AnswerArgs),
    Verify(VerifyArgs),
    Answers(AnswersArgs),
    Cite(CiteArgs),
    Log(LogArgs),
    Diff(DiffArgs),
    Show(ShowArgs),
    Acl(AclArgs),
    Eval(EvalArgs),
    Qualify(QualifyArgs),
    Check(CheckArgs),
    Sql(SqlArgs),
    Backup(BackupArgs),
    Purge(PurgeArgs),
    Rollback(RollbackArgs),
    Optimize(OptimizeArgs),
    Migrate(MigrateArgs),
    Completions(CompletionsArgs),
    #[command(hide = true)]
    LookFor(LookForArgs),
    #[command(hide = true)]
    Man(ManArgs),
}

/// What must be known of the arguments even when they do not parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance {
    /// `--json` is among them.
    pub json: bool,
    /// The value of `--color`, if it is there and has a meaning.
    pub color: Option<When>,
}

impl Glance {
    /// Looks through the raw arguments up to `--`.
    pub fn at(arguments: &[OsString]) -> Self {
        let mut glance = Self { json: false, color: None };
        let mut words = arguments.iter().skip(1).map(|word| word.to_string_lossy()).take_while(|word| word != "--");
        while let Some(word) = words.next() {
            if word == "--json" {
                glance.json = true;
            } else if word == "--color" {
                glance.color = words.next().and_then(|value| When::from_str(&value, false).ok());
            } else if let Some(value) = word.strip_prefix("--color=") {
                glance.color = When::from_str(value, false).ok();
            }
        }
        glance
    }

    /// The choice for what clap itself prints.
    pub fn clap_color(self) -> ColorChoice {
        match self.color {
            None | Some(When::Auto) => ColorChoice::Auto,
            Some(When::Always) => ColorChoice::Always,
            Some(When::Never) => ColorChoice::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_verb_that_is_often_called_is_read_as_among_all_verbs() {
        for line in [
            "ragdb search how to sort",
            "ragdb --quiet --db L.db search --literal --floor 0 -k 10 two words",
            "ragdb --db search --json search -- --help",
            "ragdb --color=never search sync --db sync",
            "ragdb search x --explain --all-terms --min-score 0.5",
            "ragdb context words --json",
            "ragdb sync docs search --keep-going --max-chars 900",
            "ragdb sync",
            "ragdb -v status",
        ] {
            let often = Cli::read_often_called(&words(line)).unwrap_or_else(|| panic!("{line} is not read"));
            let any = Cli::read_any(&words(line), ColorChoice::Never).unwrap();
            assert_eq!(format!("{often:?}"), format!("{any:?}"), "{line}");
        }
    }

    #[test]
    fn what_is_no_verb_often_called_or_is_wrong_is_left_to_the_whole_definition() {
        for line in [
            "ragdb",
            "ragdb search",
            "ragdb search --help",
            "ragdb search -h",
            "ragdb help search",
            "ragdb --version search x",
            "ragdb sync --no-such-option",
            "ragdb search -k none x",
            "ragdb -q -v search x",
            "ragdb cite search",
            "ragdb --db search log",
            "ragdb -- search x",
        ] {
            assert!(Cli::read_often_called(&words(line)).is_none(), "{line}");
        }
    }

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_glance_sees_json_and_colour_before_the_double_dash_only() {
        let glance = |line: &str| Glance::at(&words(line));
        assert_eq!(glance("ragdb --json nonsense"), Glance { json: true, color: None });
        assert_eq!(glance("ragdb search -- --json"), Glance { json: false, color: None });
        assert_eq!(glance("ragdb --color never x"), Glance { json: false, color: Some(When::Never) });
        assert_eq!(glance("ragdb --color=always --json"), Glance { json: true, color: Some(When::Always) });
        assert_eq!(glance("ragdb --color=purple"), Glance { json: false, color: None });
    }
}

//! The disk fails, the power goes, the process is killed, others read and write: what a store promises then.
//!
//! What takes the place of SQLite's system calls works in processes of its own: this program, started again for one of
//! its ignored tests, whose name begins with `child_`.

mod disk;
mod held;
mod inject;
mod kill;
mod operations;
mod readers;
mod replay;
mod syscalls;

use std::path::PathBuf;

use crate::support::{said, this_program};

/// Says to a copy of this program how much it is to do.
const CHILD: &str = "RAGDB_TEST_CHILD";

/// How much a test does: in every run, or in a long form of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Short,
    Long,
}

/// What the parent asked this process for; `None` where nobody did.
fn asked() -> Option<(Form, String)> {
    let text = std::env::var(CHILD).ok()?;
    let (form, what) = text.split_once(' ')?;
    Some((if form == "long" { Form::Long } else { Form::Short }, what.to_owned()))
}

/// Runs one of this program's ignored tests in a process of its own; gives the line with its outcome.
fn run_child(test: &str, form: Form, what: &str) -> String {
    let name = format!("faults::{test}");
    let form = if form == Form::Long { "long" } else { "short" };
    let output = this_program()
        .args([name.as_str(), "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(CHILD, format!("{form} {what}"))
        .output()
        .expect("the program starts");
    let said = said(&output);
    let outcome = said.lines().find_map(|line| Some(line.split_once("outcome: ")?.1.to_owned()));
    match outcome {
        Some(outcome) if output.status.success() => outcome,
        _ => panic!("{what}: {:?}\n{said}", output.status),
    }
}

/// The files that SQLite keeps for the database at `db`, itself first; its index of the log last.
fn files_of(db: &std::path::Path) -> [PathBuf; 4] {
    ["", "-wal", "-journal", "-shm"].map(|suffix| PathBuf::from(format!("{}{suffix}", db.display())))
}

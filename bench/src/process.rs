//! Programs that are started to be measured: how long they took, how much memory they had, what they read from disk.
//!
//! The kernel counts for all children of a process together, and a child starts with its parent's peak. So each is
//! started by a small process of its own, which is this executable again, called with [`WATCH`].

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Value, json};

use crate::Result;

/// The hidden argument behind which a program and its arguments stand that are to be run and watched.
pub const WATCH: &str = "--watch";

/// What a process took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// From its start to its end, in milliseconds.
    pub time: f64,
    /// The most memory that it had at once, in bytes.
    pub peak: u64,
    /// What was read from the disk for it, in bytes: 0 where all was in the page cache.
    pub read: u64,
}

/// Runs a program to its end, and tells what it took.
pub fn watched<S: AsRef<OsStr>>(program: &Path, arguments: impl IntoIterator<Item = S>) -> Result<Usage> {
    let mut watcher = Command::new(std::env::current_exe()?);
    let output = watcher.arg(WATCH).arg(program).args(arguments).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{} failed: {}", program.display(), output.status).into());
    }
    let told: Value = serde_json::from_slice(&output.stdout)?;
    let whole = |name: &str| told[name].as_u64().unwrap_or_default();
    Ok(Usage { time: told["time"].as_f64().unwrap_or_default(), peak: whole("peak"), read: whole("read") })
}

/// What the small process does: runs the program without its output, and prints what it took. A search without hits,
/// which is exit code 1, is no failure.
pub fn watch(mut arguments: impl Iterator<Item = OsString>) -> Result<()> {
    let program = arguments.next().ok_or("a program to watch is missing")?;
    let mut command = Command::new(&program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status().map_err(|error| format!("{}: {error}", program.display()))?;
    let time = start.elapsed().as_secs_f64() * 1000.0;
    if !matches!(status.code(), Some(0 | 1)) {
        return Err(format!("{}: {status}", program.display()).into());
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    println!("{}", json!({"time": time, "peak": usage.max_rss() * 1024, "read": usage.block_reads() * 512}));
    Ok(())
}

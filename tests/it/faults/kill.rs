//! The real binary is killed at any moment.

use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Form;
use super::operations::{Operation, State};
use crate::random::Random;

/// What came of many kills.
#[derive(Debug, Default)]
struct Counts {
    kills: usize,
    /// Runs that were faster.
    ended: usize,
    old: usize,
    new: usize,
    /// New stores that were not given their name.
    unnamed: usize,
}

/// So many times the kills that are asked for are the most.
const MOST_TIMES: usize = 20;
/// After so many kills is measured anew how long a run takes: the machine does more at one time than at another.
const MEASURED_EVERY: usize = 5;

/// How long the operation takes now.
fn usual_time(operation: &Operation) -> Duration {
    operation.reset();
    let begun = Instant::now();
    operation.run_binary().unwrap_or_else(|error| panic!("{error}"));
    begun.elapsed()
}

/// Kills so many runs of an operation, and goes on until this many of each outcome were seen.
fn kill_often(name: &str, kills: usize, of_each: usize) -> Counts {
    let operation = Operation::new(name, Form::Short);
    let (mut usual, mut random) = (Duration::ZERO, Random(11));
    let mut counts = Counts::default();
    for number in 0.. {
        if number >= kills && counts.old.min(counts.new) >= of_each || number >= MOST_TIMES * kills {
            break;
        }
        if number % MEASURED_EVERY == 0 {
            usual = usual_time(&operation);
        }
        // Half of the moments are spread evenly, half are anywhere.
        let parts = if number % 2 == 0 { number % kills * 1000 / kills } else { random.below(1100) };
        let after = usual * u32::try_from(parts).expect("a small number") / 1000;
        operation.reset();
        let mut child = operation.binary().stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("ragdb starts");
        sleep(after);
        let ended = child.try_wait().expect("a child").is_some();
        child.kill().expect("it is killed, or has ended");
        let status = child.wait().expect("a child");
        let place = format!("{name}, killed after {after:?} of {usual:?}, {status:?}");
        if ended {
            assert!(status.success(), "{place}");
            counts.ended += 1;
        }
        counts.kills += 1;
        let (unnamed, strangers): (Vec<String>, Vec<String>) =
            operation.strangers().into_iter().partition(|path| path.contains("/.ragdb-new-"));
        assert_eq!(strangers, Vec::<String>::new(), "{place}");
        counts.unnamed += usize::from(!unnamed.is_empty());
        match operation.assert_whole(&place, || operation.run_binary()) {
            State::Old => {
                assert!(!status.success(), "{place}: it said that it is done");
                counts.old += 1;
            }
            State::New => counts.new += 1,
        }
    }
    counts
}

const OPERATIONS: [&str; 6] = ["first", "edit", "delete", "purge", "optimize", "migrate3"];

fn kill_all(each: usize) {
    let of_each = each.div_ceil(20);
    for name in OPERATIONS {
        let counts = kill_often(name, each, of_each);
        println!("{name}: {counts:?}");
        assert!(counts.old.min(counts.new) >= of_each, "{name}: the moments are not spread: {counts:?}");
    }
}

#[test]
fn promise_11_a_killed_ragdb_leaves_the_old_or_the_new() {
    kill_all(10);
}

#[test]
#[ignore = "the long form: 1,000 kills"]
fn promise_11_a_ragdb_killed_1000_times_leaves_the_old_or_the_new() {
    kill_all(1000_usize.div_ceil(OPERATIONS.len()));
}

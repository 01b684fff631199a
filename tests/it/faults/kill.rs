//! The real binary is killed at any moment.

use std::process::Stdio;
use std::thread::sleep;
use std::time::Instant;

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

fn kill_often(name: &str, kills: usize) -> Counts {
    let operation = Operation::new(name, Form::Short);
    operation.reset();
    let begun = Instant::now();
    operation.run_binary().unwrap_or_else(|error| panic!("{name}: {error}"));
    let usual = begun.elapsed();
    let mut random = Random(11);
    let mut counts = Counts::default();
    for number in 0..kills {
        // Half of the moments are spread evenly, half are anywhere.
        let parts = if number % 2 == 0 { number * 1000 / kills } else { random.below(1100) };
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
    let mut sum = Counts::default();
    for name in OPERATIONS {
        let counts = kill_often(name, each);
        println!("{name}: {counts:?}");
        sum.kills += counts.kills;
        sum.old += counts.old;
        sum.new += counts.new;
    }
    println!("{} kills: {} old, {} new", sum.kills, sum.old, sum.new);
    assert!(sum.old > sum.kills / 20 && sum.new > sum.kills / 20, "the moments are not spread: {sum:?}");
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

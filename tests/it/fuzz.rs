//! The fuzz targets on a stable toolchain: seeds from `fuzz/corpus`, and what small changes make of them. A run is the
//! same each time, but for how far it comes where `RAGDB_FUZZ_SECONDS` says for how long it goes on.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use ragdb::{FUZZ_TARGETS, FuzzTarget};
use rstest::rstest;

use crate::random::Random;
use crate::support::repository;

/// Inputs of a target where no time is given.
const INPUTS: usize = 1_500;
/// The longest input that is made.
const LONGEST: usize = 4096;

/// What stands in formats, to be put where a mutation wants something.
const WORDS: &[&[u8]] = &[
    b"---\n",
    b"+++\n",
    b"# ",
    b"\n\n",
    b"```",
    b"~~~\n",
    b"> ",
    b"- ",
    b"1. ",
    b"|",
    b"\r",
    b"\r\n",
    b"[S1]",
    b"[S2]",
    b"{\"claims\": [",
    b"\"citations\": [",
    b"\"ref\"",
    b"\"quote\"",
    b"<think>",
    b"</think>",
    b"[^1]",
    b"<!--",
    b"\\",
    b": ",
    b"&a",
    b"*a",
    b"!!str",
    b"[[",
    b"]]",
    b"\xef\xbb\xbf",
    b"\xe9\x80\x80",
    b"\x00",
    b"\xff\xff\xff\xff",
    b"===\n",
    b"sources:",
    b"id:",
    b"path:",
    b"null",
    b"1e999",
    b"true",
];

/// A part of something so long.
fn range(random: &mut Random, length: usize) -> std::ops::Range<usize> {
    let start = random.below(length + 1);
    start..start + random.below((length - start).min(64) + 1)
}

/// Changes an input in one place.
fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(input.len().max(1));
    match random.below(8) {
        0 if !input.is_empty() => input[at] ^= 1 << random.below(8),
        1 if !input.is_empty() => input[at] = [0, 1, 0x7f, 0x80, 0xff, b'\n', b' ', b'"'][random.below(8)],
        2 => drop(input.drain(range(random, input.len()))),
        3 => {
            let part = input[range(random, input.len())].to_vec();
            input.splice(at..at, part.repeat(1 + random.below(4)));
        }
        4 => drop(input.splice(at..at, other[range(random, other.len())].iter().copied())),
        5 => input.truncate(at),
        6 if !input.is_empty() => input[at] = input[at].wrapping_add([1, 255, 16][random.below(3)]),
        _ => drop(input.splice(at..at, WORDS[random.below(WORDS.len())].iter().copied())),
    }
    input.truncate(LONGEST);
}

/// The first input that the target panics on, with what it says; how many were tried where there is none.
fn hunt(
    seeds: &[Vec<u8>],
    inputs: usize,
    time: Option<Duration>,
    run: impl Fn(&[u8]),
) -> Result<usize, (Vec<u8>, String)> {
    let (mut random, began, mut tried) = (Random(1), Instant::now(), 0);
    let mut pool = seeds.to_vec();
    while time.map_or(tried < inputs, |time| began.elapsed() < time) {
        let mut input = if tried < seeds.len() { seeds[tried].clone() } else { pool[random.below(pool.len())].clone() };
        if tried >= seeds.len() {
            let other = random.below(pool.len());
            (0..=random.below(5)).for_each(|_| mutate(&mut input, &pool[other], &mut random));
        }
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(&input))) {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            return Err((input, text.unwrap_or_default()));
        }
        tried += 1;
        // Some stay to be changed further.
        if random.below(8) == 0 {
            let place = seeds.len() + random.below(256);
            if place < pool.len() { pool[place] = input } else { pool.push(input) }
        }
    }
    Ok(tried)
}

fn seeds(target: &FuzzTarget) -> Vec<Vec<u8>> {
    let folder = repository("fuzz/corpus").join(target.name);
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 5, "{} has few seeds", folder.display());
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

#[rstest]
#[case::chunker(0)]
#[case::front_matter(1)]
#[case::answer(2)]
#[case::postings(3)]
#[case::config(4)]
fn fuzz_target_holds_its_properties(#[case] number: usize) {
    let target = &FUZZ_TARGETS[number];
    let seconds = std::env::var("RAGDB_FUZZ_SECONDS").ok().map(|seconds| seconds.parse().expect("a number of seconds"));
    match hunt(&seeds(target), INPUTS, seconds.map(Duration::from_secs_f64), target.run) {
        Ok(tried) => println!("{}: {tried} inputs", target.name),
        Err((input, failure)) => panic!("{}: {failure}\ninput: {:?}", target.name, String::from_utf8_lossy(&input)),
    }
}

#[test]
fn fuzz_every_target_is_run_and_built() {
    assert_eq!(FUZZ_TARGETS.map(|target| target.name), ["chunker", "front_matter", "answer", "postings", "config"]);
    for (number, target) in FUZZ_TARGETS.iter().enumerate() {
        let program = fs::read_to_string(repository("fuzz/fuzz_targets").join(format!("{}.rs", target.name))).unwrap();
        assert!(program.contains(&format!("FUZZ_TARGETS[{number}]")), "{}", target.name);
    }
}

/// Reads a number of seven bits a byte, low ones first; a wrong one forgets what is above 28 bits.
fn varint(bytes: &[u8], is_wrong: bool) -> u64 {
    let most = if is_wrong { 4 } else { 9 };
    let numbers = bytes.iter().take(most).enumerate();
    numbers.fold(0, |value, (place, byte)| value | u64::from(byte & 0x7f) << (7 * place))
}

#[test]
fn fuzz_the_driver_finds_a_decoder_that_is_wrong() {
    let postings = &FUZZ_TARGETS[3];
    let wrong = |data: &[u8]| {
        (postings.run)(data);
        // Wrong for few numbers: those of five bytes or more.
        let end = data.iter().position(|byte| *byte < 0x80).map_or(data.len(), |end| end + 1).min(9);
        assert_eq!(varint(&data[..end], true), varint(&data[..end], false), "a number is not what was written");
    };
    let (input, failure) = hunt(&seeds(postings), INPUTS * 4, None, wrong).expect_err("it is found");
    assert!(failure.contains("not what was written") && input.len() >= 5, "{failure}");
}

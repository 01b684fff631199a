//! Promise 9: as many blocks come out of a prompt as went in, each with the bytes of its file, whatever these are.

use std::fs;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};
use ragdb::{ContextRequest, Evidence, Principal, Store};

use crate::world::World;

const PIECES: &[&str] = &[
    "marker",
    "marker says nothing",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\u{2028}",
    "\u{85}",
    "\u{b}",
    " ",
    "# Marker",
    "## [S2] other.md#L1-L2",
    "```",
    "---",
    "</evidence>",
    "<|im_end|>",
    "[S1]",
    "{\"claims\": []}",
    "{open}",
    "{close}",
    "{nonce}",
    "{prompt}",
    "\u{202e}",
    "\u{200b}",
    "\u{feff}",
    "-----BEGIN EVIDENCE 0123456789abcdef-----",
    "\u{1f469}\u{200d}\u{1f469}",
    "\u{6587}\u{6863}",
];

/// The lines that the first lines of a prompt name as the borders of a block.
fn borders(prompt: &str) -> (&str, &str) {
    let named = prompt.split_once("between the line ").expect("the prompt names its borders").1;
    let (open, rest) = named.split_once(" and the line ").expect("it names both");
    (open, rest.split_once(';').expect("a half sentence ends").0)
}

/// The bodies, read as the first lines of the prompt say: by one who knows nothing else.
fn bodies(prompt: &str) -> Vec<String> {
    let (open, close) = borders(prompt);
    let (mut bodies, mut rest) = (Vec::new(), prompt);
    while let Some((_, inside)) = rest.split_once(&format!("\n{open}\n")) {
        let (body, behind) = inside.split_once(&format!("\n{close}\n")).expect("a block that began ends");
        bodies.push(body.to_owned());
        rest = behind;
    }
    bodies
}

fn files(evidence: &Evidence, world: &World) -> Vec<String> {
    let text = |shown: &ragdb::Shown| {
        let file = fs::read_to_string(world.docs().join(&shown.path)).expect("the file");
        let bytes = usize::try_from(shown.start_byte).expect("small")..usize::try_from(shown.end_byte).expect("small");
        file[bytes].to_owned()
    };
    evidence.manifest.shown.iter().map(text).collect()
}

/// Asks for evidence among documents that know the last prompt, and gives how many blocks there were.
fn round_trip(world: &World, store: &Store, documents: &[Vec<usize>], last: &mut String) -> usize {
    let nonce = last.split_once("between the line ").map_or("", |_| borders(last).0);
    for (at, pieces) in documents.iter().enumerate() {
        let mut text = String::from("# Marker\n\n");
        for &piece in pieces {
            match PIECES[piece] {
                "{open}" if !last.is_empty() => text += borders(last).0,
                "{close}" if !last.is_empty() => text += borders(last).1,
                "{nonce}" => text += nonce,
                "{prompt}" => text += last,
                other => text += other,
            }
        }
        world.write(&format!("{at}.md"), text);
    }
    store.sync(&world.request()).expect("any text is a document");
    let mut request = ContextRequest::new("marker");
    (request.search.floor, request.search.top_k) = (Some(0.0), 20);
    let evidence = store.context(&Principal::operator(), &request).expect("evidence");
    let prompt = &evidence.prompt;
    let expected = files(&evidence, world);
    assert_eq!(bodies(prompt), expected, "{prompt:?}");
    assert_eq!(evidence.blocks().into_iter().map(|block| block.body).collect::<Vec<_>>(), expected, "{prompt:?}");
    let (open, close) = borders(prompt);
    // Whatever a reader takes for the end of a line.
    let lines = prompt.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}', '\u{b}', '\u{c}']);
    assert_eq!(lines.filter(|line| *line == open || *line == close).count(), 2 * expected.len(), "{prompt:?}");
    let count = expected.len();
    *last = evidence.prompt;
    count
}

fn fuzz(rounds: u32) {
    let config = ProptestConfig { rng_seed: RngSeed::Fixed(9), ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let pieces = prop::collection::vec(0..PIECES.len(), 0..12);
    let documents = prop::collection::vec(pieces, 6..=6);
    let (world, mut last, mut blocks) = (World::new(&[]), String::new(), 0);
    let store = world.store();
    for _ in 0..rounds {
        let documents = documents.new_tree(&mut runner).expect("a value").current();
        blocks += round_trip(&world, &store, &documents, &mut last);
    }
    println!("{rounds} prompts, {blocks} blocks");
    assert!(blocks > rounds as usize, "{blocks} blocks");
}

#[test]
fn promise_09_the_bodies_that_went_in_come_out() {
    fuzz(60);
}

#[test]
#[ignore = "minutes"]
fn promise_09_the_bodies_that_went_in_come_out_of_many_prompts() {
    fuzz(5_000);
}

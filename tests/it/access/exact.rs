//! What a reader finds is what they would find in a store of the documents that they may read and of no others: scores,
//! statistics and order, to the last bit.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ragdb::{Principal, SearchRequest, Store};

use super::build::Built;
use super::plan::plan;

const QUERIES: [&str; 9] = [
    "rotate key",
    "rotate the keys of the store every 90 days",
    "\"grace period\"",
    "+key -revoked policy",
    "密钥 退款政策",
    "E42 max_chars über",
    "confidential codeword salary",
    "key source:docs",
    "key -path:*.md",
];

/// All of an answer but the number of the generation.
fn found(store: &Store, reader: &Principal, query: &str, floor: Option<f64>) -> String {
    let request = SearchRequest { explain: true, floor, top_k: 30, ..SearchRequest::new(query) };
    let mut found = store.search(reader, &request).expect("an answer");
    found.generation = 0;
    let bits: Vec<u64> = found.hits.iter().map(|hit| hit.score.to_bits()).collect();
    format!("{found:#?} {bits:?}")
}

fn run(cases: u32, steps: usize, bulk: usize) {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 20, ..Config::default() };
    let told_apart = Cell::new(0);
    let outcome = TestRunner::new(config).run(&plan(steps, bulk), |plan| {
        let mut built = Built::new(&plan, true);
        let (store, reader) = (built.store(), plan.reader.principal());
        let readable: Vec<_> =
            built.state.documents.keys().filter(|key| built.state.may_read(&plan.reader, false, key)).collect();
        prop_assert_eq!(store.status(&reader).expect("a status").documents, readable.len() as u64, "{:?}", readable);
        for (source, file) in built.state.documents.keys().filter(|(_, file)| file != "broken.md") {
            let explained = store.explain_access(&format!("{source}:{file}"), &reader).expect("an explanation");
            let expected = built.state.may_read(&plan.reader, false, &(source, file.clone()));
            prop_assert_eq!(explained.allowed, expected, "{}:{} {:?}", source, file, explained);
        }
        let fresh = built.store_of(|state, key| state.may_read(&plan.reader, false, key));
        for query in QUERIES {
            for floor in [None, Some(0.0)] {
                let ours = found(&store, &reader, query, floor);
                // An empty folder publishes nothing.
                let theirs = if built.state.documents.is_empty() {
                    ours.clone()
                } else {
                    found(&fresh, &Principal::operator(), query, floor)
                };
                for (ours, theirs) in ours.lines().zip(theirs.lines()) {
                    prop_assert_eq!(ours, theirs, "{}", query);
                }
                prop_assert_eq!(&ours, &theirs, "{}", query);
                told_apart
                    .set(told_apart.get() + u32::from(ours != found(&store, &Principal::operator(), query, floor)));
            }
        }
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(told_apart.get() > cases, "what others may read would have been noticed: {told_apart:?}");
}

#[test]
fn promise_02_scores_are_those_of_a_store_of_what_may_be_read() {
    run(4, 4, 12);
}

#[test]
#[ignore = "long form: many minutes"]
fn promise_02_scores_are_those_of_a_store_of_what_may_be_read_in_many_worlds() {
    let cases = std::env::var("RAGDB_ACCESS_CASES").ok().and_then(|cases| cases.parse().ok());
    run(cases.unwrap_or(100), 8, 300);
}

//! Promise 2: for a reader, every answer is the same to the byte whether or not there are documents that they may not
//! read, and SQLite takes the same steps for it.

use std::cell::Cell;
use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ragdb::Principal;

use super::build::Built;
use super::observe::{Differences, differences, observe};
use super::plan::{Plan, plan};

/// Asks both worlds of a plan everything: what differs, and how many answers were compared.
fn compare(plan: &Plan, reader: &Principal, most_references: usize) -> (Differences, usize) {
    let [without, with] = [false, true].map(|with_extra| Built::new(plan, with_extra));
    let references: Vec<String> = without.references().union(&with.references()).cloned().collect();
    // All of the references of a small world, some of a large one.
    let every = references.len().div_ceil(most_references);
    let references: Vec<String> = references.into_iter().step_by(every).collect();
    let past: &[&str] = &["2002-06-01", "2010-01-01", "2992-01-01"];
    let times = if plan.looks_back { past } else { &past[2..] };
    let [ours, theirs] = [&without, &with].map(|built| observe(built, reader, times, &references));
    (differences(&ours, &theirs), ours.len())
}

fn run(cases: u32, steps: usize, bulk: usize, references: usize) {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 8, ..Config::default() };
    let (worlds, answers, hidden) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let outcome = TestRunner::new(config).run(&plan(steps, bulk), |plan| {
        let (found, compared) = compare(&plan, &plan.reader.principal(), references);
        worlds.set(worlds.get() + 1);
        answers.set(answers.get() + compared);
        hidden.set(hidden.get() + plan.extras());
        prop_assert!(found.texts.is_empty(), "answers: {:#?}", found.texts);
        prop_assert!(found.steps.is_empty(), "steps: {:#?}", found.steps);
        Ok(())
    });
    println!("{} worlds, {} answers, {} hidden documents", worlds.get(), answers.get(), hidden.get());
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn promise_02_hidden_documents_change_no_answer_and_no_step() {
    run(3, 4, 12, 12);
}

#[test]
#[ignore = "long form: many minutes"]
fn promise_02_hidden_documents_change_no_answer_and_no_step_in_many_worlds() {
    let cases = std::env::var("RAGDB_ACCESS_CASES").ok().and_then(|cases| cases.parse().ok());
    run(cases.unwrap_or(150), 8, 1000, 60);
}

/// To a reader who may read what is hidden from the other one, every kind of answer differs: each of them is compared.
#[test]
fn promise_02_the_comparison_tells_what_may_be_read() {
    let config = Config { cases: 2, failure_persistence: None, ..Config::default() };
    let seen = std::cell::RefCell::new(BTreeSet::new());
    let outcome = TestRunner::new(config).run(&plan(3, 12), |plan| {
        prop_assume!(plan.extras() > 2);
        let (found, _) = compare(&plan, &Principal::operator(), 24);
        prop_assert!(!found.steps.is_empty());
        let kinds = found.texts.iter().filter_map(|text| text.split([' ', ':']).next().map(str::to_owned));
        seen.borrow_mut().extend(kinds);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    for kind in ["status", "log", "show", "diff", "search", "context", "answer", "cite", "ragdb.lock", "run", "sql"] {
        assert!(seen.borrow().contains(kind), "{kind} is told apart: {seen:?}");
    }
}

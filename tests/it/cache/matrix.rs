//! Promise 8: whatever happens to rules and files between two questions, nobody is given from before what they may not
//! read, or what no file says any more.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};
use ragdb::{AclChange, AnswerRequest, Fusion, HashingEmbedder, Principal, Retriever, Sabotage, Store};

use super::{Desk, YAML, known};
use crate::embed::embed;
use crate::promise::{assert_noticed, break_what_is_asked};

const FOLDERS: [&str; 3] = ["docs", "boss", "open"];

/// What happens between two questions.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Lets eve read the managers' source.
    Grant,
    Revoke,
    /// Shuts max out, who is a manager.
    ShutOut,
    LetIn,
    GrantOps,
    RevokeOps,
    /// Edits the document of a folder, or puts back what was indexed.
    Edit(usize),
    Restore(usize),
    Sync,
    Ask,
}

fn act() -> impl Strategy<Value = Act> {
    let folder = 0..FOLDERS.len();
    prop_oneof![
        Just(Act::Grant),
        Just(Act::Revoke),
        Just(Act::ShutOut),
        Just(Act::LetIn),
        Just(Act::GrantOps),
        Just(Act::RevokeOps),
        folder.clone().prop_map(Act::Edit),
        folder.prop_map(Act::Restore),
        Just(Act::Sync),
        Just(Act::Ask),
    ]
}

/// What ought to be so: who may read the managers' source, and what each folder's document says, as indexed and as a file.
struct Expected {
    eve: bool,
    max: bool,
    ops: bool,
    indexed: [u32; 3],
    file: [u32; 3],
    edits: u32,
}

fn line(folder: usize, number: u32) -> String {
    match folder {
        0 => format!("Rotate a key every {number} days."),
        1 => format!("Managers rotate a key every {number} days."),
        _ => format!("Anyone may rotate a key every {number} hours."),
    }
}

impl Expected {
    fn new(desk: &Desk) -> Self {
        let expected = Self {
            eve: false,
            max: true,
            ops: false,
            indexed: [1001, 1002, 1003],
            file: [1001, 1002, 1003],
            edits: 1003,
        };
        (0..3).for_each(|folder| expected.write(desk, folder));
        desk.sync(YAML);
        embed(&desk.store, &HashingEmbedder::new()).expect("all is embedded");
        expected
    }

    fn write(&self, desk: &Desk, folder: usize) {
        let text = format!("# Keys\n\n{}\n", line(folder, self.file[folder]));
        desk.write(&format!("{}/keys.md", FOLDERS[folder]), &text);
    }

    fn act(&mut self, desk: &Desk, act: Act) {
        let user = |name: &str| AclChange::user("boss", name).expect("a change");
        let ops = || AclChange::group("boss", "ops").expect("a change");
        let done = |change: ragdb::Result<_>| drop::<ragdb::AclReport>(change.expect("it is done"));
        match act {
            Act::Grant => done(Store::grant(&desk.store, &user("eve"))),
            Act::Revoke => done(Store::revoke(&desk.store, &user("eve"))),
            Act::ShutOut => done(Store::revoke(&desk.store, &user("max"))),
            Act::LetIn => done(Store::grant(&desk.store, &user("max"))),
            Act::GrantOps => done(Store::grant(&desk.store, &ops())),
            Act::RevokeOps => done(Store::revoke(&desk.store, &ops())),
            Act::Edit(folder) => {
                self.edits += 1;
                self.file[folder] = self.edits;
                self.write(desk, folder);
            }
            Act::Restore(folder) => {
                self.file[folder] = self.indexed[folder];
                self.write(desk, folder);
            }
            Act::Sync => {
                desk.sync(YAML);
                embed(&desk.store, &HashingEmbedder::new()).expect("all is embedded");
                self.indexed = self.file;
            }
            Act::Ask => {}
        }
        match act {
            Act::Grant | Act::Revoke => self.eve = matches!(act, Act::Grant),
            Act::ShutOut | Act::LetIn => self.max = matches!(act, Act::LetIn),
            Act::GrantOps | Act::RevokeOps => self.ops = matches!(act, Act::GrantOps),
            _ => {}
        }
    }

    /// Asks as everybody; gives how many answers came from before.
    fn ask(&self, desk: &Desk) -> usize {
        let readers = [
            (known("eve", &[]), [true, self.eve, true]),
            (known("max", &["managers"]), [true, self.max, true]),
            (known("olga", &["ops"]), [true, self.ops, true]),
            (known("mia", &["managers"]), [true; 3]),
            (Principal::public(), [false, false, true]),
            (Principal::operator(), [true; 3]),
        ];
        let mut hits = 0;
        let embedder = Arc::new(HashingEmbedder::new());
        let rrf = Retriever::Rrf { embedder, fusion: Fusion::default() };
        for ((who, reads), retriever) in readers.iter().flat_map(|it| [(it, Retriever::Bm25), (it, rrf.clone())]) {
            let request = AnswerRequest { retriever, ..desk.request() };
            let given = desk.store.cached_answer(who, &request).expect("an answer or an abstention");
            hits += usize::from(given.cached);
            for (folder, &reads) in reads.iter().enumerate() {
                let (indexed, file) = (self.indexed[folder], self.file[folder]);
                let text = &given.answer.text;
                let expected = reads && indexed == file;
                assert_eq!(text.contains(&line(folder, indexed)), expected, "a wrong hit: {who:?}: {text}");
                assert!(indexed == file || !text.contains(&line(folder, file)), "not indexed yet: {text}");
            }
        }
        hits
    }
}

fn walk(steps: usize) {
    let mut runner = TestRunner::new(ProptestConfig { rng_seed: RngSeed::Fixed(8), ..ProptestConfig::default() });
    let desk = Desk::new();
    let mut expected = Expected::new(&desk);
    let mut hits = expected.ask(&desk);
    for _ in 0..steps {
        expected.act(&desk, act().new_tree(&mut runner).expect("an act").current());
        hits += expected.ask(&desk);
    }
    println!("{steps} acts, {} questions, {hits} answered from before, none wrongly", (steps + 1) * 12);
    assert!(hits > steps, "{hits} hits prove nothing");
}

#[test]
fn promise_08_nobody_is_given_what_is_not_theirs_any_more() {
    break_what_is_asked();
    walk(60);
}

#[test]
#[ignore = "minutes"]
fn promise_08_nobody_is_given_what_is_not_theirs_over_many_acts() {
    walk(3_000);
}

#[test]
fn promise_08_a_skipped_rehash_is_noticed() {
    assert_noticed(
        Sabotage::SkippedRehash,
        "cache::matrix::promise_08_nobody_is_given_what_is_not_theirs_any_more",
        "a wrong hit",
    );
}

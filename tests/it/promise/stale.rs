//! Promise 13: what was edited, replaced or cut after it was found is neither evidence, nor current, nor verified.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::process::Command;

use ragdb::{
    CiteStatus, ContextRequest, Evidence, Hit, Principal, ProposedAnswer, ProposedCitation, ProposedClaim, Sabotage,
    SearchRequest, Store, Verdict, VerifyRequest,
};

use super::{assert_noticed, break_what_is_asked};
use crate::world::World;

const FILES: usize = 6;
const OPERATOR: Principal = Principal::operator();

fn text(at: usize, round: usize) -> String {
    format!(
        "# Page {at}\n\nMarker {at} says {round:03} to all.\n\n## Part\n\nThe other marker {at} says {round:03} too.\n"
    )
}

type ChangeFile = fn(&World, usize, usize);

/// Ways to change the file at `at`, which is of this round.
const CHANGES: &[(&str, ChangeFile)] = &[
    ("edited", |world, at, round| world.write(&name(at), text(at, round + 500))),
    ("edited under its old times", |world, at, round| {
        let path = world.docs().join(name(at));
        let times = fs::metadata(&path).and_then(|file| file.modified()).expect("it has times");
        world.write(&name(at), text(at, round + 500));
        File::options().append(true).open(path).and_then(|file| file.set_modified(times)).expect("they are set");
    }),
    ("begun with another line", |world, at, round| world.write(&name(at), format!("\n{}", text(at, round)))),
    ("continued", |world, at, round| world.write(&name(at), text(at, round) + "\nMore.\n")),
    ("cut in its last line", |world, at, round| world.write(&name(at), &text(at, round)[..text(at, round).len() - 9])),
    ("cut behind its first line", |world, at, round| world.write(&name(at), &text(at, round)[..20])),
    ("emptied", |world, at, _| world.write(&name(at), "")),
    ("deleted", |world, at, _| world.remove(&name(at))),
    ("replaced by its neighbour", |world, at, _| {
        let docs = world.docs();
        fs::rename(docs.join(name((at + 1) % FILES)), docs.join(name(at))).expect("it is renamed");
    }),
    ("exchanged with its neighbour", |world, at, _| {
        let (one, other, aside) = (world.docs().join(name(at)), world.docs().join(name((at + 1) % FILES)), "aside");
        let aside = world.path().join(aside);
        for (from, to) in [(&one, &aside), (&other, &one), (&aside, &other)] {
            fs::rename(from, to).expect("it is renamed");
        }
    }),
    ("made a link", |world, at, round| {
        let outside = world.path().join("outside.md");
        fs::write(&outside, text(at, round + 500)).expect("it is written");
        world.remove(&name(at));
        symlink(outside, world.docs().join(name(at))).expect("a link");
    }),
    ("made a pipe", |world, at, _| {
        world.remove(&name(at));
        let made = Command::new("mkfifo").arg(world.docs().join(name(at))).status();
        assert!(made.is_ok_and(|status| status.success()));
    }),
    ("no text", |world, at, _| world.write(&name(at), b"\xff\xfe")),
    ("its folder replaced", |world, at, round| {
        let (docs, aside) = (world.docs(), world.path().join("moved"));
        fs::rename(&docs, &aside).expect("it is renamed");
        fs::create_dir(&docs).expect("a folder");
        world.write(&name(at), text(at, round + 500));
        fs::remove_dir_all(aside).expect("it goes");
    }),
];

fn name(at: usize) -> String {
    format!("{at}.md")
}

/// What the file says now; nothing where it is none.
fn now(world: &World, path: &str) -> String {
    let path = world.docs().join(path);
    let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
    if is_file { String::from_utf8_lossy(&fs::read(path).expect("it can be read")).into_owned() } else { String::new() }
}

/// What was found and shown while all was as indexed.
struct Before {
    hits: Vec<Hit>,
    evidence: Evidence,
    answer: ProposedAnswer,
}

impl Before {
    fn of(store: &Store) -> Self {
        let hits = store.search(&OPERATOR, &SearchRequest { top_k: 50, ..SearchRequest::new("marker") });
        let hits = hits.expect("it searches").hits;
        assert_eq!(hits.len(), 2 * FILES);
        let evidence = store.context(&OPERATOR, &request()).expect("evidence");
        store.record_run(&OPERATOR, &evidence.manifest).expect("recorded");
        store.cached_context(&OPERATOR, &request()).expect("evidence");
        let claim = |block: ragdb::EvidenceBlock| {
            let line = block.body.lines().last().expect("a line").to_owned();
            let citation = ProposedCitation { reference: block.label, quote: Some(line.clone()), range: None };
            ProposedClaim { text: line, citations: vec![citation] }
        };
        let answer = ProposedAnswer { claims: evidence.blocks().into_iter().map(claim).collect() };
        assert_eq!(answer.claims.len(), 2 * FILES);
        Self { hits, evidence, answer }
    }

    fn verdicts(&self, store: &Store) -> Vec<(Verdict, Option<ragdb::VerifiedSpan>)> {
        let judged = store.verify(&OPERATOR, &VerifyRequest::new(&self.evidence.manifest, &self.answer));
        let claims = judged.expect("it is judged").claims.into_iter();
        claims.flat_map(|claim| claim.citations).map(|citation| (citation.verdict, citation.span)).collect()
    }
}

fn request() -> ContextRequest {
    let mut request = ContextRequest::new("marker");
    (request.search.top_k, request.max_chunks, request.max_chars) = (50, 50, 100_000);
    request
}

/// Asks for all that rests on files. Gives how much was still as it was.
fn look(world: &World, store: &Store, before: &Before, what: &str) -> usize {
    let mut good = 0;
    let cached = store.cached_context(&OPERATOR, &request()).expect("evidence").evidence;
    for evidence in [&store.context(&OPERATOR, &request()).expect("evidence"), &cached] {
        for (shown, block) in evidence.manifest.shown.iter().zip(evidence.blocks()) {
            let bytes =
                usize::try_from(shown.start_byte).expect("small")..usize::try_from(shown.end_byte).expect("small");
            assert_eq!(now(world, &shown.path).get(bytes), Some(block.body.as_str()), "a stale line: {what}");
            good += 1;
        }
    }
    for hit in &before.hits {
        let cited = store.cite(&OPERATOR, &hit.citation().to_string()).expect("a good reference");
        if cited.status == CiteStatus::Current {
            assert_eq!(cited.text.as_deref(), Some(hit.text.as_str()));
            assert!(now(world, &hit.path).contains(&hit.text), "a stale line: {what}");
            good += 1;
        }
    }
    for (verdict, span) in before.verdicts(store) {
        if verdict == Verdict::Verified {
            let span = span.expect("what is verified has a place");
            let bytes =
                usize::try_from(span.start_byte).expect("small")..usize::try_from(span.end_byte).expect("small");
            assert_eq!(now(world, &span.path).get(bytes), Some(span.text.as_str()), "a stale line: {what}");
            good += 1;
        }
    }
    good
}

fn change(rounds: usize) {
    let world = World::new(&[]);
    let store = world.store();
    let (mut round, mut looked, mut good) = (0, 0, 0);
    for _ in 0..rounds {
        for (what, change) in CHANGES {
            let _ = fs::remove_dir_all(world.docs());
            (0..FILES).for_each(|at| world.write(&name(at), text(at, round % 500)));
            store.sync(&ragdb::SyncRequest { max_delete: Some(100), ..world.request() }).expect("it syncs");
            let before = Before::of(&store);
            assert_eq!(look(&world, &store, &before, "before"), 8 * FILES, "{what}");
            change(&world, round % FILES, round % 500);
            let still = look(&world, &store, &before, what);
            assert!(still < 8 * FILES, "the change changes nothing: {what}");
            (round, looked, good) = (round + 1, looked + 8 * FILES, good + still);
        }
    }
    println!("{round} changes, {looked} looks at lines, {good} still good, none stale");
    assert!(good > 0);
}

#[test]
fn promise_13_no_stale_line_is_evidence_or_current_or_verified() {
    break_what_is_asked();
    change(2);
}

#[test]
#[ignore = "minutes"]
fn promise_13_no_stale_line_in_a_thousand_changes() {
    change(72);
}

#[test]
fn promise_13_a_skipped_rehash_is_noticed() {
    let test = "promise::stale::promise_13_no_stale_line_is_evidence_or_current_or_verified";
    assert_noticed(Sabotage::SkippedRehash, test, "a stale line: ");
}

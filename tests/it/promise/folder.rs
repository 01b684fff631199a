//! Promise 1: a document is deleted only on proof. Promise 7: no byte from outside a source is read.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ragdb::{Principal, Sabotage, SearchRequest, Store, SyncRequest};

use super::{Stop, as_nobody, assert_noticed, break_what_is_asked};
use crate::support::{said, this_program};
use crate::world::{World, value};

const FILES: usize = 200;

/// Two hundred documents in twenty folders that lie in five.
fn tree() -> World {
    let world = World::new(&[]);
    for at in 0..FILES {
        world.write(&format!("f{}/g{}/{at}.md", at % 5, at % 20), format!("# Page {at}\n\nIt says {at}.\n"));
    }
    world
}

fn folders() -> impl Iterator<Item = String> {
    let upper = (0..5).map(|at| format!("f{at}"));
    upper.chain((0..20).map(|at| format!("f{}/g{at}", at % 5))).chain([String::from(".")])
}

fn going_on(world: &World) -> SyncRequest {
    SyncRequest { keep_going: true, ..world.request() }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("the mode is set");
}

#[track_caller]
fn assert_nothing_deleted(store: &Store, what: &str) {
    let documents = value(store, "SELECT count(*) FROM documents");
    let tombstones = value(store, "SELECT count(*) FROM tombstones WHERE kind = 'document'");
    assert_eq!((documents, tombstones), (FILES.to_string(), "0".into()), "false tombstones: {what}");
}

#[test]
fn promise_01_no_unreadable_entry_of_a_tree_deletes_a_document() {
    break_what_is_asked();
    let world = tree();
    set_mode(world.path(), 0o777);
    let store = as_nobody(|| Store::create(world.db())).expect("a store");
    as_nobody(|| store.sync(&world.request())).expect("all can be read");
    let mut tried = 0;
    let mut meets = |path: &str, mode: u32, open: u32| {
        let at = world.docs().join(path);
        set_mode(&at, mode);
        let report = as_nobody(|| store.sync(&going_on(&world)));
        let refused = as_nobody(|| store.sync(&world.request()));
        set_mode(&at, open);
        let what = format!("{path} as {mode:o}");
        assert!(report.is_ok_and(|report| !report.failures.is_empty()) || path == ".", "{what}");
        assert!(refused.is_err(), "{what}");
        assert_nothing_deleted(&store, &what);
        tried += 1;
    };
    for path in folders() {
        for mode in [0o000, 0o311, 0o644] {
            meets(&path, mode, 0o755);
        }
    }
    for at in 0..FILES {
        let path = format!("f{}/g{}/{at}.md", at % 5, at % 20);
        world.write(&path, format!("# Page {at}\n\nIt says more than {at}.\n"));
        meets(&path, 0o000, 0o644);
    }
    println!("{tried} faults met, no false tombstone");
    assert_eq!(as_nobody(|| store.sync(&world.request())).expect("all can be read").documents.updated, 1);
}

#[test]
fn promise_01_a_tombstone_on_a_failure_is_noticed() {
    let test = "promise::folder::promise_01_no_unreadable_entry_of_a_tree_deletes_a_document";
    assert_noticed(Sabotage::TombstoneOnFailure, test, "false tombstones: ");
}

#[test]
#[ignore = "run by the next test in a process of its own: how many files may be open is the process's"]
fn child_may_open_few_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let world = tree();
    let store = world.store();
    store.sync(&world.request()).expect("all can be read");
    let usual = getrlimit(Resource::Nofile);
    let (mut failed, mut passed) = (0, 0);
    for most in 3..64 {
        // Some are to be read, in any folder; all are to be found.
        for at in (0..FILES).filter(|at| at % 4 == most as usize % 4) {
            world
                .write(&format!("f{}/g{}/{at}.md", at % 5, at % 20), format!("# Page {at}\n\nIt says {at}, {most}.\n"));
        }
        setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..usual }).expect("fewer are allowed");
        let report = store.sync(&going_on(&world));
        setrlimit(Resource::Nofile, usual).expect("as before");
        match report {
            Ok(report) if report.failures.is_empty() => passed += 1,
            _ => failed += 1,
        }
        assert_nothing_deleted(&store, &format!("with {most} open files"));
    }
    println!("outcome: {failed} failed, {passed} passed");
    assert!(failed > 0 && passed > 0);
}

#[test]
fn promise_01_too_few_open_files_delete_nothing() {
    let output = this_program()
        .args(["promise::folder::child_may_open_few_files", "--exact", "--ignored", "--nocapture"])
        .output()
        .expect("this program starts");
    assert!(output.status.success() && said(&output).contains("outcome: "), "{}", said(&output));
}

#[test]
fn promise_01_an_unmounted_source_keeps_its_documents() {
    let world = World::new(&[]);
    let script = r##"
        echo "unshared"
        mount -t tmpfs none docs || exit 77
        for at in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "# Page $at" > docs/$at.md; done
        "$RAGDB" --db ragdb.db sync docs || exit 1
        umount docs || exit 77
        "$RAGDB" --db ragdb.db sync docs --keep-going && exit 2
        "$RAGDB" --db ragdb.db sync docs && exit 3
        "$RAGDB" --db ragdb.db sql "SELECT 'documents: ' || count(*) FROM documents"
    "##;
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .env("RAGDB", env!("CARGO_BIN_EXE_ragdb"))
        .current_dir(world.path())
        .output();
    match output {
        Ok(output) if output.status.code() == Some(77) || !said(&output).contains("unshared") => {
            println!("skipped: nothing can be mounted here: {}", said(&output));
        }
        Ok(output) => {
            let is_kept = output.status.success() && said(&output).contains("documents: 12");
            assert!(is_kept, "{}: {}", output.status, said(&output));
        }
        Err(error) => println!("skipped: `unshare` can't be run: {error}"),
    }
}

/// For so long a test waits for what chance has to bring.
const PATIENCE: Duration = Duration::from_secs(60);

/// So many syncs must have met a link that leads out.
const TEMPTED: usize = 10;

/// Swaps links to what lies outside for a document and for its folder while the source is synced: for so long, and until
/// it would have misled often enough.
fn swaps_links(time: Duration) {
    let world = World::new(&[]);
    for at in 0..40 {
        world.write(&format!("sub/{at}.md"), format!("# Page {at}\n\nInside.\n"));
    }
    let outside = world.path().join("outside");
    fs::create_dir(&outside).expect("a folder");
    for at in 0..40 {
        fs::write(outside.join(format!("{at}.md")), format!("# Page {at}\n\nThe secret zebra.\n")).expect("a file");
    }
    let (sub, leaf) = (world.docs().join("sub"), world.docs().join("sub/7.md"));
    let (sub_aside, leaf_aside) = (world.path().join("aside"), world.path().join("aside.md"));
    let (stop, swaps, misled) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let store = world.store();
    // Syncs, and those of them during which one who follows links read what is outside.
    let (mut syncs, mut tempted) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for (place, aside, target) in
                    [(&leaf, &leaf_aside, outside.join("7.md")), (&sub, &sub_aside, outside.clone())]
                {
                    fs::rename(place, aside).expect("it is set aside");
                    symlink(target, place).expect("a link");
                    fs::remove_file(place).expect("the link goes");
                    fs::rename(aside, place).expect("it is put back");
                    swaps.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let is_outside = fs::read_to_string(&leaf).is_ok_and(|text| text.contains("zebra"));
                misled.fetch_add(usize::from(is_outside), Ordering::Relaxed);
            }
        });
        let _stopping = Stop(&stop);
        let started = Instant::now();
        while started.elapsed() < time || (tempted < TEMPTED && started.elapsed() < time + PATIENCE) {
            let misled_before = misled.load(Ordering::Relaxed);
            let request = SyncRequest { checksum: true, max_delete: Some(100), ..going_on(&world) };
            let _ = store.sync(&request);
            syncs += 1;
            tempted += usize::from(misled.load(Ordering::Relaxed) > misled_before);
            assert_eq!(value(&store, "SELECT count(*) FROM chunks WHERE text LIKE '%zebra%'"), "0");
        }
    });
    let found = store.search(&Principal::operator(), &SearchRequest::new("secret zebra"));
    assert!(found.is_ok_and(|found| found.hits.is_empty()));
    let (swaps, misled) = (swaps.into_inner(), misled.into_inner());
    println!("{syncs} syncs, {tempted} of them tempted; {swaps} swaps, {misled} naive reads of what is outside");
    assert!(tempted >= TEMPTED, "the swaps were too slow to prove anything");
}

#[test]
fn promise_07_no_byte_from_outside_is_stored_while_links_are_swapped_in() {
    swaps_links(Duration::ZERO);
}

#[test]
#[ignore = "a minute"]
fn promise_07_no_byte_from_outside_is_stored_in_a_minute_of_swaps() {
    swaps_links(Duration::from_secs(60));
}

//! A sync that can't finish: the disk takes no more, files may not be read, the process is killed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use ragdb::{CheckRequest, CiteStatus, Principal, Store, SyncEvent, SyncProgress, SyncRequest, SyncSources};

use crate::support::said;
use crate::world::{Content, World, rows, value};

/// Names the folder in which a copy of this test program is to work.
const CHILD: &str = "RAGDB_TEST_CHILD";

/// Runs one of this program's ignored tests in a process of its own, started by `wrapper`.
fn run_child(wrapper: &[&str], test: &str, folder: &Path) -> Output {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(wrapper[0]);
    command.args(&wrapper[1..]).arg(program).args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(CHILD, folder).output().expect("the program starts")
}

#[test]
#[ignore = "runs in a process of its own: see the test below"]
fn child_syncs_with_little_space() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let opened = Store::open(Path::new(&folder).join("ragdb.db"));
    match opened.and_then(|store| store.sync(&SyncRequest::default())) {
        Ok(report) => println!("outcome: published {:?}", report.generation),
        Err(error) => println!("outcome: {} ({error})", error.code()),
    }
}

#[test]
fn a_sync_that_runs_out_of_space_changes_nothing_and_the_retry_takes_the_next_number() {
    let world = World::synced();
    let old = Content::of(&world.store());
    for number in 0..60 {
        let words: String = (0..150).map(|word| format!("w{} ", (word * 37 + number * 11) % 900)).collect();
        world.write(&format!("big/{number:02}.md"), format!("# Big {number}\n\n{words}\n\n## More\n\n{words}\n"));
    }
    let size = fs::metadata(world.db()).unwrap().len();
    let (mut failed, mut published) = (0, false);
    for kilobytes in [8, 40, 100, 200, 300, 400, 600, 1000, 4000] {
        // A write beyond the limit fails as it does on a full disk. The signal that would end the process is ignored.
        let limit = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", kilobytes * 2);
        let output = run_child(&["sh", "-c", &limit], "sync::faults::child_syncs_with_little_space", world.path());
        let said = said(&output);
        assert!(output.status.success() && said.contains("outcome:"), "{kilobytes} kB: {said}");
        assert!(!said.contains("outcome: published") || kilobytes * 1024 > size, "{kilobytes} kB: {said}");
        let store = world.store();
        assert_eq!(value(&store, "SELECT integrity_check FROM pragma_integrity_check"), "ok");
        if store.log(&Principal::operator(), None).unwrap().len() == 1 {
            assert!(said.contains("outcome: io") || said.contains("outcome: database"), "{said}");
            old.assert_equals(&Content::of(&store), &format!("after {kilobytes} kB"));
            assert!(
                !store.search(&Principal::operator(), &ragdb::SearchRequest::new("rotate")).unwrap().hits.is_empty()
            );
            failed += 1;
        } else {
            published = true;
            break;
        }
    }
    assert!(failed >= 2, "the limits are too wide");
    assert!(published, "the limits are too narrow");
    let store = world.store();
    store.sync(&world.request()).unwrap();
    let numbers = rows(&store, "SELECT generation FROM generations ORDER BY generation");
    assert_eq!(numbers, [["1"], ["2"]]);
    let fresh = Store::create(world.path().join("fresh.db")).unwrap();
    fresh.sync(&world.request()).unwrap();
    Content::of(&store).assert_equals(&Content::of(&fresh), "after the retry");
}

#[test]
#[ignore = "runs in a process of its own: see the test below"]
fn child_syncs_as_another_user() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let world = World::synced();
    let lock = |path: &str, mode: u32| {
        let path = world.path().join(path);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the mode is set");
    };
    let store = world.store();
    let going = SyncRequest { keep_going: true, ..world.request() };
    for (path, mode, code, stale) in
        [("guide/keys.md", 0o644, "unreadable", 1), ("guide", 0o755, "unreadable_folder", 2)]
    {
        world.write("guide/keys.md", format!("# Keys\n\nChanged before {path}.\n"));
        lock(&format!("docs/{path}"), 0o000);
        let error = store.sync(&world.request()).expect_err("a file can't be read");
        let ragdb::Error::SyncFailed { failures } = error else { panic!("{error}") };
        assert_eq!(failures.iter().map(|it| (it.path.as_str(), it.code)).collect::<Vec<_>>(), [(path, code)]);
        world.write("zh/keys.md", format!("# 密钥\n\n{path}。\n"));
        let report = store.sync(&going).expect("it goes on");
        assert_eq!((report.documents.deleted, report.documents.updated), (0, 1), "{report:?}");
        assert_eq!(value(&store, "SELECT count(*) FROM tombstones WHERE kind = 'document'"), "0");
        assert_eq!(rows(&store, "SELECT path FROM audit_stale").len(), stale);
        let check = store.check(&CheckRequest { deep: true, sources: false }).expect("the check runs");
        assert!(check.ok, "{check:#?}");
        let cited = store.cite(&Principal::operator(), "guide/keys.md#L3").expect("a good reference");
        assert_eq!(cited.status, CiteStatus::Stale, "{cited:?}");
        lock(&format!("docs/{path}"), mode);
        assert!(store.sync(&world.request()).expect("all can be read").published);
    }
    lock("docs", 0o000);
    let error = store.sync(&going).expect_err("the root can't be read");
    lock("docs", 0o755);
    assert_eq!(error.code(), "root_unreadable");
    println!("outcome: all of it");
}

#[test]
fn what_may_not_be_read_is_never_deleted() {
    // The super-user reads everything: another one is needed.
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let can = Command::new(nobody[0]).args(&nobody[1..]).arg("true").output();
    if !can.is_ok_and(|output| output.status.success()) {
        println!("skipped: `setpriv` can't run a program as another user here");
        return;
    }
    let program = std::env::current_exe().expect("this program");
    let copy = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o755)).tempdir().expect("a folder");
    let copied = copy.path().join("it");
    fs::copy(program, &copied).expect("the program is copied");
    let output = Command::new(nobody[0])
        .args(&nobody[1..])
        .arg(&copied)
        .args(["sync::faults::child_syncs_as_another_user", "--exact", "--ignored", "--nocapture"])
        .env(CHILD, "any")
        .output()
        .expect("the program starts");
    assert!(output.status.success() && said(&output).contains("outcome: all of it"), "{}", said(&output));
}

/// Ends this process as a crash does, when a sync comes to the event whose name begins so.
struct DiesAt(String);

impl SyncProgress for DiesAt {
    fn event(&self, event: SyncEvent) {
        if format!("{event:?}").starts_with(&self.0) {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
    }
}

#[test]
#[ignore = "runs in a process of its own: see the test below"]
fn child_dies_in_its_first_sync() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let event = fs::read_to_string(Path::new(&folder).join("event")).expect("the event is named");
    let store = Store::open(Path::new(&folder).join("ragdb.db")).expect("it opens");
    let sources = SyncSources::Folders(vec![Path::new(&folder).join("docs")]);
    let progress: Option<std::sync::Arc<dyn SyncProgress>> = Some(std::sync::Arc::new(DiesAt(event)));
    let outcome = store.sync(&SyncRequest { sources, progress, ..SyncRequest::default() });
    println!("outcome: it lives ({outcome:?})");
}

#[test]
fn a_first_sync_that_is_killed_leaves_a_store_without_a_generation() {
    let world = World::new(&[]);
    for number in 0..200 {
        world.write(&format!("{number}.md"), format!("# Page {number}\n\n{}\n", "Words of a page. ".repeat(300)));
    }
    drop(Store::create(world.db()).unwrap());
    for event in ["Reading", "Read {", "Writing", "Publishing"] {
        fs::write(world.path().join("event"), event).unwrap();
        let output = run_child(&["env"], "sync::faults::child_dies_in_its_first_sync", world.path());
        assert!(!output.status.success() && !said(&output).contains("outcome"), "{event}: {}", said(&output));
        assert_unpublished(&Store::open_read_only(world.db()).unwrap());
    }
    assert_eq!(world.sync().generation, Some(1));
    assert!(world.store().check(&CheckRequest::default()).unwrap().ok);
}

fn assert_unpublished(store: &Store) {
    assert!(store.log(&Principal::operator(), None).unwrap().is_empty());
    assert_eq!(value(store, "SELECT count(*) FROM documents"), "0");
    assert_eq!(value(store, "SELECT integrity_check FROM pragma_integrity_check"), "ok");
}

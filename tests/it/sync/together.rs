//! Several at once: two syncs, and readers beside a sync.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ragdb::{Principal, SearchRequest, Store, SyncEvent, SyncProgress, SyncRequest};
use rstest::rstest;

use crate::world::{Content, World, value};

#[test]
fn of_two_syncs_at_once_one_publishes_and_the_other_plans_again() {
    let world = World::synced();
    let stores = [world.store(), world.store()];
    for round in 0..25_u64 {
        // Documents come, change and go, so that whichever sync is late planned with rows that are gone.
        for number in 0..12 {
            world.write(&format!("{}/{number}.md", round % 3), format!("# {round}\n\nNumber {number} of {round}.\n"));
        }
        if round > 0 {
            (0..12).for_each(|number| world.remove(&format!("{}/{number}.md", (round - 1) % 3)));
        }
        world.write("guide/keys.md", format!("# Keys\n\nRound {round}.\n"));
        let request = SyncRequest { max_delete: Some(100), ..world.request() };
        let reports = std::thread::scope(|scope| {
            let threads = stores.each_ref().map(|store| scope.spawn(|| store.sync(&request)));
            threads.map(|thread| thread.join().expect("no panic"))
        });
        let reports = reports.map(|report| report.unwrap_or_else(|error| panic!("round {round}: {error}")));
        assert_eq!(reports.iter().filter(|report| report.published).count(), 1, "{reports:?}");
        assert_eq!(reports.map(|report| report.generation), [Some(round + 2); 2]);
    }
    let fresh = Store::create(world.path().join("fresh.db")).unwrap();
    fresh.sync(&world.request()).unwrap();
    Content::of(&stores[0]).assert_equals(&Content::of(&fresh), "after 25 rounds");
}

#[test]
fn of_two_first_syncs_at_once_one_publishes_and_the_other_finds_nothing_new() {
    for round in 0..10 {
        let world = World::new(&[]);
        for number in 0..60 {
            world.write(&format!("{number}.md"), format!("# {round}\n\nNumber {number}.\n").repeat(20));
        }
        drop(Store::create(world.db()).unwrap());
        let stores = [world.store(), world.store()];
        let reports = std::thread::scope(|scope| {
            let threads = stores.each_ref().map(|store| scope.spawn(|| store.sync(&world.request())));
            threads.map(|thread| thread.join().expect("no panic").unwrap_or_else(|error| panic!("{round}: {error}")))
        });
        assert_eq!(reports.iter().filter(|report| report.published).count(), 1, "{reports:?}");
        assert_eq!(value(&stores[0], "SELECT max(generation) FROM generations"), "1");
        assert!(stores[1].check(&ragdb::CheckRequest::default()).unwrap().ok);
    }
}

/// Lets another store publish once, when a sync comes to `at`.
struct Overtaken<'a> {
    at: fn(SyncEvent) -> bool,
    meanwhile: Mutex<Option<Box<dyn FnOnce() + Send + 'a>>>,
}

impl SyncProgress for Overtaken<'_> {
    fn event(&self, event: SyncEvent) {
        if (self.at)(event)
            && let Some(meanwhile) = self.meanwhile.lock().expect("no panic").take()
        {
            meanwhile();
        }
    }
}

#[rstest]
#[case::while_it_lists(|event| event == SyncEvent::Walking)]
#[case::before_it_reads(|event| matches!(event, SyncEvent::Reading { .. }))]
#[case::while_it_reads(|event| matches!(event, SyncEvent::Read { .. }))]
#[case::before_it_writes(|event| matches!(event, SyncEvent::Writing { .. }))]
fn a_sync_that_is_overtaken_plans_again(#[case] at: fn(SyncEvent) -> bool) {
    let world = World::synced();
    let (db, docs) = (world.db(), world.docs());
    let request = SyncRequest { max_delete: Some(10), ..world.request() };
    let others = request.clone();
    world.remove("zh/keys.md");
    world.write("guide/keys.md", "# Keys\n\nAn edit.\n");
    let meanwhile = move || {
        // What the first sync means to update is gone, and its number is taken.
        std::fs::remove_file(docs.join("guide/keys.md")).unwrap();
        std::fs::write(docs.join("guide/limits.md"), "# Limits\n\nNone.\n").unwrap();
        assert_eq!(Store::open(db).unwrap().sync(&others).unwrap().generation, Some(2));
        std::fs::write(docs.join("guide/keys.md"), "# Keys\n\nThey are back.\n").unwrap();
    };
    let progress = Arc::new(Overtaken { at, meanwhile: Mutex::new(Some(Box::new(meanwhile))) });
    let store = world.store();
    let report = store.sync(&SyncRequest { progress: Some(progress), ..request }).unwrap();
    assert_eq!(report.generation, Some(3));
    assert_eq!((report.documents.added, report.documents.updated, report.documents.deleted), (1, 0, 0));
    let fresh = Store::create(world.path().join("fresh.db")).unwrap();
    fresh.sync(&world.request()).unwrap();
    Content::of(&store).assert_equals(&Content::of(&fresh), "after both");
}

#[rstest]
#[case::before_it_reads(|event| matches!(event, SyncEvent::Reading { .. }))]
#[case::while_it_reads(|event| matches!(event, SyncEvent::Read { .. }))]
#[case::before_it_writes(|event| matches!(event, SyncEvent::Writing { .. }))]
fn a_sync_keeps_to_what_was_revoked_while_it_ran(#[case] at: fn(SyncEvent) -> bool) {
    let world = World::synced();
    world.write("guide/keys.md", "# Keys\n\nAn edit of the only page on keys.\n");
    let db = world.db();
    let meanwhile = move || {
        let change = ragdb::AclChange::user("guide/keys.md", "eve").unwrap();
        assert_eq!(Store::open(db).unwrap().revoke(&change).unwrap().epoch, 1);
    };
    let progress = Arc::new(Overtaken { at, meanwhile: Mutex::new(Some(Box::new(meanwhile))) });
    let store = world.store();
    let report = store.sync(&SyncRequest { progress: Some(progress), ..world.request() }).unwrap();
    assert_eq!((report.generation, report.documents.updated, report.acl_epoch), (Some(2), 1, 1));
    let hits = |user: &str| {
        let reader = Principal::new("", user).unwrap();
        store.search(&reader, &SearchRequest::new("edit of keys")).unwrap().hits.len()
    };
    assert_eq!((hits("eve"), hits("bob")), (0, 1));
    assert!(store.check(&ragdb::CheckRequest::default()).unwrap().ok);
}

/// Whether somebody else may begin to write.
fn is_free(db: &std::path::Path) -> bool {
    let conn = rusqlite::Connection::open(db).unwrap();
    conn.busy_timeout(std::time::Duration::ZERO).unwrap();
    conn.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok()
}

#[rstest]
#[case::the_first_writes_meanwhile(World::new(&[("a.md", "# A\n\nText.\n")]), false)]
#[case::others_write_when_all_is_read(World::synced(), true)]
fn files_are_read_before_anything_is_written_but_by_the_first_sync(#[case] world: World, #[case] expected: bool) {
    world.write("b.md", "# B\n\nMore text.\n");
    let db = world.db();
    let store = world.store();
    let (free, seen) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(None)));
    let meanwhile = {
        let (free, seen) = (free.clone(), seen.clone());
        move || {
            *free.lock().unwrap() = Some(is_free(&db));
            let generations = Store::open_read_only(&db).unwrap().log(&Principal::operator(), None).unwrap().len();
            *seen.lock().unwrap() = Some(generations);
        }
    };
    let at = |event| matches!(event, SyncEvent::Read { .. });
    let progress = Arc::new(Overtaken { at, meanwhile: Mutex::new(Some(Box::new(meanwhile))) });
    let report = store.sync(&SyncRequest { progress: Some(progress), ..world.request() }).unwrap();
    assert_eq!(*free.lock().unwrap(), Some(expected));
    assert_eq!(*seen.lock().unwrap(), report.generation.map(|number| usize::try_from(number).unwrap() - 1));
}

#[test]
fn a_first_sync_that_fails_leaves_nothing() {
    let world = World::new(&[]);
    for number in 0..300 {
        world.write(&format!("{number:03}.md"), format!("# Page {number}\n\n{}\n", "Words and words. ".repeat(400)));
    }
    world.write("150.md", b"\xff\xfe");
    let store = world.store();
    assert!(matches!(store.sync(&world.request()), Err(ragdb::Error::SyncFailed { .. })));
    for table in ["generations", "sources", "documents", "chunks", "acl_classes", "segments", "terms"] {
        let rows = value(&store, &format!("SELECT count(*) FROM {table}"));
        let expected = if table == "acl_classes" { "1" } else { "0" };
        assert_eq!(rows, expected, "{table}");
    }
    world.remove("150.md");
    assert_eq!(store.sync(&world.request()).unwrap().generation, Some(1));
    assert!(store.check(&ragdb::CheckRequest::default()).unwrap().ok);
}

#[test]
fn a_store_opens_whatever_a_checkpoint_was_doing() {
    let world = World::synced();
    for number in 0..40 {
        world.write(&format!("{number}.md"), format!("# More\n\nText {number} that makes the file grow.\n").repeat(60));
    }
    let reader = rusqlite::Connection::open(world.db()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM documents").unwrap();
    world.sync();
    // A checkpoint copies page 1, which counts the pages, before the file has all of them. Here it stops behind it.
    let wal = std::fs::read(world.path().join("ragdb.db-wal")).unwrap();
    let mut frames = wal[32..].chunks_exact(24 + 4096);
    let number = |frame: &[u8]| u32::from_be_bytes(frame[..4].try_into().unwrap());
    let page = frames.rfind(|frame| number(frame) == 1).expect("page 1 changed")[24..].to_vec();
    let torn = World::new(&[]);
    let mut database = std::fs::read(world.db()).unwrap();
    database[..4096].copy_from_slice(&page);
    std::fs::write(torn.db(), database).unwrap();
    std::fs::write(torn.path().join("ragdb.db-wal"), wal).unwrap();
    let store = Store::open(torn.db()).unwrap();
    assert_eq!(store.log(&Principal::operator(), None).unwrap().len(), 2);
    assert_eq!(value(&store, "SELECT integrity_check FROM pragma_integrity_check"), "ok");
}

#[test]
fn readers_beside_a_sync_see_one_generation_each_and_do_not_wait() {
    const DOCUMENTS: usize = 12;
    let world = World::new(&[]);
    let publish = |number: u64| {
        for document in 0..DOCUMENTS {
            world.write(&format!("{document}.md"), format!("# Marker\n\nEvery marker says {number}.\n"));
        }
        assert_eq!(world.sync().generation, Some(number));
    };
    publish(1);
    let store = world.store();
    let done = AtomicBool::new(false);
    let (reads, longest) = std::thread::scope(|scope| {
        let readers = [(); 3].map(|()| {
            scope.spawn(|| {
                let (mut reads, mut longest) = (0, Duration::ZERO);
                while !done.load(Ordering::Relaxed) {
                    let begun = Instant::now();
                    let request = SearchRequest { top_k: 50, ..SearchRequest::new("marker") };
                    let result = store.search(&Principal::operator(), &request).unwrap();
                    longest = longest.max(begun.elapsed());
                    reads += 1;
                    assert_eq!(result.hits.len(), DOCUMENTS);
                    let expected = format!("Every marker says {}.", result.generation);
                    assert!(result.hits.iter().all(|hit| hit.text.contains(&expected)), "{expected}");
                    let scores: Vec<u64> = result.hits.iter().map(|hit| hit.score.to_bits()).collect();
                    assert!(scores.iter().all(|score| *score == scores[0]), "{scores:?}");
                }
                (reads, longest)
            })
        });
        let finish = Finish(&done);
        (2..20).for_each(publish);
        drop(finish);
        let seen = readers.map(|reader| reader.join().expect("no panic"));
        (seen.map(|(reads, _)| reads), seen.map(|(_, longest)| longest))
    });
    assert!(reads.iter().all(|reads| *reads > 0), "{reads:?}");
    assert!(longest.iter().all(|longest| *longest < Duration::from_secs(5)), "{longest:?}");
}

/// Ends the readers, also when the writer panics.
struct Finish<'a>(&'a AtomicBool);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_reader_keeps_its_snapshot_while_a_sync_publishes() {
    let world = World::synced();
    let reader = rusqlite::Connection::open(world.db()).unwrap();
    let count = || -> u64 { reader.query_row("SELECT count(*) FROM generations", [], |row| row.get(0)).unwrap() };
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(count(), 1);
    world.write("new.md", "# New\n\nText.\n");
    assert_eq!(world.sync().generation, Some(2));
    assert_eq!(count(), 1);
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(count(), 2);
}

#[test]
fn a_sync_waits_for_another_writer() {
    let world = World::synced();
    world.write("new.md", "# New\n\nText.\n");
    let store = world.store();
    let other = rusqlite::Connection::open(world.db()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let sync = scope.spawn(|| store.sync(&world.request()));
        std::thread::sleep(Duration::from_millis(400));
        assert!(!sync.is_finished(), "it waits");
        // A reader does not.
        let begun = Instant::now();
        assert!(!store.search(&Principal::operator(), &SearchRequest::new("key")).unwrap().hits.is_empty());
        assert!(begun.elapsed() < Duration::from_secs(5));
        other.execute_batch("ROLLBACK").unwrap();
        assert_eq!(sync.join().expect("no panic").unwrap().generation, Some(2));
    });
}

#[test]
fn a_writer_that_stays_is_named_when_the_wait_is_over() {
    let world = World::synced();
    world.write("new.md", "# New\n\nText.\n");
    let store = world.store();
    let other = rusqlite::Connection::open(world.db()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.sync(&world.request()).unwrap_err();
    assert_eq!(error.code(), "busy", "{error}");
    assert_eq!(value(&store, "SELECT count(*) FROM generations"), "1");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.sync(&world.request()).unwrap().generation, Some(2));
}

#[test]
fn a_log_that_a_reader_kept_is_moved_by_the_next_sync_though_nothing_changed() {
    let world = World::synced();
    let log = || std::fs::metadata(world.path().join("ragdb.db-wal")).map_or(0, |log| log.len());
    let reader = rusqlite::Connection::open(world.db()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM documents").unwrap();
    world.write("new.md", "# New\n\nA wombat.\n");
    assert!(world.sync().published);
    assert!(log() > 0);
    reader.execute_batch("ROLLBACK").unwrap();
    assert!(!world.sync().published);
    assert_eq!(log(), 0);
}

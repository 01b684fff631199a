//! Several at once: two syncs, and readers beside a sync.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ragdb::{SearchRequest, Store};

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
        let request = ragdb::SyncRequest { max_delete: Some(100), ..world.request() };
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
                    let result = store.search(&request).unwrap();
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
        assert!(!store.search(&SearchRequest::new("key")).unwrap().hits.is_empty());
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

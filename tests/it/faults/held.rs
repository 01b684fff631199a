//! A reader that keeps its snapshot: the log is bounded, by refusing to write.

use std::fs;
use std::time::{Duration, Instant};

use ragdb::{AclChange, Error, Principal, PurgeRequest, SearchRequest, Store};
use rusqlite::Connection;

use super::operations::page;
use crate::world::{World, value};

/// The log of a store of this test's size may be so long.
const LIMIT: u64 = 64 << 20;

/// Somebody who reads the state of now until they are dropped.
fn reader(world: &World) -> Connection {
    let conn = Connection::open(world.db()).unwrap();
    conn.execute_batch("BEGIN; SELECT count(*) FROM documents").unwrap();
    conn
}

fn log(world: &World) -> u64 {
    fs::metadata(world.path().join("ragdb.db-wal")).map_or(0, |log| log.len())
}

fn found(store: &Store) -> usize {
    store.search(&Principal::operator(), &SearchRequest::new("revision")).unwrap().hits.len()
}

#[test]
fn promise_16_a_reader_held_over_100_syncs_bounds_the_log_by_a_refusal() {
    let world = World::synced();
    let reader = reader(&world);
    let store = world.store();
    for number in 0..100 {
        world.write("guide/page.md", page(0, number));
        assert!(store.sync(&world.request()).unwrap().published);
    }
    let grown = log(&world);
    assert!(grown > 1 << 20 && grown < LIMIT, "the log has {grown} bytes");
    // The next syncs would go on; a large write of somebody stands for a thousand of them.
    let other = Connection::open(world.db()).unwrap();
    other.execute_batch("CREATE TABLE ballast (x); INSERT INTO ballast VALUES (zeroblob(80000000))").unwrap();
    let filled = log(&world);
    assert!(filled > LIMIT);
    world.write("guide/page.md", page(0, 100));
    let begun = Instant::now();
    let error = store.sync(&world.request()).unwrap_err();
    assert!(begun.elapsed() > Duration::from_secs(5), "the reader is waited for");
    let Error::Refused { code: "log_is_held", message, hint } = error else { panic!("{error}") };
    assert!(message.contains("ragdb.db-wal has grown to") && hint.contains("ragdb.db-wal"), "{message}; {hint}");
    assert_eq!(log(&world), filled, "nothing was written");
    // Who reads is not in the way of others who read, nor of who must be kept out or go.
    assert_eq!(found(&store), 1);
    store.revoke(&AclChange::user("zh/keys.md", "eve").unwrap()).unwrap();
    drop(reader);
    other.execute_batch("DROP TABLE ballast").unwrap();
    drop(other);
    assert_eq!(store.sync(&world.request()).unwrap().generation, Some(102));
    assert_eq!(log(&world), 0);
    assert_eq!(value(&store, "SELECT integrity_check FROM pragma_integrity_check"), "ok");
    store.purge(&PurgeRequest { document: "guide/page.md".into(), ..PurgeRequest::default() }).unwrap();
}

#[test]
#[ignore = "the long form: syncs alone fill the log"]
fn promise_16_syncs_beside_a_reader_are_refused_before_the_log_is_twice_the_limit() {
    let world = World::synced();
    let reader = reader(&world);
    let store = world.store();
    let mut syncs = 0;
    let refused = loop {
        (0..200).for_each(|number| world.write(&format!("page{number}.md"), page(number, syncs)));
        match store.sync(&world.request()) {
            Ok(report) => assert!(report.published),
            Err(error) => break error,
        }
        syncs += 1;
        assert!(log(&world) < 2 * LIMIT, "after {syncs} syncs");
    };
    assert_eq!(refused.code(), "log_is_held");
    println!("refused after {syncs} syncs, with a log of {} MB", log(&world) >> 20);
    assert!(syncs > 10);
    drop(reader);
    store.sync(&world.request()).unwrap();
    assert_eq!(log(&world), 0);
}

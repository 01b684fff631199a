//! Readers, in this process and in others, beside writers that publish on and on: each response is of one generation.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ragdb::{AclChange, Error, Principal, Sabotage, SearchRequest, Store, SyncRequest, SyncSources};

use super::{CHILD, Form, asked, run_child};
use crate::support::this_program;
use crate::world::{World, rows};

/// Each writer has a source of its own, of so many documents, all of which say the same number.
const DOCUMENTS: usize = 8;

/// The sources.
const SOURCES: [&str; 2] = ["one", "two"];

/// So often the readers and writers are let loose at most, until the writers get in each other's way.
const MOST_SOAKS: usize = 20;

/// What was seen.
#[derive(Default)]
struct Seen {
    responses: AtomicUsize,
    errors: AtomicUsize,
    mixed: AtomicUsize,
    /// How long the slowest sync took, in milliseconds.
    slowest: AtomicUsize,
    /// What the first of the errors says.
    first_error: OnceLock<String>,
}

impl Seen {
    /// Counts one response: that each source says one number, and all its documents do.
    fn response(&self, response: Result<BTreeMap<String, Vec<String>>, Error>) {
        self.responses.fetch_add(1, Ordering::Relaxed);
        match response {
            Ok(sources) => {
                let whole = |said: &Vec<String>| said.len() == DOCUMENTS && said.iter().all(|it| *it == said[0]);
                let is_whole = sources.len() == SOURCES.len() && sources.values().all(whole);
                self.mixed.fetch_add(usize::from(!is_whole), Ordering::Relaxed);
            }
            Err(error) => {
                self.errors.fetch_add(1, Ordering::Relaxed);
                self.first_error.get_or_init(|| format!("{error:?}"));
            }
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [responses, errors, mixed] =
            [&self.responses, &self.errors, &self.mixed].map(|count| count.load(Ordering::Relaxed));
        write!(f, "{responses} responses, {errors} errors, {mixed} mixed")?;
        self.first_error.get().map_or(Ok(()), |error| write!(f, ", first {error}"))
    }
}

/// What each source's documents say, by a search.
fn searched(store: &Store) -> Result<BTreeMap<String, Vec<String>>, Error> {
    let request = SearchRequest { top_k: 100, ..SearchRequest::new("marker") };
    let mut said: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for hit in store.search(&Principal::operator(), &request)?.hits {
        said.entry(hit.source_id).or_default().push(hit.text);
    }
    Ok(said)
}

/// The same, by a statement, with the generation that each document is of.
fn queried(store: &Store) -> Result<BTreeMap<String, Vec<String>>, Error> {
    let sql = "SELECT s.source_id, c.text || d.generation_updated || (SELECT max(generation) >= d.generation_updated FROM \
               generations) FROM chunks c JOIN documents d USING (document_no) JOIN sources s USING (source_no)";
    let mut said: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in store.sql(&Principal::operator(), sql)?.rows {
        let [source, text] = [&row[0], &row[1]].map(|value| format!("{value:?}"));
        said.entry(source).or_default().push(text);
    }
    Ok(said)
}

/// Reads in each way until it is over.
fn read(db: &Path, is_over: impl Fn() -> bool, seen: &Seen) {
    let kept = Store::open_read_only(db).expect("the store opens");
    while !is_over() {
        seen.response(searched(&kept));
        seen.response(queried(&kept));
        seen.response(Store::open_read_only(db).and_then(|store| searched(&store)));
    }
}

/// A folder whose removal ends the readers of other processes.
fn running(db: &Path) -> PathBuf {
    db.with_file_name("running")
}

#[test]
#[ignore = "runs in a process of its own: see the tests below"]
fn child_reads() {
    let Some((_, db)) = asked() else { return };
    let (db, seen) = (PathBuf::from(db), Seen::default());
    read(&db, || !running(&db).exists(), &seen);
    println!("outcome: {seen}");
}

fn reading_process(db: &Path) -> Child {
    this_program()
        .args(["faults::readers::child_reads", "--exact", "--ignored", "--nocapture"])
        .env(CHILD, format!("short {}", db.display()))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Publishes a source's next numbers; every few of them the file is written anew as well.
fn publish(world: &World, source: &str, rounds: usize, seen: &Seen) -> Result<(), Error> {
    let store = world.store();
    let folder = world.path().join(source);
    let request = SyncRequest { sources: SyncSources::Folders(vec![folder.clone()]), ..SyncRequest::default() };
    for round in 1..=rounds {
        for document in 0..DOCUMENTS {
            let text = format!("# Marker\n\nEvery marker of {source} says {round}.\n");
            crate::world::write(&folder.join(format!("{document}.md")), text.as_bytes());
        }
        let begun = Instant::now();
        store.sync(&request)?;
        seen.slowest.fetch_max(begun.elapsed().as_millis() as usize, Ordering::Relaxed);
        if round % 10 == 0 && source == SOURCES[0] {
            store.optimize(&ragdb::OptimizeRequest::default())?;
        }
    }
    Ok(())
}

/// Lets all read and write; gives what was seen here, in the other processes, and what a writer failed with.
fn soak(rounds: usize) -> (Seen, Vec<String>, Vec<String>) {
    let world = World::new(&[]);
    for source in SOURCES {
        publish(&world, source, 1, &Seen::default()).expect("nobody is in the way");
    }
    let db = world.db();
    std::fs::create_dir(running(&db)).expect("a folder is made");
    let (seen, over, store) = (Seen::default(), AtomicBool::new(false), world.store());
    let processes = [(); 2].map(|()| reading_process(&db));
    let failed = thread::scope(|scope| {
        scope.spawn(|| read(&db, || over.load(Ordering::Relaxed), &seen));
        // Two at once with one store: the second has a connection from the pool.
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    seen.response(searched(&store));
                    seen.response(queried(&store));
                }
            });
        }
        let writers = SOURCES.map(|source| {
            let (world, seen) = (&world, &seen);
            scope.spawn(move || publish(world, source, rounds, seen))
        });
        let ended = writers.map(|writer| writer.join().expect("no panic"));
        over.store(true, Ordering::Relaxed);
        ended.into_iter().filter_map(|result| result.err().map(|error| error.to_string())).collect::<Vec<_>>()
    });
    std::fs::remove_dir(running(&db)).expect("the folder is there");
    let outcomes = processes.map(|process| {
        let output = process.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.lines().find_map(|line| Some(line.split_once("outcome: ")?.1.to_owned())).unwrap_or(said)
    });
    if failed.is_empty() {
        // Each sync has its generation; the first of each source changed nothing, if it came again.
        let generations = rows(&store, "SELECT generation FROM generations ORDER BY generation").len();
        assert!(generations >= SOURCES.len() * rounds, "{generations} generations");
        assert!(store.check(&ragdb::CheckRequest { deep: true, sources: false }).expect("it runs").ok);
    }
    (seen, outcomes.to_vec(), failed)
}

fn assert_each_is_of_one_generation(rounds: usize) {
    let (seen, outcomes, failed) = soak(rounds);
    let (generations, slowest) = (SOURCES.len() * rounds, seen.slowest.load(Ordering::Relaxed));
    println!("{generations} generations, the slowest in {slowest} ms; here: {seen}; elsewhere: {outcomes:?}");
    assert_eq!(failed, Vec::<String>::new());
    for seen in outcomes.iter().chain([&seen.to_string()]) {
        assert!(seen.contains(" responses, 0 errors, 0 mixed") && !seen.starts_with("0 "), "{seen}");
    }
}

#[test]
fn promise_10_each_response_is_of_one_generation_beside_two_writers() {
    assert_each_is_of_one_generation(25);
}

#[test]
#[ignore = "the long form: 1,000 generations"]
fn promise_10_each_response_is_of_one_generation_beside_two_writers_for_long() {
    assert_each_is_of_one_generation(500);
}

/// Somebody writes on and on and leaves the lock alone for moments only.
#[test]
fn promise_10_a_writer_comes_between_the_transactions_of_another() {
    const WRITES: usize = 20;
    let world = World::new(&[("a.md", "# A\n\nText.\n")]);
    world.sync();
    let (store, conn) = (world.store(), rusqlite::Connection::open(world.db()).expect("the store opens"));
    let (over, transactions) = (AtomicBool::new(false), AtomicUsize::new(0));
    let overtaking: usize = thread::scope(|scope| {
        let (over, transactions) = (&over, &transactions);
        scope.spawn(move || {
            while !over.load(Ordering::Relaxed) {
                conn.execute_batch("BEGIN IMMEDIATE").expect("the other one has ended soon");
                transactions.fetch_add(1, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(20));
                conn.execute_batch("COMMIT").expect("nothing is in its way");
                thread::sleep(Duration::from_millis(3));
            }
        });
        let written = (0..WRITES).try_fold(0, |overtaking, user| {
            let change = AclChange::user("docs", format!("u{user}"))?;
            // The lock is taken when one comes.
            let begun = transactions.load(Ordering::Relaxed);
            while transactions.load(Ordering::Relaxed) == begun {
                thread::yield_now();
            }
            store.revoke(&change)?;
            Ok::<_, Error>(overtaking + transactions.load(Ordering::Relaxed) - begun - 1)
        });
        over.store(true, Ordering::Relaxed);
        written.expect("its turn comes")
    });
    println!("{overtaking} transactions beside {WRITES}");
    // Some, for a machine that does other things too. Who looks ten times in a second is overtaken hundreds of times.
    assert!(overtaking <= 2 * WRITES, "{overtaking} transactions beside {WRITES}");
}

/// Connections that were opened before have the old file, later ones the new one, and both count rows from 1.
#[test]
fn promise_10_an_open_store_gives_nothing_of_a_file_that_took_its_place() {
    let [world, other] = ["old", "new"].map(|word| {
        let world = World::new(&[("a.md", &format!("# A\n\nThe marker is {word}.\n"))]);
        world.sync();
        world
    });
    let store = world.store();
    let search = || store.search(&Principal::operator(), &SearchRequest::new("marker")).map(|found| found.hits.len());
    assert_eq!(search().expect("an answer"), 1);
    std::fs::rename(other.db(), world.db()).expect("the file is moved");
    let bytes = std::fs::read(world.db()).expect("it is read");
    let code = |result: Result<usize, Error>| result.expect_err("it is noticed").code();
    // More at once than one connection can serve.
    thread::scope(|scope| {
        let readers = [(); 4].map(|()| scope.spawn(|| code(search())));
        readers.into_iter().for_each(|reader| assert_eq!(reader.join().expect("no panic"), "store_replaced"));
    });
    world.write("b.md", "# B\n");
    assert_eq!(code(store.sync(&world.request()).map(|_| 0)), "store_replaced");
    assert_eq!(code(store.optimize(&ragdb::OptimizeRequest::default()).map(|_| 0)), "store_replaced");
    drop(store);
    assert_eq!(std::fs::read(world.db()).expect("it is read"), bytes);
    let found = world.store().search(&Principal::operator(), &SearchRequest::new("marker")).expect("an answer");
    assert!(found.hits[0].text.contains("new"), "{:?}", found.hits);
}

#[test]
#[ignore = "runs in a process of its own: see the test below"]
fn child_writes_in_deferred_transactions() {
    if asked().is_none() {
        return;
    }
    Sabotage::DeferredTransaction.begin();
    // Two writers must meet at the wrong moment.
    let soaked = (0..MOST_SOAKS).map(|_| soak(25)).find(|(_, _, failed)| !failed.is_empty());
    println!("outcome: {} writers failed: {:?}", soaked.as_ref().map_or(0, |it| it.2.len()), soaked.map(|it| it.2));
}

#[test]
fn promise_10_writers_that_take_the_lock_late_are_noticed() {
    let outcome = run_child("readers::child_writes_in_deferred_transactions", Form::Short, "both");
    println!("{outcome}");
    assert!(!outcome.starts_with("0 writers failed"), "{outcome}");
}

#[test]
fn promise_10_a_mixed_response_and_an_error_are_noticed() {
    let response = |texts: [&str; DOCUMENTS]| {
        let seen = Seen::default();
        let said: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        seen.response(Ok(SOURCES.map(|source| (source.to_owned(), said.clone())).into()));
        seen.to_string()
    };
    assert_eq!(response(["1"; DOCUMENTS]), "1 responses, 0 errors, 0 mixed");
    assert_eq!(response(["1", "1", "1", "2", "1", "1", "1", "1"]), "1 responses, 0 errors, 1 mixed");
    let seen = Seen::default();
    for message in ["one", "other"] {
        seen.response(Err(Error::Invalid { message: message.into() }));
    }
    assert_eq!(seen.to_string(), "2 responses, 2 errors, 0 mixed, first Invalid { message: \"one\" }");
}

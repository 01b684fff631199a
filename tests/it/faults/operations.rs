//! What is done while the disk fails: each operation with the store that it begins with and what it must lead to.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ragdb::{AclChange, Error, Principal, PurgeRequest, Store};
use rusqlite::Connection;

use super::{Form, files_of};
use crate::support::repository;
use crate::world::{Content, World};

/// All rows of all tables, as text.
type Rows = Vec<String>;

/// One operation on one store.
pub struct Operation {
    world: World,
    /// The store before, as bytes; `None` where there is none.
    before: Option<Vec<u8>>,
    /// Its rows.
    old_rows: Option<Rows>,
    /// What the operation leads to.
    new: Content,
    work: fn(&World) -> Result<(), Error>,
    /// How the command line is told to do it.
    arguments: &'static [&'static str],
}

/// The operations that can be asked for.
pub const NAMES: [&str; 10] =
    ["first", "edit", "delete", "revoke", "purge", "optimize", "backup", "migrate1", "migrate2", "migrate3"];

/// In which state a store was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As before the operation, in every row.
    Old,
    /// As the operation leaves it.
    New,
}

impl Operation {
    /// The operation of this name, on a store of a size for `form`.
    pub fn new(name: &str, form: Form) -> Self {
        let world = corpus(form);
        match name {
            "first" => Self::of(world, &["sync", "docs"], synced),
            "edit" => {
                world.sync();
                edit(&world);
                Self::of(world, &["sync", "docs"], synced)
            }
            "delete" => {
                world.sync();
                (0..3).for_each(|number| world.remove(&format!("page{number}.md")));
                Self::of(world, &["sync", "docs"], synced)
            }
            "revoke" => {
                world.sync();
                Self::of(world, &["acl", "revoke", "page1.md", "--user", "eve"], |world| {
                    Store::open(world.db())?.revoke(&AclChange::user("page1.md", "eve")?).map(drop)
                })
            }
            "purge" => {
                world.sync();
                Self::of(world, &["purge", "secret.md"], |world| {
                    let request = PurgeRequest { document: "secret.md".into(), ..PurgeRequest::default() };
                    Store::open(world.db())?.purge(&request).map(drop)
                })
            }
            "optimize" => {
                world.sync();
                (0..3).for_each(|round| {
                    world.write(&format!("page{round}.md"), page(round, 100 + round));
                    world.sync();
                });
                Self::of(world, &["optimize"], |world| {
                    Store::open(world.db())?.optimize(&ragdb::OptimizeRequest::default()).map(drop)
                })
            }
            "backup" => {
                world.sync();
                Self::of(world, &["backup", "copy.db"], |world| {
                    let copy = world.path().join("copy.db");
                    // What an earlier try left under that name is a copy.
                    if copy.exists() {
                        Store::open_read_only(&copy)?;
                        files_of(&copy).iter().filter(|file| file.exists()).for_each(|file| {
                            fs::remove_file(file).expect("it is there");
                        });
                    }
                    Store::open(world.db())?.backup(copy).map(drop)
                })
            }
            _ => {
                let version = name.strip_prefix("migrate").expect("a known operation");
                let dump = fs::read_to_string(repository(&format!("fixtures/db/v{version}.sql"))).expect("a dump");
                let conn = Connection::open(world.db()).expect("a new file");
                conn.execute_batch(&dump).expect("the dump is read");
                conn.pragma_update(None, "journal_mode", "WAL").expect("as every store has it");
                conn.close().expect("it is written");
                Self::of(world, &["migrate"], |world| Store::migrate(world.db()).map(drop))
            }
        }
    }

    fn of(world: World, arguments: &'static [&'static str], work: fn(&World) -> Result<(), Error>) -> Self {
        let before = fs::read(world.db()).ok();
        let old_rows = before.is_some().then(|| rows(&world.db()));
        work(&world).expect("nothing is in its way");
        let new = Content::of(&world.store());
        let operation = Self { world, before, old_rows, new, work, arguments };
        operation.reset();
        operation
    }

    /// Lets the store be as before the operation.
    pub fn reset(&self) {
        for entry in fs::read_dir(self.world.path()).expect("the folder") {
            let path = entry.expect("an entry").path();
            if path.is_file() {
                fs::remove_file(path).expect("the file is there");
            }
        }
        if let Some(bytes) = &self.before {
            fs::write(self.world.db(), bytes).expect("the store is written");
        }
    }

    /// Does it.
    pub fn run(&self) -> Result<(), Error> {
        (self.work)(&self.world)
    }

    /// The binary, about to do it.
    pub fn binary(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ragdb"));
        command.current_dir(self.world.path()).args(self.arguments).stdin(Stdio::null()).env_remove("RAGDB_DB");
        command
    }

    /// Has the binary do it.
    pub fn run_binary(&self) -> Result<(), String> {
        let output = self.binary().output().expect("ragdb starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(said) }
    }

    /// Finds the store whole, in one of the two states; then does the operation again, which must lead to the new one.
    pub fn assert_whole(&self, place: &str, again: impl FnOnce() -> Result<(), String>) -> State {
        let (state, rows) = self.state(place, None);
        again().unwrap_or_else(|error| panic!("{place}: the retry gives {error}"));
        let is_new = rows.filter(|_| state == State::New);
        let (state_then, rows) = self.state(&format!("{place}, after the retry"), is_new.as_ref());
        // Rows alone may not tell that it was done.
        let leads_to_the_same = self.old_rows.is_some() && self.old_rows == rows;
        assert!(state_then == State::New || leads_to_the_same, "{place}: the retry did nothing");
        state
    }

    /// In which state the store is, and its rows; `new` are rows that are known to be those of the new one.
    fn state(&self, place: &str, new: Option<&Rows>) -> (State, Option<Rows>) {
        let db = self.world.db();
        if !db.exists() {
            assert!(self.before.is_none(), "{place}: the store is gone");
            return (State::Old, None);
        }
        let now = rows(&db);
        if self.old_rows.as_ref() == Some(&now) {
            return (State::Old, Some(now));
        }
        if new == Some(&now) {
            return (State::New, Some(now));
        }
        let store = Store::open(&db).unwrap_or_else(|error| panic!("{place}: {error}"));
        if self.before.is_none() && store.log(&Principal::operator(), None).expect("a log").is_empty() {
            return (State::Old, Some(now));
        }
        Content::of(&store).assert_equals(&self.new, place);
        (State::New, Some(now))
    }

    /// The names beside the store that are not SQLite's.
    pub fn strangers(&self) -> Vec<String> {
        let own = files_of(&self.world.db());
        let entries = fs::read_dir(self.world.path()).expect("the folder").map(|entry| entry.expect("an entry").path());
        let strange = entries.filter(|path| path.is_file() && !own.contains(path) && !path.ends_with("copy.db"));
        strange.map(|path| path.display().to_string()).collect()
    }

    /// The store's path.
    pub fn db(&self) -> PathBuf {
        self.world.db()
    }
}

fn synced(world: &World) -> Result<(), Error> {
    Store::open_or_create(world.db())?.sync(&world.request()).map(drop)
}

/// A page of a few hundred words that no other page has in this order.
pub fn page(number: usize, seed: usize) -> String {
    let words = |from: usize| -> String {
        (0..60).map(|word| format!("w{} ", (word * 37 + from * 11 + seed * 7) % 900)).collect()
    };
    format!("# Page {number}\n\nRevision {seed}.\n\n{}\n\n## More\n\n{}\n", words(number), words(number + 50))
}

/// Documents of two access classes.
pub fn corpus(form: Form) -> World {
    let world = World::new(&[(
        "secret.md",
        "---\nvisibility: private\n---\n# Zebrafish\n\nThe pangolin vault opens for quaggas within 45 days.\n",
    )]);
    let pages = if form == Form::Long { 60 } else { 8 };
    (0..pages).for_each(|number| world.write(&format!("page{number}.md"), page(number, 0)));
    world
}

/// Changes some documents, adds one and removes one.
fn edit(world: &World) {
    (0..3).for_each(|number| world.write(&format!("page{number}.md"), page(number, 100)));
    world.write("new.md", page(500, 0));
    world.remove("page4.md");
}

/// All rows of all tables of a sound database.
pub fn rows(db: &Path) -> Rows {
    let conn = Connection::open(db).expect("the store opens");
    let sound: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("the check runs");
    assert_eq!(sound, "ok");
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    let mut tables = conn.prepare(names).expect("a schema");
    let tables: Vec<String> =
        tables.query_map([], |row| row.get(0)).expect("tables").map(|name| name.expect("a name")).collect();
    let version: i64 = conn.pragma_query_value(None, "user_version", |row| row.get(0)).expect("a version");
    let mut all = vec![format!("version {version}")];
    for table in tables {
        let mut statement = conn.prepare(&format!("SELECT * FROM \"{table}\"")).expect("a table");
        let columns = statement.column_count();
        let text = |row: &rusqlite::Row<'_>| {
            let values = (0..columns).map(|column| row.get_ref(column).map(|value| format!("{value:?}")));
            Ok(format!("{table} {}", values.collect::<rusqlite::Result<Vec<_>>>()?.join("|")))
        };
        let rows = statement.query_map([], text).expect("rows");
        all.extend(rows.map(|row| row.expect("a row")));
    }
    all.sort();
    all
}

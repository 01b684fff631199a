//! The record of runs: keeping one, reading one back, and adding to what happened in it.

use crate::access::history::History;
use crate::access::{self, Scope, Seen};
use crate::error::{Error, Result};
use crate::evidence::manifest;
use crate::model::{Manifest, Principal, RunEvent};
use crate::store::runs::{Of, RunReader};
use crate::store::{Connection, Store, runs, settings};

/// The name of the run that was recorded last.
const LAST_RUN: &str = "last";

/// The least digits of a run's id that stand for it.
const SHORTEST_RUN: usize = 8;

impl Store {
    /// Keeps a run in the store, for [`Store::run`]: as the principal's, whom it must have been made for.
    ///
    /// # Errors
    /// [`Error::Invalid`] where it is not a run of this store, is there already, is of generation 0, whose reader may read
    /// nothing, or what the principal may read has changed since it was made; [`Error::ReadOnly`] where the store can't be
    /// written.
    pub fn record_run(&self, principal: &Principal, run: &Manifest) -> Result<()> {
        self.write(|tx| insert(tx, principal, run))
    }

    /// The recorded run with this id, or whose id alone begins with these digits (8 or more); `last` is the run that was
    /// recorded last. The operator reads all runs. To others those of somebody else do not exist, nor do those of their own
    /// that met what they may not read now: a manifest is whole or it is none, and it names all that was shown.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is none, [`Error::Invalid`] where it is no id or several begin so,
    /// [`Error::Damaged`] where its rows can't be what was recorded.
    pub fn run(&self, principal: &Principal, run_id: &str) -> Result<Manifest> {
        self.read_as(principal, Seen::Stored, |conn, scope| {
            let found = resolve(conn, principal, run_id)?;
            if !access::is_run_met(conn, scope, &found)? {
                return Err(no_run(run_id));
            }
            load(conn, &found)
        })
    }

    /// As [`Store::run`], also where the principal's own run met what they may not read any more: for [`Store::verify`],
    /// which says of each citation that nothing has this reference. Show nothing else of it to anyone.
    ///
    /// # Errors
    /// As [`Store::run`].
    pub fn run_to_verify(&self, principal: &Principal, run_id: &str) -> Result<Manifest> {
        self.read(|conn| load(conn, &resolve(conn, principal, run_id)?))
    }

    /// Adds to what happened in a recorded run.
    ///
    /// # Errors
    /// As [`Store::run`], and [`Error::ReadOnly`] where the store can't be written.
    pub fn add_run_events(&self, principal: &Principal, run_id: &str, events: &[RunEvent]) -> Result<()> {
        manifest::check_events(events).map_err(|message| Error::Invalid { message })?;
        self.write(|tx| runs::insert_events(tx, &resolve(tx, principal, run_id)?, events))
    }
}

/// What [`Store::record_run`] does, in a transaction of the caller's.
pub(crate) fn insert(tx: &Connection, principal: &Principal, run: &Manifest) -> Result<()> {
    let invalid = |what: &str| Error::Invalid { message: format!("run {} can't be recorded: {what}", run.run_id) };
    run.check().map_err(|what| invalid(&what))?;
    if run.generation == 0 {
        return Err(invalid("its reader may read nothing here"));
    }
    if settings::store_id(tx)? != run.store_id {
        return Err(invalid("it is of another store"));
    }
    // What could be read then: what is valid changes with the time.
    let then = match principal.time() {
        None if !principal.reads_everything() => principal.clone().as_of(&run.created_at)?,
        _ => principal.clone(),
    };
    let scope = Scope::of(tx, &then, Seen::Evidence)?;
    let (generation, digest) = History::of(tx, &scope)?.stored(tx, run.generation)?;
    if digest.to_string() != run.generation_digest {
        let another = "its generation has another digest here";
        let changed = "what its reader may read has changed since; ask again";
        return Err(invalid(if scope.is_whole() { another } else { changed }));
    }
    if !runs::ids(tx, &Of::Everybody, &run.run_id)?.is_empty() {
        return Err(invalid("it is recorded already"));
    }
    let reader = RunReader {
        principal: &principal.to_json(),
        principal_digest: &principal.identity().to_string(),
        scope_digest: &scope.digest().to_string(),
        as_of: scope.at(),
        generation,
    };
    runs::insert(tx, run, &reader)
}

/// A run as it was recorded.
fn load(conn: &Connection, run_id: &str) -> Result<Manifest> {
    let run = runs::get(conn, run_id)?.ok_or_else(|| no_run(run_id))?;
    run.check().map_err(|what| Error::Damaged { detail: format!("run {run_id}: {what}") })?;
    Ok(run)
}

/// The whole id of a run.
fn resolve(conn: &Connection, principal: &Principal, run_id: &str) -> Result<String> {
    let of = Of::new(principal);
    if run_id == LAST_RUN {
        return runs::last(conn, &of)?.ok_or_else(|| no_run(run_id));
    }
    let digits = run_id.to_ascii_lowercase();
    if !(SHORTEST_RUN..=32).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let message =
            format!("{run_id:?} is not the id of a run: 32 hex digits, of which {SHORTEST_RUN} may do, or `last`");
        return Err(Error::Invalid { message });
    }
    let mut found = runs::ids(conn, &of, &digits)?;
    match (found.pop(), found.pop()) {
        (Some(id), None) => Ok(id),
        (Some(_), Some(_)) => {
            Err(Error::Invalid { message: format!("several runs begin with {digits}; give more of it") })
        }
        (None, _) => Err(no_run(run_id)),
    }
}

fn no_run(run_id: &str) -> Error {
    let what = if run_id == LAST_RUN { "recorded run".into() } else { format!("run {run_id}") };
    Error::NotFound { what }
}

//! The record of runs: keeping one, reading one back, and adding to what happened in it.

use crate::error::{Error, Result};
use crate::evidence::manifest;
use crate::model::{Manifest, Principal, RunEvent};
use crate::store::{Connection, Store, generations, runs, settings};

/// The name of the run that was recorded last.
const LAST_RUN: &str = "last";

/// The least digits of a run's id that stand for it.
const SHORTEST_RUN: usize = 8;

impl Store {
    /// Keeps a run in the store, for [`Store::run`].
    ///
    /// # Errors
    /// [`Error::Invalid`] where it is not a run of this store, or is there already; [`Error::ReadOnly`] where the store
    /// can't be written.
    pub fn record_run(&self, _principal: &Principal, run: &Manifest) -> Result<()> {
        let invalid = |what: &str| Error::Invalid { message: format!("run {} can't be recorded: {what}", run.run_id) };
        run.check().map_err(|what| invalid(&what))?;
        self.write(|tx| {
            if settings::store_id(tx)? != run.store_id {
                return Err(invalid("it is of another store"));
            }
            let generation = generations::get(tx, run.generation)?;
            if generation.digest.to_string() != run.generation_digest {
                return Err(invalid("its generation has another digest here"));
            }
            if !runs::ids(tx, &run.run_id)?.is_empty() {
                return Err(invalid("it is recorded already"));
            }
            runs::insert(tx, run)
        })
    }

    /// The recorded run with this id, or whose id alone begins with these digits (8 or more); `last` is the run that was
    /// recorded last.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is none, [`Error::Invalid`] where it is no id or several begin so,
    /// [`Error::Damaged`] where its rows can't be what was recorded.
    pub fn run(&self, _principal: &Principal, run_id: &str) -> Result<Manifest> {
        self.read(|conn| {
            let run_id = resolve(conn, run_id)?;
            let run = runs::get(conn, &run_id)?.ok_or_else(|| no_run(&run_id))?;
            run.check().map_err(|what| Error::Damaged { detail: format!("run {run_id}: {what}") })?;
            Ok(run)
        })
    }

    /// Adds to what happened in a recorded run.
    ///
    /// # Errors
    /// As [`Store::run`], and [`Error::ReadOnly`] where the store can't be written.
    pub fn add_run_events(&self, _principal: &Principal, run_id: &str, events: &[RunEvent]) -> Result<()> {
        manifest::check_events(events).map_err(|message| Error::Invalid { message })?;
        self.write(|tx| runs::insert_events(tx, &resolve(tx, run_id)?, events))
    }
}

/// The whole id of a run.
fn resolve(conn: &Connection, run_id: &str) -> Result<String> {
    if run_id == LAST_RUN {
        return runs::last(conn)?.ok_or_else(|| Error::NotFound { what: "recorded run".into() });
    }
    let digits = run_id.to_ascii_lowercase();
    if !(SHORTEST_RUN..=32).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let message =
            format!("{run_id:?} is not the id of a run: 32 hex digits, of which {SHORTEST_RUN} may do, or `last`");
        return Err(Error::Invalid { message });
    }
    let mut found = runs::ids(conn, &digits)?;
    match (found.pop(), found.pop()) {
        (Some(id), None) => Ok(id),
        (Some(_), Some(_)) => {
            Err(Error::Invalid { message: format!("several runs begin with {digits}; give more of it") })
        }
        (None, _) => Err(no_run(run_id)),
    }
}

fn no_run(run_id: &str) -> Error {
    Error::NotFound { what: format!("run {run_id}") }
}

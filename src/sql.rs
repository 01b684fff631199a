//! `sql`: one statement of somebody's, on what they may read.

use crate::access::history::{History, Numbers};
use crate::access::{Scope, Seen};
use crate::error::Result;
use crate::model::Principal;
use crate::status;
use crate::store::audits::{self, SqlResult};
use crate::store::sandbox::Sandbox;
use crate::store::{Connection, Store};

impl Store {
    /// Runs one statement of somebody's SQL, if it only reads. The operator's runs on the store itself. That of others, and
    /// of the operator within some scopes, runs on a copy in memory of what they may read: the tables `sources`, `generations`, `documents`, `chunks`,
    /// `tombstones` and `unsafe_findings` and the views on these, without internal numbers.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] where it is not one statement that reads and returns rows, or names what is not there.
    pub fn sql(&self, principal: &Principal, query: &str) -> Result<SqlResult> {
        if principal.reads_everything() {
            return self.read(|conn| audits::run(conn, query));
        }
        let sandbox = Sandbox::new(query)?;
        self.read_as(principal, Seen::Stored, |conn, scope| fill(&sandbox, conn, scope))?;
        sandbox.run()
    }
}

fn fill(sandbox: &Sandbox<'_>, conn: &Connection, scope: &Scope) -> Result<()> {
    if sandbox.reads("sources") {
        for source in status::sources_of(conn, scope)? {
            sandbox.add_source(&source.source_id, &source.kind, source.documents)?;
        }
    }
    if sandbox.reads("generations") {
        let generations = History::of(conn, scope)?.newest(conn, None)?;
        generations.iter().rev().try_for_each(|generation| sandbox.add_generation(generation))?;
    }
    let numbers = Numbers::of(conn, scope)?;
    sandbox.fill(conn, scope.classes(), |stored| numbers.seen(stored))
}

//! What each published generation changed: `log`, `show` and `diff`.

use crate::access::history::{History, Numbers};
use crate::access::{Scope, Seen};
use crate::error::{Error, Result};
use crate::model::Principal;
use crate::store::changes::{self, Between, ChangedChunk, ChangedDocument};
use crate::store::generations::Generation;
use crate::store::sources::{self, StoredFailure};
use crate::store::{Connection, Store};

/// What differs between two generations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GenerationDiff {
    /// The earlier generation; 0 stands for the empty store before the first.
    pub from: u64,
    /// The later generation.
    pub to: u64,
    /// Documents that are new in `to`, by source and path.
    pub documents_added: Vec<ChangedDocument>,
    /// Documents of `from` that are gone in `to`, by source and path.
    pub documents_removed: Vec<ChangedDocument>,
    /// Documents of both with other chunks or metadata in `to`, by source and path. Of changes that touched no
    /// chunk (of metadata or file bytes alone) the store keeps only the last one of a document: an earlier one is
    /// missing here once the document was updated again in a generation after `to`.
    pub documents_updated: Vec<ChangedDocument>,
    /// Chunks that are new in `to`, by source, path and line.
    pub chunks_added: Vec<ChangedChunk>,
    /// Chunks of `from` that are gone in `to`, by source and path. Their text is gone too.
    pub chunks_removed: Vec<ChangedChunk>,
}

/// One generation with what it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerationDetail {
    /// Its row.
    pub generation: Generation,
    /// What it changed with respect to its parent.
    pub changes: GenerationDiff,
    /// The files that it was published without.
    pub failures: Vec<StoredFailure>,
}

impl Store {
    /// The newest `limit` generations (all of them for `None`), newest first. The operator sees all. Others, and the
    /// operator within some scopes, see those that changed something they may read, numbered from 1, with counts and digests of that alone.
    ///
    /// # Errors
    /// [`Error::Database`] or [`Error::Damaged`] where the store can't be read.
    pub fn log(&self, principal: &Principal, limit: Option<u64>) -> Result<Vec<Generation>> {
        self.read_as(principal, Seen::Stored, |conn, scope| History::of(conn, scope)?.newest(conn, limit))
    }

    /// What changed from generation `from` to the later generation `to`; `from` may be 0.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is no such generation, [`Error::Invalid`] where `from` is after `to`.
    pub fn diff(&self, principal: &Principal, from: u64, to: u64) -> Result<GenerationDiff> {
        if from > to {
            return Err(Error::Invalid { message: format!("generation {from} comes after generation {to}") });
        }
        self.read_as(principal, Seen::Stored, |conn, scope| difference(conn, scope, from, to))
    }

    /// One generation with all that it changed. What it was published without is told to the operator alone, where no scope
    /// limits what they read.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is no such generation.
    pub fn show(&self, principal: &Principal, number: u64) -> Result<GenerationDetail> {
        self.read_as(principal, Seen::Stored, |conn, scope| {
            let generation = History::of(conn, scope)?.get(conn, number)?;
            let failures = failures(conn, scope, number)?;
            let changes = difference(conn, scope, generation.parent.unwrap_or(0), number)?;
            Ok(GenerationDetail { generation, changes, failures })
        })
    }
}

/// What a generation was published without: all of it where everything is read, nothing to others than the operator.
/// Within some scopes it can't be told, since a file that was never indexed has no rule.
fn failures(conn: &Connection, scope: &Scope, number: u64) -> Result<Vec<StoredFailure>> {
    if scope.is_whole() { sources::failures(conn, number) } else { Ok(Vec::new()) }
}

fn difference(conn: &Connection, scope: &Scope, from: u64, to: u64) -> Result<GenerationDiff> {
    let numbers = Numbers::of(conn, scope)?;
    let between = Between {
        classes: scope.classes(),
        from: numbers.stored(conn, from)?,
        to: numbers.stored(conn, to)?,
        since_entered: !scope.is_whole(),
    };
    let (documents_added, documents_removed, documents_updated) = changes::documents(conn, &between)?;
    Ok(GenerationDiff {
        from,
        to,
        documents_added,
        documents_removed,
        documents_updated,
        chunks_added: changes::chunks_added(conn, &between)?,
        chunks_removed: changes::chunks_removed(conn, &between)?,
    })
}

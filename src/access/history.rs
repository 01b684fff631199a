//! What a reader sees of the history: the generations that changed something they may read, numbered without a gap.
//!
//! The operator sees the numbers and digests that are stored, unless limited to some scopes.

use std::collections::BTreeMap;

use super::Scope;
use crate::error::{Error, Result};
use crate::model::{Digest, DigestBuilder};
use crate::store::generations::{self, ChunkCounts, DocumentCounts, Generation};
use crate::store::{Connection, access, classes};

/// The number of the newest generation that a reader sees; `None` where they see none.
pub(crate) fn newest(conn: &Connection, scope: &Scope) -> Result<Option<u64>> {
    if scope.is_whole() {
        return Ok(generations::head(conn)?.map(|head| head.number));
    }
    Ok(Some(classes::count_generations(conn, scope.classes())?).filter(|&number| number > 0))
}

/// The number and the digest of what a reader may read now; `None` where who reads everything finds nothing published. It
/// is generation 0 for somebody who sees none.
pub(crate) fn current(conn: &Connection, scope: &Scope) -> Result<Option<(u64, Digest)>> {
    if scope.is_whole() {
        return Ok(generations::head(conn)?.map(|head| (head.number, head.digest)));
    }
    Ok(Some((newest(conn, scope)?.unwrap_or(0), newest_digest(conn, scope)?)))
}

/// The digest of what a reader may read now: over each of its classes with documents, in order of the key, the key and
/// the class's digest. Where they read everything, that of the newest generation.
pub(crate) fn newest_digest(conn: &Connection, scope: &Scope) -> Result<Digest> {
    if scope.is_whole() {
        let head = generations::head(conn)?.map(|head| head.digest);
        return head.ok_or_else(|| Error::NotFound { what: "published generation".into() });
    }
    let digests: BTreeMap<String, String> = classes::digests(conn, scope.classes())?.into_iter().collect();
    Ok(digest_of(&digests))
}

fn digest_of(digests: &BTreeMap<String, String>) -> Digest {
    let mut hash = DigestBuilder::new("ragdb seen 1");
    for (key, digest) in digests {
        hash.field(key).field(digest);
    }
    hash.finish()
}

/// The epoch of access as a reader sees it: how many changed who may read a class that they may read now, whoever that is.
/// What happened to other classes is not looked at.
pub(crate) fn epoch(conn: &Connection, scope: &Scope) -> Result<u64> {
    if scope.is_operator() {
        return access::epoch(conn);
    }
    Ok(access::epochs_of(conn, scope.classes())?.len() as u64)
}

/// The generations that a reader sees, by number.
pub(crate) struct Numbers {
    /// Their stored numbers, ascending; `None` for the operator without a scope, who sees these.
    stored: Option<Vec<u64>>,
}

impl Numbers {
    /// Reads them.
    pub(crate) fn of(conn: &Connection, scope: &Scope) -> Result<Self> {
        let stored = if scope.is_whole() { None } else { Some(classes::generations(conn, scope.classes())?) };
        Ok(Self { stored })
    }

    /// The number of the newest generation that a reader sees, as [`newest`] says.
    pub(crate) fn newest(&self, conn: &Connection) -> Result<Option<u64>> {
        match &self.stored {
            None => Ok(generations::head(conn)?.map(|head| head.number)),
            Some(all) => Ok(Some(all.len() as u64).filter(|&number| number > 0)),
        }
    }

    /// The number under which a reader sees a stored generation: that of the newest one, not after it, which changed
    /// what they may read. What is older than all of these came to them with the first.
    pub(crate) fn seen(&self, stored: u64) -> u64 {
        let Some(all) = &self.stored else { return stored };
        let until = all.partition_point(|&number| number <= stored);
        (until as u64).max(u64::from(!all.is_empty()))
    }

    /// As [`Numbers::seen`], of something in a document that came into its class with the generation `entered`: what
    /// happened before that came to who reads the class with it.
    pub(crate) fn seen_in(&self, entered: u64, stored: u64) -> u64 {
        self.seen(if self.stored.is_some() { stored.max(entered) } else { stored })
    }

    /// The stored number of a generation that a reader names; 0 is the empty store before the first.
    ///
    /// # Errors
    /// [`Error::NotFound`] where they see no such generation.
    pub(crate) fn stored(&self, conn: &Connection, seen: u64) -> Result<u64> {
        let Some(place) = seen.checked_sub(1) else { return Ok(0) };
        let Some(all) = &self.stored else { return Ok(generations::get(conn, seen)?.number) };
        let found = usize::try_from(place).ok().and_then(|place| all.get(place).copied());
        found.ok_or_else(|| not_found(seen))
    }
}

/// The generations that a reader sees, oldest first, with what they did.
pub(crate) struct History {
    /// `None` for the operator without a scope, who sees the stored ones.
    seen: Option<Vec<Seen>>,
    /// The epochs of the classes that the reader may read; `None` for the operator, whom all concern.
    epochs: Option<Vec<u64>>,
}

/// A generation, as far as it changed what a reader may read.
struct Seen {
    /// Its stored number.
    number: u64,
    documents: DocumentCounts,
    chunks: ChunkCounts,
    digest: Digest,
}

impl History {
    /// Reads it.
    pub(crate) fn of(conn: &Connection, scope: &Scope) -> Result<Self> {
        if scope.is_whole() {
            return Ok(Self { seen: None, epochs: None });
        }
        let mut seen: Vec<Seen> = Vec::new();
        let mut digests = BTreeMap::new();
        let mut live = 0_u64;
        let changes = classes::changes(conn, scope.classes())?;
        for changes in changes.chunk_by(|one, next| one.generation == next.generation) {
            let (mut documents, mut chunks) = (DocumentCounts::default(), ChunkCounts::default());
            for change in changes {
                documents.added += change.documents.added;
                documents.updated += change.documents.updated;
                documents.deleted += change.documents.deleted;
                chunks.added += change.chunks.added;
                chunks.removed += change.chunks.removed;
                chunks.reused += change.chunks.reused;
                digests.insert(change.key.clone(), change.digest.clone());
            }
            documents.unchanged = live.saturating_sub(documents.updated + documents.deleted);
            live = (live + documents.added).saturating_sub(documents.deleted);
            let number = changes.first().map_or(0, |change| change.generation);
            seen.push(Seen { number, documents, chunks, digest: digest_of(&digests) });
        }
        let epochs = if scope.is_operator() { None } else { Some(access::epochs_of(conn, scope.classes())?) };
        Ok(Self { seen: Some(seen), epochs })
    }

    /// A generation as the reader sees it.
    ///
    /// # Errors
    /// [`Error::NotFound`] where they see no such generation.
    pub(crate) fn get(&self, conn: &Connection, number: u64) -> Result<Generation> {
        let Some(all) = &self.seen else { return generations::get(conn, number) };
        let place = place(all, number)?;
        let (found, parent) = (&all[place], place.checked_sub(1).map(|before| &all[before]));
        let stored = generations::get(conn, found.number)?;
        Ok(Generation {
            number,
            parent: parent.map(|_| number - 1),
            documents: found.documents,
            chunks: found.chunks,
            digest: found.digest,
            parent_digest: parent.map(|parent| parent.digest),
            acl_epoch: self
                .epochs
                .as_ref()
                .map_or(stored.acl_epoch, |epochs| epochs.partition_point(|&epoch| epoch <= stored.acl_epoch) as u64),
            ..stored
        })
    }

    /// The stored number of a generation that the reader names, and its digest as they see it.
    ///
    /// # Errors
    /// As [`History::get`].
    pub(crate) fn stored(&self, conn: &Connection, number: u64) -> Result<(u64, Digest)> {
        let Some(all) = &self.seen else { return Ok((number, generations::get(conn, number)?.digest)) };
        let found = &all[place(all, number)?];
        Ok((found.number, found.digest))
    }

    /// The newest `limit` generations (all of them for `None`), newest first.
    pub(crate) fn newest(&self, conn: &Connection, limit: Option<u64>) -> Result<Vec<Generation>> {
        let Some(all) = &self.seen else { return generations::newest(conn, limit) };
        let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        (1..=all.len() as u64).rev().take(limit).map(|number| self.get(conn, number)).collect()
    }
}

fn place(all: &[Seen], number: u64) -> Result<usize> {
    let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    place.filter(|&place| place < all.len()).ok_or_else(|| not_found(number))
}

fn not_found(number: u64) -> Error {
    Error::NotFound { what: format!("generation {number}") }
}

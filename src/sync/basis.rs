//! What a sync is planned against: read on one snapshot, and compared again when the plan is carried out.

use std::collections::{HashMap, HashSet};

use crate::access::require_classes;
use crate::error::Result;
use crate::model::rule::ClassKey;
use crate::model::{Digest, DocumentId};
use crate::store::generations::Generation;
use crate::store::sources::StoredFailure;
use crate::store::{Connection, access, findings, generations, purges, sources};

/// What the store said when the sync was planned.
pub(super) struct Basis {
    pub parent: Option<Generation>,
    /// What the parent was published without, source by source.
    pub known_failures: Vec<StoredFailure>,
    /// How many documents of the parent have unsafe chunks.
    pub unsafe_documents: u64,
    /// The epoch of the access rules.
    pub acl_epoch: u64,
    /// The keys of the access classes that the store has.
    pub class_keys: HashMap<i64, ClassKey>,
    /// Documents with a rule of their own.
    pub alone: HashSet<DocumentId>,
    /// Documents that were purged, each with the content that it must not have again.
    pub purged: HashSet<(DocumentId, Digest)>,
    /// Of all that generations do not number: sources, acts, groups and purges.
    grounds: Digest,
}

impl Basis {
    /// Reads it.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) where the row of an access class with documents is lost.
    pub(super) fn read(conn: &Connection) -> Result<Self> {
        require_classes(conn)?;
        let parent = generations::head(conn)?;
        let newest = parent.as_ref().map_or(0, |parent| parent.number);
        Ok(Self {
            parent,
            known_failures: sources::failures(conn, newest)?,
            unsafe_documents: findings::unsafe_documents(conn)?,
            acl_epoch: access::epoch(conn)?,
            class_keys: access::keys(conn)?,
            alone: access::documents_with_acts(conn)?,
            purged: purges::contents(conn)?,
            grounds: access::grounds(conn)?,
        })
    }

    /// Whether the store still says so: no generation was published since, nothing was declared, granted, revoked or
    /// purged. A plan that is carried out all the same would write back what was changed.
    pub(super) fn holds(&self, conn: &Connection) -> Result<bool> {
        let head = generations::head(conn)?.map(|head| head.number);
        Ok(head == self.parent.as_ref().map(|parent| parent.number) && access::grounds(conn)? == self.grounds)
    }
}

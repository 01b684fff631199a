//! The chain of generations: every digest and count again, from `chunks`, `documents`, `tombstones` and
//! `sync_failures`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Findings;
use crate::error::Result;
use crate::model::{Digest, DocumentId};
use crate::store::changes::{self, Sign};
use crate::store::record::{self, DocumentChange};
use crate::store::sources::StoredFailure;
use crate::store::{Connection, sources};

/// What one generation did, computed again.
#[derive(Default)]
struct Change {
    documents: HashMap<DocumentId, DocumentChange>,
    added: u64,
    removed: u64,
}

pub(super) fn generations(conn: &Connection, findings: &mut Findings) -> Result<()> {
    let mut summaries = summarise(conn)?;
    let mut documents = changes::documents_by_generation(conn)?;
    let mut failed = Vec::new();
    let mut parent: Option<(u64, Digest)> = None;
    crate::store::generations::for_each(conn, |stored| {
        findings.count += 1;
        let generation = stored.generation;
        let number = generation.number;
        let name = || format!("generation {number}");
        findings.expect(stored.record_hash == generation.record_hash().to_string(), || {
            format!("{}: its row was changed", name())
        });
        findings.expect(number == parent.map_or(1, |(parent, _)| parent + 1), || {
            format!("{}: the one before it is missing", name())
        });
        let linked = generation.parent.zip(generation.parent_digest) == parent;
        findings.expect(linked, || format!("{}: it does not refer to the one before it", name()));
        let Summary { added, removed, changes } = summaries.remove(&number).unwrap_or_default();
        let digest = record::generation(generation.parent_digest, number, generation.policy_digest, changes);
        findings.expect(digest == generation.digest, || {
            format!("{}: the chunks and tombstones that name it do not have its digest", name())
        });
        findings.expect((added, removed) == (generation.chunks.added, generation.chunks.removed), || {
            format!("{}: {added} chunks were added and {removed} removed, not as counted", name())
        });
        let counted = documents.remove(&number).unwrap_or_default();
        let claimed = generation.documents;
        findings.expect((counted.added, counted.deleted) == (claimed.added, claimed.deleted), || {
            format!(
                "{}: {} documents were added and {} deleted, not {} and {} as counted",
                name(),
                counted.added,
                counted.deleted,
                claimed.added,
                claimed.deleted
            )
        });
        findings.expect(counted.last_updated <= claimed.updated, || {
            format!("{}: it updated {} documents, more than counted", name(), counted.last_updated)
        });
        failed.push((number, claimed.failed));
        parent = Some((number, generation.digest));
        Ok(())
    })?;
    failures(conn, &failed, findings)?;
    for number in documents.keys().filter(|number| !summaries.contains_key(number)) {
        findings.expect(false, || {
            format!("generation {number}: documents or their tombstones name it, and it is not there")
        });
    }
    for number in summaries.keys() {
        findings.expect(false, || format!("generation {number}: chunks or tombstones name it, and it is not there"));
    }
    Ok(())
}

/// The failures of each generation against its count. A generation also carries on, as they were, the failures of
/// sources that its sync did not read, and does not count them: so its count must be that of all sources but some
/// whose failures are those of the generation before it.
fn failures(conn: &Connection, claimed: &[(u64, u64)], findings: &mut Findings) -> Result<()> {
    let mut before = BTreeMap::new();
    for &(number, failed) in claimed {
        let mut by_source: BTreeMap<String, Vec<StoredFailure>> = BTreeMap::new();
        for failure in sources::failures(conn, number)? {
            by_source.entry(failure.source_id.clone()).or_default().push(failure);
        }
        let mut possible = BTreeSet::from([0]);
        for (source, failures) in &by_source {
            let count = failures.len() as u64;
            let carried = if before.get(source) == Some(failures) { possible.clone() } else { BTreeSet::new() };
            possible = possible.into_iter().map(|sum| sum + count).chain(carried).collect();
        }
        findings.expect(possible.contains(&failed), || {
            let listed: usize = by_source.values().map(Vec::len).sum();
            format!(
                "generation {number}: sync_failures lists {listed} failures, which does not fit its count of {failed}"
            )
        });
        before = by_source;
    }
    Ok(())
}

/// What is kept of a generation's change.
#[derive(Default)]
struct Summary {
    added: u64,
    removed: u64,
    changes: Vec<(DocumentId, Digest)>,
}

/// Reads the changes of all generations, one after the other.
fn summarise(conn: &Connection) -> Result<HashMap<u64, Summary>> {
    let mut summaries = HashMap::new();
    let mut current: Option<(u64, Change)> = None;
    let mut close = |finished: Option<(u64, Change)>| {
        if let Some((number, change)) = finished {
            let changes = change.documents.into_iter().map(|(id, change)| (id, change.digest())).collect();
            summaries.insert(number, Summary { added: change.added, removed: change.removed, changes });
        }
    };
    changes::for_each_by_generation(conn, |generation, sign, id, content| {
        if current.as_ref().is_none_or(|(number, _)| *number != generation) {
            close(current.take());
        }
        let (_, change) = current.get_or_insert_with(|| (generation, Change::default()));
        let document = change.documents.entry(id.document).or_default();
        match sign {
            Sign::Added => {
                change.added += 1;
                document.added.push((id, content));
            }
            Sign::Removed => {
                change.removed += 1;
                document.removed.push((id, content));
            }
        }
        Ok(())
    })?;
    close(current);
    Ok(summaries)
}

//! What each generation held, kept beside the store to compare its history with.

use std::collections::{BTreeMap, BTreeSet};

use ragdb::{ChangedChunk, ChangedDocument, Principal, Store, SyncReport};

use super::Tree;
use crate::world::rows;

/// A chunk's or document's id, and the generation that brought it.
type Ids = BTreeMap<String, u64>;

#[derive(Clone, Debug, Default)]
struct Published {
    tree: Tree,
    policy: usize,
    trust: usize,
    chunks: Ids,
    documents: Ids,
}

/// Generation n is at index n; index 0 is the empty store.
#[derive(Debug)]
pub struct History(Vec<Published>);

impl Default for History {
    fn default() -> Self {
        Self(vec![Published::default()])
    }
}

impl History {
    fn head(&self) -> &Published {
        self.0.last().expect("there is the empty store")
    }

    /// Compares a sync's report and rows with what changed.
    pub fn step(&mut self, store: &Store, report: &SyncReport, tree: &Tree, policy: usize, trust: usize) {
        let before = self.head();
        let number = self.0.len() as u64;
        let first = number == 1;
        let rebuilt = !first && before.policy != policy;
        let text = |tree: &Tree, path: &str| tree.get(path).map(super::Document::text);
        let kept = || tree.keys().filter(|path| before.tree.contains_key(*path));
        let updated = kept()
            .filter(|path| {
                let reviewed = |trust| super::is_reviewed(trust, path);
                rebuilt || text(tree, path) != text(&before.tree, path) || reviewed(trust) != reviewed(before.trust)
            })
            .count();
        let (added, deleted) = (tree.len() - kept().count(), before.tree.len() - kept().count());
        let published = added + updated + deleted > 0 || rebuilt;
        assert_eq!(report.published, published, "{report:?}");
        assert_eq!(report.rebuilt.is_empty(), !rebuilt, "{report:?}");
        let counted = [added, updated, deleted, kept().count() - updated, 0].map(|count| count as u64);
        let documents = report.documents;
        let reported = [documents.added, documents.updated, documents.deleted, documents.unchanged, documents.failed];
        assert_eq!(reported, counted, "documents added, updated, deleted, unchanged and failed");

        let live = Published {
            tree: tree.clone(),
            policy,
            trust,
            chunks: ids(store, "SELECT chunk_id, generation_added FROM chunks"),
            documents: ids(store, "SELECT document_id, generation_added FROM documents"),
        };
        check_births(&before.chunks, &live.chunks, number);
        check_births(&before.documents, &live.documents, number);
        check_tombstones(store, number, "chunk", &before.chunks, &live.chunks);
        check_tombstones(store, number, "document", &before.documents, &live.documents);
        let chunks = report.chunks;
        assert_eq!(chunks.added as usize, minus(&live.chunks, &before.chunks).len(), "chunks added");
        assert_eq!(chunks.removed as usize, minus(&before.chunks, &live.chunks).len(), "chunks removed");
        if !published {
            assert_eq!(live.chunks, before.chunks);
            assert_eq!(report.generation.unwrap_or(0), number - 1);
            return;
        }
        assert_eq!(report.generation, Some(number));
        let detail = store.show(&Principal::operator(), number).expect("the generation is there");
        assert_eq!(detail.generation.documents, report.documents);
        assert_eq!(detail.generation.chunks, report.chunks);
        assert_eq!(detail.changes.documents_updated.len(), updated);
        assert_eq!(store.log(&Principal::operator(), Some(1)).expect("a log"), [detail.generation]);
        self.0.push(live);
    }

    /// Every pair of generations: `diff` tells what came and what went.
    pub fn check_diffs(&self, store: &Store) {
        for from in 0..self.0.len() {
            for to in from..self.0.len() {
                let diff = store.diff(&Principal::operator(), from as u64, to as u64).expect("both are there");
                let (before, after) = (&self.0[from], &self.0[to]);
                let chunk = |changed: &[ChangedChunk]| set(changed.iter().map(|it| &it.chunk_id));
                let document = |changed: &[ChangedDocument]| set(changed.iter().map(|it| &it.document_id));
                let what = format!("{from} to {to}");
                assert_eq!(chunk(&diff.chunks_added), minus(&after.chunks, &before.chunks), "{what}");
                assert_eq!(chunk(&diff.chunks_removed), minus(&before.chunks, &after.chunks), "{what}");
                assert_eq!(document(&diff.documents_added), minus(&after.documents, &before.documents), "{what}");
                assert_eq!(document(&diff.documents_removed), minus(&before.documents, &after.documents), "{what}");
                assert_eq!(diff.chunks_added.len(), chunk(&diff.chunks_added).len(), "{what}");
                let updated = document(&diff.documents_updated);
                let changed =
                    diff.chunks_added.iter().chain(&diff.chunks_removed).map(|it| it.chunk_id[..32].to_owned());
                for id in changed.filter(|id| before.documents.contains_key(id) && after.documents.contains_key(id)) {
                    assert!(updated.contains(&id), "{what}: {id} has other chunks");
                }
            }
        }
        assert_eq!(store.log(&Principal::operator(), None).expect("a log").len(), self.0.len() - 1);
    }

    pub fn live_chunks(&self) -> impl Iterator<Item = &str> {
        self.head().chunks.keys().map(String::as_str)
    }

    pub fn dead_chunks(&self) -> impl Iterator<Item = String> {
        let all: BTreeSet<&String> = self.0.iter().flat_map(|it| it.chunks.keys()).collect();
        all.into_iter().filter(|id| !self.head().chunks.contains_key(*id)).cloned().collect::<Vec<_>>().into_iter()
    }
}

fn set<'a>(ids: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    ids.cloned().collect()
}

fn minus(from: &Ids, other: &Ids) -> BTreeSet<String> {
    set(from.keys().filter(|id| !other.contains_key(*id)))
}

fn ids(store: &Store, sql: &str) -> Ids {
    let rows = rows(store, sql);
    let count = rows.len();
    let ids: Ids = rows.into_iter().map(|row| (row[0].clone(), row[1].parse().expect("a number"))).collect();
    assert_eq!(ids.len(), count, "ids are not unique");
    ids
}

/// What was there keeps the generation that brought it; what is new has this one.
fn check_births(before: &Ids, after: &Ids, number: u64) {
    for (id, born) in after {
        assert_eq!(born, before.get(id).unwrap_or(&number), "{id}");
    }
}

/// Each id that is gone has one tombstone of this generation, and nothing else has.
fn check_tombstones(store: &Store, number: u64, kind: &str, before: &Ids, after: &Ids) {
    let buried = ids(
        store,
        &format!("SELECT id, generation_added FROM tombstones WHERE generation_deleted = {number} AND kind = '{kind}'"),
    );
    assert_eq!(set(buried.keys()), minus(before, after), "{kind} tombstones of generation {number}");
    for (id, born) in &buried {
        assert_eq!(born, &before[id], "{id}");
    }
}

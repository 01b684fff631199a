//! Random edits of a small tree, with a sync after each: the store is at every step what a fresh one would be, and
//! its history is what happened.

mod document;
mod history;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use ragdb::{
    Bm25Policy, CiteStatus, OptimizeRequest, Principal, SourceConfig, Store, SyncRequest, SyncSources, Trust,
    UnsafeScope,
};
use rstest::rstest;

use crate::embed::{Noting, embed};
use crate::world::{Content, World, answer, assert_sound, rows, value, write};
use document::{Block, Document, block, document, query, title, word};
use history::History;

/// Where documents can be. Two sources hold some equal paths: ties between them must be broken too.
const FILES: [&str; 9] = [
    "docs/a.md",
    "docs/b.md",
    "docs/guide/a.md",
    "docs/guide/b.mdx",
    "docs/退款.md",
    "more/a.md",
    "more/b.md",
    "more/guide/a.md",
    "more/Zz.MD",
];

/// One edit of the tree, or something that must not change it. Numbers choose among what is there.
#[derive(Clone, Debug)]
enum Edit {
    Write(usize, Document),
    Insert { file: usize, at: usize, block: Block },
    Remove { file: usize, at: usize },
    Repeat { file: usize, at: usize },
    Borrow { from: usize, to: usize, at: usize },
    Shuffle(usize),
    Delete(usize),
    Rename(usize, usize),
    Swap(usize, usize),
    Copy(usize, usize),
    Title(usize, Option<String>),
    Field(usize, Option<String>),
    Heading(usize, Option<String>),
    LineEnds(usize),
    Revert(usize),
    Touch(usize),
    Policy(usize),
    Trust(usize),
    Optimize,
    Reopen,
}

fn edit() -> impl Strategy<Value = Edit> {
    let file = || 0..FILES.len();
    let at = || 0..12_usize;
    prop_oneof![
        6 => (file(), document()).prop_map(|(file, document)| Edit::Write(file, document)),
        6 => (file(), at(), block()).prop_map(|(file, at, block)| Edit::Insert { file, at, block }),
        3 => (file(), at()).prop_map(|(file, at)| Edit::Remove { file, at }),
        3 => (file(), at()).prop_map(|(file, at)| Edit::Repeat { file, at }),
        2 => (file(), file(), at()).prop_map(|(from, to, at)| Edit::Borrow { from, to, at }),
        2 => file().prop_map(Edit::Shuffle),
        2 => file().prop_map(Edit::Delete),
        2 => (file(), file()).prop_map(|(from, to)| Edit::Rename(from, to)),
        2 => (file(), file()).prop_map(|(from, to)| Edit::Swap(from, to)),
        2 => (file(), file()).prop_map(|(from, to)| Edit::Copy(from, to)),
        2 => (file(), prop::option::of(title())).prop_map(|(file, title)| Edit::Title(file, title)),
        2 => (file(), prop::option::of(word())).prop_map(|(file, field)| Edit::Field(file, field)),
        2 => (file(), prop::option::of(title())).prop_map(|(file, heading)| Edit::Heading(file, heading)),
        1 => file().prop_map(Edit::LineEnds),
        3 => (0..30_usize).prop_map(Edit::Revert),
        1 => file().prop_map(Edit::Touch),
        2 => (0..POLICIES.len()).prop_map(Edit::Policy),
        2 => (0..TRUSTS).prop_map(Edit::Trust),
        1 => Just(Edit::Optimize),
        1 => Just(Edit::Reopen),
    ]
}

/// Target, most and overlapping characters, k1 and b, and the scope of the unsafe gate.
const POLICIES: [(u32, u32, u32, f64, f64, UnsafeScope); 6] = [
    (800, 1200, 120, 1.2, 0.75, UnsafeScope::Document),
    (800, 1200, 120, 1.2, 0.75, UnsafeScope::Chunk),
    (120, 120, 0, 1.2, 0.75, UnsafeScope::Document),
    (60, 90, 20, 1.2, 0.75, UnsafeScope::Chunk),
    (60, 90, 20, 1.2, 0.75, UnsafeScope::Document),
    (800, 1200, 120, 0.9, 0.4, UnsafeScope::Document),
];

/// Ways to trust: nothing, one source, the files `a.md` of both, one file of the other source.
const TRUSTS: usize = 4;

/// Whether a document is reviewed.
fn is_reviewed(trust: usize, path: &str) -> bool {
    match trust {
        1 => path.starts_with("docs/"),
        2 => path.ends_with("/a.md"),
        3 => path == "more/guide/a.md",
        _ => false,
    }
}

/// The documents at one time.
pub type Tree = BTreeMap<&'static str, Document>;

struct Model {
    world: World,
    store: Option<Store>,
    tree: Tree,
    policy: usize,
    trust: usize,
    trees: Vec<Tree>,
    history: History,
    noting: Noting,
}

impl Model {
    fn new(first: Vec<Document>) -> Self {
        let world = World::new(&[]);
        let tree = FILES.into_iter().step_by(2).zip(first).collect();
        let store = Some(world.store());
        let (trees, history, noting) = (Vec::new(), History::default(), Noting::new());
        let mut model = Self { world, store, tree, policy: 0, trust: 0, trees, history, noting };
        model.write_tree(&Tree::new());
        model
    }

    fn store(&self) -> &Store {
        self.store.as_ref().expect("the store is open")
    }

    fn request(&self) -> SyncRequest {
        let (target, max, overlap, k1, b, unsafe_scope) = POLICIES[self.policy];
        let mut sources = ["docs", "more"].map(|name| {
            let config = SourceConfig::for_folder(self.world.path().join(name)).expect("the folder is there");
            let reviewed = match self.trust {
                2 => vec!["**/a.md".into()],
                3 if name == "more" => vec!["guide/a.md".into()],
                _ => Vec::new(),
            };
            SourceConfig { reviewed, ..config }
        });
        if self.trust == 1 {
            sources[0].trust = Trust::Reviewed;
        }
        SyncRequest {
            sources: SyncSources::Config(ragdb::Config { sources: sources.to_vec(), ..ragdb::Config::default() }),
            chunking: ragdb::ChunkSettings {
                target_chars: Some(target),
                max_chars: Some(max),
                overlap_chars: Some(overlap),
            },
            bm25: Some(Bm25Policy { k1, b }),
            unsafe_scope: Some(unsafe_scope),
            // Everything is deleted now and then.
            max_delete: Some(100),
            ..SyncRequest::default()
        }
    }

    /// Makes the folder what the tree is.
    fn write_tree(&mut self, before: &Tree) {
        let root = self.world.path();
        for folder in ["docs", "more"] {
            std::fs::create_dir_all(root.join(folder)).expect("a folder is made");
        }
        for (path, document) in &self.tree {
            if before.get(path) != Some(document) {
                write(&root.join(path), document.text().as_bytes());
            }
        }
        for path in before.keys().filter(|path| !self.tree.contains_key(*path)) {
            std::fs::remove_file(root.join(path)).expect("the file is there");
        }
    }

    fn apply(&mut self, edit: Edit) {
        let before = self.tree.clone();
        let tree = &mut self.tree;
        let change = |tree: &mut Tree, file: usize, change: &dyn Fn(&mut Document)| {
            tree.get_mut(FILES[file]).into_iter().for_each(change);
        };
        match edit {
            Edit::Write(file, document) => drop(tree.insert(FILES[file], document)),
            Edit::Insert { file, at, block } => change(tree, file, &|it| it.insert(at, block.clone())),
            Edit::Remove { file, at } => change(tree, file, &|it| it.remove(at)),
            Edit::Repeat { file, at } => change(tree, file, &|it| it.repeat(at)),
            Edit::Borrow { from, to, at } => {
                let block = before.get(FILES[from]).and_then(|it| it.block(at));
                block.into_iter().for_each(|block| change(tree, to, &|it| it.insert(at, block.clone())));
            }
            Edit::Shuffle(file) => change(tree, file, &|it| it.blocks.reverse()),
            Edit::Delete(file) => drop(tree.remove(FILES[file])),
            Edit::Rename(from, to) => {
                tree.remove(FILES[from]).into_iter().for_each(|it| drop(tree.insert(FILES[to], it)));
            }
            Edit::Swap(a, b) => {
                let (was_a, was_b) = (tree.remove(FILES[a]), tree.remove(FILES[b]));
                was_a.into_iter().for_each(|it| drop(tree.insert(FILES[b], it)));
                was_b.into_iter().for_each(|it| drop(tree.insert(FILES[a], it)));
            }
            Edit::Copy(from, to) => {
                before.get(FILES[from]).into_iter().for_each(|it| drop(tree.insert(FILES[to], it.clone())));
            }
            Edit::Title(file, title) => change(tree, file, &|it| it.title.clone_from(&title)),
            Edit::Field(file, field) => change(tree, file, &|it| it.field.clone_from(&field)),
            Edit::Heading(file, heading) => change(tree, file, &|it| it.heading.clone_from(&heading)),
            Edit::LineEnds(file) => change(tree, file, &|it| it.crlf = !it.crlf),
            Edit::Revert(step) => {
                if !self.trees.is_empty() {
                    self.tree = self.trees[step % self.trees.len()].clone();
                }
            }
            Edit::Touch(file) => {
                if let Some(document) = tree.get(FILES[file]) {
                    write(&self.world.path().join(FILES[file]), document.text().as_bytes());
                }
            }
            Edit::Policy(policy) => self.policy = policy,
            Edit::Trust(trust) => self.trust = trust,
            Edit::Optimize => drop(self.store().optimize(&OptimizeRequest::default()).expect("the store is optimised")),
            Edit::Reopen => {
                self.store = None;
                self.store = Some(self.world.store());
            }
        }
        self.write_tree(&before);
        self.trees.push(before);
    }

    /// Syncs and checks what happened against what is known.
    fn step(&mut self) {
        let known = rows(self.store(), "SELECT DISTINCT chunk_no >> 32, hex(composition_digest) FROM embeddings");
        let report = self.store().sync(&self.request()).expect("the sync succeeds");
        self.check_vectors(&known.into_iter().collect());
        let store = self.store.as_ref().expect("the store is open");
        self.history.step(store, &report, &self.tree, self.policy, self.trust);
        check_rows(store);
        self.check_gate();
        self.check_citations();
        let again = self.store().sync(&self.request()).expect("the sync succeeds");
        assert!(!again.published, "nothing changed: {again:?}");
        assert_eq!(again.generation, report.generation);
    }

    /// Chunks have the vectors that compositions of their access class, `known`, had before the sync, and the model is asked
    /// for what is left, once each.
    fn check_vectors(&self, known: &BTreeSet<Vec<String>>) {
        let sql = "SELECT c.chunk_no >> 32, upper(c.composition_hash), e.vector IS NOT NULL FROM chunks c \
                   LEFT JOIN embeddings e USING (chunk_no) WHERE c.token_count > 0";
        let (have, lack): (Vec<_>, Vec<_>) = rows(self.store(), sql).into_iter().partition(|row| row[2] == "1");
        assert!(have.iter().all(|row| known.contains(&row[..2].to_vec())), "a vector of nothing");
        assert!(!lack.iter().any(|row| known.contains(&row[..2].to_vec())), "a vector was lost");
        let had: BTreeSet<&String> = have.iter().map(|row| &row[1]).collect();
        let asked: BTreeSet<&String> = lack.iter().map(|row| &row[1]).filter(|hash| !had.contains(hash)).collect();
        let report = embed(self.store(), &self.noting).expect("all is embedded");
        assert!(report.is_ready, "{report:?}");
        assert_eq!(self.noting.take().len(), asked.len());
    }

    /// What is unsafe is what has an attack in it and is not reviewed, as far as the scope reaches.
    fn check_gate(&self) {
        let (.., scope) = POLICIES[self.policy];
        let sql = "SELECT s.source_id || '/' || d.path, c.unsafe_reason IS NOT NULL, c.text, c.heading_path, d.title, \
                   d.trust FROM chunks c JOIN documents d USING (document_no) JOIN sources s USING (source_no)";
        for row in rows(self.store(), sql) {
            let [path, found, text, headings, title, trust] = &row[..] else { panic!("six columns") };
            let reviewed = is_reviewed(self.trust, path);
            assert_eq!(trust == "reviewed", reviewed, "{path}");
            let attacked = |text: &str| text.replace("\r\n", " ").contains(document::ATTACK);
            let around = match scope {
                UnsafeScope::Document => attacked(&self.tree[path.as_str()].text()),
                UnsafeScope::Chunk => attacked(text) || attacked(headings) || attacked(title),
            };
            assert_eq!(found == "1", around && !reviewed, "{path} {scope:?}: {text:?}");
        }
    }

    /// Each live chunk stands in its file, each deleted one is known as deleted.
    fn check_citations(&self) {
        let sql = "SELECT chunk_id, source_id || '/' || path, start_byte, end_byte, text FROM provenance";
        for row in rows(self.store(), sql) {
            let text = self.tree[row[1].as_str()].text();
            let (start, end): (usize, usize) = (row[2].parse().expect("a number"), row[3].parse().expect("a number"));
            assert_eq!(text[start..end], row[4], "{}", row[0]);
        }
        for id in self.history.live_chunks().take(3) {
            let cited = self.store().cite(&Principal::operator(), id).expect("it is a chunk id");
            assert_eq!(cited.status, CiteStatus::Current, "{cited:?}");
        }
        for id in self.history.dead_chunks().take(3) {
            let cited = self.store().cite(&Principal::operator(), &id).expect("it is a chunk id");
            assert_eq!(cited.status, CiteStatus::Deleted, "{cited:?}");
            assert_eq!(cited.text, None);
        }
    }

    /// The store is what a fresh one on the same folder would be.
    fn check_against_fresh(&self, queries: &[String]) {
        if self.tree.is_empty() {
            // A first sync of nothing publishes nothing.
            assert_eq!(self.store().status(&Principal::operator()).expect("a status").documents, 0);
            return;
        }
        let path = self.world.path().join("fresh.db");
        let fresh = Store::create(&path).expect("a fresh store");
        fresh.sync(&self.request()).expect("the sync succeeds");
        embed(&fresh, &Noting::new()).expect("all is embedded");
        Content::of(self.store()).assert_equals(&Content::of(&fresh), "incremental and fresh");
        assert_eq!(postings(self.store()), postings(&fresh));
        assert_eq!(vectors(self.store()), vectors(&fresh));
        assert_sound(self.store());
        for query in queries {
            for floor in [None, Some(0.0)] {
                assert_eq!(answer(self.store(), query, floor), answer(&fresh, query, floor), "{query} at {floor:?}");
            }
        }
        drop(fresh);
        remove_store(&path);
    }
}

/// Every posting of a live chunk, as plain SQL decodes it.
fn postings(store: &Store) -> Vec<Vec<String>> {
    let sql = "SELECT term, chunk_id, tf FROM audit_postings WHERE chunk_id IS NOT NULL ORDER BY term, chunk_id";
    rows(store, sql)
}

/// Every vector.
fn vectors(store: &Store) -> Vec<Vec<String>> {
    rows(store, "SELECT model, state, chunk_id, current, vector FROM audit_embeddings ORDER BY chunk_id")
}

/// What must hold among the rows of any store.
fn check_rows(store: &Store) {
    let none = |what: &str, sql: &str| {
        let found = rows(store, sql);
        assert!(found.is_empty(), "{what}: {found:?}");
    };
    none(
        "equal texts in a document are numbered from 0 in their order",
        "SELECT chunk_id FROM (
           SELECT chunk_id, repeat,
             row_number() OVER (PARTITION BY document_no, content_hash ORDER BY chunk_index) - 1 AS nth FROM chunks
         ) WHERE repeat <> nth",
    );
    none(
        "chunks are numbered from 0 in their document",
        "SELECT document_no FROM chunks GROUP BY document_no
         HAVING min(chunk_index) <> 0 OR max(chunk_index) <> count(*) - 1",
    );
    none("a generation is not linked", "SELECT generation FROM audit_chain WHERE NOT linked");
    none(
        "generations have gaps",
        "SELECT generation FROM generations WHERE generation <> 1 AND parent IS NOT generation - 1",
    );
    none(
        "the kept length is the counted one",
        "SELECT c.chunk_id, c.token_count, l.length FROM chunks c LEFT JOIN audit_lengths l USING (chunk_no)
         WHERE min(c.token_count, 65535) <> coalesce(l.length, 0)",
    );
    none(
        "an unsafe chunk has postings",
        "SELECT chunk_id FROM chunks WHERE unsafe_reason IS NOT NULL AND token_count <> 0",
    );
    none(
        "a reason is no finding of the document",
        "SELECT chunk_id FROM chunks c WHERE unsafe_reason IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM unsafe_findings f WHERE f.document_no = c.document_no
             AND f.rule = c.unsafe_reason ->> 'rule' AND f.start_line = c.unsafe_reason ->> 'line'
             AND f.start_byte = c.unsafe_reason ->> 'start_byte' AND f.end_byte = c.unsafe_reason ->> 'end_byte'
         )",
    );
    let average = store.status(&Principal::operator()).expect("a status");
    assert_eq!(average.indexed_chunks.to_string(), value(store, "SELECT count(*) FROM chunks WHERE token_count > 0"));
}

fn remove_store(path: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let path = format!("{}{suffix}", path.display());
        let _ = std::fs::remove_file(path);
    }
}

/// Runs `cases` random histories of up to `edits` edits each.
fn run(cases: u32, edits: usize) {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 60, ..Config::default() };
    let input = (
        prop::collection::vec(document(), 1..5),
        prop::collection::vec(edit(), 1..edits),
        prop::collection::vec(query(), 12),
    );
    let outcome = TestRunner::new(config).run(&input, |(first, edits, queries)| {
        let mut model = Model::new(first);
        model.step();
        for (index, edit) in edits.into_iter().enumerate() {
            model.apply(edit);
            model.step();
            if index % 5 == 4 {
                model.check_against_fresh(&queries[..4]);
            }
        }
        model.check_against_fresh(&queries);
        model.history.check_diffs(model.store());
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn promise_12_a_synced_store_equals_a_fresh_one() {
    run(16, 14);
}

#[test]
#[ignore = "long form: a few minutes"]
fn promise_12_a_synced_store_equals_a_fresh_one_over_many_histories() {
    let cases = std::env::var("RAGDB_MODEL_CASES").ok().and_then(|cases| cases.parse().ok());
    run(cases.unwrap_or(200), 40);
}

#[rstest]
#[case::place("UPDATE chunk_rows SET start_line = start_line + 1")]
#[case::title("UPDATE documents SET title = title || '.'")]
#[case::length("UPDATE chunk_lengths SET lengths = zeroblob(length(lengths))")]
#[case::postings("UPDATE terms SET base = base + 1")]
fn promise_12_a_store_that_differs_is_noticed(#[case] sql: &str) {
    let mut document = document().new_tree(&mut TestRunner::deterministic()).expect("a document").current();
    document.insert(0, Block::Paragraph(vec!["marker".into()]));
    let mut model = Model::new(vec![document]);
    model.step();
    model.check_against_fresh(&["marker".into()]);
    let conn = rusqlite::Connection::open(model.store().path()).expect("it opens");
    assert!(conn.execute(sql, []).expect("it runs") > 0);
    let compared =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| model.check_against_fresh(&["marker".into()])));
    assert!(compared.is_err(), "not noticed: {sql}");
}

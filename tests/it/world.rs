//! A folder with documents and a store, and ways to look at what is in the store.

use std::fs;
use std::path::{Path, PathBuf};

use ragdb::{CheckRequest, Principal, SearchRequest, SqlValue, Store, SyncReport, SyncRequest, SyncSources};
use tempfile::TempDir;

/// A temporary folder with the sources `docs` and, where asked for, others, and a store beside them.
pub struct World {
    folder: TempDir,
}

impl World {
    /// A world whose source `docs` has these files.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let world = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        fs::create_dir(world.docs()).expect("a folder is made");
        for (path, text) in files {
            world.write(path, text);
        }
        world
    }

    /// A world with three documents, in English and Chinese, published as generation 1.
    pub fn synced() -> Self {
        let world = Self::new(&[
            (
                "guide/keys.md",
                "# Keys\n\nA key opens the store.\n\n## Rotating a key\n\nRotate a key every 90 days.\n\n## \
                 Revoking\n\nA revoked key fails with error `E42`.\n",
            ),
            ("guide/limits.md", "# Limits\n\nA request may be 4 MB.\nA key may be used 100 times a minute.\n"),
            ("zh/keys.md", "# 密钥\n\n密钥每九十天轮换一次。\n\n## 撤销\n\n撤销的密钥返回错误 `E42`。\n"),
        ]);
        assert_eq!(world.sync().generation, Some(1));
        world
    }

    /// The folder that holds everything.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of the source `docs`.
    pub fn docs(&self) -> PathBuf {
        self.path().join("docs")
    }

    /// The store's file.
    pub fn db(&self) -> PathBuf {
        self.path().join("ragdb.db")
    }

    /// Writes a file below `docs`, and the folders above it.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        write(&self.docs().join(path), text.as_ref());
    }

    /// Removes a file below `docs`.
    pub fn remove(&self, path: &str) {
        fs::remove_file(self.docs().join(path)).expect("the file is there");
    }

    /// The store, made where there is none.
    pub fn store(&self) -> Store {
        Store::open_or_create(self.db()).expect("the store opens")
    }

    /// A request to sync `docs`.
    pub fn request(&self) -> SyncRequest {
        SyncRequest { sources: SyncSources::Folders(vec![self.docs()]), ..SyncRequest::default() }
    }

    /// Syncs `docs`, which must succeed.
    pub fn sync(&self) -> SyncReport {
        self.store().sync(&self.request()).expect("the sync succeeds")
    }
}

/// Writes a file, and the folders above it.
pub fn write(path: &Path, text: &[u8]) {
    fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders are made");
    fs::write(path, text).expect("the file is written");
}

/// The rows of a query, each value as text.
pub fn rows(store: &Store, sql: &str) -> Vec<Vec<String>> {
    let text = |value: SqlValue| match value {
        SqlValue::Null => "NULL".to_owned(),
        SqlValue::Integer(number) => number.to_string(),
        SqlValue::Real(number) => format!("{number:?}"),
        SqlValue::Text(text) => text,
        SqlValue::Blob(bytes) => format!("{bytes:02x?}"),
    };
    let result = store.sql(&Principal::operator(), sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    result.rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect()
}

/// The first value of the first row of a query.
pub fn value(store: &Store, sql: &str) -> String {
    rows(store, sql)[0][0].clone()
}

/// All that must be equal in two stores of equal folders under equal settings: not internal numbers, generations,
/// stamps and revisions.
#[derive(Debug, PartialEq)]
pub struct Content {
    documents: Vec<Vec<String>>,
    chunks: Vec<Vec<String>>,
    findings: Vec<Vec<String>>,
    terms: Vec<Vec<String>>,
    lengths: Vec<Vec<String>>,
}

impl Content {
    /// Reads it from a store.
    pub fn of(store: &Store) -> Self {
        Self {
            documents: rows(
                store,
                "SELECT s.source_id, d.path, d.document_id, d.title, d.lang, d.content_hash, d.size_bytes, d.lines, \
                 d.front_matter, d.trust FROM documents d JOIN sources s USING (source_no) ORDER BY s.source_id, d.path",
            ),
            chunks: rows(
                store,
                "SELECT s.source_id, d.path, c.chunk_index, c.chunk_id, c.start_line, c.end_line, c.start_byte, \
                 c.end_byte, c.token_count, c.heading_only, c.content_hash, c.composition_hash, c.heading_path, c.text, \
                 c.unsafe_reason \
                 FROM chunks c JOIN documents d USING (document_no) JOIN sources s USING (source_no) \
                 ORDER BY s.source_id, d.path, c.chunk_index",
            ),
            findings: rows(
                store,
                "SELECT d.document_id, f.finding_no, f.rule, f.start_line, f.end_line, f.start_byte, f.end_byte \
                 FROM unsafe_findings f JOIN documents d USING (document_no) ORDER BY d.document_id, f.finding_no",
            ),
            terms: rows(store, "SELECT term, df FROM audit_terms ORDER BY term"),
            lengths: rows(
                store,
                "SELECT coalesce(c.chunk_id, 'chunk ' || l.chunk_no), l.length FROM audit_lengths l \
                 LEFT JOIN chunks c USING (chunk_no) ORDER BY 1",
            ),
        }
    }

    /// Panics with the first difference.
    pub fn assert_equals(&self, other: &Self, what: &str) {
        for (name, ours, theirs) in [
            ("documents", &self.documents, &other.documents),
            ("chunks", &self.chunks, &other.chunks),
            ("findings", &self.findings, &other.findings),
            ("terms", &self.terms, &other.terms),
            ("lengths", &self.lengths, &other.lengths),
        ] {
            for (ours, theirs) in ours.iter().zip(theirs) {
                assert_eq!(ours, theirs, "{what}: {name}");
            }
            assert_eq!(ours.len(), theirs.len(), "{what}: rows of {name}");
        }
    }
}

/// Everything of a search's answer that must not depend on how a store came to be, one text for each hit.
pub fn answer(store: &Store, query: &str, floor: Option<f64>) -> Vec<String> {
    let request = SearchRequest { floor, top_k: 20, explain: true, ..SearchRequest::new(query) };
    let result = store.search(&Principal::operator(), &request).unwrap_or_else(|error| panic!("{query}: {error}"));
    let hit = |hit: &ragdb::Hit| {
        format!(
            "{} {:016x} {} {}:{} {:?} {:?} {:?} {:?} {:?}",
            hit.rank,
            hit.score.to_bits(),
            hit.chunk_id,
            hit.source_id,
            hit.citation(),
            hit.title,
            hit.heading_path,
            hit.highlights,
            hit.text,
            hit.explanation
        )
    };
    let mut lines: Vec<String> = result.hits.iter().map(hit).collect();
    lines.extend(result.refused.iter().map(|refusal| format!("{refusal:?}")));
    lines.push(format!("{:?}", result.terms));
    lines
}

/// `check` finds nothing wrong, its sources and a fresh build included.
pub fn assert_sound(store: &Store) {
    let report = store.check(&CheckRequest { deep: true, sources: true }).expect("the check runs");
    let failed: Vec<_> = report.checks.iter().filter(|check| !check.ok).collect();
    assert!(report.ok && failed.is_empty(), "{failed:#?}");
}

//! Real documentation: versions of it synced one over the other, and files that are hard to read. The data lies beside
//! the repository; where it is missing, a test says so and does nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ragdb::{ChunkSettings, OptimizeRequest, Principal, Store, SyncRequest, SyncSources};
use rstest::rstest;

use crate::support::data_set as data;
use crate::world::{Content, World, answer, assert_sound, rows, value};

/// Makes `to` a copy of `from`. Equal files are left alone.
fn mirror(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder is made");
    let names = |folder: &Path| -> Vec<_> {
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect()
    };
    for name in names(to).into_iter().filter(|name| fs::symlink_metadata(from.join(name)).is_err()) {
        let gone = to.join(name);
        if gone.is_dir() { fs::remove_dir_all(gone) } else { fs::remove_file(gone) }.expect("it is removed");
    }
    for name in names(from) {
        let (source, target) = (from.join(&name), to.join(&name));
        if source.is_dir() {
            mirror(&source, &target);
        } else {
            let text = fs::read(&source).expect("a file");
            if fs::read(&target).ok().as_ref() != Some(&text) {
                fs::write(&target, text).expect("the file is written");
            }
        }
    }
}

/// Syncs one version over another and compares with a fresh store of each.
fn replay(folder: &Path, queries: &[&str]) {
    let mut versions: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|it| it.expect("an entry").path()).collect();
    versions.retain(|version| version.is_dir());
    versions.sort();
    assert!(versions.len() > 2, "{versions:?}");
    let world = World::new(&[]);
    let store = world.store();
    let request = SyncRequest { max_delete: Some(u64::MAX), keep_going: true, ..world.request() };
    for (index, version) in versions.iter().enumerate() {
        mirror(version, &world.docs());
        let version = version.file_name().expect("a name").to_string_lossy();
        let report = store.sync(&request).expect("the sync succeeds");
        assert_eq!(report.generation, Some(index as u64 + 1), "{version}: {report:?}");
        if index > 0 {
            assert!(report.chunks.reused > 0 && report.documents.unchanged > 0, "{report:?}");
        }
        let path = world.path().join(format!("{version}.db"));
        let fresh = Store::create(&path).expect("a fresh store");
        fresh.sync(&request).expect("the sync succeeds");
        Content::of(&store).assert_equals(&Content::of(&fresh), &version);
        for query in queries {
            for floor in [None, Some(0.0)] {
                assert_eq!(answer(&store, query, floor), answer(&fresh, query, floor), "{version}: {query}");
            }
        }
        let detail = store.show(&Principal::operator(), index as u64 + 1).expect("the generation is there");
        assert_eq!(detail.changes.chunks_added.len() as u64, report.chunks.added);
        assert_eq!(detail.changes.chunks_removed.len() as u64, report.chunks.removed);
        assert_eq!(detail.changes.documents_updated.len() as u64, report.documents.updated);
    }
    let before = Content::of(&store);
    let answers = |store: &Store| queries.iter().map(|query| answer(store, query, None)).collect::<Vec<_>>();
    let found = answers(&store);
    assert!(found.iter().any(|lines| lines.len() > 1), "nothing is found at all");
    store.optimize(&OptimizeRequest::default()).expect("the store is optimised");
    before.assert_equals(&Content::of(&store), "after optimising");
    assert_eq!(answers(&store), found);
    assert_sound(&store);
    assert_eq!(value(&store, "SELECT integrity_check FROM pragma_integrity_check"), "ok");
}

#[test]
fn versions_of_the_rust_book() {
    let Some(folder) = data("docs-small", "C_docs/small-rust-book") else { return };
    let queries =
        ["ownership and borrowing", "\"trait object\"", "String::from", "cargo +build -test", "unsafe path:ch2*"];
    replay(&folder, &queries);
}

#[test]
#[ignore = "long form: a minute or more"]
fn versions_of_chinese_documentation() {
    let Some(folder) = data("docs-medium", "C_docs/medium-docs-cn") else { return };
    let queries =
        ["如何备份数据库", "\"TiDB 集群\"", "tidb_mem_quota_query", "索引 +创建 -删除", "升级 path:*upgrade*"];
    replay(&folder, &queries);
}

#[test]
#[ignore = "long form: some minutes"]
fn versions_of_the_cpp_documentation() {
    let Some(folder) = data("docs-large", "C_docs/large-cpp-docs") else { return };
    let queries =
        ["how to use std::vector", "\"linker error\"", "C2065", "/EHsc +exception -async", "CString heading:members"];
    replay(&folder, &queries);
}

#[rstest]
#[case(900, 13)]
#[case(120, 21)]
fn the_seeds_fixtures_give_the_chunks_that_it_says(#[case] max_chars: u32, #[case] chunks: u64) {
    let Some(folder) = data("s0-fixtures", "S0_fixtures/corpus") else { return };
    let world = World::new(&[]);
    mirror(&folder, &world.docs());
    let chunking = ChunkSettings { max_chars: Some(max_chars), target_chars: Some(max_chars), overlap_chars: Some(0) };
    let report = world.store().sync(&SyncRequest { chunking, ..world.request() }).unwrap();
    assert_eq!((report.documents.added, report.chunks.added), (4, chunks));
}

/// What becomes of each file that was made to be hard to read; all others are indexed.
const REFUSED: &[(&str, &str)] = &[
    ("empty.md", "empty"),
    ("front-matter-unclosed.md", "front_matter_unclosed"),
    ("ja-shiftjis.md", "not_utf8"),
    ("latin1.md", "not_utf8"),
    ("nul-bytes.md", "nul_byte"),
    ("only-bom.md", "empty"),
    ("only-front-matter.md", "empty"),
    ("tw-big5.md", "not_utf8"),
    ("whitespace.md", "empty"),
    ("zh-gb18030.md", "not_utf8"),
    ("zh-truncated-mid-codepoint.md", "not_utf8"),
    ("zh-utf16be-bom.md", "not_utf8"),
    ("zh-utf16le-bom.md", "not_utf8"),
];

#[test]
fn files_that_were_made_to_be_hard() {
    let Some(folder) = data("awkward", "G_awkward/made") else { return };
    let world = World::new(&[]);
    mirror(&folder, &world.docs());
    let store = world.store();
    let report = store.sync(&SyncRequest { keep_going: true, ..world.request() }).unwrap();
    let refused: BTreeMap<&str, &str> = report.failures.iter().map(|it| (it.path.as_str(), it.code)).collect();
    assert_eq!(refused, REFUSED.iter().copied().collect());
    assert!(report.failures.iter().all(|failure| !failure.message.is_empty()));
    let files = fs::read_dir(&folder).unwrap().count();
    assert_eq!(report.documents.added as usize, files - REFUSED.len());
    check_text(&store, &folder);
    assert!(!store.sync(&SyncRequest { keep_going: true, ..world.request() }).unwrap().published);

    // All of it goes again, the long lines too.
    for (index, entry) in fs::read_dir(world.docs()).unwrap().enumerate() {
        let path = entry.unwrap().path();
        if index % 2 == 0 { fs::remove_file(path) } else { fs::write(path, format!("# Edited\n\nText {index}.\n")) }
            .unwrap();
    }
    let request = SyncRequest { max_delete: Some(100), ..world.request() };
    store.sync(&request).unwrap();
    let fresh = Store::create(world.path().join("fresh.db")).unwrap();
    fresh.sync(&request).unwrap();
    Content::of(&store).assert_equals(&Content::of(&fresh), "after the edits");
    assert_eq!(rows(&store, "SELECT path FROM audit_stale"), Vec::<Vec<String>>::new());
}

#[rstest]
#[case("G_awkward/real_dev")]
#[case("G_awkward/commonmark-spec")]
fn awkward_files_of_real_projects(#[case] name: &str) {
    let Some(folder) = data("awkward", name) else { return };
    let store_folder = tempfile::tempdir().unwrap();
    let store = Store::create(store_folder.path().join("it.db")).unwrap();
    let sources = SyncSources::Folders(vec![folder.clone()]);
    let request = SyncRequest { sources, keep_going: true, ..SyncRequest::default() };
    let report = store.sync(&request).unwrap();
    assert!(report.documents.added > 0);
    let codes: BTreeMap<&str, usize> = report.failures.iter().fold(BTreeMap::new(), |mut codes, failure| {
        *codes.entry(failure.code).or_default() += 1;
        codes
    });
    println!("{name}: {} documents, {} chunks, refused: {codes:?}", report.documents.added, report.chunks.added);
    let known: Vec<&str> = ragdb::FAILURE_CODES.iter().map(|(code, _)| *code).collect();
    assert!(codes.keys().all(|code| known.contains(code)), "{codes:?}");
    check_text(&store, &folder);
}

/// Each chunk is, byte for byte and line for line, what its file has there.
fn check_text(store: &Store, folder: &Path) {
    let sql =
        "SELECT path, start_byte, end_byte, start_line, text, chunk_id FROM provenance ORDER BY path, chunk_index";
    let (mut path, mut bytes, mut at, mut line) = (String::new(), Vec::new(), 0, 1);
    for row in rows(store, sql) {
        if path != row[0] {
            path.clone_from(&row[0]);
            bytes = fs::read(folder.join(&path)).unwrap();
            (at, line) = (0, 1);
        }
        let [start, end, starts_on] = [1, 2, 3].map(|column| row[column].parse::<usize>().unwrap());
        assert!(bytes[start..end] == *row[4].as_bytes(), "{} of {path}", row[5]);
        // Overlapping chunks begin before the last one ended, but never before it began.
        for index in at..start {
            let ends = bytes[index] == b'\n' || (bytes[index] == b'\r' && bytes.get(index + 1) != Some(&b'\n'));
            line += usize::from(ends);
        }
        at = start;
        assert_eq!(line, starts_on, "{} of {path}", row[5]);
    }
}

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use rstest::rstest;

use super::DeletionLimit::{Default, Standing, ThisSync};
use super::*;
use crate::ingest::code;
use crate::model::{Digest, Stamps};

fn stamps(version: i64) -> Stamps {
    Stamps { size: 10, mtime_ns: version, ctime_ns: version, inode: 7 }
}

fn found(path: &str, version: i64) -> FoundFile {
    FoundFile { path: path.into(), stamps: stamps(version) }
}

fn stored(path: &str, version: Option<i64>) -> StoredDocument {
    StoredDocument {
        document_no: 1,
        class_no: 1,
        path: path.into(),
        stamps: version.map(stamps),
        content_hash: Digest::of(path),
    }
}

fn failure(path: &str) -> Failure {
    let (path, message) = (path.into(), "can't be read".into());
    Failure { source_id: "docs".into(), path, code: code::UNREADABLE, message }
}

fn listing(files: &[(&str, i64)], failures: &[&str]) -> Listing {
    Listing {
        files: files.iter().map(|(path, version)| found(path, *version)).collect(),
        failures: failures.iter().map(|path| failure(path)).collect(),
        empty_folders: Vec::new(),
    }
}

/// The plan in words: one line for each file and document.
fn words(plan: &SourcePlan) -> Vec<String> {
    let mut words: Vec<String> = plan.new.iter().map(|file| format!("new {}", file.path)).collect();
    words.extend(plan.suspect.iter().map(|suspect| format!("suspect {}", suspect.file.path)));
    for (list, name) in [(&plan.unchanged, "unchanged"), (&plan.deleted, "deleted"), (&plan.kept, "kept")] {
        words.extend(list.iter().map(|document| format!("{name} {}", document.path)));
    }
    words
}

#[rstest]
#[case::first(&[("a", 1), ("b", 1)], &[], &[], &["new a", "new b"])]
#[case::same(&[("a", 1)], &[], &[("a", Some(1))], &["unchanged a"])]
#[case::touched(&[("a", 2)], &[], &[("a", Some(1))], &["suspect a"])]
#[case::racy(&[("a", 1)], &[], &[("a", None)], &["suspect a"])]
#[case::gone(&[("b", 1)], &[], &[("a", Some(1)), ("b", Some(1)), ("c", None)], &["unchanged b", "deleted a", "deleted c"])]
#[case::renamed(&[("b", 1)], &[], &[("a", Some(1))], &["new b", "deleted a"])]
#[case::failed(&[], &["a"], &[("a", Some(1))], &["kept a"])]
#[case::folder_failed(&[("d/x/a", 1)], &["d"], &[("d/x/a", Some(1)), ("d/x/b", Some(1)), ("d2/c", None)],
    &["unchanged d/x/a", "deleted d2/c", "kept d/x/b"])]
#[case::root_failed(&[], &["."], &[("a", Some(1)), ("d/b", None)], &["kept a", "kept d/b"])]
#[case::failure_elsewhere(&[], &["d/a"], &[("d/ab", None), ("d/b", None)], &["deleted d/ab", "deleted d/b"])]
#[case::respelled(&[("cafe\u{301}", 1), ("z", 1)], &[], &[("caf\u{e9}", Some(1)), ("\u{e9}", None), ("z", Some(1))],
    &["suspect cafe\u{301}", "unchanged z", "deleted \u{e9}"])]
#[case::respelled_and_failed(&[], &["cafe\u{301}/a"], &[("caf\u{e9}/a", Some(1))], &["kept caf\u{e9}/a"])]
fn plans(
    #[case] files: &[(&str, i64)],
    #[case] failures: &[&str],
    #[case] documents: &[(&str, Option<i64>)],
    #[case] expected: &[&str],
) {
    let documents: Vec<_> = documents.iter().map(|(path, version)| stored(path, *version)).collect();
    let plan = plan(listing(files, failures), documents, false);
    assert_eq!(words(&plan), expected);
    assert_eq!(plan.failures.len(), failures.len());
}

#[test]
fn rereading_trusts_no_stamp() {
    let plan = plan(listing(&[("a", 1), ("b", 1)], &[]), vec![stored("a", Some(1))], true);
    assert_eq!(words(&plan), ["new b", "suspect a"]);
}

/// A plan of `stored` documents of which the first `deleted` are gone and the others unchanged.
fn losing(deleted: usize, stored_count: usize) -> SourcePlan {
    let name = |at: usize| format!("d{at:03}");
    let files: Vec<_> = (deleted..stored_count).map(|at| found(&name(at), 1)).collect();
    let documents = (0..stored_count).map(|at| stored(&name(at), Some(1))).collect();
    plan(Listing { files, ..Listing::default() }, documents, false)
}

#[rstest]
#[case::few_documents(losing(8, 9), Default, None)]
#[case::under_half(losing(4, 10), Default, None)]
#[case::half(losing(5, 10), Default, Some("too_many_deletions"))]
#[case::under_half_of_odd(losing(5, 11), Default, None)]
#[case::nearly_all(losing(99, 100), Default, Some("too_many_deletions"))]
#[case::allowed(losing(5, 10), ThisSync(5), None)]
#[case::one_too_many(losing(5, 10), ThisSync(4), Some("too_many_deletions"))]
#[case::none_allowed(losing(1, 100), ThisSync(0), Some("too_many_deletions"))]
#[case::empty(losing(3, 3), Default, Some("root_empty"))]
#[case::empty_allowed(losing(3, 3), ThisSync(3), None)]
#[case::empty_and_not_allowed(losing(3, 3), ThisSync(2), Some("too_many_deletions"))]
#[case::standing(losing(60, 100), Standing(60), None)]
#[case::standing_exceeded(losing(3, 100), Standing(2), Some("too_many_deletions"))]
#[case::empty_whatever_stands(losing(3, 3), Standing(100), Some("root_empty"))]
#[case::nothing_there_or_stored(losing(0, 0), Default, Some("root_empty"))]
#[case::nothing_found_but_failures(plan(listing(&[], &["a"]), vec![stored("a", None)], false), Default, None)]
fn guards(#[case] plan: SourcePlan, #[case] limit: DeletionLimit, #[case] expected: Option<&str>) {
    match guard(&[(Path::new("/docs"), &plan)], &[], limit) {
        Ok(()) => assert_eq!(expected, None),
        Err(error) => {
            assert_eq!(Some(error.code()), expected, "{error}");
            assert!(error.hint().unwrap().contains(&format!("--max-delete {}", plan.deleted.len())));
        }
    }
}

#[test]
fn the_limit_is_for_the_whole_sync() {
    let (one, two) = (losing(2, 20), losing(3, 20));
    let plans = [(Path::new("/one"), &one), (Path::new("/two"), &two)];
    assert!(guard(&plans, &[], ThisSync(5)).is_ok());
    assert_eq!(guard(&plans, &[], ThisSync(4)).unwrap_err().code(), "too_many_deletions");
}

#[rstest]
#[case(9, None)]
#[case(10, Some("folder_emptied"))]
fn a_folder_that_lost_everything_may_be_an_unmounted_one(#[case] inside: usize, #[case] expected: Option<&str>) {
    let mut documents: Vec<_> = (0..inside).map(|at| stored(&format!("m/x/{at}"), None)).collect();
    let mut files = Vec::new();
    for at in 0..50 {
        documents.push(stored(&format!("m.{at:02}"), Some(1)));
        files.push(found(&format!("m.{at:02}"), 1));
    }
    documents.push(stored("m0/gone", None));
    let listing = Listing { files, empty_folders: vec!["m".into(), "other".into()], ..Listing::default() };
    let plan = plan(listing, documents, false);
    assert_eq!(plan.emptied, [("m".to_owned(), inside)]);
    assert_eq!(guard(&[(Path::new("/docs"), &plan)], &[], Default).err().map(|error| error.code()), expected);
    assert!(guard(&[(Path::new("/docs"), &plan)], &[], ThisSync(100)).is_ok());
}

/// Paths of up to three short names, so that files, folders and prefixes meet often.
fn path() -> impl Strategy<Value = String> {
    proptest::collection::vec("[ab\u{e9}]{1,2}", 1..4).prop_map(|parts| parts.join("/"))
}

fn above(path: &str) -> Vec<String> {
    let mut folders = vec![".".to_owned(), path.to_owned()];
    folders.extend(path.match_indices('/').map(|(slash, _)| path[..slash].to_owned()));
    folders
}

proptest! {
    #[test]
    fn every_document_has_one_fate_and_none_is_deleted_without_proof(
        files in proptest::collection::btree_map(path(), 0_i64..2, 0..12),
        documents in proptest::collection::btree_map(path(), proptest::option::of(0_i64..2), 0..12),
        failed in proptest::collection::btree_set(prop_oneof![9 => path(), 1 => Just(".".to_owned())], 0..3),
        reread in any::<bool>(),
    ) {
        let files: BTreeMap<_, _> = files.into_iter().filter(|(path, _)| !failed.contains(path)).collect();
        let files: Vec<(&str, i64)> = files.iter().map(|(path, version)| (path.as_str(), *version)).collect();
        let names: Vec<&str> = failed.iter().map(String::as_str).collect();
        let input = documents.iter().map(|(path, version)| stored(path, *version)).collect();
        let plan = plan(listing(&files, &names), input, reread);

        let on_disk: BTreeMap<&str, i64> = files.iter().copied().collect();
        let mut expected = BTreeSet::new();
        for (path, version) in &documents {
            let fate = match on_disk.get(path.as_str()) {
                Some(on_disk) if !reread && *version == Some(*on_disk) => "unchanged",
                Some(_) => "suspect",
                None if above(path).iter().any(|folder| failed.contains(folder)) => "kept",
                None => "deleted",
            };
            expected.insert(format!("{fate} {path}"));
        }
        for path in on_disk.keys().filter(|path| !documents.contains_key(**path)) {
            expected.insert(format!("new {path}"));
        }
        let actual = words(&plan);
        prop_assert_eq!(actual.len(), expected.len());
        prop_assert_eq!(actual.into_iter().collect::<BTreeSet<_>>(), expected);
        for suspect in &plan.suspect {
            prop_assert_eq!(&suspect.file.path, &suspect.stored.path);
        }
        prop_assert!(plan.deleted.is_sorted_by(|a, b| a.path < b.path));
        prop_assert!(plan.kept.is_sorted_by(|a, b| a.path < b.path));
        prop_assert!(plan.new.is_sorted_by(|a, b| a.path < b.path));
    }
}

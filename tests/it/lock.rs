//! The citations of a folder of prose, locked, and checked after what they cite has changed.

use std::fs;
use std::path::PathBuf;

use ragdb::{Error, LinkStatus, LockReport, Principal, Store, SyncRequest, SyncSources};
use rstest::rstest;
use tempfile::TempDir;

const KEYS: &str =
    "# Keys\n\nRotate a key every 90 days.\nOld keys stop working.\n\n## Limits\n\nFour parts at most.\n";
const PROSE: &str = "# Handbook\n\nKeys are rotated, see guide/keys.md#L3-L4 and [limits](../docs/guide/keys.md#L8).\n\
    In code, `keys:guide/keys.md#L1` too; not https://example.org/guide/keys.md#L3.\n\n```\nguide/keys.md#L99\n```\n";

/// A synced folder `docs`, and a folder `handbook` that cites it.
struct Place {
    folder: TempDir,
    store: Store,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::create(folder.path().join("store.db")).expect("a store");
        let place = Self { folder, store };
        place.write("docs/guide/keys.md", KEYS);
        place.write("handbook/page.md", PROSE.replace("keys:", ""));
        place.sync();
        place
    }

    fn locked() -> Self {
        let place = Self::new();
        assert!(place.store.lock_citations(&Principal::operator(), &place.handbook()).expect("it locks").holds());
        place
    }

    fn sync(&self) {
        let sources = SyncSources::Folders(vec![self.folder.path().join("docs")]);
        let request = SyncRequest { sources, max_delete: Some(100), ..SyncRequest::default() };
        self.store.sync(&request).expect("it syncs");
    }

    fn write(&self, path: &str, text: impl AsRef<str>) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text.as_ref()).expect("it is written");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join(path)).expect("it is there")
    }

    fn handbook(&self) -> [PathBuf; 1] {
        [self.folder.path().join("handbook")]
    }

    fn check(&self) -> LockReport {
        self.store.check_citations(&Principal::operator(), &self.handbook(), false).expect("it is checked")
    }
}

fn statuses(report: &LockReport) -> Vec<(&str, &'static str)> {
    report.links.iter().map(|link| (link.citation.as_str(), link.status.as_str())).collect()
}

#[test]
fn what_is_locked_is_current_until_it_changes() {
    let place = Place::new();
    let report = place.store.lock_citations(&Principal::operator(), &place.handbook()).unwrap();
    let all =
        [("guide/keys.md#L3-L4", "current"), ("../docs/guide/keys.md#L8", "current"), ("guide/keys.md#L1", "current")];
    assert_eq!(statuses(&report), all);
    assert!(report.links.iter().all(|link| link.path.as_deref() == Some("guide/keys.md")));
    assert_eq!(
        report.links[0].content_hash,
        Some(ragdb::Digest::of("Rotate a key every 90 days.\nOld keys stop working."))
    );
    let lock = place.read("handbook/ragdb.lock");
    assert_eq!(lock.lines().count(), 5, "{lock}");
    assert_eq!(statuses(&place.check()), all);
    // The same again is the same file.
    place.store.lock_citations(&Principal::operator(), &place.handbook()).unwrap();
    assert_eq!(place.read("handbook/ragdb.lock"), lock);
}

#[rstest]
#[case::appended(&format!("{KEYS}\nMore.\n"), ["current", "current", "current"])]
#[case::pushed_down(&KEYS.replace("# Keys\n", "# Keys\n\nNew.\n"), ["moved", "moved", "current"])]
#[case::edited(&KEYS.replace("90", "30"), ["stale", "current", "current"])]
#[case::shorter("# Keys\n", ["stale", "stale", "current"])]
#[case::turned("Four parts at most.\n# Keys\n", ["stale", "moved", "moved"])]
fn a_cited_file_that_changed(#[case] now: &str, #[case] expected: [&str; 3], #[values(false, true)] synced: bool) {
    let place = Place::locked();
    place.write("docs/guide/keys.md", now);
    if synced {
        place.sync();
    }
    let report = place.check();
    let found: Vec<&str> = report.links.iter().map(|link| link.status.as_str()).collect();
    assert_eq!(found, expected);
    assert_eq!(report.holds(), expected == ["current"; 3]);
}

#[test]
fn a_cited_file_that_is_gone() {
    let place = Place::locked();
    fs::remove_file(place.folder.path().join("docs/guide/keys.md")).unwrap();
    assert!(place.check().links.iter().all(|link| link.status == LinkStatus::Stale));
    place.write("docs/other.md", "# Other\n\nText.\n");
    place.sync();
    assert!(place.check().links.iter().all(|link| link.status == LinkStatus::Deleted));
}

#[test]
fn new_and_dropped_citations() {
    let place = Place::locked();
    place.write("handbook/page.md", "Only guide/keys.md#L1, guide/keys.md#L2-L3 and guide/none.md#L1.\n");
    let report = place.check();
    let expected = [
        ("guide/keys.md#L1", "current"),
        ("guide/keys.md#L2-L3", "unlocked"),
        ("guide/none.md#L1", "unknown"),
        ("../docs/guide/keys.md#L8", "unused"),
        ("guide/keys.md#L3-L4", "unused"),
    ];
    assert_eq!(statuses(&report), expected);
    assert!(!report.holds());
    place.write("handbook/page.md", "Only guide/keys.md#L1.\n");
    assert!(place.check().holds());
}

#[test]
fn what_does_not_stand_is_not_locked() {
    let place = Place::new();
    place.write("handbook/page.md", "guide/keys.md#L1 guide/keys.md#L7-L99 guide/none.md#L1 guide/keys.md#L3\n");
    place.write("docs/guide/keys.md", KEYS.replace("90", "30"));
    let report = place.store.lock_citations(&Principal::operator(), &place.handbook()).unwrap();
    let expected = [
        ("guide/keys.md#L1", "current"),
        ("guide/keys.md#L7-L99", "unknown"),
        ("guide/none.md#L1", "unknown"),
        ("guide/keys.md#L3", "stale"),
    ];
    assert_eq!(statuses(&report), expected);
    assert!(!report.holds());
    assert_eq!(place.read("handbook/ragdb.lock").matches("sha256").count(), 1);
}

#[test]
fn moved_lines_are_anchored_again_and_nothing_else_changes() {
    let place = Place::locked();
    place.write("docs/guide/keys.md", KEYS.replace("# Keys\n", "# Keys\n\nNew.\nNewer.\n"));
    let report = place.store.check_citations(&Principal::operator(), &place.handbook(), true).unwrap();
    assert!(report.holds(), "{report:?}");
    let changed: Vec<(&str, &str)> = report.reanchored.iter().map(|it| (it.from.as_str(), it.to.as_str())).collect();
    let expected =
        [("guide/keys.md#L3-L4", "guide/keys.md#L6-L7"), ("../docs/guide/keys.md#L8", "../docs/guide/keys.md#L11")];
    assert_eq!(changed, expected);
    let prose = PROSE.replace("keys:", "").replace("#L3-L4", "#L6-L7").replace("#L8)", "#L11)");
    assert_eq!(place.read("handbook/page.md"), prose);
    assert!(place.check().holds());
    place.sync();
    assert!(place.check().holds());
    // Nothing more to do, and nothing is written.
    let lock = place.read("handbook/ragdb.lock");
    let again = place.store.check_citations(&Principal::operator(), &place.handbook(), true).unwrap();
    assert_eq!((again.reanchored.len(), place.read("handbook/ragdb.lock")), (0, lock));
    let left: Vec<_> = fs::read_dir(&place.handbook()[0]).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_document_that_cites_itself_is_checked_after_it_changed() {
    let place = Place::new();
    place.write("docs/index.md", "# Index\n\nSee guide/keys.md#L3.\n\nAnd index.md#L3.\n");
    place.sync();
    let docs = [place.folder.path().join("docs")];
    assert!(place.store.lock_citations(&Principal::operator(), &docs).unwrap().holds());
    place.write("docs/guide/keys.md", format!("New.\n{KEYS}"));
    let report = place.store.check_citations(&Principal::operator(), &docs, true).unwrap();
    assert_eq!(statuses(&report), [("guide/keys.md#L4", "current"), ("index.md#L3", "stale")]);
    assert_eq!(report.reanchored.len(), 1);
}

#[test]
fn citations_that_would_be_written_alike_are_left_alone() {
    let place = Place::new();
    place.write("docs/guide/keys.md", "# Keys\n\nOne.\nTwo.\nThree.\n");
    place.sync();
    let prose = "guide/keys.md#L3 and guide/keys.md#L4.\n";
    place.write("handbook/page.md", prose);
    assert!(place.store.lock_citations(&Principal::operator(), &place.handbook()).unwrap().holds());
    // What was on line 3 is on line 4; what was on line 4 is gone.
    place.write("docs/guide/keys.md", "# Keys\n\nNew.\nOne.\nThree.\n");
    let report = place.store.check_citations(&Principal::operator(), &place.handbook(), true).unwrap();
    assert_eq!(statuses(&report), [("guide/keys.md#L3", "moved"), ("guide/keys.md#L4", "stale")]);
    assert_eq!((report.reanchored.len(), place.read("handbook/page.md").as_str()), (0, prose));
    // Where both moved, both are written anew.
    place.write("docs/guide/keys.md", "# Keys\n\nNew.\nOne.\nTwo.\n");
    let report = place.store.check_citations(&Principal::operator(), &place.handbook(), true).unwrap();
    assert_eq!(statuses(&report), [("guide/keys.md#L4", "current"), ("guide/keys.md#L5", "current")]);
}

#[test]
fn a_path_of_two_sources_must_be_told_apart() {
    let place = Place::new();
    place.write("more/guide/keys.md", "# More\n\nOther keys.\n");
    let folders = ["docs", "more"].map(|name| place.folder.path().join(name));
    let sources = SyncSources::Folders(folders.to_vec());
    place.store.sync(&SyncRequest { sources, ..SyncRequest::default() }).unwrap();
    place.write("handbook/page.md", "guide/keys.md#L3 more:guide/keys.md#L3 [x](../docs/guide/keys.md#L3)\n");
    let report = place.store.lock_citations(&Principal::operator(), &place.handbook()).unwrap();
    let found: Vec<_> =
        report.links.iter().map(|it| (it.status.as_str(), it.source_id.as_deref().unwrap_or(""))).collect();
    assert_eq!(found, [("unknown", ""), ("current", "more"), ("current", "docs")], "{report:?}");
    assert!(report.links[0].detail.contains("docs and more"), "{}", report.links[0].detail);
}

#[rstest]
#[case("", "invalid")]
#[case("{}", "invalid")]
#[case(r#"{"format": 2, "citations": []}"#, "invalid")]
#[case(r#"{"format": 1, "citations": [], "more": 1}"#, "invalid")]
#[case(r#"{"format": 1, "citations": [{"document": "a", "citation": "b", "source_id": "c", "path": "d", "start_line": 1, "end_line": 1, "sha256": "xyz"}]}"#, "invalid")]
fn a_lock_that_is_none(#[case] text: &str, #[case] code: &str) {
    let place = Place::locked();
    place.write("handbook/ragdb.lock", text);
    let refused = place.store.check_citations(&Principal::operator(), &place.handbook(), true);
    assert_eq!(refused.map_err(|error| error.code()), Err(code));
}

#[test]
fn a_folder_without_a_lock_and_a_lock_that_is_a_link() {
    let place = Place::new();
    let refused = place.store.check_citations(&Principal::operator(), &place.handbook(), false);
    assert!(matches!(refused, Err(Error::NotFound { .. })), "{refused:?}");
    place.write("elsewhere", r#"{"format": 1, "citations": []}"#);
    std::os::unix::fs::symlink(place.folder.path().join("elsewhere"), place.handbook()[0].join("ragdb.lock")).unwrap();
    assert_eq!(
        place.store.check_citations(&Principal::operator(), &place.handbook(), false).map_err(|error| error.code()),
        Err("invalid")
    );
}

#[test]
fn a_document_that_can_not_be_read_fails_the_check() {
    let place = Place::locked();
    fs::write(place.handbook()[0].join("bad.md"), [0xff, 0xfe]).unwrap();
    let report = place.check();
    assert_eq!(report.failures.iter().map(|it| it.code).collect::<Vec<_>>(), ["not_utf8"]);
    assert!(!report.holds());
}

#[test]
fn a_rewriting_that_stopped_is_finished_by_the_next() {
    let place = Place::new();
    place.write("handbook/page.md", "guide/keys.md#L3 and guide/keys.md#L4.\n");
    place.write("handbook/second.md", "guide/keys.md#L8.\n");
    assert!(place.store.lock_citations(&Principal::operator(), &place.handbook()).unwrap().holds());
    place.write("docs/guide/keys.md", KEYS.replace("# Keys\n", "# Keys\nNew.\n"));
    // The second document can't be replaced once the first one is.
    let second = place.handbook()[0].join("second.md");
    fs::hard_link(&second, place.folder.path().join("other")).unwrap();
    let lock = place.read("handbook/ragdb.lock");
    let refused =
        place.store.check_citations(&Principal::operator(), &place.handbook(), true).map_err(|error| error.code());
    assert_eq!(refused, Err("not_replaceable"));
    assert_eq!(
        (place.read("handbook/ragdb.lock"), place.read("handbook/page.md").contains("#L5")),
        (lock.clone(), false)
    );
    fs::remove_file(place.folder.path().join("other")).unwrap();
    // As a crash behind the first document leaves it.
    let new = "guide/keys.md#L4 and guide/keys.md#L5.\n";
    let old: serde_json::Value = serde_json::from_str(&lock).unwrap();
    let mut moved: Vec<serde_json::Value> =
        old["citations"].as_array().unwrap().iter().filter(|it| it["document"] == "page.md").cloned().collect();
    for it in &mut moved {
        let line = it["start_line"].as_u64().unwrap() + 1;
        it["citation"] = format!("guide/keys.md#L{line}").into();
        (it["start_line"], it["end_line"]) = (line.into(), line.into());
    }
    let mut unfinished = old.clone();
    let hash = ragdb::Digest::of(new).to_string();
    unfinished["rewritten"] = serde_json::json!([{"document": "page.md", "sha256": hash, "citations": moved}]);
    place.write("handbook/ragdb.lock", unfinished.to_string());
    assert_eq!(place.check().links.iter().filter(|it| it.status == LinkStatus::Moved).count(), 3);
    place.write("handbook/page.md", new);
    assert_eq!(
        statuses(&place.check()),
        [("guide/keys.md#L4", "current"), ("guide/keys.md#L5", "current"), ("guide/keys.md#L8", "moved")]
    );
    let report = place.store.check_citations(&Principal::operator(), &place.handbook(), true).unwrap();
    assert!(report.holds() && report.reanchored.len() == 1, "{report:?}");
    assert!(!place.read("handbook/ragdb.lock").contains("rewritten"));
    assert!(place.check().holds());
}

#[test]
fn what_is_locked_of_an_unread_document_stays() {
    let place = Place::locked();
    let lock = place.read("handbook/ragdb.lock");
    fs::write(place.handbook()[0].join("page.md"), [0xff, 0xfe]).unwrap();
    assert!(!place.store.lock_citations(&Principal::operator(), &place.handbook()).unwrap().holds());
    assert_eq!(place.read("handbook/ragdb.lock"), lock);
    assert!(place.check().links.is_empty());
    // Also where another document is rewritten.
    place.write("handbook/other.md", "guide/keys.md#L3\n");
    place.store.lock_citations(&Principal::operator(), &place.handbook()).unwrap();
    place.write("docs/guide/keys.md", format!("New.\n{KEYS}"));
    assert_eq!(
        place.store.check_citations(&Principal::operator(), &place.handbook(), true).unwrap().reanchored.len(),
        1
    );
    assert_eq!(place.read("handbook/ragdb.lock").matches("\"page.md\"").count(), 3);
}

#[test]
fn what_can_not_be_locked_anew_stays_locked() {
    let place = Place::locked();
    let lock = place.read("handbook/ragdb.lock");
    fs::rename(place.folder.path().join("docs"), place.folder.path().join("away")).unwrap();
    let report = place.store.lock_citations(&Principal::operator(), &place.handbook()).unwrap();
    assert!(!report.holds());
    assert!(report.links.iter().all(|link| link.detail.ends_with("; the lock keeps what it had")), "{report:?}");
    assert_eq!(place.read("handbook/ragdb.lock"), lock);
}

#[rstest]
#[case::twice("Four parts at most.\nx\nFour parts at most.\n", "Four parts at most.", "2 places")]
#[case::trivial("x\n---\ny\n", "---", "1 place ")]
fn lines_at_no_certain_place_are_left_to_a_person(#[case] now: &str, #[case] line: &str, #[case] places: &str) {
    let place = Place::new();
    place.write("docs/guide/keys.md", format!("a word\n\n\n\n{line}\n"));
    place.sync();
    place.write("handbook/page.md", "guide/keys.md#L5\n");
    assert!(place.store.lock_citations(&Principal::operator(), &place.handbook()).unwrap().holds());
    place.write("docs/guide/keys.md", now);
    let report = place.store.check_citations(&Principal::operator(), &place.handbook(), true).unwrap();
    assert_eq!((statuses(&report), report.reanchored.len()), (vec![("guide/keys.md#L5", "moved")], 0));
    assert!(report.links[0].detail.contains(places), "{}", report.links[0].detail);
    assert_eq!(place.read("handbook/page.md"), "guide/keys.md#L5\n");
}

#[test]
fn blank_lines_are_not_locked() {
    let place = Place::new();
    place.write("handbook/page.md", "guide/keys.md#L2\n");
    let report = place.store.lock_citations(&Principal::operator(), &place.handbook()).unwrap();
    assert_eq!(statuses(&report), [("guide/keys.md#L2", "unlocked")]);
    assert!(report.links[0].detail.contains("blank"));
}

#[rstest]
#[case::link("symbolic link")]
#[case::names("hard links")]
#[case::read_only("read-only")]
fn a_lock_that_is_not_to_be_replaced(#[case] what: &str) {
    let place = Place::locked();
    let lock = place.handbook()[0].join("ragdb.lock");
    match what {
        "symbolic link" => {
            fs::rename(&lock, place.folder.path().join("elsewhere")).unwrap();
            std::os::unix::fs::symlink(place.folder.path().join("elsewhere"), &lock).unwrap();
        }
        "hard links" => fs::hard_link(&lock, place.folder.path().join("elsewhere")).unwrap(),
        _ => fs::set_permissions(&lock, std::os::unix::fs::PermissionsExt::from_mode(0o444)).unwrap(),
    }
    let refused = place.store.lock_citations(&Principal::operator(), &place.handbook()).unwrap_err();
    let expected = if what == "symbolic link" { "invalid" } else { "not_replaceable" };
    assert_eq!(refused.code(), expected);
    assert!(expected == "invalid" || refused.to_string().contains(what), "{refused}");
}

//! Promise 20: names that look alike are never one document, and no name leads out of its source.

use std::fs;
use std::os::unix::ffi::OsStrExt;

use ragdb::{CiteStatus, Config, Principal, SearchRequest, Store, SyncReport, SyncRequest, SyncSources};
use rstest::rstest;

use crate::world::{World, rows, write};

fn going_on(world: &World) -> SyncReport {
    world.store().sync(&SyncRequest { keep_going: true, ..world.request() }).expect("it goes on")
}

fn refused(report: &SyncReport) -> Vec<(&str, &str)> {
    report.failures.iter().map(|failure| (failure.path.as_str(), failure.code)).collect()
}

#[rstest]
#[case::composition("caf\u{e9}.md", "cafe\u{301}.md")]
#[case::case("Keys.md", "keys.md")]
#[case::sharp_s("stra\u{df}e.md", "STRASSE.md")]
#[case::folder_case("Guide/a.md", "guide/a.md")]
#[case::folder_composition("\u{e9}/a.md", "e\u{301}/a.md")]
#[case::hangul("\u{ac00}.md", "\u{1100}\u{1161}.md")]
#[case::case_and_composition("CAF\u{c9}.md", "cafe\u{301}.md")]
#[case::angstrom("\u{212b}.md", "\u{e5}.md")]
fn promise_20_names_that_collide_are_reported_and_never_merged(#[case] one: &str, #[case] other: &str) {
    // Both new.
    let world = World::new(&[("a.md", "# A\n\nText.\n"), (one, "# One\n\nFirst.\n"), (other, "# Other\n\nSecond.\n")]);
    if fs::read_dir(world.docs()).expect("a folder").count() < 3 {
        println!("skipped: this file system takes the two names for one");
        return;
    }
    let report = going_on(&world);
    let mut expected = [(one, "name_collision"), (other, "name_collision")];
    expected.sort_unstable();
    assert_eq!(refused(&report), expected);
    assert_eq!(rows(&world.store(), "SELECT path FROM documents"), [["a.md"]]);

    // The other comes to one that is stored: that stays as it was, also after it was edited.
    let world = World::new(&[("a.md", "# A\n\nText.\n"), (one, "# One\n\nFirst.\n")]);
    world.sync();
    let before = rows(&world.store(), "SELECT path, document_id, content_hash FROM documents ORDER BY path");
    world.write(other, "# Other\n\nSecond.\n");
    world.write(one, "# One\n\nFirst and more.\n");
    assert!(world.store().sync(&world.request()).is_err());
    let report = going_on(&world);
    assert_eq!((refused(&report), report.documents.deleted), (expected.to_vec(), 0));
    assert_eq!(rows(&world.store(), "SELECT path, document_id, content_hash FROM documents ORDER BY path"), before);

    // When one of them goes, the other is a document by itself.
    world.remove(one);
    let report = going_on(&world);
    assert_eq!(refused(&report), []);
    let hits = world.store().search(&Principal::operator(), &SearchRequest::new("second")).expect("it searches").hits;
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0].path, other);
}

#[rstest]
#[case::newline(b"line\nbreak.md", "line\\nbreak.md", "name_control_character")]
#[case::tab(b"a\tb.md", "a\\tb.md", "name_control_character")]
#[case::escape(b"\x1b[2J.md", "\\u{1b}[2J.md", "name_control_character")]
#[case::delete(b"a\x7f.md", "a\\u{7f}.md", "name_control_character")]
#[case::latin_1(b"caf\xe9.md", "caf\\xe9.md", "name_not_utf8")]
#[case::overlong(b"a\xc0\xafb.md", "a\\xc0\\xafb.md", "name_not_utf8")]
fn promise_20_names_that_are_no_text_fail_visibly(#[case] name: &[u8], #[case] shown: &str, #[case] code: &str) {
    let world = World::new(&[("a.md", "# A\n\nText.\n")]);
    fs::write(world.docs().join(std::ffi::OsStr::from_bytes(name)), "# B\n").expect("it is written");
    let report = going_on(&world);
    assert_eq!(refused(&report), [(shown, code)]);
    assert_eq!(rows(&world.store(), "SELECT path FROM documents"), [["a.md"]]);
}

#[rstest]
#[case::up("../outside.md#L1-L3")]
#[case::down_and_up("guide/../../outside.md#L1-L3")]
#[case::absolute("/etc/hosts#L1")]
#[case::percent("%2e%2e/outside.md#L1-L3")]
#[case::other_case("GUIDE/KEYS.md#L1")]
#[case::same_file_by_a_detour("guide/../guide/keys.md#L1")]
#[case::dot("./guide/keys.md#L1")]
#[case::double("guide//keys.md#L1")]
fn promise_20_a_reference_out_of_the_source_is_unknown(#[case] reference: &str) {
    let world = World::synced();
    write(&world.path().join("outside.md"), b"# Outside\n\nSecret.\n");
    let cited = world.store().cite(&Principal::operator(), reference);
    assert!(!cited.as_ref().is_ok_and(|cited| cited.status == CiteStatus::Current), "{cited:?}");
    assert!(!format!("{cited:?}").contains("Secret"), "{cited:?}");
}

#[rstest]
#[case::up("path: ..")]
#[case::up_and_down("path: docs/../../..")]
#[case::absolute("path: /etc")]
fn promise_20_a_configured_source_stays_beneath_its_configuration(#[case] path: &str) {
    let world = World::synced();
    let yaml = format!("sources:\n  - {{id: docs, {path}}}\n");
    let outcome = Config::from_yaml(&yaml, world.path().join("ragdb.yaml")).and_then(|config| {
        let store = Store::create(world.path().join("other.db")).expect("a store");
        store.sync(&SyncRequest { sources: SyncSources::Config(config), ..SyncRequest::default() })
    });
    assert!(outcome.is_err(), "{outcome:?}");
}

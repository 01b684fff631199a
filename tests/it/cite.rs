//! What a reference stands for, before and after its file changes, and in a store that was tampered with.

use std::fs;
use std::path::Path;

use ragdb::{CiteStatus, Cited, Error, Principal, SearchRequest, Store, SyncRequest, SyncSources};
use rstest::rstest;
use tempfile::TempDir;

const PAGE: &str = "---\ntitle: Refunds\n---\n# Refunds\n\nWithin 30 days.\n   \n## Exceptions\n\nSealed goods only.\n";

/// A synced folder with one page.
struct Place {
    folder: TempDir,
    store: Store,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("docs")).expect("a folder");
        let store = Store::create(folder.path().join("store.db")).expect("a store");
        let place = Self { folder, store };
        place.write(PAGE);
        let sources = SyncSources::Folders(vec![place.folder.path().join("docs")]);
        place.store.sync(&SyncRequest { sources, ..SyncRequest::default() }).expect("it syncs");
        place
    }

    fn write(&self, text: &str) {
        fs::write(self.folder.path().join("docs/page.md"), text).expect("it is written");
    }

    fn tamper(&self, sql: &str) {
        let conn = rusqlite::Connection::open(self.folder.path().join("store.db")).expect("it opens");
        assert!(conn.execute(sql, []).expect("it runs") > 0);
    }

    fn cite(&self, reference: &str) -> Result<Cited, Error> {
        self.store.cite(&Principal::operator(), reference)
    }
}

#[rstest]
#[case::front_matter("page.md#L1-L3", "---\ntitle: Refunds\n---")]
#[case::across_a_blank_line("page.md#L6-L8", "Within 30 days.\n   \n## Exceptions")]
#[case::one_line("page.md#L10", "Sealed goods only.")]
fn lines_are_verbatim(#[case] reference: &str, #[case] text: &str) {
    let cited = Place::new().cite(reference).expect("it is a reference");
    assert_eq!((cited.status, cited.text.as_deref()), (CiteStatus::Current, Some(text)));
    assert_eq!(cited.content_hash, Some(ragdb::Digest::of(text)));
}

#[rstest]
#[case::appended(&format!("{PAGE}\nMore.\n"), CiteStatus::Current, Some((6, 8)))]
#[case::pushed_down(&PAGE.replace("# Refunds\n", "# Refunds\n\nNew.\n"), CiteStatus::Moved, Some((8, 10)))]
#[case::edited(&PAGE.replace("30", "45"), CiteStatus::Stale, Some((6, 8)))]
#[case::filled_in(&PAGE.replace("   \n", "Or 60.\n"), CiteStatus::Stale, Some((6, 8)))]
fn a_file_that_changed_is_compared_line_by_line(
    #[case] now: &str,
    #[case] status: CiteStatus,
    #[case] lines: Option<(u32, u32)>,
) {
    let place = Place::new();
    place.write(now);
    let cited = place.cite("page.md#L6-L8").expect("it is a reference");
    assert_eq!((cited.status, cited.lines), (status, lines), "{}", cited.detail);
}

#[rstest]
#[case::text("UPDATE chunk_rows SET text = replace(text, '30', '90') WHERE text LIKE '%30%'", "page.md#L6-L6")]
#[case::place("UPDATE chunk_rows SET start_line = start_line + 1, end_line = end_line + 1", "page.md#L6-L6")]
#[case::lines("UPDATE documents SET lines = 4294967295", "page.md#L1-L4294967295")]
fn tampered_lines_are_never_current(#[case] sql: &str, #[case] reference: &str) {
    let place = Place::new();
    place.tamper(sql);
    assert_eq!(place.cite(reference).map_err(|error| error.code()), Err("damaged"));
}

#[test]
fn a_tampered_chunk_is_never_current() {
    let place = Place::new();
    let hits =
        place.store.search(&Principal::operator(), &SearchRequest::new("within 30 days")).expect("it searches").hits;
    let id = hits[0].chunk_id.to_string();
    assert_eq!(place.cite(&id).expect("it is a chunk").status, CiteStatus::Current);
    place.tamper("UPDATE chunk_rows SET text = replace(text, '30', '90') WHERE text LIKE '%30%'");
    assert_eq!(place.cite(&id).map_err(|error| error.code()), Err("damaged"));
}

#[test]
fn a_store_is_reached_through_a_linked_folder() {
    let place = Place::new();
    let link = place.folder.path().join("link");
    std::os::unix::fs::symlink(place.folder.path(), &link).expect("a link");
    assert_eq!(Store::open(link.join("store.db")).expect("it opens").path(), place.store.path());
    Store::create(link.join("other.db")).expect("it is made");
    assert!(place.folder.path().join("other.db").is_file());
}

/// Run again by the next test as another user.
#[test]
#[ignore = "a part of the next test"]
fn child_reads_a_store() {
    let path = std::env::var("RAGDB_TEST_STORE").expect("the store is named");
    let store = Store::open_read_only(Path::new(&path)).expect("it opens");
    assert_eq!(
        store.search(&Principal::operator(), &SearchRequest::new("within 30 days")).expect("it searches").hits.len(),
        1
    );
}

#[test]
fn a_reader_needs_no_right_to_write() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let Place { folder, store } = place;
    let path = store.path().to_owned();
    drop(store);
    for suffix in ["-wal", "-shm"] {
        let beside = format!("{}{suffix}", path.display());
        assert!(fs::metadata(&beside).map_or(true, |file| file.len() == 0 || suffix == "-shm"), "{beside}");
        let _ = fs::remove_file(beside);
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("it is ours");
    // A copy of this program where another user can run it.
    let program = folder.path().join("it");
    fs::copy(std::env::current_exe().expect("a path"), &program).expect("a copy");
    let child = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(["--exact", "cite::child_reads_a_store", "--ignored"])
        .env("RAGDB_TEST_STORE", &path)
        .output();
    match child {
        Ok(output) if String::from_utf8_lossy(&output.stderr).contains("setpriv:") => {
            println!("skipped: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout)),
        Err(error) => println!("skipped: setpriv can't be run: {error}"),
    }
}

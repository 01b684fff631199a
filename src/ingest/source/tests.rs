use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rstest::rstest;

use super::read::SourceText;
use super::*;
use crate::ingest::code;
use crate::ingest::plan::{StoredDocument, plan};
use crate::model::{Digest, SourceKind};

const LIMIT: u64 = 64 << 20;

struct Corpus(tempfile::TempDir);

impl Corpus {
    fn new(files: &[&str]) -> Self {
        let corpus = Self(tempfile::tempdir().unwrap());
        fs::create_dir(corpus.at("")).unwrap();
        for path in files {
            corpus.write(path, format!("# {path}\n"));
        }
        corpus
    }

    /// The path of something below the root; what lies beside the root is outside.
    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join("root").join(path)
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), bytes).unwrap();
    }

    fn reader(&self) -> SourceReader {
        SourceReader::open(&self.at(""), ".", LIMIT).unwrap()
    }

    /// A reader for systems without `openat2`.
    fn component_reader(&self) -> SourceReader {
        let root = Beneath::open(&self.at("")).unwrap().by_components();
        SourceReader { root, store_files: Vec::new(), max_file_bytes: LIMIT }
    }

    fn both_readers(&self) -> [SourceReader; 2] {
        [self.reader(), self.component_reader()]
    }

    /// Both readers must find the same, however many threads there are.
    fn list(&self, selection: &Selection) -> Listing {
        let [one, other] = self.both_readers().map(|reader| walk::list_with(&reader, selection, 1));
        assert_eq!(one, other);
        assert_eq!(one, walk::list_with(&self.reader(), selection, 3));
        one
    }
}

fn paths(listing: &Listing) -> Vec<&str> {
    listing.files.iter().map(|file| file.path.as_str()).collect()
}

fn refusals(listing: &Listing) -> Vec<(&str, &str)> {
    listing.failures.iter().map(|failure| (failure.path.as_str(), failure.code)).collect()
}

fn selecting(include: &[&str], exclude: &[&str]) -> Selection {
    let compile = |list: &[&str]| Patterns::compile(&list.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
    Selection { include: compile(include), exclude: compile(exclude), ..Selection::default() }
}

/// Runs `action` as a user whom permissions hold for. (On Linux a thread can change its user alone.)
#[cfg(target_os = "linux")]
fn as_nobody<T: Send>(action: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                let nobody = rustix::process::Uid::from_raw(65_534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            action()
        });
        thread.join().unwrap()
    })
}

#[cfg(not(target_os = "linux"))]
fn as_nobody<T: Send>(action: impl FnOnce() -> T + Send) -> T {
    assert!(!rustix::process::geteuid().is_root(), "run the tests as an ordinary user");
    action()
}

#[test]
fn lists_the_files_of_the_kind_in_path_order() {
    let corpus = Corpus::new(&["b.md", "a/z.MD", "a/deep/x.markdown", "a-b.mdx", "c.txt", ".hidden.md", ".git/x.md"]);
    fs::create_dir_all(corpus.at("empty/inner")).unwrap();
    let listing = corpus.list(&Selection::default());
    assert_eq!(paths(&listing), ["a-b.mdx", "a/deep/x.markdown", "a/z.MD", "b.md"]);
    assert_eq!((refusals(&listing), listing.empty_folders.as_slice()), (vec![], &["empty/inner".to_owned()][..]));
    assert_eq!(listing.files[3].stamps.size, "# b.md\n".len() as u64);

    let text = corpus.list(&Selection { kind: SourceKind::Text, ..Selection::default() });
    assert_eq!(paths(&text), ["c.txt"]);
    let hidden = corpus.list(&Selection { hidden: true, ..Selection::default() });
    assert_eq!(paths(&hidden), [".git/x.md", ".hidden.md", "a-b.mdx", "a/deep/x.markdown", "a/z.MD", "b.md"]);
}

#[test]
fn patterns_choose_and_leave_out() {
    let corpus = Corpus::new(&["guide/a.md", "guide/old/b.md", "api/c.md", "d.md"]);
    assert_eq!(paths(&corpus.list(&selecting(&["guide"], &["old"]))), ["guide/a.md"]);
    assert_eq!(paths(&corpus.list(&selecting(&[], &["guide/"]))), ["api/c.md", "d.md"]);
    assert_eq!(paths(&corpus.list(&selecting(&["?.md"], &["api/*.md"]))), ["d.md", "guide/a.md", "guide/old/b.md"]);
}

#[test]
fn what_is_left_out_is_not_refused() {
    let corpus = Corpus::new(&["a.md", "skip/b.md"]);
    symlink("a.md", corpus.at("skip/link.md")).unwrap();
    symlink("skip", corpus.at("alias")).unwrap();
    symlink("a.md", corpus.at("data.bin")).unwrap();
    symlink("nowhere", corpus.at("dangling")).unwrap();
    fs::write(corpus.at("skip").join(std::ffi::OsStr::from_bytes(b"\xff.md")), "x").unwrap();
    let listing = corpus.list(&selecting(&[], &["skip", "alias", "dangling"]));
    assert_eq!((paths(&listing), refusals(&listing)), (vec!["a.md"], vec![]));
}

#[test]
fn gitignore_is_followed_only_when_asked_and_only_below_the_root() {
    let corpus = Corpus::new(&["a.md", "out/b.md", "keep.md", "sub/a.md", "sub/c.md", "sub/deep/d.md"]);
    fs::write(corpus.0.path().join(".gitignore"), "*.md\n").unwrap();
    corpus.write(".gitignore", "/a.md\nout/\nd.md\n");
    corpus.write("sub/.gitignore", "c.md\n!d.md\n");
    assert_eq!(corpus.list(&Selection::default()).files.len(), 6);
    let listing = corpus.list(&Selection { respect_gitignore: true, ..Selection::default() });
    assert_eq!(paths(&listing), ["keep.md", "sub/a.md", "sub/deep/d.md"]);

    // Rules that can't be read would let in what they leave out.
    fs::remove_file(corpus.at("sub/.gitignore")).unwrap();
    symlink("../.gitignore", corpus.at("sub/.gitignore")).unwrap();
    let listing = corpus.list(&Selection { respect_gitignore: true, ..Selection::default() });
    assert_eq!(refusals(&listing), [("sub/.gitignore", code::SYMLINK)]);
}

#[test]
fn each_odd_thing_is_refused_by_its_code_and_its_neighbours_are_read() {
    let started = Instant::now();
    let corpus = Corpus::new(&["good.md", "folder.md/inner.md", "same.md", "Same.md", "stra\u{df}e.md", "STRASSE.md"]);
    corpus.write("caf\u{e9}.md", "composed");
    corpus.write("cafe\u{301}.md", "decomposed");
    symlink("good.md", corpus.at("link.md")).unwrap();
    symlink("gone.md", corpus.at("dangling.md")).unwrap();
    symlink("folder.md", corpus.at("alias")).unwrap();
    symlink("/", corpus.at("everything")).unwrap();
    symlink("gone", corpus.at("lost")).unwrap();
    assert!(Command::new("mkfifo").arg(corpus.at("pipe.md")).status().unwrap().success());
    let _socket = UnixListener::bind(corpus.at("socket.md")).unwrap();
    fs::write(corpus.at("").join(std::ffi::OsStr::from_bytes(b"caf\xe9.md")), "x").unwrap();
    corpus.write("line\nbreak.md", "x");
    File::create(corpus.at("sparse.md")).unwrap().set_len(10 << 30).unwrap();

    let listing = corpus.list(&Selection::default());
    let mut expected = vec![
        ("alias", code::SYMLINK_FOLDER),
        ("caf\\xe9.md", code::NAME_NOT_UTF8),
        ("cafe\u{301}.md", code::NAME_COLLISION),
        ("caf\u{e9}.md", code::NAME_COLLISION),
        ("dangling.md", code::SYMLINK),
        ("everything", code::SYMLINK_FOLDER),
        ("line\\nbreak.md", code::NAME_CONTROL_CHARACTER),
        ("link.md", code::SYMLINK),
        ("lost", code::SYMLINK),
        ("pipe.md", code::NOT_REGULAR),
        ("same.md", code::NAME_COLLISION),
        ("Same.md", code::NAME_COLLISION),
        ("socket.md", code::NOT_REGULAR),
        ("sparse.md", code::TOO_LARGE),
        ("stra\u{df}e.md", code::NAME_COLLISION),
        ("STRASSE.md", code::NAME_COLLISION),
    ];
    expected.sort_unstable();
    assert_eq!(refusals(&listing), expected);
    assert_eq!(paths(&listing), ["folder.md/inner.md", "good.md"]);
    for reader in corpus.both_readers() {
        assert_eq!(reader.read("good.md").unwrap().text, "# good.md\n");
        for (path, expected) in expected.iter().filter(|(path, _)| !path.contains('\\')) {
            let found = reader.read(path).map_err(|failure| failure.code);
            match *expected {
                code::NAME_COLLISION => assert!(found.is_ok(), "{path}"),
                // As if it had taken the place of a file since the listing.
                code::SYMLINK_FOLDER => assert_eq!(found, Err(code::SYMLINK), "{path}"),
                expected => assert_eq!(found, Err(expected), "{path}"),
            }
        }
    }
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[rstest]
#[case::latin_1(b"one\ntwo\ncaf\xe9\n", code::NOT_UTF8, "byte 11 on (line 3)")]
#[case::utf_16_le(b"\xff\xfea\0", code::NOT_UTF8, "UTF-16")]
#[case::utf_16_be(b"\xfe\xff\0a", code::NOT_UTF8, "UTF-16")]
#[case::cut_off(b"caf\xc3", code::NOT_UTF8, "byte 3 on (line 1)")]
#[case::surrogate(b"\xed\xa0\x80", code::NOT_UTF8, "byte 0 on")]
#[case::line_ends(b"a\r\nb\rc\n\xff", code::NOT_UTF8, "byte 7 on (line 4)")]
#[case::nul(b"a\nb\0c", code::NUL_BYTE, "byte 3 (line 2)")]
fn bytes_that_are_not_text_are_refused(#[case] bytes: &[u8], #[case] code: &str, #[case] words: &str) {
    let corpus = Corpus::new(&[]);
    corpus.write("a.md", bytes);
    let failure = corpus.reader().read("a.md").unwrap_err();
    assert_eq!((failure.path.as_str(), failure.code), ("a.md", code));
    assert!(failure.message.contains(words), "{}", failure.message);
}

#[rstest]
#[case("")]
#[case("\u{feff}# Marked\r\n\r\nText")]
#[case("# \u{6587}\u{6863}\n")]
fn text_is_read_as_it_stands(#[case] text: &str) {
    let corpus = Corpus::new(&[]);
    corpus.write("a.md", text);
    let listing = corpus.list(&Selection::default());
    let read = corpus.reader().read("a.md").unwrap();
    assert_eq!(read, SourceText { text: text.to_owned(), stamps: listing.files[0].stamps });
}

#[rstest]
#[case("/etc/hosts")]
#[case("../outside.md")]
#[case("a/../a.md")]
#[case("a/../../outside.md")]
#[case("./a.md")]
#[case("a//b.md")]
#[case("")]
#[case("a.md/")]
#[case("a.md\0")]
fn paths_out_of_the_root_are_refused(#[case] path: &str) {
    let corpus = Corpus::new(&["a.md", "a/b.md"]);
    fs::write(corpus.0.path().join("outside.md"), "secret").unwrap();
    for reader in corpus.both_readers() {
        assert_eq!(reader.read(path).unwrap_err().code, code::OUTSIDE_ROOT);
    }
}

#[test]
fn a_listed_file_that_is_gone_or_behind_a_link_now_is_not_read() {
    let corpus = Corpus::new(&["a.md", "sub/deep/b.md"]);
    let outside = corpus.0.path().join("outside/deep");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("b.md"), "secret").unwrap();
    for reader in corpus.both_readers() {
        fs::rename(corpus.at("sub"), corpus.at("moved")).unwrap();
        assert_eq!(reader.read("sub/deep/b.md").unwrap_err().code, code::VANISHED);
        symlink(outside.parent().unwrap(), corpus.at("sub")).unwrap();
        assert_eq!(reader.read("sub/deep/b.md").unwrap_err().code, code::SYMLINK);
        assert_eq!(refusals(&reader.list(&Selection::default())), [("sub", code::SYMLINK_FOLDER)]);
        fs::remove_file(corpus.at("sub")).unwrap();
        fs::rename(corpus.at("moved"), corpus.at("sub")).unwrap();
    }
}

/// Ends the swapping thread also when an assertion fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[rstest]
#[case::leaf("sub/a.md", "outside/a.md")]
#[case::parent("sub", "outside")]
fn no_byte_from_outside_is_read_while_links_are_swapped_in(#[case] place: &str, #[case] target: &str) {
    let corpus = Corpus::new(&["sub/a.md"]);
    let outside = corpus.0.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a.md"), "secret").unwrap();
    let (place, aside) = (corpus.at(place), corpus.at("aside"));
    let target = corpus.0.path().join(target);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                fs::rename(&place, &aside).unwrap();
                symlink(&target, &place).unwrap();
                fs::remove_file(&place).unwrap();
                fs::rename(&aside, &place).unwrap();
            }
        });
        let _stopping = StopOnDrop(&stop);
        let (mut read, mut refused) = (0, 0);
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(300) {
            for reader in &corpus.both_readers() {
                match reader.read("sub/a.md") {
                    Ok(found) => {
                        assert_eq!(found.text, "# sub/a.md\n");
                        read += 1;
                    }
                    Err(failure) => {
                        assert!(matches!(failure.code, code::SYMLINK | code::VANISHED | code::CHANGED_WHILE_READING));
                        refused += 1;
                    }
                }
            }
        }
        assert!(read + refused > 100, "{read} {refused}");
    });
}

#[test]
fn a_file_that_changes_while_it_is_read_is_read_again_once() {
    let corpus = Corpus::new(&["a.md"]);
    let reader = corpus.reader();
    let mut reads = 0;
    let found = reader.read_meeting("a.md", &mut || {
        reads += 1;
        if reads == 1 {
            corpus.write("a.md", "second version");
        }
    });
    assert_eq!((found.unwrap().text.as_str(), reads), ("second version", 2));
    let failure = reader.read_meeting("a.md", &mut || {
        reads += 1;
        corpus.write("a.md", "x".repeat(reads));
    });
    assert_eq!((failure.unwrap_err().code, reads), (code::CHANGED_WHILE_READING, 4));
}

#[test]
fn the_stores_own_files_are_left_out_whatever_their_names() {
    let corpus = Corpus::new(&["a.md"]);
    let database = corpus.at("store.md");
    for path in ["store.md", "store.md-wal", "store.md-shm"] {
        corpus.write(path, "SQLite format 3");
    }
    fs::hard_link(&database, corpus.at("link.md")).unwrap();
    fs::hard_link(corpus.at("store.md-wal"), corpus.at("log.md")).unwrap();
    let own = FileId::of_stores(&[database]).unwrap();
    assert_eq!(own.len(), 3);
    let reader = SourceReader { store_files: own, ..corpus.reader() };
    let listing = reader.list(&Selection::default());
    assert_eq!((paths(&listing), refusals(&listing)), (vec!["a.md"], vec![]));

    // One that took the place of a listed file is refused, and its descriptor stays open.
    let open_files = || fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let is_open = |path: &Path| {
        let wanted = path.canonicalize().unwrap();
        fs::read_dir("/proc/self/fd")
            .unwrap()
            .any(|fd| fd.is_ok_and(|fd| fs::read_link(fd.path()).is_ok_and(|at| at == wanted)))
    };
    assert!(open_files() == 0 || !is_open(&corpus.at("link.md")));
    assert_eq!(reader.read("link.md").unwrap_err().code, code::STORE_FILE);
    assert!(open_files() == 0 || is_open(&corpus.at("link.md")));
}

#[test]
fn roots_are_refused_by_code() {
    let corpus = Corpus::new(&["a.md", "sub/b.md"]);
    symlink("sub", corpus.at("alias")).unwrap();
    let code = |base: &Path, path: &str| match SourceReader::open(base, path, LIMIT) {
        Ok(_) => "ok",
        Err(error) => {
            assert!(error.hint().is_some());
            error.code()
        }
    };
    let root = corpus.at("");
    assert_eq!(code(&root, "."), "ok");
    assert_eq!(code(&root, "sub"), "ok");
    assert_eq!(code(&root, "gone"), "root_missing");
    assert_eq!(code(&corpus.at("gone"), "."), "root_missing");
    assert_eq!(code(&root, "a.md"), "root_not_folder");
    assert_eq!(code(&root, "alias"), "root_symlink");
    // The base is what the user named: links in it are theirs.
    assert_eq!(code(&corpus.at("alias"), "."), "ok");
    assert_eq!(code(&root, "../.."), "root_unreadable");
    fs::set_permissions(corpus.at("sub"), fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(corpus.0.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(as_nobody(|| code(&root, "sub")), "root_unreadable");
}

#[test]
fn a_root_that_is_replaced_meanwhile_is_not_followed() {
    let corpus = Corpus::new(&["a.md"]);
    let reader = corpus.reader();
    fs::rename(corpus.at(""), corpus.0.path().join("old")).unwrap();
    fs::create_dir(corpus.at("")).unwrap();
    corpus.write("other.md", "other");
    assert_eq!(paths(&reader.list(&Selection::default())), ["a.md"]);
    assert_eq!(reader.read("a.md").unwrap().text, "# a.md\n");
    assert_eq!(reader.read("other.md").unwrap_err().code, code::VANISHED);
}

#[test]
fn what_may_not_be_read_is_a_failure_and_never_absent() {
    let corpus = Corpus::new(&["a.md", "locked/b.md", "locked/deep/c.md", "secret.md", "sub/d.md", "nolist/e.md"]);
    for (path, mode) in [("", 0o755), ("locked", 0o000), ("secret.md", 0o000), ("sub", 0o755), ("nolist", 0o711)] {
        fs::set_permissions(corpus.at(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::set_permissions(corpus.0.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for reader in corpus.both_readers() {
        as_nobody(|| {
            let listing = reader.list(&Selection::default());
            assert_eq!(paths(&listing), ["a.md", "secret.md", "sub/d.md"]);
            let expected = [("locked", code::UNREADABLE_FOLDER), ("nolist", code::UNREADABLE_FOLDER)];
            assert_eq!(refusals(&listing), expected);
            assert_eq!(reader.read("secret.md").unwrap_err().code, code::UNREADABLE);
            assert_eq!(reader.read("locked/b.md").unwrap_err().code, code::UNREADABLE);
            // A folder that may be passed through but not listed still gives its files by name.
            assert_eq!(reader.read("nolist/e.md").unwrap().text, "# nolist/e.md\n");
        });
    }
    for path in ["locked", "nolist"] {
        fs::set_permissions(corpus.at(path), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_fault_at_any_folder_of_a_tree_deletes_nothing() {
    let names: Vec<String> = (0..200).map(|at| format!("f{}/g{}/{at}.md", at % 5, at % 20)).collect();
    let corpus = Corpus::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for path in [corpus.0.path(), &corpus.at("")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let reader = corpus.reader();
    let stored = || {
        let document = |path: &String| StoredDocument {
            class_no: 1,
            document_no: 1,
            path: path.clone(),
            stamps: None,
            content_hash: Digest::of(path),
        };
        names.iter().map(document).collect::<Vec<_>>()
    };
    let mut folders: Vec<String> = (0..5).map(|at| format!("f{at}")).collect();
    folders.extend((0..20).map(|at| format!("f{}/g{at}", at % 5)));
    folders.push(String::new());
    for folder in folders {
        let inside = names.iter().filter(|path| folder.is_empty() || path.starts_with(&format!("{folder}/"))).count();
        for mode in [0o000, 0o311, 0o644] {
            fs::set_permissions(corpus.at(&folder), fs::Permissions::from_mode(mode)).unwrap();
            let plan = as_nobody(|| plan(reader.list(&Selection::default()), stored(), false));
            fs::set_permissions(corpus.at(&folder), fs::Permissions::from_mode(0o755)).unwrap();
            assert_eq!((plan.deleted.len(), plan.kept.len()), (0, inside), "{folder} {mode:o}");
            assert!(!plan.failures.is_empty());
        }
    }
}

#[test]
fn a_folder_too_deep_to_name_is_a_failure() {
    let corpus = Corpus::new(&["a.md"]);
    let name = "d".repeat(250);
    let mut folder = rustix::fs::open(corpus.at(""), rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty()).unwrap();
    for _ in 0..20 {
        rustix::fs::mkdirat(&folder, &name, rustix::fs::Mode::RWXU).unwrap();
        folder = rustix::fs::openat(&folder, &name, rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty()).unwrap();
    }
    let listing = corpus.reader().list(&Selection::default());
    assert_eq!(paths(&listing), ["a.md"]);
    let [failure] = listing.failures.as_slice() else { panic!("{:?}", listing.failures) };
    assert_eq!(failure.code, code::UNREADABLE_FOLDER);
}

#[test]
fn readers_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<SourceReader>();
}

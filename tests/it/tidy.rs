//! The rules of the house that a compiler does not hold, checked by text.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::repository;

/// The most lines of a file that are not tests.
const LONGEST: usize = 500;

/// Which modules of the library a module below the verbs may name. Nothing points back up.
const DIRECTIONS: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("sabotage", &[]),
    // The policy holds the version of the lexer.
    ("model", &["error", "lexicon"]),
    ("lexicon", &["error", "model"]),
    ("store", &["error", "model", "lexicon", "sabotage"]),
    ("access", &["error", "model", "store"]),
    ("endpoint", &["error"]),
    ("embedding", &["error", "model", "lexicon", "endpoint"]),
    ("index", &["error", "model", "lexicon", "store"]),
    ("dense", &["error", "model", "store", "index"]),
    ("ingest", &["error", "model", "lexicon", "store", "sabotage"]),
    ("config", &["error", "model", "ingest"]),
    ("evidence", &["error", "model"]),
    ("gate", &["error", "model", "lexicon", "sabotage"]),
    ("answer", &["error", "model", "lexicon", "endpoint", "store", "evidence", "gate", "search", "context", "verify"]),
];

/// A Rust file of this repository.
struct File {
    /// Its path from the repository's root.
    path: String,
    /// Its lines up to its inline tests; none where all of it is a test.
    lines: Vec<String>,
    /// All of its text.
    text: String,
}

impl File {
    /// Its lines with their numbers, without comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.lines.iter().enumerate();
        lines.map(|(index, line)| (index + 1, line.split("//").next().unwrap_or(line)))
    }

    /// Where one of `words` stands in its code.
    fn places_of(&self, words: &[&str]) -> Vec<String> {
        let found = self.code().filter(|(_, line)| words.iter().any(|word| stands_in(line, word)));
        found.map(|(number, line)| format!("{}:{number}: {}", self.path, line.trim())).collect()
    }

    /// The module of the library that it belongs to.
    fn module(&self) -> Option<&str> {
        let below = self.path.strip_prefix("src/")?;
        Some(below.split_once('/').map_or(below, |(folder, _)| folder).trim_end_matches(".rs"))
    }

    fn is_library(&self) -> bool {
        self.path.starts_with("src/") && !self.is_binary()
    }

    fn is_binary(&self) -> bool {
        self.path.starts_with("src/bin/")
    }
}

/// Whether `word` stands in `line` and does not begin inside another word.
fn stands_in(line: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| !line[..at].ends_with(inside) || !word.starts_with(inside))
}

fn rust_files() -> Vec<File> {
    fn visit(folder: &Path, root: &Path, files: &mut Vec<File>) {
        for path in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                visit(&path, root, files);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source file");
                let shown = path.strip_prefix(root).expect("below the root").display().to_string();
                files.push(File { lines: text.lines().map(str::to_owned).collect(), path: shown, text });
            }
        }
    }
    let mut files = Vec::new();
    for folder in ["src", "tests", "bench", "examples", "fuzz"] {
        let folder = repository(folder);
        if folder.is_dir() {
            visit(&folder, &repository(""), &mut files);
        }
    }
    let tests: BTreeSet<String> = files.iter().flat_map(test_modules).collect();
    for file in &mut files {
        let all_test = tests
            .iter()
            .any(|module| file.path == format!("{module}.rs") || file.path.starts_with(&format!("{module}/")));
        let inline =
            file.lines.windows(2).position(|pair| is_test_module(&pair[0], &pair[1]) && pair[1].ends_with('{'));
        file.lines.truncate(if all_test { 0 } else { inline.unwrap_or(file.lines.len()) });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn is_test_module(attribute: &str, line: &str) -> bool {
    attribute == "#[cfg(test)]" && line.trim_start_matches("pub(crate) ").starts_with("mod ")
}

/// The modules that a file declares for tests only, as paths without `.rs`.
fn test_modules(file: &File) -> Vec<String> {
    let folder = file.path.trim_end_matches(".rs").trim_end_matches("/mod").trim_end_matches("/lib");
    let declared = file.lines.windows(2).filter(|pair| is_test_module(&pair[0], &pair[1]));
    let names = declared.filter_map(|pair| pair[1].split("mod ").nth(1)?.strip_suffix(';'));
    names.map(|name| format!("{folder}/{name}")).collect()
}

fn library() -> Vec<File> {
    let files: Vec<File> = rust_files().into_iter().filter(File::is_library).collect();
    assert!(files.len() > 50, "only {} files of the library were found", files.len());
    files
}

#[test]
fn rusqlite_is_named_in_the_store_and_the_errors_only() {
    let elsewhere =
        library().into_iter().filter(|file| !file.path.starts_with("src/store/") && file.path != "src/error.rs");
    // The verbs hand `store::Connection` on; SQL of their own is not theirs to run.
    let words = [
        "rusqlite",
        "r2d2",
        "r2d2_sqlite",
        ".prepare(",
        ".prepare_cached(",
        ".execute(",
        ".execute_batch(",
        ".query_row(",
    ];
    let places: Vec<String> = elsewhere.flat_map(|file| file.places_of(&words)).collect();
    assert!(places.is_empty(), "{places:#?}");
}

#[test]
fn the_library_knows_no_terminal_environment_or_exit() {
    let words = [
        "println!",
        "eprintln!",
        "print!",
        "eprint!",
        "dbg!",
        "process::exit",
        "std::env",
        "env::",
        "clap",
        "indicatif",
    ];
    let places: Vec<String> = library().iter().flat_map(|file| file.places_of(&words)).collect();
    assert!(places.is_empty(), "{places:#?}");
}

#[test]
fn the_library_shows_one_block_of_names() {
    let root = fs::read_to_string(repository("src/lib.rs")).expect("the crate page");
    let code = root.lines().filter(|line| !line.starts_with("//"));
    let other = |line: &&str| line.contains("pub mod") || line.contains("doc(hidden)") || line.contains("macro_export");
    let places: Vec<&str> = code.filter(other).collect();
    assert!(places.is_empty(), "{places:#?}");
}

#[test]
fn the_binary_reaches_nothing_but_the_library() {
    let files = rust_files().into_iter().filter(File::is_binary);
    let places: Vec<String> = files.flat_map(|file| file.places_of(&["rusqlite", "#[path", "include!"])).collect();
    assert!(places.is_empty(), "{places:#?}");
}

#[test]
fn dependencies_run_one_way() {
    let mut wrong = Vec::new();
    for file in library() {
        let Some((module, allowed)) = DIRECTIONS.iter().find(|(module, _)| file.module() == Some(module)) else {
            continue;
        };
        for (number, line) in file.code() {
            let named = line.split("crate::").skip(1);
            let named = named.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(""));
            let modules = named.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()));
            let up = modules.filter(|name| name != module && !allowed.contains(name));
            wrong.extend(up.map(|name| format!("{}:{number}: {module} names {name}", file.path)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_file_is_longer_than_a_reader_can_hold() {
    let long = rust_files().into_iter().filter(|file| file.lines.len() > LONGEST);
    let long: Vec<String> = long.map(|file| format!("{}: {} lines", file.path, file.lines.len())).collect();
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn what_is_left_to_do_has_an_issue() {
    // Put together here, so that this file does not find itself.
    let marks = [["TO", "DO"].concat(), ["FIX", "ME"].concat(), ["XX", "X"].concat()];
    let unnumbered = |line: &&str| {
        let mark = marks.iter().find_map(|mark| line.find(mark.as_str()).map(|at| (at, mark.len())));
        mark.is_some_and(|(at, length)| {
            let whole = !line[..at].ends_with(char::is_alphanumeric);
            let after = &line[at + length..];
            let numbered = after.strip_prefix("(#").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            whole && !after.starts_with(char::is_alphanumeric) && !numbered
        })
    };
    let places: Vec<String> = rust_files()
        .iter()
        .flat_map(|file| file.text.lines().filter(unnumbered).map(|line| format!("{}: {}", file.path, line.trim())))
        .collect();
    assert!(places.is_empty(), "write the mark with its issue, as (#12) behind it: {places:#?}");
}

#[test]
fn words_are_found_where_they_begin() {
    assert!(stands_in("use std::env;", "std::env"));
    assert!(stands_in("        conn.execute(sql, [])?", ".execute("));
    assert!(!stands_in("let eprintln_like = my_println!()", "println!"));
    assert!(stands_in("    println!(\"x\")", "println!"));
}

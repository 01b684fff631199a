//! The hand-written pages against the program: every command that they show is run, and its output compared.
//!
//! In a `console` block a line that begins with `$ ` is a command, and what follows is its output; in a `sh` block
//! every line is a command. All commands of a page run one after another in one shell, in a temporary folder that
//! holds a copy of `fixtures/`, with standard error in standard output. Each must exit with 0 (so a page that shows
//! a failure ends the command with `; echo "exit code $?"`). Times, hashes and sizes are masked, spaces are not
//! counted, and an output line `…` stands for any number of lines. A block behind `<!-- not run: reason -->` is not
//! run, and one behind `<!-- with a local model -->` only in a build with the feature `local` and where the model can be
//! had, which is `--embedder all-MiniLM-L6-v2` then. A page that speaks of `$RAGDB_DATA` is run where the data set docs-medium can be had.
//!
//! `RAGDB_UPDATE_DOCS=1 cargo test --test it docs` writes the outputs anew, but for blocks with a `…`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Project, data_set, repository};

/// A fenced block: its language, its lines, the number of its first line, and whether it is to be run.
struct Block {
    language: String,
    first: usize,
    lines: Vec<String>,
    run: bool,
}

/// A command of a block and the output that the page shows for it.
struct Shown {
    command: String,
    output: Vec<String>,
}

/// The Markdown files that people wrote: those of the repository's root, of `docs/` and of `bench/`.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for folder in [".", "docs", "bench"] {
        let entries = fs::read_dir(repository(folder)).expect("a folder of the repository");
        pages.extend(entries.map(|entry| entry.expect("an entry").path()));
    }
    pages.push(repository("fixtures/README.md"));
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    pages
}

fn name(page: &Path) -> String {
    page.strip_prefix(env!("CARGO_MANIFEST_DIR")).expect("a page of the repository").display().to_string()
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut open, mut before) = (false, "");
    for (number, line) in text.lines().enumerate() {
        match (open, line.strip_prefix("```")) {
            (false, Some(language)) => {
                let run = match before {
                    "<!-- with a local model -->" => local_model().is_some(),
                    _ => !before.starts_with("<!-- not run: "),
                };
                blocks.push(Block { language: language.to_owned(), first: number + 1, lines: Vec::new(), run });
                open = true;
            }
            (true, Some("")) => open = false,
            (true, _) => blocks.last_mut().expect("an open block").lines.push(line.to_owned()),
            (false, None) => {}
        }
        if !line.is_empty() {
            before = line;
        }
    }
    assert!(!open, "a block is not closed");
    blocks
}

fn commands(block: &Block) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    for line in &block.lines {
        if block.language == "sh" {
            shown.push(Shown { command: line.clone(), output: Vec::new() });
        } else if let Some(command) = line.strip_prefix("$ ") {
            shown.push(Shown { command: command.to_owned(), output: Vec::new() });
        } else {
            shown.last_mut().expect("a console block begins with a command").output.push(line.clone());
        }
    }
    shown
}

/// The folder of a model, where this build can use one.
fn local_model() -> Option<PathBuf> {
    #[cfg(feature = "local")]
    return crate::support::minilm();
    #[cfg(not(feature = "local"))]
    None
}

/// Runs commands in one shell; gives each one's exit code and output.
fn run(commands: &[&str]) -> Vec<(i32, String)> {
    let project = Project::new();
    copy(&repository("fixtures"), &project.path().join("fixtures"));
    let model = local_model().map_or_else(|| "all-MiniLM-L6-v2".into(), |folder| folder.display().to_string());
    let binary = Path::new(env!("CARGO_BIN_EXE_ragdb"));
    let mut script = String::new();
    for command in commands {
        // An example is built as this test is, so that nothing but the example is left to compile.
        let profile = if cfg!(debug_assertions) { "" } else { "--release " };
        let manifest = repository("Cargo.toml").display().to_string();
        let example = format!("cargo run --quiet {profile}--manifest-path {manifest} --example");
        let command = command.replace("cargo run --release --example", &example);
        let command = command.replace("--embedder all-MiniLM-L6-v2", &format!("--embedder {model}"));
        let command = command.replace("cargo run --release -- ", "ragdb ");
        let _ = write!(script, "{{ {command}\n}} </dev/null\nprintf '\\n\\036%d\\n' \"$?\"\n");
    }
    let inherited = std::env::var_os("PATH").expect("a PATH");
    let own = binary.parent().expect("a folder").to_owned();
    let path = std::iter::once(own).chain(std::env::split_paths(&inherited));
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("exec 2>&1\n{script}")).current_dir(project.path()).stdin(Stdio::null());
    shell.env("PATH", std::env::join_paths(path).expect("a PATH")).env("LC_ALL", "C.UTF-8");
    shell.env("RAGDB_DATA", repository("target/data"));
    for name in ["RAGDB_DB", "RAGDB_EMBEDDER", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "TERM"] {
        shell.env_remove(name);
    }
    let output = String::from_utf8(shell.output().expect("sh starts").stdout).expect("UTF-8");
    let mut results = Vec::new();
    let mut rest = output.as_str();
    while let Some((text, after)) = rest.split_once("\n\u{1e}") {
        let (code, after) = after.split_once('\n').expect("an exit code ends its line");
        results.push((code.parse().expect("an exit code"), text.to_owned()));
        rest = after;
    }
    assert_eq!(results.len(), commands.len(), "the shell ended early:\n{output}");
    results
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder is made");
    for entry in fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a file is copied");
        }
    }
}

/// A line without what differs from run to run.
fn masked(line: &str) -> String {
    let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    for index in 0..words.len() {
        let word = words[index].trim_matches(|c: char| !c.is_alphanumeric());
        let digits = word.chars().filter(char::is_ascii_digit).count();
        let hexadecimal = word.len() >= 12 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        if word.starts_with("20") && word.ends_with('Z') && digits >= 14 {
            words[index] = words[index].replace(word, "[time]");
        } else if hexadecimal {
            words[index] = words[index].replace(word, "[hex]");
        } else if index > 0 && matches!(word, "kB" | "MB" | "bytes") {
            words[index - 1] = "[size]".into();
        }
    }
    words.join(" ")
}

/// Whether an output is what a page shows.
fn fits(shown: &[String], real: &[String]) -> bool {
    let Some((first, rest)) = shown.split_first() else { return real.is_empty() };
    if first.trim() == "…" {
        return (0..=real.len()).any(|skipped| fits(rest, &real[skipped..]));
    }
    real.split_first().is_some_and(|(line, others)| masked(first) == masked(line) && fits(rest, others))
}

/// Lines without blank ones at the end.
fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    lines
}

#[test]
fn every_command_shown_gives_the_output_shown() {
    let has_sqlite = Command::new("sqlite3").arg("--version").output().is_ok();
    let update = std::env::var_os("RAGDB_UPDATE_DOCS").is_some();
    let mut wrong = String::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("the page is there");
        let runnable = |block: &Block| block.run && matches!(block.language.as_str(), "console" | "sh");
        let blocks: Vec<Block> = blocks(&text).into_iter().filter(runnable).collect();
        let parts: Vec<Vec<Shown>> = blocks.iter().map(commands).collect();
        let all: Vec<&str> = parts.iter().flatten().map(|shown| shown.command.as_str()).collect();
        if all.is_empty() {
            continue;
        }
        let needs_data = all.iter().any(|command| command.contains("$RAGDB_DATA"));
        if needs_data && data_set("docs-medium", "C_docs/medium-powershell").is_none() {
            continue;
        }
        let mut results = run(&all).into_iter();
        let mut written: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut moved = 0_isize;
        for (block, part) in blocks.iter().zip(&parts) {
            let mut renewed = Vec::new();
            let mut fitting = true;
            for shown in part {
                let (code, output) = results.next().expect("a result for each command");
                let real = lines(&output);
                renewed.push(format!("$ {}", shown.command));
                renewed.extend(real.iter().cloned());
                if shown.command.starts_with("sqlite3 ") && !has_sqlite {
                    continue;
                }
                let shown_lines = lines(&shown.output.join("\n"));
                let same = block.language == "sh" || fits(&shown_lines, &real);
                if code != 0 || !same {
                    fitting = false;
                    let _ = write!(wrong, "{}: $ {}\nexit code {code}\n{output}\n", name(&page), shown.command);
                }
            }
            let elided = block.lines.iter().any(|line| line.trim() == "…");
            if update && !fitting && block.language == "console" && !elided {
                let first = block.first.strict_add_signed(moved);
                moved += renewed.len().cast_signed() - block.lines.len().cast_signed();
                written.splice(first..first + block.lines.len(), renewed);
            }
        }
        if update {
            fs::write(&page, written.join("\n") + "\n").expect("the page is written");
        }
    }
    assert!(update || wrong.is_empty(), "pages show another output than this:\n{wrong}");
}

#[test]
fn a_page_is_compared_without_what_differs_from_run_to_run() {
    let own = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(masked(" 1  2026-11-30T10:09:31.527Z  b53ee6c09b80"), "1 [time] [hex]");
    assert_eq!(masked("ragdb.db (152 kB, schema 1)"), "ragdb.db [size] kB, schema 1)");
    assert_eq!(masked("refund 14  1.5454"), "refund 14 1.5454");
    assert!(fits(&own(&["a", "…", "d"]), &own(&["a", "b", "c", "d"])));
    assert!(!fits(&own(&["a", "…", "d"]), &own(&["a", "b", "c"])));
    assert!(!fits(&own(&["a"]), &own(&["a", "b"])));
}

/// The targets of the inline links of a page, outside fenced blocks.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        if !fenced {
            links.extend(
                line.match_indices("](").filter_map(|(at, _)| line[at + 2..].split(')').next()).map(String::from),
            );
        }
    }
    links
}

/// A heading as the end of a link.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase().replace(' ', "-");
    kept.chars().filter(|&character| character.is_alphanumeric() || matches!(character, '-' | '_')).collect()
}

#[test]
fn every_relative_link_leads_somewhere() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("the page is there");
        for link in links(&text).iter().filter(|link| !link.contains("://")) {
            let (path, part) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { page.clone() } else { page.parent().expect("a folder").join(path) };
            let heading = |text: &str| {
                text.lines().any(|line| line.starts_with('#') && anchor(line.trim_start_matches('#')) == part)
            };
            let leads =
                target.exists() && (part.is_empty() || fs::read_to_string(&target).is_ok_and(|text| heading(&text)));
            if !leads {
                broken.push(format!("{}: {link}", name(&page)));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_verb_is_in_the_readme() {
    let readme = fs::read_to_string(repository("README.md")).expect("the README");
    let help = Project::new().ok(&["--help"]).stdout;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let verbs: Vec<&str> =
        listed.filter_map(|line| line.split_whitespace().next()).filter(|verb| *verb != "help").collect();
    assert!(verbs.contains(&"sync") && verbs.len() > 10, "{verbs:?}");
    let missing: Vec<_> = verbs.iter().filter(|verb| !readme.contains(&format!("ragdb {verb}"))).collect();
    assert!(missing.is_empty(), "README.md does not name {missing:?}");
}

#[test]
fn every_dependency_earns_its_place_in_the_architecture() {
    let manifest = fs::read_to_string(repository("Cargo.toml")).expect("the manifest");
    let page = fs::read_to_string(repository("ARCHITECTURE.md")).expect("the architecture");
    let listed = |section: &str| -> Vec<String> {
        let lines = manifest.lines().skip_while(|line| *line != section).skip(1);
        let lines = lines.take_while(|line| !line.starts_with('['));
        lines.filter_map(|line| Some(line.split_once(" = ")?.0.to_owned())).collect()
    };
    let mut crates = [listed("[dependencies]"), listed("[dev-dependencies]")].concat();
    crates.sort();
    crates.dedup();
    assert!(crates.contains(&"rusqlite".to_owned()), "{crates:?}");
    let missing: Vec<_> = crates.iter().filter(|name| !page.contains(&format!("| `{name}` |"))).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md has no line for {missing:?}");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |")).map(|(name, _)| name);
    let plain = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let table: Vec<&str> = rows.filter(plain).collect();
    let stale: Vec<_> = table.iter().filter(|name| !crates.iter().any(|known| known == *name)).collect();
    assert!(stale.is_empty(), "ARCHITECTURE.md names {stale:?}, which Cargo.toml has not");
}

#[test]
fn the_readme_shows_the_example_of_the_crate_page() {
    let readme = fs::read_to_string(repository("README.md")).expect("the README");
    let source = fs::read_to_string(repository("src/lib.rs")).expect("the crate page");
    let page: Vec<&str> = source.lines().filter_map(|line| line.strip_prefix("//!")).collect();
    let page = page.iter().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n");
    let example = |text: &str| {
        let block = blocks(text).into_iter().find(|block| block.language == "rust").expect("a Rust example");
        block.lines.into_iter().filter(|line| line != "#" && !line.starts_with("# ")).collect::<Vec<_>>()
    };
    assert_eq!(example(&readme), example(&page));
}

#[test]
fn every_configuration_shown_is_one() {
    let mut shown = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).expect("the page is there");
        for block in blocks(&text).iter().filter(|block| block.language == "yaml") {
            let parsed = ragdb::Config::from_yaml(&block.lines.join("\n"), "ragdb.yaml");
            assert!(parsed.is_ok(), "{}: {parsed:?}", name(&page));
            shown += 1;
        }
    }
    assert!(shown > 0);
}

#[test]
fn the_readme_names_the_versions_that_are_built() {
    let readme = fs::read_to_string(repository("README.md")).expect("the README");
    let manifest = fs::read_to_string(repository("Cargo.toml")).expect("the manifest");
    let project = Project::synced();
    let (_, answer) = project.json(&["sql", "SELECT sqlite_version()"]);
    let sqlite = answer["rows"][0][0].as_str().expect("a version");
    assert!(readme.contains(&format!("SQLite {sqlite} ")), "README.md does not say SQLite {sqlite}");
    let rust = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).expect("a Rust version");
    let rust = rust.trim_matches('"');
    assert!(readme.contains(&format!("({rust} or newer)")), "README.md does not say Rust {rust}");
}

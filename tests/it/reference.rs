//! `docs/cli.md` against the binary and the library: what it says is what they do.
//!
//! `RAGDB_UPDATE_DOCS=1 cargo test --test it reference` writes the generated parts anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::support::{Project, repository};

const DOCUMENT: &str = "docs/cli.md";

/// The verbs that help lists, and behind each what it can be told to do.
fn verbs(project: &Project) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for verb in listed(&project.ok(&["--help"]).stdout) {
        let below = listed(&project.ok(&[&verb, "--help"]).stdout);
        all.push(vec![verb.clone()]);
        all.extend(below.into_iter().map(|name| vec![verb.clone(), name]));
    }
    all
}

/// The commands that a help text lists.
fn listed(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next().map(str::to_owned));
    names.filter(|name| !name.is_empty() && name != "help").collect()
}

fn help_of_every_verb() -> String {
    let project = Project::new();
    let block = |help: &str| {
        let lines: Vec<_> = help.lines().map(str::trim_end).collect();
        format!("```text\n{}\n```\n", lines.join("\n").trim_end())
    };
    let mut out = block(&project.ok(&["--help"]).stdout);
    for verb in verbs(&project) {
        // The global options stand once, above.
        let arguments: Vec<&str> = verb.iter().map(String::as_str).chain(["--help"]).collect();
        let help = project.ok(&arguments).stdout;
        let (head, tail) = help.split_once("Global options:\n").expect("every verb takes the global options");
        let tail = tail.split_once("\nExamples:").or_else(|| tail.split_once("\nExample:"));
        let examples = tail.map_or(String::new(), |(_, lines)| format!("Examples:{lines}"));
        let _ = write!(out, "\n### ragdb {}\n\n{}", verb.join(" "), block(&(head.to_owned() + &examples)));
    }
    out
}

fn failure_codes() -> String {
    let rows = ragdb::FAILURE_CODES.iter().map(|(code, meaning)| format!("| `{code}` | {meaning} |\n"));
    format!("| code | meaning |\n|---|---|\n{}", rows.collect::<String>())
}

fn audits() -> String {
    let rows = ragdb::audits().iter().map(|audit| {
        let asks = if audit.operator_only { "the operator" } else { "anyone" };
        format!("| `{}` | {} | {asks} |\n", audit.name, audit.description)
    });
    format!("| audit | answers | for |\n|---|---|---|\n{}", rows.collect::<String>())
}

/// Replaces what stands between the marks of a generated part.
fn replace(document: &str, part: &str, text: &str) -> String {
    let (begin, end) = (format!("<!-- generated: {part} -->\n"), format!("<!-- end: {part} -->"));
    let (head, rest) = document.split_once(&begin).unwrap_or_else(|| panic!("{DOCUMENT} has the mark {begin}"));
    let (_, tail) = rest.split_once(&end).unwrap_or_else(|| panic!("{DOCUMENT} has the mark {end}"));
    format!("{head}{begin}\n{text}\n{end}{tail}")
}

#[test]
fn the_generated_parts_are_current() {
    let path = repository(DOCUMENT);
    let written = fs::read_to_string(&path).expect("the reference is there");
    let mut current = written.clone();
    for (part, text) in [("help", help_of_every_verb()), ("failures", failure_codes()), ("audits", audits())] {
        current = replace(&current, part, &text);
    }
    if std::env::var_os("RAGDB_UPDATE_DOCS").is_some() {
        fs::write(&path, &current).expect("the reference is written");
        return;
    }
    assert!(written == current, "{DOCUMENT} is out of date; run RAGDB_UPDATE_DOCS=1 cargo test --test it reference");
}

/// The error codes that stand in the library's and the binary's source.
fn codes_in_source() -> BTreeSet<String> {
    fn visit(folder: &Path, codes: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).expect("a source folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() {
                visit(&entry, codes);
            } else if entry.extension().is_some_and(|extension| extension == "rs") {
                let source = fs::read_to_string(&entry).expect("a source file");
                let starts = source.match_indices("code: \"").map(|(at, mark)| at + mark.len());
                codes.extend(starts.filter_map(|at| source[at..].split('"').next()).map(str::to_owned));
            }
        }
    }
    let mut codes = BTreeSet::new();
    visit(&repository("src"), &mut codes);
    let errors = fs::read_to_string(repository("src/error.rs")).expect("the errors");
    let arms = errors.lines().filter_map(|line| line.trim().strip_prefix("Self::")?.split_once(" => \""));
    codes.extend(arms.filter_map(|(_, code)| code.strip_suffix("\",")).map(str::to_owned));
    codes
}

#[test]
fn every_error_code_is_documented() {
    let document = fs::read_to_string(repository(DOCUMENT)).expect("the reference is there");
    let codes = codes_in_source();
    assert!(codes.contains("store_missing") && codes.contains("usage") && codes.contains("config_exists"), "{codes:?}");
    let missing: Vec<_> = codes.iter().filter(|code| !document.contains(&format!("| `{code}` |"))).collect();
    assert!(missing.is_empty(), "{DOCUMENT} does not explain {missing:?}");
}

//! Streams, colours, pipes, and text that tries to drive the terminal.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::support::{Project, Run};

const HOSTILE: &str = "# Title\u{1b}]0;owned\u{7}\n\nA trap\u{1b}[2J\u{1b}[31m and \u{9b}31m a\u{202e}b \u{7f} end.\n";

fn harmless(text: &str) -> bool {
    !text.contains(|c: char| (c.is_control() && c != '\n' && c != '\t') || ('\u{202a}'..='\u{202e}').contains(&c))
}

fn hostile() -> Project {
    let project = Project::new();
    project.write("docs/trap.md", HOSTILE);
    // A direction override is unsafe text; only a reviewed document with one is found.
    project.write("ragdb.yaml", "sources:\n  - id: docs\n    path: docs\n    trust: reviewed\n");
    project.ok(&["sync"]);
    project
}

#[test]
fn a_document_can_t_drive_the_terminal() {
    let project = hostile();
    for arguments in [
        &["search", "trap"][..],
        &["search", "trap", "--explain"],
        &["search", "trap \u{1b}[31m", "--floor", "0", "--explain"],
        &["cite", "trap.md#L1-L3"],
        &["sql", "SELECT text, heading_path FROM chunks"],
        &["sql", "SELECT 1 AS \"a\u{1b}[31m\""],
        &["show", "1"],
        &["diff", "0", "1"],
    ] {
        let run = project.ok(arguments);
        assert!(harmless(&run.stdout), "{arguments:?}: {:?}", run.stdout);
        assert!(harmless(&run.stderr), "{arguments:?}: {:?}", run.stderr);
    }
    let cited = project.ok(&["cite", "trap.md#L3"]).stdout;
    assert!(cited.contains(r"A trap\u{1b}[2J\u{1b}[31m and \u{9b}31m a\u{202e}b \u{7f} end."), "{cited}");
}

#[test]
fn arguments_can_t_drive_the_terminal_either() {
    let project = Project::synced();
    for arguments in [
        &["sync", "no\u{1b}[2Jwhere"][..],
        &["cite", "x\u{1b}[2J"],
        &["sql", "\u{1b}[2J"],
        &["log", "--db", "\u{1b}[2J"],
    ] {
        let run = project.run(arguments);
        assert_eq!(run.code, 2);
        assert!(harmless(&run.stderr), "{arguments:?}: {:?}", run.stderr);
    }
}

#[test]
fn json_and_csv_keep_every_character() {
    let project = hostile();
    let run = project.ok(&["search", "trap", "--json"]);
    assert!(harmless(&run.stdout), "{:?}", run.stdout);
    let (_, found) = project.json(&["search", "trap"]);
    assert_eq!(found["hits"][0]["text"], HOSTILE.trim_end());
    let csv = project.ok(&["sql", "--csv", "SELECT text FROM chunks"]).stdout;
    assert_eq!(csv, format!("text\n\"{}\"\n", HOSTILE.trim_end()));
}

#[test]
fn colour_is_for_terminals_and_for_those_who_ask() {
    let project = Project::synced();
    let run = |arguments: &[&str], no_color: bool| {
        let mut command = project.command(arguments);
        if no_color {
            command.env("NO_COLOR", "1");
        }
        Run::from(command.output().expect("ragdb runs"))
    };
    let coloured = |run: &Run| run.stdout.contains('\u{1b}');
    assert!(!coloured(&run(&["search", "key"], false)), "a pipe is no terminal");
    assert!(coloured(&run(&["search", "key", "--color", "always"], false)));
    assert!(coloured(&run(&["search", "key", "--color", "always"], true)), "the option is the later word");
    assert!(!coloured(&run(&["search", "key", "--color", "never"], false)));
    assert!(!coloured(&run(&["search", "key", "--color", "always", "--json"], false)));
    let bold = run(&["search", "grace", "--color=always"], false).stdout;
    assert!(bold.contains("the \u{1b}[1mgrace\u{1b}[0m period"), "{bold:?}");
    assert!(run(&["serach", "--color=always"], false).stderr.contains('\u{1b}'));
    assert!(!run(&["serach"], false).stderr.contains('\u{1b}'));
}

#[test]
fn results_and_diagnostics_go_to_their_own_streams() {
    let project = Project::with_docs();
    project.write("docs/bad.md", b"\xff");
    let run = project.ok(&["sync", "docs", "--keep-going"]);
    assert!(run.stdout.starts_with("published generation 1\n") && !run.stdout.contains("bad.md"), "{}", run.stdout);
    assert!(run.stderr.contains("bad.md: not_utf8: "), "{}", run.stderr);
    let quiet = project.run(&["search", "xyzzy", "-q"]);
    assert_eq!((quiet.code, quiet.stdout.as_str(), quiet.stderr.as_str()), (1, "", ""));
    let verbose = project.ok(&["log", "-v"]);
    assert!(verbose.stderr.contains("ragdb.db"), "{}", verbose.stderr);
}

#[test]
fn a_statement_can_be_piped_in() {
    let project = Project::synced();
    let mut child =
        project.command(&["sql", "--csv"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("ragdb starts");
    child.stdin.take().expect("a pipe").write_all(b"SELECT count(*) AS n FROM documents").expect("ragdb reads");
    let run = Run::from(child.wait_with_output().expect("ragdb ends"));
    assert_eq!((run.code, run.stdout.as_str()), (0, "n\n3\n"));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let project = Project::synced();
    // Far more than a pipe holds, so that writing goes on after the reader has left.
    let query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT i FROM n";
    for format in ["--csv", "--json", "--table"] {
        let mut command = project.command(&["sql", format, query]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("ragdb starts");
        let mut line = String::new();
        let mut reader = BufReader::with_capacity(16, child.stdout.take().expect("a pipe"));
        if format != "--json" {
            reader.read_line(&mut line).expect("a line");
        }
        drop(reader);
        let output = child.wait_with_output().expect("ragdb ends");
        assert_eq!(output.status.code(), Some(0), "{format}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{format}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let project = Project::synced();
    for arguments in [
        &["search", "key"][..],
        &["search", "key", "--json"],
        &["sql", "SELECT 1", "--csv"],
        &["--version"],
        &["eval", "--help"],
        &["help", "sync"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has /dev/full");
        let output = project.command(arguments).stdout(full).stderr(Stdio::piped()).output().expect("ragdb runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("could not be written"), "{arguments:?}");
    }
}

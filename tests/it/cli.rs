//! The command line as a user or a script meets it: output, streams and exit codes of the real binary.

mod embed;
mod errors;
mod output;
mod terminal;

use insta::Settings;

/// Snapshots in which what differs from run to run, or with the lexer, is replaced by its name.
fn snapshot_settings() -> Settings {
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    for (pattern, name) in [
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "[time]"),
        (r"\b[0-9a-f]{32}:[0-9a-f]{16}:(\d+)\b", "[chunk]:$1"),
        (r"\b[0-9a-f]{64}\b", "[digest]"),
        (r"\b[0-9a-f]{32}\b", "[id]"),
        (r"\\n[0-9a-f]{32}>>>", r"\n[id]>>>"),
        (r"\b[0-9a-f]{12}\b", "[digest]"),
        (r"(/[\w.-]+)+/\.tmp\w+", "[dir]"),
        (r#"("(?:walk|read|write|checkpoint|total|score|average_length|floor)":)[0-9.e-]+"#, "${1}0"),
        (r#"("(?:file_bytes|bytes_before|bytes_after)":)\d+"#, "${1}0"),
        (r"\d+(\.\d+)? [kM]?B\b", "[size]"),
        (r"(?m)^( *\d+) +\d+\.\d{4}  (\S+#L)", "$1  [score]  $2"),
        (r"\b\d+ (postings|objects)\b", "[n] $1"),
        (r"\b\d+\.\d terms a chunk", "[n] terms a chunk"),
        (r"(ragdb) \d+\.\d+\.\d+", "$1 [version]"),
    ] {
        settings.add_filter(pattern, name);
    }
    settings
}

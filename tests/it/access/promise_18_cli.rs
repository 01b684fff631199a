//! Promise 18 on the command line: text, JSON and exit codes.

use rstest::rstest;

use crate::support::Project;

const SOURCES: &str = "sources:
  - {id: docs, path: docs, tenant: acme}
  - {id: hr, path: hr, tenant: acme, groups: [hr]}
  - {id: open, path: open, visibility: public}
";
const ANN: [&str; 4] = ["--tenant", "acme", "--user", "ann"];

fn project() -> Project {
    let project = Project::new();
    project.write("ragdb.yaml", SOURCES);
    project.write("docs/keys.md", "# Keys\n\nRotate a key every 90 days.\n");
    project.write("docs/pay.md", "---\nvisibility: private\n---\n# Pay\n\nThe key of the vault is 4711.\n");
    project.write("hr/pay.md", "# Pay\n\nThe key of the vault is 4711.\n");
    project.write("hr/gone.md", "# Gone\n\nThe key of the vault was 1234.\n");
    project.write("open/index.md", "# Open\n\nRead this about a key.\n");
    project.ok(&["sync"]);
    project.remove("hr/gone.md");
    project.ok(&["sync"]);
    project
}

/// All that a run of the binary says, with one name for the id that it was asked about.
fn told(project: &Project, arguments: &[&str], reader: &[&str], id: &str) -> String {
    let (path, _) = id.split_once('#').unwrap_or((id, ""));
    let transcript = project.run(&[arguments, reader].concat()).transcript();
    let (exit, transcript) = transcript.split_once('\n').unwrap_or((&transcript, ""));
    let transcript = transcript.replace(id, "ID").replace(path, "PATH");
    let rest = path.split_once(':').map_or(path, |(_, rest)| rest);
    let random = regex::Regex::new(r"[0-9a-f]{32}|20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z").expect("a pattern");
    format!("{exit}\n{}", random.replace_all(&transcript.replace(rest, "REST"), "RANDOM"))
}

#[rstest]
#[case::a_source(&["cite"], "hr:pay.md#L3", "hr:qqq.md#L3")]
#[case::a_path(&["cite"], "pay.md#L3", "qqq.md#L3")]
#[case::a_private_one(&["cite"], "docs:pay.md#L6", "docs:qqq.md#L6")]
#[case::gone(&["cite"], "hr:gone.md#L1", "hr:qqqq.md#L1")]
#[case::a_generation(&["show"], "2", "7")]
#[case::generations(&["diff", "0"], "2", "7")]
#[case::a_filter(&["search"], "key source:hr", "key source:qq")]
#[case::a_path_filter(&["search", "--explain"], "key path:pay", "key path:qqq")]
#[case::words(&["search"], "4711", "8822")]
#[case::evidence(&["context"], "4711", "8822")]
#[case::an_answer(&["answer"], "4711 vault", "8822 wault")]
#[case::sql(&["sql"], "SELECT * FROM documents WHERE path = 'pay.md'", "SELECT * FROM documents WHERE path = 'qqq.md'")]
fn promise_18_forbidden_and_unknown_are_the_same_on_the_command_line(
    #[case] verb: &[&str],
    #[case] forbidden: &str,
    #[case] unknown: &str,
) {
    let project = project();
    for reader in [&ANN[..], &["--public"]] {
        for json in [&[][..], &["--json"]] {
            let ask = |id: &str| told(&project, &[verb, &[id], json].concat(), reader, id);
            assert_eq!(ask(forbidden), ask(unknown), "{verb:?} {reader:?} {json:?}");
        }
    }
}

#[test]
fn promise_18_chunks_and_runs_of_others_are_unknown_on_the_command_line() {
    let project = project();
    let (_, chunks) = project.json(&["sql", "SELECT chunk_id FROM provenance WHERE path = 'pay.md'"]);
    let text = chunks.to_string();
    let pattern = regex::Regex::new("[0-9a-f]{32}:[0-9a-f]{16}:[0-9]").expect("a pattern");
    let ids: Vec<&str> = pattern.find_iter(&text).map(|found| found.as_str()).collect();
    assert_eq!(ids.len(), 2, "{text}");
    for id in ids {
        let unknown = id.replace(|c: char| c.is_ascii_hexdigit() && c != '0', "5");
        for json in [&[][..], &["--json"]] {
            let ask = |id: &str| told(&project, &[&["cite", id], json].concat(), &ANN, id);
            assert_eq!(ask(id), ask(&unknown));
        }
        assert_ne!(told(&project, &["cite", id], &[], id), told(&project, &["cite", &unknown], &[], &unknown));
    }
    // The operator's run.
    project.ok(&["context", "rotate a key"]);
    let (_, runs) = project.json(&["sql", "SELECT run_id FROM runs"]);
    let id =
        regex::Regex::new("[0-9a-f]{32}").expect("a pattern").find(&runs.to_string()).map(|id| id.as_str().to_owned());
    let (id, unknown) = (id.expect("a run"), "0123456789abcdef0123456789abcdef");
    project
        .write("answer.json", r#"{"claims": [{"text": "Rotate a key every 90 days.", "citations": [{"ref": "S1"}]}]}"#);
    for json in [&[][..], &["--json"]] {
        let ask = |id: &str| told(&project, &[&["verify", "answer.json", "--run", id], json].concat(), &ANN, id);
        assert_eq!(ask(&id), ask(unknown));
    }
    assert_eq!(project.run(&["verify", "answer.json", "--run", &id]).code, 0);
}

#[test]
fn promise_18_tables_that_are_not_the_readers_are_unknown_on_the_command_line() {
    let project = project();
    for forbidden in ["acl_classes", "settings", "main.segments", "temp.settings"] {
        let unknown = forbidden.replace(['s', 'e'], "q");
        for json in [&[][..], &["--json"]] {
            let ask = |table: &str| {
                let sql = format!("SELECT * FROM {table}");
                told(&project, &[&["sql", &sql], json].concat(), &ANN, table)
            };
            assert_eq!(ask(forbidden), ask(&unknown));
        }
    }
}

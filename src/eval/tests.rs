//! The shipped judgements against the shipped corpus.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    query: String,
    relevant: Vec<String>,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn corpus() -> BTreeMap<String, String> {
    let root = fixtures().join("corpus");
    let mut pages = BTreeMap::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
                pages.insert(name, fs::read_to_string(path).unwrap());
            }
        }
    }
    pages
}

/// Whether `text` holds `identifier` with no ASCII letter, digit or underscore running on from either end.
fn contains(text: &str, identifier: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let free = |inner: Option<char>, outer: Option<char>| !(inner.is_some_and(word) && outer.is_some_and(word));
    text.match_indices(identifier).any(|(start, _)| {
        free(identifier.chars().next(), text[..start].chars().next_back())
            && free(identifier.chars().next_back(), text[start + identifier.len()..].chars().next())
    })
}

#[test]
fn identifier_queries_name_the_pages_that_hold_them() {
    let pages = corpus();
    assert_eq!(pages.len(), 15);
    let text = fs::read_to_string(fixtures().join("eval/identifiers.jsonl")).unwrap();
    let cases: Vec<Case> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: BTreeSet<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(ids.len(), cases.len(), "an id comes twice");

    let (whole, others): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.id.starts_with("whole-"));
    assert!(whole.len() >= 30, "{} whole identifiers", whole.len());
    for case in whole {
        let holding = pages.iter().filter(|(_, text)| contains(text, &case.query));
        assert_eq!(
            holding.map(|(path, _)| path).collect::<Vec<_>>(),
            case.relevant.iter().collect::<Vec<_>>(),
            "{}",
            case.query
        );
    }
    for case in others {
        assert!(!case.relevant.is_empty() && !case.query.is_empty(), "{}", case.id);
        for path in &case.relevant {
            assert!(pages.contains_key(path), "{} names {path}", case.id);
        }
    }
}

#[test]
fn both_languages_state_the_same_facts() {
    let pages = corpus();
    let numbers = |path: &str| {
        let text = pages[path].split("---\n").nth(2).unwrap();
        let runs = text.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty());
        runs.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let english = numbers("guide/returns.md");
    let chinese = numbers("zh/returns.md");
    assert!(["45", "14", "80", "5", "24", "43", "44"].iter().all(|number| chinese.contains(*number)));
    assert!(chinese.is_subset(&english), "{chinese:?} {english:?}");
}

#[test]
fn one_page_has_crlf_line_ends() {
    let pages = corpus();
    let with_crlf: Vec<_> = pages.iter().filter(|(_, text)| text.contains('\r')).map(|(path, _)| path).collect();
    assert_eq!(with_crlf, ["reference/limits.md"]);
    let limits = &pages["reference/limits.md"];
    assert_eq!(limits.matches('\n').count(), limits.matches("\r\n").count());
}

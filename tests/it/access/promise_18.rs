//! Promise 18: what a reader may not read is answered as what never was, word for word, at every entry point.

use std::fmt::Debug;
use std::fs;
use std::path::PathBuf;

use ragdb::{
    AclChange, AnswerFormat, Config, ContextRequest, Principal, ProposedAnswer, SearchRequest, Store, SyncRequest,
    SyncSources, VerifyRequest,
};
use tempfile::TempDir;

use super::trace::{Ran, watch};
use crate::world::{rows, value, write};

const SOURCES: &str = "sources:
  - {id: open, path: open, visibility: public}
  - {id: docs, path: docs, tenant: acme, scope: guides}
  - {id: notes, path: notes, tenant: acme, scope: notes}
  - {id: hr, path: hr, tenant: acme, groups: [hr]}
  - {id: other, path: other, tenant: globex}
  - {id: free, path: free}
";

/// Documents that the reader may not read, each for a reason of its own.
const FORBIDDEN: [(&str, &str, &str); 10] = [
    ("hr", "group.md", ""),
    ("other", "tenant.md", ""),
    ("free", "no-tenant.md", ""),
    ("docs", "private.md", "visibility: private\n"),
    ("docs", "narrowed.md", "groups: [hr]\n"),
    ("docs", "over.md", "valid_until: 2001-01-01\n"),
    ("docs", "ahead.md", "valid_from: 2990-01-01\n"),
    ("docs", "revoked.md", ""),
    ("hr", "deleted.md", ""),
    ("notes", "scope.md", ""),
];

/// A store with all of these.
struct Vault {
    folder: TempDir,
    reader: Principal,
}

impl Vault {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let reader = Principal::new("acme", "ann").and_then(|ann| ann.with_group("it")?.with_scope("guides"));
        let vault = Self { folder, reader: reader.expect("a principal") };
        for (source, file, fields) in FORBIDDEN {
            let text =
                format!("---\nowner: zed\n{fields}---\n# Confidential {file}\n\nThe key of the vault is 4711.\n");
            vault.write(&format!("{source}/{file}"), &text);
        }
        vault.write("docs/keys.md", "# Keys\n\nRotate a key every 90 days.\n");
        vault.write("open/index.md", "# Open\n\nRead this about a key.\n");
        vault.write("ragdb.yaml", SOURCES);
        vault.sync();
        let revoked = AclChange::user("docs:revoked.md", "ann").expect("a change");
        vault.store().revoke(&revoked).expect("it is revoked");
        fs::remove_file(vault.path().join("hr/deleted.md")).expect("the file is there");
        vault.sync();
        for other in [Principal::operator(), Principal::new("acme", "zed").expect("a name")] {
            let run = vault.store().context(&other, &ContextRequest::new("rotate a key")).expect("evidence").manifest;
            vault.store().record_run(&other, &run).expect("it is recorded");
        }
        vault
    }

    fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("a folder")
    }

    fn store(&self) -> Store {
        Store::open_or_create(self.path().join("ragdb.db")).expect("a store")
    }

    fn write(&self, path: &str, text: &str) {
        write(&self.path().join(path), text.as_bytes());
    }

    fn sync(&self) {
        let config = Config::load(self.path().join("ragdb.yaml")).expect("a configuration");
        let request =
            SyncRequest { sources: SyncSources::Config(config), max_delete: Some(99), ..SyncRequest::default() };
        self.store().sync(&request).expect("it syncs");
    }

    /// What the reader gets from a call that names an id, without the id, and what SQLite did for it.
    fn ask<T: Debug>(&self, id: &str, call: impl Fn(&Store, &Principal) -> ragdb::Result<T>) -> (String, Vec<Ran>) {
        let store = Store::open(self.path().join("ragdb.db")).expect("the store opens");
        let (given, ran) = watch(|| call(&store, &self.reader));
        let text = match given {
            Ok(given) => format!("{given:#?}"),
            Err(error) => format!("{} {error} {:?} {error:?}", error.code(), error.hint()),
        };
        (without(&text, id), ran)
    }

    /// Panics unless both ids get the same.
    fn same<T: Debug>(&self, what: &str, ids: [&str; 2], call: impl Fn(&Store, &Principal, &str) -> ragdb::Result<T>) {
        let [forbidden, unknown] = ids.map(|id| self.ask(id, |store, reader| call(store, reader, id)));
        assert_eq!(forbidden.0, unknown.0, "{what} {ids:?}");
        for (forbidden, unknown) in forbidden.1.iter().zip(&unknown.1) {
            assert_eq!(forbidden, unknown, "{what} {ids:?}");
        }
        assert_eq!(forbidden.1.len(), unknown.1.len(), "{what} {ids:?}");
    }
}

/// A text in which an id, as it is or as a part of it, is replaced.
fn without(text: &str, id: &str) -> String {
    let mut text = text.replace(id, "ID");
    let (path, _) = id.split_once('#').unwrap_or((id, ""));
    text = text.replace(path, "PATH");
    match path.split_once(':') {
        Some((source, rest)) => text.replace(rest, "REST").replace(&format!("{source:?}"), "SOURCE"),
        None => text,
    }
}

/// What is named and forbidden, with what is as long, looks alike and never was.
fn references(store: &Store) -> Vec<[String; 2]> {
    let mut all = Vec::new();
    for (source, file, _) in FORBIDDEN {
        let unknown =
            file.chars().rev().map(|c| if c == '.' { '.' } else { 'q' }).collect::<String>().replace("qq.", "") + ".md";
        let unknown = unknown.trim_start_matches('.').to_owned();
        for lines in ["#L1", "#L2-L3", "#L6-L99"] {
            all.push([format!("{file}{lines}"), format!("{unknown}{lines}")]);
            all.push([format!("{source}:{file}{lines}"), format!("{source}:{unknown}{lines}")]);
        }
        let sql = format!(
            "SELECT chunk_id FROM chunks c JOIN documents USING (document_no) WHERE path = '{file}' UNION ALL \
             SELECT id FROM tombstones WHERE path = '{file}' AND kind = 'chunk'"
        );
        let id = value(store, &sql);
        let unknown: String = id.chars().map(|c| if c.is_ascii_hexdigit() && c != '0' { '5' } else { c }).collect();
        all.push([id.clone(), unknown]);
        // The document is known to be there, the chunk is not.
        let (document, rest) = id.split_at(33);
        all.push([id.clone(), format!("{document}{}", rest.replace(|c: char| c.is_ascii_hexdigit() && c != '0', "7"))]);
    }
    all
}

#[test]
fn promise_18_what_is_forbidden_is_answered_as_what_is_unknown() {
    let vault = Vault::new();
    let run = vault.store().context(&vault.reader, &ContextRequest::new("rotate a key")).expect("evidence").manifest;
    assert_eq!(run.shown.len(), 1, "{run:?}");
    vault.store().record_run(&vault.reader, &run).expect("it is recorded");
    let references = references(&vault.store());
    assert_eq!(references.len(), 80);
    for [forbidden, unknown] in &references {
        let ids = [forbidden.as_str(), unknown.as_str()];
        vault.same("cite", ids, |store, reader, id| store.cite(reader, id));
        vault.same("verify", ids, |store, reader, id| {
            let claim = serde_json::json!({"claims": [{"text": "A key.", "citations": [{"ref": id, "quote": "The key of the vault"}]}]});
            let answer = ProposedAnswer::parse(&claim.to_string(), AnswerFormat::Json, &[])?;
            store.verify(reader, &VerifyRequest::new(&run, &answer))
        });
        let folder = vault.path().join("prose");
        vault.same("cite lock", ids, |store, reader, id| {
            write(&folder.join("page.md"), format!("It is so [here]({id}).\n").as_bytes());
            let _ = fs::remove_file(folder.join("ragdb.lock"));
            let report = store.lock_citations(reader, std::slice::from_ref(&folder))?;
            Ok((report, fs::read_to_string(folder.join("ragdb.lock")).unwrap_or_default().replace(id, "ID")))
        });
    }
}

#[test]
fn promise_18_a_run_of_somebody_else_is_unknown() {
    let vault = Vault::new();
    for mut row in rows(&vault.store(), "SELECT run_id FROM runs") {
        let id = row.remove(0);
        let unknown = "0123456789abcdef0123456789abcdef";
        for length in [8, 20, 32] {
            vault.same("run", [&id[..length], &unknown[..length]], |store, reader, id| store.run(reader, id));
            vault.same("events", [&id[..length], &unknown[..length]], |store, reader, id| {
                store.add_run_events(reader, id, &[])
            });
        }
    }
    let (text, _) = vault.ask("last", |store, reader| store.run(reader, "last"));
    assert!(text.starts_with("not_found"), "{text}");
}

#[test]
fn promise_18_a_filter_for_what_is_forbidden_is_one_for_what_is_unknown() {
    let vault = Vault::new();
    let queries = [
        ["key source:hr", "key source:xx"],
        ["key source:other", "key source:nobod"],
        ["key path:group.md", "key path:grxxp.md"],
        ["key -path:group.md", "key -path:grxxp.md"],
        ["4711", "8822"],
        ["+confidential key", "+undisclosed key"],
        ["\"key of the vault\"", "\"key of the valut\""],
        ["key -vault", "key -valut"],
        ["heading:Confidential key", "heading:Undisclosed key"],
    ];
    for ids in queries {
        vault.same("search", ids, |store, reader, id| {
            let mut result = store.search(reader, &SearchRequest { explain: true, ..SearchRequest::new(id) })?;
            // The query's own words are not what is compared.
            result.query.clear();
            result.terms.iter_mut().filter(|term| term.df == 0).for_each(|term| term.term = "TERM".into());
            Ok(result)
        });
    }
}

#[test]
fn promise_18_generations_of_others_are_unknown() {
    let vault = Vault::new();
    let seen = vault.store().log(&vault.reader, None).expect("a log").len() as u64;
    vault.write("hr/more.md", "# More\n\nMore of the key.\n");
    vault.sync();
    vault.write("hr/more.md", "# More\n\nMore of the keys.\n");
    vault.sync();
    let all = vault.store().log(&Principal::operator(), None).expect("a log").len() as u64;
    assert!(all > seen + 1, "{all} {seen}");
    for number in seen + 1..=all {
        let ids = [&*number.to_string(), "9999"];
        vault.same("show", ids, |store, reader, id| store.show(reader, id.parse().expect("a number")));
        vault.same("diff", ids, |store, reader, id| store.diff(reader, 0, id.parse().expect("a number")));
    }
}

/// A reader who may read it all sees the difference: what is compared above is able to differ.
#[test]
fn promise_18_the_comparison_tells_what_may_be_read() {
    let mut vault = Vault::new();
    vault.reader = Principal::operator();
    let mut told = 0;
    for [forbidden, unknown] in references(&vault.store()) {
        let [there, absent] = [forbidden, unknown].map(|id| vault.ask(&id, |store, reader| store.cite(reader, &id)).0);
        told += usize::from(there != absent);
    }
    assert!(told > 60, "{told}");
}

//! Everything that a reader can ask of a store, as text, with what SQLite did for it.

use std::fmt::Debug;
use std::fs;
use std::sync::Arc;

use ragdb::{
    AnswerFormat, AnswerRequest, ContextRequest, Digest, Extractive, Fusion, HashingEmbedder, Manifest, Principal,
    ProposedAnswer, Retriever, SearchRequest, Store, VerifyRequest,
};

use super::build::{Built, proposal};
use super::trace::{Ran, watch};

/// What one call gave.
pub struct Observed {
    /// The verb and what it was asked.
    pub what: String,
    /// The answer, or the error as a user meets it.
    pub text: String,
    /// The statements that ran.
    pub ran: Vec<Ran>,
}

/// References that are in no world.
const UNKNOWN: [&str; 6] = [
    "00000000000000000000000000000000:0000000000000000:0",
    "nothing.md#L1",
    "docs:nothing.md#L1-L3",
    "nobody:b.md#L1",
    "b.md#L9999",
    "no reference",
];

const QUERIES: [&str; 14] = [
    "rotate key",
    "rotate the key every 30 days",
    "\"grace period\"",
    "\"rotate the\" -window",
    "+key -revoked rotate",
    "密钥 退款政策",
    "E42 max_chars",
    "confidential codeword salary",
    "key path:guide",
    "key source:docs",
    "key source:hr",
    "key -path:*.md",
    "heading:key rotate",
    "",
];

/// SQL that asks for what there is, and for what there must not be.
pub const SQL: &[&str] = &[
    "SELECT * FROM documents",
    "SELECT * FROM chunks",
    "SELECT * FROM provenance",
    "SELECT * FROM tombstones",
    "SELECT * FROM generations",
    "SELECT * FROM sources",
    "SELECT count(*) FROM chunks",
    "SELECT count(*), max(generation) FROM generations",
    "SELECT max(rowid) FROM documents",
    "SELECT rowid, * FROM chunks",
    "SELECT * FROM main.documents",
    "SELECT count(*) FROM main.chunks",
    "SELECT * FROM temp.documents",
    "SELECT * FROM sqlite_schema",
    "SELECT * FROM sqlite_temp_schema",
    "SELECT * FROM main.sqlite_schema",
    "SELECT * FROM pragma_table_info('documents')",
    "SELECT * FROM pragma_page_count",
    "SELECT * FROM pragma_freelist_count()",
    "SELECT * FROM pragma_database_list",
    "PRAGMA page_count",
    "PRAGMA main.table_info(documents)",
    "SELECT * FROM dbstat",
    "SELECT * FROM settings",
    "SELECT * FROM terms",
    "SELECT * FROM segments",
    "SELECT * FROM acl_classes",
    "SELECT * FROM acl_epochs",
    "SELECT * FROM class_generations",
    "SELECT * FROM runs",
    "SELECT * FROM answers",
    "SELECT * FROM sync_failures",
    "SELECT * FROM audit_terms",
    "SELECT * FROM audit_deleted",
    "WITH d AS (SELECT * FROM documents) SELECT count(*) FROM d",
    "WITH documents AS (SELECT 1 AS x) SELECT * FROM documents",
    "WITH chunks AS (SELECT * FROM main.chunks) SELECT count(*) FROM chunks",
    "SELECT path FROM documents UNION ALL SELECT path FROM main.documents",
    "SELECT (SELECT count(*) FROM main.documents)",
    "SELECT path FROM documents WHERE path IN (SELECT path FROM main.tombstones)",
    "EXPLAIN SELECT * FROM documents",
    "EXPLAIN QUERY PLAN SELECT * FROM chunks",
    "SELECT changes(), total_changes(), last_insert_rowid()",
    "SELECT sqlite_version()",
    "SELECT nothing FROM documents",
    "SELECT * FROM nothing",
    "SELECT FROM",
    "SELECT 1; SELECT 2",
    "DELETE FROM documents",
    "CREATE TEMP TABLE t (x)",
    "SELECT text FROM chunks WHERE text MATCH 'key'",
    "SELECT json_group_array(path) FROM documents",
    "VALUES (1)",
];

/// Collects answers.
struct Observer<'a> {
    built: &'a Built,
    reader: &'a Principal,
    all: Vec<Observed>,
}

/// Asks everything. `references` and `times` are the same for all stores that are compared.
pub fn observe(built: &Built, reader: &Principal, times: &[&str], references: &[String]) -> Vec<Observed> {
    let mut observer = Observer { built, reader, all: Vec::new() };
    observer.history();
    for query in QUERIES {
        observer.search(query);
    }
    observer.evidence();
    observer.references(references);
    observer.citations_of_prose(references);
    observer.runs();
    observer.at_other_times(times);
    for sql in SQL {
        observer.ask(format!("sql {sql}"), |store, reader| {
            let mut result = store.sql(reader, sql)?;
            // What is not ordered is compared as a set.
            result.rows.sort_by_key(|row| format!("{row:?}"));
            Ok(result)
        });
    }
    for (step, text) in built.seen.iter().enumerate() {
        observer.all.push(Observed { what: format!("on the way {step}"), text: built.plain(text), ran: Vec::new() });
    }
    observer.all
}

impl Observer<'_> {
    /// Asks on a store of its own, so that no statement is prepared already.
    fn ask<T: Debug>(&mut self, what: String, call: impl FnOnce(&Store, &Principal) -> ragdb::Result<T>) {
        let store = Store::open(self.built.db()).expect("the store opens");
        let (given, ran) = watch(|| call(&store, self.reader));
        let text = match given {
            Ok(given) => format!("{given:#?}"),
            Err(error) => format!("{} {error} {:?} {error:?}", error.code(), error.hint()),
        };
        self.all.push(Observed { what, text: self.built.plain(&text), ran });
    }

    fn history(&mut self) {
        self.ask("status".into(), |store, reader| store.status(reader));
        self.ask("log".into(), |store, reader| store.log(reader, None));
        self.ask("log 2".into(), |store, reader| store.log(reader, Some(2)));
        for to in 0..6 {
            self.ask(format!("show {to}"), |store, reader| store.show(reader, to));
            for from in [0, to / 2, to] {
                self.ask(format!("diff {from} {to}"), |store, reader| store.diff(reader, from, to));
            }
        }
        self.ask("diff 3 1".into(), |store, reader| store.diff(reader, 3, 1));
        self.ask("show 99".into(), |store, reader| store.show(reader, 99));
    }

    fn search(&mut self, query: &str) {
        let request = || SearchRequest { top_k: 5, ..SearchRequest::new(query) };
        for (how, request) in [
            ("", request()),
            (" explained", SearchRequest { explain: true, ..request() }),
            (" all terms", SearchRequest { all_terms: true, explain: true, ..request() }),
            (" no floor", SearchRequest { floor: Some(0.0), top_k: 50, explain: true, ..request() }),
            (" by vector", SearchRequest { retriever: dense(), explain: true, ..request() }),
            (
                " by vector without a floor",
                SearchRequest { retriever: dense(), similarity_floor: Some(-1.0), top_k: 50, ..request() },
            ),
            (" by both", SearchRequest { retriever: rrf(), explain: true, ..request() }),
        ] {
            self.ask(format!("search {query}{how}"), |store, reader| {
                let mut found = store.search(reader, &request)?;
                // What names the vectors is random.
                found.vectors.iter_mut().for_each(|vectors| vectors.state = Digest::of(""));
                Ok(found)
            });
        }
    }

    fn evidence(&mut self) {
        for query in ["rotate the key", "confidential salary", "grace period of a token"] {
            self.ask(format!("context {query}"), |store, reader| {
                let mut request = ContextRequest::new(query);
                request.search.floor = Some(0.0);
                let evidence = store.context(reader, &request)?;
                let prompt = evidence.prompt.replace(&evidence.manifest.nonce, "NONCE");
                Ok((plain_run(evidence.manifest), prompt))
            });
            self.ask(format!("context by both {query}"), |store, reader| {
                let mut request = ContextRequest::new(query);
                request.search.retriever = rrf();
                let evidence = store.context(reader, &request)?;
                let prompt = evidence.prompt.replace(&evidence.manifest.nonce, "NONCE");
                Ok((plain_run(evidence.manifest), prompt))
            });
            self.ask(format!("answer {query}"), |store, reader| {
                let request = AnswerRequest { floor: Some(0.0), ..AnswerRequest::new(query, &Extractive) };
                let mut answer = store.answer(reader, &request)?;
                answer.run_id.clear();
                answer.verification.run_id.clear();
                answer.manifest = plain_run(answer.manifest);
                Ok(answer)
            });
        }
    }

    fn references(&mut self, references: &[String]) {
        let run = self.built.runs.last().cloned();
        for reference in references.iter().map(String::as_str).chain(UNKNOWN) {
            self.ask(format!("cite {reference}"), |store, reader| store.cite(reader, reference));
            let Some(run) = &run else { continue };
            let claim = serde_json::json!({"claims": [{"text": "Rotate the key.", "citations": [{"ref": reference}]}]});
            let Ok(answer) = ProposedAnswer::parse(&claim.to_string(), AnswerFormat::Json, &[]) else { continue };
            self.ask(format!("verify {reference}"), |store, reader| {
                store.verify(reader, &VerifyRequest::new(run, &answer))
            });
        }
    }

    /// A folder of prose that cites all of them is locked and checked.
    fn citations_of_prose(&mut self, references: &[String]) {
        let folder = self.built.path().join("prose");
        fs::create_dir_all(&folder).expect("a folder is made");
        let prose: String = references.iter().map(|it| format!("It is so [{it}]({it}).\n\n")).collect();
        fs::write(folder.join("page.md"), prose).expect("the page is written");
        let _ = fs::remove_file(folder.join("ragdb.lock"));
        for reanchor in [false, true] {
            self.ask(format!("cite lock {reanchor}"), |store, reader| {
                store.lock_citations(reader, std::slice::from_ref(&folder))
            });
            self.ask(format!("cite check {reanchor}"), |store, reader| {
                store.check_citations(reader, std::slice::from_ref(&folder), reanchor)
            });
        }
        let lock = fs::read_to_string(folder.join("ragdb.lock")).unwrap_or_default();
        self.all.push(Observed { what: "ragdb.lock".into(), text: self.built.plain(&lock), ran: Vec::new() });
    }

    fn runs(&mut self) {
        self.ask("run last".into(), |store, reader| store.run(reader, "last"));
        self.ask("run 00000000".into(), |store, reader| store.run(reader, "00000000"));
        self.ask("answers".into(), |store, reader| {
            let mut answers = store.answers(reader, 100)?;
            answers.iter_mut().for_each(|answer| answer.answer_id.clear());
            Ok(answers)
        });
        self.ask("impact".into(), |store, reader| {
            let mut impact = store.impact(reader)?;
            impact.iter_mut().for_each(|impact| impact.answer_id.clear());
            impact.sort_by_key(|impact| format!("{impact:?}"));
            Ok(impact)
        });
        for (index, run) in self.built.runs.clone().into_iter().enumerate() {
            self.ask(format!("run {index}"), |store, reader| store.run(reader, &run.run_id));
            let answer = proposal(&run);
            self.ask(format!("verify run {index}"), |store, reader| {
                store.verify(reader, &VerifyRequest::new(&run, &answer))
            });
        }
    }

    fn at_other_times(&mut self, times: &[&str]) {
        for time in times {
            let reader = self.reader.clone().as_of(time).expect("a time");
            self.ask(format!("status at {time}"), |store, _| store.status(&reader));
            self.ask(format!("log at {time}"), |store, _| store.log(&reader, None));
            let request = SearchRequest { explain: true, ..SearchRequest::new("rotate key") };
            self.ask(format!("search at {time}"), |store, _| store.search(&reader, &request));
        }
    }
}

/// A manifest without what is random.
fn plain_run(mut run: Manifest) -> Manifest {
    run.run_id.clear();
    run.nonce.clear();
    run.prompt_hash.clear();
    if let Some(retriever) = run.settings.get_mut("retriever") {
        retriever["vectors"].take();
    }
    run
}

fn dense() -> Retriever {
    Retriever::Dense(Arc::new(HashingEmbedder::new()))
}

fn rrf() -> Retriever {
    Retriever::Rrf { embedder: Arc::new(HashingEmbedder::new()), fusion: Fusion::default() }
}

/// What differs, sorted by kind: answers, and the work for them.
#[derive(Debug, Default)]
pub struct Differences {
    pub texts: Vec<String>,
    pub steps: Vec<String>,
}

/// Holds two lists of answers to the same questions against each other.
pub fn differences(ours: &[Observed], theirs: &[Observed]) -> Differences {
    let mut found = Differences::default();
    assert_eq!(ours.len(), theirs.len(), "the same was asked");
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert_eq!(ours.what, theirs.what, "the same was asked");
        if ours.text != theirs.text {
            let mut lines = ours.text.lines().zip(theirs.text.lines()).filter(|(ours, theirs)| ours != theirs);
            let (a, b) = lines.next().unwrap_or(("one", "goes on"));
            found.texts.push(format!("{}: {a:?} and {b:?}", ours.what));
        }
        // The ids of runs are random, and so is how many of them a lookup by one passes by.
        let by_run = ["run ", "answers"].iter().any(|what| ours.what.starts_with(what));
        if ours.ran != theirs.ran && !by_run {
            let mut runs = ours.ran.iter().zip(&theirs.ran).filter(|(ours, theirs)| ours != theirs);
            let difference = runs.next().map_or_else(
                || format!("{} and {} statements", ours.ran.len(), theirs.ran.len()),
                |(a, b)| {
                    if a.sql == b.sql {
                        format!("{} and {} steps for {}", a.steps, b.steps, a.sql)
                    } else {
                        format!("{a:?} and {b:?}")
                    }
                },
            );
            found.steps.push(format!("{}: {difference}", ours.what));
        }
    }
    found
}

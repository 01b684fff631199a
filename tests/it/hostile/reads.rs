//! Every verb that reads, on one store: watched.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use ragdb::{
    AnswerRequest, CheckRequest, ContextRequest, Error, Extractive, Manifest, Principal, ProposedAnswer, SearchRequest,
    Store, VerifyRequest, audits,
};

/// A verb may take so long, on a machine that does much else.
const MOST_TIME: Duration = Duration::from_secs(60);
const QUERIES: [&str; 4] = ["rotate a key", "common more", "错误 E42 -grace", "\"opens the store\" path:guide"];

/// What came of reading a store.
#[derive(Debug)]
pub struct Reading {
    /// Calls that gave an answer.
    pub answers: usize,
    /// The codes of those that did not.
    pub codes: BTreeSet<&'static str>,
}

/// A call of the library.
pub type Verb = (&'static str, Box<dyn Fn(&Store, &Manifest) -> Result<(), Error> + Send>);

/// Who reads: the operator, and somebody whose SQL runs on a copy.
fn readers() -> [Principal; 2] {
    [Principal::operator(), Principal::new("", "ada").unwrap_or_else(|_| Principal::public())]
}

fn verb(
    name: &'static str,
    call: impl Fn(&Store, &Principal, &Manifest) -> Result<(), Error> + Send + 'static,
) -> Verb {
    let each = move |store: &Store, run: &Manifest| {
        let outcomes: Vec<_> = readers().iter().map(|reader| call(store, reader, run)).collect();
        outcomes.into_iter().collect()
    };
    (name, Box::new(each))
}

/// All that read.
fn verbs() -> Vec<Verb> {
    let mut verbs = vec![
        verb("status", |store, reader, _| store.status(reader).map(drop)),
        verb("log", |store, reader, _| store.log(reader, None).map(drop)),
        verb("show", |store, reader, _| (1..=3).try_for_each(|number| store.show(reader, number).map(drop))),
        verb("diff", |store, reader, _| store.diff(reader, 1, 3).and(store.diff(reader, 2, 3)).map(drop)),
        verb("cite", |store, reader, run| {
            let shown = run.shown.iter().map(|shown| shown.chunk_id.clone());
            let references = ["guide/keys.md#L5-L7", "guide/limits.md#L1-L3", "long.md#L3-L9"].map(str::to_owned);
            shown.chain(references).try_for_each(|reference| store.cite(reader, &reference).map(drop))
        }),
        verb("verify", |store, reader, run| {
            let answer = "A key opens the store [S1]. \"A key opens the store.\" [S1] It opens nothing [S2].";
            let answer = ProposedAnswer::parse(answer, ragdb::AnswerFormat::Text, &["S1".into(), "S2".into()])?;
            store.verify(reader, &VerifyRequest::new(run, &answer)).map(drop)
        }),
        verb("answer", |store, reader, _| {
            store.answer(reader, &AnswerRequest::new("what opens the store?", &Extractive)).map(drop)
        }),
        verb("run", |store, reader, run| store.run(reader, &run.run_id).map(drop)),
        verb("answers", |store, reader, _| {
            store.answers(reader, 10)?;
            store.impact(reader).map(drop)
        }),
        verb("acl", |store, reader, _| {
            store.access_rules(None)?;
            store.access_log()?;
            store.explain_access("guide/keys.md", reader).map(drop)
        }),
        verb("context", |store, reader, _| {
            for query in QUERIES {
                let evidence = store.context(reader, &ContextRequest::new(query))?;
                let sources = store.path().with_file_name("docs");
                for block in evidence.blocks() {
                    let path = block.source.split('#').next().unwrap_or_default();
                    let file = fs::read_to_string(sources.join(path)).unwrap_or_default();
                    assert!(file.contains(&block.body), "{} shows what its file does not say", block.source);
                }
            }
            Ok(())
        }),
        verb("check", |store, _, _| store.check(&CheckRequest { sources: true, deep: false }).map(drop)),
    ];
    for query in QUERIES {
        verbs.push(verb("search", move |store, reader, _| {
            let request = SearchRequest { explain: true, floor: Some(0.0), ..SearchRequest::new(query) };
            let found = store.search(reader, &request)?;
            assert!(found.hits.iter().all(|hit| hit.score.is_finite()), "{query}: a score is no number");
            Ok(())
        }));
    }
    for audit in audits() {
        // Of the operator's own there is nothing on the copy of others.
        verbs.push(verb("sql", |store, reader, _| {
            if audit.operator_only && !reader.reads_everything() {
                return Ok(());
            }
            store.sql(reader, audit.sql).map(drop)
        }));
    }
    for table in ["documents", "chunks", "provenance", "tombstones", "generations", "unsafe_findings"] {
        verbs.push(verb("sql", move |store, reader, _| store.sql(reader, &format!("SELECT * FROM {table}")).map(drop)));
    }
    verbs
}

/// Reads a store with every verb. Its bytes must stay.
///
/// # Errors
/// What is wrong: a verb that panicked or did not end, an error without a type, another byte.
pub fn read_all(path: &Path, run: &Manifest) -> Result<Reading, String> {
    watched(path, verbs(), run)
}

/// The same with these verbs.
pub fn watched(path: &Path, verbs: Vec<Verb>, run: &Manifest) -> Result<Reading, String> {
    watched_for(MOST_TIME, path, verbs, run)
}

/// The same with this limit for each verb.
pub fn watched_for(limit: Duration, path: &Path, verbs: Vec<Verb>, run: &Manifest) -> Result<Reading, String> {
    let before = fs::read(path).map_err(|error| error.to_string())?;
    let (tell, told) = mpsc::channel();
    let (opened, run) = (path.to_owned(), run.clone());
    let reader = std::thread::spawn(move || {
        let tried = |name: &'static str, call: &mut dyn FnMut() -> Result<(), Error>| {
            let _ = tell.send((name, None));
            let outcome = catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
                let text = panic.downcast_ref::<String>().cloned();
                text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
            });
            let _ = tell.send((name, Some(outcome)));
        };
        let mut store = None;
        tried("open", &mut || Store::open_read_only(&opened).map(|opened| store = Some(opened)));
        if let Some(store) = store {
            for (name, call) in verbs {
                tried(name, &mut || call(&store, &run));
            }
        }
    });
    let mut reading = Reading { answers: 0, codes: BTreeSet::new() };
    let mut last = "nothing";
    loop {
        match told.recv_timeout(limit) {
            Ok((name, None)) => last = name,
            Ok(("open", Some(Ok(Ok(()))))) => {}
            Ok((_, Some(Ok(Ok(()))))) => reading.answers += 1,
            Ok((name, Some(Ok(Err(error))))) => {
                if !is_typed(&error) {
                    return Err(format!("{name} gave {error:?}"));
                }
                reading.codes.insert(error.code());
            }
            Ok((name, Some(Err(panic)))) => return Err(format!("{name} panicked: {panic}")),
            Err(mpsc::RecvTimeoutError::Timeout) => return Err(format!("{last} did not end in {limit:?}")),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    reader.join().map_err(|_| "the reader panicked".to_owned())?;
    // Nobody has it open.
    if fs::read(path).map_err(|error| error.to_string())? != before {
        return Err("the file changed".into());
    }
    Ok(reading)
}

/// Whether an error says what to think of the store. What comes from the system or from SQLite as it is does not.
fn is_typed(error: &Error) -> bool {
    let known =
        ["damaged", "foreign_store", "older_store", "newer_store", "not_found", "policy_mismatch", "unruled", "config"];
    known.contains(&error.code()) && !error.to_string().is_empty()
}

//! How SQLite runs the statements of searches, citations and one-file syncs: by keys and indexes, never through a
//! whole table. The statements are caught as they run, so that none is written down twice.

use std::cell::RefCell;

use rusqlite::Connection;
use rusqlite::trace::{TraceEvent, TraceEventCodes};

use super::changes::Between;
use super::hits::{HitReader, PlaceReader};
use super::runs::Of;
use super::{
    answers, cache, changes, chunks, classes, documents, findings, generations, migrate, runs, sandbox, sources,
    tombstones, vectors,
};
use crate::error::Result;
use crate::model::{ChunkId, Digest, DocumentId, EmbeddingProfile};

thread_local! {
    static RUN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn note(event: TraceEvent<'_>) {
    if let TraceEvent::Stmt(_, sql) = event {
        RUN.with_borrow_mut(|run| run.push(sql.to_owned()));
    }
}

/// Each step of the plans of the statements that `work` runs.
fn steps(work: impl FnOnce(&Connection) -> Result<()>) -> Vec<String> {
    let mut conn = Connection::open_in_memory().unwrap();
    migrate::apply(&mut conn).unwrap();
    RUN.take();
    conn.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(note));
    // Nothing is stored: looking for it may fail, the statements have run.
    let _ = work(&conn);
    conn.trace_v2(TraceEventCodes::empty(), None);
    let run = RUN.take();
    assert!(!run.is_empty(), "no statement ran");
    let mut steps = Vec::new();
    for sql in run {
        let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().unwrap() {
            steps.push(row.get(3).unwrap());
        }
    }
    steps
}

fn profile() -> vectors::ProfileRow {
    let profile = EmbeddingProfile { model: "m".into(), version: "1".into(), dimensions: 2, normalised: true };
    vectors::ProfileRow { profile_no: 1, profile, is_ready: true }
}

type Case = (&'static str, fn(&Connection) -> Result<()>, &'static [&'static str]);

const BETWEEN: Between<'_> = Between { classes: &[1], from: 1, to: 2, since_entered: true };

/// The last step is that of finding out why there is no such chunk.
const HIT: [&str; 4] = [
    "SEARCH c USING INTEGER PRIMARY KEY (rowid=?)",
    "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)",
    "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)",
    "SEARCH chunk_rows USING INTEGER PRIMARY KEY (rowid=?)",
];

const CASES: &[Case] = &[
    ("a_cached_run", |conn| cache::get(conn, "x").map(drop), &["SEARCH cache USING PRIMARY KEY (cache_key=?)"]),
    ("a_stale_entry", |conn| cache::delete(conn, "x", "x"), &["SEARCH cache USING PRIMARY KEY (cache_key=?)"]),
    (
        "a_cached_answer",
        |conn| answers::get(conn, "x").map(drop),
        &["SEARCH answers USING INDEX sqlite_autoindex_answers_1 (answer_id=?)"],
    ),
    ("a_hit", |conn| HitReader::new(conn)?.hit(1).map(drop), &HIT),
    ("a_tie", |conn| PlaceReader::new(conn)?.place(1).map(drop), &HIT),
    (
        "a_chunk",
        |conn| chunks::by_number(conn, 1).map(drop),
        &["SEARCH c USING INTEGER PRIMARY KEY (rowid=?)", "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)"],
    ),
    ("a_phrase", |conn| chunks::text(conn, 1).map(drop), &["SEARCH chunk_rows USING INTEGER PRIMARY KEY (rowid=?)"]),
    (
        "a_heading",
        |conn| chunks::headings(conn, 1).map(drop),
        &["SEARCH c USING INTEGER PRIMARY KEY (rowid=?)", "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)"],
    ),
    (
        "chunks_of_a_document",
        |conn| chunks::of_document(conn, 1).map(drop),
        &["SEARCH d USING INTEGER PRIMARY KEY (rowid=?)", "SEARCH c USING INDEX chunks_by_document (document_no=?)"],
    ),
    (
        "a_chunk_of_a_document",
        |conn| chunks::by_id(conn, 1, ChunkId::new(DocumentId::new("docs", "a.md"), &Digest::of(""), 0)).map(drop),
        &["SEARCH d USING INTEGER PRIMARY KEY (rowid=?)", "SEARCH c USING INDEX chunks_by_document (document_no=?)"],
    ),
    (
        "a_document",
        |conn| documents::by_number(conn, 1).map(drop),
        &["SEARCH d USING INTEGER PRIMARY KEY (rowid=?)", "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)"],
    ),
    (
        "a_place",
        |conn| documents::place(conn, 1).map(drop),
        &["SEARCH d USING INTEGER PRIMARY KEY (rowid=?)", "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)"],
    ),
    (
        "a_citation",
        |conn| documents::by_id(conn, DocumentId::new("docs", "a.md")).map(drop),
        &[
            "SEARCH d USING INDEX sqlite_autoindex_documents_1 (document_id=?)",
            "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)",
        ],
    ),
    (
        "a_readers_citation",
        |conn| documents::visible(conn, &[1], DocumentId::new("docs", "a.md")).map(drop),
        &[
            "SCAN k VIRTUAL TABLE INDEX 1:",
            "SEARCH d USING INDEX documents_by_class (class_no=? AND document_digest=?)",
            "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)",
        ],
    ),
    (
        "a_tombstone",
        |conn| tombstones::latest(conn, &[1], "x").map(drop),
        &[
            "SCAN k VIRTUAL TABLE INDEX 1:",
            "SEARCH t USING INDEX tombstones_by_id (class_no=? AND id=?)",
            "USE TEMP B-TREE FOR ORDER BY",
        ],
    ),
    (
        "a_manifest",
        |conn| documents::manifest(conn, 1).map(drop),
        &["SEARCH documents USING INDEX sqlite_autoindex_documents_2 (source_no=?)"],
    ),
    (
        "how_many_documents_are_unsafe",
        |conn| findings::unsafe_documents(conn).map(drop),
        &["USE TEMP B-TREE FOR count(DISTINCT)", "SCAN chunk_rows USING INDEX chunks_unsafe"],
    ),
    ("a_source", |conn| sources::by_number(conn, 1).map(drop), &["SEARCH sources USING INTEGER PRIMARY KEY (rowid=?)"]),
    (
        "a_generation",
        |conn| generations::get(conn, 1).map(drop),
        &["SEARCH generations USING INTEGER PRIMARY KEY (rowid=?)"],
    ),
    (
        "a_run_by_its_first_digits",
        |conn| runs::ids(conn, &Of::Everybody, "00112233").map(drop),
        &["SEARCH runs USING COVERING INDEX sqlite_autoindex_runs_1 (run_id>? AND run_id<?)"],
    ),
    ("the_last_run", |conn| runs::last(conn, &Of::Everybody).map(drop), &["SCAN runs"]),
    (
        "vectors_of_a_class",
        |conn| vectors::for_each(conn, &profile(), 1, |_, _| Ok(())),
        &["SEARCH embeddings USING INDEX embeddings_by_chunk (profile_no=? AND chunk_no>? AND chunk_no<?)"],
    ),
    (
        "a_set_of_vectors",
        |conn| vectors::set(conn, 1, 1).map(drop),
        &["SEARCH embedding_sets USING PRIMARY KEY (profile_no=? AND class_no=?)"],
    ),
    (
        "a_vector_of_a_hit",
        |conn| vectors::current(conn, 1, 1).map(drop),
        &[
            "SEARCH e USING INDEX embeddings_by_chunk (profile_no=? AND chunk_no=?)",
            "SEARCH c USING INTEGER PRIMARY KEY (rowid=?)",
        ],
    ),
    (
        "a_profile",
        |conn| vectors::find(conn, &profile().profile).map(drop),
        &["SEARCH embedding_profiles USING INDEX sqlite_autoindex_embedding_profiles_1 (profile_digest=?)"],
    ),
    (
        "a_vector_of_a_composition",
        |conn| vectors::of_composition(conn, &profile(), &[0; 16]).map(drop),
        &["SEARCH embeddings USING INDEX embeddings_by_composition (composition_digest=? AND profile_no=?)"],
    ),
    (
        "a_chunk_takes_vectors_over",
        |conn| vectors::carry(conn, 1, &[0; 16], Some(2)),
        &[
            "MATERIALIZE known",
            // A row for each of the few models.
            "SCAN p USING COVERING INDEX sqlite_autoindex_embedding_profiles_1",
            "CORRELATED SCALAR SUBQUERY 1",
            "SEARCH embeddings USING INDEX embeddings_by_composition (composition_digest=? AND profile_no=? AND chunk_no>? AND \
             chunk_no<?)",
            "CORRELATED SCALAR SUBQUERY 2",
            "SEARCH embeddings USING INDEX embeddings_by_composition (composition_digest=? AND profile_no=? AND chunk_no>? AND \
             chunk_no<?)",
            "CORRELATED SCALAR SUBQUERY 3",
            "SEARCH embeddings USING INDEX embeddings_by_chunk (profile_no=? AND chunk_no=?)",
            "SCAN known",
        ],
    ),
    (
        "a_chunk_with_vectors_goes",
        |conn| vectors::release(conn, 1),
        &[
            "SEARCH embeddings USING COVERING INDEX embeddings_by_chunk (profile_no=? AND chunk_no=?)",
            "USING ROWID SEARCH ON TABLE embedding_profiles FOR IN-OPERATOR",
        ],
    ),
    (
        "what_is_gone_is_swept",
        vectors::sweep,
        &[
            "SEARCH embeddings USING COVERING INDEX embeddings_by_chunk (profile_no=? AND chunk_no<?)",
            "USING ROWID SEARCH ON TABLE embedding_profiles FOR IN-OPERATOR",
        ],
    ),
    ("an_event", |conn| runs::insert_events(conn, "x", &[]), &["SEARCH run_events USING PRIMARY KEY (run_id=?)"]),
    (
        "a_chunk_deleted",
        |conn| chunks::delete(conn, 1),
        &[
            "SEARCH chunk_rows USING INTEGER PRIMARY KEY (rowid=?)",
            // Its vectors, for each of the few models.
            "SEARCH embeddings USING COVERING INDEX embeddings_by_chunk (profile_no=? AND chunk_no=?)",
            "USING ROWID SEARCH ON TABLE embedding_profiles FOR IN-OPERATOR",
        ],
    ),
    (
        "a_document_deleted",
        |conn| documents::delete(conn, 1),
        &[
            "SEARCH documents USING INTEGER PRIMARY KEY (rowid=?)",
            "SEARCH chunk_rows USING COVERING INDEX chunks_by_document (document_no=?)",
            "SEARCH unsafe_findings USING PRIMARY KEY (document_no=?)",
        ],
    ),
];

#[test]
fn hot_statements_go_by_keys() {
    for (name, work, expected) in CASES {
        assert_eq!(steps(work), *expected, "{name}");
    }
}

/// What an auditor asks of the views, with a key that leads to few rows.
#[test]
fn views_pass_keys_on_to_their_tables() {
    for sql in [
        "SELECT * FROM chunks WHERE chunk_no = 1",
        "SELECT * FROM chunks WHERE document_no = 1 AND chunk_id = 'x' ORDER BY chunk_index",
        "SELECT chunk_id FROM chunks WHERE unsafe_reason IS NOT NULL",
        "SELECT heading_path FROM chunks JOIN documents USING (document_no) WHERE document_id = 'x'",
        "SELECT * FROM provenance WHERE document_id = 'x' AND chunk_id = 'x'",
        "SELECT * FROM provenance WHERE source_id = 'docs' AND path = 'a.md'",
    ] {
        let steps = steps(|conn| {
            conn.query_row(sql, [], |_| Ok(()))?;
            Ok(())
        });
        let by_keys = |step: &&String| step.starts_with("SEARCH ") || step.contains("SCALAR SUBQUERY");
        let others: Vec<_> = steps.iter().filter(|step| !by_keys(step)).collect();
        assert!(others.is_empty() || others == ["SCAN r USING INDEX chunks_unsafe"], "{sql}: {steps:?}");
    }
    // Right of an outer join the view is not made in full first.
    let joined = "SELECT c.heading_path, c.text FROM json_each('[1]') k LEFT JOIN chunks c ON c.chunk_no = k.value";
    let steps = steps(|conn| {
        conn.query_row(joined, [], |_| Ok(()))?;
        Ok(())
    });
    assert!(steps.contains(&"SEARCH r USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN".to_owned()), "{steps:?}");
}

type Read = fn(&Connection) -> Result<()>;

/// What somebody reads that is not the operator: nothing of it may depend on what they may not read.
const READS: &[(&str, Read)] = &[
    ("their_documents", |conn| documents::count_in(conn, &[1]).map(drop)),
    ("their_chunks", |conn| chunks::count_in(conn, &[1]).map(drop)),
    ("their_unsafe_chunks", |conn| findings::unsafe_chunks(conn, &[1]).map(drop)),
    ("their_unsafe_documents", |conn| findings::unsafe_documents_in(conn, &[1]).map(drop)),
    ("unsafe_chunks_that_a_reader_meets", |conn| findings::for_each_unsafe(conn, &[1], 9, |_, _| Ok(()))),
    ("their_tombstones", |conn| tombstones::count(conn, &[1]).map(drop)),
    ("how_many_generations_a_reader_sees", |conn| classes::count_generations(conn, &[1]).map(drop)),
    ("the_generations_that_a_reader_sees", |conn| classes::generations(conn, &[1]).map(drop)),
    ("their_history", |conn| classes::changes(conn, &[1]).map(drop)),
    ("their_digest", |conn| classes::digests(conn, &[1]).map(drop)),
    ("their_chunks_added", |conn| changes::chunks_added(conn, &BETWEEN).map(drop)),
    ("their_chunks_removed", |conn| changes::chunks_removed(conn, &BETWEEN).map(drop)),
    ("their_documents_changed", |conn| changes::documents(conn, &BETWEEN).map(drop)),
    ("their_last_run", |conn| runs::last(conn, &Of::One(String::new())).map(drop)),
    ("their_run", |conn| runs::ids(conn, &Of::One(String::new()), "00112233").map(drop)),
    ("their_answers", |conn| answers::list(conn, &Of::One(String::new()), 9).map(drop)),
    ("their_citations", |conn| answers::for_each_published(conn, &Of::One(String::new()), |_| Ok(()))),
    ("their_source", |conn| sources::by_id(conn, "docs").map(drop)),
];

#[test]
fn what_somebody_s_sql_runs_on_is_theirs() {
    for sql in sandbox::selects() {
        let steps = steps(|conn| {
            let mut statement = conn.prepare(sql)?;
            let mut rows = statement.query(["[1]"])?;
            while rows.next()?.is_some() {}
            Ok(())
        });
        assert!(steps.iter().all(|step| !step.starts_with("SCAN ") || step.starts_with("SCAN k ")), "{steps:?}");
    }
}

#[test]
fn what_others_may_not_read_costs_nothing() {
    // Their classes, and what the statement made of these.
    const THEIRS: [&str; 7] = ["k", "added", "before", "after", "lives", "touched", "presence"];
    for (name, work) in READS {
        for step in steps(work) {
            if let Some(scanned) = step.strip_prefix("SCAN ") {
                let scanned = scanned.split(' ').next().unwrap_or_default();
                assert!(THEIRS.contains(&scanned), "{name}: {step}");
            }
        }
    }
}

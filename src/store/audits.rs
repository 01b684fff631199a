//! Read-only SQL for people: the named audits and `ragdb sql`.

use rusqlite::functions::FunctionFlags;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Statement};

use crate::error::{Error, Result};
use crate::lexicon::{Lexer, TermCounts};
use crate::model::Digest;

/// A question that auditors ask, ready as SQL.
#[derive(Clone, Copy, Debug)]
pub struct Audit {
    /// Its name, for `ragdb sql --audit NAME`.
    pub name: &'static str,
    /// What it answers.
    pub description: &'static str,
    /// The query.
    pub sql: &'static str,
    /// Only the operator can ask it: it is about more than what somebody may read.
    pub operator_only: bool,
}

const AUDITS: &[Audit] = &[
    Audit {
        name: "provenance",
        description: "every chunk with its citation, source and the generation that brought it",
        sql: "SELECT citation, chunk_id, source_id, generation_added, published_at, content_hash FROM provenance \
              ORDER BY source_id, path, chunk_index",
        operator_only: false,
    },
    Audit {
        name: "generations",
        description: "every published sync, its counts, and whether its digest links to its parent's",
        sql: "SELECT g.generation, g.published_at, documents_added, documents_updated, documents_deleted, \
              chunks_added, chunks_removed, g.digest, c.linked FROM generations g JOIN audit_chain c USING (generation) \
              ORDER BY g.generation",
        operator_only: false,
    },
    Audit {
        name: "deleted",
        description: "what is gone, since when and why",
        sql: "SELECT kind, path, id, generation_deleted, deleted_at, reason FROM audit_deleted \
              ORDER BY generation_deleted, path, kind DESC, id",
        operator_only: false,
    },
    Audit {
        name: "stale",
        description: "documents kept as they were because their file or its folder failed last time",
        sql: "SELECT source_id, path, code, message, indexed_in, failed_in FROM audit_stale ORDER BY source_id, path",
        operator_only: true,
    },
    Audit {
        name: "unsafe",
        description: "where text tries to instruct the model that reads it, and how many chunks that keeps back",
        sql: "SELECT citation, rule, trust, unsafe_chunks, source_id FROM audit_unsafe \
              ORDER BY source_id, citation, start_byte, rule",
        operator_only: false,
    },
    Audit {
        name: "sources",
        description: "each source with its documents, chunks and bytes",
        sql: "SELECT s.source_id, s.kind, s.root, s.visibility, count(d.document_no) AS documents, \
              coalesce(sum(d.size_bytes), 0) AS bytes, \
              sum((SELECT count(*) FROM chunks c WHERE c.document_no = d.document_no)) AS chunks \
              FROM sources s LEFT JOIN documents d USING (source_no) GROUP BY s.source_no ORDER BY s.source_id",
        operator_only: true,
    },
    Audit {
        name: "repeated",
        description: "text that stands in more than one place, most often first",
        sql: "SELECT places, first_citation, content_hash FROM audit_repeated ORDER BY places DESC, first_citation",
        operator_only: false,
    },
    Audit {
        name: "terms",
        description: "every term with the number of chunks that hold it, most frequent first",
        sql: "SELECT term, df FROM audit_terms ORDER BY df DESC, term",
        operator_only: true,
    },
    Audit {
        name: "runs",
        description: "every recorded run, newest first, with what it showed and what it refused",
        sql: "SELECT r.run_id, r.created_at, r.query, r.generation, r.chars, r.truncated, r.unverified_source, \
              sum(h.label IS NOT NULL) AS shown, sum(h.code IS NOT NULL) AS refused \
              FROM runs r LEFT JOIN run_hits h USING (run_id) GROUP BY r.run_id ORDER BY r.created_at DESC, r.run_id",
        operator_only: true,
    },
    Audit {
        name: "answers",
        description: "every kept answer's claims, newest first, with each citation, its verdict and its warnings",
        sql: "SELECT answer_id, created_at, synthesiser, query, claim, claim_verdict, ref, verdict, citation, warnings, \
              unverified_source FROM audit_answers ORDER BY created_at DESC, answer_id, claim_no, ref, citation",
        operator_only: true,
    },
    Audit {
        name: "segments",
        description: "the index's segments, oldest first",
        sql: "SELECT * FROM audit_segments",
        operator_only: true,
    },
];

/// The named audits, in the order in which a reader meets them.
#[must_use]
pub fn audits() -> &'static [Audit] {
    AUDITS
}

/// A value of a result row.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlValue {
    /// NULL.
    Null,
    /// A 64-bit integer.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// Text; bytes that are not UTF-8 are replaced by U+FFFD.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// The rows of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SqlResult {
    /// The columns' names.
    pub columns: Vec<String>,
    /// The rows, each as long as `columns`.
    pub rows: Vec<Vec<SqlValue>>,
}

/// Runs one read-only statement.
pub(crate) fn run(conn: &Connection, sql: &str) -> Result<SqlResult> {
    add_functions(conn)?;
    conn.authorizer(Some(only_reads as fn(AuthContext<'_>) -> Authorization))?;
    let result = query(conn, sql);
    conn.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
    result
}

fn invalid(message: String) -> Error {
    Error::Invalid { message }
}

/// It is the statement's fault, unless it met a page that can't be read.
fn failed(what: &str, error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseCorrupt) => error.into(),
        _ => invalid(format!("{what}: {error}")),
    }
}

/// One statement that reads and returns rows.
pub(super) fn prepare<'c>(conn: &'c Connection, sql: &str) -> Result<Statement<'c>> {
    let statement = match conn.prepare(sql) {
        Ok(statement) => statement,
        Err(rusqlite::Error::MultipleStatement) => {
            return Err(invalid("only one SQL statement can be run at a time".into()));
        }
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::AuthorizationForStatementDenied) => {
            return Err(invalid(format!("only reading is allowed here: {sql}")));
        }
        Err(error) => return Err(failed("the SQL can't be run", error)),
    };
    if !statement.readonly() || statement.column_count() == 0 {
        return Err(invalid("only statements that read and return rows are allowed".into()));
    }
    Ok(statement)
}

fn query(conn: &Connection, sql: &str) -> Result<SqlResult> {
    let mut statement = prepare(conn, sql)?;
    let columns: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let rows = collect(&mut statement, columns.len()).map_err(|error| failed("the SQL failed", error))?;
    Ok(SqlResult { columns, rows })
}

fn collect(statement: &mut Statement<'_>, width: usize) -> rusqlite::Result<Vec<Vec<SqlValue>>> {
    let mut rows = statement.query([])?;
    let mut collected = Vec::new();
    while let Some(row) = rows.next()? {
        let values = (0..width).map(|index| row.get_ref(index).map(value)).collect::<rusqlite::Result<_>>()?;
        collected.push(values);
    }
    Ok(collected)
}

fn value(value: ValueRef<'_>) -> SqlValue {
    match value {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(number) => SqlValue::Integer(number),
        ValueRef::Real(number) => SqlValue::Real(number),
        ValueRef::Text(bytes) => SqlValue::Text(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => SqlValue::Blob(bytes.to_vec()),
    }
}

pub(super) fn only_reads(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Function { function_name } if function_name.eq_ignore_ascii_case("load_extension") => {
            Authorization::Deny
        }
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive | AuthAction::Function { .. } => {
            Authorization::Allow
        }
        AuthAction::Pragma { pragma_name, pragma_value } => {
            const INSPECTION: [&str; 10] = [
                "table_info",
                "table_xinfo",
                "table_list",
                "index_list",
                "index_info",
                "index_xinfo",
                "foreign_key_list",
                "compile_options",
                "function_list",
                "integrity_check",
            ];
            const VALUES: [&str; 4] = ["user_version", "application_id", "page_count", "page_size"];
            let inspects = INSPECTION.contains(&pragma_name);
            if inspects || (VALUES.contains(&pragma_name) && pragma_value.is_none()) {
                Authorization::Allow
            } else {
                Authorization::Deny
            }
        }
        _ => Authorization::Deny,
    }
}

/// ragdb's own functions: `ragdb_sha256(value)` (lower-case hex) and `ragdb_terms(text)` (JSON array of the
/// distinct terms that a chunk with this text is found by).
pub(super) fn add_functions(conn: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    conn.create_scalar_function("ragdb_sha256", 1, flags, |context| {
        Ok(match context.get_raw(0) {
            ValueRef::Null => None,
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(Digest::of(bytes).to_string()),
            ValueRef::Integer(number) => Some(Digest::of(number.to_string()).to_string()),
            ValueRef::Real(number) => Some(Digest::of(number.to_string()).to_string()),
        })
    })?;
    conn.create_scalar_function("ragdb_terms", 1, flags, |context| {
        let text: String = context.get(0)?;
        let mut counts = TermCounts::new();
        Lexer::new().chunk_terms("", &[], &text, &mut counts);
        let mut terms: Vec<&str> = counts.iter().map(|(term, _)| term).collect();
        terms.sort_unstable();
        Ok(serde_json::to_string(&terms).unwrap_or_default())
    })?;
    Ok(())
}

//! What SQL of somebody else than the operator runs on: a database in memory that holds what they may read, and nothing
//! else. No statement can reach the store from there, nor tell anything from its numbers, plans or sizes.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use super::audits::{self, SqlResult};
use super::classes::listed;
use super::connect::{self, Access};
use super::generations::Generation;
use crate::error::Result;

/// The tables and views that are there: those of the store that are made of what a reader may read, without internal
/// numbers, and with generations as the reader sees them: none is earlier than the one that brought a document into its
/// class. The revision of a document counts what came before, and is left out.
const SCHEMA: &str = "
CREATE TABLE sources (source_id TEXT, kind TEXT, documents INTEGER) STRICT;
CREATE TABLE generations (
  generation INTEGER, parent INTEGER, published_at TEXT, documents_added INTEGER, documents_updated INTEGER,
  documents_deleted INTEGER, documents_unchanged INTEGER, chunks_added INTEGER, chunks_removed INTEGER,
  chunks_reused INTEGER, policy_digest TEXT, digest TEXT, parent_digest TEXT, tool_version TEXT
) STRICT;
CREATE TABLE documents (
  document_id TEXT, source_id TEXT, path TEXT, title TEXT, lang TEXT, content_hash TEXT,
  size_bytes INTEGER, lines INTEGER, front_matter TEXT, trust TEXT, generation_added INTEGER,
  generation_updated INTEGER
) STRICT;
CREATE TABLE chunks (
  chunk_id TEXT, document_id TEXT, chunk_index INTEGER, start_line INTEGER, end_line INTEGER, start_byte INTEGER,
  end_byte INTEGER, token_count INTEGER, heading_only INTEGER, content_hash TEXT, composition_hash TEXT,
  heading_path TEXT, text TEXT, unsafe_reason TEXT, generation_added INTEGER
) STRICT;
CREATE TABLE tombstones (
  kind TEXT, id TEXT, document_id TEXT, source_id TEXT, path TEXT, content_hash TEXT, reason TEXT,
  generation_added INTEGER, generation_deleted INTEGER
) STRICT;
CREATE TABLE unsafe_findings (
  document_id TEXT, finding_no INTEGER, rule TEXT, start_line INTEGER, end_line INTEGER, start_byte INTEGER,
  end_byte INTEGER
) STRICT;
CREATE VIEW provenance AS
SELECT c.chunk_id, d.path || '#L' || c.start_line || '-L' || c.end_line AS citation, d.source_id, d.path, d.document_id,
  d.title, c.heading_path, c.chunk_index, c.start_line, c.end_line, c.start_byte, c.end_byte, c.content_hash,
  d.content_hash AS document_hash, d.lang, c.generation_added, g.published_at,
  g.digest AS generation_digest, c.text
FROM chunks c JOIN documents d USING (document_id) JOIN generations g ON g.generation = c.generation_added;
CREATE VIEW audit_deleted AS
SELECT t.kind, t.id, t.source_id, t.path, t.content_hash, t.generation_added, t.generation_deleted,
  g.published_at AS deleted_at, t.reason
FROM tombstones t JOIN generations g ON g.generation = t.generation_deleted;
CREATE VIEW audit_chain AS
SELECT g.generation, g.published_at, g.digest, g.parent_digest,
  g.parent IS NULL OR g.parent_digest = p.digest AS linked
FROM generations g LEFT JOIN generations p ON p.generation = g.parent;
CREATE VIEW audit_repeated AS
SELECT c.content_hash, count(*) AS places, min(d.path || '#L' || c.start_line || '-L' || c.end_line) AS first_citation
FROM chunks c JOIN documents d USING (document_id) WHERE NOT c.heading_only
GROUP BY c.content_hash HAVING count(*) > 1;
CREATE VIEW audit_unsafe AS
SELECT d.source_id, d.path || '#L' || f.start_line || '-L' || f.end_line AS citation, f.rule, d.trust,
  (SELECT count(*) FROM chunks c WHERE c.document_id = d.document_id AND c.unsafe_reason IS NOT NULL) AS unsafe_chunks,
  f.start_byte, f.end_byte, d.document_id
FROM unsafe_findings f JOIN documents d USING (document_id);
";

/// A table that is copied from the store.
struct Copied {
    name: &'static str,
    /// Reads its rows of the classes `?1`, in an order that no internal number goes into.
    select: &'static str,
    /// How many columns; the last ones are generations.
    columns: usize,
    generations: usize,
}

const COPIED: [Copied; 4] = [
    Copied {
        name: "documents",
        select: "SELECT d.document_id, s.source_id, d.path, d.title, d.lang, d.content_hash, d.size_bytes, d.lines, \
                 d.front_matter, d.trust, max(d.generation_added, d.class_generation), \
                 max(d.generation_updated, d.class_generation) \
                 FROM json_each(?1) k CROSS JOIN documents d ON d.class_no = k.value \
                 CROSS JOIN sources s USING (source_no) ORDER BY s.source_id, d.path",
        columns: 12,
        generations: 2,
    },
    Copied {
        name: "chunks",
        select: "SELECT c.chunk_id, d.document_id, c.chunk_index, c.start_line, c.end_line, c.start_byte, c.end_byte, \
                 c.token_count, c.heading_only, c.content_hash, c.composition_hash, c.heading_path, c.text, \
                 c.unsafe_reason, max(c.generation_added, d.class_generation) \
                 FROM json_each(?1) k CROSS JOIN documents d ON d.class_no = k.value \
                 CROSS JOIN sources s USING (source_no) CROSS JOIN chunks c USING (document_no) \
                 ORDER BY s.source_id, d.path, c.chunk_index",
        columns: 15,
        generations: 1,
    },
    Copied {
        name: "tombstones",
        select: "SELECT t.kind, t.id, t.document_id, t.source_id, t.path, t.content_hash, t.reason, \
                 max(t.generation_added, t.class_generation), t.generation_deleted \
                 FROM json_each(?1) k CROSS JOIN tombstones t ON t.class_no = k.value \
                 ORDER BY t.generation_deleted, t.source_id, t.path, t.kind, t.id",
        columns: 9,
        generations: 2,
    },
    Copied {
        name: "unsafe_findings",
        select: "SELECT d.document_id, f.finding_no, f.rule, f.start_line, f.end_line, f.start_byte, f.end_byte \
                 FROM json_each(?1) k CROSS JOIN documents d ON d.class_no = k.value \
                 CROSS JOIN unsafe_findings f USING (document_no) ORDER BY d.document_id, f.finding_no",
        columns: 7,
        generations: 0,
    },
];

/// The database, of which only the tables that a statement reads are filled.
pub(crate) struct Sandbox<'q> {
    conn: Connection,
    query: &'q str,
    tables: BTreeSet<String>,
}

impl<'q> Sandbox<'q> {
    /// An empty one, for one statement.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] where it is not one statement that reads what is there.
    pub(crate) fn new(query: &'q str) -> Result<Self> {
        let conn = Connection::open_in_memory()?;
        conn.execute_batch(SCHEMA)?;
        audits::add_functions(&conn)?;
        let read: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        let noted = Arc::clone(&read);
        conn.authorizer(Some(move |context: AuthContext<'_>| {
            // A table of which no column is read is named as it was typed.
            if let AuthAction::Read { table_name, .. } = context.action {
                noted.lock().unwrap_or_else(PoisonError::into_inner).insert(table_name.to_ascii_lowercase());
            }
            audits::only_reads(context)
        }))?;
        audits::prepare(&conn, query)?;
        conn.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
        let tables = std::mem::take(&mut *read.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Self { conn, query, tables })
    }

    /// Whether the statement reads this table.
    pub(crate) fn reads(&self, table: &str) -> bool {
        self.tables.contains(table)
    }

    /// Adds a source with how many documents can be read of it.
    pub(crate) fn add_source(&self, source_id: &str, kind: &str, documents: u64) -> Result<()> {
        let sql = "INSERT INTO sources VALUES (?1, ?2, ?3)";
        self.conn.prepare_cached(sql)?.execute(params![source_id, kind, documents])?;
        Ok(())
    }

    /// Adds a generation as the reader sees it.
    pub(crate) fn add_generation(&self, generation: &Generation) -> Result<()> {
        let (documents, chunks) = (&generation.documents, &generation.chunks);
        let sql = "INSERT INTO generations VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
        self.conn.prepare_cached(sql)?.execute(params![
            generation.number,
            generation.parent,
            generation.published_at,
            documents.added,
            documents.updated,
            documents.deleted,
            documents.unchanged,
            chunks.added,
            chunks.removed,
            chunks.reused,
            generation.policy_digest.to_string(),
            generation.digest.to_string(),
            generation.parent_digest.map(|digest| digest.to_string()),
            generation.tool_version,
        ])?;
        Ok(())
    }

    /// Copies what the statement reads of these classes from the store; `seen` is the number that the reader has for a
    /// generation.
    pub(crate) fn fill(&self, store: &Connection, classes: &[i64], seen: impl Fn(u64) -> u64) -> Result<()> {
        for Copied { name, select, columns, generations } in &COPIED {
            if !self.reads(name) {
                continue;
            }
            let places: Vec<String> = (1..=*columns).map(|place| format!("?{place}")).collect();
            let mut insert = self.conn.prepare(&format!("INSERT INTO {name} VALUES ({})", places.join(", ")))?;
            let mut statement = store.prepare_cached(select)?;
            let mut rows = statement.query([listed(classes)])?;
            while let Some(row) = rows.next()? {
                let mut values = Vec::with_capacity(*columns);
                for column in 0..*columns {
                    let is_generation = column >= columns - generations;
                    values.push(if is_generation {
                        Value::Integer(seen(row.get(column)?).cast_signed())
                    } else {
                        row.get(column)?
                    });
                }
                insert.execute(params_from_iter(values))?;
            }
        }
        Ok(())
    }

    /// Runs the statement.
    pub(crate) fn run(self) -> Result<SqlResult> {
        connect::configure(&self.conn, Access::Read)?;
        audits::run(&self.conn, self.query)
    }
}

/// The selects that fill the tables, for a test of their plans.
#[cfg(test)]
pub(super) fn selects() -> impl Iterator<Item = &'static str> {
    COPIED.iter().map(|copied| copied.select)
}

//! `check`: the store against itself, against its sources and, on demand, against a fresh build.
//!
//! What can be computed from something else is computed again: digests, ids, compositions, counts, postings, bounds.
//! A row that does not fit is named, with what that means and what mends it (`damage.rs`); docs/cli.md lists the columns
//! that nothing can be compared with.

mod access;
mod chain;
mod damage;
mod postings;
mod rebuild;
mod rows;
mod vectors;

use crate::error::{Error, IN_ITS_FILE, Result};
use crate::model::Digest;
use crate::store::integrity::{self, Part, Problem, Schema};
use crate::store::{Connection, Store, documents, settings};

pub use damage::Damage;

/// At most this many problems are named; all are counted.
const NAMED_AT_MOST: usize = 20;

/// What to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckRequest {
    /// Compare the source files with what is stored.
    pub sources: bool,
    /// Build each source anew and compare documents and chunks; what the sources no longer say is left out.
    pub deep: bool,
}

impl Default for CheckRequest {
    fn default() -> Self {
        Self { sources: true, deep: false }
    }
}

/// The outcome of all checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckReport {
    /// Whether no check found damage.
    pub ok: bool,
    /// The checks, in the order in which they ran.
    pub checks: Vec<Check>,
}

/// The outcome of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was checked: a stable name.
    pub name: &'static str,
    /// Whether no damage was found.
    pub ok: bool,
    /// How many things were looked at.
    pub count: u64,
    /// The outcome in words.
    pub detail: String,
    /// What was found, each with the row or file that it is about; at most 20 are named.
    pub problems: Vec<String>,
    /// What kinds of damage these problems are, each once.
    pub damage: Vec<Damage>,
}

/// Collects what one check finds.
struct Findings {
    name: &'static str,
    /// What `count` counts.
    what: &'static str,
    count: u64,
    /// What a problem is, unless it is said to be something else.
    kind: Damage,
    found: u64,
    problems: Vec<String>,
    damage: Vec<Damage>,
}

/// A number with what it counts, which is given in the plural.
fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {}", what.strip_suffix('s').unwrap_or(what)) } else { format!("{count} {what}") }
}

impl Findings {
    fn new(name: &'static str, what: &'static str, kind: Damage) -> Self {
        Self { name, what, count: 0, kind, found: 0, problems: Vec::new(), damage: Vec::new() }
    }

    /// Notes a problem unless `holds`.
    fn expect(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        self.expect_as(self.kind, holds, problem);
    }

    /// The same of a problem that is damage of this kind.
    fn expect_as(&mut self, kind: Damage, holds: bool, problem: impl FnOnce() -> String) {
        if holds {
            return;
        }
        self.found += 1;
        if !self.damage.contains(&kind) {
            self.damage.push(kind);
        }
        if self.problems.len() < NAMED_AT_MOST {
            self.problems.push(problem());
        }
    }

    fn into_check(self) -> Check {
        let Self { name, what, count, found, problems, damage, .. } = self;
        let looked_at = counted(count, what);
        let detail = if found == 0 { looked_at } else { format!("{looked_at}, {}", counted(found, "problems")) };
        Check { name, ok: found == 0, count, detail, problems, damage }
    }
}

impl Store {
    /// Checks the store.
    ///
    /// # Errors
    /// Only where checking itself is impossible: what is wrong in the store is in the report.
    pub fn check(&self, request: &CheckRequest) -> Result<CheckReport> {
        let (mut checks, is_readable) = self.look(|conn| {
            let mut checks = vec![
                of(conn, "sqlite", "pages", Damage::File, sqlite),
                of(conn, "schema", "objects", Damage::Schema, schema),
            ];
            // Rows of a table that is not what it should be mean nothing, and reading a view may never end.
            let is_readable = integrity::fault(conn)?.is_none();
            if is_readable {
                checks.extend(rows(conn));
            }
            Ok((checks, is_readable))
        })?;
        if !is_readable {
            for check in &mut checks {
                check.detail.push_str("; rows were not looked at");
            }
            return Ok(CheckReport { ok: false, checks });
        }
        if request.sources {
            checks.push(or_finding("sources", "source files", Damage::Documents, self.compare_sources())?);
        }
        if request.deep {
            checks.push(or_finding("rebuild", "documents", Damage::Settings, self.compare_rebuilt())?);
        }
        Ok(CheckReport { ok: checks.iter().all(|check| check.ok), checks })
    }

    /// A source that changed is no damage: the next sync sees it, and evidence from it is refused until then.
    fn compare_sources(&self) -> Result<Check> {
        let mut stored = Vec::new();
        self.read(|conn| {
            documents::for_each(conn, |_, row| {
                stored.push(row);
                Ok(())
            })
        })?;
        // None of what is found here is damage.
        let mut findings = Findings::new("sources", "source files", Damage::Documents);
        // Documents come source by source: each folder is opened once.
        for documents in stored.chunk_by(|a, b| a.source_no == b.source_no) {
            let reader = self.source_reader(documents[0].source_no)?;
            for row in documents {
                findings.count += 1;
                let text = reader.as_ref().map_err(Clone::clone);
                match text.and_then(|reader| reader.read(&row.path).map_err(|failure| failure.message)) {
                    Ok(file) => findings.expect(Digest::of(&file.text) == row.content_hash, || {
                        format!("{}: changed since generation {}", row.path, row.generation_updated)
                    }),
                    Err(message) => findings.expect(false, || format!("{}: {message}", row.path)),
                }
            }
        }
        let (count, differ) = (findings.count, findings.found);
        let mut check = findings.into_check();
        if !check.ok {
            check.detail = format!("{}, {differ} not as indexed; run `ragdb sync`", counted(count, "source files"));
            check.ok = true;
            check.damage.clear();
        }
        Ok(check)
    }
}

/// The checks of rows.
fn rows(conn: &Connection) -> Vec<Check> {
    vec![
        of(conn, "settings", "settings", Damage::Settings, rows::settings),
        of(conn, "documents", "documents", Damage::Documents, rows::documents),
        of(conn, "chunks", "chunks", Damage::Documents, rows::chunks),
        of(conn, "tombstones", "tombstones", Damage::History, rows::tombstones),
        of(conn, "generations", "generations", Damage::History, chain::generations),
        of(conn, "index", "postings", Damage::Index, postings::index),
        of(conn, "access", "rules", Damage::Access, access::access),
        of(conn, "vectors", "vectors", Damage::Vectors, vectors::vectors),
    ]
}

/// What a copy of a store must pass: SQLite's own checks, the schema, the policy, and the chain of generations.
pub(crate) fn of_copy(conn: &Connection) -> Vec<Check> {
    vec![
        of(conn, "sqlite", "pages", Damage::File, sqlite),
        of(conn, "schema", "objects", Damage::Schema, schema),
        of(conn, "settings", "settings", Damage::Settings, |conn, _| settings::policy(conn).map(drop)),
        of(conn, "generations", "generations", Damage::History, chain::generations),
    ]
}

/// Runs one check. A database error is a finding of the check that met it.
fn of(
    conn: &Connection,
    name: &'static str,
    what: &'static str,
    kind: Damage,
    check: impl FnOnce(&Connection, &mut Findings) -> Result<()>,
) -> Check {
    let mut findings = Findings::new(name, what, kind);
    if let Err(error) = check(conn, &mut findings) {
        findings.expect(false, || in_words(error));
    }
    findings.into_check()
}

/// A check that a damaged store kept from its end has found that.
fn or_finding(name: &'static str, what: &'static str, kind: Damage, outcome: Result<Check>) -> Result<Check> {
    match outcome {
        Err(error @ (Error::Damaged { .. } | Error::Database(_))) => {
            let mut findings = Findings::new(name, what, kind);
            findings.expect(false, || in_words(error));
            Ok(findings.into_check())
        }
        other => other,
    }
}

/// An error as a finding: that the store is damaged is said by the check.
fn in_words(error: Error) -> String {
    match error {
        Error::Damaged { detail } => detail.strip_prefix(IN_ITS_FILE).map(str::to_owned).unwrap_or(detail),
        other => other.to_string(),
    }
}

fn sqlite(conn: &Connection, findings: &mut Findings) -> Result<()> {
    let (pages, problems) = integrity::sqlite(conn)?;
    findings.count = pages;
    for Problem { message, part } in problems {
        let kind = match part {
            Part::Derived => Damage::Index,
            Part::Classes => Damage::Access,
            Part::Documents => Damage::Documents,
            Part::Vectors => Damage::Vectors,
            Part::Other => Damage::File,
        };
        findings.expect_as(kind, false, || message);
    }
    Ok(())
}

fn schema(conn: &Connection, findings: &mut Findings) -> Result<()> {
    let Schema { count, faults, foreign } = integrity::schema(conn)?;
    findings.count = count;
    for difference in faults.into_iter().chain(foreign) {
        findings.expect(false, || difference);
    }
    Ok(())
}

//! `check`: the store against itself, against its sources and, on demand, against a fresh build.
//!
//! What can be computed from something else is computed again: digests, ids, compositions, counts, postings, bounds.
//! A row that does not fit is named; docs/cli.md lists the columns that nothing can be compared with.

mod access;
mod chain;
mod postings;
mod rebuild;
mod rows;

use crate::error::Result;
use crate::model::Digest;
use crate::store::{Connection, Store, documents, integrity};

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
}

/// Collects what one check finds.
struct Findings {
    name: &'static str,
    /// What `count` counts.
    what: &'static str,
    count: u64,
    found: u64,
    problems: Vec<String>,
}

/// A number with what it counts, which is given in the plural.
fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {}", what.strip_suffix('s').unwrap_or(what)) } else { format!("{count} {what}") }
}

impl Findings {
    fn new(name: &'static str, what: &'static str) -> Self {
        Self { name, what, count: 0, found: 0, problems: Vec::new() }
    }

    /// Notes a problem unless `holds`.
    fn expect(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if holds {
            return;
        }
        self.found += 1;
        if self.problems.len() < NAMED_AT_MOST {
            self.problems.push(problem());
        }
    }

    fn into_check(self) -> Check {
        let Self { name, what, count, found, problems } = self;
        let looked_at = counted(count, what);
        let detail = if found == 0 { looked_at } else { format!("{looked_at}, {}", counted(found, "problems")) };
        Check { name, ok: found == 0, count, detail, problems }
    }
}

impl Store {
    /// Checks the store.
    ///
    /// # Errors
    /// Only where checking itself is impossible: what is wrong in the store is in the report.
    pub fn check(&self, request: &CheckRequest) -> Result<CheckReport> {
        let mut checks = self.read(|conn| {
            Ok(vec![
                of(conn, "sqlite", "pages", sqlite),
                of(conn, "schema", "objects", schema),
                of(conn, "settings", "settings", rows::settings),
                of(conn, "documents", "documents", rows::documents),
                of(conn, "chunks", "chunks", rows::chunks),
                of(conn, "tombstones", "tombstones", rows::tombstones),
                of(conn, "generations", "generations", chain::generations),
                of(conn, "index", "postings", postings::index),
                of(conn, "access", "rules", access::access),
            ])
        })?;
        if request.sources {
            checks.push(self.compare_sources()?);
        }
        if request.deep {
            checks.push(self.compare_rebuilt()?);
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
        let mut findings = Findings::new("sources", "source files");
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
        }
        Ok(check)
    }
}

/// What a copy of a store must pass: SQLite's own checks, the schema, and the chain of generations.
pub(crate) fn of_copy(conn: &Connection) -> Vec<Check> {
    vec![
        of(conn, "sqlite", "pages", sqlite),
        of(conn, "schema", "objects", schema),
        of(conn, "generations", "generations", chain::generations),
    ]
}

/// Runs one check. A database error is a finding of the check that met it.
fn of(
    conn: &Connection,
    name: &'static str,
    what: &'static str,
    check: impl FnOnce(&Connection, &mut Findings) -> Result<()>,
) -> Check {
    let mut findings = Findings::new(name, what);
    if let Err(error) = check(conn, &mut findings) {
        findings.expect(false, || error.to_string());
    }
    findings.into_check()
}

fn sqlite(conn: &Connection, findings: &mut Findings) -> Result<()> {
    let (pages, problems) = integrity::sqlite(conn)?;
    findings.count = pages;
    for problem in problems {
        findings.expect(false, || problem);
    }
    Ok(())
}

fn schema(conn: &Connection, findings: &mut Findings) -> Result<()> {
    let (count, differences) = integrity::schema(conn)?;
    findings.count = count;
    for difference in differences {
        findings.expect(false, || difference);
    }
    Ok(())
}

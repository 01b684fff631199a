//! `check --deep`: the store against one that is built anew from the same sources.

use std::collections::BTreeMap;

use super::{Check, Findings};
use crate::config::{Config, SyncSettings};
use crate::error::{Error, Result};
use crate::store::chunks::{self, ChunkRow};
use crate::store::documents::{self, DocumentRow};
use crate::store::{Store, settings, sources};
use crate::sync::{SyncRequest, SyncSources, config_for};

/// A document with all that a fresh build must agree on.
type Built = BTreeMap<(String, String), (DocumentRow, Vec<ChunkRow>)>;

impl Store {
    /// Builds a fresh store beside this one, in a folder that is removed again, and compares.
    pub(super) fn compare_rebuilt(&self) -> Result<Check> {
        let mut findings = Findings::new("rebuild", "documents");
        let folder = self.path().parent().unwrap_or(std::path::Path::new("/"));
        let (policy, mut rows) = self.read(|conn| Ok((settings::policy(conn)?, sources::all(conn)?)))?;
        let Some(policy) = policy else { return Ok(findings.into_check()) };
        rows.retain(|(_, row)| folder.join(&row.root).is_dir());
        // One configuration follows `.gitignore` files or does not: those that do come last, and join the others.
        let (strict, plain): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(_, row)| row.respect_gitignore);
        let scratch = tempfile::Builder::new()
            .prefix(".ragdb-check-")
            .tempdir_in(folder)
            .map_err(|error| Error::io(folder, error))?;
        let fresh = Store::create(scratch.path().join("fresh.db"))?;
        let mut failures = Vec::new();
        for (rows, respect_gitignore) in [(plain, false), (strict, true)] {
            if rows.is_empty() {
                continue;
            }
            let sources = rows.iter().map(|(_, row)| config_for(folder, row)).collect::<Result<_>>()?;
            let sync = SyncSettings { respect_gitignore, ..SyncSettings::default() };
            let request = SyncRequest {
                sources: SyncSources::Config(Config { sources, sync, ..Config::default() }),
                chunking: policy.chunking.into(),
                bm25: Some(policy.bm25),
                keep_going: true,
                max_delete: Some(0),
                ..SyncRequest::default()
            };
            failures.extend(fresh.sync(&request)?.failures);
        }
        let (stored, mut built) = (self.built()?, fresh.built()?);
        for ((source, path), (document, chunks)) in stored {
            if failures.iter().any(|failure| covers(&failure.path, &path)) {
                continue;
            }
            findings.count += 1;
            let Some((other, others)) = built.remove(&(source, path)) else {
                findings.expect(false, || format!("{}: a fresh build does not have it", document.path));
                continue;
            };
            findings.expect(same_document(&document, &other), || {
                format!(
                    "{}: a fresh build has other content or metadata; run `ragdb sync` first if it changed",
                    document.path
                )
            });
            let same = chunks.len() == others.len() && chunks.iter().zip(&others).all(|(a, b)| same_chunk(a, b));
            findings.expect(same, || format!("{}: a fresh build cuts it otherwise", document.path));
        }
        for (_, path) in built.keys() {
            findings
                .expect(false, || format!("{path}: only a fresh build has it; run `ragdb sync` first if it is new"));
        }
        Ok(findings.into_check())
    }

    fn built(&self) -> Result<Built> {
        let mut built = Built::new();
        self.read(|conn| {
            documents::for_each(conn, |number, row| {
                let chunks = chunks::of_document(conn, number)?;
                built.insert((row.source_id.clone(), row.path.clone()), (row, chunks));
                Ok(())
            })
        })?;
        Ok(built)
    }
}

/// Whether a file or folder that failed is this file or a folder above it.
fn covers(failed: &str, path: &str) -> bool {
    failed == "." || path.strip_prefix(failed).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Equal but for numbers, generations and what covers them.
fn same_document(a: &DocumentRow, b: &DocumentRow) -> bool {
    let b = DocumentRow {
        source_no: a.source_no,
        revision: a.revision,
        generation_added: a.generation_added,
        generation_updated: a.generation_updated,
        record_hash: a.record_hash,
        ..b.clone()
    };
    *a == b
}

fn same_chunk(a: &ChunkRow, b: &ChunkRow) -> bool {
    let b = ChunkRow { chunk_no: a.chunk_no, generation_added: a.generation_added, ..b.clone() };
    *a == b
}

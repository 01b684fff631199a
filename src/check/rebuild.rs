//! `check --deep`: the store against one that is built anew from the same sources.

use std::collections::BTreeMap;

use super::{Check, Damage, Findings, NAMED_AT_MOST, counted};
use crate::config::Config;
use crate::error::{Error, Failure, Result};
use crate::model::{Digest, Policy};
use crate::store::chunks::{self, ChunkRow};
use crate::store::documents::{self, DocumentRow};
use crate::store::findings::{self, FindingRow};
use crate::store::sources::SourceRow;
use crate::store::{Store, settings, sources};
use crate::sync::{SyncRequest, SyncSources, config_for};

/// The documents of a source by path, with all that a fresh build must agree on.
type Built = BTreeMap<String, (DocumentRow, Vec<ChunkRow>, Vec<FindingRow>)>;

/// What the sources no longer say, which is no damage.
#[derive(Default)]
struct LeftOut {
    documents: u64,
    /// Sources and files, each with the reason.
    named: Vec<String>,
}

impl LeftOut {
    fn document(&mut self, path: &str, why: impl std::fmt::Display) {
        self.documents += 1;
        self.named.push(format!("{path}: not compared: {why}"));
    }
}

impl Store {
    /// Builds fresh stores beside this one, in a folder that is removed again, and compares. Files that changed, are
    /// gone, are new or can't be read, and sources whose folder can't be read, can't be compared.
    pub(super) fn compare_rebuilt(&self) -> Result<Check> {
        let mut findings = Findings::new("rebuild", "documents", Damage::Forged);
        let folder = self.folder();
        let (policy, rows) = self.read(|conn| Ok((settings::policy(conn)?, sources::all(conn)?)))?;
        let Some(policy) = policy else { return Ok(findings.into_check()) };
        let scratch = tempfile::Builder::new()
            .prefix(".ragdb-check-")
            .tempdir_in(folder)
            .map_err(|error| Error::io(folder, error))?;
        let mut stored = self.built()?;
        let mut left_out = LeftOut::default();
        // A store for each source: so each failure is known to be of its source, and a source that can't be read
        // stops no other.
        for (source_no, row) in &rows {
            let stored = stored.remove(&row.source_id).unwrap_or_default();
            let fresh = Store::create(scratch.path().join(format!("{source_no}.db")))?;
            match rebuild(&fresh, folder, row, &policy) {
                Ok(failures) => {
                    let built = fresh.built()?.remove(&row.source_id).unwrap_or_default();
                    self.compare_source(stored, built, &failures, &mut findings, &mut left_out)?;
                }
                Err(Error::Refused { message, .. }) => {
                    left_out.documents += stored.len() as u64;
                    left_out.named.push(format!("source {}: not compared: {message}", row.source_id));
                }
                Err(error) => return Err(error),
            }
        }
        let compared = findings.count;
        let mut check = findings.into_check();
        if left_out.documents > 0 || !left_out.named.is_empty() {
            let what = if compared == 0 { "nothing could be compared" } else { "not all could be compared" };
            let left = counted(left_out.documents, "documents");
            check.detail = format!("{}, {what} ({left} left out)", check.detail);
            check.problems.extend(left_out.named);
            check.problems.truncate(NAMED_AT_MOST);
        }
        Ok(check)
    }

    fn compare_source(
        &self,
        stored: Built,
        mut built: Built,
        failures: &[Failure],
        findings: &mut Findings,
        left_out: &mut LeftOut,
    ) -> Result<()> {
        for (path, (document, chunks, marks)) in stored {
            let fresh = built.remove(&path);
            if let Some(failure) = failures.iter().find(|failure| covers(failure, &path)) {
                left_out.document(&path, &failure.message);
                continue;
            }
            let digest = match &fresh {
                Some((other, _, _)) => Ok(other.content_hash),
                None => self.source_text(&document)?.map(|text| Digest::of(&text)),
            };
            match digest {
                Ok(digest) if digest == document.content_hash => {}
                Ok(_) => {
                    left_out
                        .document(&path, format_args!("it changed since generation {}", document.generation_updated));
                    continue;
                }
                Err(message) => {
                    left_out.document(&path, message);
                    continue;
                }
            }
            findings.count += 1;
            let Some((other, others, other_marks)) = fresh else {
                findings.expect(false, || format!("{path}: a fresh build does not have it"));
                continue;
            };
            findings.expect(same_document(&document, &other), || format!("{path}: a fresh build has other metadata"));
            let same = chunks.len() == others.len() && chunks.iter().zip(&others).all(|(a, b)| same_chunk(a, b));
            findings.expect(same, || format!("{path}: a fresh build cuts it otherwise"));
            findings.expect(marks == other_marks, || format!("{path}: a fresh build finds other unsafe text"));
        }
        // Documents that were deleted behind ragdb's back show in the counts of the generations.
        left_out.named.extend(built.into_keys().map(|path| format!("{path}: not compared: it is not indexed yet")));
        Ok(())
    }

    /// All documents, by source.
    fn built(&self) -> Result<BTreeMap<String, Built>> {
        let mut built: BTreeMap<String, Built> = BTreeMap::new();
        self.read(|conn| {
            documents::for_each(conn, |number, row| {
                let (chunks, marks) = (chunks::of_document(conn, number)?, findings::of_document(conn, number)?);
                built.entry(row.source_id.clone()).or_default().insert(row.path.clone(), (row, chunks, marks));
                Ok(())
            })
        })?;
        Ok(built)
    }
}

/// Indexes one source into an empty store and returns what failed.
fn rebuild(fresh: &Store, folder: &std::path::Path, row: &SourceRow, policy: &Policy) -> Result<Vec<Failure>> {
    let request = SyncRequest {
        sources: SyncSources::Config(Config { sources: vec![config_for(folder, row)?], ..Config::default() }),
        chunking: policy.chunking.into(),
        bm25: Some(policy.bm25),
        unsafe_scope: Some(policy.unsafe_scope),
        keep_going: true,
        max_delete: Some(0),
        ..SyncRequest::default()
    };
    Ok(fresh.sync(&request)?.failures)
}

/// Whether a failure is that of this path or of a folder above it.
fn covers(failure: &Failure, path: &str) -> bool {
    let below = path.strip_prefix(&failure.path);
    failure.path == "." || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Equal but for numbers, generations and what covers them.
fn same_document(a: &DocumentRow, b: &DocumentRow) -> bool {
    let b = DocumentRow {
        source_no: a.source_no,
        class_no: a.class_no,
        class_generation: a.class_generation,
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

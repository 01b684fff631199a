//! `status` and `optimize`: what a store is made of, and making it compact.

use crate::access::history::{self, History};
use crate::access::{Scope, Seen};
use crate::dense;
use crate::embed::VectorStatus;
use crate::error::{Error, Result};
use crate::index;
use crate::model::{Policy, Principal};
use crate::store::generations::Generation;
use crate::store::postings::{self, PostingReader, PostingWriter};
use crate::store::{
    Connection, Store, chunks, connect, documents, findings, migrate, settings, sources, tombstones, vectors,
};
use crate::sync::reindex;

/// What a store is made of.
#[derive(Clone, Debug)]
pub struct Status {
    /// The random identity that the store got when it was made: 32 hexadecimal digits.
    pub store_id: String,
    /// When it was made, in UTC as RFC 3339.
    pub created_at: String,
    /// The ragdb that made it.
    pub created_by: String,
    /// The version of its schema.
    pub schema_version: i64,
    /// The newest generation; `None` before the first sync.
    pub generation: Option<Generation>,
    /// The policy it was indexed under; `None` before the first sync.
    pub policy: Option<Policy>,
    /// Live documents.
    pub documents: u64,
    /// Live chunks.
    pub chunks: u64,
    /// Documents with unsafe chunks, which are never scored.
    pub unsafe_documents: u64,
    /// Live chunks that can be found: all but bare headings, unsafe chunks and chunks without a word.
    pub indexed_chunks: u64,
    /// The average length of an indexed chunk, in terms.
    pub average_length: f64,
    /// Segments of the index; `None` to others than the operator, and to that one within some scopes.
    pub segments: Option<u64>,
    /// Tombstones of documents and chunks.
    pub tombstones: u64,
    /// Size of the file and its write-ahead log, in bytes; `None` to the same.
    pub file_bytes: Option<u64>,
    /// The sources, by id.
    pub sources: Vec<SourceStatus>,
    /// The models whose vectors are stored: the one that searches use, and, for the operator, those that `ragdb embed` has
    /// not finished.
    pub vectors: Vec<VectorStatus>,
}

/// A source and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceStatus {
    /// Its id.
    pub source_id: String,
    /// `markdown` or `text`.
    pub kind: String,
    /// Its root, relative to the store's folder where it can be; `None` to others than the operator.
    pub root: Option<String>,
    /// Its live documents.
    pub documents: u64,
}

/// What [`Store::optimize`] is to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptimizeRequest {
    /// Make all that is derived from the stored chunks again: postings, lengths and statistics, SQL's own indexes, and
    /// the rules of access. A store that was damaged there is whole again.
    pub rebuild: bool,
}

/// What [`Store::optimize`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptimizeReport {
    /// Segments before.
    pub segments_before: u64,
    /// Segments after: one for each access class with documents.
    pub segments_after: u64,
    /// How many chunks were indexed again, where that was asked for.
    pub rebuilt_chunks: Option<u64>,
    /// Size of the file before, in bytes.
    pub bytes_before: u64,
    /// Size of the file after, in bytes.
    pub bytes_after: u64,
}

impl Store {
    /// What the store is made of, from one snapshot. Others than the operator are told of what they may read, as if there
    /// were nothing else; their sources are those with documents that they may read.
    ///
    /// # Errors
    /// [`Error::Damaged`] where settings are missing or can't be read.
    pub fn status(&self, principal: &Principal) -> Result<Status> {
        let file_bytes = if principal.reads_everything() { Some(self.size()?) } else { None };
        self.read_as(principal, Seen::Stored, |conn, scope| {
            let all = settings::all(conn)?;
            let setting = |key: &str| {
                let found = all.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone());
                found.ok_or_else(|| Error::Damaged { detail: format!("settings.{key} is missing") })
            };
            let reader = PostingReader::new(conn)?;
            let statistics = index::statistics(&reader, scope.classes())?;
            let generation = match history::newest(conn, scope)? {
                Some(number) => Some(History::of(conn, scope)?.get(conn, number)?),
                None => None,
            };
            Ok(Status {
                store_id: setting("store_id")?,
                created_at: setting("created_at")?,
                created_by: setting("created_by")?,
                schema_version: migrate::SCHEMA_VERSION,
                policy: if generation.is_some() || scope.is_operator() { settings::policy(conn)? } else { None },
                generation,
                documents: documents::count_in(conn, scope.classes())?,
                chunks: chunks::count_in(conn, scope.classes())?,
                unsafe_documents: findings::unsafe_documents_in(conn, scope.classes())?,
                indexed_chunks: statistics.chunks,
                average_length: statistics.average_length(),
                segments: if scope.is_whole() { Some(reader.all_segments()?.len() as u64) } else { None },
                tombstones: tombstones::count(conn, scope.classes())?,
                file_bytes,
                sources: sources_of(conn, scope)?,
                vectors: vectors_of(conn, scope, statistics.chunks)?,
            })
        })
    }

    /// Merges the index's segments into one for each access class, or makes it again from the stored chunks, and gives
    /// free pages back to the file system. Results stay the same to the last bit, where they were right; no generation is
    /// published.
    ///
    /// # Errors
    /// [`Error::Busy`] where another process writes, [`Error::ReadOnly`] where the store is open for reading only. For a
    /// rebuild: [`Error::Refused`] with `documents_damaged` where stored rows do not have their hashes, and
    /// [`Error::PolicyMismatch`] where this build would not search what is stored; nothing was changed then.
    pub fn optimize(&self, request: &OptimizeRequest) -> Result<OptimizeReport> {
        let (segments_before, bytes_before) = (self.segments()?, self.size()?);
        self.finish_purge()?;
        let rebuilt_chunks = self.write(|tx| {
            if request.rebuild {
                return reindex(tx, self.folder()).map(Some);
            }
            if let Some(policy) = settings::policy(tx)? {
                index::optimize(&mut PostingWriter::new(tx)?, &policy.bm25)?;
            }
            Ok(None)
        })?;
        self.vacuum()?;
        Ok(OptimizeReport {
            segments_before,
            segments_after: self.segments()?,
            rebuilt_chunks,
            bytes_before,
            bytes_after: self.size()?,
        })
    }

    fn segments(&self) -> Result<u64> {
        self.read(postings::segment_count)
    }

    /// Bytes of the file and its write-ahead log. Looks at names, opens nothing.
    pub(crate) fn size(&self) -> Result<u64> {
        let mut bytes = 0;
        for path in &connect::own_files(self.path())[..2] {
            match std::fs::symlink_metadata(path) {
                Ok(metadata) => bytes += metadata.len(),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io(path, error)),
            }
        }
        Ok(bytes)
    }
}

/// What vectors there are of the chunks of these classes, of which `chunks` can be found.
fn vectors_of(conn: &Connection, scope: &Scope, chunks: u64) -> Result<Vec<VectorStatus>> {
    if chunks == 0 && !scope.is_operator() {
        return Ok(Vec::new());
    }
    let mut listed = Vec::new();
    for row in vectors::profiles(conn)? {
        // How far another model is tells of all chunks: the operator alone learns of it.
        if !row.is_ready && !scope.is_operator() {
            continue;
        }
        let count = dense::count(conn, &row, scope.classes())?;
        let missing = chunks.saturating_sub(count);
        listed.push(VectorStatus { profile: row.profile, is_ready: row.is_ready, vectors: count, missing });
    }
    Ok(listed)
}

/// The sources of the store, by id.
pub(crate) fn sources_of(conn: &Connection, scope: &Scope) -> Result<Vec<SourceStatus>> {
    if scope.is_everything() {
        let listed = sources::all(conn)?.into_iter().map(|(number, row)| {
            let documents = sources::document_count(conn, number)?;
            Ok(SourceStatus { source_id: row.source_id, kind: row.kind, root: Some(row.root), documents })
        });
        return listed.collect();
    }
    let mut listed = Vec::new();
    for source in scope.sources() {
        let documents = documents::count_in(conn, &scope.classes_of(source))?;
        if documents > 0
            && let Some((_, row)) = sources::by_id(conn, source)?
        {
            let root = scope.is_operator().then_some(row.root);
            listed.push(SourceStatus { source_id: row.source_id, kind: row.kind, root, documents });
        }
    }
    Ok(listed)
}

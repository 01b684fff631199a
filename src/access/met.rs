//! What a reader was shown once, and whether they may meet it again.

use super::Scope;
use crate::error::Result;
use crate::model::ChunkId;
use crate::store::{Connection, documents, runs, tombstones};

/// Whether a reader may be told of a chunk that was shown to them: they may read its document now, or they could read it
/// when it went.
pub(crate) fn is_met(conn: &Connection, scope: &Scope, chunk_id: &str) -> Result<bool> {
    if scope.is_whole() {
        return Ok(true);
    }
    let document = ChunkId::parse(chunk_id).map(|id| documents::visible(conn, scope.classes(), id.document));
    if document.transpose()?.flatten().is_some() {
        return Ok(true);
    }
    Ok(tombstones::latest(conn, scope.classes(), chunk_id)?.is_some())
}

/// Whether that holds for all that a run showed and refused.
pub(crate) fn is_run_met(conn: &Connection, scope: &Scope, run_id: &str) -> Result<bool> {
    if scope.is_whole() {
        return Ok(true);
    }
    for chunk_id in runs::chunk_ids(conn, run_id)? {
        if !is_met(conn, scope, &chunk_id)? {
            return Ok(false);
        }
    }
    Ok(true)
}

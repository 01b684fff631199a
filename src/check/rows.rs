//! Settings, documents, chunks and tombstones against what can be computed again.

use std::collections::HashMap;

use super::{Damage, Findings};
use crate::error::Result;
use crate::model::{ChunkId, Digest, DocumentId, Trust};
use crate::store::chunks::ChunkRow;
use crate::store::{self, Connection, record};
use crate::sync::reviewed_of;

const SETTINGS_FROM_THE_START: [&str; 3] = ["store_id", "created_at", "created_by"];
const SETTINGS_OF_SYNCS: [&str; 2] = ["policy", "policy_digest"];
/// Those of access rules; a store from before there were any has none.
const SETTINGS_OF_ACCESS: [&str; 2] = ["acl", "acl_groups"];

/// There while a purge has not ended.
const SETTINGS_OF_PURGES: [&str; 1] = ["unfinished_purge"];

/// No setting is missing or foreign, the policy has its digest and is that of
/// the newest generation, and this build can search under it.
pub(super) fn settings(conn: &Connection, findings: &mut Findings) -> Result<()> {
    let all = store::settings::all(conn)?;
    findings.count = all.len() as u64;
    let head = store::generations::head(conn)?;
    let published = if head.is_some() { SETTINGS_OF_SYNCS.as_slice() } else { &[] };
    for &key in SETTINGS_FROM_THE_START.iter().chain(published) {
        findings.expect(all.iter().any(|(known, _)| known == key), || format!("settings.{key} is missing"));
    }
    for (key, _) in &all {
        let known = SETTINGS_FROM_THE_START
            .iter()
            .chain(&SETTINGS_OF_SYNCS)
            .chain(&SETTINGS_OF_ACCESS)
            .chain(&SETTINGS_OF_PURGES)
            .any(|known| known == key);
        findings.expect(known, || format!("settings.{key} is foreign"));
    }
    // That it is missing is said already.
    if all.iter().any(|(known, _)| known == "policy")
        && let Some(policy) = store::settings::policy(conn)?
    {
        findings.expect(head.is_none_or(|head| head.policy_digest == policy.digest()), || {
            "settings.policy is not the one that the newest generation was made under".into()
        });
        findings.expect_as(Damage::Lexer, policy.lexer_version == crate::LEXER_VERSION, || {
            format!("indexed with lexer version {}, this build has {}", policy.lexer_version, crate::LEXER_VERSION)
        });
    }
    Ok(())
}

/// Ids follow from paths, record hashes from rows.
pub(super) fn documents(conn: &Connection, findings: &mut Findings) -> Result<()> {
    for (source_no, source) in store::sources::all(conn)? {
        let is_renamed = store::documents::are_of_another_source(conn, source_no, &source.source_id)?;
        findings.expect_as(Damage::File, !is_renamed, || {
            format!("source {}: none of its documents has an id of it; the source's id was changed", source.source_id)
        });
    }
    let reviewed: HashMap<_, _> = store::sources::all(conn)?
        .into_iter()
        .map(|(_, source)| (source.source_id.clone(), reviewed_of(&source).ok()))
        .collect();
    store::documents::for_each(conn, |number, row| {
        findings.count += 1;
        let place = || format!("document {} ({})", row.document_id, row.path);
        findings.expect(DocumentId::new(&row.source_id, &row.path) == row.document_id, || {
            format!("{}: the id is not that of its source and path", place())
        });
        let chunks = store::chunks::of_document(conn, number)?;
        let marks = store::findings::of_document(conn, number)?;
        findings.expect(record::document(&row, &chunks, &marks) == row.record_hash, || {
            format!("{}: its row, one of its chunks' rows or a finding in it was changed", place())
        });
        let declared = reviewed.get(&row.source_id).and_then(Option::as_ref);
        let vouched = row.trust != Trust::Reviewed.as_str() || declared.is_some_and(|it| it.covers(&row.path));
        findings.expect(vouched, || format!("{}: its source does not declare it as reviewed", place()));
        findings.expect(!chunks.is_empty(), || format!("{}: it has no chunks", place()));
        let indexes = chunks.iter().zip(0..).all(|(chunk, index)| chunk.chunk_index == index);
        findings.expect(indexes, || format!("{}: its chunks are not numbered from 0", place()));
        repeats(&chunks, findings);
        Ok(())
    })
}

/// Equal texts of a document are numbered from 0 in their order.
fn repeats(chunks: &[ChunkRow], findings: &mut Findings) {
    let mut seen: HashMap<Digest, u32> = HashMap::new();
    for chunk in chunks {
        let count = seen.entry(chunk.content).or_default();
        findings.expect(chunk.repeat == *count, || {
            format!("chunk {}: it is number {count} of its text in the document", chunk.id())
        });
        *count += 1;
    }
}

/// Texts have their hashes, and lie in their files.
pub(super) fn chunks(conn: &Connection, findings: &mut Findings) -> Result<()> {
    store::documents::for_each(conn, |number, document| {
        for chunk in store::chunks::of_document(conn, number)? {
            findings.count += 1;
            let place = || format!("chunk {} ({})", chunk.id(), chunk.span.cite(&document.path));
            let text = store::chunks::text_as_stored(conn, chunk.chunk_no)?;
            findings.expect(Digest::of(&text) == chunk.content, || {
                format!("{}: its text does not have its content hash", place())
            });
            findings.expect(chunk.span.end_byte <= document.size_bytes, || {
                format!("{}: it ends behind the end of its file", place())
            });
            let composition = record::composition(&document.title, &chunk.heading_path, &text);
            findings.expect(composition == chunk.composition, || {
                format!("{}: title, heading path and text do not have its composition hash", place())
            });
        }
        Ok(())
    })
}

/// Ids follow from paths, nothing is gone twice at once, and documents and their chunks go together.
pub(super) fn tombstones(conn: &Connection, findings: &mut Findings) -> Result<()> {
    store::tombstones::for_each(conn, |id, row| {
        findings.count += 1;
        let place = || format!("tombstone of {id} ({})", row.path);
        let document = DocumentId::parse(&row.document_id);
        findings.expect(document == Some(DocumentId::new(&row.source_id, &row.path)), || {
            format!("{}: the document id is not that of its source and path", place())
        });
        let content = Digest::parse(&row.content_hash);
        let fits = match ChunkId::parse(id) {
            Some(chunk) => {
                Some(chunk.document) == document
                    && content.is_some_and(|content| ChunkId::new(chunk.document, &content, chunk.repeat) == chunk)
            }
            None => DocumentId::parse(id).is_some_and(|id| Some(id) == document) && content.is_some(),
        };
        findings.expect(fits, || format!("{}: the id does not fit its document and content hash", place()));
        findings.expect(row.generation_added < row.generation_deleted, || {
            format!("{}: it was deleted before it was added", place())
        });
        Ok(())
    })?;
    let purged = store::purges::contradictions(conn)?;
    for contradiction in store::tombstones::contradictions(conn)?.into_iter().chain(purged) {
        findings.expect(false, || contradiction);
    }
    Ok(())
}

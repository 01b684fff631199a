//! `embed`: chunks get vectors of a model, beside what a sync publishes.
//!
//! The data path: the chunks that can be found and have no vector of the profile are listed, class by class. Batch by batch
//! their compositions are read on a snapshot, embedded with nothing open, and stored in a short transaction, each if
//! its chunk is still what was embedded. What was stored stays when the next batch fails, so the same call goes on where
//! one ended. Where none is left, the profile becomes the one that searches use, and others go.

use std::collections::{HashMap, HashSet};

use crate::embedding::{self, EmbedAs, Embedder};
use crate::error::{Error, Result};
use crate::index;
use crate::model::EmbeddingProfile;
use crate::store::postings::PostingReader;
use crate::store::vectors::{self, ProfileRow};
use crate::store::{Connection, Store, chunks, documents, record};

/// How [`Store::embed`] is to go about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmbedRequest {
    /// Remove all vectors first, of this and every other model: what mends damaged ones.
    pub anew: bool,
}

/// What [`Store::embed`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedReport {
    /// What the vectors are of.
    pub profile: EmbeddingProfile,
    /// Chunks whose composition the model was given.
    pub embedded: u64,
    /// Chunks that took over the vector of an equal composition.
    pub reused: u64,
    /// Chunks that had their vector already.
    pub unchanged: u64,
    /// Chunks whose text the model refused. Only words find them; the next call tries them again.
    pub refused: Vec<RefusedChunk>,
    /// Chunks without a vector at the end: those, and what a sync brought meanwhile.
    pub missing: u64,
    /// Whether searches use the profile: they do once every chunk had its vector or was refused.
    pub is_ready: bool,
    /// The profile that searches used before, where it was another and was not removed at the start.
    pub replaced: Option<EmbeddingProfile>,
}

/// A chunk that got no vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedChunk {
    /// Its id.
    pub chunk_id: String,
    /// Where it stands, `path#L3-L6`.
    pub citation: String,
    /// What the model said.
    pub message: String,
}

/// Vectors of a store, as [`Status`](crate::Status) tells of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorStatus {
    /// What the vectors are of.
    pub profile: EmbeddingProfile,
    /// Whether searches use it; else `ragdb embed` has not finished it, and they use the one before.
    pub is_ready: bool,
    /// How many chunks have a vector.
    pub vectors: u64,
    /// How many chunks that can be found have none: only words find them until `ragdb embed`.
    pub missing: u64,
}

/// What there is to do, and what was done, as [`Store::embed`] goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmbedProgress {
    /// Chunks with a vector now.
    pub done: u64,
    /// Chunks that are to have one.
    pub total: u64,
}

/// A composition that is to be embedded.
struct Pending {
    chunk_no: i64,
    chunk_id: String,
    citation: String,
    composition: [u8; 16],
    text: String,
}

/// What is made for each of some texts: a vector, or what the model said against it.
type Made = std::result::Result<Vec<f32>, String>;

impl Store {
    /// Gives each chunk that can be found, and has none, its vector of the embedder's model. Chunks with one composition
    /// share one call of the model; it is given nothing that has a vector already. Searches go on as before meanwhile; those
    /// that ask for this model use it once all chunks have their vectors. Call it again after an error: it goes on.
    ///
    /// # Errors
    /// What [`Embedder::embed`] gives, unless it is about some texts of a batch alone; [`Error::Invalid`] where its vectors are not what its profile says;
    /// [`Error::Damaged`] where a chunk is not what was indexed; [`Error::Refused`] with `profile_gone` where another call
    /// made another model the one that searches use; and as [`Store::sync`] where the file can't be written.
    pub fn embed(
        &self,
        embedder: &dyn Embedder,
        request: EmbedRequest,
        tell: &dyn Fn(EmbedProgress),
    ) -> Result<EmbedReport> {
        let profile = embedder.profile();
        profile.check()?;
        if request.anew {
            // Nothing is removed for a model that does not answer.
            embedding::embed(embedder, &["ragdb"], EmbedAs::Chunk)?;
        }
        let (row, before) = self.write(|tx| begin(tx, profile, request))?;
        let mut report = EmbedReport {
            profile: profile.clone(),
            embedded: 0,
            reused: 0,
            unchanged: 0,
            refused: Vec::new(),
            missing: 0,
            is_ready: false,
            replaced: before.filter(|before| before != profile),
        };
        let (missing, unchanged) = self.read(|conn| missing(conn, row.profile_no))?;
        report.unchanged = unchanged;
        let total = unchanged + missing.len() as u64;
        let mut refused = Vec::new();
        for batch in missing.chunks(embedder.batch().max(1)) {
            let done = unchanged + report.embedded + report.reused + report.refused.len() as u64;
            tell(EmbedProgress { done: done.min(total), total });
            refused.extend(self.embed_batch(embedder, &row, batch, &mut report)?);
        }
        tell(EmbedProgress { done: total, total });
        let refused: HashSet<[u8; 16]> = refused.into_iter().collect();
        (report.is_ready, report.missing) = self.write(|tx| finish(tx, &row, &refused))?;
        Ok(report)
    }

    fn embed_batch(
        &self,
        embedder: &dyn Embedder,
        row: &ProfileRow,
        batch: &[i64],
        report: &mut EmbedReport,
    ) -> Result<Vec<[u8; 16]>> {
        let (pending, known) = self.read(|conn| {
            let pending = batch.iter().filter_map(|&chunk_no| pending(conn, chunk_no).transpose());
            let pending: Vec<Pending> = pending.collect::<Result<_>>()?;
            let mut known = HashMap::new();
            for Pending { composition, .. } in &pending {
                if let Some(vector) = vectors::of_composition(conn, row, composition)? {
                    known.insert(*composition, vector);
                }
            }
            Ok((pending, known))
        })?;
        let (mut compositions, mut texts): (Vec<[u8; 16]>, Vec<&str>) = (Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        for Pending { composition, text, .. } in pending.iter().filter(|one| !known.contains_key(&one.composition)) {
            if seen.insert(*composition) {
                compositions.push(*composition);
                texts.push(text);
            }
        }
        let made: HashMap<[u8; 16], Made> = compositions.into_iter().zip(made(embedder, &texts)?).collect();
        let (embedded, reused) = self.write(|tx| {
            require(tx, row)?;
            let (mut embedded, mut reused) = (0, 0);
            for Pending { chunk_no, composition, .. } in &pending {
                // A sync may have changed it meanwhile.
                if !chunks::is_evidence(tx, *chunk_no, composition)? {
                    continue;
                }
                let vector = match made.get(composition) {
                    Some(Ok(vector)) => vector,
                    Some(Err(_)) => continue,
                    None => match known.get(composition) {
                        Some(vector) => vector,
                        None => continue,
                    },
                };
                vectors::put(tx, row.profile_no, *chunk_no, composition, vector)?;
                *(if made.contains_key(composition) { &mut embedded } else { &mut reused }) += 1;
            }
            Ok((embedded, reused))
        })?;
        report.embedded += embedded;
        report.reused += reused;
        let mut refused = Vec::new();
        for Pending { chunk_id, citation, composition, .. } in pending {
            if let Some(Err(message)) = made.get(&composition) {
                report.refused.push(RefusedChunk { chunk_id, citation, message: message.clone() });
                refused.push(composition);
            }
        }
        Ok(refused)
    }
}

/// The vectors of texts. Where the model refuses one of several, each is put to it alone: what one text is must not keep
/// others from being found.
fn made(embedder: &dyn Embedder, texts: &[&str]) -> Result<Vec<Made>> {
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let together = match embedding::embed(embedder, texts, EmbedAs::Chunk) {
        Ok(vectors) => return Ok(vectors.into_iter().map(Ok).collect()),
        Err(error) if is_about_a_text(&error) => error,
        Err(error) => return Err(error),
    };
    if texts.len() == 1 {
        return Ok(vec![Err(together.to_string())]);
    }
    let mut made = Vec::with_capacity(texts.len());
    for text in texts {
        made.push(match embedding::embed(embedder, &[text], EmbedAs::Chunk) {
            Ok(mut vectors) => vectors.pop().ok_or_else(|| together.to_string()),
            Err(error) if is_about_a_text(&error) => Err(error.to_string()),
            Err(error) => return Err(error),
        });
    }
    // A model that takes none of them has something against the request.
    if made.iter().all(std::result::Result::is_err) { Err(together) } else { Ok(made) }
}

/// Whether a model may take another text where it gave this error.
fn is_about_a_text(error: &Error) -> bool {
    matches!(error, Error::Endpoint { status: Some(400 | 413 | 422), .. } | Error::Model { .. })
}

/// The row of the profile, added where it is new, and the profile that searches use.
fn begin(
    tx: &Connection,
    profile: &EmbeddingProfile,
    request: EmbedRequest,
) -> Result<(ProfileRow, Option<EmbeddingProfile>)> {
    if request.anew {
        // Not read: it may be what is damaged.
        vectors::clear(tx)?;
    }
    let before = vectors::ready(tx)?.map(|row| row.profile);
    let row = match vectors::find(tx, profile)? {
        Some(row) => row,
        None => vectors::add(tx, profile)?,
    };
    Ok((row, before))
}

/// Lets searches use the profile where no chunk is without a vector but those of `refused` compositions. Gives whether
/// they use it, and how many are without.
fn finish(tx: &Connection, row: &ProfileRow, refused: &HashSet<[u8; 16]>) -> Result<(bool, u64)> {
    require(tx, row)?;
    let (missing, _) = missing(tx, row.profile_no)?;
    let mut is_whole = true;
    for &chunk_no in &missing {
        let composition = chunks::find_by_number(tx, chunk_no)?.map(|(_, row, _)| row.composition);
        is_whole &= composition.is_some_and(|composition| refused.contains(&composition));
    }
    if is_whole {
        vectors::make_ready(tx, row.profile_no)?;
    }
    Ok((is_whole || row.is_ready, missing.len() as u64))
}

/// Refuses where the profile was removed by somebody who made another one ready.
fn require(tx: &Connection, row: &ProfileRow) -> Result<()> {
    match vectors::find(tx, &row.profile)? {
        Some(found) if found.profile_no == row.profile_no => Ok(()),
        _ => Err(Error::Refused {
            code: "profile_gone",
            message: format!("the vectors of {} were removed: another `ragdb embed` has finished", row.profile),
            hint: "run `ragdb embed` again to come back to this model".into(),
        }),
    }
}

/// The chunks that can be found and have no vector of a profile, class by class, and how many have one.
fn missing(conn: &Connection, profile_no: i64) -> Result<(Vec<i64>, u64)> {
    let (mut missing, mut present) = (Vec::new(), 0);
    let mut reader = PostingReader::new(conn)?;
    for class_no in reader.classes()? {
        index::for_each_live_page(&mut reader, class_no, |live| {
            let (Some(&first), Some(&last)) = (live.first(), live.last()) else { return Ok(()) };
            let mut stored = vectors::numbers(conn, profile_no, first, last)?.into_iter().peekable();
            for &chunk_no in live {
                while stored.next_if(|&number| number < chunk_no).is_some() {}
                if stored.next_if_eq(&chunk_no).is_some() {
                    present += 1;
                } else {
                    missing.push(chunk_no);
                }
            }
            Ok(())
        })?;
    }
    Ok((missing, present))
}

/// What is to be embedded of a chunk; nothing where it is gone.
fn pending(conn: &Connection, chunk_no: i64) -> Result<Option<Pending>> {
    let Some((document_no, row, text)) = chunks::find_by_number(conn, chunk_no)? else { return Ok(None) };
    let documents::DocumentRow { title, path, .. } = documents::by_number(conn, document_no)?;
    if record::composition(&title, &row.heading_path, &text) != row.composition {
        let detail = format!("chunk {} is not what was indexed", row.id());
        return Err(Error::Damaged { detail });
    }
    let headings = row.headings()?;
    // Where the outermost heading is the title, it is said once.
    let below = headings.strip_prefix(std::slice::from_ref(&title)).unwrap_or(&headings);
    let mut composed = title;
    for part in below.iter().map(String::as_str).chain([text.as_str()]) {
        composed.push('\n');
        composed.push_str(part);
    }
    let (chunk_id, citation) = (row.id().to_string(), row.span.cite(path).to_string());
    Ok(Some(Pending { chunk_no, chunk_id, citation, composition: row.composition, text: composed }))
}

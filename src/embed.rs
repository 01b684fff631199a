//! `embed`: chunks get vectors of a model, beside what a sync publishes.
//!
//! The data path: the chunks that can be found and have no vector of the profile are listed, class by class. Batch by batch
//! their compositions are read on a snapshot, embedded with nothing open, and stored in a short transaction, each if
//! its chunk is still what was embedded. What was stored stays when the next batch fails, so the same call goes on where
//! one ended. Where none is left, the profile becomes the one that searches use, and others go.

use std::collections::HashMap;

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
    /// Whether searches use the profile: no chunk was without a vector at the end. Else a sync brought chunks meanwhile.
    pub is_ready: bool,
    /// The profile that searches used before, where it was another and was not removed at the start.
    pub replaced: Option<EmbeddingProfile>,
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
    composition: [u8; 16],
    text: String,
}

impl Store {
    /// Gives each chunk that can be found, and has none, its vector of the embedder's model. Chunks with one composition
    /// share one call of the model; it is given nothing that has a vector already. Searches go on as before meanwhile; those
    /// that ask for this model use it once all chunks have their vectors. Call it again after an error: it goes on.
    ///
    /// # Errors
    /// What [`Embedder::embed`] gives; [`Error::Invalid`] where its vectors are not what its profile says;
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
        let (row, before) = self.write(|tx| begin(tx, profile, request))?;
        let mut report = EmbedReport {
            profile: profile.clone(),
            embedded: 0,
            reused: 0,
            unchanged: 0,
            is_ready: false,
            replaced: before.filter(|before| before != profile),
        };
        let (missing, unchanged) = self.read(|conn| missing(conn, row.profile_no))?;
        report.unchanged = unchanged;
        let total = unchanged + missing.len() as u64;
        for batch in missing.chunks(embedder.batch().max(1)) {
            let done = unchanged + report.embedded + report.reused;
            tell(EmbedProgress { done: done.min(total), total });
            self.embed_batch(embedder, &row, batch, &mut report)?;
        }
        tell(EmbedProgress { done: total, total });
        report.is_ready = self.write(|tx| finish(tx, &row))?;
        Ok(report)
    }

    fn embed_batch(
        &self,
        embedder: &dyn Embedder,
        row: &ProfileRow,
        batch: &[i64],
        report: &mut EmbedReport,
    ) -> Result<()> {
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
        let mut texts: HashMap<[u8; 16], &str> = HashMap::new();
        for Pending { composition, text, .. } in pending.iter().filter(|one| !known.contains_key(&one.composition)) {
            texts.insert(*composition, text);
        }
        let (compositions, texts): (Vec<[u8; 16]>, Vec<&str>) = texts.into_iter().unzip();
        let made = if texts.is_empty() { Vec::new() } else { embedding::embed(embedder, &texts, EmbedAs::Chunk)? };
        let made: HashMap<[u8; 16], Vec<f32>> = compositions.into_iter().zip(made).collect();
        let (embedded, reused) = self.write(|tx| {
            require(tx, row)?;
            let (mut embedded, mut reused) = (0, 0);
            for Pending { chunk_no, composition, .. } in &pending {
                // A sync may have changed it meanwhile.
                if !chunks::is_evidence(tx, *chunk_no, composition)? {
                    continue;
                }
                let vector = made.get(composition).or_else(|| known.get(composition));
                let Some(vector) = vector else { continue };
                vectors::put(tx, row.profile_no, *chunk_no, composition, vector)?;
                *(if made.contains_key(composition) { &mut embedded } else { &mut reused }) += 1;
            }
            Ok((embedded, reused))
        })?;
        report.embedded += embedded;
        report.reused += reused;
        Ok(())
    }
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

/// Lets searches use the profile where no chunk is without a vector.
fn finish(tx: &Connection, row: &ProfileRow) -> Result<bool> {
    require(tx, row)?;
    let (missing, _) = missing(tx, row.profile_no)?;
    if missing.is_empty() {
        vectors::make_ready(tx, row.profile_no)?;
    }
    Ok(missing.is_empty())
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
    let title = documents::by_number(conn, document_no)?.title;
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
    Ok(Some(Pending { chunk_no, composition: row.composition, text: composed }))
}

//! `embedding_profiles`, `embedding_sets` and `embeddings`: the vectors of chunks, one row for a chunk and a profile.
//!
//! A vector follows its chunk in the transaction that changes it: it goes where the chunk goes ([`release`], [`sweep`]), gets
//! the chunk's new number ([`renumber`]), and is taken over by a chunk with the same composition ([`carry`]).

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::classes::{class_of, first_chunk};
use super::settings;
use crate::error::{Error, Result};
use crate::model::{Digest, EmbeddingProfile};

/// A profile whose vectors are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProfileRow {
    pub profile_no: i64,
    pub profile: EmbeddingProfile,
    /// Whether searches use it; else it is being filled beside the one that they use.
    pub is_ready: bool,
}

const PROFILES: &str = "SELECT profile_no, profile_digest, model, version, dimensions, normalised, composition, state \
                        FROM embedding_profiles";

/// All profiles, oldest first.
///
/// # Errors
/// [`Error::Damaged`] where a row is not what its digest says.
pub(crate) fn profiles(conn: &Connection) -> Result<Vec<ProfileRow>> {
    let mut statement = conn.prepare_cached(&format!("{PROFILES} ORDER BY profile_no"))?;
    let mut rows = statement.query([])?;
    let mut profiles = Vec::new();
    while let Some(row) = rows.next()? {
        profiles.push(read(row)?);
    }
    Ok(profiles)
}

/// The stored row of a profile.
///
/// # Errors
/// As [`profiles`].
pub(crate) fn find(conn: &Connection, profile: &EmbeddingProfile) -> Result<Option<ProfileRow>> {
    let mut statement = conn.prepare_cached(&format!("{PROFILES} WHERE profile_digest = ?1"))?;
    let mut rows = statement.query([profile.digest().to_string()])?;
    rows.next()?.map(read).transpose()
}

fn read(row: &Row<'_>) -> Result<ProfileRow> {
    let profile_no: i64 = row.get(0)?;
    let (digest, composition, state): (String, String, String) = (row.get(1)?, row.get(6)?, row.get(7)?);
    let profile =
        EmbeddingProfile { model: row.get(2)?, version: row.get(3)?, dimensions: row.get(4)?, normalised: row.get(5)? };
    let is_whole = Digest::parse(&digest) == Some(profile.digest()) && composition == EmbeddingProfile::COMPOSITION;
    if !is_whole || !(1..=EmbeddingProfile::MOST_DIMENSIONS).contains(&profile.dimensions) {
        return Err(Error::Damaged { detail: format!("embedding_profiles {profile_no} is not what its digest says") });
    }
    Ok(ProfileRow { profile_no, profile, is_ready: state == "ready" })
}

/// The profile that searches use.
///
/// # Errors
/// As [`profiles`].
pub(crate) fn ready(conn: &Connection) -> Result<Option<ProfileRow>> {
    Ok(profiles(conn)?.into_iter().find(|row| row.is_ready))
}

/// Adds a profile, to be filled.
pub(crate) fn add(conn: &Connection, profile: &EmbeddingProfile) -> Result<ProfileRow> {
    let sql = "INSERT INTO embedding_profiles \
               (profile_digest, model, version, dimensions, normalised, composition, state, created_at) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'filling', ?7)";
    conn.prepare_cached(sql)?.execute(params![
        profile.digest().to_string(),
        profile.model,
        profile.version,
        profile.dimensions,
        profile.normalised,
        EmbeddingProfile::COMPOSITION,
        settings::now(),
    ])?;
    Ok(ProfileRow { profile_no: conn.last_insert_rowid(), profile: profile.clone(), is_ready: false })
}

/// Lets searches use a profile from now on, and removes the one that they used with its vectors. One that is being filled
/// stays.
pub(crate) fn make_ready(conn: &Connection, profile_no: i64) -> Result<()> {
    for other in profiles(conn)?.into_iter().filter(|row| row.is_ready && row.profile_no != profile_no) {
        remove(conn, other.profile_no)?;
    }
    conn.prepare_cached("UPDATE embedding_profiles SET state = 'ready' WHERE profile_no = ?1")?
        .execute([profile_no])?;
    Ok(())
}

/// Removes a profile with its vectors.
pub(crate) fn remove(conn: &Connection, profile_no: i64) -> Result<()> {
    for table in ["embeddings", "embedding_sets", "embedding_profiles"] {
        conn.execute(&format!("DELETE FROM {table} WHERE profile_no = ?1"), [profile_no])?;
    }
    Ok(())
}

/// Removes all vectors and profiles, whatever is wrong with them.
pub(crate) fn clear(conn: &Connection) -> Result<()> {
    for table in ["embeddings", "embedding_sets", "embedding_profiles"] {
        conn.execute(&format!("DELETE FROM {table}"), [])?;
    }
    Ok(())
}

/// How many vectors a profile has for the chunks of a class, and a number that is another after each change of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SetRow {
    pub vectors: u64,
    pub stamp: i64,
}

/// The set of a profile and a class; an empty one where there is none.
pub(crate) fn set(conn: &Connection, profile_no: i64, class_no: i64) -> Result<SetRow> {
    let sql = "SELECT vectors, stamp FROM embedding_sets WHERE profile_no = ?1 AND class_no = ?2";
    let row = conn
        .prepare_cached(sql)?
        .query_row([profile_no, class_no], |row| Ok(SetRow { vectors: row.get(0)?, stamp: row.get(1)? }))
        .optional()?;
    Ok(row.unwrap_or_default())
}

/// Notes that so many vectors came to a set, or left it. A set that says too few keeps nobody from writing: `check` finds it.
fn note(conn: &Connection, profile_no: i64, class_no: i64, change: i64) -> Result<()> {
    let sql = "INSERT INTO embedding_sets (profile_no, class_no, vectors, stamp) VALUES (?1, ?2, max(?3, 0), random()) \
               ON CONFLICT (profile_no, class_no) DO UPDATE SET vectors = max(vectors + ?3, 0), stamp = random()";
    conn.prepare_cached(sql)?.execute([profile_no, class_no, change])?;
    Ok(())
}

/// Calls `each` with the vectors of a profile and a class in order of their chunks' numbers: with that number, and the
/// vector as it is stored.
///
/// # Errors
/// What `each` gives; [`Error::Damaged`] where a row holds no vector of the profile.
pub(crate) fn for_each(
    conn: &Connection,
    profile: &ProfileRow,
    class_no: i64,
    mut each: impl FnMut(i64, &[u8]) -> Result<()>,
) -> Result<()> {
    let sql = "SELECT chunk_no, vector FROM embeddings WHERE profile_no = ?1 AND chunk_no >= ?2 AND chunk_no < ?3 \
               ORDER BY chunk_no";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([profile.profile_no, first_chunk(class_no), first_chunk(class_no + 1)])?;
    while let Some(row) = rows.next()? {
        let chunk_no = row.get(0)?;
        let bytes = row.get_ref(1)?.as_blob().ok().filter(|bytes| bytes.len() == 4 * profile.profile.dimensions);
        let wrong = || Error::Damaged { detail: format!("the vector of chunk number {chunk_no} has a wrong length") };
        each(chunk_no, bytes.ok_or_else(wrong)?)?;
    }
    Ok(())
}

/// The vector of a chunk, as it is stored, if it is of what the chunk is now and the chunk can be evidence.
pub(crate) fn current(conn: &Connection, profile_no: i64, chunk_no: i64) -> Result<Option<Vec<u8>>> {
    let sql = "SELECT e.vector FROM embeddings e CROSS JOIN chunk_rows c USING (chunk_no) \
               WHERE e.profile_no = ?1 AND e.chunk_no = ?2 AND c.composition_digest = e.composition_digest \
               AND NOT c.heading_only AND c.unsafe_reason IS NULL";
    Ok(conn.prepare_cached(sql)?.query_row([profile_no, chunk_no], |row| row.get(0)).optional()?)
}

/// The chunks from `first` to `last` that have a vector of a profile, ascending.
pub(crate) fn numbers(conn: &Connection, profile_no: i64, first: i64, last: i64) -> Result<Vec<i64>> {
    let sql = "SELECT chunk_no FROM embeddings WHERE profile_no = ?1 AND chunk_no BETWEEN ?2 AND ?3 ORDER BY chunk_no";
    let mut statement = conn.prepare_cached(sql)?;
    let numbers = statement.query_map([profile_no, first, last], |row| row.get(0))?;
    Ok(numbers.collect::<rusqlite::Result<_>>()?)
}

/// The vector that a profile has of a composition.
///
/// # Errors
/// [`Error::Damaged`] where it is none of the profile.
pub(crate) fn of_composition(
    conn: &Connection,
    profile: &ProfileRow,
    composition: &[u8; 16],
) -> Result<Option<Vec<f32>>> {
    let sql = "SELECT vector FROM embeddings INDEXED BY embeddings_by_composition \
               WHERE composition_digest = ?1 AND profile_no = ?2 LIMIT 1";
    let mut statement = conn.prepare_cached(sql)?;
    let bytes: Option<Vec<u8>> =
        statement.query_row(params![composition, profile.profile_no], |row| row.get(0)).optional()?;
    let Some(bytes) = bytes else { return Ok(None) };
    let vector: Vec<f32> = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    match profile.profile.fault(&vector) {
        None => Ok(Some(vector)),
        Some(fault) => Err(Error::Damaged { detail: format!("embeddings has a vector {fault}") }),
    }
}

/// Stores the vector of a chunk, in place of another.
pub(crate) fn put(
    conn: &Connection,
    profile_no: i64,
    chunk_no: i64,
    composition: &[u8; 16],
    vector: &[f32],
) -> Result<()> {
    remove_of(conn, profile_no, chunk_no)?;
    let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
    let sql = "INSERT INTO embeddings (profile_no, chunk_no, composition_digest, vector) VALUES (?1, ?2, ?3, ?4)";
    conn.prepare_cached(sql)?.execute(params![profile_no, chunk_no, composition, bytes])?;
    note(conn, profile_no, class_of(chunk_no), 1)
}

/// Removes the vector that a profile has of a chunk.
fn remove_of(conn: &Connection, profile_no: i64, chunk_no: i64) -> Result<()> {
    let sql = "DELETE FROM embeddings WHERE profile_no = ?1 AND chunk_no = ?2";
    if conn.prepare_cached(sql)?.execute([profile_no, chunk_no])? > 0 {
        note(conn, profile_no, class_of(chunk_no), -1)?;
    }
    Ok(())
}

/// Whether there are any.
pub(crate) fn any(conn: &Connection) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM embedding_profiles)";
    Ok(conn.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// The number under which the vector of a chunk waits that is gone, until [`sweep`] ends the transaction.
const fn released(chunk_no: i64) -> i64 {
    -1 - chunk_no
}

/// A chunk is gone: its vectors wait for one that takes them over.
pub(super) fn release(conn: &Connection, chunk_no: i64) -> Result<()> {
    let left = move_vectors(conn, chunk_no, released(chunk_no))?;
    left.into_iter().try_for_each(|profile_no| note(conn, profile_no, class_of(chunk_no), -1))
}

/// A chunk has another number.
pub(super) fn renumber(conn: &Connection, chunk_no: i64, new: i64) -> Result<()> {
    for profile_no in move_vectors(conn, chunk_no, new)? {
        note(conn, profile_no, class_of(chunk_no), -1)?;
        note(conn, profile_no, class_of(new), 1)?;
    }
    Ok(())
}

/// Gives the vectors of a chunk to another number; returns their profiles.
fn move_vectors(conn: &Connection, chunk_no: i64, new: i64) -> Result<Vec<i64>> {
    let sql = "UPDATE embeddings SET chunk_no = ?2 WHERE chunk_no = ?1 \
               AND profile_no IN (SELECT profile_no FROM embedding_profiles) RETURNING profile_no";
    let mut statement = conn.prepare_cached(sql)?;
    let profiles = statement.query_map([chunk_no, new], |row| row.get(0))?;
    Ok(profiles.collect::<rusqlite::Result<_>>()?)
}

/// A new chunk takes over the vectors of one with the same composition, in its own class or `before` that chunk got its new
/// number: of other classes nothing may show here.
pub(crate) fn carry(conn: &Connection, chunk_no: i64, composition: &[u8; 16], before: Option<i64>) -> Result<()> {
    const OF: &str = "SELECT vector FROM embeddings WHERE composition_digest = ?2 AND profile_no = p.profile_no";
    let sql = format!(
        "INSERT INTO embeddings (profile_no, chunk_no, composition_digest, vector) \
         WITH known AS MATERIALIZED (SELECT profile_no, coalesce( \
         ({OF} AND chunk_no >= ?3 AND chunk_no < ?4 LIMIT 1), \
         ({OF} AND chunk_no > -1 - ?4 AND chunk_no <= -1 - ?3 LIMIT 1), \
         ({OF} AND chunk_no = ?5 LIMIT 1)) AS vector FROM embedding_profiles p) \
         SELECT profile_no, ?1, ?2, vector FROM known WHERE vector IS NOT NULL ON CONFLICT DO NOTHING RETURNING profile_no"
    );
    let (class_no, before) = (class_of(chunk_no), before.map(released));
    let mut statement = conn.prepare_cached(&sql)?;
    let range = (first_chunk(class_no), first_chunk(class_no + 1));
    let found = statement
        .query_map(params![chunk_no, composition, range.0, range.1, before], |row| row.get::<_, i64>(0))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    found.into_iter().try_for_each(|profile_no| note(conn, profile_no, class_no, 1))
}

/// Removes the vectors of chunks that are gone: at the end of a transaction that [`release`]d some.
pub(crate) fn sweep(conn: &Connection) -> Result<()> {
    let sql = "DELETE FROM embeddings WHERE profile_no IN (SELECT profile_no FROM embedding_profiles) AND chunk_no < 0";
    conn.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// What contradicts itself or the chunks, in words: vectors of chunks that are gone or are another composition now, and
/// sets with another number of vectors than they say.
pub(crate) fn contradictions(conn: &Connection) -> Result<Vec<String>> {
    let sql = "SELECT 'the vector of chunk number ' || e.chunk_no || ' is of no chunk that is as it was' \
               FROM embeddings e LEFT JOIN chunk_rows c USING (chunk_no) \
               WHERE c.chunk_no IS NULL OR c.composition_digest <> e.composition_digest OR c.heading_only \
               OR c.unsafe_reason IS NOT NULL \
               UNION ALL \
               SELECT 'the vector of chunk number ' || e.chunk_no || ' has a wrong length' \
               FROM embeddings e JOIN embedding_profiles p USING (profile_no) \
               WHERE octet_length(e.vector) <> 4 * p.dimensions \
               UNION ALL \
               SELECT 'embedding_sets has another number of vectors for access class ' || class_no FROM ( \
               SELECT profile_no, class_no, vectors FROM embedding_sets WHERE vectors > 0 \
               EXCEPT SELECT profile_no, chunk_no >> 32, count(*) FROM embeddings GROUP BY 1, 2) \
               UNION ALL \
               SELECT 'embedding_sets has no vectors for access class ' || (chunk_no >> 32) FROM embeddings e \
               WHERE NOT EXISTS (SELECT 1 FROM embedding_sets s WHERE s.profile_no = e.profile_no \
               AND s.class_no = e.chunk_no >> 32 AND s.vectors > 0) GROUP BY 1 \
               UNION ALL \
               SELECT count(*) || ' models are the one that searches use' FROM embedding_profiles WHERE state = 'ready' \
               HAVING count(*) > 1 \
               UNION ALL \
               SELECT 'the vector of chunk number ' || e.chunk_no || ' is of no model' FROM embeddings e \
               WHERE NOT EXISTS (SELECT 1 FROM embedding_profiles p WHERE p.profile_no = e.profile_no)";
    let mut statement = conn.prepare(sql)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

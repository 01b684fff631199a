//! Which of the stored vectors a question can be compared with.

use crate::error::{Error, Result};
use crate::model::{Digest, DigestBuilder, EmbeddingProfile};
use crate::store::Connection;
use crate::store::vectors::{self, ProfileRow, SetRow};

/// The profile that searches use, if it is the one that the question is embedded with. What else there is, is told to the
/// operator alone.
///
/// # Errors
/// [`Error::Refused`], as `profile_mismatch` where it is another, as `no_vectors` where there is none yet.
pub(crate) fn ready(conn: &Connection, wanted: &EmbeddingProfile, tells: bool) -> Result<ProfileRow> {
    let mut profiles = vectors::profiles(conn)?;
    match profiles.iter().position(|row| row.is_ready) {
        Some(at) if profiles[at].profile == *wanted => Ok(profiles.swap_remove(at)),
        Some(at) if tells => Err(mismatch(&profiles[at].profile, wanted)),
        Some(_) => Err(other(wanted)),
        None => Err(none(if tells { &profiles } else { &[] }, wanted)),
    }
}

fn mismatch(stored: &EmbeddingProfile, wanted: &EmbeddingProfile) -> Error {
    Error::Refused {
        code: "profile_mismatch",
        message: format!("the store's vectors are of {stored}; the question is embedded by {wanted}"),
        hint: format!("ask with {stored}, or run `ragdb embed` to make vectors of {wanted}"),
    }
}

fn other(wanted: &EmbeddingProfile) -> Error {
    Error::Refused {
        code: "profile_mismatch",
        message: format!("the store's vectors are not of {wanted}, which embeds the question"),
        hint: "ask whoever keeps the store for its model; --retriever bm25 needs none".into(),
    }
}

fn none(filling: &[ProfileRow], wanted: &EmbeddingProfile) -> Error {
    let message = match filling.last() {
        None => format!("the store has no vectors; the question is embedded by {wanted}"),
        Some(ProfileRow { profile, .. }) => format!(
            "the store's vectors of {profile} are not complete, and there are no others; the question is embedded by \
             {wanted}"
        ),
    };
    let hint = format!("run `ragdb embed` to its end, with {wanted}; --retriever bm25 needs no vectors");
    Error::Refused { code: "no_vectors", message, hint }
}

/// How many vectors of a profile there are in these classes.
pub(crate) fn count(conn: &Connection, profile: &ProfileRow, classes: &[i64]) -> Result<u64> {
    classes.iter().try_fold(0, |count, &class_no| Ok(count + vectors::set(conn, profile.profile_no, class_no)?.vectors))
}

/// The [`state`] of the vectors that a search would see which asks for this profile; `None` where it would see none.
pub(crate) fn stamps(conn: &Connection, wanted: &EmbeddingProfile, classes: &[i64]) -> Result<Option<Digest>> {
    let row = vectors::find(conn, wanted)?.filter(|row| row.is_ready);
    row.map(|row| state(conn, &row, classes)).transpose()
}

/// What names the vectors of a profile in these classes: another after each change of one of them.
pub(crate) fn state(conn: &Connection, profile: &ProfileRow, classes: &[i64]) -> Result<Digest> {
    let mut hash = DigestBuilder::new("ragdb vectors 1");
    for &class_no in classes {
        // A stamp is random, so it names its class too, whose number would tell how many others there are.
        let set = vectors::set(conn, profile.profile_no, class_no)?;
        if set != SetRow::default() {
            hash.number(set.stamp);
        }
    }
    Ok(hash.finish())
}

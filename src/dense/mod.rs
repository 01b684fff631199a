//! Exact search among vectors: every vector of the classes that are searched is compared with that of the question.
//!
//! Owns the kernel, the matrices that a store keeps in memory, and which stored profile a question can be compared with. It
//! knows chunk numbers and vectors, nothing of documents, texts or access; the SQL is in `store::vectors`. No row of a class
//! that is not searched is looked at.

mod best;
mod kept;
mod kernel;
mod profile;
#[cfg(test)]
mod tests;

use crate::error::Result;
use crate::index::{Callbacks, Scored};
use crate::store::Connection;
use crate::store::vectors::{self, ProfileRow, SetRow};

pub(crate) use best::best;
pub(crate) use kept::Kept;
pub(crate) use profile::{count, ready, stamps, state};

/// No two vectors have a cosine above this: 1, and what rounding and the length of a vector that is nearly 1 add. What
/// has, is not what its profile says.
const MOST_SIMILAR: f64 = 1.01;

/// A question to the vectors of one snapshot.
pub(crate) struct Query<'a> {
    /// What of the vectors is in memory already.
    pub kept: &'a Kept,
    /// The vectors that are searched.
    pub profile: &'a ProfileRow,
    /// The access classes that are searched, ascending.
    pub classes: &'a [i64],
    /// The question, of the same profile.
    pub vector: &'a [f32],
    /// The cosine that a chunk must reach.
    pub floor: f64,
}

/// Every chunk whose vector reaches the floor, with its cosine, in no order that means anything. The caller holds a read
/// transaction open.
///
/// # Errors
/// [`crate::Error::Damaged`] where vectors are not what their set and profile say.
pub(crate) fn near(conn: &Connection, query: &Query<'_>) -> Result<Vec<Scored>> {
    let mut found = Vec::new();
    for &class_no in query.classes {
        query.scan(conn, class_no, &mut found)?;
    }
    Ok(found)
}

/// The best `k` of these chunks, best first: by cosine, then by what `tie_key` says. `accept` is asked only about
/// chunks that would enter the result, and `tie_key` only about those of them whose row says that its vector is of what
/// the chunk is now.
///
/// # Errors
/// Whatever the callbacks return.
pub(crate) fn top_k(
    conn: &Connection,
    profile: &ProfileRow,
    near: Vec<Scored>,
    k: usize,
    callbacks: &mut Callbacks<'_>,
) -> Result<Vec<Scored>> {
    let Callbacks { accept, tie_key } = callbacks;
    // The row of a vector is read last: most filters know more cheaply.
    let mut accept = |chunk_no| Ok(accept(chunk_no)? && is_current(conn, profile, chunk_no)?);
    best(near, k, &mut Callbacks { accept: &mut accept, tie_key })
}

/// Whether a chunk may be shown for its vector: that is of what the chunk is now, and what its profile says.
fn is_current(conn: &Connection, profile: &ProfileRow, chunk_no: i64) -> Result<bool> {
    let Some(bytes) = vectors::current(conn, profile.profile_no, chunk_no)? else { return Ok(false) };
    let mut numbers = Vec::with_capacity(profile.profile.dimensions);
    kernel::decode(&bytes, &mut numbers);
    Ok(profile.profile.fault(&numbers).is_none())
}

impl Query<'_> {
    /// Adds the chunks of a class that reach the floor.
    fn scan(&self, conn: &Connection, class_no: i64, found: &mut Vec<Scored>) -> Result<()> {
        let set: SetRow = vectors::set(conn, self.profile.profile_no, class_no)?;
        if set.vectors == 0 {
            return Ok(());
        }
        let normalised = self.profile.profile.normalised;
        let own_length = if normalised { 1.0 } else { kernel::length(self.vector) };
        let mut offer = |chunk_no: i64, vector: &[f32], length: Option<f64>| {
            let product = f64::from(kernel::dot(self.vector, vector));
            let score = length.map_or(product, |length| product / (own_length * length));
            if score >= self.floor && score <= MOST_SIMILAR {
                found.push(Scored { chunk_no, score });
            }
        };
        if let Some(matrix) = self.kept.matrix(conn, self.profile, class_no, set)? {
            matrix.for_each(offer);
            return Ok(());
        }
        let mut vector = Vec::new();
        vectors::for_each(conn, self.profile, class_no, |chunk_no, bytes| {
            kernel::decode(bytes, &mut vector);
            offer(chunk_no, &vector, (!normalised).then(|| kernel::length(&vector)));
            Ok(())
        })
    }
}

//! What a long-lived store keeps in memory of its vectors: those of a class as one matrix.
//!
//! A set of vectors has a stamp, which is another after each change of it. So a matrix is kept under its profile, its class
//! and that stamp, as the snapshot of the search has them; what another stamp names is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::kernel;
use crate::error::{Error, Result};
use crate::store::Connection;
use crate::store::vectors::{self, ProfileRow, SetRow};

/// How many bytes are kept at most; a set that is larger is read by each search. In tests few are.
const MOST: usize = if cfg!(test) { 16 << 10 } else { 256 << 20 };

/// The vectors of all classes that were searched lately. Shared by threads.
#[derive(Default)]
pub(crate) struct Kept {
    matrices: Mutex<Matrices>,
    reading: Mutex<()>,
}

#[derive(Default)]
struct Matrices {
    /// By class, each with when it was last used.
    classes: HashMap<i64, (Arc<Matrix>, u64)>,
    uses: u64,
}

/// The vectors of a profile and a class, as they were at one stamp.
pub(super) struct Matrix {
    profile_no: i64,
    set: SetRow,
    dimensions: usize,
    /// The numbers of the chunks, ascending, whose vectors stand in `numbers` one behind the other.
    chunks: Vec<i64>,
    numbers: Vec<f32>,
    /// The length of each vector, where not all are 1.
    lengths: Vec<f64>,
}

impl Kept {
    /// The vectors of a class, whose set this is on the snapshot that is searched; `None` where there are too many to be kept.
    ///
    /// # Errors
    /// [`Error::Damaged`] where the set is not what it says.
    pub(super) fn matrix(
        &self,
        conn: &Connection,
        profile: &ProfileRow,
        class_no: i64,
        set: SetRow,
    ) -> Result<Option<Arc<Matrix>>> {
        let most = MOST / Matrix::bytes_a_vector(profile);
        if set.vectors > most as u64 {
            return Ok(None);
        }
        if let Some(known) = self.known(profile.profile_no, class_no, set) {
            return Ok(Some(known));
        }
        // One at a time: searches that wait here would each read the same.
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = self.known(profile.profile_no, class_no, set) {
            return Ok(Some(known));
        }
        let matrix = Arc::new(Matrix::read(conn, profile, class_no, set)?);
        self.keep(class_no, &matrix);
        Ok(Some(matrix))
    }

    /// The classes of which there is something.
    #[cfg(test)]
    pub(super) fn classes(&self) -> Vec<i64> {
        self.lock().classes.keys().copied().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Matrices> {
        self.matrices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self, profile_no: i64, class_no: i64, set: SetRow) -> Option<Arc<Matrix>> {
        let mut all = self.lock();
        all.uses += 1;
        let now = all.uses;
        let (matrix, used) = all.classes.get_mut(&class_no)?;
        let same = matrix.profile_no == profile_no && matrix.set == set;
        same.then(|| {
            *used = now;
            Arc::clone(matrix)
        })
    }

    /// Keeps a matrix in place of the one that its class had, and drops those that were not used for the longest time until
    /// there is room for it.
    fn keep(&self, class_no: i64, matrix: &Arc<Matrix>) {
        let mut all = self.lock();
        all.classes.remove(&class_no);
        while all.bytes() + matrix.bytes() > MOST {
            let oldest = all.classes.iter().min_by_key(|(_, (_, used))| *used).map(|(&class_no, _)| class_no);
            let Some(oldest) = oldest else { break };
            all.classes.remove(&oldest);
        }
        let now = all.uses;
        all.classes.insert(class_no, (Arc::clone(matrix), now));
    }
}

impl Matrices {
    fn bytes(&self) -> usize {
        self.classes.values().map(|(matrix, _)| matrix.bytes()).sum()
    }
}

impl Matrix {
    fn bytes_a_vector(profile: &ProfileRow) -> usize {
        let length = if profile.profile.normalised { 0 } else { size_of::<f64>() };
        size_of::<i64>() + size_of::<f32>() * profile.profile.dimensions + length
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.chunks) + size_of_val(&*self.numbers) + size_of_val(&*self.lengths)
    }

    fn read(conn: &Connection, profile: &ProfileRow, class_no: i64, set: SetRow) -> Result<Self> {
        let (dimensions, normalised) = (profile.profile.dimensions, profile.profile.normalised);
        let wrong = || Error::Damaged {
            detail: format!("embedding_sets has another number of vectors for access class {class_no}"),
        };
        let count = usize::try_from(set.vectors).map_err(|_| wrong())?;
        let mut matrix = Self {
            profile_no: profile.profile_no,
            set,
            dimensions,
            chunks: Vec::with_capacity(count),
            numbers: Vec::with_capacity(count * dimensions),
            lengths: Vec::with_capacity(if normalised { 0 } else { count }),
        };
        vectors::for_each(conn, profile, class_no, |chunk_no, bytes| {
            if matrix.chunks.len() == count {
                return Err(wrong());
            }
            matrix.chunks.push(chunk_no);
            kernel::append(bytes, &mut matrix.numbers);
            if !normalised {
                matrix.lengths.push(kernel::length(&matrix.numbers[matrix.numbers.len() - dimensions..]));
            }
            Ok(())
        })?;
        if matrix.chunks.len() == count { Ok(matrix) } else { Err(wrong()) }
    }

    /// Calls `each` with every chunk, its vector, and that vector's length where not all are 1.
    #[inline]
    pub(super) fn for_each(&self, mut each: impl FnMut(i64, &[f32], Option<f64>)) {
        for (at, (&chunk_no, vector)) in self.chunks.iter().zip(self.numbers.chunks_exact(self.dimensions)).enumerate()
        {
            each(chunk_no, vector, self.lengths.get(at).copied());
        }
    }
}

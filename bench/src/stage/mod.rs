//! The measurements, one function a stage; each gives rows.

mod access;
pub mod cold;
mod evidence;
mod memory;
mod queries;
mod readers;
mod sizes;
pub mod sync;

pub use memory::PEAK as PEAK_MEMORY;

use std::path::{Path, PathBuf};

use crate::chunk::FileChunks;
use crate::corpus::Scale;
use crate::measure::median;
use crate::peer::Peer;
use crate::report::Row;
use crate::subject::Subject;
use crate::{Result, floor};

/// How many hits are asked for.
const K: usize = 10;

/// What is measured, on what, with what.
pub struct Bench {
    /// Which corpus it is.
    pub scale: Scale,
    /// The scratch copy of the corpus.
    pub corpus: PathBuf,
    /// Where the databases go.
    pub scratch: PathBuf,
    /// The size of the corpus in bytes.
    pub markdown_bytes: u64,
    /// Its chunks.
    pub files: Vec<FileChunks>,
    /// ragdb.
    pub subject: Subject,
    /// ragdb's program, where there is one.
    pub binary: Option<PathBuf>,
    /// The others.
    pub peers: Vec<Box<dyn Peer>>,
    /// How often each measurement is repeated.
    pub rounds: usize,
    /// How many queries of each kind.
    pub queries: usize,
}

/// A stage's name, and the stage.
pub type Stage = (&'static str, fn(&mut Bench) -> Result<Vec<Row>>);

/// The stage that builds the indexes of all; where it is left out, somebody else has to.
pub const FIRST: &str = sync::FIRST;

/// The stages in order: the first makes the indexes that the others work on, and what changes the corpus comes last.
pub const STAGES: [Stage; 10] = [
    (FIRST, Bench::first_sync),
    ("memory", Bench::memory),
    ("sizes", Bench::sizes),
    ("queries", Bench::queries),
    ("access", Bench::access),
    ("cold", Bench::cold),
    ("evidence", Bench::evidence),
    ("no change", Bench::unchanged),
    ("changes", Bench::changed),
    ("readers", Bench::readers),
];

type Times = Vec<(String, Vec<f64>)>;

fn medians(times: Times) -> Vec<(String, f64)> {
    times.into_iter().map(|(name, rounds)| (name, median(&rounds))).collect()
}

/// Reads every file of a folder once, so that the first measurement finds the corpus in memory as the others do.
pub fn warm(corpus: &Path) -> Result<()> {
    floor::read_and_hash(corpus).map(drop)
}

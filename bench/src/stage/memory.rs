//! The memory of a first sync.

use super::Bench;
use crate::corpus::Scale;
use crate::measure::median;
use crate::process;
use crate::report::{Bar, Row};
use crate::{Result, subject};

/// What the row is called.
pub const PEAK: &str = "first sync, peak memory";

impl Bench {
    /// The most memory that the program has at once while it syncs the corpus into a new store.
    pub fn memory(&mut self) -> Result<Vec<Row>> {
        let Some(binary) = &self.binary else { return Ok(Vec::new()) };
        let mut peaks = Vec::new();
        for round in 0..self.rounds {
            let folder = tempfile::Builder::new().prefix("memory-").tempdir_in(&self.scratch)?;
            let database = folder.path().join(format!("{round}.db"));
            let arguments = ["--db".as_ref(), database.as_os_str(), "sync".as_ref(), self.corpus.as_os_str()];
            let usage =
                process::watched(binary, arguments.into_iter().chain(["--keep-going".as_ref(), "--quiet".as_ref()]))?;
            peaks.push(usage.peak as f64 / 1e6);
        }
        let bar = if self.scale == Scale::X { Some(Bar::AtMost(400.0)) } else { None };
        let figures = vec![(subject::NAME.to_owned(), median(&peaks))];
        Ok(vec![Row::new(PEAK, self.scale, "MB", figures, bar)])
    }
}

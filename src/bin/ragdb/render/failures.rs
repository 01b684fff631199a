//! Files that could not become documents.

use std::io::{self, Write};

use serde::Serialize;

use super::{Palette, Role, clean};

/// A file that failed, as JSON names it.
#[derive(Serialize)]
pub struct FailureView {
    source_id: String,
    path: String,
    code: String,
    message: String,
}

impl From<&ragdb::Failure> for FailureView {
    fn from(failure: &ragdb::Failure) -> Self {
        Self {
            source_id: failure.source_id.clone(),
            path: failure.path.clone(),
            code: failure.code.to_owned(),
            message: failure.message.clone(),
        }
    }
}

impl From<&ragdb::StoredFailure> for FailureView {
    fn from(failure: &ragdb::StoredFailure) -> Self {
        Self {
            source_id: failure.source_id.clone(),
            path: failure.path.clone(),
            code: failure.code.clone(),
            message: failure.message.clone(),
        }
    }
}

impl FailureView {
    /// Writes `path: code: message` on one line.
    pub fn write_line(&self, out: &mut dyn Write, palette: Palette) -> io::Result<()> {
        let (path, message) = (clean::one_line(&self.path), clean::one_line(&self.message));
        let code = palette.paint(Role::Warning, &self.code);
        writeln!(out, "{}: {code}: {message}", palette.paint(Role::Place, &path))
    }
}

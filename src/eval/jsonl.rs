//! Files of one record a line: every error names the file and the line. Blank lines and a byte-order mark at the start
//! are skipped.

use std::io::{self, BufRead};
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// The records of a file with one JSON value a line, with their line numbers.
pub(super) fn records<R: BufRead, T: DeserializeOwned>(
    reader: R,
    path: &Path,
) -> impl Iterator<Item = Result<(u64, T)>> + use<R, T> {
    let path = path.to_owned();
    lines(reader, &path).map(move |line| {
        let (number, line) = line?;
        let record = serde_json::from_str(&line).map_err(|error| invalid(&path, number, &json_message(&error)))?;
        Ok((number, record))
    })
}

/// The message of a JSON error without its position, which counts lines in the record; the column is kept.
fn json_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let (line, column) = (error.line(), error.column());
    let message = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    format!("{message} (column {column})")
}

/// The lines that are not blank, with their numbers; ends after the first error.
pub(super) fn lines<R: BufRead>(mut reader: R, path: &Path) -> impl Iterator<Item = Result<(u64, String)>> + use<R> {
    let path = path.to_owned();
    let mut number = 0;
    let mut failed = false;
    std::iter::from_fn(move || {
        while !failed {
            number += 1;
            let mut line = String::new();
            match reader.read_line(&mut line) {
                Ok(0) => return None,
                Ok(_) => {
                    let text = if number == 1 { line.trim_start_matches('\u{feff}') } else { &line };
                    if !text.trim().is_empty() {
                        return Some(Ok((number, text.trim_end_matches(['\r', '\n']).to_owned())));
                    }
                }
                Err(error) => {
                    failed = true;
                    return Some(Err(match error.kind() {
                        io::ErrorKind::InvalidData => invalid(&path, number, "the line is not UTF-8"),
                        _ => Error::io(&path, error),
                    }));
                }
            }
        }
        None
    })
}

/// An error about a line.
pub(super) fn invalid(path: &Path, line: u64, message: &str) -> Error {
    Error::Invalid { message: format!("{}:{line}: {message}", path.display()) }
}

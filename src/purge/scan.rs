//! The proof of a purge: the bytes of files, searched for what was removed.
//!
//! This opens the store's files with something else than SQLite. Closing such a descriptor gives up the locks that
//! SQLite holds on them in the same process: it is for a process in which the store is not open.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use aho_corasick::AhoCorasick;

use super::RemovedText;
use super::text::automaton;
use crate::error::{Error, Result};
use crate::store::connect;

/// So many places are named; all are counted.
const NAMED_AT_MOST: usize = 20;
/// How much of a file is looked at at once.
const WINDOW: usize = 1 << 20;
/// How much of it is looked at again with what follows: more than the longest text that is looked for.
const OVERLAP: usize = 4 << 10;

/// What was found, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// The files that were searched, with their sizes.
    pub files: Vec<(PathBuf, u64)>,
    /// The first places where something was found: 20 at most.
    pub found: Vec<FoundText>,
    /// How many places there are.
    pub places: u64,
}

/// A place where something that was removed still stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundText {
    /// The file.
    pub file: PathBuf,
    /// About which byte, from 0.
    pub offset: u64,
    /// Whether it is a line; else it is a word.
    pub is_line: bool,
}

impl RemovedText {
    /// Searches the bytes of the store at `store`, of its log and of other files for the text, in any case.
    ///
    /// **The store must not be open in this process**: SQLite's locks on its files would be lost.
    ///
    /// # Errors
    /// [`Error::Io`] where a file can't be read. A log that is not there is no error.
    pub fn look_for(&self, store: &Path, also: &[PathBuf]) -> Result<Proof> {
        let automaton = automaton(self.lines.iter().chain(&self.words))?;
        let mut proof = Proof::default();
        let own = connect::own_files(store);
        for (index, path) in own.iter().chain(also).enumerate() {
            let file = match File::open(path) {
                Err(error) if error.kind() == ErrorKind::NotFound && (1..own.len()).contains(&index) => continue,
                other => other.map_err(|error| Error::io(path, error))?,
            };
            let size = self.search(path, file, &automaton, &mut proof).map_err(|error| Error::io(path, error))?;
            proof.files.push((path.clone(), size));
        }
        Ok(proof)
    }

    /// Searches one file and returns its size.
    fn search(
        &self,
        path: &Path,
        mut file: impl Read,
        automaton: &AhoCorasick,
        proof: &mut Proof,
    ) -> std::io::Result<u64> {
        let mut window: Vec<u8> = Vec::with_capacity(WINDOW + OVERLAP);
        // Where the window begins in the file, and how much of it was searched before.
        let (mut start, mut seen) = (0_u64, 0);
        loop {
            let read = file.by_ref().take(WINDOW as u64).read_to_end(&mut window)?;
            let (folded, places) = folded(&window);
            for found in automaton.find_overlapping_iter(&folded) {
                let (from, to) = (origin(&places, found.start()), origin(&places, found.end()));
                if to <= seen {
                    continue;
                }
                proof.places += 1;
                if proof.found.len() < NAMED_AT_MOST {
                    let is_line = found.pattern().as_usize() < self.lines.len();
                    proof.found.push(FoundText { file: path.to_owned(), offset: start + from as u64, is_line });
                }
            }
            if read == 0 {
                return Ok(start + window.len() as u64);
            }
            let done = window.len().saturating_sub(OVERLAP);
            window.drain(..done);
            (start, seen) = (start + done as u64, window.len());
        }
    }
}

/// The text in some bytes, in lower case, with a zero wherever they are no text; and from which byte each stretch of it
/// comes.
fn folded(bytes: &[u8]) -> (String, Vec<(usize, usize)>) {
    let (mut text, mut places, mut at) = (String::with_capacity(bytes.len()), Vec::new(), 0);
    for chunk in bytes.utf8_chunks() {
        places.push((text.len(), at));
        text.extend(chunk.valid().chars().flat_map(char::to_lowercase));
        at += chunk.valid().len();
        if !chunk.invalid().is_empty() {
            text.push('\0');
            at += chunk.invalid().len();
        }
    }
    (text, places)
}

/// From about which byte a place of the text comes.
fn origin(places: &[(usize, usize)], place: usize) -> usize {
    let stretch = places.partition_point(|&(start, _)| start <= place).saturating_sub(1);
    places.get(stretch).map_or(place, |&(start, at)| at + (place - start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(removed: &RemovedText, bytes: &[u8]) -> Vec<(u64, bool)> {
        let automaton = automaton(removed.lines.iter().chain(&removed.words)).unwrap();
        let mut proof = Proof::default();
        let size = removed.search(Path::new("f"), bytes, &automaton, &mut proof).unwrap();
        assert_eq!(size, bytes.len() as u64);
        assert_eq!(proof.places, proof.found.len() as u64);
        proof.found.iter().map(|found| (found.offset, found.is_line)).collect()
    }

    #[test]
    fn texts_are_found_in_any_case_between_other_bytes() {
        let removed =
            RemovedText {
                lines: vec!["äpfel und birnen".into()], words: vec!["канарей".into()], ..Default::default()
            };
        let mut bytes = b"\xff\x00\x80abc".to_vec();
        bytes.extend("ÄPFEL und Birnen\u{0}КаНаРеЙкА".as_bytes());
        assert_eq!(found(&removed, &bytes), [(6, true), (24, false)]);
        assert_eq!(found(&removed, b"\xff\xfe"), []);
        assert_eq!(found(&removed, b""), []);
    }

    #[test]
    fn each_place_counts_once_wherever_a_window_ends() {
        let removed = RemovedText { words: vec!["zebrafish".into()], ..Default::default() };
        for shift in [0, 1, 5, 8, 9] {
            let mut bytes = vec![b'.'; 2 * WINDOW + 100];
            for at in [0, WINDOW - shift, WINDOW - OVERLAP - shift, 2 * WINDOW - shift] {
                bytes[at..at + 9].copy_from_slice(b"ZebraFish");
            }
            assert_eq!(found(&removed, &bytes).len(), 4, "{shift}");
        }
    }
}

//! The proof of a purge. The store's files may be opened as files only by a process in which the store is not open, so
//! this program starts itself again, and tells that process on its standard input what to look for.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ragdb::{Error, PurgeReport, RemovedText};
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::counted;

/// What the other process is told.
#[derive(Serialize, Deserialize)]
struct Order {
    lines: Vec<String>,
    words: Vec<String>,
    store: PathBuf,
    also: Vec<PathBuf>,
}

/// What it answers.
#[derive(Serialize, Deserialize)]
struct Answer {
    files: Vec<FileView>,
    found: Vec<FoundView>,
    places: u64,
}

/// A file that was searched.
#[derive(Serialize, Deserialize)]
pub struct FileView {
    path: String,
    bytes: u64,
}

/// A place where something still stands.
#[derive(Serialize, Deserialize)]
pub struct FoundView {
    /// The file.
    pub file: String,
    /// About which byte.
    pub offset: u64,
    /// `line` or `word`.
    pub what: String,
}

/// What was looked for, where, and what came of it.
#[derive(Serialize)]
pub struct ProofView {
    /// Whether there was something to look for, nothing was found, and the log is empty.
    pub proved: bool,
    lines: u64,
    words: u64,
    lines_elsewhere: u64,
    words_elsewhere: u64,
    words_in_records: u64,
    words_too_short: u64,
    files: Vec<FileView>,
    /// Where something still stands.
    pub found: Vec<FoundView>,
    places: u64,
}

impl ProofView {
    /// The outcome in words.
    pub fn sentence(&self) -> String {
        let (lines, words) = (counted(self.lines, "line"), counted(self.words, "word"));
        let files = counted(self.files.len() as u64, "file");
        match (self.lines + self.words, self.places) {
            (0, _) => {
                "there was nothing to look for: neither the store nor the source file has a word of its own of it"
                    .into()
            }
            (_, 0) if !self.proved => format!("{lines} and {words} stand nowhere in {files}, but the log is not empty"),
            (_, 0) => format!("{lines} and {words} stand nowhere in {files}"),
            (_, places) => format!("of {lines} and {words}, something stands in {}", counted(places, "place")),
        }
    }

    /// What was not looked for.
    pub fn limits(&self) -> String {
        format!(
            "not looked for: {} and {} that stand elsewhere too, {} of recorded questions or answers, {} too short",
            counted(self.lines_elsewhere, "line"),
            counted(self.words_elsewhere, "word"),
            counted(self.words_in_records, "word"),
            counted(self.words_too_short, "word"),
        )
    }
}

/// Has another process search the files of the store at `store`, which is closed, and others.
pub fn of(report: &PurgeReport, store: &Path, also: &[PathBuf]) -> Result<ProofView, Stop> {
    let RemovedText { lines, words, lines_elsewhere, words_elsewhere, words_in_records, words_too_short } =
        report.removed.clone();
    let (line_count, word_count) = (lines.len() as u64, words.len() as u64);
    let here = std::env::current_dir().map_err(|source| Error::Io { path: ".".into(), source })?;
    let also = also.iter().map(|file| here.join(file)).collect();
    let Answer { files, found, places } = ask(&Order { lines, words, store: store.to_owned(), also })?;
    Ok(ProofView {
        proved: places == 0 && line_count + word_count > 0 && report.log_is_empty,
        lines: line_count,
        words: word_count,
        lines_elsewhere,
        words_elsewhere,
        words_in_records,
        words_too_short,
        files,
        found,
        places,
    })
}

fn ask(order: &Order) -> Result<Answer, Stop> {
    let failed = |what: String| -> Stop {
        Error::Refused {
            code: "proof_failed",
            message: format!("the document was purged; whether its text is gone could not be looked at: {what}"),
            hint: "the purge is done and stays so; run the same command once more for the proof: while the source file is as \
                   it was, it says what to look for"
                .into(),
        }
        .into()
    };
    let io = |error: io::Error| failed(error.to_string());
    let program = std::env::current_exe().map_err(io)?;
    let mut child = Command::new(program)
        .args(["look-for", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(io)?;
    let order = serde_json::to_vec(order).map_err(|error| failed(error.to_string()))?;
    let mut input = child.stdin.take();
    // It answers only when it has read all of it.
    let written = input.as_mut().map_or(Ok(()), |input| input.write_all(&order));
    drop(input);
    let output = child.wait_with_output().map_err(io)?;
    written.map_err(io)?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| failed(String::from_utf8_lossy(&output.stdout).trim().to_owned()))
}

/// The other process.
pub fn look(context: &mut Context) -> Result<Outcome, Stop> {
    let mut input = Vec::new();
    io::stdin().lock().read_to_end(&mut input).map_err(|source| Error::Io { path: "standard input".into(), source })?;
    let order: Order =
        serde_json::from_slice(&input).map_err(|error| Stop::Usage(format!("standard input says nothing: {error}")))?;
    let removed = RemovedText { lines: order.lines, words: order.words, ..RemovedText::default() };
    let proof = removed.look_for(&order.store, &order.also)?;
    let files = proof.files.into_iter().map(|(path, bytes)| FileView { path: path.display().to_string(), bytes });
    let found = proof.found.into_iter().map(|found| FoundView {
        file: found.file.display().to_string(),
        offset: found.offset,
        what: if found.is_line { "line" } else { "word" }.into(),
    });
    let answer = Answer { files: files.collect(), found: found.collect(), places: proof.places };
    let json = serde_json::to_vec(&answer).map_err(|error| Stop::Output(error.into()))?;
    context.print_exact(&json)?;
    Ok(Outcome::Done)
}

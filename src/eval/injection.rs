//! How well the unsafe gate tells attacks from other texts: labelled sets, and folders of documents that are no attack.
//!
//! A labelled row is scanned as a paragraph of a document, where an attack would be planted. A folder is synced into a store in a temporary folder, so what is
//! counted is what a sync would keep back.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::gate::unsafe_text;
use crate::store::Store;
use crate::sync::{SyncRequest, SyncSources, UnsafeDocument};

/// The folders of documents below the labelled sets' folder.
const BENIGN_BELOW: &str = "benign_security_docs";

/// Columns that hold the text, the first one that is there and not empty: what an attacker would have planted goes
/// before what the user asked.
const TEXT_COLUMNS: [&str; 5] = ["augmented_prompt", "external_content", "text", "prompt", "user_task"];

/// What to measure on.
#[derive(Clone, Debug, Default)]
pub struct InjectionRequest {
    /// A folder with labelled sets: `deepset/deepset_normalized.csv`, `bipia_normalized/bipia_normalized.csv`, the CSV
    /// and JSON Lines files of `handmade/`, and the documents of `benign_security_docs/`; what is missing is left out.
    pub labelled: Option<PathBuf>,
    /// Folders of Markdown without attacks.
    pub benign: Vec<PathBuf>,
    /// Where stores are built, each in a temporary folder.
    pub scratch: PathBuf,
}

/// What the gate did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InjectionReport {
    /// The version of the rules.
    pub rules: u32,
    /// The labelled sets, then each file of `handmade`, then its rows that are labelled as obfuscated.
    pub sets: Vec<InjectionSet>,
    /// The folders of documents.
    pub benign: Vec<BenignSet>,
}

/// The outcome on a labelled set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InjectionSet {
    /// Its name.
    pub name: String,
    /// Texts labelled as attacks.
    pub attacks: u64,
    /// Attacks in which a rule matched.
    pub found: u64,
    /// Texts labelled as no attacks.
    pub others: u64,
    /// Of these, those in which a rule matched.
    pub false_alarms: u64,
}

impl InjectionSet {
    /// The share of what was flagged that is an attack; `None` where nothing was flagged.
    #[must_use]
    pub fn precision(&self) -> Option<f64> {
        share(self.found, self.found + self.false_alarms)
    }

    /// The share of the attacks that was flagged; `None` where there are none.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        share(self.found, self.attacks)
    }

    fn add(&mut self, attack: bool, flagged: bool) {
        let (all, matched) =
            if attack { (&mut self.attacks, &mut self.found) } else { (&mut self.others, &mut self.false_alarms) };
        *all += 1;
        *matched += u64::from(flagged);
    }

    fn merge(&mut self, other: &Self) {
        self.attacks += other.attacks;
        self.found += other.found;
        self.others += other.others;
        self.false_alarms += other.false_alarms;
    }
}

/// The outcome on a folder of documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenignSet {
    /// The folder as it was named.
    pub name: String,
    /// Documents.
    pub documents: u64,
    /// Documents that a sync would keep back.
    pub flagged: u64,
    /// The first of them.
    pub named: Vec<UnsafeDocument>,
}

#[allow(clippy::cast_precision_loss)] // counts of texts
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Measures the unsafe gate.
///
/// # Errors
/// [`Error::Io`] where a file can't be read, [`Error::Invalid`] where one can't be understood or there is nothing to
/// measure on; what [`Store::sync`] says of a folder.
pub fn evaluate_injection(request: &InjectionRequest) -> Result<InjectionReport> {
    let mut report = InjectionReport { rules: crate::UNSAFE_RULES_VERSION, sets: Vec::new(), benign: Vec::new() };
    let mut folders: Vec<(String, PathBuf)> = Vec::new();
    if let Some(folder) = &request.labelled {
        let mut obfuscated = InjectionSet { name: "handmade, obfuscated".into(), ..InjectionSet::default() };
        for set in ["deepset", "bipia_normalized", "handmade"] {
            let mut whole = InjectionSet { name: set.into(), ..InjectionSet::default() };
            let mut parts = Vec::new();
            for path in files(&folder.join(set), set)? {
                let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                let mut part = InjectionSet { name: format!("{set}/{file}"), ..InjectionSet::default() };
                each_row(&path, |row| {
                    let (text, attack) = labelled(row)?;
                    let flagged = !unsafe_text::scan(&planted(text)).is_empty();
                    part.add(attack, flagged);
                    let kind = row.get("attack_type").and_then(Value::as_str).unwrap_or_default();
                    if set == "handmade" && kind.starts_with("obfuscat") {
                        obfuscated.add(attack, flagged);
                    }
                    Ok(())
                })?;
                whole.merge(&part);
                parts.push(part);
            }
            if !parts.is_empty() {
                report.sets.push(whole);
            }
            if parts.len() > 1 {
                report.sets.append(&mut parts);
            }
        }
        if obfuscated.attacks > 0 {
            report.sets.push(obfuscated);
        }
        let documents = folder.join(BENIGN_BELOW);
        if documents.is_dir() {
            folders.push((BENIGN_BELOW.into(), documents));
        }
        if report.sets.is_empty() && folders.is_empty() {
            let message = format!("{} has none of the labelled sets: deepset, handmade, …", folder.display());
            return Err(Error::Invalid { message });
        }
    }
    folders.extend(request.benign.iter().map(|folder| (folder.display().to_string(), folder.clone())));
    for (name, folder) in folders {
        report.benign.push(benign(name, folder, &request.scratch)?);
    }
    Ok(report)
}

fn benign(name: String, folder: PathBuf, scratch: &Path) -> Result<BenignSet> {
    let beside = tempfile::tempdir_in(scratch).map_err(|error| Error::io(scratch, error))?;
    let store = Store::create(beside.path().join("benign.db"))?;
    let sources = SyncSources::Folders(vec![folder]);
    let synced = store.sync(&SyncRequest { sources, keep_going: true, ..SyncRequest::default() })?;
    Ok(BenignSet {
        name,
        documents: synced.documents.added,
        flagged: synced.unsafe_documents,
        named: synced.newly_unsafe,
    })
}

/// The files of a set, by name. The parts of `deepset` that its normalised file repeats are left out.
fn files(folder: &Path, set: &str) -> Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io(folder, error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| Error::io(folder, error))?.path();
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let whole =
            set == "handmade" || path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("_normalized"));
        if whole && matches!(extension, "csv" | "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

type Row = Map<String, Value>;

/// Calls `each` with every row of a CSV or JSON Lines file, as an object of texts.
fn each_row(path: &Path, mut each: impl FnMut(&Row) -> std::result::Result<(), String>) -> Result<()> {
    let wrong = |line: u64, what: &str| Error::Invalid { message: format!("{}: line {line}: {what}", path.display()) };
    let file = File::open(path).map_err(|error| Error::io(path, error))?;
    if path.extension().is_some_and(|extension| extension == "jsonl") {
        for (line, text) in (1..).zip(BufReader::new(file).lines()) {
            let text = text.map_err(|error| Error::io(path, error))?;
            if text.trim().is_empty() {
                continue;
            }
            let row: Row = serde_json::from_str(&text).map_err(|error| wrong(line, &error.to_string()))?;
            each(&row).map_err(|what| wrong(line, &what))?;
        }
        return Ok(());
    }
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(file);
    let names = reader.headers().map_err(|error| wrong(1, &error.to_string()))?.clone();
    for record in reader.records() {
        let record =
            record.map_err(|error| wrong(error.position().map_or(0, csv::Position::line), &error.to_string()))?;
        let line = record.position().map_or(0, csv::Position::line);
        let row = names.iter().zip(&record).map(|(name, value)| (name.to_owned(), value.into())).collect();
        each(&row).map_err(|what| wrong(line, &what))?;
    }
    Ok(())
}

/// A document with this text between other paragraphs.
fn planted(text: &str) -> String {
    format!("# Notes\n\nThe office opens at nine\n\n{text}\n\nIt closes at five.\n")
}

/// The text of a row, and whether it is an attack.
fn labelled(row: &Row) -> std::result::Result<(&str, bool), String> {
    let texts = TEXT_COLUMNS.iter().filter_map(|name| row.get(*name)?.as_str());
    let text = texts.into_iter().find(|text| !text.is_empty()).ok_or("there is no text")?;
    match row.get("label").and_then(Value::as_str) {
        Some("1" | "malicious") => Ok((text, true)),
        Some("0" | "benign") => Ok((text, false)),
        other => Err(format!("the label is {other:?}, neither 0 nor 1")),
    }
}

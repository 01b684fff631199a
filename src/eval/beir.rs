//! Folders in BEIR's layout: `corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv`.
//!
//! Parsing works on any buffered reader, a line at a time, and never holds the corpus. Every error names the file
//! and the line. Blank lines and a byte-order mark at the start are skipped; other fields of a record are ignored.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::jsonl::{invalid, lines, records};
use super::metrics::Judgements;
use crate::error::{Error, Result};

/// A document of `corpus.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct BeirDocument {
    /// The id that the judgements use.
    #[serde(rename = "_id")]
    pub(crate) id: String,
    /// The title; empty where there is none.
    #[serde(default)]
    pub(crate) title: String,
    /// The body.
    pub(crate) text: String,
}

/// A query of `queries.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct BeirQuery {
    /// The id that the judgements use.
    #[serde(rename = "_id")]
    pub(crate) id: String,
    /// The question as it is asked.
    pub(crate) text: String,
}

/// A folder in BEIR's layout.
pub(crate) struct BeirFolder(PathBuf);

impl BeirFolder {
    /// Names a folder; its files are opened when they are asked for.
    pub(crate) fn new(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// The documents of `corpus.jsonl`, one at a time. That ids are unique is left to whoever stores them.
    pub(crate) fn documents(&self) -> Result<impl Iterator<Item = Result<BeirDocument>> + use<>> {
        let (path, reader) = self.open("corpus.jsonl")?;
        Ok(documents(reader, &path))
    }

    /// The queries of `queries.jsonl`.
    pub(crate) fn queries(&self) -> Result<Vec<BeirQuery>> {
        let (path, reader) = self.open("queries.jsonl")?;
        queries(reader, &path)
    }

    /// The judgements of `qrels/test.tsv` by query id.
    pub(crate) fn judgements(&self) -> Result<BTreeMap<String, Judgements>> {
        let (path, reader) = self.open("qrels/test.tsv")?;
        judgements(reader, &path)
    }

    fn open(&self, name: &str) -> Result<(PathBuf, BufReader<File>)> {
        let path = self.0.join(name);
        let file = File::open(&path).map_err(|e| Error::io(&path, e))?;
        Ok((path, BufReader::new(file)))
    }
}

/// The documents in a reader over `corpus.jsonl`.
pub(crate) fn documents<R: BufRead>(reader: R, path: &Path) -> impl Iterator<Item = Result<BeirDocument>> + use<R> {
    records(reader, path).map(|record| record.map(|(_, document)| document))
}

/// The queries in a reader over `queries.jsonl`. An id that comes twice is an error.
pub(crate) fn queries(reader: impl BufRead, path: &Path) -> Result<Vec<BeirQuery>> {
    let mut seen = HashSet::new();
    records(reader, path)
        .map(|record| {
            let (line, query): (_, BeirQuery) = record?;
            let fresh = seen.insert(query.id.clone());
            if fresh { Ok(query) } else { Err(invalid(path, line, &format!("query {:?} comes twice", query.id))) }
        })
        .collect()
}

const QRELS_HEADER: [&str; 3] = ["query-id", "corpus-id", "score"];

/// The judgements in a reader over a qrels file: a header, then query id, document id and grade between tabs. Two
/// grades for one query and document are an error.
pub(crate) fn judgements(reader: impl BufRead, path: &Path) -> Result<BTreeMap<String, Judgements>> {
    let mut lines = lines(reader, path);
    let (first, header) = lines.next().transpose()?.unwrap_or((1, String::new()));
    if !header.trim().split('\t').eq(QRELS_HEADER) {
        let message = format!("expected the header {:?}", QRELS_HEADER.join("\t"));
        return Err(invalid(path, first, &message));
    }
    let mut all: BTreeMap<String, Judgements> = BTreeMap::new();
    for line in lines {
        let (number, line) = line?;
        let (query, document, grade) = judgement(&line).map_err(|message| invalid(path, number, &message))?;
        if !all.entry(query.to_owned()).or_default().insert(document.to_owned(), grade) {
            return Err(invalid(path, number, &format!("query {query:?} has two grades for {document:?}")));
        }
    }
    Ok(all)
}

fn judgement(line: &str) -> std::result::Result<(&str, &str, i64), String> {
    let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
    let [query, document, grade] = fields[..] else {
        return Err(format!("expected 3 fields between tabs, found {}", fields.len()));
    };
    if query.is_empty() || document.is_empty() {
        return Err("a query id or document id is empty".into());
    }
    let grade = grade.parse().map_err(|_| format!("the grade {grade:?} is not a whole number"))?;
    Ok((query, document, grade))
}

#[cfg(test)]
mod tests;

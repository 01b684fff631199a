//! Labelled claims: reads climate-fever, scifact-claims, pairs of one's own, and the sentences of Markdown files,
//! into one form.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Label;
use crate::error::{Error, Result};
use crate::eval::beir::BeirDocument;
use crate::eval::jsonl;
use crate::eval::mutate::Mutation;
use crate::gate::claim;

/// A claim, what is cited for it, and what people said of the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) id: String,
    pub(super) claim: String,
    pub(super) text: String,
    /// The quote; `None` where the text is cited as a whole.
    pub(super) quote: Option<String>,
    pub(super) label: Label,
}

/// Pairs that belong together.
#[derive(Clone, Debug, Default)]
pub(super) struct PairSet {
    pub(super) name: String,
    pub(super) pairs: Vec<Pair>,
    /// Rows that could not be used: their evidence is not in the files.
    pub(super) skipped: usize,
}

/// Every set that the folder has.
pub(super) fn sets(folder: &Path, abstracts: Option<&Path>) -> Result<Vec<PairSet>> {
    let mut sets = Vec::new();
    let own = folder.join("pairs.jsonl");
    if own.is_file() {
        sets.push(own_pairs(&own)?);
    }
    let files = markdown(folder)?;
    if !files.is_empty() {
        sets.extend(sentences(&files));
    }
    let climate = folder.join("climate-fever/climate-fever.jsonl");
    if climate.is_file() {
        sets.extend(climate_fever(&climate)?);
    }
    let scifact = folder.join("scifact-claims");
    if let (true, Some(abstracts)) = (scifact.is_dir(), abstracts) {
        let documents = documents(abstracts)?;
        for split in ["train", "validation"] {
            let path = scifact.join(format!("claims_{split}.csv"));
            if path.is_file() {
                sets.extend(scifact_claims(&path, split, &documents)?);
            }
        }
    }
    Ok(sets)
}

fn open(path: &Path) -> Result<BufReader<File>> {
    File::open(path).map(BufReader::new).map_err(|error| Error::io(path, error))
}

fn records<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    jsonl::records(open(path)?, path).map(|record| record.map(|(_, record)| record)).collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnPair {
    #[serde(default)]
    id: Option<String>,
    claim: String,
    text: String,
    #[serde(default)]
    quote: Option<String>,
    label: Label,
}

fn own_pairs(path: &Path) -> Result<PairSet> {
    let rows: Vec<OwnPair> = records(path)?;
    let pairs = rows.into_iter().enumerate().map(|(index, row)| Pair {
        id: row.id.unwrap_or_else(|| (index + 1).to_string()),
        claim: row.claim,
        text: row.text,
        quote: row.quote,
        label: row.label,
    });
    Ok(PairSet { name: "pairs".into(), pairs: pairs.collect(), skipped: 0 })
}

/// The Markdown files below a folder, in order.
fn markdown(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in ignore::WalkBuilder::new(folder).standard_filters(false).sort_by_file_path(Ord::cmp).build() {
        let entry = entry.map_err(|error| Error::Invalid { message: error.to_string() })?;
        let markdown = entry.path().extension().is_some_and(|extension| extension == "md");
        if markdown && entry.file_type().is_some_and(|kind| kind.is_file()) {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}

/// No more sentences of a folder are taken.
const MOST_SENTENCES: usize = 20_000;

/// Each sentence of a folder's files as a claim of its own, as it stands and broken in each way that applies to it.
fn sentences(files: &[PathBuf]) -> Vec<PairSet> {
    let set = |name: String| PairSet { name, ..PairSet::default() };
    let mut whole = set("sentences as they stand".to_owned());
    let broken = Mutation::ALL.map(|mutation| (mutation, set(format!("sentences, {} changed", mutation.as_str()))));
    let mut broken = Vec::from(broken);
    for file in files {
        let Ok(text) = std::fs::read_to_string(file) else {
            whole.skipped += 1;
            continue;
        };
        for (index, range) in claim::sentences(&text).into_iter().enumerate() {
            let sentence = &text[range];
            if whole.pairs.len() == MOST_SENTENCES || !claim::is_claim(sentence) {
                continue;
            }
            let pair = |claim: String, label: Label| Pair {
                id: format!("{} {index}", file.display()),
                claim,
                text: sentence.to_owned(),
                quote: Some(sentence.to_owned()),
                label,
            };
            whole.pairs.push(pair(sentence.to_owned(), Label::Supports));
            for (mutation, set) in &mut broken {
                let claim = mutation.of_claim(sentence);
                set.pairs.extend(claim.map(|claim| pair(claim, Label::Refutes)));
            }
        }
    }
    let broken = broken.into_iter().map(|(_, set)| set).filter(|set| !set.pairs.is_empty());
    std::iter::once(whole).chain(broken).collect()
}

#[derive(Deserialize)]
struct ClimateClaim {
    claim_id: String,
    claim: String,
    evidences: Vec<ClimateEvidence>,
}

#[derive(Deserialize)]
struct ClimateEvidence {
    evidence_id: String,
    evidence_label: Label,
    evidence: String,
}

/// Two halves by the claim's number: the set has no split of its own, and the rules were looked at on the even half.
fn climate_fever(path: &Path) -> Result<[PairSet; 2]> {
    let claims: Vec<ClimateClaim> = records(path)?;
    let mut halves =
        ["climate-fever even", "climate-fever odd"].map(|name| PairSet { name: name.into(), ..PairSet::default() });
    for claim in claims {
        let odd = claim.claim_id.bytes().last().is_some_and(|digit| digit % 2 == 1);
        halves[usize::from(odd)].pairs.extend(claim.evidences.into_iter().map(|evidence| Pair {
            id: format!("{} {}", claim.claim_id, evidence.evidence_id),
            claim: claim.claim.clone(),
            quote: Some(evidence.evidence.clone()),
            text: evidence.evidence,
            label: evidence.evidence_label,
        }));
    }
    Ok(halves)
}

#[derive(Deserialize)]
struct Abstract {
    #[serde(flatten)]
    document: BeirDocument,
    #[serde(default)]
    metadata: AbstractFacts,
}

#[derive(Default, Deserialize)]
struct AbstractFacts {
    #[serde(default)]
    sentences: Option<usize>,
}

fn documents(path: &Path) -> Result<HashMap<String, (String, Option<usize>)>> {
    let rows: Vec<Abstract> = records(path)?;
    Ok(rows.into_iter().map(|row| (row.document.id, (row.document.text, row.metadata.sentences))).collect())
}

#[derive(Deserialize)]
struct ScifactRow {
    id: String,
    claim: String,
    evidence_doc_id: String,
    evidence_label: String,
    evidence_sentences: String,
    cited_doc_ids: String,
}

/// Two sets of one split: each sentence of a rationale as a quote, and whole abstracts without a quote.
fn scifact_claims(
    path: &Path,
    split: &str,
    documents: &HashMap<String, (String, Option<usize>)>,
) -> Result<[PairSet; 2]> {
    let mut quoted = PairSet { name: format!("scifact {split}, sentence quoted"), ..PairSet::default() };
    let mut whole = PairSet { name: format!("scifact {split}, abstract"), ..PairSet::default() };
    let invalid = |error: csv::Error| Error::Invalid { message: format!("{}: {error}", path.display()) };
    for row in csv::Reader::from_reader(open(path)?).into_deserialize() {
        let row: ScifactRow = row.map_err(invalid)?;
        let label = match row.evidence_label.as_str() {
            "SUPPORT" => Label::Supports,
            "CONTRADICT" => Label::Refutes,
            _ => Label::NotEnoughInfo,
        };
        let ids =
            if label == Label::NotEnoughInfo { numbers(&row.cited_doc_ids) } else { vec![row.evidence_doc_id.clone()] };
        for id in ids {
            let Some((text, sentences)) = documents.get(&id) else {
                whole.skipped += 1;
                continue;
            };
            let pair = |text: &str, quote: Option<&str>| Pair {
                id: format!("{} {id}", row.id),
                claim: row.claim.clone(),
                text: text.to_owned(),
                quote: quote.map(str::to_owned),
                label,
            };
            whole.pairs.push(pair(text, None));
            if label == Label::NotEnoughInfo {
                continue;
            }
            // The sentences are numbered as the set's authors split them; only where this split has as many do the
            // numbers mean the same.
            let split = claim::sentences(text);
            if sentences.is_some_and(|count| count != split.len()) {
                quoted.skipped += 1;
                continue;
            }
            let wanted = numbers(&row.evidence_sentences);
            let chosen = wanted.iter().filter_map(|number| split.get(number.parse::<usize>().ok()?));
            quoted.pairs.extend(chosen.map(|range| pair(text, Some(&text[range.clone()]))));
        }
    }
    Ok([quoted, whole])
}

/// The numbers of a list such as `[2 5]`.
fn numbers(list: &str) -> Vec<String> {
    list.split(|c: char| !c.is_ascii_digit()).filter(|number| !number.is_empty()).map(str::to_owned).collect()
}

/// The files of a folder that `sets` would read, for an error message.
pub(super) fn expected(folder: &Path) -> String {
    let names = ["pairs.jsonl", "climate-fever/climate-fever.jsonl", "scifact-claims/claims_train.csv"];
    format!("{}, *.md", names.map(|name| folder.join(name).display().to_string()).join(", "))
}

/// Where the abstracts of scifact-claims are, unless the caller says so: beside its claims.
pub(super) fn default_abstracts(folder: &Path) -> Option<PathBuf> {
    Some(folder.join("scifact-claims/corpus.jsonl")).filter(|path| path.is_file())
}

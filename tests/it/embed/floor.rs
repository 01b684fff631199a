//! What a floor of cosines keeps and refuses, by all-MiniLM-L6-v2: how the default was found.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Instant;

use ragdb::{EmbedAs, Embedder, LocalEmbedder, LocalSettings, Store, SyncRequest, SyncSources};
use serde_json::Value;

use super::embed;
use crate::support::{data_set, minilm, repository};
use crate::world::rows;

/// Texts with their vectors, questions that they answer and questions that they don't.
struct Labelled {
    name: String,
    texts: Vec<(String, Vec<f32>)>,
    answered: Vec<(String, BTreeSet<String>)>,
    others: Vec<String>,
}

/// The highest cosine of each question: of those whose best text is one that answers it, and of those without an answer.
struct Best {
    right: Vec<f64>,
    asked: usize,
    none: Vec<f64>,
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

/// A BEIR folder; questions of `other` have no answer in it.
fn beir(model: &LocalEmbedder, folder: &Path, other: &Path) -> Labelled {
    let corpus = lines(&folder.join("corpus.jsonl"));
    let composed: Vec<String> =
        corpus.iter().map(|it| format!("{}\n{}", text(it, "title"), text(it, "text"))).collect();
    let composed: Vec<&str> = composed.iter().map(String::as_str).collect();
    let started = Instant::now();
    let vectors = model.embed(&composed, EmbedAs::Chunk).expect("vectors");
    println!("{} texts in {:.1} s", vectors.len(), started.elapsed().as_secs_f64());
    let questions = |folder: &Path| -> BTreeMap<String, String> {
        lines(&folder.join("queries.jsonl")).iter().map(|it| (text(it, "_id"), text(it, "text"))).collect()
    };
    let judged = fs::read_to_string(folder.join("qrels/test.tsv")).expect("judgements");
    let mut relevant: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in judged.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        relevant.entry(fields[0].into()).or_default().insert(fields[1].into());
    }
    let known = questions(folder);
    Labelled {
        name: folder.iter().rev().take(2).map(|it| it.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" of "),
        texts: corpus.iter().map(|it| text(it, "_id")).zip(vectors).collect(),
        answered: relevant.into_iter().map(|(id, texts)| (known[&id].clone(), texts)).collect(),
        others: questions(other).into_values().collect(),
    }
}

/// A folder of documents, cut into chunks by ragdb, and the questions that were written for it.
fn documents(model: &LocalEmbedder, name: &str) -> Option<Labelled> {
    let folder = data_set("docs-small", &format!("C_docs/{name}/v3"))?;
    let place = tempfile::tempdir().expect("a temporary folder");
    let store = Store::create(place.path().join("ragdb.db")).expect("a store");
    let sources = SyncSources::Folders(vec![folder]);
    store.sync(&SyncRequest { sources, ..SyncRequest::default() }).expect("it is synced");
    let started = Instant::now();
    let report = embed(&store, model).expect("it is embedded");
    println!("{} chunks in {:.1} s", report.embedded, started.elapsed().as_secs_f64());
    let sql = "SELECT d.path, hex(e.vector) FROM embeddings e JOIN chunks c USING (chunk_no) JOIN documents d USING (document_no)";
    let vector = |hex: &str| -> Vec<f32> {
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
        (0..hex.len())
            .step_by(8)
            .map(|at| f32::from_le_bytes([byte(at), byte(at + 2), byte(at + 4), byte(at + 6)]))
            .collect()
    };
    let texts = rows(&store, sql).into_iter().map(|row| (row[0].clone(), vector(&row[1]))).collect();
    let cases = |file: &str| -> Vec<Value> {
        let cases = lines(&repository(&format!("fixtures/eval/{file}.jsonl")));
        cases.into_iter().filter(|case| text(case, "corpus") == name).collect()
    };
    let relevant = |case: &Value| serde_json::from_value(case["relevant"].clone()).expect("a list of pages");
    Some(Labelled {
        name: name.into(),
        texts,
        answered: cases("answerable").iter().map(|case| (text(case, "query"), relevant(case))).collect(),
        others: cases("unanswerable").iter().map(|case| text(case, "query")).collect(),
    })
}

impl Labelled {
    fn best(&self, model: &LocalEmbedder) -> Best {
        let best = |question: &[f32]| -> (f64, &str) {
            let cosine = |vector: &[f32]| -> f64 { vector.iter().zip(question).map(|(&a, &b)| f64::from(a * b)).sum() };
            let found = self.texts.iter().map(|(id, vector)| (cosine(vector), id.as_str()));
            found.max_by(|one, other| one.0.total_cmp(&other.0)).expect("a text")
        };
        let embedded = |questions: Vec<&str>| model.embed(&questions, EmbedAs::Query).expect("vectors");
        let answered = embedded(self.answered.iter().map(|(question, _)| question.as_str()).collect());
        let best_of = answered.iter().map(|question| best(question)).zip(&self.answered);
        let right = best_of.filter(|((_, id), (_, relevant))| relevant.contains(*id)).map(|((cosine, _), _)| cosine);
        let none = embedded(self.others.iter().map(String::as_str).collect());
        let none = none.iter().map(|question| best(question).0).collect();
        Best { right: right.collect(), asked: self.answered.len(), none }
    }
}

#[test]
#[ignore = "long form"]
fn the_default_floor_keeps_what_is_right() {
    let Some(folder) = minilm() else { return };
    let model = LocalEmbedder::open(&folder, LocalSettings::default()).expect("a model");
    let Some(scifact) = data_set("ir-en", "A_ir_en/scifact") else { return };
    let Some(xquad) = data_set("ir-cjk", "B_cjk/xquad/en") else { return };
    let mut sets: Vec<Labelled> =
        ["small-rust-book", "small-vue-en"].iter().filter_map(|name| documents(&model, name)).collect();
    sets.push(beir(&model, &xquad, &scifact));
    sets.push(beir(&model, &scifact, &xquad));
    let share = |cosines: &[f64], floor: f64| {
        let kept = u32::try_from(cosines.iter().filter(|&&cosine| cosine >= floor).count()).expect("few");
        100.0 * f64::from(kept) / f64::from(u32::try_from(cosines.len()).expect("few"))
    };
    for set in &sets {
        let Best { right, asked, none } = set.best(&model);
        println!(
            "{}: {} texts; the best text is right for {} of {asked} questions",
            set.name,
            set.texts.len(),
            right.len()
        );
        println!(
            "| floor | right and kept, of {} | without an answer and kept, of {} |\n|---:|---:|---:|",
            right.len(),
            none.len()
        );
        for step in 1..=12_u8 {
            let floor = f64::from(step) / 20.0;
            println!("| {floor:.2} | {:.1} % | {:.1} % |", share(&right, floor), share(&none, floor));
        }
        assert!(share(&right, model.floor()) >= 99.0, "{}: {:.1} %", set.name, share(&right, model.floor()));
    }
}

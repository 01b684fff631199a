//! `eval --beir`: a BEIR folder becomes a store, its queries are asked, and the rankings are scored.
//!
//! The data path, top to bottom: the corpus is written as files and synced into a store of its own, and gets vectors where
//! a retriever compares them; each judged query is searched as anyone would, but without a floor, by one retriever after
//! the other; chunks become a ranking of documents; only then are the judgements looked at.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use super::beir::BeirFolder;
use super::corpus;
use super::metrics::{Judgements, Metrics, Ranking};
use crate::config::ChunkSettings;
use crate::embed::{EmbedProgress, EmbedRequest};
use crate::error::{Error, Failure, Result};
use crate::model::{Bm25Policy, EmbeddingProfile, Principal};
use crate::search::{Retriever, SearchRequest};
use crate::store::Store;
use crate::sync::{SyncRequest, SyncSources};

/// Besides the cut that is asked for, metrics are taken at this one, where recall is usually compared.
const DEEP: usize = 100;

/// And at this one: about as many as a prompt holds.
const SHALLOW: usize = 5;

/// What to evaluate, and how.
#[derive(Clone, Debug)]
pub struct BeirRequest {
    /// A folder with `corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv`.
    pub folder: PathBuf,
    /// An existing folder in which a temporary one is made for the corpus' files and the store; it takes a few times
    /// the size of the corpus, and is removed at the end.
    pub work_folder: PathBuf,
    /// Metrics are taken over the first `k` documents of each ranking; 1 or more, 10 by default.
    pub k: usize,
    /// How documents are cut; what is not set is the product's default.
    pub chunking: ChunkSettings,
    /// How hits are scored; `None` for the product's default.
    pub bm25: Option<Bm25Policy>,
}

impl BeirRequest {
    /// A request with the defaults.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, work_folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            work_folder: work_folder.into(),
            k: 10,
            chunking: ChunkSettings::default(),
            bm25: None,
        }
    }
}

/// How good the rankings of a BEIR folder's queries are.
#[derive(Clone, Debug)]
pub struct BeirReport {
    /// What ranked: `bm25`, `dense` or `rrf`.
    pub retriever: &'static str,
    /// How many queries have judgements; the means are over these.
    pub cases: usize,
    /// Documents in the store.
    pub documents: u64,
    /// Chunks in the store.
    pub chunks: u64,
    /// Documents that the store refused, each with its id as the path; they are never found.
    pub failures: Vec<Failure>,
    /// What embedded the queries, where vectors were compared.
    pub profile: Option<EmbeddingProfile>,
    /// The means at the `k` that was asked for.
    pub metrics: RetrievalMetrics,
    /// The means at 5.
    pub shallow: RetrievalMetrics,
    /// The means at 100.
    pub deep: RetrievalMetrics,
    /// Each query, by its id.
    pub results: Vec<BeirCase>,
}

/// Metrics of rankings, cut at `k`: from 0 to 1, 1 the best. The definitions are `trec_eval`'s: a document is
/// relevant where its grade is 1 or more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetrievalMetrics {
    /// How many documents of a ranking count.
    pub k: usize,
    /// Discounted gain over that of the best possible ranking: the gain is the grade, divided by log2(rank + 1).
    pub ndcg: f64,
    /// The share of the relevant documents that are among the first `k`.
    pub recall: f64,
    /// The share of the first `k` ranks that hold a relevant document.
    pub precision: f64,
    /// 1 where one of the first `k` is relevant, else 0.
    pub hit_rate: f64,
    /// 1 / the rank of the first relevant document; 0 where none is among the first `k`.
    pub mrr: f64,
}

/// One query of an evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct BeirCase {
    /// The query's id.
    pub id: String,
    /// The first `k` documents, best first, each with its score: that of its best chunk.
    pub hits: Vec<(String, f64)>,
    /// The query's metrics at `k`.
    pub metrics: RetrievalMetrics,
}

impl RetrievalMetrics {
    fn new(k: usize, metrics: Metrics) -> Self {
        let Metrics { recall, precision, hit, reciprocal_rank, ndcg } = metrics;
        Self { k, ndcg, recall, precision, hit_rate: hit, mrr: reciprocal_rank }
    }
}

/// Builds a store from a BEIR folder's documents with the product's own sync, asks the judged queries by BM25, and scores
/// the rankings.
///
/// # Errors
/// As [`compare_beir`].
pub fn evaluate_beir(request: &BeirRequest) -> Result<BeirReport> {
    let mut reports = compare_beir(request, &[Retriever::Bm25], &|_| {})?;
    reports.pop().ok_or_else(|| Error::Invalid { message: "nothing ranks".into() })
}

/// As [`evaluate_beir`], by each of these retrievers: a report of each, in their order, over one store. `tell` is told how
/// far its vectors are.
///
/// # Errors
/// [`Error::Invalid`] where there is no retriever, two have other models, `k` is 0, a file of the folder is not what it
/// should be (the message names file and line), nothing is judged, or a query that is judged is missing; [`Error::Io`]
/// where a file can't be read or written; else as [`Store::create`], [`Store::sync`], [`Store::embed`] and
/// [`Store::search`].
pub fn compare_beir(
    request: &BeirRequest,
    retrievers: &[Retriever],
    tell: &dyn Fn(EmbedProgress),
) -> Result<Vec<BeirReport>> {
    let invalid = |message: &str| Err(Error::Invalid { message: message.to_owned() });
    if request.k == 0 {
        return invalid("k is 0; metrics need 1 rank or more");
    }
    let mut embedders = retrievers.iter().filter_map(Retriever::embedder);
    let embedder = embedders.next();
    if embedders.any(|other| embedder.is_some_and(|first| first.profile() != other.profile())) {
        return invalid("two retrievers have other models; compare them one after the other");
    }
    if retrievers.is_empty() {
        return invalid("nothing ranks; name a retriever or more");
    }
    let folder = BeirFolder::new(&request.folder);
    let judgements = folder.judgements()?;
    let queries: HashMap<String, String> = folder.queries()?.into_iter().map(|query| (query.id, query.text)).collect();
    let temporary = tempfile::Builder::new()
        .prefix("ragdb-eval-")
        .tempdir_in(&request.work_folder)
        .map_err(|error| Error::io(&request.work_folder, error))?;

    let files = temporary.path().join("corpus");
    let ids = corpus::write(&files, folder.documents()?)?;
    let store = Store::create(temporary.path().join("eval.db"))?;
    let synced = store.sync(&SyncRequest {
        sources: SyncSources::Folders(vec![files]),
        chunking: request.chunking,
        bm25: request.bm25,
        keep_going: true,
        ..SyncRequest::default()
    })?;
    if let Some(embedder) = embedder {
        store.embed(embedder, EmbedRequest::default(), tell)?;
    }
    let failures = synced.failures.into_iter().map(|failure| match ids.get(&failure.path) {
        Some(id) => Failure { path: id.clone(), ..failure },
        None => failure,
    });
    let failures: Vec<Failure> = failures.collect();

    let depth = request.k.max(DEEP);
    let mut reports = Vec::with_capacity(retrievers.len());
    for retriever in retrievers {
        let mut run = BTreeMap::new();
        for id in judgements.keys() {
            let text = queries.get(id).ok_or_else(|| missing(request, id))?;
            run.insert(id.clone(), ranking(&store, text, retriever, depth, &ids)?);
        }
        let mean = |k| Metrics::mean(&run, &judgements, k).map(|(metrics, _)| RetrievalMetrics::new(k, metrics));
        let (Some(metrics), Some(shallow), Some(deep)) = (mean(request.k), mean(SHALLOW), mean(DEEP)) else {
            return Err(Error::Invalid { message: format!("{} judges nothing", request.folder.display()) });
        };
        reports.push(BeirReport {
            retriever: retriever.kind().as_str(),
            cases: judgements.len(),
            documents: synced.documents.added,
            chunks: synced.chunks.added,
            failures: failures.clone(),
            profile: retriever.embedder().map(|embedder| embedder.profile().clone()),
            metrics,
            shallow,
            deep,
            results: judgements.iter().map(|(id, judged)| case(id, &run[id], judged, request.k)).collect(),
        });
    }
    Ok(reports)
}

fn missing(request: &BeirRequest, id: &str) -> Error {
    let folder = request.folder.display();
    Error::Invalid { message: format!("{folder}: query {id:?} is judged, and queries.jsonl does not have it") }
}

/// The best `depth` documents. As many chunks are asked for as it takes to have that many documents.
fn ranking(
    store: &Store,
    query: &str,
    retriever: &Retriever,
    depth: usize,
    ids: &HashMap<String, String>,
) -> Result<Ranking> {
    let mut request = SearchRequest {
        literal: true,
        top_k: depth,
        floor: Some(0.0),
        retriever: retriever.clone(),
        similarity_floor: Some(-1.0),
        ..SearchRequest::new(query)
    };
    loop {
        let found = store.search(&Principal::operator(), &request)?.hits;
        let exhausted = found.len() < request.top_k;
        let hits = found.into_iter().filter_map(|hit| Some((ids.get(&hit.path)?.clone(), hit.score)));
        let ranking = Ranking::new(hits);
        if exhausted || ranking.hits().len() >= depth {
            return Ok(ranking);
        }
        request.top_k = request.top_k.saturating_mul(2);
    }
}

fn case(id: &str, ranking: &Ranking, judgements: &Judgements, k: usize) -> BeirCase {
    BeirCase {
        id: id.to_owned(),
        hits: ranking.hits().iter().take(k).cloned().collect(),
        metrics: RetrievalMetrics::new(k, Metrics::at(ranking, judgements, k)),
    }
}

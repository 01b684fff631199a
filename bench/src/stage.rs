//! The measurements, one function a stage; each gives rows.

use std::cell::RefCell;
use std::path::Path;

use crate::access::{ONE_RULE, Reader, Ruled, UNRESTRICTED};
use crate::chunk::FileChunks;
use crate::corpus::Scale;
use crate::measure::{Contender, alternate, median, median_by_query, percentile, timed};
use crate::peer::Peer;
use crate::random::Random;
use crate::report::{Bar, Row};
use crate::subject::{self, Subject};
use crate::{Result, database, edit, floor, queries};

const EDIT_SEED: u64 = 45;
const K: usize = 10;

/// What is measured, on what, with what.
pub struct Bench {
    /// Which corpus it is.
    pub scale: Scale,
    /// The scratch copy of the corpus.
    pub corpus: std::path::PathBuf,
    /// Where the databases go.
    pub scratch: std::path::PathBuf,
    /// The size of the corpus in bytes.
    pub markdown_bytes: u64,
    /// Its chunks.
    pub files: Vec<FileChunks>,
    /// ragdb.
    pub subject: Subject,
    /// The others.
    pub peers: Vec<Box<dyn Peer>>,
    /// How often each measurement is repeated.
    pub rounds: usize,
    /// How many queries of each kind.
    pub queries: usize,
}

type Times = Vec<(String, Vec<f64>)>;

fn medians(times: Times) -> Vec<(String, f64)> {
    times.into_iter().map(|(name, rounds)| (name, median(&rounds))).collect()
}

impl Bench {
    /// A new store from nothing, the peers from ready-made chunks, and the floors below both. Leaves the indexes behind
    /// that the other stages work on.
    pub fn first_sync(&mut self) -> Result<Vec<Row>> {
        let (corpus, files) = (&self.corpus, &self.files);
        let texts = self.scratch.join("texts.db");
        let mut contenders = Vec::new();
        let subject = &mut self.subject;
        contenders.push(Contender::new(subject::NAME, move || timed(|| subject.sync_new(corpus))));
        for peer in &mut self.peers {
            contenders.push(Contender::new(peer.name(), move || timed(|| peer.build(files))));
        }
        contenders.push(Contender::new(floor::INSERT, || timed(|| floor::insert_text(&texts, files))));
        contenders.push(Contender::new(floor::READ, || timed(|| floor::read_and_hash(corpus))));
        let figures = medians(alternate(self.rounds, &mut contenders, |_| Ok(()))?);
        let bars = [
            ("first sync, against FTS5 alone", Bar::times("fts5", 1.0 / 1.5)),
            ("first sync, against the text insert", Bar::times(floor::INSERT, 2.0)),
        ];
        let row = |(name, bar)| Row::new(name, self.scale, "ms", figures.clone(), Some(bar));
        Ok(bars.into_iter().map(row).collect())
    }

    /// Bytes on disk for each byte of Markdown, in all and for each of ragdb's tables.
    pub fn sizes(&mut self) -> Result<Vec<Row>> {
        const UNIT: &str = "× Markdown";
        let relative = |bytes: u64| bytes as f64 / self.markdown_bytes as f64;
        let file = self.subject.database();
        let mut figures = vec![(subject::NAME.to_owned(), relative(database::bytes(file)?))];
        let tables = database::tables(file)?;
        for peer in &self.peers {
            figures.push((peer.name().to_owned(), relative(peer.bytes()?)));
        }
        figures.push((floor::INSERT.to_owned(), relative(database::bytes(&self.scratch.join("texts.db"))?)));
        let bar = match self.scale {
            Scale::S => None,
            Scale::L => Some(Bar::AtMost(1.45)),
            Scale::X => Some(Bar::AtMost(1.35)),
        };
        let mut rows = vec![Row::new("file size", self.scale, UNIT, figures, bar)];
        rows.extend(tables.into_iter().map(|(name, bytes)| {
            let figure = vec![(subject::NAME.to_owned(), relative(bytes))];
            Row::new(&format!("file size: {name}"), self.scale, UNIT, figure, None)
        }));
        Ok(rows)
    }

    /// Warm queries with any of their words, ten hits with their text: those made from headings, then the questions.
    pub fn queries(&mut self) -> Result<Vec<Row>> {
        let kinds = [
            ("query, heading", queries::headings(&self.files, self.queries)),
            ("query, question", queries::questions(&self.files, self.queries)),
        ];
        let mut rows = Vec::new();
        for (name, queries) in kinds {
            let queries = &queries;
            let mut contenders = Vec::new();
            let subject = &self.subject;
            contenders.push(Contender::new(subject::NAME, move || {
                queries.iter().map(|query| timed(|| subject.search(query, K))).collect()
            }));
            for peer in &mut self.peers {
                contenders.push(Contender::new(peer.name(), move || {
                    queries.iter().map(|query| timed(|| peer.search(query, K))).collect::<Result<Vec<f64>>>()
                }));
            }
            // One round unmeasured, so that every page that a query needs has been read.
            alternate(1, &mut contenders, |_| Ok(()))?;
            let rounds = alternate(self.rounds, &mut contenders, |_| Ok(()))?;
            drop(contenders);
            rows.push(self.inexact(name, queries)?);
            for percent in [50, 99] {
                let figure = |times: &[Vec<f64>]| percentile(&median_by_query(times), percent);
                let figures = rounds.iter().map(|(name, times)| (name.clone(), figure(times))).collect();
                let bar = (self.scale == Scale::X).then(|| Bar::times("fts5", 1.0 / 200.0));
                rows.push(Row::new(&format!("{name} p{percent}"), self.scale, "ms", figures, bar));
            }
        }
        Ok(rows)
    }

    /// How many of the queries give other hits than reading every posting gives: any, and the times say nothing.
    fn inexact(&self, name: &str, queries: &[String]) -> Result<Row> {
        let mut inexact = 0;
        for query in queries {
            inexact += usize::from(!self.subject.is_exact(query, K)?);
        }
        let figures = vec![(subject::NAME.to_owned(), inexact as f64)];
        Ok(Row::new(&format!("{name}: inexact"), self.scale, "queries", figures, Some(Bar::AtMost(0.0))))
    }

    /// Warm queries under rules of access, ten hits with their text.
    pub fn access(&mut self) -> Result<Vec<Row>> {
        let ruled = Ruled::build(&self.corpus, &self.scratch.join("ruled"))?;
        let readers = ruled.readers()?;
        let kinds = [
            ("access, heading", queries::headings(&self.files, self.queries)),
            ("access, question", queries::questions(&self.files, self.queries)),
        ];
        let mut rows = Vec::new();
        for (name, queries) in &kinds {
            let contender = |reader: &'_ Reader<'_>| {
                let times = queries.iter().map(|query| timed(|| reader.search(query, K)));
                times.collect::<Result<Vec<f64>>>()
            };
            let mut contenders: Vec<_> =
                readers.iter().map(|reader| Contender::new(reader.name, move || contender(reader))).collect();
            alternate(1, &mut contenders, |_| Ok(()))?;
            let rounds = alternate(self.rounds, &mut contenders, |_| Ok(()))?;
            drop(contenders);
            let mut inexact = 0;
            for reader in &readers {
                for query in queries.iter().take(50) {
                    inexact += usize::from(!reader.is_exact(query, K)?);
                }
            }
            let figures = vec![(subject::NAME.to_owned(), inexact as f64)];
            rows.push(Row::new(&format!("{name}: inexact"), self.scale, "queries", figures, Some(Bar::AtMost(0.0))));
            for percent in [50, 99] {
                let figure = |times: &[Vec<f64>]| percentile(&median_by_query(times), percent);
                let all: Vec<(String, f64)> =
                    rounds.iter().map(|(reader, times)| (reader.clone(), figure(times))).collect();
                let (peers, restricted): (Vec<_>, Vec<_>) =
                    all.into_iter().partition(|(reader, _)| [ONE_RULE, UNRESTRICTED].contains(&reader.as_str()));
                for (reader, time) in restricted {
                    let mut figures = peers.clone();
                    figures.push((subject::NAME.to_owned(), time));
                    let name = format!("{name} p{percent}, {reader}");
                    rows.push(Row::new(&name, self.scale, "ms", figures, Some(Bar::times(UNRESTRICTED, 1.3))));
                }
            }
        }
        Ok(rows)
    }

    /// A sync that finds nothing changed.
    pub fn unchanged(&mut self) -> Result<Vec<Row>> {
        let corpus = &self.corpus;
        let mut contenders = Vec::new();
        let subject = &mut self.subject;
        contenders.push(Contender::new(subject::NAME, move || timed(|| subject.sync(corpus))));
        contenders.push(Contender::new(floor::WALK, || timed(|| floor::walk_and_stat(corpus))));
        contenders.push(Contender::new(floor::READ, || timed(|| floor::read_and_hash(corpus))));
        let figures = medians(alternate(self.rounds, &mut contenders, |_| Ok(()))?);
        Ok(vec![Row::new("no-change sync", self.scale, "ms", figures, Some(Bar::times(floor::WALK, 2.0)))])
    }

    /// A sync after one file has changed, and after one in a hundred has. The peers are handed the changed files' chunks
    /// and put them in place of the old ones.
    pub fn changed(&mut self) -> Result<Vec<Row>> {
        let one_percent = (self.files.len() / 100).max(1);
        let on_x = |bar| if self.scale == Scale::X { Some(bar) } else { None };
        let one = on_x(Bar::Against { peer: floor::WALK, factor: 1.0, more: 5.0 });
        let many = on_x(Bar::times("fts5", 0.5));
        Ok(vec![
            self.changed_files("sync of one changed file", 1, one)?,
            self.changed_files("sync of 1 % changed", one_percent, many)?,
        ])
    }

    fn changed_files(&mut self, name: &str, count: usize, bar: Option<Bar>) -> Result<Row> {
        let (corpus, files) = (&self.corpus, &mut self.files);
        let changed: RefCell<Vec<FileChunks>> = RefCell::default();
        let changed = &changed;
        let mut random = Random::new(EDIT_SEED + count as u64);
        let mut contenders = Vec::new();
        let subject = &mut self.subject;
        contenders.push(Contender::new(subject::NAME, move || timed(|| subject.sync(corpus))));
        for peer in &mut self.peers {
            contenders.push(Contender::new(peer.name(), move || timed(|| peer.replace(&changed.borrow()))));
        }
        contenders.push(Contender::new(floor::WALK, || timed(|| floor::walk_and_stat(corpus))));
        let times = alternate(self.rounds, &mut contenders, |round| {
            *changed.borrow_mut() = edit::append(corpus, files, count, round, &mut random)?;
            Ok(())
        })?;
        Ok(Row::new(name, self.scale, "ms", medians(times), bar))
    }
}

/// Reads every file of a folder once, so that the first measurement finds the corpus in memory as the others do.
pub fn warm(corpus: &Path) -> Result<()> {
    floor::read_and_hash(corpus).map(drop)
}

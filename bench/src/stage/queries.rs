//! Warm queries.

use super::{Bench, K};
use crate::corpus::Scale;
use crate::measure::{Contender, alternate, median_by_query, percentile, timed};
use crate::report::{Bar, Row};
use crate::{Result, TANTIVY, fts5, queries, subject};

impl Bench {
    /// Warm queries with any of their words, ten hits with their text: those made from headings, then the questions.
    pub fn queries(&mut self) -> Result<Vec<Row>> {
        let kinds = [
            ("query, heading", queries::headings(&self.files, self.queries)),
            ("query, question", queries::questions(&self.files, self.queries)),
        ];
        let mut rows = Vec::new();
        for (name, queries) in kinds {
            let queries = &queries;
            self.warm_up(queries)?;
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
            let rounds = alternate(self.rounds, &mut contenders, |_| Ok(()))?;
            drop(contenders);
            let inexact = self.inexact(name, queries)?;
            let counts = inexact.met() == Some(true);
            rows.push(inexact);
            for percent in [50, 99] {
                let figure = |times: &[Vec<f64>]| percentile(&median_by_query(times), percent);
                let figures: Vec<_> = rounds.iter().map(|(name, times)| (name.clone(), figure(times))).collect();
                let name = format!("{name} p{percent}");
                for (words, bar) in self.query_bars() {
                    let row = Row::new(&(name.clone() + words), self.scale, "ms", figures.clone(), bar);
                    rows.push(row.counts_if(counts));
                }
            }
        }
        Ok(rows)
    }

    /// Asks once unmeasured, so that every page that a query needs has been read. FTS5 needs so long that it makes no
    /// difference there, but for whoever waits.
    fn warm_up(&mut self, queries: &[String]) -> Result<()> {
        for query in queries {
            self.subject.search(query, K)?;
            for peer in self.peers.iter_mut().filter(|peer| peer.name() != fts5::NAME) {
                peer.search(query, K)?;
            }
        }
        Ok(())
    }

    /// What a row of the queries is called behind its name, and its bar.
    fn query_bars(&self) -> Vec<(&'static str, Option<Bar>)> {
        match self.scale {
            Scale::S => vec![("", None)],
            Scale::L => vec![("", Some(Bar::times(TANTIVY, 1.0)))],
            Scale::X => vec![
                ("", Some(Bar::times(TANTIVY, 1.3))),
                (", against FTS5", Some(Bar::times(fts5::NAME, 1.0 / 200.0))),
            ],
        }
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
}

//! Warm queries of readers who may not read everything.

use super::{Bench, K};
use crate::access::{ONE_RULE, Reader, Ruled, UNRESTRICTED};
use crate::measure::{Contender, alternate, median_by_query, percentile, timed};
use crate::report::{Bar, Row};
use crate::{Result, queries, subject};

impl Bench {
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
}

//! What the indexes take on disk.

use super::Bench;
use crate::corpus::Scale;
use crate::report::{Bar, Row};
use crate::{Result, database, floor, subject};

/// The smallest share of the file that a table with a row of its own has.
const LEAST_SHARE: f64 = 0.001;

impl Bench {
    /// Bytes on disk for each byte of Markdown, in all and for each of ragdb's tables.
    pub fn sizes(&mut self) -> Result<Vec<Row>> {
        const UNIT: &str = "× Markdown";
        let relative = |bytes: u64| bytes as f64 / self.markdown_bytes as f64;
        let file = self.subject.database();
        let file_bytes = database::bytes(file)?;
        let mut figures = vec![(subject::NAME.to_owned(), relative(file_bytes))];
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
        // Most tables are small, and their sizes together are less than noise.
        let (large, small): (Vec<_>, Vec<_>) =
            tables.into_iter().partition(|(_, bytes)| *bytes as f64 >= LEAST_SHARE * file_bytes as f64);
        let others = (format!("{} others", small.len()), small.iter().map(|(_, bytes)| bytes).sum());
        rows.extend(large.into_iter().chain([others]).map(|(name, bytes)| {
            let figure = vec![(subject::NAME.to_owned(), relative(bytes))];
            Row::new(&format!("file size: {name}"), self.scale, UNIT, figure, None)
        }));
        Ok(rows)
    }
}

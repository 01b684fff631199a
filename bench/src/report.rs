//! Rows of figures: ragdb's beside those of peers and floors, the bar they are held to, as a table and as JSON.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::corpus::Scale;
use crate::subject;

/// A limit that ragdb's figure must not pass. All figures are better when smaller.
#[derive(Clone, Debug, PartialEq)]
pub enum Bar {
    /// At most `factor` times a peer's figure, plus `more` in the row's unit.
    Against {
        /// The peer or floor.
        peer: &'static str,
        /// How much of its figure.
        factor: f64,
        /// What is allowed on top.
        more: f64,
    },
    /// At most this, in the row's unit.
    AtMost(f64),
}

impl Bar {
    /// At most `factor` times a peer's figure.
    #[must_use]
    pub const fn times(peer: &'static str, factor: f64) -> Self {
        Self::Against { peer, factor, more: 0.0 }
    }
}

/// One thing that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What.
    pub name: String,
    /// On which corpus.
    pub corpus: Scale,
    /// In which unit.
    pub unit: &'static str,
    /// ragdb's figure.
    pub ragdb: Option<f64>,
    /// The others' figures, by name.
    pub peers: Vec<(String, f64)>,
    /// The limit, where there is one for this corpus.
    pub bar: Option<Bar>,
    /// Whether what was measured gave the right results: a figure counts for nothing otherwise.
    pub counts: bool,
    /// Whether the others' figures are of the same kind, so that there is a ratio.
    pub compared: bool,
}

impl Row {
    /// A row of these figures, ragdb's among them where it took part.
    #[must_use]
    pub fn new(
        name: &str,
        corpus: Scale,
        unit: &'static str,
        mut figures: Vec<(String, f64)>,
        bar: Option<Bar>,
    ) -> Self {
        let own = figures.iter().position(|(name, _)| name == subject::NAME);
        let ragdb = own.map(|place| figures.remove(place).1);
        Self { name: name.into(), corpus, unit, ragdb, peers: figures, bar, counts: true, compared: true }
    }

    /// The row, which meets no bar unless the results were right.
    #[must_use]
    pub fn counts_if(mut self, right: bool) -> Self {
        self.counts = right;
        self
    }

    /// The figure of one of the others.
    #[must_use]
    pub fn peer(&self, wanted: &str) -> Option<f64> {
        self.peers.iter().find(|(name, _)| name == wanted).map(|(_, figure)| *figure)
    }

    /// ragdb's figure over that of the bar's peer, or of the first peer where the row has no bar.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        let other = match &self.bar {
            Some(Bar::Against { peer, .. }) => self.peer(peer),
            Some(Bar::AtMost(_)) => None,
            None if !self.compared => None,
            None => self.peers.first().map(|(_, figure)| *figure),
        };
        Some(self.ragdb? / other.filter(|figure| *figure > 0.0)?)
    }

    /// Whether the bar is met; `None` without a bar, or where a figure is missing.
    #[must_use]
    pub fn met(&self) -> Option<bool> {
        let limit = match self.bar.as_ref()? {
            Bar::Against { peer, factor, more } => factor * self.peer(peer)? + more,
            Bar::AtMost(limit) => *limit,
        };
        Some(self.ragdb? <= limit && self.counts)
    }

    fn bar_text(&self) -> Option<String> {
        Some(match self.bar.as_ref()? {
            Bar::AtMost(limit) => format!("≤ {limit}"),
            Bar::Against { peer, factor, more } if *more > 0.0 => {
                format!("≤ {} × {peer} + {more} {}", rounded(*factor), self.unit)
            }
            Bar::Against { peer, factor, .. } => format!("≤ {} × {peer}", rounded(*factor)),
        })
    }

    fn json(&self) -> Value {
        let peers: Map<String, Value> = self.peers.iter().map(|(name, figure)| (name.clone(), json!(figure))).collect();
        json!({
            "name": self.name, "corpus": self.corpus.name(), "unit": self.unit, "ragdb": self.ragdb, "peers": peers,
            "ratio": self.ratio(), "bar": self.bar_text(), "met": self.met(),
        })
    }
}

/// The report as JSON: what it was made with, and the rows.
#[must_use]
pub fn json(environment: &Value, rows: &[Row]) -> Value {
    json!({ "environment": environment, "rows": rows.iter().map(Row::json).collect::<Vec<_>>() })
}

const HEADER: [&str; 8] = ["", "corpus", "ragdb", "unit", "others", "ratio", "bar", "met"];

impl Row {
    /// What a line of a table shows, as [`HEADER`] names it.
    fn cells(&self) -> [String; 8] {
        let peers = self.peers.iter().map(|(name, figure)| format!("{name} {}", shown(*figure)));
        let missing = || "—".to_owned();
        [
            self.name.clone(),
            self.corpus.name().to_owned(),
            self.ragdb.map_or_else(missing, shown),
            self.unit.to_owned(),
            peers.collect::<Vec<_>>().join(", "),
            self.ratio().map_or_else(missing, shown),
            self.bar_text().unwrap_or_default(),
            self.met().map_or("", |met| if met { "yes" } else { "NO" }).to_owned(),
        ]
    }
}

/// The rows as a table of Markdown.
#[must_use]
pub fn markdown(rows: &[Row]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = line(&HEADER.map(str::to_owned)) + "|---|---|--:|---|---|--:|---|---|\n";
    text.extend(rows.iter().map(|row| line(&row.cells())));
    text
}

/// The rows as a table of text.
#[must_use]
pub fn table(rows: &[Row]) -> String {
    let mut lines = vec![HEADER.map(str::to_owned)];
    lines.extend(rows.iter().map(Row::cells));
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 8] = std::array::from_fn(width);
    let mut text = String::new();
    for line in &lines {
        let mut shown = String::new();
        for (cell, width) in line.iter().zip(widths) {
            let _ = write!(shown, "{cell:width$}  ");
        }
        text.push_str(shown.trim_end());
        text.push('\n');
    }
    text
}

/// Three significant digits, or whole numbers from 100 on.
fn shown(figure: f64) -> String {
    match figure.abs() {
        size if size >= 100.0 => format!("{figure:.0}"),
        size if size >= 10.0 => format!("{figure:.1}"),
        size if size >= 1.0 => format!("{figure:.2}"),
        _ => format!("{figure:.4}"),
    }
}

fn rounded(factor: f64) -> f64 {
    (factor * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn row(ragdb: Option<f64>, bar: Option<Bar>) -> Row {
        let mut figures = vec![("fts5".to_owned(), 30.0), ("walk+stat".to_owned(), 4.0)];
        figures.extend(ragdb.map(|figure| (subject::NAME.to_owned(), figure)));
        Row::new("first sync", Scale::L, "ms", figures, bar)
    }

    #[rstest]
    #[case::met(Some(20.0), Some(Bar::times("fts5", 1.0 / 1.5)), Some(20.0 / 30.0), "≤ 0.667 × fts5", Some(true))]
    #[case::missed(Some(21.0), Some(Bar::times("fts5", 1.0 / 1.5)), Some(0.7), "≤ 0.667 × fts5", Some(false))]
    #[case::with_more(
        Some(9.5),
        Some(Bar::Against { peer: "walk+stat", factor: 1.0, more: 5.0 }),
        Some(9.5 / 4.0),
        "≤ 1 × walk+stat + 5 ms",
        Some(false)
    )]
    #[case::absolute(Some(1.4), Some(Bar::AtMost(1.45)), None, "≤ 1.45", Some(true))]
    #[case::no_bar(Some(15.0), None, Some(0.5), "", None)]
    #[case::not_measured(None, Some(Bar::times("fts5", 1.0)), None, "≤ 1 × fts5", None)]
    #[case::unknown_peer(Some(1.0), Some(Bar::times("tantivy", 1.0)), None, "≤ 1 × tantivy", None)]
    fn a_row_is_held_to_its_bar(
        #[case] ragdb: Option<f64>,
        #[case] bar: Option<Bar>,
        #[case] ratio: Option<f64>,
        #[case] text: &str,
        #[case] met: Option<bool>,
    ) {
        let row = row(ragdb, bar);
        assert_eq!((row.ragdb, row.peers.len()), (ragdb, 2));
        assert_eq!(row.ratio().map(rounded), ratio.map(rounded));
        assert_eq!(row.bar_text().unwrap_or_default(), text);
        assert_eq!(row.met(), met);
    }

    #[test]
    fn a_figure_of_wrong_results_meets_no_bar() {
        assert_eq!(row(Some(1.0), Some(Bar::AtMost(2.0))).counts_if(false).met(), Some(false));
    }

    #[test]
    fn the_same_figures_are_printed_and_written() {
        let rows = [row(Some(20.0), Some(Bar::times("fts5", 0.5)))];
        let expected = json!({"name": "first sync", "corpus": "L", "unit": "ms", "ragdb": 20.0,
            "peers": {"fts5": 30.0, "walk+stat": 4.0}, "ratio": 20.0 / 30.0, "bar": "≤ 0.5 × fts5", "met": false});
        assert_eq!(json(&json!({}), &rows)["rows"][0], expected);
        let markdown = markdown(&rows);
        let line = "| first sync | L | 20.0 | ms | fts5 30.0, walk+stat 4.00 | 0.6667 | ≤ 0.5 × fts5 | NO |\n";
        assert!(markdown.ends_with(line) && markdown.lines().count() == 3, "{markdown}");
        let table = table(&rows);
        assert!(table.ends_with("ms    fts5 30.0, walk+stat 4.00  0.6667  ≤ 0.5 × fts5  NO\n"), "{table}");
    }
}

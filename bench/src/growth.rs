//! How figures grow with the corpus.

use crate::corpus::Scale;
use crate::report::{Bar, Row};
use crate::stage::{PEAK_MEMORY, sync};
use crate::{floor, subject};

/// What grows, and the largest exponent that is allowed up to X: 1 is growth in proportion. Smaller corpora are too much
/// alike in size for that, and too different in kind.
struct Law {
    row: &'static str,
    /// What the machine needs for it anyway, which is taken off.
    less: Option<&'static str>,
    most: Option<f64>,
}

const LAWS: [Law; 7] = [
    Law { row: "query, heading p50", less: None, most: SUBLINEAR },
    Law { row: "query, question p50", less: None, most: SUBLINEAR },
    Law { row: sync::ONE_FILE, less: Some(floor::WALK), most: SUBLINEAR },
    Law { row: sync::ONE_FILE, less: None, most: None },
    Law { row: sync::NO_CHANGE, less: None, most: None },
    Law { row: sync::FIRST, less: None, most: LINEAR },
    Law { row: PEAK_MEMORY, less: None, most: FLAT },
];
const SUBLINEAR: Option<f64> = Some(0.9);
/// In proportion, with what the clock is off.
const LINEAR: Option<f64> = Some(1.1);
/// Hardly: ten times the chunks, three times the memory at most.
const FLAT: Option<f64> = Some(0.5);
/// The least difference that the clock tells, in milliseconds.
const LEAST: f64 = 0.1;

/// From the corpus with the fewest chunks to each larger one, what ragdb's figure is multiplied by for each time that
/// the chunks are: as the exponent of a power.
#[must_use]
pub fn rows(measured: &[Row], corpora: &[(Scale, usize)]) -> Vec<Row> {
    let mut corpora = corpora.to_vec();
    corpora.sort_by_key(|(_, chunks)| *chunks);
    let Some((&(least, least_chunks), larger)) = corpora.split_first() else { return Vec::new() };
    let mut rows = Vec::new();
    for law in &LAWS {
        for &(scale, chunks) in larger {
            if let (Some(from), Some(to)) = (law.figure(measured, least), law.figure(measured, scale)) {
                let exponent = (to / from).ln() / (chunks as f64 / least_chunks as f64).ln();
                let less = law.less.map_or(String::new(), |name| format!(" less {name}"));
                let name = format!("growth {} to {}: {}{less}", least.name(), scale.name(), law.row);
                let figures = [(subject::NAME, exponent), (least.name(), from), (scale.name(), to)];
                let figures = figures.map(|(name, figure)| (name.to_owned(), figure)).to_vec();
                let mut row = Row::new(
                    &name,
                    scale,
                    "exponent",
                    figures,
                    law.most.filter(|_| scale == Scale::X).map(Bar::AtMost),
                );
                row.compared = false;
                rows.push(row);
            }
        }
    }
    rows
}

impl Law {
    fn figure(&self, measured: &[Row], scale: Scale) -> Option<f64> {
        let row = measured.iter().find(|row| row.name == self.row && row.corpus == scale && row.counts)?;
        let floor = self.less.map_or(Some(0.0), |name| row.peer(name))?;
        Some((row.ragdb? - floor).max(LEAST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_the_exponent_of_the_chunks() {
        let row = |scale, ragdb: f64, walk: f64| {
            let figures = vec![(subject::NAME.to_owned(), ragdb), (floor::WALK.to_owned(), walk)];
            Row::new(sync::ONE_FILE, scale, "ms", figures, None)
        };
        let measured = [row(Scale::S, 12.0, 10.0), row(Scale::X, 104.0, 100.0)];
        let rows = rows(&measured, &[(Scale::X, 1600), (Scale::S, 100)]);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].name, "growth S to X: sync of one changed file less walk+stat");
        assert!((rows[0].ragdb.unwrap() - 0.25).abs() < 1e-9);
        assert_eq!(rows[0].peers, [("S".to_owned(), 2.0), ("X".to_owned(), 4.0)]);
        assert_eq!((rows[0].met(), rows[0].ratio(), rows[1].met()), (Some(true), None, None));
        assert!(super::rows(&measured, &[(Scale::S, 100)]).is_empty());
    }
}

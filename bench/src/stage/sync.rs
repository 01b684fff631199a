//! Syncs: the first, one that finds nothing changed, and those after edits.

use std::cell::RefCell;

use super::{Bench, medians};
use crate::chunk::FileChunks;
use crate::corpus::Scale;
use crate::measure::{Contender, alternate, timed};
use crate::random::Random;
use crate::report::{Bar, Row};
use crate::{Result, edit, floor, fts5, subject};

const EDIT_SEED: u64 = 45;
/// How often a sync of little is repeated at least: it is short.
const SHORT_ROUNDS: usize = 9;

/// What some rows are called.
pub const FIRST: &str = "first sync";
/// See [`FIRST`].
pub const NO_CHANGE: &str = "no-change sync";
/// See [`FIRST`].
pub const ONE_FILE: &str = "sync of one changed file";

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
            (FIRST, Bar::times(fts5::NAME, 1.0 / 1.5)),
            ("first sync, against the text insert", Bar::times(floor::INSERT, 2.0)),
        ];
        let row = |(name, bar)| Row::new(name, self.scale, "ms", figures.clone(), Some(bar));
        Ok(bars.into_iter().map(row).collect())
    }

    /// A sync that finds nothing changed.
    pub fn unchanged(&mut self) -> Result<Vec<Row>> {
        let corpus = &self.corpus;
        let mut contenders = Vec::new();
        let subject = &mut self.subject;
        contenders.push(Contender::new(subject::NAME, move || timed(|| subject.sync(corpus))));
        contenders.push(Contender::new(floor::WALK, || timed(|| floor::walk_and_stat(corpus))));
        contenders.push(Contender::new(floor::READ, || timed(|| floor::read_and_hash(corpus))));
        // Once unmeasured: the first finds less in memory.
        alternate(1, &mut contenders, |_| Ok(()))?;
        let figures = medians(alternate(self.rounds.max(SHORT_ROUNDS), &mut contenders, |_| Ok(()))?);
        Ok(vec![Row::new(NO_CHANGE, self.scale, "ms", figures, Some(Bar::times(floor::WALK, 2.0)))])
    }

    /// A sync after one file has changed, and after one in a hundred has. The peers are handed the changed files' chunks
    /// and put them in place of the old ones.
    pub fn changed(&mut self) -> Result<Vec<Row>> {
        let one_percent = (self.files.len() / 100).max(1);
        let on_x = |bar| if self.scale == Scale::X { Some(bar) } else { None };
        let one = on_x(Bar::Against { peer: floor::WALK, factor: 1.0, more: 5.0 });
        let many = on_x(Bar::times(fts5::NAME, 0.5));
        Ok(vec![
            self.changed_files(ONE_FILE, 1, self.rounds.max(SHORT_ROUNDS), one)?,
            self.changed_files("sync of 1 % changed", one_percent, self.rounds, many)?,
        ])
    }

    fn changed_files(&mut self, name: &str, count: usize, rounds: usize, bar: Option<Bar>) -> Result<Row> {
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
        // The first round is not counted: it finds less in memory, and opens what stays open.
        let mut times = alternate(rounds + 1, &mut contenders, |round| {
            *changed.borrow_mut() = edit::append(corpus, files, count, round, &mut random)?;
            Ok(())
        })?;
        for (_, times) in &mut times {
            times.remove(0);
        }
        Ok(Row::new(name, self.scale, "ms", medians(times), bar))
    }
}

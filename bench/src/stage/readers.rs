//! Eight readers at once, alone and beside a writer that edits a file and syncs without a pause.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{Bench, K};
use crate::corpus::Scale;
use crate::measure::{median, percentile, timed};
use crate::random::Random;
use crate::report::{Bar, Row};
use crate::{Result, edit, queries, subject};

const READERS: usize = 8;
const EDIT_SEED: u64 = 46;
/// The readers without a writer, in the report.
const QUIET: &str = "quiet";

/// What happened in one stretch of time.
#[derive(Default)]
struct Stretch {
    times: Vec<f64>,
    errors: usize,
    syncs: usize,
    seconds: f64,
}

impl Stretch {
    fn a_second(&self) -> f64 {
        self.times.len() as f64 / self.seconds
    }
}

impl Bench {
    /// How fast readers are beside a writer, and whether any of them fails.
    pub fn readers(&mut self) -> Result<Vec<Row>> {
        let mut asked = queries::headings(&self.files, self.queries / 2);
        asked.extend(queries::questions(&self.files, self.queries / 2));
        let length = Duration::from_secs(if self.scale == Scale::X { 6 } else { 2 });
        let mut random = Random::new(EDIT_SEED);
        let (mut quiet, mut busy) = (Vec::new(), Vec::new());
        for round in 0..self.rounds {
            for writes in [round % 2 == 1, round % 2 == 0] {
                let stretch = self.stretch(&asked, length, writes.then_some(&mut random))?;
                if writes { &mut busy } else { &mut quiet }.push(stretch);
            }
        }
        let middle =
            |stretches: &[Stretch], of: fn(&Stretch) -> f64| median(&stretches.iter().map(of).collect::<Vec<_>>());
        let row = |name: &str, unit, of: fn(&Stretch) -> f64, bar| {
            let figures = vec![(subject::NAME.to_owned(), middle(&busy, of)), (QUIET.to_owned(), middle(&quiet, of))];
            Row::new(&format!("8 readers beside a writer{name}"), self.scale, unit, figures, bar)
        };
        let errors = busy.iter().chain(&quiet).map(|stretch| stretch.errors).sum::<usize>() as f64;
        let mut failed = row(": errors", "queries", |_| 0.0, Some(Bar::AtMost(0.0)));
        (failed.ragdb, failed.peers) = (Some(errors), Vec::new());
        Ok(vec![
            row(": queries", "a second", Stretch::a_second, None),
            row(" p50", "ms", |stretch| percentile(&stretch.times, 50), None),
            row(" p99", "ms", |stretch| percentile(&stretch.times, 99), Some(Bar::times(QUIET, 2.0))),
            row(": syncs", "a second", |stretch| stretch.syncs as f64 / stretch.seconds, None),
            failed,
        ])
    }

    fn stretch(&mut self, asked: &[String], length: Duration, edits: Option<&mut Random>) -> Result<Stretch> {
        let (subject, corpus, files) = (&self.subject, &self.corpus, &mut self.files);
        let stop = &AtomicBool::new(false);
        let start = Instant::now();
        let mut write = |random: &mut Random, round: usize| {
            edit::append(corpus, files, 1, round, random)?;
            subject.sync(corpus)
        };
        thread::scope(|scope| {
            let read = |reader: usize| {
                let mut stretch = Stretch::default();
                let mine = asked.iter().cycle().skip(reader * asked.len() / READERS);
                for query in mine.take_while(|_| !stop.load(Ordering::Relaxed)) {
                    match timed(|| subject.search(query, K)) {
                        Ok(time) => stretch.times.push(time),
                        Err(_) => stretch.errors += 1,
                    }
                }
                stretch
            };
            let readers: Vec<_> = (0..READERS).map(|reader| scope.spawn(move || read(reader))).collect();
            let mut whole = Stretch::default();
            let mut written = Ok(());
            if let Some(random) = edits {
                written = (0..).take_while(|_| start.elapsed() < length).try_for_each(|round| {
                    write(random, round)?;
                    whole.syncs += 1;
                    Ok(())
                });
            } else {
                thread::sleep(length);
            }
            stop.store(true, Ordering::Relaxed);
            whole.seconds = start.elapsed().as_secs_f64();
            for reader in readers {
                let part = reader.join().map_err(|_| "a reader panicked")?;
                whole.times.extend(part.times);
                whole.errors += part.errors;
            }
            written.map(|()| whole)
        })
    }
}

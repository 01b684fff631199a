//! Rounds: every contender once a round, forwards and backwards in turn, and medians over the rounds.

use std::time::{Duration, Instant};

use crate::Result;

/// Something that is measured: its name and one run of it, which tells how long the part that counts took.
pub struct Contender<'a, T> {
    /// Its name in the report.
    pub name: String,
    /// One run.
    pub run: Box<dyn FnMut() -> Result<T> + 'a>,
}

impl<'a, T> Contender<'a, T> {
    /// Names a run.
    pub fn new(name: &str, run: impl FnMut() -> Result<T> + 'a) -> Self {
        Self { name: name.to_owned(), run: Box::new(run) }
    }
}

/// The milliseconds that `work` takes.
pub fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<f64> {
    let start = Instant::now();
    std::hint::black_box(work()?);
    Ok(milliseconds(start.elapsed()))
}

fn milliseconds(elapsed: Duration) -> f64 {
    elapsed.as_secs_f64() * 1000.0
}

/// Runs each contender once a round, after `before`; every other round backwards. The results are by contender, then
/// by round.
pub fn alternate<T>(
    rounds: usize,
    contenders: &mut [Contender<'_, T>],
    mut before: impl FnMut(usize) -> Result<()>,
) -> Result<Vec<(String, Vec<T>)>> {
    let mut results: Vec<_> = contenders.iter().map(|contender| (contender.name.clone(), Vec::new())).collect();
    for round in 0..rounds {
        before(round)?;
        let mut order: Vec<usize> = (0..contenders.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for place in order {
            let result = (contenders[place].run)().map_err(|error| format!("{}: {error}", results[place].0))?;
            results[place].1.push(result);
        }
    }
    Ok(results)
}

/// The median of some values; 0 of none.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    percentile(values, 50)
}

/// The smallest value that at least `percent` of the values don't exceed; 0 of none.
#[must_use]
pub fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

/// The median over the rounds of each query's time.
#[must_use]
pub fn median_by_query(rounds: &[Vec<f64>]) -> Vec<f64> {
    let queries = rounds.iter().map(Vec::len).min().unwrap_or(0);
    (0..queries).map(|query| median(&rounds.iter().map(|round| round[query]).collect::<Vec<_>>())).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use rstest::rstest;

    use super::*;

    #[test]
    fn the_order_turns_around_every_round() {
        let log = RefCell::new(String::new());
        let contender = |name: &'static str| {
            let log = &log;
            Contender::new(name, move || {
                log.borrow_mut().push_str(name);
                Ok(name.len())
            })
        };
        let mut contenders = [contender("a"), contender("b")];
        let results = alternate(3, &mut contenders, |round| {
            log.borrow_mut().push_str(&round.to_string());
            Ok(())
        });
        assert_eq!(results.unwrap(), [("a".to_owned(), vec![1; 3]), ("b".to_owned(), vec![1; 3])]);
        assert_eq!(*log.borrow(), "0ab1ba2ab");
    }

    #[rstest]
    #[case(&[], 50, 0.0)]
    #[case(&[3.0, 1.0, 2.0], 50, 2.0)]
    #[case(&[4.0, 1.0, 3.0, 2.0], 50, 2.0)]
    #[case(&[4.0, 1.0, 3.0, 2.0], 99, 4.0)]
    #[case(&[4.0, 1.0, 3.0, 2.0], 0, 1.0)]
    fn percentiles_are_values_that_occurred(#[case] values: &[f64], #[case] percent: usize, #[case] expected: f64) {
        assert!((percentile(values, percent) - expected).abs() < f64::EPSILON);
    }

    #[test]
    fn a_querys_time_is_its_median() {
        let rounds = [vec![1.0, 9.0], vec![3.0, 7.0], vec![2.0, 8.0]];
        assert_eq!(median_by_query(&rounds), [2.0, 8.0]);
    }
}

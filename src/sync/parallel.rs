//! A map over tasks on several threads whose results arrive in the order of the tasks, with a bounded number of
//! them under way.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::Result;

struct State<T, R> {
    tasks: std::iter::Enumerate<std::vec::IntoIter<T>>,
    taken: usize,
    delivered: usize,
    done: BTreeMap<usize, R>,
    stopped: bool,
}

struct Shared<T, R> {
    state: Mutex<State<T, R>>,
    changed: Condvar,
}

impl<T, R> Shared<T, R> {
    fn lock(&self) -> MutexGuard<'_, State<T, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, guard: MutexGuard<'a, State<T, R>>) -> MutexGuard<'a, State<T, R>> {
        self.changed.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }
}

/// Stops the others when its worker panics. One that returns has found no more tasks; the others finish theirs.
struct StopOnPanic<'a, T, R>(&'a Shared<T, R>);

impl<T, R> Drop for StopOnPanic<'_, T, R> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

/// Stops the workers when the results are wanted no longer, whether `sink` is through, failed or panicked: a scope waits
/// for its threads before it passes a panic on.
struct StopOnLeave<'a, T, R>(&'a Shared<T, R>);

impl<T, R> Drop for StopOnLeave<'_, T, R> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Runs `work` on each task and hands the results to `sink` in the tasks' order. Each thread makes its tools once
/// with `equip`. At most `2 * threads` results are under way or waiting, so memory is bounded by the tasks' size.
/// The first error of `sink` ends it all.
pub(super) fn ordered<T: Send, W, R: Send>(
    tasks: Vec<T>,
    threads: usize,
    equip: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, T) -> R + Sync,
    mut sink: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    let count = tasks.len();
    let threads = threads.min(count);
    if threads <= 1 {
        let mut tools = equip();
        return tasks.into_iter().try_for_each(|task| sink(work(&mut tools, task)));
    }
    let state =
        State { tasks: tasks.into_iter().enumerate(), taken: 0, delivered: 0, done: BTreeMap::new(), stopped: false };
    let shared = Shared { state: Mutex::new(state), changed: Condvar::new() };
    std::thread::scope(|scope| {
        let _guard = StopOnLeave(&shared);
        for _ in 0..threads {
            scope.spawn(|| run_worker(&shared, 2 * threads, &equip, &work));
        }
        deliver(&shared, count, &mut sink)
    })
}

fn run_worker<T, W, R>(shared: &Shared<T, R>, window: usize, equip: &impl Fn() -> W, work: &impl Fn(&mut W, T) -> R) {
    let _guard = StopOnPanic(shared);
    let mut tools = equip();
    loop {
        let mut state = shared.lock();
        while !state.stopped && state.taken >= state.delivered + window {
            state = shared.wait(state);
        }
        if state.stopped {
            return;
        }
        let Some((index, task)) = state.tasks.next() else { return };
        state.taken += 1;
        drop(state);
        let result = work(&mut tools, task);
        shared.lock().done.insert(index, result);
        shared.changed.notify_all();
    }
}

fn deliver<T, R>(shared: &Shared<T, R>, count: usize, sink: &mut impl FnMut(R) -> Result<()>) -> Result<()> {
    for index in 0..count {
        let mut state = shared.lock();
        let result = loop {
            if let Some(result) = state.done.remove(&index) {
                break result;
            }
            if state.stopped {
                return Ok(());
            }
            state = shared.wait(state);
        };
        state.delivered += 1;
        drop(state);
        shared.changed.notify_all();
        sink(result)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::error::Error;

    #[rstest]
    #[case(0, 4)]
    #[case(1, 4)]
    #[case(100, 1)]
    #[case(100, 4)]
    fn results_arrive_in_order(#[case] count: usize, #[case] threads: usize) {
        let mut seen = Vec::new();
        let work = |(): &mut (), task: usize| {
            std::thread::sleep(std::time::Duration::from_micros((task % 7 * 50) as u64));
            task * 2
        };
        ordered(
            (0..count).collect(),
            threads,
            || (),
            work,
            |result| {
                seen.push(result);
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(seen, (0..count).map(|task| task * 2).collect::<Vec<_>>());
    }

    #[test]
    fn an_error_in_the_sink_ends_it() {
        let mut seen = 0;
        let result = ordered(
            (0..1000).collect(),
            4,
            || (),
            |(): &mut (), task: u32| task,
            |_| {
                seen += 1;
                if seen == 10 { Err(Error::Invalid { message: "enough".into() }) } else { Ok(()) }
            },
        );
        assert!(result.is_err());
        assert_eq!(seen, 10);
    }

    #[test]
    #[should_panic(expected = "enough")]
    fn a_panic_of_the_sink_is_passed_on() {
        let sink = |task| if task == 50 { panic!("enough") } else { Ok(()) };
        let _ = ordered((0..1000).collect(), 4, || (), |(): &mut (), task: u32| task, sink);
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_of_a_worker_is_passed_on() {
        let _ = ordered((0..100).collect(), 4, || (), |(): &mut (), task: u32| assert_ne!(task, 50), |()| Ok(()));
    }
}

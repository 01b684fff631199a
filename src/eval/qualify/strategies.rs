//! The strategies of `answer` side by side: how many questions they answer whole, and for how many calls.

use super::built_in::share;
use super::facts::FACTS;
use super::{Bound, Experiment, NONE};
use crate::answer::{AnswerRequest, Extractive, Strategy};
use crate::error::Result;
use crate::model::Principal;
use crate::store::Store;

const TOP_K: usize = 3;
const MAX_CALLS: u32 = 4;

/// Questions that ask for two things, by the places of their facts.
const COMPOUND: [(&str, [usize; 2]); 4] = [
    ("Within how many days may a customer ask for a refund, and what does error E42 mean?", [0, 2]),
    ("What do E42 and E17 mean?", [2, 3]),
    ("审计日志保留多少天？境内住宿每晚上限是多少？", [8, 10]),
    ("When is a key rotated? How many KiB may the body of a request have?", [5, 6]),
];

/// How a strategy did.
#[derive(Default)]
struct Tally {
    asked: usize,
    whole: usize,
    calls: usize,
}

/// Puts every question to every strategy.
pub(super) fn compare(store: &Store) -> Result<Vec<Experiment>> {
    let single = tally(store, Strategy::Single)?;
    let mut experiments = Vec::new();
    for strategy in Strategy::ALL {
        let tally = tally(store, strategy)?;
        let name = format!("strategy_{}", strategy.as_str());
        let success = [single.success(), tally.success()];
        let success = Experiment::new(&name, NONE, "success_rate", success, single.success()).held(Bound::AtLeast);
        experiments.push(success.times(tally.asked));
        let calls = [single.average_calls(), tally.average_calls()];
        let calls = Experiment::new(&name, NONE, "average_calls", calls, MAX_CALLS.into()).held(Bound::AtMost);
        experiments.push(calls.times(tally.asked));
    }
    Ok(experiments)
}

fn tally(store: &Store, strategy: Strategy) -> Result<Tally> {
    let simple = FACTS.iter().enumerate().map(|(at, fact)| (fact.question, vec![at]));
    let compound = COMPOUND.iter().map(|(question, facts)| (*question, facts.to_vec()));
    let mut tally = Tally::default();
    for (question, facts) in simple.chain(compound) {
        let request =
            AnswerRequest { strategy, top_k: TOP_K, max_calls: MAX_CALLS, ..AnswerRequest::new(question, &Extractive) };
        let answer = store.answer(&Principal::operator(), &request)?;
        // What was asked for is looked at when the answer is made.
        let states =
            |&at: &usize| answer.published.iter().any(|published| published.span.text.contains(FACTS[at].claim));
        tally.asked += 1;
        tally.whole += usize::from(facts.iter().all(states));
        tally.calls += answer.calls as usize;
    }
    Ok(tally)
}

impl Tally {
    fn success(&self) -> f64 {
        share(self.whole, self.asked)
    }

    fn average_calls(&self) -> f64 {
        share(self.calls, self.asked)
    }
}

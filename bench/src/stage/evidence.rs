//! From a question to evidence, and from an answer of ten claims to verdicts.

use super::Bench;
use crate::measure::{Contender, alternate, median, median_by_query, timed};
use crate::report::Row;
use crate::{Result, queries, subject};

const CLAIMS: usize = 10;
/// The most questions that are asked.
const QUESTIONS: usize = 100;

impl Bench {
    /// `context` for a question, and `verify` of an answer whose claims are lines of that evidence.
    pub fn evidence(&mut self) -> Result<Vec<Row>> {
        let subject = &self.subject;
        let (mut questions, mut answers) = (queries::questions(&self.files, self.queries.min(QUESTIONS)), Vec::new());
        let mut context = Vec::new();
        for question in &questions {
            context.push(subject.context(question)?);
        }
        for (evidence, question) in context.iter().zip(&mut questions) {
            match evidence.quotes(CLAIMS) {
                Some(answer) => answers.push((evidence, answer)),
                None => question.clear(), // its evidence has too few lines
            }
        }
        questions.retain(|question| !question.is_empty());

        let mut refused = 0;
        for (evidence, answer) in &answers {
            refused += CLAIMS - subject.verified(evidence, answer)?;
        }
        if refused > 0 {
            eprintln!("{refused} of {} claims are not verified: the row does not count", CLAIMS * answers.len());
        }
        let times = |work: &mut dyn FnMut() -> Result<Vec<f64>>| -> Result<f64> {
            let rounds = alternate(self.rounds, &mut [Contender::new(subject::NAME, work)], |_| Ok(()))?;
            Ok(rounds.iter().map(|(_, times)| median(&median_by_query(times))).sum())
        };
        let context = times(&mut || questions.iter().map(|question| timed(|| subject.context(question))).collect())?;
        let verify = times(&mut || {
            answers.iter().map(|(evidence, answer)| timed(|| subject.verified(evidence, answer))).collect()
        })?;
        let row = |name: &str, figure| Row::new(name, self.scale, "ms", vec![(subject::NAME.to_owned(), figure)], None);
        Ok(vec![row("context p50", context), row("verify, 10 claims p50", verify).counts_if(refused == 0)])
    }
}

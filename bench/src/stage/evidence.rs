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
        // Only questions whose evidence has ten lines that prove what they say.
        let (mut questions, mut answers) = (Vec::new(), Vec::new());
        for question in queries::questions(&self.files, self.queries.min(QUESTIONS)) {
            let evidence = subject.context(&question)?;
            if let Some(answer) = subject.answer(&evidence, CLAIMS)? {
                questions.push(question);
                answers.push((evidence, answer));
            }
        }
        if answers.is_empty() {
            return Ok(Vec::new());
        }
        let contexts = || questions.iter().map(|question| timed(|| subject.context(question))).collect();
        let verdicts =
            || answers.iter().map(|(evidence, answer)| timed(|| subject.verified(evidence, answer))).collect();
        let mut contenders = [Contender::new("context", contexts), Contender::new("verify, 10 claims", verdicts)];
        let rounds: Vec<(String, Vec<Vec<f64>>)> = alternate(self.rounds, &mut contenders, |_| Ok(()))?;
        let row = |(name, times): &(String, Vec<Vec<f64>>)| {
            let figures = vec![(subject::NAME.to_owned(), median(&median_by_query(times)))];
            Row::new(&format!("{name} p50"), self.scale, "ms", figures, None)
        };
        Ok(rounds.iter().map(row).collect())
    }
}

//! `ragdb answers`: the kept answers, and what has become of the evidence of those that were published.

use std::io;

use ragdb::{Impact, StoredAnswer};
use serde::Serialize;

use crate::args::AnswersArgs;
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{Align, Role, Screen, Table, View, clean, optional, short};

/// Runs the verb.
pub fn run(args: &AnswersArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let store = context.open_read_only()?;
    if args.impact {
        let view =
            ImpactView { impact: store.impact(&args.reader.principal()?)?.iter().map(ImpactLine::from).collect() };
        context.print(&view)?;
        return Ok(Outcome::of(view.impact.is_empty()));
    }
    let answers = store.answers(&args.reader.principal()?, args.limit.unwrap_or(u64::MAX))?;
    if answers.is_empty() && !context.json {
        context.note("no answer is kept");
    }
    context.print(&AnswersView { answers: answers.iter().map(AnswerLine::from).collect() })?;
    Ok(Outcome::Done)
}

#[derive(Serialize)]
struct AnswersView {
    answers: Vec<AnswerLine>,
}

#[derive(Serialize)]
struct AnswerLine {
    answer_id: String,
    run_id: String,
    created_at: String,
    query: String,
    synthesiser: String,
    passed: bool,
    stop_reason: Option<String>,
    verified: u32,
    claims: u32,
}

impl From<&StoredAnswer> for AnswerLine {
    fn from(answer: &StoredAnswer) -> Self {
        Self {
            answer_id: answer.answer_id.clone(),
            run_id: answer.run_id.clone(),
            created_at: answer.created_at.clone(),
            query: answer.query.clone(),
            synthesiser: answer.synthesiser.clone(),
            passed: answer.passed,
            stop_reason: answer.stop_reason.clone(),
            verified: answer.verified,
            claims: answer.claims,
        }
    }
}

impl View for AnswersView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        if self.answers.is_empty() {
            return Ok(());
        }
        let headings = ["answer", "run", "judged", "by", "ended", "verified", "query"].map(|name| (name, Align::Left));
        let mut table = Table::new(headings, 60);
        for answer in &self.answers {
            table.row([
                short(&answer.answer_id).to_owned(),
                short(&answer.run_id).to_owned(),
                answer.created_at.clone(),
                answer.synthesiser.clone(),
                optional(answer.stop_reason.as_ref()),
                format!("{} of {}", answer.verified, answer.claims),
                answer.query.clone(),
            ]);
        }
        table.write(screen, 0)
    }
}

#[derive(Serialize)]
struct ImpactView {
    impact: Vec<ImpactLine>,
}

#[derive(Serialize)]
struct ImpactLine {
    answer_id: String,
    created_at: String,
    query: String,
    claim: u32,
    text: String,
    r#ref: String,
    citation: String,
    chunk_id: String,
    change: &'static str,
}

impl From<&Impact> for ImpactLine {
    fn from(impact: &Impact) -> Self {
        Self {
            answer_id: impact.answer_id.clone(),
            created_at: impact.created_at.clone(),
            query: impact.query.clone(),
            claim: impact.claim,
            text: impact.text.clone(),
            r#ref: impact.reference.clone(),
            citation: impact.citation.to_string(),
            chunk_id: impact.chunk_id.clone(),
            change: impact.change.as_str(),
        }
    }
}

impl View for ImpactView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let palette = screen.palette;
        if self.impact.is_empty() {
            return writeln!(screen.out, "no kept answer rests on anything that changed");
        }
        for line in &self.impact {
            let (answer, citation) = (short(&line.answer_id), clean::one_line(&line.citation));
            let change = palette.paint(Role::Bad, line.change);
            writeln!(screen.out, "{answer}  {}  {change}", palette.paint(Role::Place, &citation))?;
            writeln!(screen.out, "    {}", clean::one_line(&line.text))?;
        }
        Ok(())
    }
}

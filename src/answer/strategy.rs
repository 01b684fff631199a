//! When the store is searched once more. Knows the question, what was shown so far and the call budget.

use std::collections::HashSet;

use serde_json::json;

use super::contract::{self, Part};
use super::grounds::{Gathered, Grounds};
use super::types::Strategy;
use crate::error::Result;
use crate::evidence::RunEvent;
use crate::evidence::prompt::EvidenceBlock;
use crate::lexicon::{Lexer, TermCounts};

/// Why no further search was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// The strategy asks once.
    Single,
    /// Every part of the question has evidence.
    Covered,
    /// Every part without evidence was searched for, or the last call of an adaptive strategy showed nothing new.
    NoProgress,
    /// The call budget is used up, and a part without evidence was not searched for.
    Budget,
}

impl Halt {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Covered => "covered",
            Self::NoProgress => "no_progress",
            Self::Budget => "call_budget",
        }
    }
}

/// What the searches came to.
pub(super) struct Searched {
    /// The evidence of all calls.
    pub gathered: Gathered,
    /// How many calls there were.
    pub calls: u32,
    /// Why there were no more.
    pub halt: Halt,
    /// An event for each call.
    pub calls_made: Vec<RunEvent>,
    /// The event of the last decision.
    pub stopped: RunEvent,
}

/// Searches for the question, and for its parts as far as the strategy and the budget go.
pub(super) fn search(query: &str, strategy: Strategy, max_calls: u32, grounds: &mut dyn Grounds) -> Result<Searched> {
    let mut lexer = Lexer::new();
    let parts = contract::parts(query, &mut lexer);
    let mut asked = vec![query.to_owned()];
    let mut seen = HashSet::new();
    let mut calls_made = Vec::new();
    loop {
        let gathered = grounds.retrieve(&asked)?;
        let shown = gathered.manifest.shown.iter();
        let new = shown.filter(|shown| seen.insert(shown.chunk_id.clone())).count();
        calls_made.push(call(&asked, &gathered, new));
        let open = open_parts(&parts, &gathered.blocks, strategy, &mut lexer);
        let next = open.iter().find(|part| !asked.contains(&part.query));
        let calls = u32::try_from(asked.len()).unwrap_or(u32::MAX);
        let halt = match next {
            _ if strategy == Strategy::Single => Halt::Single,
            _ if open.is_empty() => Halt::Covered,
            None => Halt::NoProgress,
            Some(_) if strategy == Strategy::Adaptive && calls > 1 && new == 0 => Halt::NoProgress,
            Some(_) if calls >= max_calls => Halt::Budget,
            Some(part) => {
                asked.push(part.query.clone());
                continue;
            }
        };
        let uncovered: Vec<&str> = open.iter().map(|part| part.query.as_str()).collect();
        let detail = json!({ "reason": halt.as_str(), "calls": calls, "parts": parts.len(), "uncovered": uncovered });
        return Ok(Searched { gathered, calls, halt, calls_made, stopped: event("strategy_stopped", detail) });
    }
}

fn call(asked: &[String], gathered: &Gathered, new: usize) -> RunEvent {
    let detail = json!({
        "call": asked.len(),
        "query": asked.last(),
        "shown": gathered.manifest.shown.len(),
        "new": new,
    });
    event("retrieval_call", detail)
}

/// An event of a run; `detail` is an object.
pub(super) fn event(name: &str, detail: serde_json::Value) -> RunEvent {
    let detail = if let serde_json::Value::Object(detail) = detail { detail } else { serde_json::Map::new() };
    RunEvent { name: name.to_owned(), detail }
}

/// The parts that the blocks do not cover.
fn open_parts<'p>(parts: &'p [Part], blocks: &[EvidenceBlock], strategy: Strategy, lexer: &mut Lexer) -> Vec<&'p Part> {
    let mut counts = TermCounts::new();
    let mut terms = |block: &EvidenceBlock| {
        lexer.chunk_terms(&block.heading, &[], &block.body, &mut counts);
        counts.iter().map(|(term, _)| term.to_owned()).collect::<HashSet<String>>()
    };
    let mut texts: Vec<HashSet<String>> = blocks.iter().map(&mut terms).collect();
    if strategy == Strategy::Adaptive {
        texts = vec![texts.into_iter().flatten().collect()];
    }
    let covered = |part: &&Part| texts.iter().any(|text| part.is_covered(|term| text.contains(term)));
    parts.iter().filter(|part| !covered(part)).collect()
}

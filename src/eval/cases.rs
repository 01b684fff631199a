//! The cases of an evaluation, a JSON object a line: what is asked, and apart from it what is expected. Pure but for
//! the opening of the file.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;

use super::jsonl::{invalid, records};
use super::threshold::Threshold;
use super::unit::Unit;
use crate::error::{Error, Result};
use crate::model::Principal;

/// What a run is given of a case. It has no field for a label, so that no run can look at one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaseRequest {
    /// The case's id.
    pub id: String,
    /// The question.
    pub query: String,
    /// How many hits count and how many blocks are shown, where the case says so.
    pub top_k: Option<usize>,
    /// The budget of its prompt in characters, where the case says so.
    pub max_chars: Option<usize>,
    /// Who asks: the operator, where the case does not say so.
    pub principal: Principal,
}

/// What is expected of a case: looked at when every run is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Labels {
    /// What answers the question; `None` where that is not known.
    pub(crate) relevant: Option<Vec<Unit>>,
    /// What must not be shown.
    pub(crate) forbidden: Vec<Unit>,
    /// Nothing answers the question: there must be no evidence.
    pub(crate) expect_abstain: bool,
    /// Sentences that a complete answer establishes.
    pub(crate) expected_facts: Vec<String>,
}

/// Labelled questions, and thresholds for how they are answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvalSet {
    requests: Vec<CaseRequest>,
    labels: Vec<Labels>,
    thresholds: Vec<Threshold>,
}

impl EvalSet {
    /// Reads a file of cases, one JSON object a line.
    ///
    /// # Errors
    /// [`Error::Io`] where it can't be read, [`Error::Invalid`], which names the line, where it is not what it should be.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        Self::read(BufReader::new(file), path)
    }

    /// Reads cases from a text; `name` stands for the file in messages.
    ///
    /// # Errors
    /// [`Error::Invalid`], which names the line, where it is not what it should be.
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        Self::read(text.as_bytes(), Path::new(name))
    }

    fn read(reader: impl BufRead, path: &Path) -> Result<Self> {
        let mut set = Self::default();
        let mut ids = HashSet::new();
        for record in records(reader, path) {
            let (number, line): (u64, Line) = record?;
            match line.meant().map_err(|message| invalid(path, number, &message))? {
                Meant::Case(request, labels) => {
                    if !ids.insert(request.id.clone()) {
                        return Err(invalid(path, number, &format!("case {:?} comes twice", request.id)));
                    }
                    set.requests.push(*request);
                    set.labels.push(labels);
                }
                Meant::Thresholds(thresholds) => {
                    for threshold in thresholds {
                        if set.thresholds.iter().any(|known| known.metric == threshold.metric) {
                            let message = format!("{} has two thresholds", threshold.metric);
                            return Err(invalid(path, number, &message));
                        }
                        set.thresholds.push(threshold);
                    }
                }
            }
        }
        if set.requests.is_empty() {
            return Err(Error::Invalid { message: format!("{} has no case", path.display()) });
        }
        Ok(set)
    }

    /// What the runs are given, in the order of the file.
    #[must_use]
    pub fn requests(&self) -> &[CaseRequest] {
        &self.requests
    }

    /// What is expected, in the order of the file.
    pub(super) fn labels(&self) -> &[Labels] {
        &self.labels
    }

    /// The thresholds of the file.
    #[must_use]
    pub fn thresholds(&self) -> &[Threshold] {
        &self.thresholds
    }
}

/// A line as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(alias = "case_id")]
    id: Option<String>,
    query: Option<String>,
    #[serde(alias = "expected_sources")]
    relevant: Option<Vec<String>>,
    #[serde(alias = "forbidden_sources")]
    forbidden: Option<Vec<String>>,
    expect_abstain: Option<bool>,
    expected_facts: Option<Vec<String>>,
    top_k: Option<usize>,
    #[serde(alias = "prompt_budget_chars")]
    max_chars: Option<usize>,
    principal: Option<Value>,
    thresholds: Option<Limits>,
}

/// A line as it is meant.
enum Meant {
    Case(Box<CaseRequest>, Labels),
    Thresholds(Vec<Threshold>),
}

/// The most hits of a case that can count.
const MOST_HITS: usize = 1000;

impl Line {
    fn meant(self) -> std::result::Result<Meant, String> {
        let Self {
            id,
            query,
            relevant,
            forbidden,
            expect_abstain,
            expected_facts,
            top_k,
            max_chars,
            principal,
            thresholds,
        } = self;
        if let Some(Limits(limits)) = thresholds {
            let alone = id.is_none() && query.is_none() && relevant.is_none() && forbidden.is_none();
            let bounded = top_k.is_some() || max_chars.is_some() || principal.is_some();
            if !alone || expected_facts.is_some() || expect_abstain.is_some() || bounded {
                return Err("thresholds stand on a line of their own".into());
            }
            let thresholds = limits.into_iter().map(|(metric, limit)| Threshold::new(&metric, limit));
            return thresholds.collect::<Result<_>>().map(Meant::Thresholds).map_err(|error| error.to_string());
        }
        let id = id.ok_or("the case has no id")?;
        let query = query.ok_or_else(|| format!("case {id:?} has no query"))?;
        if id.trim().is_empty() || query.trim().is_empty() {
            return Err("a case's id or query is empty".into());
        }
        if top_k.is_some_and(|top_k| !(1..=MOST_HITS).contains(&top_k)) {
            return Err(format!("top_k must be 1 to {MOST_HITS}"));
        }
        let units = |labels: Vec<String>| labels.iter().map(|label| Unit::parse(label)).collect();
        let relevant: Option<Vec<Unit>> = relevant.map(units).transpose()?;
        let expected_facts = expected_facts.unwrap_or_default();
        if expected_facts.iter().any(|fact| fact.trim().is_empty()) {
            return Err("an expected fact is empty".into());
        }
        let is_answered = relevant.as_ref().is_some_and(|units| !units.is_empty()) || !expected_facts.is_empty();
        let expect_abstain = match expect_abstain {
            Some(true) if is_answered => {
                return Err("the case is to abstain, and names something relevant or an expected fact".into());
            }
            Some(expected) => expected,
            None => relevant.is_some() && !is_answered,
        };
        let labels =
            Labels { relevant, forbidden: units(forbidden.unwrap_or_default())?, expect_abstain, expected_facts };
        let principal = principal.as_ref().map_or_else(|| Ok(Principal::operator()), reader)?;
        Ok(Meant::Case(Box::new(CaseRequest { id, query, top_k, max_chars, principal }), labels))
    }
}

/// Who asks: `"public"`, or an object as [`Principal::from_json`] reads it.
fn reader(value: &Value) -> std::result::Result<Principal, String> {
    if value == "public" {
        return Ok(Principal::public());
    }
    Principal::from_json(&value.to_string()).map_err(|error| error.to_string())
}

/// Metric names and limits, in the order of the file; a name that comes twice is kept twice.
struct Limits(Vec<(String, f64)>);

impl<'de> Deserialize<'de> for Limits {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Limits;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of metrics and numbers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Limits, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Limits(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

#[cfg(test)]
mod tests;

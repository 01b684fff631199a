//! What a model proposes: an answer as claims with citations, read from the forms that models give. Pure; hostile input.
//!
//! JSON is `{"claims": [{"text", "citations": [{"ref", "quote"}]}]}`, also in one fence. Text is prose in which `[S1]`
//! marks what was said before it: each sentence, list item and table row is a claim, one without a mark has no citation,
//! and nothing is left out but titles and lists of sources. The forms of common APIs are text whose marks stand beside
//! it. What a model thought before its answer (`<think>…</think>`) is no part of it.

mod api;
mod json;
mod marks;
mod sentences;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::error::{Error, Result};

/// The longest answer that is read.
const MOST_BYTES: usize = 4 << 20;
/// The most claims of an answer.
pub(crate) const MOST_CLAIMS: usize = 200;
/// The most citations of a claim.
pub(crate) const MOST_CITATIONS: usize = 20;

/// What is said where nothing is supported, by a model as by ragdb. It claims nothing.
pub const NOT_SUPPORTED: &str = "Not supported by the corpus.";

/// In which form an answer is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AnswerFormat {
    /// Told from the text: JSON by its field `claims`, an API's response by its fields, else text.
    #[default]
    Auto,
    /// `{"claims": [{"text", "citations": [{"ref", "quote"}]}]}`.
    Json,
    /// Prose with `[S1]` marks.
    Text,
    /// The response of a common API: Anthropic's messages with their citations, or OpenAI's chat completions and
    /// responses.
    Api,
}

impl AnswerFormat {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Json, Self::Text, Self::Api];

    /// The stable name, on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Json => "json",
            Self::Text => "text",
            Self::Api => "api",
        }
    }
}

/// An answer that was proposed and not yet judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposedAnswer {
    /// Its claims, in order.
    pub claims: Vec<ProposedClaim>,
}

/// One statement, and what it is said to rest on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposedClaim {
    /// The statement, without the marks of its citations.
    pub text: String,
    /// What it cites; a claim without citations can't be verified.
    pub citations: Vec<ProposedCitation>,
}

/// One citation of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProposedCitation {
    /// A label of the run (`S1`) or a chunk id.
    pub reference: String,
    /// What it says stands there, word for word.
    pub quote: Option<String>,
    /// Where in the cited chunk it says the quote stands: characters (Unicode scalar values), from 0, end excluded.
    pub range: Option<Range<usize>>,
}

impl ProposedAnswer {
    /// Reads an answer. `labels` are those of the run, in order: an API that counts documents means them by number.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the text is not of the format, or is longer or holds more than an answer may.
    pub fn parse(text: &str, format: AnswerFormat, labels: &[String]) -> Result<Self> {
        if text.len() > MOST_BYTES {
            return Err(invalid(format!("the answer has {} bytes; at most {MOST_BYTES} are read", text.len())));
        }
        let text = spoken(text.trim_start_matches('\u{feff}').trim())?;
        if is_abstention(text) {
            return Ok(Self::default());
        }
        let mut answer = match format {
            AnswerFormat::Json => json::parse(text)?,
            AnswerFormat::Text => marks::parse(text, &[], labels)?,
            AnswerFormat::Api => api::parse(text, labels)?,
            AnswerFormat::Auto => match api::detect(text)? {
                AnswerFormat::Json => json::parse(text)?,
                AnswerFormat::Api => api::parse(text, labels)?,
                _ => marks::parse(text, &[], labels)?,
            },
        };
        if answer.claims.len() > MOST_CLAIMS {
            return Err(invalid(format!(
                "the answer has {} claims; at most {MOST_CLAIMS} are read",
                answer.claims.len()
            )));
        }
        for (claim, number) in answer.claims.iter().zip(1..) {
            if claim.citations.len() > MOST_CITATIONS {
                let count = claim.citations.len();
                return Err(invalid(format!(
                    "claim {number} has {count} citations; at most {MOST_CITATIONS} are read"
                )));
            }
        }
        if answer.claims_nothing() {
            answer.claims.clear();
        }
        Ok(answer)
    }

    /// Whether it has no claims, or says only that nothing is supported.
    pub(crate) fn claims_nothing(&self) -> bool {
        self.claims.iter().all(|claim| claim.citations.is_empty() && is_abstention(&claim.text))
    }
}

/// Whether a text says that nothing is supported, and no more.
fn is_abstention(text: &str) -> bool {
    let bare = |text: &str| text.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
    text.len() < 2 * NOT_SUPPORTED.len() && bare(text) == bare(NOT_SUPPORTED)
}

/// A text without what its author thought before it.
fn spoken(text: &str) -> Result<&str> {
    let Some(thought) = text.strip_prefix("<think>") else { return Ok(text) };
    match thought.split_once("</think>") {
        Some((_, said)) => Ok(said.trim()),
        None => Err(invalid("the answer ends before its <think> block does")),
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::Invalid { message: message.into() }
}

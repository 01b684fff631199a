//! `{"claims": [{"text", "citations": [{"ref", "quote"}]}]}`, with the right types or not at all. Other fields are
//! passed over: models add a confidence or a note. A field given twice is refused, for readers differ in which counts.

use serde::Deserialize;

use super::{ProposedAnswer, ProposedCitation, ProposedClaim, invalid};
use crate::error::Result;

#[derive(Deserialize)]
struct Answer {
    claims: Vec<Claim>,
}

#[derive(Deserialize)]
struct Claim {
    text: String,
    #[serde(default)]
    citations: Vec<Citation>,
}

#[derive(Deserialize)]
struct Citation {
    r#ref: String,
    #[serde(default)]
    quote: Option<String>,
}

pub(super) fn parse(text: &str) -> Result<ProposedAnswer> {
    let answer: Answer = serde_json::from_str(unfenced(text)).map_err(|error| {
        invalid(format!("the answer is not {{\"claims\": [{{\"text\", \"citations\"}}]}}: {error}"))
    })?;
    // Where nothing is said nothing is claimed.
    let said = answer.claims.into_iter().filter(|claim| !claim.text.trim().is_empty());
    let claims = said.map(|claim| ProposedClaim {
        text: claim.text.trim().to_owned(),
        citations: claim.citations.into_iter().map(ProposedCitation::from).collect(),
    });
    Ok(ProposedAnswer { claims: claims.collect() })
}

impl From<Citation> for ProposedCitation {
    fn from(citation: Citation) -> Self {
        let reference = citation.r#ref.trim();
        // Models write the label as they saw it.
        let inside = |(open, close)| reference.strip_prefix(open)?.strip_suffix(close);
        let bare = [('[', ']'), ('【', '】')].into_iter().find_map(inside).unwrap_or(reference);
        Self { reference: bare.trim().to_owned(), quote: citation.quote, range: None }
    }
}

/// The text inside a single fence, where all of it is one.
pub(super) fn unfenced(text: &str) -> &str {
    let inside = || {
        let rest = text.strip_prefix("```")?.strip_suffix("```")?;
        let (info, body) = rest.split_once('\n')?;
        let info = info.trim();
        (info.is_empty() || info.eq_ignore_ascii_case("json")).then_some(body.trim())
    };
    inside().unwrap_or(text)
}

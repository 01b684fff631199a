//! What a model proposes: an answer as claims with citations, read from the forms that models give. Pure; hostile input.

use std::ops::Range;

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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposedCitation {
    /// A label of the run (`S1`) or a chunk id.
    pub reference: String,
    /// What it says stands there, word for word.
    pub quote: Option<String>,
    /// Where in the cited chunk it says the quote stands: characters (Unicode scalar values), from 0, end excluded.
    pub range: Option<Range<usize>>,
}

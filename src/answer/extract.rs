//! The synthesiser that needs no model: sentences of the evidence, word for word. Deterministic.

use std::collections::HashSet;
use std::ops::Range;

use super::contract::{self, Part};
use super::synthesis::{Proposal, SynthesisTask, Synthesiser};
use crate::error::Result;
use crate::evidence::prompt::EvidenceBlock;
use crate::gate::proposal::{ProposedAnswer, ProposedCitation, ProposedClaim};
use crate::gate::{claim, quote};
use crate::lexicon::{FloorRule, Lexer, TermCounts};

/// What a piece without a sentence's beginning or end counts: the lines of a chunk can begin or end inside one, and what
/// an item of a list means depends on what is above it.
const FRAGMENT: f64 = 0.6;
/// What the headings above a sentence count, beside what it has itself.
const HEADING_SHARE: f64 = 0.5;
/// What a number is worth where the question asks for one.
const NUMBER_BONUS: f64 = 0.15;
/// A second sentence for a part has this much of the first one's score, and something that it has not.
const SECOND_BEST: f64 = 0.6;
/// Sentences of one part.
const MOST_OF_A_PART: usize = 2;

/// Proposes the sentences of the evidence that have most of each part of the question, each with itself as its quote;
/// abstains where none has enough.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extractive;

impl Synthesiser for Extractive {
    fn propose(&self, task: &SynthesisTask<'_>) -> Result<Proposal> {
        let mut lexer = Lexer::new();
        let parts = contract::parts(task.query, &mut lexer);
        let rejected: HashSet<&str> = task.faults.iter().filter_map(|fault| fault.claim.as_deref()).collect();
        let mut sentences = Sentence::all(task.blocks, &mut lexer);
        sentences.retain(|sentence| !rejected.contains(sentence.claim.as_str()));
        let mut chosen: Vec<usize> = Vec::new();
        for part in &parts {
            for index in choose(part, &sentences) {
                if !chosen.contains(&index) {
                    chosen.push(index);
                }
            }
        }
        let claims = chosen.into_iter().map(|index| sentences[index].proposed()).collect::<Vec<_>>();
        Ok(if claims.is_empty() { Proposal::Abstain } else { Proposal::Answer(ProposedAnswer { claims }) })
    }

    fn name(&self) -> &'static str {
        "extractive"
    }

    fn identity(&self) -> Option<String> {
        Some(self.name().to_owned())
    }
}

/// A sentence of a block, a row of a table, a line of code.
struct Sentence<'a> {
    block: &'a EvidenceBlock,
    /// The block's place.
    place: usize,
    /// The sentence, verbatim.
    quote: &'a str,
    /// The same on one line.
    claim: String,
    terms: HashSet<String>,
    /// The terms of the headings above it.
    above: std::rc::Rc<HashSet<String>>,
    has_number: bool,
    is_whole: bool,
}

impl<'a> Sentence<'a> {
    fn all(blocks: &'a [EvidenceBlock], lexer: &mut Lexer) -> Vec<Self> {
        let mut counts = TermCounts::new();
        let mut found: Vec<Self> = Vec::new();
        let mut known = HashSet::new();
        for (place, block) in blocks.iter().enumerate() {
            lexer.chunk_terms(&block.heading, &[], "", &mut counts);
            let above = std::rc::Rc::new(counts.iter().map(|(term, _)| term.to_owned()).collect::<HashSet<_>>());
            for range in sentences(&block.body) {
                let quote = &block.body[range];
                lexer.chunk_terms("", &[], quote, &mut counts);
                let claim = on_one_line(quote);
                let asks = quote.ends_with(['?', '？']);
                if asks || !quote::is_long_enough(quote) || !known.insert(claim.clone()) {
                    continue;
                }
                found.push(Self {
                    block,
                    place,
                    quote,
                    claim,
                    terms: counts.iter().map(|(term, _)| term.to_owned()).collect(),
                    above: above.clone(),
                    has_number: quote.chars().any(char::is_numeric),
                    is_whole: is_whole(quote),
                });
            }
        }
        found
    }

    fn proposed(&self) -> ProposedClaim {
        let (reference, quote) = (self.block.label.clone(), Some(self.quote.to_owned()));
        ProposedClaim { text: self.claim.clone(), citations: vec![ProposedCitation { reference, quote, range: None }] }
    }
}

/// The sentences for one part, best first.
fn choose(part: &Part, sentences: &[Sentence<'_>]) -> Vec<usize> {
    let scorer = Scorer::new(part, sentences);
    let mut scored: Vec<(f64, usize)> =
        (0..sentences.len()).filter_map(|index| Some((scorer.score(&sentences[index])?, index))).collect();
    // Of two equal ones, that of the better block, and there the first.
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut chosen: Vec<usize> = Vec::new();
    let mut has: HashSet<usize> = HashSet::new();
    for &(score, index) in &scored {
        let units = scorer.units(&sentences[index]);
        let more = sentences[index].is_whole && score >= SECOND_BEST * scored[0].0 && !units.is_subset(&has);
        let adds = chosen.is_empty() || more;
        if adds && chosen.len() < MOST_OF_A_PART {
            has.extend(units);
            chosen.push(index);
            chosen.extend(announced(index, sentences));
        }
    }
    chosen
}

/// What a sentence with a colon at its end announces.
fn announced(index: usize, sentences: &[Sentence<'_>]) -> Option<usize> {
    let next = index + 1;
    let same = sentences.get(next).is_some_and(|following| following.place == sentences[index].place);
    (same && sentences[index].quote.ends_with([':', '：'])).then_some(next)
}

/// Scores sentences by the share of a part's information that they have, among these sentences.
struct Scorer<'p> {
    part: &'p Part,
    rule: FloorRule,
    asks_number: bool,
}

impl<'p> Scorer<'p> {
    #[expect(clippy::cast_precision_loss, reason = "as many as a prompt has sentences")]
    fn new(part: &'p Part, sentences: &[Sentence<'_>]) -> Self {
        let count = sentences.len() as f64;
        let having = |term: &str| sentences.iter().filter(|sentence| sentence.terms.contains(term)).count();
        let df: Vec<usize> = part.lexed.terms.iter().map(|term| having(&term.term)).collect();
        let idf: Vec<f64> = df.iter().map(|&df| (1.0 + (count - df as f64 + 0.5) / (df as f64 + 0.5)).ln()).collect();
        let df: Vec<u64> = df.into_iter().map(|df| df as u64).collect();
        let rule = FloorRule::new(&part.lexed, &idf, &df, 0, 0.0);
        Self { part, rule, asks_number: asks_for_a_number(&part.query) }
    }

    /// `None` where the sentence is no answer to the part, even under its headings.
    fn score(&self, sentence: &Sentence<'_>) -> Option<f64> {
        let own = |term: usize| sentence.terms.contains(&self.part.lexed.terms[term].term);
        let with_headings = |term: usize| own(term) || sentence.above.contains(&self.part.lexed.terms[term].term);
        let share = self.rule.share(own);
        let covered = self.part.is_covered(|term| sentence.terms.contains(term) || sentence.above.contains(term));
        if share <= 0.0 || !covered {
            return None;
        }
        let headings = HEADING_SHARE * (self.rule.share(with_headings) - share);
        let number = if self.asks_number && sentence.has_number { NUMBER_BONUS } else { 0.0 };
        let whole = if sentence.is_whole { 1.0 } else { FRAGMENT };
        Some(whole * (share + headings + number))
    }

    /// Which units of the part a sentence has.
    fn units(&self, sentence: &Sentence<'_>) -> HashSet<usize> {
        let has = |&term: &usize| sentence.terms.contains(&self.part.lexed.terms[term].term);
        let units = self.part.lexed.units.iter().enumerate();
        units.filter(|(_, unit)| unit.primary.iter().any(has)).map(|(index, _)| index).collect()
    }
}

fn asks_for_a_number(question: &str) -> bool {
    const ENGLISH: [&str; 8] =
        ["how many", "how much", "how long", "how often", "how old", "how big", "when ", "what percentage"];
    const CHINESE: [&str; 5] = ["多少", "几", "多久", "多长", "何时"];
    let folded = question.to_lowercase();
    ENGLISH.iter().chain(&CHINESE).any(|words| folded.contains(words))
}

/// The sentences of a Markdown text, its list items, rows of tables and lines of code, in order; not its headings, HTML,
/// templates and definitions of links.
fn sentences(text: &str) -> impl Iterator<Item = Range<usize>> {
    claim::sentences(text).into_iter().filter_map(|range| {
        let piece = &text[range.clone()];
        let other = piece.starts_with(['#', '<']) || piece.starts_with("{{");
        let is_link = piece.starts_with('[') && piece.contains("]: ");
        let states = piece.chars().any(char::is_alphanumeric) && !other && !is_link;
        states.then(|| range.start + marker(piece)..range.end)
    })
}

/// Whether a piece begins and ends as a sentence or a row of a table does.
fn is_whole(piece: &str) -> bool {
    let ends = ['.', '!', ':', '…', '。', '！', '：', '|', ')', '）', '"', '”', '」', '*', '_', '`'];
    !piece.starts_with(|c: char| c.is_ascii_lowercase()) && piece.ends_with(ends)
}

/// The length of the marker of a list item.
fn marker(item: &str) -> usize {
    let digits = item.bytes().take_while(u8::is_ascii_digit).count();
    let signs: &[char] = if digits > 0 { &['.', ')'] } else { &['-', '*', '+'] };
    let Some(rest) = item[digits..].strip_prefix(signs) else { return 0 };
    let text = rest.trim_start();
    if text.is_empty() || text.len() == rest.len() { 0 } else { item.len() - text.len() }
}

/// A sentence that goes over several lines, on one.
fn on_one_line(sentence: &str) -> String {
    let lines = sentence.lines().map(|line| line.trim_start_matches(|c: char| c.is_whitespace() || c == '>'));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("One is. Two is! Is it?", &["One is.", "Two is!", "Is it?"])]
    #[case("# Head\n\nA line\ngoes on. Next.\n", &["A line\ngoes on.", "Next."])]
    #[case("- one thing\n- two\n  lines\n\n1. three", &["one thing", "two\n  lines", "three"])]
    #[case("| a | b |\n|---|---|\n| 1 | 2 |", &["| a | b |", "| 1 | 2 |"])]
    #[case("Run:\n\n```sh\nls -l\n```\nDone.", &["Run:", "ls -l", "Done."])]
    #[case("", &[])]
    fn a_text_has_its_sentences(#[case] text: &str, #[case] expected: &[&str]) {
        let found: Vec<&str> = sentences(text).map(|range| &text[range]).collect();
        assert_eq!(found, expected);
    }

    #[rstest]
    #[case("A key opens it.", true)]
    #[case("| a | b |", true)]
    #[case("opens it.", false)]
    #[case("A key opens", false)]
    #[case("express shipping;", false)]
    #[case("密钥每九十天轮换一次。", true)]
    fn the_rest_of_a_sentence_is_no_sentence(#[case] piece: &str, #[case] whole: bool) {
        assert_eq!(is_whole(piece), whole);
    }

    #[test]
    fn a_sentence_is_claimed_on_one_line() {
        assert_eq!(on_one_line("A line\n> goes  on."), "A line goes on.");
    }

    fn blocks() -> Vec<EvidenceBlock> {
        let block = |label: &str, heading: &str, text: &str| EvidenceBlock {
            label: label.to_owned(),
            source: "guide/returns.md#L1-L9".to_owned(),
            heading: format!("Returns > {heading}"),
            body: text.to_owned(),
        };
        vec![
            block(
                "S1",
                "Refund window",
                "## Refund window\n\nCustomers can return an order within 45 days of delivery and get a full refund.\n\
                 Sealed software can't be returned.\n",
            ),
            block("S2", "How a refund is paid", "Larkspur pays a refund to the payment method of the order.\n"),
            block("S3", "Codes", "| E42 | The bank declined the card. |\n| E43 | The window is over. |\n"),
        ]
    }

    fn propose(query: &str, faults: &[super::super::synthesis::Fault]) -> Vec<(String, String)> {
        let blocks = blocks();
        let task = SynthesisTask { query, prompt: "", blocks: &blocks, attempt: 1, faults };
        let Proposal::Answer(answer) = Extractive.propose(&task).expect("it can't fail") else { return Vec::new() };
        let claims = answer.claims.into_iter().map(|claim| {
            let citation = &claim.citations[0];
            let cited = blocks.iter().find(|block| block.label == citation.reference).expect("a shown label");
            assert!(cited.body.contains(citation.quote.as_deref().expect("a quote")));
            (citation.reference.clone(), claim.text)
        });
        claims.collect()
    }

    const WINDOW: &str = "Customers can return an order within 45 days of delivery and get a full refund.";

    #[rstest]
    #[case::one("How many days do customers have to return an order?", &[("S1", WINDOW)])]
    #[case::an_identifier("What does E42 mean?", &[("S3", "| E42 | The bank declined the card. |")])]
    #[case::two_parts(
        "How many days do customers have to return an order? What is E43?",
        &[("S1", WINDOW), ("S3", "| E43 | The window is over. |")]
    )]
    #[case::nothing("Which colour has the delivery van of the carrier?", &[])]
    #[case::another_identifier("What does E77 mean?", &[])]
    fn the_sentences_with_most_of_the_question_are_proposed(#[case] query: &str, #[case] expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected.iter().map(|&(label, text)| (label.to_owned(), text.to_owned())).collect();
        assert_eq!(propose(query, &[]), expected);
        assert_eq!(propose(query, &[]), expected, "it is deterministic");
    }

    #[test]
    fn a_rejected_sentence_is_not_proposed_again() {
        use super::super::synthesis::Fault;
        let fault =
            Fault { claim: Some(WINDOW.to_owned()), reference: Some("S1".to_owned()), code: "stale", reason: None };
        let again = propose("How many days do customers have to return an order?", &[fault]);
        assert!(again.iter().all(|(_, text)| text != WINDOW), "{again:?}");
    }

    proptest! {
        #[test]
        fn sentences_are_pieces_of_any_text(text in "([.!?。 \n|#`>*-]|```|1\\. |\\PC){0,60}") {
            let mut end = 0;
            for range in sentences(&text) {
                prop_assert!(range.start >= end && range.start < range.end);
                let piece = &text[range.clone()];
                prop_assert_eq!(piece.trim(), piece);
                end = range.end;
            }
        }
    }
}

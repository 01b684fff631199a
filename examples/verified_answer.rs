//! An answer with its proof, an honest abstention, and a synthesiser that lies: `cargo run --example verified_answer`.
//!
//! The synthesiser, here a stand-in for a model that invents a reference and changes a character of a quote, proposes.
//! Only what the gate can prove is published; the rest is kept apart, with the reason.

use std::error::Error;
use std::path::Path;

use ragdb::{
    Answer, AnswerRequest, Extractive, Principal, Proposal, ProposedAnswer, ProposedCitation, ProposedClaim, Store,
    SyncRequest, SyncSources, SynthesisTask, Synthesiser,
};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/corpus");
    let store = Store::create(folder.path().join("ragdb.db"))?;
    store.sync(&SyncRequest { sources: SyncSources::Folders(vec![corpus]), ..SyncRequest::default() })?;

    println!("A question that the documents answer");
    let question = "within how many days can a customer return an order";
    show(question, &store.answer(&Principal::operator(), &AnswerRequest::new(question, &Extractive))?);

    println!("\nA question that they do not answer");
    let unanswered = "what is the airspeed of a swallow";
    show(unanswered, &store.answer(&Principal::operator(), &AnswerRequest::new(unanswered, &Extractive))?);

    println!("\nA synthesiser that lies");
    let request = AnswerRequest { retries: 0, ..AnswerRequest::new(question, &Liar) };
    show(question, &store.answer(&Principal::operator(), &request)?);
    Ok(())
}

/// Proposes one true claim and three false ones.
struct Liar;

const TRUE: &str = "Customers can return an order within 45 days of delivery and get a full refund.";

impl Synthesiser for Liar {
    fn propose(&self, task: &SynthesisTask<'_>) -> ragdb::Result<Proposal> {
        let label = |text: &str| task.blocks.iter().find(|it| it.body.contains(text)).map(|it| it.label.clone());
        let shown = label(TRUE).unwrap_or_default();
        let claim = |text: &str, reference: &str, quote: &str| ProposedClaim {
            text: text.to_owned(),
            citations: vec![ProposedCitation {
                reference: reference.to_owned(),
                quote: Some(quote.to_owned()),
                range: None,
            }],
        };
        Ok(Proposal::Answer(ProposedAnswer {
            claims: vec![
                claim(TRUE, &shown, TRUE),
                claim("The customer also gets 10 dollars.", "S99", "The customer also gets 10 dollars."),
                claim(TRUE, &shown, &TRUE.replace("45", "46")),
                claim(&TRUE.replace("45", "900"), &shown, TRUE),
            ],
        }))
    }

    fn name(&self) -> &'static str {
        "liar"
    }
}

fn show(question: &str, answer: &Answer) {
    println!("  question  {question}");
    println!("  answer    {} ({})", answer.text.replace('\n', "\n            "), answer.stop_reason.as_str());
    for published in &answer.published {
        let span = &published.span;
        println!(
            "  VERIFIED  [{}] {}#L{}, bytes {}-{}",
            published.reference, span.path, span.start_line, span.start_byte, span.end_byte
        );
        println!("            “{}”", span.text);
    }
    for it in &answer.dropped {
        let dropped = &it.dropped;
        println!(
            "  DROPPED   [{}] {}: {}",
            dropped.reference.as_deref().unwrap_or("-"),
            dropped.verdict,
            dropped.detail
        );
        println!("            “{}”", dropped.text);
    }
}

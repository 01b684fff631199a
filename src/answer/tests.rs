//! The loop and the strategies with evidence and a gate that are made up.

use std::sync::Mutex;

use rstest::rstest;
use serde_json::{Value, json};

use super::grounds::{Gathered, Grounds};
use super::*;
use crate::evidence::prompt::EvidenceBlock;
use crate::evidence::{Manifest, Shown};
use crate::gate::proposal::{ProposedAnswer, ProposedCitation, ProposedClaim};
use crate::gate::verdict::Verdict;
use crate::verify::{JudgedCitation, JudgedClaim, VerifiedSpan};

/// A corpus of sentences; a query finds those that have one of its words, and the gate verifies a claim that is one of
/// those that were shown.
struct Fake {
    corpus: Vec<&'static str>,
    retrieved: Vec<Vec<String>>,
}

impl Fake {
    fn new(corpus: &[&'static str]) -> Self {
        Self { corpus: corpus.to_vec(), retrieved: Vec::new() }
    }
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2);
    words.map(str::to_lowercase).filter(|word| !["what", "the", "who", "and"].contains(&word.as_str())).collect()
}

impl Grounds for Fake {
    fn retrieve(&mut self, queries: &[String]) -> Result<Gathered> {
        self.retrieved.push(queries.to_vec());
        let asked: Vec<Vec<String>> = queries.iter().map(|query| words(query)).collect();
        // Each query finds its best sentence.
        let mut found: Vec<&str> = Vec::new();
        for asked in &asked {
            let score = |text: &str| words(text).iter().filter(|word| asked.contains(word)).count();
            let best = self.corpus.iter().filter(|text| score(text) > 0).rev().max_by_key(|text| score(text));
            found.extend(best.copied().filter(|best| !found.contains(best)));
        }
        let label = |at: usize| format!("S{}", at + 1);
        let shown = found.iter().enumerate().map(|(at, text)| Shown {
            label: label(at),
            chunk_id: (*text).to_owned(),
            source_id: "docs".to_owned(),
            path: "a.md".to_owned(),
            start_line: 1,
            end_line: 1,
            start_byte: 0,
            end_byte: text.len() as u64,
            content_hash: String::new(),
            document_hash: String::new(),
            score: 1.0,
        });
        let blocks = found.iter().enumerate().map(|(at, text)| EvidenceBlock {
            label: label(at),
            source: "a.md#L1-L1".to_owned(),
            heading: String::new(),
            body: (*text).to_owned(),
        });
        let manifest = Manifest {
            format: 1,
            run_id: "run".to_owned(),
            created_at: String::new(),
            store_id: String::new(),
            query: queries[0].clone(),
            generation: 7,
            generation_digest: String::new(),
            policy_digest: String::new(),
            acl_epoch: 0,
            settings: serde_json::Map::new(),
            nonce: String::new(),
            chars: 0,
            tokens: None,
            truncated: false,
            unverified_source: false,
            prompt_hash: String::new(),
            shown: shown.collect(),
            refused: Vec::new(),
            events: Vec::new(),
        };
        Ok(Gathered { manifest, prompt: "PROMPT".to_owned(), blocks: blocks.collect() })
    }

    fn read(&self, text: &str, _: &Manifest) -> Result<ProposedAnswer> {
        let broken = || Error::Invalid { message: "it is broken".to_owned() };
        match text {
            "broken" => Err(broken()),
            _ if text.contains("Not supported") => Ok(ProposedAnswer::default()),
            _ => Ok(answer(&[(text, "S1")])),
        }
    }

    fn judge(&mut self, manifest: &Manifest, answer: &ProposedAnswer) -> Result<Verification> {
        let claims = answer.claims.iter().map(|claim| {
            let citation = claim.citations.first();
            let label = citation.map_or("", |citation| citation.reference.as_str());
            let shown = manifest.shown.iter().find(|shown| shown.label == label);
            let verdict = match shown {
                None if citation.is_none() => Verdict::Unsupported,
                None => Verdict::UnknownReference,
                Some(shown) if shown.chunk_id == claim.text => Verdict::Verified,
                Some(_) => Verdict::ValueMismatch,
            };
            let span = verdict.is_verified().then(|| span(&claim.text));
            let judged = citation.map(|citation| JudgedCitation {
                reference: citation.reference.clone(),
                quote: citation.quote.clone(),
                verdict,
                normalisations: Vec::new(),
                span,
                detail: "so the fake says".to_owned(),
                warnings: Vec::new(),
            });
            JudgedClaim {
                text: claim.text.clone(),
                verdict,
                values: Vec::new(),
                support: 0.0,
                citations: judged.into_iter().collect(),
            }
        });
        let claims = claims.collect();
        Ok(Verification { claims, ..Verification::of_nothing(manifest) })
    }
}

fn span(text: &str) -> VerifiedSpan {
    VerifiedSpan {
        chunk_id: text.to_owned(),
        source_id: "docs".to_owned(),
        path: "a.md".to_owned(),
        start_line: 1,
        end_line: 1,
        start_byte: 0,
        end_byte: 0,
        start_char: None,
        end_char: None,
        chunk_start_byte: 0,
        chunk_end_byte: 0,
        chunk_start_char: 0,
        chunk_end_char: 0,
        content_hash: String::new(),
        headings: Vec::new(),
        text: text.to_owned(),
    }
}

fn answer(claims: &[(&str, &str)]) -> ProposedAnswer {
    let claims = claims.iter().map(|&(text, label)| {
        let citation = ProposedCitation { reference: label.to_owned(), quote: None, range: None };
        let citations = if label.is_empty() { Vec::new() } else { vec![citation] };
        ProposedClaim { text: text.to_owned(), citations }
    });
    ProposedAnswer { claims: claims.collect() }
}

/// Says one thing after another, the last one for ever.
struct Script {
    proposals: Vec<Proposal>,
    /// The faults that came with each attempt, as codes.
    faults: Mutex<Vec<Vec<&'static str>>>,
}

impl Script {
    fn new(proposals: Vec<Proposal>) -> Self {
        Self { proposals, faults: Mutex::new(Vec::new()) }
    }
}

impl Synthesiser for Script {
    fn propose(&self, task: &SynthesisTask<'_>) -> Result<Proposal> {
        let mut faults = self.faults.lock().expect("no panic before");
        faults.push(task.faults.iter().map(|fault| fault.code).collect());
        assert_eq!(faults.len(), task.attempt as usize);
        Ok(self.proposals[faults.len().min(self.proposals.len()) - 1].clone())
    }

    fn name(&self) -> &'static str {
        "script"
    }
}

const WINDOW: &str = "The refund window has 45 days.";
const DUTY: &str = "The customs office pays import duty.";

fn said(claims: &[(&str, &str)]) -> Proposal {
    Proposal::Answer(answer(claims))
}

fn names(answer: &Answer) -> Vec<&str> {
    answer.events().iter().map(|event| event.name.as_str()).collect()
}

const GOOD: (&str, &str) = (WINDOW, "S1");
const BAD: (&str, &str) = ("The refund window has 900 days.", "S1");
const INVENTED: (&str, &str) = (WINDOW, "S9");
const REFUSAL: &str = "Not supported by the corpus.";

#[rstest]
#[case::at_once(vec![said(&[GOOD])], StopReason::Answered, 1, 0)]
#[case::as_text(vec![Proposal::Text(WINDOW.into())], StopReason::Answered, 1, 0)]
#[case::at_the_second(vec![said(&[BAD]), said(&[GOOD])], StopReason::Answered, 2, 1)]
#[case::after_broken_text(vec![Proposal::Text("broken".into()), said(&[GOOD])], StopReason::Answered, 2, 0)]
#[case::in_part(vec![said(&[GOOD, BAD])], StopReason::PartlyVerified, 3, 3)]
#[case::in_part_once(vec![said(&[GOOD, BAD]), said(&[BAD])], StopReason::PartlyVerified, 3, 3)]
#[case::in_part_then_nothing(vec![said(&[GOOD, BAD]), Proposal::Abstain], StopReason::PartlyVerified, 2, 1)]
#[case::never(vec![said(&[BAD])], StopReason::Blocked, 3, 3)]
#[case::an_invented_label(vec![said(&[INVENTED])], StopReason::Blocked, 3, 3)]
#[case::never_readable(vec![Proposal::Text("broken".into())], StopReason::Blocked, 3, 0)]
#[case::without_citations(vec![said(&[(WINDOW, "")])], StopReason::Blocked, 3, 3)]
#[case::it_abstains(vec![Proposal::Abstain], StopReason::AbstainedBySynthesiser, 1, 0)]
#[case::it_refuses(vec![Proposal::Text(format!(" {REFUSAL}\n"))], StopReason::AbstainedBySynthesiser, 1, 0)]
#[case::it_claims_nothing(vec![said(&[])], StopReason::AbstainedBySynthesiser, 1, 0)]
#[case::it_refuses_as_a_claim(vec![said(&[(REFUSAL, "")])], StopReason::AbstainedBySynthesiser, 1, 0)]
#[case::it_withdraws(vec![said(&[BAD]), Proposal::Abstain], StopReason::AbstainedUnverified, 2, 1)]
fn attempts_end(
    #[case] proposals: Vec<Proposal>,
    #[case] stop_reason: StopReason,
    #[case] attempts: u32,
    #[case] dropped: usize,
) {
    let script = Script::new(proposals);
    let request = AnswerRequest::new("What is the refund window?", &script);
    let answer = run(&request, &mut Fake::new(&[WINDOW])).expect("an answer");
    assert_eq!((answer.stop_reason, answer.attempts, answer.dropped.len()), (stop_reason, attempts, dropped));
    let text = if answer.answered() { WINDOW } else { NOT_SUPPORTED };
    assert_eq!(answer.text, text, "nothing unverified is published");
    assert_eq!(answer.published.len(), usize::from(answer.answered()));
    assert!(answer.published.iter().all(|published| published.verdict.is_verified()));
    assert!(answer.dropped.iter().all(|dropped| !dropped.dropped.verdict.is_verified()));
}

#[test]
fn faults_of_all_attempts_go_back_as_codes() {
    let script = Script::new(vec![said(&[BAD]), Proposal::Text("broken".into()), said(&[INVENTED])]);
    let answer = run(&AnswerRequest::new("refund window", &script), &mut Fake::new(&[WINDOW])).expect("an answer");
    let faults = script.faults.into_inner().expect("no panic");
    assert_eq!(faults, [vec![], vec!["value_mismatch"], vec!["value_mismatch", "unreadable_answer"]]);
    let expected = [
        "retrieval_call",
        "strategy_stopped",
        "citation_rejected",
        "answer_rejected",
        "answer_rejected",
        "citation_rejected",
        "answer_rejected",
    ];
    assert_eq!(names(&answer), expected);
    let rejected = &answer.events()[2].detail;
    assert_eq!(Value::from(rejected.clone()), json!({ "attempt": 1, "codes": ["value_mismatch"], "refs": ["S1"] }));
}

#[test]
fn a_synthesiser_that_fails_fails_the_answer() {
    struct Failing;
    impl Synthesiser for Failing {
        fn propose(&self, _: &SynthesisTask<'_>) -> Result<Proposal> {
            Err(Error::Endpoint { url: "http://x".into(), status: None, message: "is away".into() })
        }
        fn name(&self) -> &'static str {
            "failing"
        }
    }
    let error = run(&AnswerRequest::new("refund window", &Failing), &mut Fake::new(&[WINDOW])).expect_err("no answer");
    assert_eq!((error.code(), error.to_string().as_str()), ("endpoint", "http://x is away"));
}

#[test]
fn without_evidence_nobody_is_asked() {
    let script = Script::new(vec![said(&[GOOD])]);
    let answer = run(&AnswerRequest::new("payroll", &script), &mut Fake::new(&[WINDOW])).expect("an answer");
    assert_eq!((answer.stop_reason, answer.attempts), (StopReason::AbstainedNoEvidence, 0));
    assert!(script.faults.into_inner().expect("no panic").is_empty());
}

const BOTH: &str = "What is the refund window and who pays import duty?";

#[rstest]
#[case::single(Strategy::Single, BOTH, 4, &[WINDOW, DUTY], 1, "single")]
#[case::one_part(Strategy::Iterative, "refund window", 4, &[WINDOW, DUTY], 1, "covered")]
#[case::the_second_part(Strategy::Iterative, BOTH, 4, &[WINDOW, DUTY], 2, "covered")]
#[case::a_part_that_is_nowhere(Strategy::Iterative, BOTH, 4, &[WINDOW], 2, "no_progress")]
#[case::a_budget_of_one(Strategy::Iterative, BOTH, 1, &[WINDOW, DUTY], 1, "call_budget")]
#[case::adaptive(Strategy::Adaptive, BOTH, 4, &[WINDOW, DUTY], 2, "covered")]
#[case::adaptive_one_part(Strategy::Adaptive, "refund window", 4, &[WINDOW, DUTY], 1, "covered")]
#[case::adaptive_stops_without_news(Strategy::Adaptive, "E41, E42 and E43", 4, &["E41 is known."], 2, "no_progress")]
#[case::iterative_goes_on(Strategy::Iterative, "E41, E42 and E43", 4, &["E41 is known."], 3, "no_progress")]
fn a_strategy_searches_as_often_as_it_helps(
    #[case] strategy: Strategy,
    #[case] query: &str,
    #[case] max_calls: u32,
    #[case] corpus: &[&'static str],
    #[case] calls: u32,
    #[case] reason: &str,
) {
    let script = Script::new(vec![Proposal::Abstain]);
    let request = AnswerRequest { strategy, max_calls, ..AnswerRequest::new(query, &script) };
    let mut fake = Fake::new(corpus);
    let answer = run(&request, &mut fake).expect("an answer");
    assert_eq!(answer.calls, calls);
    let stopped = answer.events().iter().find(|event| event.name == "strategy_stopped").expect("it stopped");
    assert_eq!(stopped.detail["reason"], reason);
    assert_eq!(fake.retrieved.len(), calls as usize);
    let expected = if reason == "call_budget" { StopReason::CallBudget } else { StopReason::AbstainedBySynthesiser };
    assert_eq!(answer.stop_reason, expected);
}

#[test]
fn each_call_says_what_it_brought() {
    let script = Script::new(vec![Proposal::Abstain]);
    let request = AnswerRequest { strategy: Strategy::Iterative, ..AnswerRequest::new(BOTH, &script) };
    let answer = run(&request, &mut Fake::new(&[WINDOW, DUTY])).expect("an answer");
    let second = Value::from(answer.events()[1].detail.clone());
    assert_eq!(second, json!({ "call": 2, "query": "What is the refund window", "shown": 2, "new": 1 }));
}

#[rstest]
#[case(AnswerRequest { top_k: 0, ..AnswerRequest::new("x", &Extractive) })]
#[case(AnswerRequest { max_calls: 0, ..AnswerRequest::new("x", &Extractive) })]
#[case(AnswerRequest { max_calls: 17, ..AnswerRequest::new("x", &Extractive) })]
#[case(AnswerRequest { retries: 11, ..AnswerRequest::new("x", &Extractive) })]
fn limits_are_checked_before_anything_is_searched(#[case] request: AnswerRequest<'_>) {
    let mut fake = Fake::new(&[WINDOW]);
    assert_eq!(run(&request, &mut fake).expect_err("refused").code(), "invalid");
    assert!(fake.retrieved.is_empty());
}

#[test]
fn the_same_request_has_the_same_events() {
    let request = AnswerRequest { strategy: Strategy::Adaptive, ..AnswerRequest::new(BOTH, &Extractive) };
    let once = run(&request, &mut Fake::new(&[WINDOW, DUTY])).expect("an answer");
    let again = run(&request, &mut Fake::new(&[WINDOW, DUTY])).expect("an answer");
    assert_eq!(once, again);
    assert_eq!(once.text, format!("{WINDOW}\n{DUTY}"));
}

#[test]
fn names_are_stable_and_distinct() {
    let reasons: Vec<&str> = StopReason::ALL.iter().map(|reason| reason.as_str()).collect();
    let expected = [
        "answered",
        "partly_verified",
        "abstained_no_evidence",
        "abstained_by_synthesiser",
        "abstained_unverified",
        "call_budget",
        "blocked",
    ];
    assert_eq!(reasons, expected);
}

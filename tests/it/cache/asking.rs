//! What is asked, of whom, and where: all that makes a question another one, and what is not kept.

use ragdb::{
    AnswerRequest, ContextRequest, Extractive, Normalisation, Principal, Proposal, SearchRequest, StopReason, Store,
    Strategy, SynthesisTask, Synthesiser,
};
use serde_json::Value;

use super::{Desk, QUESTION, known};
use crate::stub::{Reply, Stub};
use crate::support::Project;

#[test]
fn every_limit_is_part_of_the_question() {
    let desk = Desk::new();
    let eve = known("eve", &[]);
    let plain = || ContextRequest::new(QUESTION);
    let search = || plain().search;
    let requests = [
        plain(),
        ContextRequest::new("how often to rotate keys"),
        ContextRequest { search: SearchRequest { top_k: 31, ..search() }, ..plain() },
        ContextRequest { search: SearchRequest { floor: Some(0.2), ..search() }, ..plain() },
        ContextRequest { search: SearchRequest { min_score: Some(0.1), ..search() }, ..plain() },
        ContextRequest { search: SearchRequest { all_terms: true, ..search() }, ..plain() },
        ContextRequest { search: SearchRequest { literal: true, ..search() }, ..plain() },
        ContextRequest { also: vec!["key".into()], ..plain() },
        ContextRequest { also: vec!["key".into(), "day".into()], ..plain() },
        ContextRequest { max_chars: 5999, ..plain() },
        ContextRequest { max_tokens: Some(3000), ..plain() },
        ContextRequest { max_tokens: Some(3001), ..plain() },
        ContextRequest { max_chunks: 7, ..plain() },
        ContextRequest { allow_unverified_source: true, ..plain() },
    ];
    for cached in [false, true] {
        for request in &requests {
            assert_eq!(desk.store.cached_context(&eve, request).unwrap().cached, cached, "{request:?}");
        }
    }
    let plain = || desk.request();
    let requests = [
        plain(),
        AnswerRequest { query: "how often to rotate keys".into(), ..plain() },
        AnswerRequest { strategy: Strategy::Adaptive, ..plain() },
        AnswerRequest { top_k: 4, ..plain() },
        AnswerRequest { max_calls: 3, ..plain() },
        AnswerRequest { max_chars: Some(3000), ..plain() },
        AnswerRequest { max_chunks: Some(3), ..plain() },
        AnswerRequest { retries: 1, ..plain() },
        AnswerRequest { normalise: vec![Normalisation::Quotes], ..plain() },
        AnswerRequest { least_support: Some(0.1), ..plain() },
        AnswerRequest { floor: Some(0.1), ..plain() },
        AnswerRequest { allow_unverified_source: true, ..plain() },
        AnswerRequest { synthesiser: &Extractive, ..plain() },
    ];
    for cached in [false, true] {
        for request in &requests {
            assert_eq!(desk.store.cached_answer(&eve, request).unwrap().cached, cached, "{request:?}");
        }
    }
}

/// Says what it is told to.
struct Says(&'static str, Option<&'static str>);

impl Synthesiser for Says {
    fn propose(&self, _: &SynthesisTask<'_>) -> ragdb::Result<Proposal> {
        Ok(Proposal::Text(self.0.to_owned()))
    }

    fn name(&self) -> &'static str {
        "says"
    }

    fn identity(&self) -> Option<String> {
        self.1.map(str::to_owned)
    }
}

#[test]
fn what_a_nameless_synthesiser_says_and_what_was_rejected_is_not_kept() {
    let desk = Desk::new();
    let who = Principal::operator();
    let good = r#"{"claims": [{"text": "Rotate a key every 90 days.", "citations": [{"ref": "docs:keys.md#L1-L3"}]}]}"#;
    let partly = r#"{"claims": [{"text": "Rotate a key every 90 days.", "citations": [{"ref": "docs:keys.md#L1-L3",
        "quote": "Rotate a key every 90 days."}, {"ref": "S9"}]}, {"text": "A key has 7 legs.", "citations": []}]}"#;
    let bad = r#"{"claims": [{"text": "Rotate a key every 80 days.", "citations": [{"ref": "S1"}]}]}"#;
    for (text, identity, reason, kept) in [
        (good, None, StopReason::Answered, false),
        (good, Some("good"), StopReason::Answered, true),
        (partly, Some("partly"), StopReason::PartlyVerified, true),
        (bad, Some("bad"), StopReason::Blocked, false),
        (r#"{"claims": []}"#, Some("none"), StopReason::AbstainedBySynthesiser, true),
    ] {
        let synthesiser = Says(text, identity);
        let request = AnswerRequest { top_k: 5, ..AnswerRequest::new(QUESTION, &synthesiser) };
        let [first, again] = [0, 1].map(|_| desk.store.cached_answer(&who, &request).unwrap());
        assert_eq!((first.cached, again.cached), (false, kept), "{text}");
        assert_eq!(first.answer.stop_reason, reason, "{text}");
        if kept {
            assert_eq!(first.answer, again.answer);
        }
    }
}

#[test]
fn a_store_that_can_only_be_read_gives_what_it_has() {
    let desk = Desk::new();
    let (eve, tom) = (known("eve", &[]), known("tom", &[]));
    let hers = desk.ask_twice(&eve);
    let store = Store::open_read_only(desk.world.db()).unwrap();
    let given = store.cached_answer(&eve, &desk.request()).unwrap();
    assert!(given.cached && given.answer_id.is_some());
    assert_eq!(given.answer, hers.answer);
    let his = store.cached_answer(&tom, &desk.request()).unwrap();
    assert!(his.cached && his.answer_id.is_none() && his.answer.run_id != hers.answer.run_id);
    let evidence = store.cached_context(&eve, &ContextRequest { max_chunks: 1, ..ContextRequest::new(QUESTION) });
    let evidence = evidence.unwrap();
    assert!(!evidence.cached && !evidence.recorded && !evidence.evidence.manifest.shown.is_empty());
    // What fails can't be removed, and is not given either.
    desk.write("docs/keys.md", "# Keys\n\nRotate a key every 30 days.\n");
    let anew = store.cached_answer(&eve, &desk.request()).unwrap();
    assert!(!anew.cached && !anew.answer.text.contains("90"));
}

#[test]
fn the_command_line_says_what_is_from_before() {
    let project = Project::synced();
    let says = r#"{"claims": [{"text": "Rotate a key every 90 days.", "citations": [{"ref": "S1", "quote": "Rotate a key every 90 days."}]}]}"#;
    let stub = Stub::new(vec![Reply::Says(says.into())]);
    let url = stub.url();
    let ask = ["answer", QUESTION, "--model", "m", "--endpoint", &url];
    let answers: Vec<Value> = (0..3).map(|_| project.json(&ask).1).collect();
    let field = |name: &str| answers.iter().map(|answer| answer[name].clone()).collect::<Vec<_>>();
    assert_eq!(field("cached"), [false, true, true]);
    assert_eq!(stub.requests().len(), 1);
    assert_eq!(answers[1], answers[2]);
    assert_eq!(answers[0]["answer_id"], answers[1]["answer_id"]);
    for more in ["--no-cache", "--no-record"] {
        let (code, anew) = project.json(&[&ask[..], &[more]].concat());
        assert_eq!((code, &anew["cached"]), (0, &Value::Bool(false)));
    }
    assert_eq!(stub.requests().len(), 3);
    let again = project.ok(&ask);
    assert!(again.stderr.contains("(cached)"), "{}", again.stderr);

    for (more, cached) in [(&[][..], false), (&[], true), (&["--no-cache"], false), (&["--max-chunks", "1"], false)] {
        let (code, evidence) = project.json(&[&["context", QUESTION], more].concat());
        assert_eq!((code, &evidence["cached"]), (0, &Value::Bool(cached)), "{more:?}");
    }
    assert!(project.ok(&["context", QUESTION]).stderr.contains(" (cached): "));
    // An answer from before can be verified as any other.
    let run = answers[1]["run_id"].as_str().unwrap();
    project.write("answer.json", says);
    project.ok(&["verify", "--run", run, "answer.json"]);
    assert_eq!(project.json(&ask).1, answers[1]);
}

//! `answer`: what a model says that lies in each way it can, and what comes out.

use std::fs;
use std::time::{Duration, Instant};

use ragdb::{
    AnswerRequest, ApiKey, Endpoint, EndpointSettings, Error, Extractive, Principal, Proposal, Store, Strategy,
    SynthesisTask, Synthesiser,
};
use rstest::rstest;
use serde_json::{Value, json};

use crate::stub::{Reply, Stub};
use crate::support::{Project, Run};

const KEY: &str = "sk-s3cret-0123456789abcdef";
const QUESTION: &str = "how often to rotate a key";
const TRUTH: &str = "Rotate a key every 90 days.";

/// An answer as a model gives it: claims, each with a reference and a quote.
fn claims(claims: &[(&str, &str, &str)]) -> Reply {
    let claims: Vec<Value> = claims
        .iter()
        .map(|(text, reference, quote)| json!({ "text": text, "citations": [{ "ref": reference, "quote": quote }] }))
        .collect();
    Reply::Says(json!({ "claims": claims }).to_string())
}

fn ask(project: &Project, stub: &Stub, more: &[&str]) -> Run {
    let (url, arguments) = (stub.url(), ["answer", QUESTION, "--model", "liar", "--endpoint"]);
    let arguments = [&arguments[..], &[url.as_str()], more].concat();
    let output = project.command(&arguments).env("OPENAI_API_KEY", KEY).output().expect("ragdb starts");
    let run = Run::from(output);
    assert!(!run.stdout.contains("s3cret") && !run.stderr.contains("s3cret"), "{}{}", run.stdout, run.stderr);
    run
}

/// No file of the project holds the key.
fn assert_nothing_keeps_the_key(project: &Project) {
    for entry in fs::read_dir(project.path()).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            let bytes = fs::read(&path).expect("a file");
            assert!(!bytes.windows(9).any(|window| window == b"sk-s3cret"), "{}", path.display());
        }
    }
}

/// What is expected of an answer: exit code, stop reason, how often the model was asked, the codes of what was dropped.
struct Expected(i32, &'static str, usize, &'static [&'static str]);

#[rstest]
#[case::the_truth(&[(TRUTH, "S1", TRUTH)], Expected(0, "answered", 1, &[]))]
#[case::an_invented_label(&[(TRUTH, "S99", TRUTH)], Expected(1, "blocked", 3, &["unknown_reference"; 3]))]
#[case::an_invented_chunk(
    &[(TRUTH, "00112233445566778899aabbccddeeff:0011223344556677:0", TRUTH)],
    Expected(1, "blocked", 3, &["unknown_reference"; 3])
)]
#[case::an_altered_quote(
    &[("Rotate a key every 60 days.", "S1", "Rotate a key every 60 days.")],
    Expected(1, "blocked", 3, &["quote_altered"; 3])
)]
#[case::another_number(
    &[("Rotate a key every 900 days.", "S1", TRUTH)],
    Expected(1, "blocked", 3, &["value_mismatch"; 3])
)]
#[case::half_of_it(
    &[(TRUTH, "S1", TRUTH), ("Rotate a key every 900 days.", "S1", TRUTH)],
    Expected(0, "partly_verified", 3, &["value_mismatch"; 3])
)]
fn a_model_that_lies_is_asked_again_and_never_believed(
    #[case] said: &[(&str, &str, &str)],
    #[case] Expected(code, stop_reason, asked, dropped): Expected,
) {
    let project = Project::synced();
    let stub = Stub::new(vec![claims(said)]);
    let run = ask(&project, &stub, &["--json"]);
    assert_eq!(run.code, code, "{}{}", run.stdout, run.stderr);
    let answer: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(answer["stop_reason"], stop_reason);
    assert_eq!(answer["answered"], code == 0);
    assert_eq!(answer["answer"], if code == 0 { TRUTH } else { "Not supported by the corpus." });
    let codes: Vec<&str> = answer["dropped"].as_array().expect("a list").iter().filter_map(verdict).collect();
    assert_eq!(codes, dropped);
    let published = answer["published"].as_array().expect("a list");
    assert_eq!(published.len(), usize::from(code == 0));
    assert!(published.iter().all(|published| published["text"] == TRUTH));

    let bodies = stub.bodies();
    assert_eq!(bodies.len(), asked);
    for (attempt, body) in bodies.iter().enumerate() {
        let messages = body["messages"].as_array().expect("messages");
        assert!(messages[1]["content"].as_str().expect("text").contains(TRUTH), "the evidence goes out");
        let faults = messages.get(2).and_then(|message| message["content"].as_str());
        assert_eq!(faults.is_some(), attempt > 0);
        assert!(faults.is_none_or(|faults| faults.contains(dropped[0])), "{faults:?}");
    }
    assert!(stub.requests().iter().all(|request| request.contains(&format!("Bearer {KEY}"))));
    assert_nothing_keeps_the_key(&project);
}

fn verdict(dropped: &Value) -> Option<&str> {
    dropped["verdict"].as_str()
}

#[test]
fn a_real_chunk_outside_the_run_is_not_in_context() {
    let project = Project::synced();
    let limits = "SELECT chunk_id FROM provenance WHERE path = 'guide/limits.md' AND text LIKE '%4 parts%'";
    let id = project.ok(&["sql", "--csv", limits]).stdout.lines().nth(1).expect("a row").to_owned();
    let quote = "A request may have 4 parts.";
    let stub = Stub::new(vec![claims(&[(quote, &id, quote)])]);
    let run = ask(&project, &stub, &["--retries", "0"]);
    assert_eq!((run.code, run.stdout.as_str()), (1, "Not supported by the corpus.\n"));
    assert!(run.stderr.contains("dropped in attempt 1: not_in_context: A request may have 4 parts."), "{}", run.stderr);
    assert_eq!(stub.requests().len(), 1);
}

#[test]
fn a_model_that_mends_its_answer_is_heard() {
    let project = Project::synced();
    let stub = Stub::new(vec![claims(&[(TRUTH, "S9", TRUTH)]), claims(&[(TRUTH, "S1", TRUTH)])]);
    let run = ask(&project, &stub, &[]);
    assert_eq!((run.code, run.stdout.as_str()), (0, format!("{TRUTH}\n    [guide/keys.md#L7-L7]\n").as_str()));
    assert!(run.stderr.contains("unknown_reference"), "{}", run.stderr);
    let kept = project.ok(&["sql", "--csv", "SELECT synthesiser, passed, stop_reason, calls FROM answers"]).stdout;
    assert_eq!(kept.lines().nth(1), Some("liar,1,answered,1"));
    let events = "SELECT name FROM run_events ORDER BY event_no";
    let events = project.ok(&["sql", "--csv", events]).stdout;
    for name in ["retrieval_call", "strategy_stopped", "citation_rejected", "answer_rejected"] {
        assert!(events.lines().any(|line| line == name), "{name}: {events}");
    }
}

#[rstest]
#[case::refuses(Reply::Says("Not supported by the corpus.".into()), "abstained_by_synthesiser", 1)]
#[case::claims_nothing(Reply::Says("{\"claims\": []}".into()), "abstained_by_synthesiser", 1)]
#[case::declines(
    Reply::status("200 OK", "", r#"{"choices": [{"message": {"content": null, "refusal": "no"}}]}"#),
    "abstained_by_synthesiser",
    1
)]
#[case::declines_in_quotes(Reply::Says("<think>no</think>\"Not supported by the corpus\"".into()), "abstained_by_synthesiser", 1)]
#[case::broken_json(Reply::Says("{\"claims\": [{\"text\": \"Rot".into()), "blocked", 3)]
#[case::null(Reply::status("200 OK", "", r#"{"choices": [{"message": {"content": null}}]}"#), "blocked", 3)]
fn a_model_that_says_nothing_of_use_gets_an_abstention(
    #[case] reply: Reply,
    #[case] stop_reason: &str,
    #[case] asked: usize,
) {
    let project = Project::synced();
    let stub = Stub::new(vec![reply]);
    let run = ask(&project, &stub, &["--json"]);
    let answer: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!((run.code, answer["stop_reason"].as_str()), (1, Some(stop_reason)));
    assert_eq!(stub.requests().len(), asked);
}

#[rstest]
#[case::in_a_fence(format!("```json\n{{\"claims\": [{{\"text\": \"{TRUTH}\", \"citations\": [{{\"ref\": \"[S1]\", \"quote\": \"{TRUTH}\"}}]}}]}}\n```"))]
#[case::thought_before(format!("<think>Is it 30 days? {{</think>\n{{\"claims\": [{{\"text\": \"{TRUTH}\", \"citations\": [{{\"ref\": \"S1\"}}]}}]}}"))]
#[case::as_text(format!("# Answer\n\n{TRUTH} [S1]\n\nSources: [S1]"))]
fn an_answer_is_read_in_each_of_its_forms(#[case] said: String) {
    let project = Project::synced();
    let stub = Stub::new(vec![Reply::Says(said)]);
    let run = ask(&project, &stub, &["--retries", "0", "--json"]);
    let answer: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!((run.code, &answer["answer"], &answer["stop_reason"]), (0, &json!(TRUTH), &json!("answered")));
}

#[test]
fn why_an_answer_could_not_be_read_is_said_to_the_model_and_to_the_user() {
    let project = Project::synced();
    let stub = Stub::new(vec![Reply::Says("{\"claims\": 5}".into())]);
    let why = "invalid type: integer `5`, expected a sequence";
    let run = ask(&project, &stub, &["--retries", "1"]);
    assert!(run.stderr.contains("attempt 1 could not be read: ") && run.stderr.contains(why), "{}", run.stderr);
    let second = &stub.bodies()[1]["messages"][2]["content"];
    assert!(second.as_str().is_some_and(|it| it.contains("unreadable_answer: ") && it.contains(why)), "{second}");
    let run = ask(&project, &stub, &["--retries", "0", "--json"]);
    let answer: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert!(answer["unreadable"][0]["reason"].as_str().is_some_and(|it| it.contains(why)), "{answer}");
}

#[test]
fn the_host_that_is_asked_is_always_said() {
    let project = Project::synced();
    let stub = Stub::new(vec![claims(&[(TRUTH, "S1", TRUTH)])]);
    let host = stub.url().split('/').nth(2).expect("a host").to_owned();
    let run = ask(&project, &stub, &[]);
    assert!(run.stderr.contains(&format!("evidence and question go to liar at {host}")), "{}", run.stderr);
}

#[test]
fn a_short_key_may_be_a_word_of_an_answer() {
    let stub = Stub::new(vec![Reply::Says("ollama is a server".into())]);
    let settings = EndpointSettings { api_key: Some(ApiKey::new("ollama").expect("a key")), ..settings(&stub) };
    assert_eq!(propose(&settings).expect("an answer"), Proposal::Text("ollama is a server".into()));
}

#[test]
fn sources_that_can_t_be_compared_are_said() {
    let project = Project::synced();
    let folders: Vec<_> = fs::read_dir(project.path()).expect("a folder").filter_map(Result::ok).collect();
    for folder in folders.iter().filter(|entry| entry.path().is_dir()) {
        fs::rename(folder.path(), folder.path().with_extension("away")).expect("it moves");
    }
    let run = project.run(&["answer", QUESTION]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("--allow-unverified-source"), "{}", run.stderr);
    let run = project.run(&["answer", QUESTION, "--allow-unverified-source"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let kept = project.ok(&["sql", "--csv", "SELECT unverified_source FROM answers ORDER BY created_at DESC LIMIT 1"]);
    assert_eq!(kept.stdout.lines().nth(1), Some("1"));
}

#[test]
fn without_evidence_no_model_is_asked() {
    let project = Project::synced();
    let stub = Stub::new(vec![claims(&[(TRUTH, "S1", TRUTH)])]);
    let run = project.run(&["answer", "payroll tax", "--endpoint", &stub.url(), "--model", "liar", "--json"]);
    let answer: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!((run.code, &answer["stop_reason"]), (1, &json!("abstained_no_evidence")));
    assert!(stub.requests().is_empty());
}

#[test]
fn an_endpoint_that_fails_is_an_error() {
    let project = Project::synced();
    let body = json!({ "error": { "message": format!("bad key {KEY}"), "code": "invalid_api_key" } }).to_string();
    let stub = Stub::new(vec![Reply::status("401 Unauthorized", "", &body)]);
    let run = ask(&project, &stub, &["--json"]);
    let error: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!((run.code, &error["error"]["code"]), (2, &json!("endpoint")));
    let message = error["error"]["message"].as_str().expect("a message");
    assert!(message.ends_with("answers with status 401 (invalid_api_key)"), "{message}");
    let kept = project.ok(&["sql", "--csv", "SELECT count(*) FROM runs"]).stdout;
    assert_eq!(kept.lines().nth(1), Some("0"), "nothing is recorded");
}

#[test]
fn the_environment_s_proxy_is_not_used() {
    let project = Project::synced();
    let (stub, proxy) = (Stub::new(vec![claims(&[(TRUTH, "S1", TRUTH)])]), Stub::new(Vec::new()));
    let url = stub.url();
    let mut command = project.command(&["answer", QUESTION, "--model", "m", "--endpoint", &url]);
    for name in ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"] {
        command.env(name, proxy.url());
    }
    assert_eq!(Run::from(command.output().expect("ragdb starts")).code, 0);
    assert_eq!((stub.requests().len(), proxy.requests().len()), (1, 0));
}

#[test]
fn an_unset_or_unnamed_key_is_not_sent() {
    let project = Project::synced();
    let stub = Stub::new(vec![claims(&[(TRUTH, "S1", TRUTH)])]);
    let url = stub.url();
    project.write("ragdb.yaml", format!("answer:\n  base_url: {url}\n  model: liar\n  api_key_env: OTHER_API_KEY\n"));
    let mut command = project.command(&["answer", QUESTION]);
    assert_eq!(Run::from(command.env("OPENAI_API_KEY", KEY).output().expect("ragdb starts")).code, 0);
    assert!(stub.requests().iter().all(|request| !request.to_lowercase().contains("authorization")));
    assert_eq!(stub.requests().len(), 1, "the endpoint of ragdb.yaml is asked");
    project.ok(&["answer", QUESTION, "--extractive"]);
    assert_eq!(stub.requests().len(), 1, "--extractive asks no model");
}

fn settings(stub: &Stub) -> EndpointSettings {
    EndpointSettings {
        api_key: Some(ApiKey::new(KEY).expect("a plain key")),
        timeout: Duration::from_millis(400),
        backoff: Duration::from_millis(1),
        ..EndpointSettings::new(stub.url(), "m")
    }
}

fn propose(settings: &EndpointSettings) -> Result<Proposal, Error> {
    let endpoint = Endpoint::new(settings).expect("good settings");
    endpoint.propose(&SynthesisTask { query: "q", prompt: "p", blocks: &[], attempt: 1, faults: &[] })
}

#[rstest]
#[case::late(vec![Reply::Late(Duration::from_secs(1))], "did not answer in time (2 tries)", 2)]
#[case::drips(vec![Reply::Drips], "did not answer in time (2 tries)", 2)]
#[case::failing(vec![Reply::status("500 Oh", "", "x")], "answers with status 500 (2 tries)", 2)]
#[case::bad_request(vec![Reply::status("400 Bad", "", "{\"error\":\"sk-s3cret\"}")], "answers with status 400", 1)]
#[case::busy_for_long(
    vec![Reply::status("429 Busy", "Retry-After: 3600\r\n", "")],
    "answers with status 429, and asks to wait 3600 s",
    1
)]
#[case::too_much(
    vec![Reply::Raw([&b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"[..], &vec![b' '; 5 << 20]].concat())],
    "sent more than 4194304 bytes",
    1
)]
#[case::no_completion(vec![Reply::status("200 OK", "", "{\"choices\": 3}")], "answers with something that is no chat completion", 1)]
#[case::no_choice(vec![Reply::status("200 OK", "", "{\"choices\": []}")], "answers with a chat completion without a choice", 1)]
#[case::no_http(vec![Reply::Raw(b"SMTP ready\r\n\r\n".to_vec())], "does not speak HTTP/1.1 as expected", 1)]
#[case::repeats_the_key(
    vec![Reply::Says(format!("{{\"claims\": [{{\"text\": \"{KEY}\"}}]}}"))],
    "repeats the API key in its answer; the answer was thrown away",
    1
)]
fn what_an_endpoint_does_wrong_is_said(#[case] replies: Vec<Reply>, #[case] message: &str, #[case] requests: usize) {
    let stub = Stub::new(replies);
    let started = Instant::now();
    let error = propose(&EndpointSettings { retries: 1, ..settings(&stub) }).expect_err("it fails");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert_eq!(error.code(), "endpoint");
    assert_eq!(error.to_string(), format!("{}/chat/completions {message}", stub.url()));
    assert!(!format!("{error:?}").contains("s3cret"));
    assert_eq!(stub.requests().len(), requests);
}

#[test]
fn an_endpoint_that_is_busy_is_asked_again_when_it_says() {
    let busy = Reply::status("429 Busy", "Retry-After: 1\r\n", "");
    let stub = Stub::new(vec![busy, Reply::status("503 Oh", "", ""), claims(&[])]);
    let started = Instant::now();
    let proposal = propose(&EndpointSettings { timeout: Duration::from_secs(5), ..settings(&stub) });
    assert_eq!(proposal.expect("an answer"), Proposal::Text("{\"claims\":[]}".into()));
    assert!(started.elapsed() >= Duration::from_secs(1));
    assert_eq!(stub.requests().len(), 3);
}

#[test]
fn a_redirect_is_not_followed() {
    let other = Stub::new(vec![claims(&[])]);
    let location = format!("Location: {}/chat/completions\r\n", other.url());
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        let stub = Stub::new(vec![Reply::status(status, &location, "")]);
        let error = propose(&settings(&stub)).expect_err("it fails").to_string();
        assert!(error.contains("redirects are not followed"), "{error}");
    }
    assert!(other.requests().is_empty(), "the key goes nowhere else");
}

#[test]
fn an_endpoint_that_is_not_there_is_said() {
    let url = Stub::new(Vec::new()).url();
    let settings = EndpointSettings { retries: 0, ..EndpointSettings::new(url, "m") };
    let message = propose(&settings).expect_err("it fails").to_string();
    assert!(message.contains("can't be"), "{message}");
}

/// What a run decides by is in this type, and no label of a data set is: a new field has to be looked at here.
#[test]
fn a_request_has_no_field_for_what_is_expected() {
    let AnswerRequest {
        query: _,
        strategy: _,
        top_k: _,
        max_calls: _,
        max_chars: _,
        max_chunks: _,
        retries: _,
        normalise: _,
        least_support: _,
        floor: _,
        allow_unverified_source: _,
        retriever: _,
        similarity_floor: _,
        synthesiser: _,
    } = AnswerRequest::new("", &Extractive);
}

#[rstest]
#[case(Strategy::Single, "abstained_no_evidence", 1)]
#[case(Strategy::Iterative, "answered", 3)]
#[case(Strategy::Adaptive, "answered", 3)]
fn the_same_request_has_the_same_events(#[case] strategy: Strategy, #[case] stop_reason: &str, #[case] calls: u32) {
    let project = Project::synced();
    let store = Store::open_read_only(project.path().join("ragdb.db")).expect("the store");
    let query = "How often is a key rotated, and what happens with a revoked key?";
    let ask = || {
        let answer =
            store.answer(&Principal::operator(), &AnswerRequest { strategy, ..AnswerRequest::new(query, &Extractive) });
        let answer = answer.expect("an answer");
        (answer.events().to_vec(), answer.text.clone(), answer.stop_reason.as_str(), answer.calls)
    };
    let once = ask();
    assert_eq!(once, ask());
    assert_eq!((once.2, once.3), (stop_reason, calls), "{}", once.1);
    assert_eq!(once.1.contains(TRUTH) && once.1.contains("E42"), once.2 == "answered");
}

//! The embedder behind an endpoint, against a local server.

use std::time::{Duration, Instant};

use ragdb::{
    ApiKey, EmbedAs, Embedder, EndpointEmbedder, EndpointEmbedding, EndpointSettings, Error, Prefixes, Principal,
    Result,
};
use rstest::rstest;
use serde_json::{Value, json};

use super::{assert_whole, embed};
use crate::stub::{Reply, Stub};
use crate::world::{World, value};

const KEY: &str = "sk-s3cret-0123456789";

fn settings(stub: &Stub) -> EndpointEmbedding {
    let endpoint = EndpointSettings {
        api_key: Some(ApiKey::new(KEY).expect("a plain key")),
        timeout: Duration::from_millis(400),
        backoff: Duration::from_millis(1),
        retries: 1,
        ..EndpointSettings::new(stub.url(), "m")
    };
    EndpointEmbedding { batch: 2, ..EndpointEmbedding::new(endpoint, 2) }
}

fn ask(settings: EndpointEmbedding, texts: &[&str], role: EmbedAs) -> Result<Vec<Vec<f32>>> {
    EndpointEmbedder::new(settings).expect("good settings").embed(texts, role)
}

fn inputs(stub: &Stub) -> Vec<Value> {
    stub.bodies().iter().map(|body| body["input"].clone()).collect()
}

fn data(embeddings: &[Value]) -> Reply {
    let data: Vec<Value> = embeddings.iter().map(|embedding| json!({ "embedding": embedding })).collect();
    Reply::status("200 OK", "", &json!({ "data": data }).to_string())
}

fn indexed(indices: [Value; 2]) -> Reply {
    let data = indices.map(|index| json!({ "index": index, "embedding": [1, 0] }));
    Reply::status("200 OK", "", &json!({ "data": data }).to_string())
}

#[test]
fn texts_go_out_in_batches_and_come_back_in_order_with_length_one() {
    let stub = Stub::new(vec![Reply::Embeds]);
    let texts = ["a", "bb", "ccc", "dddd", "\u{8}2345678901234567890123"];
    let vectors = ask(settings(&stub), &texts, EmbedAs::Chunk).expect("vectors");
    assert_eq!(inputs(&stub), [json!(texts[..2]), json!(texts[2..4]), json!(texts[4..])]);
    assert_eq!(vectors.len(), 5);
    for (text, vector) in texts.iter().zip(&vectors) {
        let (length, first) = (f64::from(u32::try_from(text.len()).expect("short")), f64::from(text.as_bytes()[0]));
        let norm = length.hypot(first);
        let near = |number: f32, expected: f64| (f64::from(number) - expected).abs() < 1e-6;
        assert!(near(vector[0], length / norm) && near(vector[1], first / norm), "{text:?}: {vector:?}");
    }
    let body = &stub.bodies()[0];
    assert_eq!((&body["model"], body.get("dimensions")), (&json!("m"), None));
    let request = stub.requests()[0].clone();
    assert!(request.starts_with("POST /v1/embeddings HTTP/1.1\r\n"), "{request}");
    assert!(request.to_lowercase().contains(&format!("authorization: bearer {KEY}")), "{request}");
}

#[test]
fn a_text_goes_out_behind_its_prefix_and_cut_by_characters() {
    let stub = Stub::new(vec![Reply::Embeds]);
    let prefixes = Prefixes { query: "query: ".into(), chunk: "passage: ".into() };
    let settings = EndpointEmbedding { prefixes, longest_text: 3, send_dimensions: true, ..settings(&stub) };
    ask(settings.clone(), &["退款期限", "abc"], EmbedAs::Query).expect("vectors");
    ask(settings, &["abcd"], EmbedAs::Chunk).expect("vectors");
    assert_eq!(inputs(&stub), [json!(["query: 退款期", "query: abc"]), json!(["passage: abc"])]);
    assert_eq!(stub.bodies()[0]["dimensions"], json!(2));
}

#[test]
fn what_changes_vectors_changes_the_profile() {
    let stub = Stub::new(vec![Reply::Embeds]);
    let of =
        |settings: EndpointEmbedding| EndpointEmbedder::new(settings).expect("good settings").profile().version.clone();
    let (plain, prefixes) = (settings(&stub), Prefixes { query: "q".into(), chunk: String::new() });
    let patient = EndpointSettings { timeout: Duration::from_secs(9), api_key: None, ..plain.endpoint.clone() };
    let same = [
        plain.clone(),
        EndpointEmbedding { floor: 0.5, batch: 7, ..plain.clone() },
        EndpointEmbedding { endpoint: patient, ..plain.clone() },
    ];
    let other = [
        EndpointEmbedding { prefixes, ..plain.clone() },
        EndpointEmbedding { longest_text: 9, ..plain.clone() },
        EndpointEmbedding { revision: "2026-01".into(), ..plain.clone() },
        EndpointEmbedding { endpoint: EndpointSettings::new("http://[::1]/v1", "m"), ..plain.clone() },
    ];
    let version = of(plain);
    assert!(version.starts_with("at sha-256 ") && version.len() == "at sha-256 , settings ".len() + 24, "{version}");
    assert!(!version.contains("127.0.0.1") && !version.contains("http"), "{version}");
    assert!(same.into_iter().all(|settings| of(settings) == version));
    let mut versions: Vec<String> = other.into_iter().map(of).chain([version]).collect();
    versions.sort();
    versions.dedup();
    assert_eq!(versions.len(), 5, "{versions:?}");
}

#[rstest]
#[case::late(Reply::Late(Duration::from_secs(1)), "did not answer in time (2 tries)", 2)]
#[case::drips(Reply::Drips, "did not answer in time (2 tries)", 2)]
#[case::failing(Reply::status("503 Oh", "", "x"), "answers with status 503 (2 tries)", 2)]
#[case::busy_for_long(
    Reply::status("429 Busy", "Retry-After: 3600\r\n", ""),
    "answers with status 429, and asks to wait 3600 s",
    1
)]
#[case::key_refused(Reply::status("401 No", "", "{\"error\":\"sk-s3cret\"}"), "answers with status 401", 1)]
#[case::too_much(
    Reply::Raw([&b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"[..], &vec![b' '; 1 << 20]].concat()),
    "sent more than 65728 bytes",
    1
)]
#[case::no_list(
    Reply::status("200 OK", "", "{\"data\": 3}"),
    "answers with something that is no list of embeddings",
    1
)]
#[case::base64(data(&[json!("AACAPw=="), json!("AACAPw==")]), "answers with something that is no list of embeddings", 1)]
#[case::no_numbers(data(&[json!([1, null]), json!([1, 0])]), "answers with something that is no list of embeddings", 1)]
#[case::too_few(data(&[json!([1, 0])]), "answers with 1 embeddings for 2 texts", 1)]
#[case::too_many(data(&[json!([1, 0]), json!([1, 0]), json!([1, 0])]), "answers with 3 embeddings for 2 texts", 1)]
#[case::dimensions(data(&[json!([1, 0]), json!([1, 0, 0])]), "answers with vectors of 3 dimensions, not 2", 1)]
#[case::none(data(&[json!([]), json!([1, 0])]), "answers with vectors of 0 dimensions, not 2", 1)]
#[case::no_direction(
    data(&[json!([0, 0]), json!([1, 0])]),
    "answers with a vector that has a number that is not finite, or no direction",
    1
)]
#[case::infinite(
    data(&[json!([1e300, 0]), json!([1, 0])]),
    "answers with a vector that has a number that is not finite, or no direction",
    1
)]
#[case::twice(indexed([json!(1), json!(1)]), "answers with embeddings whose indices are not those of the texts", 1)]
#[case::beyond(indexed([json!(1), json!(2)]), "answers with embeddings whose indices are not those of the texts", 1)]
#[case::half(indexed([json!(1), Value::Null]), "answers with embeddings whose indices are not those of the texts", 1)]
fn what_an_endpoint_does_wrong_is_said(#[case] reply: Reply, #[case] message: &str, #[case] requests: usize) {
    let stub = Stub::new(vec![reply]);
    let started = Instant::now();
    let error = ask(settings(&stub), &["one", "two"], EmbedAs::Chunk).expect_err("it fails");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert_eq!((error.code(), error.to_string()), ("endpoint", format!("{}/embeddings {message}", stub.url())));
    assert!(!format!("{error:?}").contains("s3cret"));
    assert_eq!(stub.requests().len(), requests);
}

#[test]
fn a_list_without_indices_is_in_order() {
    let stub = Stub::new(vec![data(&[json!([3, 4]), json!([0, 2])])]);
    let vectors = ask(settings(&stub), &["one", "two"], EmbedAs::Chunk).expect("vectors");
    assert_eq!(vectors, [[0.6, 0.8], [0.0, 1.0]]);
}

#[test]
fn an_endpoint_that_is_busy_is_asked_again_when_it_says() {
    let busy = Reply::status("429 Busy", "Retry-After: 1\r\n", "");
    let stub = Stub::new(vec![busy, Reply::Embeds]);
    let started = Instant::now();
    let vectors = ask(settings(&stub), &["one"], EmbedAs::Chunk).expect("vectors");
    assert!(started.elapsed() >= Duration::from_secs(1));
    assert_eq!((vectors.len(), inputs(&stub)), (1, vec![json!(["one"]); 2]));
}

#[test]
fn an_interrupted_embed_goes_on_where_it_was() {
    let world = World::synced();
    let store = world.store();
    let all: usize = value(&store, "SELECT count(*) FROM chunks WHERE token_count > 0").parse().expect("a number");
    assert!(all > 2, "{all} chunks");
    let stub =
        Stub::new(vec![Reply::Embeds, Reply::status("500 Oh", "", ""), Reply::status("500 Oh", "", ""), Reply::Embeds]);
    let embedder = EndpointEmbedder::new(settings(&stub)).expect("good settings");
    let error = embed(&store, &embedder).expect_err("the second batch fails");
    assert!(matches!(error, Error::Endpoint { .. }), "{error}");
    let status = store.status(&Principal::operator()).expect("a status").vectors;
    assert_eq!((status[0].is_ready, status[0].vectors), (false, 2));
    let report = embed(&store, &embedder).expect("all is embedded");
    assert_eq!((report.unchanged, report.embedded, report.is_ready), (2, all as u64 - 2, true));
    assert_whole(&store);
    let (mut given, sent) = (Vec::new(), inputs(&stub));
    for (number, input) in sent.iter().enumerate().filter(|(number, _)| ![1, 2].contains(number)) {
        given.extend(
            serde_json::from_value::<Vec<String>>(input.clone()).unwrap_or_else(|_| panic!("request {number}")),
        );
    }
    given.sort();
    given.dedup();
    assert_eq!(given.len(), all, "each text is embedded once");
    assert_eq!(sent.iter().map(|input| input.as_array().map_or(0, Vec::len)).sum::<usize>(), all + 4);
}

#[rstest]
#[case::no_dimensions(|it: &mut EndpointEmbedding| it.dimensions = 0)]
#[case::dimensions(|it: &mut EndpointEmbedding| it.dimensions = 8193)]
#[case::huge(|it: &mut EndpointEmbedding| it.dimensions = usize::MAX)]
#[case::no_batch(|it: &mut EndpointEmbedding| it.batch = 0)]
#[case::batch(|it: &mut EndpointEmbedding| it.batch = 2049)]
#[case::no_text(|it: &mut EndpointEmbedding| it.longest_text = 0)]
#[case::floor(|it: &mut EndpointEmbedding| it.floor = 1.5)]
#[case::no_floor(|it: &mut EndpointEmbedding| it.floor = f64::NAN)]
#[case::no_model(|it: &mut EndpointEmbedding| it.endpoint.model = String::new())]
#[case::plain_to_another_machine(|it: &mut EndpointEmbedding| it.endpoint.base_url = "http://example.com/v1".into())]
fn settings_that_can_t_be_meant_are_refused(#[case] change: fn(&mut EndpointEmbedding)) {
    let mut settings = settings(&Stub::new(Vec::new()));
    change(&mut settings);
    let shown = format!("{settings:?}");
    let error = EndpointEmbedder::new(settings).expect_err("refused");
    assert_eq!(error.code(), "invalid");
    assert!(!format!("{error} {error:?} {shown}").contains("s3cret"));
}

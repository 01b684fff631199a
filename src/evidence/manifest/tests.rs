//! What is believed, and what is not.

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn place(text: &str) -> Value {
    let content = Digest::of(text);
    json!({
        "chunk_id": ChunkId::new(DocumentId::new("docs", "a.md"), &content, 0).to_string(),
        "source_id": "docs", "path": "a.md", "start_line": 3, "end_line": 6, "start_byte": 10, "end_byte": 20,
        "content_hash": content.to_string(), "document_hash": Digest::of("file").to_string(), "score": 1.5,
    })
}

fn with(mut place: Value, more: Value) -> Value {
    place.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    place
}

fn sample() -> Value {
    json!({
        "format": 1, "run_id": "00112233445566778899aabbccddeeff", "created_at": "2026-11-30T10:00:00.000Z",
        "store_id": "ffeeddccbbaa99887766554433221100", "query": "how?", "generation": 3,
        "generation_digest": Digest::of("g").to_string(), "policy_digest": Digest::of("p").to_string(),
        "acl_epoch": 0, "settings": {"top_k": 32}, "nonce": "0123456789abcdef0123456789abcdef", "chars": 900,
        "tokens": null, "truncated": false, "unverified_source": false, "prompt_hash": Digest::of("").to_string(),
        "shown": [with(place("one"), json!({"label": "S1"})), with(place("two"), json!({"label": "S2"}))],
        "refused": [with(place("three"), json!({"score": null, "code": "below_floor", "detail": "why"}))],
        "events": [{"name": "retrieval", "detail": {"shown": 2}}],
    })
}

#[test]
fn what_is_written_is_read_back() {
    let manifest = Manifest::from_json(&sample().to_string()).unwrap();
    assert_eq!(Manifest::from_json(&manifest.to_json()).unwrap(), manifest);
    assert_eq!(serde_json::from_str::<Value>(&manifest.to_json()).unwrap(), sample());
}

#[rstest]
#[case("/format", json!(2), "its format is 2")]
#[case("/run_id", json!("0011"), "run_id")]
#[case("/run_id", json!("00112233445566778899AABBCCDDEEFF"), "run_id")]
#[case("/store_id", json!("' OR 1 --"), "store_id")]
#[case("/nonce", json!(""), "nonce")]
#[case("/created_at", json!("yesterday"), "created_at")]
#[case("/generation", json!(0), "generation is 0")]
#[case("/generation", json!(u64::MAX), "too large")]
#[case("/generation", json!(-1), "invalid value")]
#[case("/generation_digest", json!("00"), "generation_digest")]
#[case("/prompt_hash", json!("g".repeat(64)), "prompt_hash")]
#[case("/query", json!("q".repeat(20_000)), "query is longer")]
#[case("/settings", json!({"x": "y".repeat(20_000)}), "settings is longer")]
#[case("/shown/1/label", json!("S1"), "label 2")]
#[case("/shown/0/label", json!("s1"), "label 1")]
#[case("/shown/0/chunk_id", json!("x"), "S1: chunk_id")]
#[case("/shown/0/path", json!("b.md"), "S1: chunk_id")]
#[case("/shown/0/source_id", json!("other"), "S1: chunk_id")]
#[case("/shown/0/content_hash", json!(Digest::of("two").to_string()), "S1: chunk_id")]
#[case("/shown/0/start_line", json!(7), "S1: its lines")]
#[case("/shown/0/start_line", json!(0), "S1: its lines")]
#[case("/shown/0/end_byte", json!(10), "S1: its bytes")]
#[case("/shown/0/score", json!("high"), "invalid type")]
#[case("/shown/0/score", Value::Null, "invalid type")]
#[case("/refused/0/code", json!("Below floor"), "refused chunk 1: code")]
#[case("/refused/0/detail", json!("x".repeat(20_000)), "refused chunk 1: detail")]
#[case("/events/0/name", json!(""), "event 1: name")]
#[case("/events/0/detail", json!([]), "invalid type")]
fn what_can_not_be_is_refused(#[case] place: &str, #[case] value: Value, #[case] message: &str) {
    let mut manifest = sample();
    *manifest.pointer_mut(place).unwrap() = value;
    let error = Manifest::from_json(&manifest.to_string()).unwrap_err();
    assert!(error.code() == "invalid" && error.to_string().contains(message), "{error}");
}

#[rstest]
#[case::empty("")]
#[case::list("[]")]
#[case::unknown_field(&with(sample(), json!({"acl": 1})).to_string())]
#[case::twice(&sample().to_string().replacen('{', "{\"format\":1,", 1))]
#[case::deep(&"[".repeat(100_000))]
#[case::more_behind(&format!("{} {{}}", sample()))]
#[case::long(&" ".repeat(LONGEST_FILE + 1))]
fn what_is_no_manifest_is_refused(#[case] json: &str) {
    assert_eq!(Manifest::from_json(json).map_err(|error| error.code()).err(), Some("invalid"));
}

#[test]
fn too_many_rows_are_refused() {
    let mut manifest = Manifest::from_json(&sample().to_string()).unwrap();
    manifest.refused = vec![manifest.refused[0].clone(); MOST_ROWS];
    assert!(manifest.check().unwrap_err().contains("chunks"));
    manifest.refused.clear();
    manifest.events = vec![manifest.events[0].clone(); MOST_ROWS + 1];
    assert!(manifest.check().unwrap_err().contains("events"));
}

proptest! {
    /// Whatever one byte becomes, reading ends with a manifest that passes every check, or with an error.
    #[test]
    fn a_changed_byte_is_no_panic(at in 0_usize..4000, byte in any::<u8>()) {
        let mut bytes = sample().to_string().into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(text) = String::from_utf8(bytes) && let Ok(manifest) = Manifest::from_json(&text) {
            prop_assert_eq!(manifest.check(), Ok(()));
        }
    }
}

//! What a search finds, in which order, and what it refuses.

use ragdb::{
    Bm25Policy, ChunkSettings, Config, ExpectedPolicy, Principal, SearchRequest, Store, SyncRequest, SyncSources,
    UnsafeScope,
};
use rstest::rstest;

use crate::world::{World, answer, write};

fn world() -> World {
    World::new(&[
        (
            "guide/install.md",
            "# Install\n\nInstall the server with one command.\n\n## Error codes\n\nE42 means no disk.\n",
        ),
        ("guide/refunds.md", "# Refunds\n\nThe refund policy gives you thirty days.\n\nA policy for each refund.\n"),
        ("zh/refunds.md", "# 退款\n\n退款政策给你三十天。\n"),
        ("notes.md", "---\ntitle: Server notes\n---\n\nThe disk of the server is large.\n"),
    ])
}

#[rstest]
#[case("refund policy", &["guide/refunds.md#L3-L5"])]
#[case("\"refund policy\"", &["guide/refunds.md#L3-L5"])]
#[case("\"policy refund\"", &[])]
#[case("server +disk", &["guide/install.md#L5-L7", "notes.md#L5-L5"])]
#[case("server -disk", &["guide/install.md#L3-L3"])]
#[case("server path:notes", &["notes.md#L5-L5"])]
#[case("server -path:notes", &["guide/install.md#L3-L3"])]
#[case("server path:*.md -path:guide/*", &["notes.md#L5-L5"])]
#[case("disk heading:\"error codes\"", &["guide/install.md#L7-L7"])]
#[case("disk -heading:error", &["notes.md#L5-L5"])]
#[case("退款政策", &["zh/refunds.md#L3-L3"])]
#[case("退款 lang:en", &[])]
#[case("disk source:other", &[])]
#[case("E42", &["guide/install.md#L7-L7"])]
#[case("zyzzyva", &[])]
#[case("", &[])]
#[case("+", &[])]
#[case("\"", &[])]
#[case("path:guide", &[])]
fn a_query_finds_what_it_says(#[case] query: &str, #[case] expected: &[&str]) {
    let world = world();
    world.sync();
    let result = world
        .store()
        .search(&Principal::operator(), &SearchRequest { floor: Some(0.0), ..SearchRequest::new(query) })
        .unwrap();
    let mut found: Vec<String> = result.hits.iter().map(|hit| hit.citation().to_string()).collect();
    found.sort();
    let without_lines: Vec<&str> = found.iter().map(String::as_str).collect();
    // Chunks begin at their section's heading or at their text, as the chunker has it: paths decide.
    let path = |citation: &&str| citation.split('#').next().unwrap_or_default().to_owned();
    let paths = |citations: &[&str]| citations.iter().map(path).collect::<Vec<_>>();
    assert_eq!(paths(&without_lines), paths(expected), "{found:?}");
    for hit in &result.hits {
        assert!(hit.highlights.windows(2).all(|pair| pair[0].end <= pair[1].start), "{:?}", hit.highlights);
        assert!(hit.highlights.iter().all(|range| !hit.text[range.clone()].trim().is_empty()));
        assert_eq!(hit.content_hash, ragdb::Digest::of(&hit.text));
    }
}

#[test]
fn equal_hits_of_two_sources_come_in_one_order_however_the_store_was_made() {
    let world = World::new(&[]);
    let text = "# Same\n\nThe same text in both.\n";
    let [docs, more] = ["docs", "more"].map(|name| world.path().join(name));
    write(&docs.join("a.md"), b"# Other\n\nSomething else.\n");
    write(&more.join("a.md"), text.as_bytes());
    let both = SyncRequest { sources: SyncSources::Folders(vec![docs.clone(), more]), ..SyncRequest::default() };
    let store = world.store();
    store.sync(&both).unwrap();
    // In the first store the text of `more` is the older one.
    write(&docs.join("a.md"), text.as_bytes());
    store.sync(&both).unwrap();
    let fresh = Store::create(world.path().join("fresh.db")).unwrap();
    fresh.sync(&both).unwrap();
    assert_eq!(answer(&store, "same text", None), answer(&fresh, "same text", None));
    let one = SearchRequest { top_k: 1, ..SearchRequest::new("same text") };
    for store in [&store, &fresh] {
        assert_eq!(store.search(&Principal::operator(), &one).unwrap().hits[0].source_id, "docs");
    }
}

#[rstest]
#[case::nothing_expected(ExpectedPolicy::default(), true)]
#[case::equal(ExpectedPolicy { bm25: Some(Bm25Policy { k1: 1.2, b: 0.75 }), ..ExpectedPolicy::default() }, true)]
#[case::other_constants(ExpectedPolicy { bm25: Some(Bm25Policy { k1: 1.5, b: 0.75 }), ..ExpectedPolicy::default() }, false)]
#[case::equal_scope(ExpectedPolicy { unsafe_scope: Some(UnsafeScope::Document), ..ExpectedPolicy::default() }, true)]
#[case::other_scope(ExpectedPolicy { unsafe_scope: Some(UnsafeScope::Chunk), ..ExpectedPolicy::default() }, false)]
#[case::other_size(
    ExpectedPolicy { chunking: Some(ChunkSettings { max_chars: Some(500), ..ChunkSettings::default() }), ..ExpectedPolicy::default() },
    false
)]
fn a_search_under_other_settings_is_refused(#[case] expected: ExpectedPolicy, #[case] searches: bool) {
    let world = World::synced();
    let request = SearchRequest { expected_policy: Some(expected), ..SearchRequest::new("key") };
    match world.store().search(&Principal::operator(), &request) {
        Ok(_) => assert!(searches),
        Err(error) => assert!(!searches && error.code() == "policy_mismatch", "{error}"),
    }
}

#[test]
fn what_a_configuration_synced_it_may_search() {
    let world = World::new(&[("a.md", "# A\n\nText to find.\n")]);
    let store = world.store();
    // The store has settings of its own, of which the configurations mention some.
    let chunking = ChunkSettings { target_chars: Some(300), max_chars: Some(400), overlap_chars: Some(0) };
    store.sync(&SyncRequest { chunking, ..world.request() }).unwrap();
    for yaml in [
        "chunking:\n  max_chars: 900\n",
        "chunking:\n  overlap_chars: 10\n",
        "bm25:\n  k1: 1.5\n",
        "gate:\n  scope: chunk\n",
        "",
    ] {
        let yaml = format!("sources:\n  - id: docs\n    path: docs\n{yaml}");
        let config = Config::from_yaml(&yaml, world.path().join("ragdb.yaml")).unwrap();
        let expected = ExpectedPolicy::from(&config);
        let request = SyncRequest {
            chunking: config.chunking.unwrap_or_default(),
            bm25: config.bm25,
            unsafe_scope: config.unsafe_scope,
            sources: SyncSources::Config(config),
            ..SyncRequest::default()
        };
        store.sync(&request).unwrap();
        let search = SearchRequest { expected_policy: Some(expected), ..SearchRequest::new("find") };
        assert_eq!(
            store.search(&Principal::operator(), &search).unwrap_or_else(|error| panic!("{yaml}: {error}")).hits.len(),
            1
        );
        assert!(!store.sync(&request).unwrap().published, "{yaml}");
    }
}

#[test]
fn fewer_hits_are_the_first_of_more() {
    let world = World::new(&[]);
    for number in 0..40 {
        let words = "server disk ".repeat(number % 7 + 1);
        world.write(&format!("{number:02}.md"), format!("# Document {number}\n\n{words} text.\n"));
    }
    world.sync();
    let store = world.store();
    let search = |top_k| {
        let request = SearchRequest { top_k, ..SearchRequest::new("server disk") };
        let hits = store.search(&Principal::operator(), &request).unwrap().hits;
        hits.into_iter().map(|hit| (hit.chunk_id, hit.score.to_bits())).collect::<Vec<_>>()
    };
    let all = search(100);
    assert_eq!(all.len(), 40);
    for top_k in [1, 2, 7, 39, 40] {
        assert_eq!(search(top_k), all[..top_k]);
    }
    assert_eq!(
        store
            .search(&Principal::operator(), &SearchRequest { top_k: 0, ..SearchRequest::new("x") })
            .unwrap_err()
            .code(),
        "invalid"
    );
}

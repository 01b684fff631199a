use std::fmt::Write;

use rstest::rstest;

use super::*;

fn parse(text: &str) -> Result<Config> {
    Config::from_yaml(text, "/srv/site/ragdb.yaml")
}

fn message(text: &str) -> String {
    match parse(text) {
        Err(Error::Config { path, message }) => {
            assert_eq!(path, Path::new("/srv/site/ragdb.yaml"));
            message
        }
        other => panic!("{text}: {other:?}"),
    }
}

/// A file with one source, to which `more` adds lines.
fn source(more: &str) -> String {
    format!("sources:\n  - id: docs\n    path: docs\n{more}")
}

#[test]
fn what_ranks_is_read() {
    assert_eq!(parse("").unwrap().retrieval, RetrievalSettings::default());
    let config = parse("retrieval: {kind: rrf, fusion: {k: 10, dense: 0.5}}").unwrap();
    let fusion = Fusion { k: 10, dense: 0.5, ..Fusion::default() };
    assert_eq!(config.retrieval, RetrievalSettings { kind: RetrieverKind::Rrf, fusion });
    let wrong = message("retrieval:\n  kind: rrf\n  fusion: {depth: 0}\n");
    assert!(wrong.contains("line 3") && wrong.contains("retrieval.fusion.depth is 0"), "{wrong}");
    assert!(message("retrieval: {kind: best}").contains("best"));
    assert!(message("retrieval: {fusion: {weight: 1}}").contains("weight"));
}

#[test]
fn every_setting_is_read() {
    let config = parse(
        "sources:\n  - {id: docs, path: docs/, kind: markdown}\n  - id: notes.v2\n    kind: text\n    path: ./a//b\n    \
         scope: support\n    visibility: private\n    tenant: acme\n    groups: [staff, ops]\n    include: ['*.txt']\n    \
         exclude: [old/]\n    required_metadata: [title, owner]\n    trust: reviewed\n    reviewed: [a.txt]\n    hidden: true\ngate: {scope: chunk}\nchunking: {max_chars: 900, \
         overlap_chars: 0}\nbm25: {k1: 0.9}\nsync: {max_delete: 5, respect_gitignore: true, max_file_bytes: 1000}\naccess: {groups: [staff, \
         ops, hr], statistics: scoped}\n",
    )
    .unwrap();
    let [docs, notes] = config.sources.as_slice() else { panic!("{config:?}") };
    assert_eq!(*docs, SourceConfig::new("docs".into(), "/srv/site".into(), "docs".into()));
    let expected = SourceConfig {
        kind: SourceKind::Text,
        scope: Some("support".into()),
        visibility: Visibility::Private,
        tenant: Some("acme".into()),
        groups: vec!["staff".into(), "ops".into()],
        include: vec!["*.txt".into()],
        exclude: vec!["old/".into()],
        required_metadata: vec!["title".into(), "owner".into()],
        trust: Trust::Reviewed,
        reviewed: vec!["a.txt".into()],
        hidden: true,
        ..SourceConfig::new("notes.v2".into(), "/srv/site".into(), "a/b".into())
    };
    assert_eq!(*notes, expected);
    assert_eq!(notes.root(), Path::new("/srv/site/a/b"));
    let policy = config.chunking.unwrap().resolve().unwrap();
    assert_eq!(policy, ChunkPolicy { target_chars: 800, max_chars: 900, overlap_chars: 0 });
    assert_eq!(config.bm25, Some(Bm25Policy { k1: 0.9, b: 0.75 }));
    assert_eq!(config.unsafe_scope, Some(UnsafeScope::Chunk));
    assert_eq!(config.sync, SyncSettings { max_delete: Some(5), respect_gitignore: true, max_file_bytes: 1000 });
    assert_eq!(config.access.groups, Some(vec!["staff".into(), "ops".into(), "hr".into()]));
}

#[test]
fn an_empty_file_declares_nothing() {
    for text in ["", "# nothing\n", "sources: []\n"] {
        assert_eq!(parse(text).unwrap(), Config::default(), "{text}");
    }
}

#[rstest]
#[case::unknown_field(source("    visiblity: public\n"), 4, "visiblity")]
#[case::unknown_section("sources: []\nsource: []\n".into(), 2, "source")]
#[case::duplicate_field(source("    path: other\n"), 4, "path")]
#[case::missing_path("sources:\n  - id: docs\n".into(), 2, "path")]
#[case::unknown_kind(source("    kind: pdf\n"), 4, "pdf")]
#[case::unknown_visibility(source("    visibility: secret\n"), 4, "secret")]
#[case::unknown_trust(source("    trust: full\n"), 4, "full")]
#[case::bad_reviewed(source("    reviewed: ['a[']\n"), 4, "reviewed: `a[`")]
#[case::unknown_gate_field("gate:\n  scopes: chunk\n".into(), 2, "scopes")]
#[case::unknown_scope("gate:\n  scope: line\n".into(), 2, "line")]
#[case::not_a_bool(source("    hidden: yes\n"), 4, "bool")]
#[case::not_text("sources:\n  - id: [docs]\n".into(), 2, "id: [docs]")]
#[case::bad_yaml("sources:\n  - id: docs\n    path: ]\n".into(), 3, "path: ]")]
#[case::merge_key("sources:\n  - &a {id: docs, path: docs}\n  - <<: *a\n    id: two\n".into(), 3, "merge")]
#[case::upper_case_id("sources:\n  - id: Docs\n    path: docs\n".into(), 2, "`Docs`")]
#[case::empty_id("sources:\n  - id: ''\n    path: docs\n".into(), 2, "id ``")]
#[case::id_with_slash("sources:\n  - id: a/b\n    path: docs\n".into(), 2, "a/b")]
#[case::id_from_dot("sources:\n  - id: .a\n    path: docs\n".into(), 2, ".a")]
#[case::repeated_id(source("  - path: docs\n    id: docs\n"), 5, "another source")]
#[case::absolute_path("sources:\n  - id: docs\n    path: /etc\n".into(), 3, "absolute")]
#[case::windows_path("sources:\n  - id: docs\n    path: 'C:\\docs'\n".into(), 3, "absolute")]
#[case::upward_path("sources:\n  - id: docs\n    path: docs/../../other\n".into(), 3, "upwards")]
#[case::empty_path("sources:\n  - id: docs\n    path: ''\n".into(), 3, "path of source docs")]
#[case::bad_pattern(source("    exclude:\n      - ok\n      - 'a['\n"), 6, "exclude: `a[`")]
#[case::absolute_pattern(source("    include: ['/a']\n"), 4, "include: `/a`")]
#[case::blank_group(source("    groups: [' ']\n"), 4, "groups")]
#[case::repeated_group(source("    groups:\n      - a\n      - a\n"), 6, "twice")]
#[case::blank_tenant(source("    tenant: ''\n"), 4, "tenant")]
#[case::control_character(source("    scope: \"a\\nb\"\n"), 4, "scope `a\\nb`")]
#[case::public_with_groups(source("    visibility: public\n    groups: [a]\n"), 5, "anyone may read it")]
#[case::unknown_group(source("    groups: [a, b]\naccess: {groups: [a]}\n"), 4, "`b` is not in access.groups")]
#[case::no_group_at_all(source("    groups: [a]\naccess: {groups: []}\n"), 4, "`a` is not in access.groups")]
#[case::blank_known_group("access:\n  groups: [' ']\n".into(), 2, "access.groups")]
#[case::repeated_known_group("access:\n  groups: [a, a]\n".into(), 2, "twice")]
#[case::shared_statistics("access:\n  statistics: shared\n".into(), 2, "costs nothing extra")]
#[case::unknown_statistics("access:\n  statistics: none\n".into(), 2, "access.statistics is `none`")]
#[case::unknown_access_field("access:\n  users: []\n".into(), 2, "users")]
#[case::overlap_too_long("chunking:\n  target_chars: 100\n  overlap_chars: 100\n".into(), 2, "overlap_chars")]
#[case::negative("chunking:\n  max_chars: -1\n".into(), 2, "")]
#[case::bm25("bm25:\n  b: 1.5\n".into(), 2, "bm25.b")]
#[case::bm25_not_a_number("bm25:\n  k1: .nan\n".into(), 2, "bm25.k1")]
#[case::file_limit("sync:\n  max_file_bytes: 0\n".into(), 2, "sync.max_file_bytes")]
fn what_is_wrong_is_named_with_its_line(#[case] text: String, #[case] line: u64, #[case] word: &str) {
    let message = message(&text);
    assert!(message.starts_with(&format!("line {line}: ")), "{message}");
    assert!(message.contains(word), "{message}");
    assert!(!message.contains("at line "), "the place is said once: {message}");
    assert!(!message.contains('\n'), "{message}");
}

#[test]
fn bombs_are_refused() {
    let mut aliases =
        String::from("sources:\n  - id: &a0 xxxxxxxxxx\n    path: a\n    groups: &b0 [a, b, c, d, e, f, g, h, i]\n");
    for level in 1..12 {
        let list = vec![format!("*b{}", level - 1); 9].join(", ");
        writeln!(aliases, "    x{level}: &b{level} [{list}]").unwrap();
    }
    assert!(parse(&aliases).is_err());
    assert!(parse(&format!("sources: {}{}", "[".repeat(50_000), "]".repeat(50_000))).is_err());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ragdb.yaml");
    std::fs::write(&path, format!("#{}", "x".repeat(1 << 20))).unwrap();
    assert!(matches!(Config::load(&path), Err(Error::Config { .. })));
}

#[test]
fn load_tells_a_missing_file_from_a_wrong_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ragdb.yaml");
    assert!(matches!(Config::load(&path), Err(Error::Io { .. })));
    std::fs::write(&path, b"sources: \xff").unwrap();
    assert!(matches!(Config::load(&path), Err(Error::Config { .. })));
    std::fs::write(&path, source("")).unwrap();
    assert_eq!(Config::load(&path).unwrap().sources[0].root(), folder.path().join("docs"));
}

#[rstest]
#[case(".", "docs", ".")]
#[case("guide/", "guide", "guide")]
#[case("my docs/User Guide", "user-guide", "my docs/User Guide")]
#[case("a: \"b\" # c", "a-b-c", "a: \"b\" # c")]
fn the_template_declares_the_folder(#[case] folder: &str, #[case] id: &str, #[case] path: &str) {
    let config = parse(&Config::template(folder).unwrap()).unwrap();
    assert_eq!(config.sources, [SourceConfig::new(id.into(), "/srv/site".into(), path.into())]);
    assert_eq!((config.chunking, config.bm25, config.sync), (None, None, SyncSettings::default()));
}

#[test]
fn the_template_documents_the_defaults() {
    let template = Config::template("docs").unwrap();
    let uncommented: Vec<String> = template
        .lines()
        .filter(|line| !line.trim_start().starts_with("##"))
        .map(|line| line.replacen("# ", "", 1))
        .collect();
    let text = uncommented.join("\n");
    let config = parse(&text).unwrap();
    assert_eq!(config.sources, [SourceConfig::new("docs".into(), "/srv/site".into(), "docs".into())]);
    assert_eq!(config.sync, SyncSettings::default());
    assert_eq!(config.answer, AnswerSettings::default());
    assert_eq!((config.access, config.embedding), (AccessSettings::default(), None));
    assert_eq!(config.bm25, Some(Bm25Policy::default()));
    assert_eq!(config.unsafe_scope, Some(UnsafeScope::default()));
    assert_eq!(config.chunking.unwrap().resolve().unwrap(), ChunkPolicy::default());
    // Every field that a file may hold is in the template.
    let of_two = ["kind", "path", "scope", "groups", "base_url", "model", "api_key_env", "timeout_seconds"];
    for field in [
        "id",
        "kind",
        "path",
        "scope",
        "visibility",
        "tenant",
        "groups",
        "include",
        "exclude",
        "required_metadata",
        "trust",
        "reviewed",
        "hidden",
        "target_chars",
        "max_chars",
        "overlap_chars",
        "k1",
        "b",
        "max_delete",
        "respect_gitignore",
        "max_file_bytes",
        "base_url",
        "model",
        "api_key_env",
        "timeout_seconds",
        "retries",
        "statistics",
        "dimensions",
        "send_dimensions",
        "revision",
        "batch",
        "longest_text",
        "floor",
        "query_prefix",
        "chunk_prefix",
        "fusion",
        "depth",
    ] {
        let lines =
            uncommented.iter().filter(|line| line.trim_start_matches([' ', '-']).starts_with(&format!("{field}:")));
        // A source has a scope, and so has the gate; it names groups, and so does the list of all; two models are asked. A
        // source, an embedder and a retriever are of a kind.
        let more = usize::from(of_two.contains(&field)) + usize::from(field == "kind");
        assert_eq!(lines.count(), 1 + more, "{field}");
    }
}

#[test]
fn the_template_refuses_what_a_file_may_not_name() {
    assert!(matches!(Config::template("../x"), Err(Error::Invalid { .. })));
    assert!(matches!(Config::template("/x"), Err(Error::Invalid { .. })));
}

#[rstest]
#[case("docs", "docs")]
#[case("My Docs (v2.1)", "my-docs-v2.1")]
#[case("Änderungen", "anderungen")]
#[case("__x__", "x")]
#[case("a—b", "ab")]
fn a_folder_name_becomes_an_id(#[case] name: &str, #[case] id: &str) {
    assert_eq!(id_for(name), id);
}

#[test]
fn every_made_id_is_one_that_a_file_could_declare() {
    for name in ["", "文档", "文件", "-", "...", &"x".repeat(200), &format!("{}-y", "x".repeat(63)), "É", "a b", "🦀"]
    {
        let id = id_for(name);
        let text = format!("sources:\n  - id: '{id}'\n    path: x\n");
        assert_eq!(parse(&text).unwrap().sources[0].id, id, "{name}");
    }
    assert_ne!(id_for("文档"), id_for("文件"));
}

#[test]
fn a_folder_on_the_command_line_is_a_source_with_the_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let docs = folder.path().join("Docs");
    std::fs::create_dir(&docs).unwrap();
    let config = Config::for_folder(&docs).unwrap();
    let source = &config.sources[0];
    assert_eq!((source.id.as_str(), source.path.as_str(), source.declared_by), ("docs", ".", DeclaredBy::Argument));
    assert_eq!(source.root(), docs.canonicalize().unwrap());
    assert_eq!(Config::for_folder(folder.path().join("gone")).unwrap_err().code(), "root_missing");
}

#[rstest]
#[case(ChunkSettings::default(), (800, 1200, 120))]
#[case(ChunkSettings { max_chars: Some(500), ..ChunkSettings::default() }, (500, 500, 120))]
#[case(ChunkSettings { max_chars: Some(50), ..ChunkSettings::default() }, (50, 50, 49))]
#[case(ChunkSettings { target_chars: Some(100), ..ChunkSettings::default() }, (100, 1200, 99))]
fn unset_chunk_settings_give_way(#[case] settings: ChunkSettings, #[case] expected: (u32, u32, u32)) {
    let policy = settings.resolve().unwrap();
    assert_eq!((policy.target_chars, policy.max_chars, policy.overlap_chars), expected);
}

#[test]
fn the_model_to_ask_is_read() {
    let text =
        "answer:\n  base_url: http://localhost:11434/v1\n  model: qwen3\n  api_key_env: ''\n  timeout_seconds: 5\n";
    let expected = AnswerSettings {
        base_url: Some("http://localhost:11434/v1".into()),
        model: Some("qwen3".into()),
        api_key_env: String::new(),
        timeout_seconds: 5,
        retries: 2,
    };
    assert_eq!(parse(text).unwrap().answer, expected);
}

#[rstest]
#[case("base_url: localhost/v1", "line 2: answer.base_url")]
#[case("base_url: https://me:s3cret@example.com", "line 2: answer.base_url")]
#[case("model: m", "line 2: answer.model without answer.base_url")]
#[case("api_key_env: sk-s3cret", "line 2: answer.api_key_env")]
#[case("api_key_env: GITHUB_TOKEN", "line 2: answer.api_key_env")]
#[case("retries: 11", "line 2: answer.retries is 11; it must be 0 to 10")]
#[case("timeout_seconds: 0", "line 2: answer.timeout_seconds is 0; it must be 1 to 3600")]
#[case("api_key: sk-1", "line 2: ")]
fn a_model_that_can_t_be_asked_is_refused(#[case] line: &str, #[case] expected: &str) {
    let message = parse(&format!("answer:\n  {line}\n")).unwrap_err().to_string();
    assert!(message.contains(expected) && !message.contains("s3cret"), "{message}");
}

#[rstest]
#[case("kind: hashing", None, EmbedderSettings::Hashing)]
#[case("kind: local\n  path: models/m", None, EmbedderSettings::Local { folder: "/etc/models/m".into() })]
#[case(
    "kind: endpoint\n  base_url: http://localhost:11434/v1\n  model: nomic\n  dimensions: 768\n  floor: 0.5",
    Some(0.5),
    EmbedderSettings::Endpoint {
        base_url: "http://localhost:11434/v1".into(),
        model: "nomic".into(),
        api_key_env: "OPENAI_API_KEY".into(),
        dimensions: 768,
        send_dimensions: false,
        revision: String::new(),
        batch: 32,
        longest_text: 6000,
        timeout_seconds: 60,
    }
)]
#[case(
    "kind: endpoint\n  base_url: https://x\n  model: m\n  dimensions: 8192\n  floor: -1.0\n  api_key_env: ''\n  \
     send_dimensions: true\n  revision: '2026-01'\n  batch: 2048\n  longest_text: 1000000\n  timeout_seconds: 9",
    Some(-1.0),
    EmbedderSettings::Endpoint {
        base_url: "https://x".into(),
        model: "m".into(),
        api_key_env: String::new(),
        dimensions: 8192,
        send_dimensions: true,
        revision: "2026-01".into(),
        batch: 2048,
        longest_text: 1_000_000,
        timeout_seconds: 9,
    }
)]
fn the_model_for_vectors_is_read(#[case] lines: &str, #[case] floor: Option<f64>, #[case] embedder: EmbedderSettings) {
    let (query_prefix, chunk_prefix) = (String::new(), String::new());
    let expected = EmbeddingSettings { embedder, floor, query_prefix, chunk_prefix };
    let config = Config::from_yaml(&format!("embedding:\n  {lines}\n"), "/etc/ragdb.yaml").unwrap();
    assert_eq!(config.embedding, Some(expected));
}

#[test]
fn what_a_model_wants_of_texts_is_read() {
    let text =
        "embedding:\n  kind: local\n  path: m\n  floor: 0.25\n  query_prefix: 'query: '\n  chunk_prefix: 'p: '\n";
    let embedding = parse(text).unwrap().embedding.unwrap();
    assert_eq!((embedding.floor, &*embedding.query_prefix, &*embedding.chunk_prefix), (Some(0.25), "query: ", "p: "));
}

#[rstest]
#[case("path: m", "line 2: embedding.kind is missing")]
#[case("floor: 0.5", "line 2: embedding.kind is missing")]
#[case("query_prefix: ''\n  chunk_prefix: 'p: '", "line 3: embedding.kind is missing")]
#[case("api_key_env: OTHER_API_KEY", "line 2: embedding.kind is missing")]
#[case("batch: 32\n  timeout_seconds: 61", "line 3: embedding.kind is missing")]
#[case("send_dimensions: true", "line 2: embedding.kind is missing")]
#[case("batch: 31", "line 2: embedding.kind is missing")]
#[case("longest_text: 1", "line 2: embedding.kind is missing")]
#[case("revision: a", "line 2: embedding.kind is missing")]
#[case("kind: magic", "line 2: ")]
#[case("kind: local", "line 2: embedding.kind local needs embedding.path")]
#[case("kind: local\n  path: ../m", "line 3: embedding.path: `../m` leads upwards")]
#[case("kind: local\n  path: m\n  model: x", "line 4: embedding.model means nothing where embedding.kind is local")]
#[case("kind: hashing\n  query_prefix: 'query: '", "line 3: embedding.query_prefix means nothing")]
#[case("kind: endpoint", "line 2: embedding.kind endpoint needs embedding.dimensions")]
#[case("kind: endpoint\n  dimensions: 8", "line 2: embedding.kind endpoint needs embedding.base_url")]
#[case(
    "kind: endpoint\n  dimensions: 8193\n  base_url: http://x\n  model: m",
    "line 3: embedding.dimensions is 8193; it must be 1 to 8192"
)]
#[case("kind: endpoint\n  dimensions: 8\n  base_url: https://me:s3cret@x", "line 4: embedding.base_url")]
#[case("kind: endpoint\n  dimensions: 8\n  api_key_env: sk-s3cret", "line 4: embedding.api_key_env")]
#[case(
    "kind: endpoint\n  dimensions: 8\n  base_url: http://x\n  model: m",
    "line 2: embedding.kind endpoint needs embedding.floor: the least cosine of a hit; docs/embeddings.md says how"
)]
#[case(
    "kind: endpoint\n  dimensions: 8\n  base_url: http://x\n  model: m\n  batch: 2049",
    "line 6: embedding.batch is 2049; it must be 1 to 2048"
)]
#[case(
    "kind: endpoint\n  dimensions: 8\n  base_url: http://x\n  model: m\n  longest_text: 0",
    "line 6: embedding.longest_text is 0; it must be 1 to 1000000"
)]
#[case(
    "kind: endpoint\n  dimensions: 8\n  base_url: http://x\n  model: m\n  revision: ''",
    "line 6: embedding.revision: "
)]
#[case("kind: local\n  path: m\n  batch: 8", "line 4: embedding.batch means nothing where embedding.kind is local")]
#[case("kind: hashing\n  floor: 0.5", "line 3: embedding.floor means nothing")]
#[case("kind: local\n  floor: 1.5", "line 3: embedding.floor is 1.5; a cosine is -1 to 1")]
#[case("kind: local\n  floor: .nan", "line 3: embedding.floor")]
fn a_model_that_makes_no_vectors_is_refused(#[case] lines: &str, #[case] expected: &str) {
    let message = parse(&format!("embedding:\n  {lines}\n")).unwrap_err().to_string();
    assert!(message.contains(expected) && !message.contains("s3cret"), "{message}");
}

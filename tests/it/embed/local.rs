//! The embedder of a folder: all-MiniLM-L6-v2, and small models that are made here, good and bad.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use ragdb::{EmbedAs, Embedder, Error, LocalEmbedder, LocalSettings, Prefixes};
use rstest::rstest;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::{assert_whole, embed};
use crate::support::minilm;
use crate::world::World;

fn open(folder: &Path) -> LocalEmbedder {
    LocalEmbedder::open(folder, LocalSettings::default()).expect("a model")
}

fn vectors(embedder: &LocalEmbedder, texts: &[&str]) -> Vec<Vec<f32>> {
    embedder.embed(texts, EmbedAs::Chunk).expect("vectors")
}

fn cosine(one: &[f32], other: &[f32]) -> f64 {
    one.iter().zip(other).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

#[test]
fn similarities_are_those_that_sentence_transformers_publishes() {
    let Some(folder) = minilm() else { return };
    let sentences = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."];
    let vectors = vectors(&open(&folder), &sentences);
    for (one, other, published) in [(0, 1, 0.6660), (0, 2, 0.1046), (1, 2, 0.1411), (0, 0, 1.0)] {
        let found = cosine(&vectors[one], &vectors[other]);
        assert!((found - published).abs() < 1e-4, "{one} {other}: {found}, not {published}");
    }
}

#[test]
fn a_vector_does_not_depend_on_what_it_is_embedded_beside() {
    let Some(folder) = minilm() else { return };
    let long = "Rotate a key every 90 days. ".repeat(60);
    let texts = ["", "refund window", &long, "退款期限是三十天", "\0 \u{202e} 🙂", "refund window"];
    let embedder = open(&folder);
    let together = vectors(&embedder, &texts);
    for (text, vector) in texts.iter().zip(&together) {
        assert_eq!(vector.len(), 384);
        assert!((cosine(vector, vector) - 1.0).abs() < 1e-5, "{text:?}");
        assert_eq!(&vectors(&embedder, &[text])[0], vector, "{text:?}");
    }
    assert_eq!(vectors(&embedder, &[]), Vec::<Vec<f32>>::new());
}

#[test]
fn a_text_is_cut_where_the_model_stops_reading() {
    let Some(folder) = minilm() else { return };
    // Each word is one token, and two of 256 stand around the text.
    let words = |count: usize| "key ".repeat(count);
    let huge = words(5_000_000);
    let started = Instant::now();
    let made = vectors(&open(&folder), &[&words(253), &words(254), &words(255), &huge]);
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    assert_ne!(made[0], made[1]);
    assert!(made[1] == made[2] && made[2] == made[3]);
}

#[test]
fn the_store_embeds_with_it() {
    let Some(folder) = minilm() else { return };
    let world = World::synced();
    let (store, embedder) = (world.store(), open(&folder));
    let profile = embedder.profile();
    assert_eq!((profile.model.as_str(), profile.dimensions, profile.normalised), ("all-MiniLM-L6-v2", 384, true));
    let report = embed(&store, &embedder).expect("all is embedded");
    assert!(report.is_ready && report.embedded > 0, "{report:?}");
    assert_whole(&store);
    assert_eq!(embed(&store, &open(&folder)).expect("nothing is to do").embedded, 0, "the same profile");
}

/// A model of 1 layer, 2 heads, 4 dimensions and 6 tokens.
struct Small {
    folder: TempDir,
    config: Value,
    modules: Value,
    pooling: Value,
    sentences: Value,
    tokenizer: Value,
    tensors: Vec<(String, Vec<usize>)>,
}

impl Small {
    fn new() -> Self {
        let config = json!({
            "model_type": "bert", "vocab_size": 6, "hidden_size": 4, "intermediate_size": 8, "num_hidden_layers": 1,
            "num_attention_heads": 2, "max_position_embeddings": 8, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
            "hidden_act": "gelu",
        });
        let module =
            |path: &str, kind: &str| json!({ "path": path, "type": format!("sentence_transformers.models.{kind}") });
        let modules =
            json!([module("", "Transformer"), module("1_Pooling", "Pooling"), module("2_Normalize", "Normalize")]);
        let vocabulary = json!({ "[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "key": 3, "store": 4, "query": 5 });
        let tokenizer = json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
            "pre_tokenizer": { "type": "BertPreTokenizer" },
            "post_processor": { "type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1] },
            "decoder": null,
            "model": { "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                       "max_input_chars_per_word": 100, "vocab": vocabulary },
        });
        let mut tensors = vec![
            ("embeddings.word_embeddings.weight".into(), vec![6, 4]),
            ("embeddings.position_embeddings.weight".into(), vec![8, 4]),
            ("embeddings.token_type_embeddings.weight".into(), vec![2, 4]),
        ];
        let layer = "encoder.layer.0";
        let inner = ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"];
        let mut linear = |name: String, output: usize, input: usize| {
            tensors.push((format!("{name}.weight"), vec![output, input]));
            tensors.push((format!("{name}.bias"), vec![output]));
        };
        inner.iter().for_each(|part| linear(format!("{layer}.{part}"), 4, 4));
        linear(format!("{layer}.intermediate.dense"), 8, 4);
        linear(format!("{layer}.output.dense"), 4, 8);
        for name in ["embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"] {
            tensors.push((format!("{name}.LayerNorm.weight"), vec![4]));
            tensors.push((format!("{name}.LayerNorm.bias"), vec![4]));
        }
        let pooling =
            json!({ "word_embedding_dimension": 4, "pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false });
        let sentences = json!({ "max_seq_length": 6, "do_lower_case": false });
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { folder, config, modules, pooling, sentences, tokenizer, tensors }
    }

    /// A file of safetensors: the length of the header, the header, the numbers.
    fn weights(&self) -> Vec<u8> {
        let (mut header, mut data) = (Map::new(), Vec::new());
        for (name, shape) in &self.tensors {
            let begin = data.len();
            for number in 0..shape.iter().product::<usize>() {
                let number = u16::try_from((number + begin) * 37 % 101).expect("below 101");
                data.extend((f32::from(number) / 50.0 - 1.0).to_le_bytes());
            }
            let entry = json!({ "dtype": "F32", "shape": shape, "data_offsets": [begin, data.len()] });
            header.insert(name.clone(), entry);
        }
        let header = Value::Object(header).to_string();
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
    }

    fn write(&self, file: &str, bytes: impl AsRef<[u8]>) {
        let path = self.folder.path().join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
        fs::write(path, bytes).expect("it is written");
    }

    fn save(&self) -> &Path {
        let files = [
            ("config.json", &self.config),
            ("modules.json", &self.modules),
            ("1_Pooling/config.json", &self.pooling),
            ("sentence_bert_config.json", &self.sentences),
            ("tokenizer.json", &self.tokenizer),
        ];
        files.iter().for_each(|(file, value)| self.write(file, value.to_string()));
        self.write("model.safetensors", self.weights());
        self.folder.path()
    }

    fn open(&self) -> Result<LocalEmbedder, Error> {
        LocalEmbedder::open(self.folder.path(), LocalSettings::default())
    }
}

#[test]
fn what_changes_vectors_changes_the_profile() {
    let small = Small::new();
    let of = |settings: LocalSettings| {
        let embedder = LocalEmbedder::open(small.save(), settings).expect("a model");
        (embedder.profile().version.clone(), vectors(&embedder, &["key store"]))
    };
    let (version, plain) = of(LocalSettings::default());
    assert!(version.starts_with("sha-256 ") && version.len() == 40, "{version}");
    let patient = LocalSettings { floor: Some(0.7), name: "other".into(), ..LocalSettings::default() };
    assert_eq!(of(patient), (version.clone(), plain.clone()));
    let prefixes = Prefixes { query: String::new(), chunk: "query ".into() };
    let (prefixed, other) = of(LocalSettings { prefixes, ..LocalSettings::default() });
    assert!(prefixed != version && other != plain);
    let mut first = Small::new();
    first.pooling = json!({ "pooling_mode_mean_tokens": false, "pooling_mode_cls_token": true });
    let first = open(first.save());
    assert!(first.profile().version != version && vectors(&first, &["key store"]) != plain);
}

#[test]
fn each_role_has_its_prefix_and_a_model_may_want_lower_case() {
    let mut small = Small::new();
    small.sentences = json!({ "max_seq_length": 6, "do_lower_case": true });
    let prefixes = Prefixes { query: "query ".into(), chunk: "store ".into() };
    let settings = LocalSettings { prefixes, ..LocalSettings::default() };
    let prefixed = LocalEmbedder::open(small.save(), settings).expect("a model");
    let plain = open(small.folder.path());
    let of = |role: EmbedAs| prefixed.embed(&["KEY"], role).expect("a vector");
    assert_eq!(of(EmbedAs::Query), vectors(&plain, &["query key"]));
    assert_eq!(of(EmbedAs::Chunk), vectors(&plain, &["store key"]));
    assert_ne!(of(EmbedAs::Chunk), of(EmbedAs::Query));
}

#[test]
fn a_model_may_have_all_its_names_below_another() {
    let mut small = Small::new();
    let plain = vectors(&open(small.save()), &["key"]);
    small.tensors.iter_mut().for_each(|(name, _)| *name = format!("bert.{name}"));
    assert_eq!(vectors(&open(small.save()), &["key"]), plain);
}

#[rstest]
#[case::no_config("config.json", "is not there")]
#[case::no_modules("modules.json", "is not there")]
#[case::no_pooling("1_Pooling/config.json", "is not there")]
#[case::no_tokenizer("tokenizer.json", "is not there")]
#[case::no_weights("model.safetensors", "is not there")]
fn a_missing_file_is_named(#[case] file: &str, #[case] message: &str) {
    let small = Small::new();
    fs::remove_file(small.save().join(file)).expect("it was there");
    let error = small.open().expect_err("it is missing");
    assert_eq!(error.code(), "model");
    assert_eq!(error.to_string(), format!("{}: {message}", small.folder.path().join(file).display()));
    fs::create_dir(small.folder.path().join(file)).expect("a folder in its place");
    let error = small.open().expect_err("it is a folder").to_string();
    assert!(error.ends_with(&format!("{file}: is no file")), "{error}");
}

#[rstest]
#[case::architecture(|it: &mut Small| it.config["model_type"] = json!("roberta"), "`model_type` is roberta")]
#[case::activation(|it: &mut Small| it.config["hidden_act"] = json!("relu"), "`hidden_act` is relu")]
#[case::positions(|it: &mut Small| it.config["position_embedding_type"] = json!("relative_key"), "only absolute")]
#[case::no_heads(|it: &mut Small| it.config["num_attention_heads"] = json!(0), "`num_attention_heads` is 0, and must be 1 to 4")]
#[case::heads(|it: &mut Small| it.config["num_attention_heads"] = json!(3), "can't be divided")]
#[case::huge(|it: &mut Small| it.config["hidden_size"] = json!(u64::MAX), "`hidden_size` is 18446744073709551615")]
#[case::layers(|it: &mut Small| it.config["num_hidden_layers"] = json!(2), "has no tensor encoder.layer.1.attention.self.query.weight")]
#[case::width(|it: &mut Small| it.config["hidden_size"] = json!(8), "[2, 4], and [2, 8] by config.json")]
#[case::vocabulary(|it: &mut Small| it.config["vocab_size"] = json!(1 << 24), "embeddings.word_embeddings.weight has the shape [6, 4]")]
#[case::epsilon(|it: &mut Small| it.config["layer_norm_eps"] = json!(-1), "`layer_norm_eps` is -1")]
#[case::negative(|it: &mut Small| it.config["vocab_size"] = json!(-1), "config.json: can't be read: invalid value")]
#[case::no_number(|it: &mut Small| it.config["vocab_size"] = Value::Null, "config.json: can't be read: invalid type")]
#[case::dense(|it: &mut Small| it.modules[2]["type"] = json!("sentence_transformers.models.Dense"), "names the modules Transformer, Pooling, Dense")]
#[case::no_modules(|it: &mut Small| it.modules = json!([]), "names the modules ;")]
#[case::outside(|it: &mut Small| it.modules[1]["path"] = json!("../1_Pooling"), "names a module in another folder")]
#[case::pooling(|it: &mut Small| it.pooling = json!({ "pooling_mode_max_tokens": true }), "pools by max_tokens")]
#[case::two_poolings(
    |it: &mut Small| it.pooling = json!({ "pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true }),
    "pools by mean_tokens, cls_token"
)]
#[case::no_pooling(|it: &mut Small| it.pooling = json!({}), "has no pooling")]
#[case::prompt(|it: &mut Small| it.pooling["include_prompt"] = json!(false), "leaves out the prefix")]
#[case::no_tokens(|it: &mut Small| it.sentences = json!({ "max_seq_length": 2 }), "a text may have 2 tokens")]
#[case::tokenizer(|it: &mut Small| it.tokenizer["model"] = json!({ "type": "WordPiece" }), "tokenizer.json: can't be read")]
#[case::charsmap(
    |it: &mut Small| it.tokenizer["normalizer"] = json!({ "type": "Precompiled", "precompiled_charsmap": "AAAAAA==" }),
    "tokenizer.json: `normalizer` is Precompiled, and only those of a BERT can be run"
)]
#[case::inner_charsmap(
    |it: &mut Small| it.tokenizer["normalizer"] = json!({ "type": "Sequence", "normalizers": [
        { "type": "NFC" }, { "type": "Sequence", "normalizers": [{ "type": "Precompiled", "precompiled_charsmap": "" }] },
    ] }),
    "`normalizer` is Precompiled"
)]
#[case::nameless_charsmap(
    |it: &mut Small| it.tokenizer["normalizer"] = json!({ "precompiled_charsmap": "AAAAAA==" }),
    "`normalizer` is not named"
)]
#[case::charsmap_by_another_name(
    |it: &mut Small| it.tokenizer["normalizer"] = json!({ "type": "BertNormalizer", "precompiled_charsmap": "AAAAAA==" }),
    "`normalizer` is BertNormalizer"
)]
#[case::attention(
    |it: &mut Small| {
        it.config["num_attention_heads"] = json!(4);
        it.config["max_position_embeddings"] = json!(5_000_000);
        it.sentences["max_seq_length"] = json!(5_000_000);
    },
    "a text may have 8192 tokens, which take too much memory"
)]
#[case::wide(
    |it: &mut Small| {
        it.config["intermediate_size"] = json!(1 << 24);
        it.config["max_position_embeddings"] = json!(64);
        it.sentences["max_seq_length"] = json!(64);
    },
    "a text may have 64 tokens, which take too much memory"
)]
#[case::tensor(|it: &mut Small| { it.tensors.remove(4); }, "has no tensor encoder.layer.0.attention.self.query.bias")]
#[case::shape(|it: &mut Small| it.tensors[3].1 = vec![16], "has the shape [16], and [4, 4] by config.json")]
fn what_can_t_be_run_is_refused(#[case] change: fn(&mut Small), #[case] message: &str) {
    let mut small = Small::new();
    open(small.save());
    change(&mut small);
    small.save();
    let error = small.open().expect_err("refused");
    assert_eq!(error.code(), "model");
    let said = error.to_string();
    assert!(said.contains(message) && !said.contains('\n'), "{said}");
}

#[test]
fn a_text_may_be_cut_into_8192_tokens_at_most() {
    let mut small = Small::new();
    small.config["max_position_embeddings"] = json!(10_000);
    small.sentences["max_seq_length"] = json!(5_000_000);
    small.tensors[1].1 = vec![10_000, 4];
    // With 10,000 tokens its two heads would take too much memory.
    assert_eq!(vectors(&open(small.save()), &["key"])[0].len(), 4);
}

#[test]
fn what_a_bert_does_to_a_text_first_is_done() {
    let mut small = Small::new();
    let plain = vectors(&open(small.save()), &["key store"]);
    small.tokenizer["normalizer"] = json!({ "type": "Sequence", "normalizers": [
        { "type": "NFD" }, { "type": "StripAccents" }, { "type": "Lowercase" },
        { "type": "Strip", "strip_left": true, "strip_right": true },
    ] });
    assert_eq!(vectors(&open(small.save()), &["K\u{e9}y STORE"]), plain);
}

#[test]
fn a_tokenizer_that_contradicts_itself_is_an_error_and_never_a_panic() {
    let mut small = Small::new();
    // More tokens around a text than a text may have.
    let around = vec![json!({ "SpecialToken": { "id": "[CLS]", "type_id": 0 } }); 9];
    let text = |name: &str| json!({ "Sequence": { "id": name, "type_id": 0 } });
    let single = [around, vec![text("A")]].concat();
    small.tokenizer["post_processor"] = json!({
        "type": "TemplateProcessing",
        "single": single,
        "pair": [text("A"), text("B")],
        "special_tokens": { "[CLS]": { "id": "[CLS]", "ids": [1], "tokens": ["[CLS]"] } },
    });
    small.save();
    let error = small.open().and_then(|embedder| embedder.embed(&["key", "store"], EmbedAs::Chunk));
    assert_eq!(error.expect_err("it can't be run").code(), "model");
}

#[test]
fn a_folder_that_is_none_and_a_floor_that_is_none_are_refused() {
    let small = Small::new();
    let path = small.save().join("nowhere");
    let error = LocalEmbedder::open(&path, LocalSettings::default()).expect_err("no folder");
    assert_eq!((error.code(), error.to_string()), ("model", format!("{}: is no folder", path.display())));
    let settings = LocalSettings { floor: Some(2.0), ..LocalSettings::default() };
    let error = LocalEmbedder::open(small.folder.path(), settings).expect_err("no cosine");
    assert_eq!(error.code(), "invalid");
}

#[test]
fn a_token_that_the_model_does_not_know_is_an_error_of_that_text() {
    let mut small = Small::new();
    small.tokenizer["model"]["vocab"]["store"] = json!(6);
    let embedder = open(small.save());
    vectors(&embedder, &["key"]);
    let error = embedder.embed(&["key", "store"], EmbedAs::Chunk).expect_err("an unknown token");
    assert_eq!(error.code(), "model");
    assert!(error.to_string().ends_with("its tokenizer knows a token 6 that it does not"), "{error}");
}

#[test]
fn damaged_weights_are_an_error_or_another_profile_and_never_a_panic() {
    let small = Small::new();
    let version = open(small.save()).profile().version.clone();
    let whole = small.weights();
    for length in (0..whole.len()).step_by(7) {
        small.write("model.safetensors", &whole[..length]);
        assert_eq!(small.open().expect_err("cut off").code(), "model", "{length} bytes");
    }
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x15;
        small.write("model.safetensors", &bytes);
        match small.open() {
            Ok(embedder) => {
                assert_ne!(embedder.profile().version, version, "byte {at}");
                let _ = embedder.embed(&["key store"], EmbedAs::Chunk);
            }
            Err(error) => assert_eq!(error.code(), "model", "byte {at}"),
        }
    }
}

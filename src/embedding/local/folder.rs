//! The folder of a model: which files it has, what they say of it, and their digest. Knows nothing of tensors.

use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::embedding::Prefixes;
use crate::error::{Error, Result};
use crate::model::{DigestBuilder, EmbeddingProfile};

/// The largest file: all that runs in reasonable time on a processor is below it.
const LARGEST: u64 = 4 << 30;
/// The largest of its settings, and of its tokenizer.
const LARGEST_SETTINGS: u64 = 1 << 20;
const LARGEST_TOKENIZER: u64 = 64 << 20;
pub const TOKENIZER: &str = "tokenizer.json";
pub const WEIGHTS: &str = "model.safetensors";
/// The fewest tokens that a text is cut to: what stands around a text, and one of its own.
const FEWEST_TOKENS: usize = 3;
/// What a number of `config.json` may be at most. Each is held to the weights as well.
const MOST: usize = 1 << 24;

/// The most tokens that a text is cut to, whatever a model says.
const MOST_TOKENS: usize = 8192;
/// The most numbers of one step of a text's computation: 512 MiB in single precision. The attention of 16 heads reaches it
/// at 2,896 tokens; models of this family read 512 at most.
const MOST_NUMBERS: usize = 1 << 27;
/// What may be done to a text before it is cut into tokens, besides a `Sequence` of these; the fields that they have. The
/// crate panics over others that are damaged.
const NORMALIZERS: [&str; 8] = ["BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Strip", "StripAccents"];
const NORMALIZER_FIELDS: [&str; 7] =
    ["type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase", "strip_left", "strip_right"];

/// How the vectors of a text's tokens become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The first one.
    First,
}

/// What the settings of a model say.
#[derive(Clone, Debug)]
pub struct Shape {
    pub vocabulary: usize,
    pub hidden: usize,
    pub intermediate: usize,
    pub layers: usize,
    pub heads: usize,
    pub positions: usize,
    pub token_types: usize,
    pub epsilon: f64,
    pub pooling: Pooling,
    /// Where a text is cut.
    pub max_tokens: usize,
    /// Whether a text is lower-cased before it is cut into tokens.
    pub lowercase: bool,
}

#[derive(Deserialize)]
struct Config {
    model_type: Option<String>,
    vocab_size: usize,
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    layer_norm_eps: f64,
    hidden_act: String,
    position_embedding_type: Option<String>,
}

#[derive(Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Default, Deserialize)]
struct Sentences {
    max_seq_length: Option<usize>,
    do_lower_case: Option<bool>,
}

/// What of a tokenizer is looked at before the crate reads it.
#[derive(Deserialize)]
struct Normalized {
    normalizer: Option<Value>,
}

/// A model's folder, and the digest of what was read of it.
pub struct Folder {
    path: PathBuf,
    digest: DigestBuilder,
}

impl Folder {
    /// # Errors
    /// [`Error::Model`] where there is no folder.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = Self { path: path.to_owned(), digest: DigestBuilder::new("ragdb local model 1") };
        if path.is_dir() {
            return Ok(folder);
        }
        Err(Error::Model { path: folder.path, message: "is no folder".into() })
    }

    /// The name of the folder itself, whatever it is reached by.
    pub fn name(&self) -> String {
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        path.file_name().map_or_else(|| "model".into(), |name| name.to_string_lossy().into_owned())
    }

    pub fn into_path(self) -> PathBuf {
        self.path
    }

    /// Which model it is: a digest of all that was read, and of the prefixes that texts get.
    pub fn version(&self, prefixes: &Prefixes) -> String {
        let mut digest = self.digest.clone();
        digest.field(&prefixes.query).field(&prefixes.chunk);
        format!("sha-256 {:.32}", digest.finish().to_string())
    }

    /// What is wrong with a file of the folder.
    pub fn wrong(&self, file: &str, what: impl fmt::Display) -> Error {
        Error::Model { path: self.path.join(file), message: what.to_string() }
    }

    /// The bytes of a file, which join the digest.
    ///
    /// # Errors
    /// [`Error::Model`] where it is not there, or is too large; [`Error::Io`] where it can't be read.
    pub fn read(&mut self, file: &str) -> Result<Vec<u8>> {
        let most = if file == TOKENIZER { LARGEST_TOKENIZER } else { LARGEST };
        self.read_at_most(file, most)?.ok_or_else(|| self.wrong(file, "is not there"))
    }

    fn read_at_most(&mut self, file: &str, most: u64) -> Result<Option<Vec<u8>>> {
        let path = self.path.join(file);
        // What is no file, such as a pipe, would keep us waiting.
        match fs::metadata(&path) {
            Ok(found) if !found.is_file() => return Err(self.wrong(file, "is no file")),
            Ok(found) if found.len() > most => return Err(self.wrong(file, format!("has more than {most} bytes"))),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(path, error)),
        }
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(most).read_to_end(&mut bytes));
        read.map_err(|error| Error::io(path, error))?;
        self.digest.field(file).field(&bytes);
        Ok(Some(bytes))
    }

    fn settings<T: DeserializeOwned>(&mut self, file: &str) -> Result<Option<T>> {
        let Some(bytes) = self.read_at_most(file, LARGEST_SETTINGS)? else { return Ok(None) };
        let read = serde_json::from_slice(&bytes);
        read.map(Some).map_err(|error| self.wrong(file, format!("can't be read: {error}")))
    }

    fn required<T: DeserializeOwned>(&mut self, file: &str) -> Result<T> {
        self.settings(file)?.ok_or_else(|| self.wrong(file, "is not there"))
    }

    /// What the settings say, each checked.
    ///
    /// # Errors
    /// [`Error::Model`] where they are not those of a BERT with a pooling that is known, or contradict themselves.
    pub fn shape(&mut self) -> Result<Shape> {
        let pooling = self.pooling()?;
        let config: Config = self.required("config.json")?;
        let wrong = |what: String| Err(self.wrong("config.json", what));
        if config.model_type.as_deref() != Some("bert") {
            let found = config.model_type.as_deref().unwrap_or("not named");
            return wrong(format!("`model_type` is {found}, and only bert can be run"));
        }
        if config.hidden_act != "gelu" {
            return wrong(format!("`hidden_act` is {}, and only gelu can be run", config.hidden_act));
        }
        if let Some(other) = config.position_embedding_type.as_deref().filter(|kind| *kind != "absolute") {
            return wrong(format!("`position_embedding_type` is {other}, and only absolute can be run"));
        }
        let numbers = [
            ("vocab_size", config.vocab_size, MOST),
            ("hidden_size", config.hidden_size, EmbeddingProfile::MOST_DIMENSIONS),
            ("intermediate_size", config.intermediate_size, MOST),
            ("num_hidden_layers", config.num_hidden_layers, 256),
            ("num_attention_heads", config.num_attention_heads, config.hidden_size),
            ("max_position_embeddings", config.max_position_embeddings, MOST),
            ("type_vocab_size", config.type_vocab_size, MOST),
        ];
        if let Some((name, number, most)) = numbers.iter().find(|(_, number, most)| !(1..=*most).contains(number)) {
            return wrong(format!("`{name}` is {number}, and must be 1 to {most}"));
        }
        if !config.hidden_size.is_multiple_of(config.num_attention_heads) {
            return wrong("`hidden_size` can't be divided by `num_attention_heads`".into());
        }
        if !(0.0..=1.0).contains(&config.layer_norm_eps) {
            return wrong(format!("`layer_norm_eps` is {}, and must be 0 to 1", config.layer_norm_eps));
        }
        let file = "sentence_bert_config.json";
        let sentences: Sentences = self.settings(file)?.unwrap_or_default();
        let said = sentences.max_seq_length.unwrap_or(usize::MAX);
        let max_tokens = said.min(config.max_position_embeddings).min(MOST_TOKENS);
        if max_tokens < FEWEST_TOKENS {
            return Err(self
                .wrong(file, format!("a text may have {max_tokens} tokens, and must have {FEWEST_TOKENS} at least")));
        }
        // The largest step: each head's scores of all pairs of tokens, or each token's inner numbers.
        let attention = config.num_attention_heads.saturating_mul(max_tokens);
        let widest = attention.max(config.intermediate_size).max(3 * config.hidden_size);
        if widest.saturating_mul(max_tokens) > MOST_NUMBERS {
            let what =
                format!("a text may have {max_tokens} tokens, which take too much memory; lower `max_seq_length`");
            return Err(self.wrong(file, what));
        }
        Ok(Shape {
            vocabulary: config.vocab_size,
            hidden: config.hidden_size,
            intermediate: config.intermediate_size,
            layers: config.num_hidden_layers,
            heads: config.num_attention_heads,
            positions: config.max_position_embeddings,
            token_types: config.type_vocab_size,
            epsilon: config.layer_norm_eps,
            pooling,
            max_tokens,
            lowercase: sentences.do_lower_case.unwrap_or(false),
        })
    }

    /// Refuses a tokenizer that does to a text what no BERT's does.
    ///
    /// # Errors
    /// [`Error::Model`] where it is no JSON, or has another normalizer than those that are known.
    pub fn check_normalizer(&self, tokenizer: &[u8]) -> Result<()> {
        let read: serde_json::Result<Normalized> = serde_json::from_slice(tokenizer);
        let read = read.map_err(|error| self.wrong(TOKENIZER, format!("can't be read: {error}")))?;
        match read.normalizer.as_ref().and_then(foreign) {
            Some(kind) => {
                let kind = kind.escape_debug();
                Err(self.wrong(TOKENIZER, format!("`normalizer` is {kind}, and only those of a BERT can be run")))
            }
            None => Ok(()),
        }
    }

    /// How `modules.json`, and what it names, pools. Its last step, which gives vectors the length 1, is done here in any
    /// case.
    fn pooling(&mut self) -> Result<Pooling> {
        let file = "modules.json";
        let modules: Vec<Module> = self.required(file)?;
        let kind = |module: &Module| module.kind.rsplit('.').next().unwrap_or("").to_owned();
        let kinds: Vec<String> = modules.iter().map(kind).collect();
        let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
        if !matches!(kinds[..], ["Transformer", "Pooling"] | ["Transformer", "Pooling", "Normalize"]) {
            let known = "only a Transformer, a Pooling and a Normalize can be run";
            return Err(self.wrong(file, format!("names the modules {}; {known}", kinds.join(", "))));
        }
        let plain = |path: &str| path.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if !modules[0].path.is_empty() || modules[1].path.is_empty() || !plain(&modules[1].path) {
            return Err(self.wrong(file, "names a module in another folder than its own"));
        }
        let file = format!("{}/config.json", modules[1].path);
        let config: serde_json::Map<String, Value> = self.required(&file)?;
        let is_set = |(name, value): (&String, &Value)| {
            let mode = name.strip_prefix("pooling_mode_")?;
            (value == &Value::Bool(true)).then(|| mode.to_owned())
        };
        let modes: Vec<String> = config.iter().filter_map(is_set).collect();
        if config.get("include_prompt") == Some(&Value::Bool(false)) {
            return Err(self.wrong(&file, "leaves out the prefix, which can't be done"));
        }
        match modes.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["mean_tokens"] => Ok(Pooling::Mean),
            ["cls_token"] => Ok(Pooling::First),
            [] => Err(self.wrong(&file, "has no pooling")),
            _ => {
                Err(self
                    .wrong(&file, format!("pools by {}; only mean_tokens and cls_token can be run", modes.join(", "))))
            }
        }
    }
}

/// The first normalizer that is none of a BERT's.
fn foreign(normalizer: &Value) -> Option<&str> {
    let kind = normalizer.get("type").and_then(Value::as_str).unwrap_or("not named");
    if kind == "Sequence" {
        let Some(parts) = normalizer.get("normalizers").and_then(Value::as_array) else { return Some(kind) };
        return parts.iter().find_map(foreign);
    }
    // Without the right fields the crate would take it for another kind that has them.
    let is_known = |name: &String| NORMALIZER_FIELDS.contains(&name.as_str());
    let has_known = normalizer.as_object().is_some_and(|fields| fields.keys().all(is_known));
    (!has_known || !NORMALIZERS.contains(&kind)).then_some(kind)
}

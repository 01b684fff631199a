//! `ragdb.yaml` → [`Config`]: the declared sources and the settings of a sync, all checked.
//!
//! Reads the file it is given and nothing else: looking for a `ragdb.yaml` upwards is the command line's job,
//! and whether a source's folder exists is found out by the sync.

mod read;
mod template;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

use crate::error::{Error, Result};
use crate::ingest::{Patterns, Selection};
use crate::model::{
    Bm25Policy, ChunkPolicy, Digest, Fusion, Policy, RetrieverKind, SourceKind, Trust, UnsafeScope, Visibility,
};

/// A `ragdb.yaml` may be this large; a hundred sources take about 50 kB.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// What is to be indexed, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The declared sources, in the order of the file. Their ids differ, also when letter case is ignored.
    pub sources: Vec<SourceConfig>,
    /// How documents are cut, where the file says something about it.
    pub chunking: Option<ChunkSettings>,
    /// How hits are scored, where the file says something about it.
    pub bm25: Option<Bm25Policy>,
    /// How far a finding of the unsafe gate reaches, where the file says something about it.
    pub unsafe_scope: Option<UnsafeScope>,
    /// How a sync reads the sources.
    pub sync: SyncSettings,
    /// How questions are answered.
    pub answer: AnswerSettings,
    /// Which model makes vectors, where the file names one.
    pub embedding: Option<EmbeddingSettings>,
    /// What ranks chunks where a verb is not told.
    pub retrieval: RetrievalSettings,
    /// What holds for the readers of all sources.
    pub access: AccessSettings,
}

/// What ranks chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RetrievalSettings {
    /// Words, vectors or both; words by default.
    pub kind: RetrieverKind,
    /// How the ranks of both become one.
    pub fusion: Fusion,
}

/// What holds for the readers of all sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessSettings {
    /// The groups that there are, none at all where the list is empty; `None` where any name is one. With a list, a source may name no other group, and one
    /// that a document's front matter names has no members.
    pub groups: Option<Vec<String>>,
}

/// The model that answers are asked of, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerSettings {
    /// The base URL of an OpenAI-compatible API; without one no model is asked.
    pub base_url: Option<String>,
    /// The model's name.
    pub model: Option<String>,
    /// The name of the environment variable that holds the key: its letters are capitals, and it ends in `API_KEY`, so
    /// that a configuration can't send just any secret away. Empty for no key; `OPENAI_API_KEY` by default.
    pub api_key_env: String,
    /// How long one request may take, 1 to 3600; 60 by default.
    pub timeout_seconds: u32,
    /// How often a rejected answer goes back, 0 to 10; 2 by default.
    pub retries: u32,
}

impl Default for AnswerSettings {
    fn default() -> Self {
        let api_key_env = "OPENAI_API_KEY".to_owned();
        Self { base_url: None, model: None, api_key_env, timeout_seconds: 60, retries: 2 }
    }
}

/// The model that makes vectors, and how it is given texts.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddingSettings {
    /// The model.
    pub embedder: EmbedderSettings,
    /// The least cosine of a hit, -1 to 1; `None` for that of the model. A `ragdb.yaml` must say it of an endpoint, of whose
    /// model nothing is known.
    pub floor: Option<f64>,
    /// What is put before a question, at most 1,024 bytes; models that were trained so need it. Empty by default.
    pub query_prefix: String,
    /// What is put before a chunk, at most 1,024 bytes. Empty by default.
    pub chunk_prefix: String,
}

/// Where vectors come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmbedderSettings {
    /// The test double: it knows words, not their meaning.
    Hashing,
    /// A model in a folder of this machine.
    Local {
        /// The folder, below that of the `ragdb.yaml`.
        folder: PathBuf,
    },
    /// A model behind an OpenAI-compatible API.
    Endpoint {
        /// The base URL.
        base_url: String,
        /// The model's name.
        model: String,
        /// As [`AnswerSettings::api_key_env`].
        api_key_env: String,
        /// How many numbers its vectors have, 1 to 8,192.
        dimensions: u32,
        /// Whether requests name `dimensions`, which cuts the vectors of a model that is made for it; `false` by default.
        send_dimensions: bool,
        /// Which of the model, part of the profile of its vectors: 1 to 256 bytes. Empty by default: a digest of the address
        /// stands for it.
        revision: String,
        /// How many texts one request has, 1 to 2,048; 32 by default.
        batch: u32,
        /// A longer text is cut to so many characters, 1 to 1,000,000; 6,000 by default.
        longest_text: u32,
        /// How long one request may take, 1 to 3600; 60 by default.
        timeout_seconds: u32,
    },
}

/// A folder of documents and the rules that hold for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceConfig {
    /// The source's name, part of each of its documents' identity: `[a-z0-9][a-z0-9._-]*`, at most 64 characters.
    pub id: String,
    /// Which files are documents, and how they are cut.
    pub kind: SourceKind,
    /// The folder that `path` starts from: that of the `ragdb.yaml`, or the folder named on the command line.
    /// It may be reached through symbolic links; below it none is followed.
    pub base: PathBuf,
    /// The folder below `base`, with `/` separators; `.` for `base` itself. Never absolute, never with `..`.
    pub path: String,
    /// Where the source was declared.
    pub declared_by: DeclaredBy,
    /// A label that a query can be limited to.
    pub scope: Option<String>,
    /// How widely the documents may be read; `internal` by default.
    pub visibility: Visibility,
    /// The tenant that the documents belong to.
    pub tenant: Option<String>,
    /// The groups that may read the documents; everyone inside the visibility, where there is none.
    pub groups: Vec<String>,
    /// Patterns of the files to take; all of the kind, where there is none.
    pub include: Vec<String>,
    /// Patterns of the files and folders to leave out.
    pub exclude: Vec<String>,
    /// Front matter fields that each document must have.
    pub required_metadata: Vec<String>,
    /// Whether all of its documents are reviewed: the unsafe gate keeps none of them back.
    pub trust: Trust,
    /// Patterns of the documents that are reviewed where not all are. One without a wildcard is a path from the root.
    pub reviewed: Vec<String>,
    /// Whether files and folders whose names begin with a dot are read as well; `false` by default.
    pub hidden: bool,
    /// [`SyncSettings::respect_gitignore`] for this source alone; `None` for that of the configuration.
    pub respect_gitignore: Option<bool>,
    /// [`SyncSettings::max_file_bytes`] for this source alone; `None` for that of the configuration.
    pub max_file_bytes: Option<u64>,
}

/// Where a source was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclaredBy {
    /// In a `ragdb.yaml`.
    Config,
    /// As a folder on the command line.
    Argument,
}

/// A chunk policy of which any part may be left to its default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkSettings {
    /// See [`ChunkPolicy::target_chars`].
    pub target_chars: Option<u32>,
    /// See [`ChunkPolicy::max_chars`].
    pub max_chars: Option<u32>,
    /// See [`ChunkPolicy::overlap_chars`].
    pub overlap_chars: Option<u32>,
}

/// How a sync reads the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncSettings {
    /// How many documents a sync may delete. By default a sync refuses to delete half of a source of ten
    /// documents or more. Either way it refuses a source that is empty all at once, and a folder that is, if it
    /// held ten documents or more, and to remove a source of ten documents or more; only the limit given with one
    /// sync overrules that. It holds for syncs with this configuration: unlike the other two it is not stored.
    pub max_delete: Option<u64>,
    /// Leave out what the `.gitignore` files in a source's folder and below it leave out; `false` by default.
    /// Those above the folder, and the user's own, are not read.
    pub respect_gitignore: bool,
    /// A larger file is refused. 1 to 1 GiB; 64 MiB by default.
    pub max_file_bytes: u64,
}

impl Default for SyncSettings {
    fn default() -> Self {
        Self { max_delete: None, respect_gitignore: false, max_file_bytes: 64 << 20 }
    }
}

impl Config {
    /// Reads and checks the `ragdb.yaml` at `path`. Its folder is where the sources' paths start from.
    ///
    /// # Errors
    /// [`Error::Io`] where the file can't be read, [`Error::Config`] where it is wrong.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        file.take(MAX_CONFIG_BYTES + 1).read_to_end(&mut bytes).map_err(|error| Error::io(path, error))?;
        let wrong = |message: String| Error::Config { path: path.to_path_buf(), message };
        if bytes.len() as u64 > MAX_CONFIG_BYTES {
            return Err(wrong(format!("is larger than {MAX_CONFIG_BYTES} bytes")));
        }
        let text = String::from_utf8(bytes).map_err(|error| wrong(format!("is not UTF-8: {}", error.utf8_error())))?;
        Self::from_yaml(&text, path)
    }

    /// Checks the text of the `ragdb.yaml` at `path`, which is not opened.
    ///
    /// # Errors
    /// [`Error::Config`] with the line and the name of what is wrong.
    pub fn from_yaml(text: &str, path: impl AsRef<Path>) -> Result<Self> {
        read::from_yaml(text, path.as_ref())
    }

    /// The configuration of a folder named on the command line: that one source, and defaults.
    ///
    /// # Errors
    /// As [`SourceConfig::for_folder`].
    pub fn for_folder(folder: impl AsRef<Path>) -> Result<Self> {
        Ok(Self { sources: vec![SourceConfig::for_folder(folder)?], ..Self::default() })
    }

    /// The `ragdb.yaml` that `ragdb init` writes for `folder` (relative, see [`SourceConfig::path`]): one source,
    /// and every setting with its default in a comment.
    ///
    /// # Errors
    /// [`Error::Invalid`] where a `ragdb.yaml` may not name such a folder.
    pub fn template(folder: &str) -> Result<String> {
        template::template(folder)
    }
}

impl SourceConfig {
    /// A folder named on the command line as a source with the defaults. Its id is made from the folder's name.
    ///
    /// # Errors
    /// [`Error::Refused`] (`root_missing`, `root_unreadable`) where the folder can't be resolved.
    pub fn for_folder(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let base = folder.canonicalize().map_err(|error| {
            let (code, hint) = match error.kind() {
                std::io::ErrorKind::NotFound => ("root_missing", "create or mount it, or mend its path"),
                _ => ("root_unreadable", "allow it to be read"),
            };
            let message =
                format!("the source folder {} can't be opened: {error}; nothing was changed", folder.display());
            Error::Refused { code, message, hint: hint.into() }
        })?;
        let name = base.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { declared_by: DeclaredBy::Argument, ..Self::new(id_for(&name), base, ".".into()) })
    }

    fn new(id: String, base: PathBuf, path: String) -> Self {
        Self {
            id,
            kind: SourceKind::default(),
            base,
            path,
            declared_by: DeclaredBy::Config,
            scope: None,
            visibility: Visibility::default(),
            tenant: None,
            groups: Vec::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            required_metadata: Vec::new(),
            trust: Trust::None,
            reviewed: Vec::new(),
            hidden: false,
            respect_gitignore: None,
            max_file_bytes: None,
        }
    }

    /// The source's folder.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        if self.path == "." { self.base.clone() } else { self.base.join(&self.path) }
    }

    /// Which documents are reviewed.
    pub(crate) fn reviewed(&self) -> Result<Reviewed> {
        Reviewed::new(&self.id, self.trust, &self.reviewed)
    }

    fn compile(&self, name: &str, patterns: &[String]) -> Result<Patterns> {
        compile(&self.id, name, patterns)
    }

    /// The rule that says which files below the folder are documents of this source.
    pub(crate) fn selection(&self, sync: &SyncSettings) -> Result<Selection> {
        Ok(Selection {
            kind: self.kind,
            include: self.compile("include", &self.include)?,
            exclude: self.compile("exclude", &self.exclude)?,
            hidden: self.hidden,
            respect_gitignore: self.respect_gitignore.unwrap_or(sync.respect_gitignore),
        })
    }
}

fn compile(source_id: &str, name: &str, patterns: &[String]) -> Result<Patterns> {
    Patterns::compile(patterns)
        .map_err(|bad| Error::Invalid { message: format!("source {source_id}: {name}: {}", bad.message) })
}

/// The documents of a source that somebody has looked at.
#[derive(Debug)]
pub(crate) struct Reviewed {
    all: bool,
    /// Paths from the root: a file of the same name elsewhere was not looked at.
    names: Vec<String>,
    patterns: Patterns,
}

impl Reviewed {
    /// What a declaration means. A pattern without a wildcard is a path from the root.
    pub(crate) fn new(source_id: &str, trust: Trust, reviewed: &[String]) -> Result<Self> {
        compile(source_id, "reviewed", reviewed)?;
        let is_name = |pattern: &String| !pattern.contains(['*', '?', '[', ']', '{', '}', '\\']);
        let (names, patterns): (Vec<String>, Vec<String>) = reviewed.iter().cloned().partition(is_name);
        Ok(Self {
            all: trust == Trust::Reviewed,
            names: names.iter().map(|name| name.trim_end_matches('/').to_owned()).collect(),
            patterns: compile(source_id, "reviewed", &patterns)?,
        })
    }

    /// Whether the document with this path is one of them.
    pub(crate) fn covers(&self, path: &str) -> bool {
        let below = |name: &String| {
            path.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.all || self.names.iter().any(below) || self.patterns.matches(path.as_bytes())
    }
}

impl DeclaredBy {
    /// The name in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Argument => "argument",
        }
    }
}

impl From<ChunkPolicy> for ChunkSettings {
    fn from(policy: ChunkPolicy) -> Self {
        let ChunkPolicy { target_chars, max_chars, overlap_chars } = policy;
        Self { target_chars: Some(target_chars), max_chars: Some(max_chars), overlap_chars: Some(overlap_chars) }
    }
}

impl ChunkSettings {
    /// The settings of `self`, and those of `other` where `self` has none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            target_chars: self.target_chars.or(other.target_chars),
            max_chars: self.max_chars.or(other.max_chars),
            overlap_chars: self.overlap_chars.or(other.overlap_chars),
        }
    }

    /// The policy of a store that has `known` now, and these settings from now on: what is not set stays, lowered where
    /// what is set leaves less room. A `max_chars` alone brings the default target with it, as in a new store.
    pub(crate) fn applied_to(self, known: ChunkPolicy) -> Result<ChunkPolicy> {
        let max_chars = self.max_chars.unwrap_or(known.max_chars);
        let target = if self.max_chars.is_some() { ChunkPolicy::default().target_chars } else { known.target_chars };
        let target_chars = self.target_chars.unwrap_or(target.min(max_chars));
        let overlap_chars = self.overlap_chars.unwrap_or(known.overlap_chars.min(target_chars.saturating_sub(1)));
        let policy = ChunkPolicy { target_chars, max_chars, overlap_chars };
        Ok(Policy::new(policy, Bm25Policy::default())?.chunking)
    }

    /// The policy: what is not set is [`ChunkPolicy::default`]'s, lowered where what is set leaves less room.
    ///
    /// # Errors
    /// [`Error::Invalid`] where a setting is outside its range.
    pub fn resolve(self) -> Result<ChunkPolicy> {
        let default = ChunkPolicy::default();
        let max_chars = self.max_chars.unwrap_or(default.max_chars);
        let target_chars = self.target_chars.unwrap_or(default.target_chars.min(max_chars));
        let overlap_chars = self.overlap_chars.unwrap_or(default.overlap_chars.min(target_chars.saturating_sub(1)));
        let policy = ChunkPolicy { target_chars, max_chars, overlap_chars };
        Ok(Policy::new(policy, Bm25Policy::default())?.chunking)
    }
}

/// A source id made from a folder's name.
fn id_for(name: &str) -> String {
    let mut id = String::new();
    let is_gap = |character: char| character.is_alphanumeric() || character.is_whitespace() || character == '-';
    for character in name.nfkd() {
        match character.to_ascii_lowercase() {
            plain @ ('a'..='z' | '0'..='9' | '.' | '_') => id.push(plain),
            other if is_gap(other) && !id.ends_with('-') => id.push('-'),
            _ => {}
        }
    }
    let id = id.trim_matches(['-', '.', '_']);
    if id.is_empty() {
        // A name in another script: two such folders still need two ids.
        return format!("source-{}", &Digest::of(name).to_string()[..8]);
    }
    id[..id.len().min(64)].trim_end_matches(['-', '.', '_']).to_owned()
}

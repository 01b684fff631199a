//! The embedder in this process: a BERT model of the sentence-transformers family, from a folder. Nothing leaves the machine.
//!
//! Each text is a computation of its own, without padding, so that its vector does not depend on what it is embedded beside.

mod bert;
mod folder;
mod ops;

use std::fmt;
use std::iter;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tokenizers::{Tokenizer, TruncationParams};

use super::{EmbedAs, Embedder, Prefixes, check_floor, unit};
use crate::error::{Error, Result};
use crate::model::EmbeddingProfile;
use bert::Bert;
use folder::{Folder, TOKENIZER, WEIGHTS};

/// The floor where none is set: measured for all-MiniLM-L6-v2. docs/embeddings.md has the figures.
const FLOOR: f64 = 0.3;
/// How many characters of a text are looked at for each token that the model reads: more than the words of any language
/// have, so that a text of megabytes is not taken apart for its first 256 tokens.
const CHARS_PER_TOKEN: usize = 64;

/// How a model of a folder is used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalSettings {
    /// Its name in the profile; the folder's name where it is empty.
    pub name: String,
    /// What the model wants before each text.
    pub prefixes: Prefixes,
    /// The least cosine, from -1 to 1, that a chunk must have with a question to be a hit; 0.3 where none is set, measured
    /// for all-MiniLM-L6-v2, which may say nothing of another model.
    pub floor: Option<f64>,
}

/// A model from a folder, by the cargo feature `local`: `config.json` of a BERT, `model.safetensors`, `tokenizer.json`,
/// and `modules.json` with what it names, as sentence-transformers writes them.
pub struct LocalEmbedder {
    profile: EmbeddingProfile,
    prefixes: Prefixes,
    floor: f64,
    folder: PathBuf,
    lowercase: bool,
    max_tokens: usize,
    tokenizer: Tokenizer,
    bert: Bert,
}

impl fmt::Debug for LocalEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalEmbedder")
            .field("profile", &self.profile)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl LocalEmbedder {
    /// Reads the model into memory. Its profile has a digest of all that was read and of the prefixes.
    ///
    /// # Errors
    /// [`Error::Model`] where the folder has no model, a damaged one, or one that this crate can't run, such as another
    /// architecture, pooling or normalizer, or one whose texts would take too much memory; [`Error::Io`] where a file can't
    /// be read; [`Error::Invalid`] where the floor is no cosine.
    pub fn open(folder: impl AsRef<Path>, settings: LocalSettings) -> Result<Self> {
        let LocalSettings { name, prefixes, floor } = settings;
        let floor = floor.unwrap_or(FLOOR);
        check_floor(floor)?;
        let mut folder = Folder::open(folder.as_ref())?;
        let shape = folder.shape()?;
        let tokenizer_file = folder.read(TOKENIZER)?;
        folder.check_normalizer(&tokenizer_file)?;
        let tokenizer = caught(|| tokenizer(&tokenizer_file, shape.max_tokens));
        let tokenizer = tokenizer.ok_or_else(|| folder.wrong(TOKENIZER, "can't be read: it contradicts itself"))?;
        let tokenizer = tokenizer.map_err(|error| folder.wrong(TOKENIZER, format!("can't be read: {error}")))?;
        let weights = folder.read(WEIGHTS)?;
        let bert = caught(|| Bert::load(&weights, &shape));
        let bert = bert.ok_or_else(|| folder.wrong(WEIGHTS, "can't be read: it contradicts itself"))?;
        let bert = bert.map_err(|error| folder.wrong(WEIGHTS, bert::said(error)))?;
        let profile = EmbeddingProfile {
            model: if name.trim().is_empty() { folder.name() } else { name },
            version: folder.version(&prefixes),
            dimensions: shape.hidden,
            normalised: true,
        };
        profile.check()?;
        let (lowercase, max_tokens) = (shape.lowercase, shape.max_tokens);
        Ok(Self { profile, prefixes, floor, folder: folder.into_path(), lowercase, max_tokens, tokenizer, bert })
    }

    fn vector(&self, text: &str, role: EmbedAs) -> Result<Vec<f32>> {
        let wrong = |message: String| Error::Model { path: self.folder.clone(), message };
        let end = text.char_indices().nth(self.max_tokens.saturating_mul(CHARS_PER_TOKEN));
        let text = end.map_or(text, |(end, _)| &text[..end]);
        let mut input = format!("{}{text}", self.prefixes.of(role));
        if self.lowercase {
            input = input.to_lowercase();
        }
        let encoding = caught(|| self.tokenizer.encode_fast(input, true));
        let encoding = encoding.ok_or_else(|| wrong("its tokenizer panics over a text".into()))?;
        let encoding = encoding.map_err(|error| wrong(format!("its tokenizer can't read a text: {error}")))?;
        let vector = caught(|| self.bert.embed(encoding.get_ids()));
        let vector = vector.ok_or_else(|| wrong("panics over a text".into()))?;
        let mut vector = vector.map_err(|error| wrong(format!("can't be run: {}", bert::said(error))))?;
        if !unit(&mut vector) {
            return Err(wrong("gave a vector with a number that is not finite, or with no direction".into()));
        }
        Ok(vector)
    }
}

/// The tokenizer of a file, which cuts texts and fills up none.
fn tokenizer(file: &[u8], max_length: usize) -> tokenizers::Result<Tokenizer> {
    let mut tokenizer = Tokenizer::from_bytes(file)?;
    tokenizer.with_truncation(Some(TruncationParams { max_length, ..TruncationParams::default() }))?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}

/// What comes of `work`; nothing where it panics. The crates that read and run a model panic over some files that contradict
/// themselves, and a folder from elsewhere must not end the process.
fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    panic::catch_unwind(AssertUnwindSafe(work)).ok()
}

impl Embedder for LocalEmbedder {
    fn profile(&self) -> &EmbeddingProfile {
        &self.profile
    }

    fn embed(&self, texts: &[&str], role: EmbedAs) -> Result<Vec<Vec<f32>>> {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(texts.len());
        if threads <= 1 {
            return texts.iter().map(|text| self.vector(text, role)).collect();
        }
        let next = AtomicUsize::new(0);
        let work = || {
            let take = || {
                let at = next.fetch_add(1, Ordering::Relaxed);
                texts.get(at).map(|text| (at, text))
            };
            iter::from_fn(take).map(|(at, text)| Ok((at, self.vector(text, role)?))).collect::<Result<Vec<_>>>()
        };
        let mut vectors = vec![Vec::new(); texts.len()];
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let gone = |_| Err(Error::Model { path: self.folder.clone(), message: "can't be run".into() });
            for worker in workers {
                for (at, vector) in worker.join().unwrap_or_else(gone)? {
                    vectors[at] = vector;
                }
            }
            Ok(vectors)
        })
    }

    fn floor(&self) -> f64 {
        self.floor
    }
}

//! The section `embedding` of a `ragdb.yaml`.

use std::path::Path;

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::answer::{KEY_RULE, MODEL_RULE, URL_RULE, is_key_variable, is_url};
use super::{Fault, Text, relative_path};
use crate::config::{EmbedderSettings, EmbeddingSettings};
use crate::model::EmbeddingProfile;

/// No longer prefix is known of any model.
const LONGEST_PREFIX: usize = 1024;
/// OpenAI's own limit of the texts of one request.
const MOST_TEXTS: usize = 2048;
/// More than any model reads.
const LONGEST_TEXT: usize = 1_000_000;
/// What holds where nothing is said.
const API_KEY_ENV: &str = "OPENAI_API_KEY";
const BATCH: u32 = 32;
const TEXT: u32 = 6000;
const TIMEOUT_SECONDS: u32 = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Hashing,
    Local,
    Endpoint,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Raw {
    kind: Option<Spanned<Kind>>,
    path: Option<Text>,
    base_url: Option<Text>,
    model: Option<Text>,
    api_key_env: Option<Text>,
    dimensions: Option<Spanned<u32>>,
    send_dimensions: Option<Spanned<bool>>,
    revision: Option<Text>,
    batch: Option<Spanned<u32>>,
    longest_text: Option<Spanned<u32>>,
    timeout_seconds: Option<Spanned<u32>>,
    floor: Option<Spanned<f64>>,
    query_prefix: Option<Text>,
    chunk_prefix: Option<Text>,
}

impl Raw {
    /// What it says; nothing where it names no kind, and nothing that needs one.
    pub(super) fn check(self, base: &Path) -> Result<Option<EmbeddingSettings>, Fault> {
        let Some(kind) = &self.kind else { return self.says_nothing().map(|()| None) };
        let (line, kind) = (kind.referenced.line(), kind.value);
        self.has_no_fields_of_others(kind)?;
        let floor = match self.floor {
            Some(Spanned { value, referenced, .. }) if !(-1.0..=1.0).contains(&value) => {
                return Err((referenced.line(), format!("embedding.floor is {value}; a cosine is -1 to 1")));
            }
            floor => floor.map(|floor| floor.value),
        };
        let embedder = match kind {
            Kind::Hashing => EmbedderSettings::Hashing,
            Kind::Local => {
                let path = self.path.ok_or_else(|| missing(line, "local", "path"))?;
                let inside = relative_path(&path.value)
                    .map_err(|why| (path.referenced.line(), format!("embedding.path: {why}")))?;
                EmbedderSettings::Local { folder: base.join(inside) }
            }
            Kind::Endpoint => {
                let needed = |field: Option<Text>, name| field.ok_or_else(|| missing(line, "endpoint", name));
                let dimensions = self.dimensions.ok_or_else(|| missing(line, "endpoint", "dimensions"))?;
                let api_key_env = match self.api_key_env {
                    Some(text) => held(text, "api_key_env", is_key_variable, KEY_RULE)?,
                    None => API_KEY_ENV.to_owned(),
                };
                let revision = match self.revision {
                    Some(text) => held(text, "revision", super::is_name, MODEL_RULE)?,
                    None => String::new(),
                };
                EmbedderSettings::Endpoint {
                    base_url: held(needed(self.base_url, "base_url")?, "base_url", is_url, URL_RULE)?,
                    model: held(needed(self.model, "model")?, "model", super::is_name, MODEL_RULE)?,
                    api_key_env,
                    dimensions: within("dimensions", &dimensions, EmbeddingProfile::MOST_DIMENSIONS)?,
                    send_dimensions: self.send_dimensions.is_some_and(|is_sent| is_sent.value),
                    revision,
                    batch: within_or("batch", self.batch.as_ref(), BATCH, MOST_TEXTS)?,
                    longest_text: within_or("longest_text", self.longest_text.as_ref(), TEXT, LONGEST_TEXT)?,
                    timeout_seconds: within_or(
                        "timeout_seconds",
                        self.timeout_seconds.as_ref(),
                        TIMEOUT_SECONDS,
                        3600,
                    )?,
                }
            }
        };
        if kind == Kind::Endpoint && floor.is_none() {
            // Without one, whatever is asked would have hits: nothing is known of the model.
            let what = "embedding.kind endpoint needs embedding.floor: the least cosine of a hit; docs/embeddings.md says \
                        how to find one";
            return Err((line, what.to_owned()));
        }
        Ok(Some(EmbeddingSettings {
            embedder,
            floor,
            query_prefix: prefix("query_prefix", self.query_prefix)?,
            chunk_prefix: prefix("chunk_prefix", self.chunk_prefix)?,
        }))
    }

    /// Refuses what needs a kind; what is the default says nothing.
    fn says_nothing(&self) -> Result<(), Fault> {
        match self.fields().filter(|field| !field.is_default).map(|field| field.line).min() {
            Some(line) => Err((line, "embedding.kind is missing: local, endpoint or hashing".into())),
            None => Ok(()),
        }
    }

    /// Refuses what would be read by nobody.
    fn has_no_fields_of_others(&self, kind: Kind) -> Result<(), Fault> {
        match self.fields().find(|field| !field.kinds.contains(&kind)) {
            Some(Field { name, line, .. }) => {
                Err((line, format!("embedding.{name} means nothing where embedding.kind is {}", kind.as_str())))
            }
            None => Ok(()),
        }
    }

    /// The fields that are there, besides the kind.
    fn fields(&self) -> impl Iterator<Item = Field> {
        const LOCAL: &[Kind] = &[Kind::Local];
        const ENDPOINT: &[Kind] = &[Kind::Endpoint];
        const BOTH: &[Kind] = &[Kind::Local, Kind::Endpoint];
        let fields = [
            field("path", self.path.as_ref(), LOCAL, |_| false),
            field("base_url", self.base_url.as_ref(), ENDPOINT, |_| false),
            field("model", self.model.as_ref(), ENDPOINT, |_| false),
            field("api_key_env", self.api_key_env.as_ref(), ENDPOINT, |name| name == API_KEY_ENV),
            field("dimensions", self.dimensions.as_ref(), ENDPOINT, |_| false),
            field("send_dimensions", self.send_dimensions.as_ref(), ENDPOINT, |is_sent| !*is_sent),
            field("revision", self.revision.as_ref(), ENDPOINT, |_| false),
            field("batch", self.batch.as_ref(), ENDPOINT, |texts| *texts == BATCH),
            field("longest_text", self.longest_text.as_ref(), ENDPOINT, |chars| *chars == TEXT),
            field("timeout_seconds", self.timeout_seconds.as_ref(), ENDPOINT, |seconds| *seconds == TIMEOUT_SECONDS),
            field("floor", self.floor.as_ref(), BOTH, |_| false),
            field("query_prefix", self.query_prefix.as_ref(), BOTH, String::is_empty),
            field("chunk_prefix", self.chunk_prefix.as_ref(), BOTH, String::is_empty),
        ];
        fields.into_iter().flatten()
    }
}

/// A field that is there.
struct Field {
    name: &'static str,
    line: u64,
    /// The kinds of models that it says something of.
    kinds: &'static [Kind],
    /// Whether it says what holds without it.
    is_default: bool,
}

fn field<T>(
    name: &'static str,
    found: Option<&Spanned<T>>,
    kinds: &'static [Kind],
    is_default: impl Fn(&T) -> bool,
) -> Option<Field> {
    let found = found?;
    Some(Field { name, line: found.referenced.line(), kinds, is_default: is_default(&found.value) })
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Hashing => "hashing",
            Self::Local => "local",
            Self::Endpoint => "endpoint",
        }
    }
}

fn missing(line: u64, kind: &str, name: &str) -> Fault {
    (line, format!("embedding.kind {kind} needs embedding.{name}"))
}

fn held(text: Text, name: &str, holds: fn(&str) -> bool, rule: &str) -> Result<String, Fault> {
    // The value may hold a secret by mistake: it is not repeated.
    if holds(&text.value) { Ok(text.value) } else { Err((text.referenced.line(), format!("embedding.{name}: {rule}"))) }
}

fn within(name: &str, number: &Spanned<u32>, most: usize) -> Result<u32, Fault> {
    let value = number.value;
    if value == 0 || value as usize > most {
        return Err((number.referenced.line(), format!("embedding.{name} is {value}; it must be 1 to {most}")));
    }
    Ok(value)
}

fn within_or(name: &str, number: Option<&Spanned<u32>>, default: u32, most: usize) -> Result<u32, Fault> {
    number.map_or(Ok(default), |number| within(name, number, most))
}

fn prefix(name: &str, text: Option<Text>) -> Result<String, Fault> {
    match text {
        Some(text) if text.value.len() > LONGEST_PREFIX => {
            Err((text.referenced.line(), format!("embedding.{name} is longer than {LONGEST_PREFIX} bytes")))
        }
        text => Ok(text.map(|text| text.value).unwrap_or_default()),
    }
}

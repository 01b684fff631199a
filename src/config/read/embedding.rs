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
                    None => "OPENAI_API_KEY".to_owned(),
                };
                EmbedderSettings::Endpoint {
                    base_url: held(needed(self.base_url, "base_url")?, "base_url", is_url, URL_RULE)?,
                    model: held(needed(self.model, "model")?, "model", super::is_name, MODEL_RULE)?,
                    api_key_env,
                    dimensions: within("dimensions", &dimensions, EmbeddingProfile::MOST_DIMENSIONS)?,
                    timeout_seconds: self
                        .timeout_seconds
                        .map_or(Ok(60), |seconds| within("timeout_seconds", &seconds, 3600))?,
                }
            }
        };
        Ok(Some(EmbeddingSettings {
            embedder,
            floor,
            query_prefix: prefix("query_prefix", self.query_prefix)?,
            chunk_prefix: prefix("chunk_prefix", self.chunk_prefix)?,
        }))
    }

    /// Refuses what needs a kind.
    fn says_nothing(&self) -> Result<(), Fault> {
        let texts = [&self.path, &self.base_url, &self.model].into_iter().flatten();
        let lines = texts.map(|text| text.referenced.line());
        match lines.chain(self.dimensions.iter().map(|number| number.referenced.line())).min() {
            Some(line) => Err((line, "embedding.kind is missing: local, endpoint or hashing".into())),
            None => Ok(()),
        }
    }

    /// Refuses what would be read by nobody.
    fn has_no_fields_of_others(&self, kind: Kind) -> Result<(), Fault> {
        let of = |field: &Option<Text>| field.as_ref().map(|text| text.referenced.line());
        let number = |field: &Option<Spanned<u32>>| field.as_ref().map(|number| number.referenced.line());
        let fields = [
            ("path", of(&self.path), &[Kind::Local][..]),
            ("base_url", of(&self.base_url), &[Kind::Endpoint]),
            ("model", of(&self.model), &[Kind::Endpoint]),
            ("api_key_env", of(&self.api_key_env), &[Kind::Endpoint]),
            ("dimensions", number(&self.dimensions), &[Kind::Endpoint]),
            ("timeout_seconds", number(&self.timeout_seconds), &[Kind::Endpoint]),
            ("floor", self.floor.as_ref().map(|floor| floor.referenced.line()), &[Kind::Local, Kind::Endpoint]),
            ("query_prefix", of(&self.query_prefix), &[Kind::Local, Kind::Endpoint]),
            ("chunk_prefix", of(&self.chunk_prefix), &[Kind::Local, Kind::Endpoint]),
        ];
        let other = fields.iter().find_map(|(name, line, kinds)| {
            let line = line.filter(|_| !kinds.contains(&kind))?;
            Some((line, format!("embedding.{name} means nothing where embedding.kind is {}", kind.as_str())))
        });
        other.map_or(Ok(()), Err)
    }
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

fn prefix(name: &str, text: Option<Text>) -> Result<String, Fault> {
    match text {
        Some(text) if text.value.len() > LONGEST_PREFIX => {
            Err((text.referenced.line(), format!("embedding.{name} is longer than {LONGEST_PREFIX} bytes")))
        }
        text => Ok(text.map(|text| text.value).unwrap_or_default()),
    }
}

//! Which model makes vectors, from the arguments, the environment and the configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ragdb::{
    Config, Embedder, EmbedderSettings, EmbeddingSettings, EndpointEmbedder, EndpointEmbedding, EndpointSettings,
    HashingEmbedder, Prefixes,
};

use crate::args::EmbedderArgs;
use crate::context::{Context, key};
use crate::exit::Stop;

/// The variable that names a model where no argument does.
const VARIABLE: &str = "RAGDB_EMBEDDER";

/// The word for the test double.
const HASHING: &str = "hashing";

/// The model, or an error that says how to name one.
pub fn required(args: &EmbedderArgs, config: Option<&Config>, context: &Context) -> Result<Arc<dyn Embedder>, Stop> {
    let from_environment = || std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
    let declared = config.and_then(|config| config.embedding.as_ref());
    let named = args.embedder.clone().or_else(from_environment);
    let settings = named.map(|named| settings(named, declared)).or_else(|| declared.cloned());
    let unnamed = || format!("name a model with --embedder, with ${VARIABLE}, or under `embedding` in ragdb.yaml");
    open(&settings.ok_or_else(|| Stop::Usage(unnamed()))?, context)
}

/// What the arguments and the environment name, with the settings that ragdb.yaml has for the same model.
fn settings(named: PathBuf, declared: Option<&EmbeddingSettings>) -> EmbeddingSettings {
    let embedder =
        if named == Path::new(HASHING) { EmbedderSettings::Hashing } else { EmbedderSettings::Local { folder: named } };
    match declared {
        Some(declared) if is_same(&declared.embedder, &embedder) => declared.clone(),
        _ => EmbeddingSettings { embedder, floor: None, query_prefix: String::new(), chunk_prefix: String::new() },
    }
}

fn is_same(one: &EmbedderSettings, other: &EmbedderSettings) -> bool {
    match (one, other) {
        (EmbedderSettings::Local { folder: one }, EmbedderSettings::Local { folder: other }) => {
            one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
        }
        _ => one == other,
    }
}

fn open(settings: &EmbeddingSettings, context: &Context) -> Result<Arc<dyn Embedder>, Stop> {
    let prefixes = Prefixes { query: settings.query_prefix.clone(), chunk: settings.chunk_prefix.clone() };
    match &settings.embedder {
        EmbedderSettings::Hashing => {
            context.note("hashing is a test double: it finds words, not meaning");
            Ok(Arc::new(HashingEmbedder::new()))
        }
        EmbedderSettings::Local { folder } => local(folder, prefixes, settings.floor, context),
        EmbedderSettings::Endpoint {
            base_url,
            model,
            api_key_env,
            dimensions,
            send_dimensions,
            revision,
            batch,
            longest_text,
            timeout_seconds,
        } => {
            let endpoint = EndpointSettings {
                api_key: key(api_key_env)?,
                timeout: Duration::from_secs((*timeout_seconds).into()),
                ..EndpointSettings::new(base_url, model)
            };
            let default = EndpointEmbedding::new(endpoint, *dimensions as usize);
            let embedder = EndpointEmbedder::new(EndpointEmbedding {
                send_dimensions: *send_dimensions,
                revision: revision.clone(),
                prefixes,
                floor: settings.floor.unwrap_or(default.floor),
                batch: *batch as usize,
                longest_text: *longest_text as usize,
                ..default
            })?;
            context.note(&format!("texts go to {model} at {}", embedder.host()));
            context.detail(&format!("endpoint: {}", embedder.url()));
            Ok(Arc::new(embedder))
        }
    }
}

#[cfg(feature = "local")]
fn local(folder: &Path, prefixes: Prefixes, floor: Option<f64>, context: &Context) -> Result<Arc<dyn Embedder>, Stop> {
    context.detail(&format!("model: {}", folder.display()));
    Ok(Arc::new(ragdb::LocalEmbedder::open(
        folder,
        ragdb::LocalSettings { prefixes, floor, ..ragdb::LocalSettings::default() },
    )?))
}

#[cfg(not(feature = "local"))]
fn local(folder: &Path, _: Prefixes, _: Option<f64>, _: &Context) -> Result<Arc<dyn Embedder>, Stop> {
    Err(Stop::Ragdb(ragdb::Error::Refused {
        code: "not_built",
        message: format!("the model in {} can't be used: this ragdb was built without local models", folder.display()),
        hint: "build it with `cargo install --path . --features local`".into(),
    }))
}

//! The text of a `ragdb.yaml` → [`Config`]: strict, with limits, every refusal with its line.

mod answer;
mod embedding;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_saphyr::{DuplicateKeyPolicy, MergeKeyPolicy, Spanned};

use super::{AccessSettings, ChunkSettings, Config, SourceConfig, SyncSettings};
use crate::error::{Error, Result};
use crate::ingest::{BadPattern, Patterns};
use crate::model::{
    Bm25Policy, ChunkPolicy, Fusion, Policy, RetrieverKind, SourceKind, Trust, UnsafeScope, Visibility,
};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawConfig {
    sources: Vec<RawSource>,
    chunking: Option<Spanned<RawChunking>>,
    bm25: Option<Spanned<Bm25Policy>>,
    gate: Option<RawGate>,
    sync: Option<RawSync>,
    answer: Option<answer::Raw>,
    embedding: Option<embedding::Raw>,
    retrieval: RawRetrieval,
    access: RawAccess,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawRetrieval {
    kind: RetrieverKind,
    fusion: Option<Spanned<Fusion>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawAccess {
    groups: Option<Vec<Text>>,
    statistics: Option<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSource {
    id: Text,
    path: Text,
    #[serde(default)]
    kind: SourceKind,
    scope: Option<Text>,
    #[serde(default)]
    visibility: Visibility,
    tenant: Option<Text>,
    #[serde(default)]
    groups: Vec<Text>,
    #[serde(default)]
    include: Vec<Text>,
    #[serde(default)]
    exclude: Vec<Text>,
    #[serde(default)]
    required_metadata: Vec<Text>,
    #[serde(default)]
    trust: Trust,
    #[serde(default)]
    reviewed: Vec<Text>,
    #[serde(default)]
    hidden: bool,
}

type Text = Spanned<String>;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(clippy::struct_field_names)]
struct RawChunking {
    target_chars: Option<u32>,
    max_chars: Option<u32>,
    overlap_chars: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawGate {
    scope: Option<UnsafeScope>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawSync {
    max_delete: Option<u64>,
    respect_gitignore: bool,
    max_file_bytes: Option<Spanned<u64>>,
}

pub(super) fn from_yaml(text: &str, path: &Path) -> Result<Config> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: 16, max_nodes: 100_000, max_documents: 1 },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        with_snippet: false,
    };
    let raw: RawConfig = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let (line, what) = parse_error(text, &error);
        wrong(path, line, &what)
    })?;
    let base = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    let fault = |(line, what): Fault| wrong(path, line, &what);
    let mut config = Config { access: raw.access.check().map_err(fault)?, ..Config::default() };
    for source in raw.sources {
        let source = check_source(source, &base, &config.sources, &config.access).map_err(fault)?;
        config.sources.push(source);
    }
    if let Some(Spanned { value: raw, referenced, .. }) = raw.chunking {
        let RawChunking { target_chars, max_chars, overlap_chars } = raw;
        let settings = ChunkSettings { target_chars, max_chars, overlap_chars };
        settings.resolve().map_err(|error| wrong(path, referenced.line(), &error.to_string()))?;
        config.chunking = Some(settings);
    }
    if let Some(Spanned { value, referenced, .. }) = raw.bm25 {
        Policy::new(ChunkPolicy::default(), value)
            .map_err(|error| wrong(path, referenced.line(), &error.to_string()))?;
        config.bm25 = Some(value);
    }
    config.unsafe_scope = raw.gate.and_then(|gate| gate.scope);
    if let Some(RawSync { max_delete, respect_gitignore, max_file_bytes }) = raw.sync {
        config.sync = SyncSettings { max_delete, respect_gitignore, ..SyncSettings::default() };
        if let Some(Spanned { value, referenced, .. }) = max_file_bytes {
            if !(1..=1 << 30).contains(&value) {
                let message = format!("sync.max_file_bytes is {value}; it must be 1 to 1073741824 (1 GiB)");
                return Err(wrong(path, referenced.line(), &message));
            }
            config.sync.max_file_bytes = value;
        }
    }
    if let Some(raw) = raw.answer {
        config.answer = raw.check().map_err(fault)?;
    }
    config.retrieval.kind = raw.retrieval.kind;
    if let Some(Spanned { value, referenced, .. }) = raw.retrieval.fusion {
        value.check().map_err(|error| wrong(path, referenced.line(), &format!("retrieval.{error}")))?;
        config.retrieval.fusion = value;
    }
    config.embedding = raw.embedding.map_or(Ok(None), |raw| raw.check(&base)).map_err(fault)?;
    Ok(config)
}

fn wrong(path: &Path, line: u64, what: &str) -> Error {
    // Line 0: the parser does not know where, as for a missing field of the whole document.
    let message = if line == 0 { what.to_owned() } else { format!("line {line}: {what}") };
    Error::Config { path: path.to_path_buf(), message }
}

type Fault = (u64, String);

impl RawAccess {
    fn check(self) -> std::result::Result<AccessSettings, Fault> {
        if let Some(Spanned { value, referenced, .. }) = self.statistics {
            let why = match value.as_str() {
                "scoped" => None,
                "shared" => Some(
                    "ragdb has no shared statistics: each reader's scores are taken over what they may read, which \
                     costs nothing extra, and shared ones would tell of hidden documents; remove the line"
                        .to_owned(),
                ),
                _ => Some(format!("access.statistics is `{}`; it must be scoped", value.escape_debug())),
            };
            if let Some(why) = why {
                return Err((referenced.line(), why));
            }
        }
        let groups = self.groups.map(|groups| names("access.groups", groups)).transpose()?;
        Ok(AccessSettings { groups })
    }
}

/// The groups of a source: none where anyone may read it, and none that there isn't.
fn groups(
    id: &str,
    raw: Vec<Text>,
    visibility: Visibility,
    access: &AccessSettings,
) -> std::result::Result<Vec<String>, Fault> {
    if let Some(first) = raw.first()
        && visibility == Visibility::Public
    {
        let what = format!(
            "groups of source {id}: its visibility is public, so anyone may read it; make it internal or private, or \
             remove the groups"
        );
        return Err((first.referenced.line(), what));
    }
    if let Some(known) = &access.groups
        && let Some(unknown) = raw.iter().find(|group| !known.contains(&group.value))
    {
        let shown = unknown.value.escape_debug();
        let what = format!("groups of source {id}: `{shown}` is not in access.groups; declare it there");
        return Err((unknown.referenced.line(), what));
    }
    names("groups", raw)
}

fn check_source(
    raw: RawSource,
    base: &Path,
    before: &[SourceConfig],
    access: &AccessSettings,
) -> std::result::Result<SourceConfig, Fault> {
    let line = raw.id.referenced.line();
    let id = raw.id.value;
    if !is_id(&id) {
        let shown = id.escape_debug();
        let rule = "1 to 64 of `a` to `z`, `0` to `9`, `.`, `_` and `-`, beginning with a letter or digit";
        return Err((line, format!("id `{shown}`: a source id is {rule}")));
    }
    if before.iter().any(|other| other.id.eq_ignore_ascii_case(&id)) {
        return Err((line, format!("id `{id}`: another source has this id")));
    }
    let path = relative_path(&raw.path.value)
        .map_err(|why| (raw.path.referenced.line(), format!("path of source {id}: {why}")))?;
    Ok(SourceConfig {
        kind: raw.kind,
        scope: raw.scope.map(|text| name("scope", text)).transpose()?,
        visibility: raw.visibility,
        tenant: raw.tenant.map(|text| name("tenant", text)).transpose()?,
        groups: groups(&id, raw.groups, raw.visibility, access)?,
        include: patterns("include", raw.include)?,
        exclude: patterns("exclude", raw.exclude)?,
        required_metadata: names("required_metadata", raw.required_metadata)?,
        trust: raw.trust,
        reviewed: patterns("reviewed", raw.reviewed)?,
        hidden: raw.hidden,
        ..SourceConfig::new(id, base.to_path_buf(), path)
    })
}

fn name(field: &str, text: Text) -> std::result::Result<String, Fault> {
    if is_name(&text.value) {
        return Ok(text.value);
    }
    Err((text.referenced.line(), not_a_name(field, &text.value.escape_debug().to_string())))
}

fn names(field: &str, list: Vec<Text>) -> std::result::Result<Vec<String>, Fault> {
    let mut names: Vec<String> = Vec::with_capacity(list.len());
    for text in list {
        let line = text.referenced.line();
        let text = name(field, text)?;
        if names.contains(&text) {
            return Err((line, format!("{field}: `{text}` is there twice")));
        }
        names.push(text);
    }
    Ok(names)
}

fn patterns(field: &str, list: Vec<Text>) -> std::result::Result<Vec<String>, Fault> {
    let lines: Vec<u64> = list.iter().map(|text| text.referenced.line()).collect();
    let patterns: Vec<String> = list.into_iter().map(|text| text.value).collect();
    match Patterns::compile(&patterns) {
        Ok(_) => Ok(patterns),
        Err(BadPattern { index, message }) => Err((lines[index], format!("{field}: {message}"))),
    }
}

/// The parser's error in its own words, with the text of its line: it does not always name the field.
fn parse_error(text: &str, error: &serde_saphyr::Error) -> Fault {
    let line = error.location().map_or(0, |location| location.line());
    let words = error.to_string();
    let words = words.split_once(" at line ").map_or(words.as_str(), |(words, _)| words);
    let at = usize::try_from(line).ok().and_then(|line| text.lines().nth(line.checked_sub(1)?));
    let what = match at.map(str::trim).filter(|at| !at.is_empty()) {
        Some(at) => format!("{words} in `{}`", at.chars().take(80).collect::<String>().escape_debug()),
        None => words.to_owned(),
    };
    (line, what)
}

fn is_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=64).contains(&id.len())
        && plain(id.as_bytes()[0])
        && id.bytes().all(|byte| plain(byte) || matches!(byte, b'.' | b'_' | b'-'))
}

fn is_name(text: &str) -> bool {
    text.trim() == text && (1..=256).contains(&text.len()) && !text.chars().any(char::is_control)
}

fn not_a_name(field: &str, shown: &str) -> String {
    format!("{field} `{shown}`: a name is 1 to 256 bytes, without control characters and outer spaces")
}

/// A path below the configuration's folder, without needless parts.
pub(super) fn relative_path(path: &str) -> std::result::Result<String, String> {
    let shown = path.escape_debug();
    let bytes = path.as_bytes();
    let has_drive = matches!(bytes, [letter, b':', rest @ ..] if letter.is_ascii_alphabetic() && matches!(rest, [] | [b'/' | b'\\', ..]));
    if path.starts_with(['/', '\\']) || has_drive {
        return Err(format!(
            "`{shown}` is absolute; a ragdb.yaml reads only what lies in its own folder or below, on whatever \
             machine (name such a folder on the command line instead)"
        ));
    }
    if path.split(['/', '\\']).any(|part| part == "..") {
        return Err(format!(
            "`{shown}` leads upwards; a ragdb.yaml reads only what lies in its own folder or below (put it further up)"
        ));
    }
    if path.is_empty() || path.chars().any(char::is_control) {
        return Err(format!("`{shown}` is not a path"));
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    Ok(if parts.is_empty() { ".".into() } else { parts.join("/") })
}

//! `ragdb context`: the evidence prompt, and the record of what is in it.

use std::io;

use ragdb::{
    CachedEvidence, Citation, ContextRequest, Error, Evidence, ExpectedPolicy, Manifest, Principal, SearchRequest,
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::args::ContextArgs;
use crate::context::{Context, unwritable};
use crate::exit::{Outcome, Stop};
use crate::files;
use crate::render::{Screen, View, counted};
use crate::retriever;

/// The most hits that evidence is taken from.
const MOST_HITS: u16 = 1000;

#[derive(Serialize)]
struct ContextView {
    run_id: String,
    query: String,
    generation: u64,
    acl_epoch: u64,
    /// What ranked, by which model and how, where it was not words alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    retriever: Option<Value>,
    prompt: String,
    chars: usize,
    tokens: Option<usize>,
    truncated: bool,
    unverified_source: bool,
    cached: bool,
    evidence: Vec<ShownView>,
    refused: Vec<RefusedView>,
    events: Vec<EventView>,
}

#[derive(Serialize)]
struct ShownView {
    label: String,
    chunk_id: String,
    source_id: String,
    citation: String,
    score: f64,
    content_hash: String,
}

#[derive(Serialize)]
struct RefusedView {
    chunk_id: String,
    source_id: String,
    citation: String,
    score: Option<f64>,
    code: String,
    detail: String,
}

#[derive(Serialize)]
struct EventView {
    name: String,
    detail: Map<String, Value>,
}

/// Runs the verb.
pub fn run(args: &ContextArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let reader = args.reader.principal()?;
    let request = request(args, &reader, context)?;
    let (evidence, cached) = match &args.manifest {
        Some(path) => {
            let evidence = context.open_read_only()?.context(&reader, &request)?;
            files::write(path, &evidence.manifest.to_json(), "--manifest", &context.db)?;
            (evidence, false)
        }
        None => recorded(&reader, &request, args.no_cache, context)?,
    };
    let outcome = Outcome::of(!evidence.manifest.shown.is_empty());
    if context.json {
        context.print(&ContextView::new(evidence, cached))?;
    } else {
        context.print_exact(evidence.prompt.as_bytes())?;
        let kept = match &args.manifest {
            Some(file) => format!(" in {}", file.display()),
            None if cached => " (cached)".to_owned(),
            None => String::new(),
        };
        say(&evidence.manifest, &kept, context);
    }
    Ok(outcome)
}

fn request(args: &ContextArgs, reader: &Principal, context: &Context) -> Result<ContextRequest, Stop> {
    let top_k = args.top_k.unwrap_or_else(|| args.max_chunks.saturating_mul(4).min(MOST_HITS));
    let query = args.query.join(" ");
    let config = context.config_for(reader)?;
    let defaults = ContextRequest::new(&query);
    Ok(ContextRequest {
        search: SearchRequest {
            top_k: top_k.into(),
            floor: args.floor,
            literal: args.literal,
            expected_policy: config.as_ref().map(ExpectedPolicy::from),
            retriever: retriever::retriever(&args.retriever, config.as_ref(), context)?,
            similarity_floor: args.retriever.ranking.similarity_floor,
            ..SearchRequest::new(query)
        },
        max_chars: match (args.max_chars, args.max_tokens) {
            (Some(chars), _) => chars,
            (None, Some(_)) => usize::MAX,
            (None, None) => defaults.max_chars,
        },
        max_tokens: args.max_tokens,
        max_chunks: args.max_chunks.into(),
        allow_unverified_source: args.allow_unverified_source,
        ..defaults
    })
}

/// What to do where the run can't be kept.
const INSTEAD: &str = "write the run to a file with --manifest FILE";

/// Why a run is not kept.
pub const NOTHING_TO_READ: &str = "this reader may read nothing here, so nothing is recorded";

/// Evidence whose run is in the store, and whether it was there before.
fn recorded(
    reader: &Principal,
    request: &ContextRequest,
    anew: bool,
    context: &Context,
) -> Result<(Evidence, bool), Stop> {
    let store = context.open_to_record(INSTEAD)?;
    let CachedEvidence { evidence, cached, recorded } = if anew {
        CachedEvidence { evidence: store.context(reader, request)?, cached: false, recorded: false }
    } else {
        store.cached_context(reader, request)?
    };
    if evidence.manifest.generation == 0 {
        context.note(NOTHING_TO_READ);
    } else if anew {
        store.record_run(reader, &evidence.manifest).map_err(|error| unwritable(error.into(), INSTEAD))?;
    } else if !recorded {
        return Err(unwritable(Error::ReadOnly { path: context.db.clone() }.into(), INSTEAD));
    }
    Ok((evidence, cached))
}

/// Says on standard error what is not in the prompt; `kept` says where the run is.
fn say(manifest: &Manifest, kept: &str, context: &Context) {
    let count = |code: &str| manifest.refused.iter().filter(|refused| refused.code == code).count();
    let mut codes: Vec<&str> = manifest.refused.iter().map(|refused| refused.code.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    let refused: Vec<String> = codes.iter().map(|code| format!("{} {code}", count(code))).collect();
    let refused = if refused.is_empty() { String::new() } else { format!("; refused: {}", refused.join(", ")) };
    let blocks = counted(manifest.shown.len() as u64, "block");
    let length = match manifest.tokens {
        Some(tokens) => format!("{} characters, about {tokens} tokens", manifest.chars),
        None => format!("{} characters", manifest.chars),
    };
    context.note(&format!("run {}{kept}: {blocks}, {length}{refused}", manifest.run_id));
    if manifest.shown.is_empty() {
        context.note(nothing(manifest));
    }
    for refused in &manifest.refused {
        context.detail(&format!("refused: {}: {}: {}", citation(&refused.path, refused), refused.code, refused.detail));
    }
    if count("source_unavailable") > 0 {
        context.warn(
            "the folder of a source can't be opened, so its text can't be compared; --allow-unverified-source shows it",
        );
    }
    if manifest.unverified_source {
        context.warn("text was shown that was not compared with its source");
    }
}

/// Why nothing is shown.
fn nothing(manifest: &Manifest) -> &'static str {
    if manifest.refused.iter().any(|refused| refused.code == "over_budget") {
        "the budget is too small for any of the evidence; give more with --max-chars or --max-tokens"
    } else {
        "the store has no evidence for this query"
    }
}

fn citation(path: &str, refused: &ragdb::Refused) -> Citation {
    Citation { path: path.to_owned(), start_line: refused.start_line, end_line: refused.end_line }
}

impl ContextView {
    fn new(evidence: Evidence, cached: bool) -> Self {
        let Evidence { mut manifest, prompt } = evidence;
        let shown = manifest.shown.into_iter().map(|shown| ShownView {
            label: shown.label,
            chunk_id: shown.chunk_id,
            source_id: shown.source_id,
            citation: Citation { path: shown.path, start_line: shown.start_line, end_line: shown.end_line }.to_string(),
            score: shown.score,
            content_hash: shown.content_hash,
        });
        let refused = manifest.refused.into_iter().map(|refused| RefusedView {
            citation: citation(&refused.path, &refused).to_string(),
            chunk_id: refused.chunk_id,
            source_id: refused.source_id,
            score: refused.score,
            code: refused.code,
            detail: refused.detail,
        });
        let events = manifest.events.into_iter().map(|event| EventView { name: event.name, detail: event.detail });
        Self {
            run_id: manifest.run_id,
            query: manifest.query,
            generation: manifest.generation,
            acl_epoch: manifest.acl_epoch,
            retriever: manifest.settings.remove("retriever"),
            prompt,
            chars: manifest.chars,
            tokens: manifest.tokens,
            truncated: manifest.truncated,
            unverified_source: manifest.unverified_source,
            cached,
            evidence: shown.collect(),
            refused: refused.collect(),
            events: events.collect(),
        }
    }
}

impl View for ContextView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        write!(screen.out, "{}", self.prompt)
    }
}

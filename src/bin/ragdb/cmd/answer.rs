//! `ragdb answer`: verified claims with their citations, or an honest abstention.

use std::io;
use std::time::Duration;

use ragdb::{
    AnswerRecord, AnswerRequest, AnswerSettings, CachedAnswer, Endpoint, EndpointSettings, Error, Extractive,
    Principal, Store, Synthesiser,
};

use super::context::NOTHING_TO_READ;
use super::verify::{UNVERIFIED, receipt};
use crate::args::{AnswerArgs, ModelArgs};
use crate::context::{Context, key, unwritable};
use crate::exit::{Outcome, Stop};
use crate::render::{Role, Screen, View, clean};
use crate::retriever;

mod view;

use view::{AnswerView, AttemptView, UnreadableView};

/// What to do where the answer can't be kept.
const INSTEAD: &str = "answer without keeping it: --no-record";

/// Runs the verb.
pub fn run(args: &AnswerArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let reader = args.reader.principal()?;
    let config = context.config_for(&reader)?;
    let retriever = retriever::retriever(&args.retriever, config.as_ref(), context)?;
    let settings = config.map(|config| config.answer).unwrap_or_default();
    let synthesiser = synthesiser(&args.model, &settings, context)?;
    let store = if args.no_record { context.open_read_only()? } else { context.open_to_record(INSTEAD)? };
    let request = AnswerRequest {
        strategy: args.strategy.0,
        top_k: args.top_k.into(),
        max_calls: args.max_calls,
        max_chars: args.max_chars,
        max_chunks: args.max_chunks,
        retries: args.retries.unwrap_or(settings.retries),
        normalise: args.normalise.list(),
        floor: args.floor,
        allow_unverified_source: args.allow_unverified_source,
        retriever,
        similarity_floor: args.retriever.ranking.similarity_floor,
        ..AnswerRequest::new(args.query.join(" "), synthesiser.as_ref())
    };
    let (answer, answer_id, cached) = if args.no_record || args.no_cache {
        (store.answer(&reader, &request)?, None, false)
    } else {
        let CachedAnswer { answer, answer_id, cached } = store.cached_answer(&reader, &request)?;
        (answer, answer_id, cached)
    };
    let answer_id = match answer_id {
        None if args.no_record => None,
        None if answer.manifest.generation == 0 => {
            context.note(NOTHING_TO_READ);
            None
        }
        None if args.no_cache => {
            Some(record(&store, &reader, &answer, synthesiser.name()).map_err(|stop| unwritable(stop, INSTEAD))?)
        }
        None => return Err(unwritable(Error::ReadOnly { path: context.db.clone() }.into(), INSTEAD)),
        known => known,
    };
    if let Some(path) = &args.receipt {
        receipt::write(path, &answer.manifest, &answer.verification, &context.db)?;
    }
    let view = AnswerView::new(answer, synthesiser.name(), answer_id, cached);
    context.print(&view)?;
    if view.unverified_source {
        context.warn(UNVERIFIED);
    }
    if !context.json {
        explain(&view, context);
    }
    Ok(Outcome::of(view.answered))
}

fn record(store: &Store, reader: &Principal, answer: &ragdb::Answer, synthesiser: &str) -> Result<String, Stop> {
    store.record_run(reader, &answer.manifest)?;
    let (stop_reason, calls) = (Some(answer.stop_reason.as_str()), Some(answer.calls));
    Ok(store
        .record_answer(reader, &AnswerRecord { verification: &answer.verification, synthesiser, stop_reason, calls })?)
}

/// A model where one is named, else the sentences of the sources.
fn synthesiser(args: &ModelArgs, settings: &AnswerSettings, context: &Context) -> Result<Box<dyn Synthesiser>, Stop> {
    let base_url = args.endpoint.as_ref().or(settings.base_url.as_ref());
    let model = args.model.as_ref().or(settings.model.as_ref());
    let (base_url, model) = match (base_url, model) {
        _ if args.extractive => return Ok(Box::new(Extractive)),
        (None, None) => return Ok(Box::new(Extractive)),
        (Some(base_url), Some(model)) => (base_url, model),
        (Some(_), None) => return Err(Stop::Usage("name the endpoint's model with --model".into())),
        (None, Some(_)) => return Err(Stop::Usage("name the model's API with --endpoint".into())),
    };
    let variable = args.api_key_env.as_ref().unwrap_or(&settings.api_key_env);
    let timeout = args.timeout.unwrap_or(settings.timeout_seconds);
    let endpoint = Endpoint::new(&EndpointSettings {
        api_key: key(variable)?,
        timeout: Duration::from_secs(timeout.into()),
        ..EndpointSettings::new(base_url, model)
    })?;
    context.note(&format!("evidence and question go to {model} at {}", endpoint.host()));
    context.detail(&format!("endpoint: {}", endpoint.url()));
    Ok(Box::new(endpoint))
}

/// Says on standard error what is not in the answer, and why.
fn explain(view: &AnswerView, context: &Context) {
    context.diagnose(|out, palette| {
        for AttemptView { attempt, dropped } in &view.dropped {
            let code = palette.paint(Role::Warning, dropped.verdict);
            let (claim, detail) = (clean::one_line(&dropped.text), clean::one_line(&dropped.detail));
            let reference = dropped.r#ref.as_deref().map_or_else(String::new, |r| format!(" [{}]", clean::one_line(r)));
            writeln!(out, "dropped in attempt {attempt}: {code}: {claim}{reference}: {detail}")?;
        }
        for UnreadableView { attempt, reason } in &view.unreadable {
            writeln!(out, "attempt {attempt} could not be read: {}", clean::one_line(reason))?;
        }
        Ok(())
    });
    if let Some(reason) = view.reason {
        context.note(reason);
    }
    if view.cached {
        context.note("(cached) answered before; judged again just now");
    }
}

impl View for AnswerView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        if !self.answered {
            return writeln!(screen.out, "{}", clean::Clean(&self.answer));
        }
        let mut last = None;
        for published in &self.published {
            // A claim with several citations stands once, the others below.
            if last != Some(published.claim) {
                writeln!(screen.out, "{}", clean::one_line(&published.text))?;
            }
            last = Some(published.claim);
            let place = format!("[{}]", clean::one_line(&published.citation));
            write!(screen.out, "    {}", screen.palette.paint(Role::Place, &place))?;
            if published.differs() {
                write!(screen.out, " \"{}\"", clean::one_line(published.span.text()))?;
            }
            writeln!(screen.out)?;
            for warning in &published.warnings {
                let label = screen.palette.paint(Role::Warning, "warning:");
                writeln!(screen.out, "    {label} {}", clean::one_line(warning))?;
            }
        }
        Ok(())
    }
}

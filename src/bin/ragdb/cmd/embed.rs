//! `ragdb embed`: vectors of a model for the chunks that have none yet.

use std::io;

use ragdb::{EmbedReport, EmbedRequest, Embedder, EmbeddingProfile, RefusedChunk, Store};
use serde::Serialize;

use crate::args::EmbedArgs;
use crate::context::Context;
use crate::embedder;
use crate::exit::{Outcome, Stop};
use crate::progress::EmbedBar;
use crate::render::{Screen, View, clean, counted};

/// So many refused chunks are named on standard error.
const REFUSED_SHOWN: usize = 10;

/// A model, in the stable names of JSON.
#[derive(Serialize)]
pub struct ProfileView {
    model: String,
    version: String,
    dimensions: usize,
    normalised: bool,
}

impl From<EmbeddingProfile> for ProfileView {
    fn from(profile: EmbeddingProfile) -> Self {
        let EmbeddingProfile { model, version, dimensions, normalised } = profile;
        Self { model, version, dimensions, normalised }
    }
}

impl ProfileView {
    /// The model in a few words. A version may be a digest.
    pub fn sentence(&self) -> String {
        let version: String = self.version.chars().take(16).collect();
        format!("{} ({}, {} dimensions)", clean::one_line(&self.model), clean::one_line(&version), self.dimensions)
    }
}

/// What was done.
#[derive(Serialize)]
pub struct EmbedView {
    profile: ProfileView,
    embedded: u64,
    reused: u64,
    unchanged: u64,
    refused: Vec<RefusedView>,
    missing: u64,
    ready: bool,
    replaced: Option<ProfileView>,
}

#[derive(Serialize)]
struct RefusedView {
    chunk_id: String,
    citation: String,
    message: String,
}

impl From<RefusedChunk> for RefusedView {
    fn from(refused: RefusedChunk) -> Self {
        let RefusedChunk { chunk_id, citation, message } = refused;
        Self { chunk_id, citation, message }
    }
}

impl From<EmbedReport> for EmbedView {
    fn from(report: EmbedReport) -> Self {
        Self {
            profile: report.profile.into(),
            embedded: report.embedded,
            reused: report.reused,
            unchanged: report.unchanged,
            refused: report.refused.into_iter().map(RefusedView::from).collect(),
            missing: report.missing,
            ready: report.is_ready,
            replaced: report.replaced.map(ProfileView::from),
        }
    }
}

/// Runs the verb.
pub fn run(args: &EmbedArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let config = context.config()?;
    let embedder = embedder::required(&args.embedder, config.as_ref(), context)?;
    let store = context.open()?;
    let view = embed(&store, &*embedder, EmbedRequest { anew: args.anew }, context)?;
    context.print(&view)?;
    Ok(Outcome::Done)
}

/// Gives the chunks of a store their vectors, and shows how it goes.
pub fn embed(
    store: &Store,
    embedder: &dyn Embedder,
    request: EmbedRequest,
    context: &Context,
) -> Result<EmbedView, Stop> {
    let bar = EmbedBar::new(context);
    let report = store.embed(embedder, request, &|progress| bar.show(progress))?;
    drop(bar);
    tell(&report, context);
    Ok(report.into())
}

/// Says on standard error what got no vector, and why.
fn tell(report: &EmbedReport, context: &Context) {
    for RefusedChunk { citation, message, .. } in report.refused.iter().take(REFUSED_SHOWN) {
        context.warn(&format!("{citation}: only words find it: {message}"));
    }
    if let Some(more) = report.refused.len().checked_sub(REFUSED_SHOWN).filter(|more| *more > 0) {
        context.warn(&format!("{} more were refused by the model", counted(more as u64, "chunk")));
    }
    let left = report.missing.saturating_sub(report.refused.len() as u64);
    if left > 0 {
        context.warn(&format!(
            "{} came meanwhile and have no vector yet; run `ragdb embed` again",
            counted(left, "chunk")
        ));
    }
}

impl View for EmbedView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let Self { embedded, reused, unchanged, .. } = self;
        let (chunks, profile) = (counted(embedded + reused + unchanged, "chunk"), self.profile.sentence());
        writeln!(screen.out, "{chunks} with vectors of {profile}")?;
        writeln!(screen.out, "  vectors    {embedded} made, {reused} of equal text, {unchanged} unchanged")?;
        if let Some(before) = &self.replaced {
            let what = if self.ready { "removed, all of" } else { "still used until then," };
            writeln!(screen.out, "  before     {what} {}", before.sentence())?;
        }
        Ok(())
    }
}

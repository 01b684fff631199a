//! `ragdb verify`: an answer made elsewhere, judged against its run; or a receipt, against the source files.

use std::io;

use ragdb::{AnswerFormat, AnswerRecord, Manifest, ProposedAnswer, Verification, VerifyRequest};
use serde::Serialize;

use crate::args::{Form, VerifyArgs};
use crate::context::{Context, unwritable};
use crate::exit::{Outcome, Stop};
use crate::files;
use crate::render::{ClaimView, DroppedView, PublishedView, Screen, View, counted, short};

pub mod receipt;

/// What a reader of verdicts by the stored text alone must know.
pub const UNVERIFIED: &str = "a source could not be opened, so something was verified by the stored text alone";

/// What to do where the verdicts can't be kept.
const INSTEAD: &str = "judge it without keeping the verdicts: --no-record";

/// Runs the verb.
pub fn run(args: &VerifyArgs, context: &mut Context) -> Result<Outcome, Stop> {
    if let (None, None, Some(path)) = (&args.run, &args.manifest, &args.receipt) {
        return receipt::check(path, &args.root, context);
    }
    let reader = args.reader.principal()?;
    let recorded = args.run.is_some() && !args.no_record;
    let store = if recorded { context.open_to_record(INSTEAD)? } else { context.open_read_only()? };
    let manifest = match (&args.run, &args.manifest) {
        (Some(run), _) => store.run_to_verify(&reader, run)?,
        (None, Some(path)) => Manifest::from_json(&files::read(path)?)?,
        (None, None) => return Err(Stop::Usage("name a run with --run or --manifest".into())),
    };
    let text = files::read_or_stdin(args.answer.as_deref())?;
    let labels: Vec<String> = manifest.shown.iter().map(|shown| shown.label.clone()).collect();
    let answer = ProposedAnswer::parse(&text, args.format.into(), &labels)?;
    let mut request = VerifyRequest::new(&manifest, &answer);
    request.normalise = args.normalise.list();
    request.least_support = args.min_support;
    request.allow_unverified_source = args.allow_unverified_source;
    let verification = store.verify(&reader, &request)?;
    let answer_id = if recorded {
        let (verification, synthesiser) = (&verification, "external");
        let record = AnswerRecord { verification, synthesiser, stop_reason: None, calls: None };
        Some(store.record_answer(&reader, &record).map_err(|error| unwritable(error.into(), INSTEAD))?)
    } else {
        None
    };
    if let Some(path) = &args.receipt {
        receipt::write(path, &manifest, &verification, &context.db)?;
    }
    let view = VerifyView::new(&verification, answer_id);
    context.print(&view)?;
    if view.unverified_source {
        context.warn(UNVERIFIED);
    }
    Ok(Outcome::of(verification.outcome() == ragdb::Outcome::Verified))
}

impl From<Form> for AnswerFormat {
    fn from(form: Form) -> Self {
        match form {
            Form::Auto => Self::Auto,
            Form::Json => Self::Json,
            Form::Text => Self::Text,
            Form::Api => Self::Api,
        }
    }
}

#[derive(Serialize)]
struct VerifyView {
    run_id: String,
    answer_id: Option<String>,
    generation: u64,
    verdict: &'static str,
    unverified_source: bool,
    claims: Vec<ClaimView>,
    published: Vec<PublishedView>,
    dropped: Vec<DroppedView>,
    #[serde(skip)]
    verified: usize,
}

impl VerifyView {
    fn new(verification: &Verification, answer_id: Option<String>) -> Self {
        Self {
            run_id: verification.run_id.clone(),
            answer_id,
            generation: verification.generation,
            verdict: verification.outcome().as_str(),
            unverified_source: verification.unverified_source(),
            claims: verification.claims.iter().map(ClaimView::from).collect(),
            published: verification.published().iter().map(PublishedView::from).collect(),
            dropped: verification.dropped().iter().map(DroppedView::from).collect(),
            verified: verification.claims.iter().filter(|claim| claim.verdict.is_verified()).count(),
        }
    }
}

impl View for VerifyView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        for claim in &self.claims {
            claim.write(screen)?;
        }
        let claims = counted(self.claims.len() as u64, "claim");
        let dropped = counted(self.dropped.len() as u64, "citation");
        let (verdict, run) = (self.verdict, short(&self.run_id));
        writeln!(screen.out, "{verdict}: {} of {claims} verified, {dropped} dropped (run {run})", self.verified)
    }
}

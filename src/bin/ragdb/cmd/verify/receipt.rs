//! Receipts on the command line: written beside a verification, or checked against folders.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use ragdb::{Citation, Manifest, Receipt, ReceiptReport, Verification};
use serde::Serialize;

use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::files;
use crate::render::{Role, Screen, View, clean};

/// Writes a receipt of what was verified.
pub fn write(path: &Path, manifest: &Manifest, verification: &Verification, db: &Path) -> Result<(), Stop> {
    let receipt = Receipt::from_verification(manifest, verification)?;
    files::write(path, &receipt.to_json(), "--receipt", db)
}

/// Checks a receipt against the folders of its sources: `DIR`, or `SOURCE=DIR` where there are several.
pub fn check(path: &Path, roots: &[String], context: &mut Context) -> Result<Outcome, Stop> {
    let receipt = Receipt::from_json(&files::read(path)?)?;
    let mut folders: HashMap<&str, PathBuf> = HashMap::new();
    let mut any = None;
    for root in roots {
        match root.split_once('=') {
            Some((source, folder)) => drop(folders.insert(source, folder.into())),
            None if any.is_none() => any = Some(PathBuf::from(root)),
            None => return Err(Stop::Usage("write --root SOURCE=DIR for each of several folders".into())),
        }
    }
    if roots.is_empty() {
        return Err(Stop::Usage("name the folder of the receipt's source files with --root DIR".into()));
    }
    let report = receipt.check(|source| folders.get(source).or(any.as_ref()).cloned());
    let view = ReceiptView::new(&receipt, &report);
    context.print(&view)?;
    Ok(Outcome::of(view.holds))
}

#[derive(Serialize)]
struct ReceiptView {
    query: String,
    run_id: String,
    generation: u64,
    generation_digest: String,
    unverified_source: bool,
    intact: bool,
    holds: bool,
    claims: Vec<ClaimView>,
}

#[derive(Serialize)]
struct ClaimView {
    text: String,
    spans: Vec<SpanView>,
}

#[derive(Serialize)]
struct SpanView {
    source_id: String,
    citation: String,
    status: &'static str,
    detail: String,
    warnings: Vec<String>,
    #[serde(skip)]
    holds: bool,
}

impl ReceiptView {
    fn new(receipt: &Receipt, report: &ReceiptReport) -> Self {
        let claims = report.claims.iter().zip(&receipt.claims).map(|(claim, from)| ClaimView {
            text: claim.text.clone(),
            spans: claim.spans.iter().zip(&from.spans).map(|(span, from)| SpanView::new(span, from)).collect(),
        });
        Self {
            query: receipt.query.clone(),
            run_id: receipt.run_id.clone(),
            generation: receipt.generation,
            generation_digest: receipt.generation_digest.clone(),
            unverified_source: receipt.unverified_source,
            intact: report.intact,
            holds: report.holds(),
            claims: claims.collect(),
        }
    }
}

impl SpanView {
    fn new(span: &ragdb::SpanReport, from: &ragdb::ReceiptSpan) -> Self {
        let (start_line, end_line) = span.lines;
        Self {
            source_id: span.source_id.clone(),
            citation: Citation { path: span.path.clone(), start_line, end_line }.to_string(),
            status: span.status.as_str(),
            detail: span.detail.clone(),
            warnings: from.warnings.clone(),
            holds: span.status.holds(),
        }
    }
}

impl View for ReceiptView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let palette = screen.palette;
        for claim in &self.claims {
            writeln!(screen.out, "{}", clean::one_line(&claim.text))?;
            for span in &claim.spans {
                let role = if span.holds { Role::Good } else { Role::Bad };
                let (place, detail) = (clean::one_line(&span.citation), clean::one_line(&span.detail));
                let status = palette.paint(role, span.status);
                writeln!(screen.out, "    {}  {status}: {detail}", palette.paint(Role::Place, &place))?;
                for warning in &span.warnings {
                    let label = palette.paint(Role::Warning, "warning:");
                    writeln!(screen.out, "        {label} {}", clean::one_line(warning))?;
                }
            }
        }
        if self.unverified_source {
            let label = palette.paint(Role::Warning, "warning:");
            writeln!(screen.out, "{label} it was made by the stored text alone, with --allow-unverified-source")?;
        }
        let (role, word) = match (self.intact, self.holds) {
            (false, _) => (Role::Bad, "the receipt was changed: it does not have its digest"),
            (true, false) if self.claims.is_empty() => (Role::Bad, "the receipt proves nothing: it has no claims"),
            (true, false) => (Role::Bad, "the receipt does not hold"),
            (true, true) => (Role::Good, "the receipt holds"),
        };
        writeln!(screen.out, "{}", palette.paint(role, word))
    }
}

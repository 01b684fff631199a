//! Verdicts on claims and citations, as JSON and as lines.

use std::io;

use ragdb::{Citation, ClaimValue, Dropped, JudgedCitation, JudgedClaim, Published, VerifiedSpan};
use serde::Serialize;

use super::{Role, Screen, clean};

/// Where verified text stands.
#[derive(Serialize)]
pub struct SpanView {
    chunk_id: String,
    source_id: String,
    path: String,
    start_line: u32,
    end_line: u32,
    start_byte: u64,
    end_byte: u64,
    start_char: Option<u64>,
    end_char: Option<u64>,
    chunk_start_byte: u64,
    chunk_end_byte: u64,
    chunk_start_char: u64,
    chunk_end_char: u64,
    content_hash: String,
    text: String,
}

impl From<&VerifiedSpan> for SpanView {
    fn from(span: &VerifiedSpan) -> Self {
        Self {
            chunk_id: span.chunk_id.clone(),
            source_id: span.source_id.clone(),
            path: span.path.clone(),
            start_line: span.start_line,
            end_line: span.end_line,
            start_byte: span.start_byte,
            end_byte: span.end_byte,
            start_char: span.start_char,
            end_char: span.end_char,
            chunk_start_byte: span.chunk_start_byte,
            chunk_end_byte: span.chunk_end_byte,
            chunk_start_char: span.chunk_start_char,
            chunk_end_char: span.chunk_end_char,
            content_hash: span.content_hash.clone(),
            text: span.text.clone(),
        }
    }
}

impl SpanView {
    /// The lines as a citation.
    pub fn citation(&self) -> String {
        let (path, start_line, end_line) = (self.path.clone(), self.start_line, self.end_line);
        Citation { path, start_line, end_line }.to_string()
    }

    /// The text that stands there.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A claim with everything that was said of it.
#[derive(Serialize)]
pub struct ClaimView {
    text: String,
    verdict: &'static str,
    support: f64,
    values: Vec<ValueView>,
    citations: Vec<CitationView>,
    #[serde(skip)]
    verified: bool,
}

#[derive(Serialize)]
struct ValueView {
    kind: &'static str,
    written: String,
    value: String,
    unit: Option<String>,
    stands: bool,
}

#[derive(Serialize)]
struct CitationView {
    r#ref: String,
    verdict: &'static str,
    quote: Option<String>,
    normalisations: Vec<&'static str>,
    span: Option<SpanView>,
    detail: String,
    warnings: Vec<String>,
}

impl From<&ClaimValue> for ValueView {
    fn from(value: &ClaimValue) -> Self {
        Self {
            kind: value.kind.as_str(),
            written: value.written.clone(),
            value: value.value.clone(),
            unit: value.unit.clone(),
            stands: value.stands,
        }
    }
}

impl From<&JudgedCitation> for CitationView {
    fn from(citation: &JudgedCitation) -> Self {
        Self {
            r#ref: citation.reference.clone(),
            verdict: citation.verdict.code(),
            quote: citation.quote.clone(),
            normalisations: citation.normalisations.iter().map(|it| it.name()).collect(),
            span: citation.span.as_ref().map(SpanView::from),
            detail: citation.detail.clone(),
            warnings: citation.warnings.clone(),
        }
    }
}

impl From<&JudgedClaim> for ClaimView {
    fn from(claim: &JudgedClaim) -> Self {
        Self {
            text: claim.text.clone(),
            verdict: claim.verdict.code(),
            support: claim.support,
            values: claim.values.iter().map(ValueView::from).collect(),
            citations: claim.citations.iter().map(CitationView::from).collect(),
            verified: claim.verdict.is_verified(),
        }
    }
}

impl ClaimView {
    /// The claim's verdict and text on a line, and one line for each citation.
    pub fn write(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let palette = screen.palette;
        let role = if self.verified { Role::Good } else { Role::Bad };
        let text = clean::one_line(&self.text);
        writeln!(screen.out, "{}  {text}", palette.paint(role, self.verdict))?;
        if self.citations.is_empty() {
            writeln!(screen.out, "    it cites nothing")?;
        }
        for citation in &self.citations {
            let reference = clean::one_line(&citation.r#ref);
            if let Some(span) = &citation.span {
                let place = clean::one_line(&span.citation());
                let shown = clean::one_line(span.text());
                writeln!(screen.out, "    {reference}  {}  {shown}", palette.paint(Role::Place, &place))?;
                if !citation.normalisations.is_empty() {
                    writeln!(screen.out, "        overlooked: {}", citation.normalisations.join(", "))?;
                }
            } else {
                let detail = clean::one_line(&citation.detail);
                writeln!(screen.out, "    {reference}  {}: {detail}", palette.paint(Role::Bad, citation.verdict))?;
            }
            for warning in &citation.warnings {
                let warning = clean::one_line(warning);
                writeln!(screen.out, "        {} {warning}", palette.paint(Role::Warning, "warning:"))?;
            }
        }
        Ok(())
    }
}

/// A claim and the citation that proves it.
#[derive(Serialize)]
pub struct PublishedView {
    pub claim: usize,
    pub text: String,
    r#ref: String,
    pub citation: String,
    quote: Option<String>,
    verdict: &'static str,
    normalisations: Vec<&'static str>,
    pub span: SpanView,
    pub warnings: Vec<String>,
}

impl PublishedView {
    /// Whether the claim says it in other words than its source; line ends and spaces do not count.
    pub fn differs(&self) -> bool {
        !self.text.split_whitespace().eq(self.span.text.split_whitespace())
    }
}

impl From<&Published> for PublishedView {
    fn from(published: &Published) -> Self {
        let span = SpanView::from(&published.span);
        Self {
            claim: published.claim,
            text: published.text.clone(),
            r#ref: published.reference.clone(),
            citation: span.citation(),
            quote: published.quote.clone(),
            verdict: published.verdict.code(),
            normalisations: published.normalisations.iter().map(|it| it.name()).collect(),
            span,
            warnings: published.warnings.clone(),
        }
    }
}

/// A claim or citation that may not be shown as verified.
#[derive(Serialize)]
pub struct DroppedView {
    pub claim: usize,
    pub text: String,
    pub r#ref: Option<String>,
    quote: Option<String>,
    pub verdict: &'static str,
    pub detail: String,
}

impl From<&Dropped> for DroppedView {
    fn from(dropped: &Dropped) -> Self {
        Self {
            claim: dropped.claim,
            text: dropped.text.clone(),
            r#ref: dropped.reference.clone(),
            quote: dropped.quote.clone(),
            verdict: dropped.verdict.code(),
            detail: dropped.detail.clone(),
        }
    }
}

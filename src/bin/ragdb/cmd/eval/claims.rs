//! `ragdb eval --claims`: what the claim check decides on labelled claims.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use ragdb::{ClaimLabel, ClaimsReport, ClaimsRequest, ClaimsSet, Verdict, WrongClaim, evaluate_claims};
use serde::Serialize;

use crate::args::EvalArgs;
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{Align, Screen, Table, View, counted};

#[derive(Serialize)]
struct ClaimsView {
    least_support: f64,
    sets: Vec<SetView>,
}

#[derive(Serialize)]
struct SetView {
    name: String,
    pairs: usize,
    skipped: usize,
    verified: usize,
    verified_right: usize,
    mismatched: usize,
    mismatched_right: usize,
    unsupported: usize,
    /// By label, how many pairs had which verdict.
    labels: BTreeMap<&'static str, BTreeMap<&'static str, usize>>,
    wrong: Vec<WrongView>,
}

#[derive(Serialize)]
struct WrongView {
    id: String,
    label: &'static str,
    claim: String,
    span: String,
}

/// Runs the measurement over a folder.
pub(super) fn run(folder: &Path, args: &EvalArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let request = ClaimsRequest {
        abstracts: args.abstracts.clone(),
        least_support: args.least_support,
        ..ClaimsRequest::new(folder)
    };
    context.print(&ClaimsView::from(evaluate_claims(&request)?))?;
    Ok(Outcome::of(true))
}

const MISMATCHES: [Verdict; 4] =
    [Verdict::ValueMismatch, Verdict::UnitMismatch, Verdict::PolarityMismatch, Verdict::IdentifierMismatch];

impl From<ClaimsReport> for ClaimsView {
    fn from(report: ClaimsReport) -> Self {
        Self { least_support: report.least_support, sets: report.sets.into_iter().map(SetView::from).collect() }
    }
}

impl From<ClaimsSet> for SetView {
    fn from(set: ClaimsSet) -> Self {
        let mut labels: BTreeMap<&'static str, BTreeMap<&'static str, usize>> = BTreeMap::new();
        for ((label, code), count) in &set.decided {
            labels.entry(label.as_str()).or_default().insert(code, *count);
        }
        let mismatched = |label| MISMATCHES.iter().map(|verdict| set.count(label, *verdict)).sum::<usize>();
        Self {
            pairs: set.pairs,
            skipped: set.skipped,
            verified: set.total(Verdict::Verified),
            verified_right: set.count(ClaimLabel::Supports, Verdict::Verified),
            mismatched: ClaimLabel::ALL.into_iter().map(mismatched).sum(),
            mismatched_right: mismatched(ClaimLabel::Refutes),
            unsupported: set.total(Verdict::Unsupported),
            labels,
            wrong: set.wrong.into_iter().map(WrongView::from).collect(),
            name: set.name,
        }
    }
}

impl From<WrongClaim> for WrongView {
    fn from(wrong: WrongClaim) -> Self {
        Self { id: wrong.id, label: wrong.label.as_str(), claim: wrong.claim, span: wrong.span }
    }
}

impl View for ClaimsView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        writeln!(screen.out, "support needed with a quote: {}", self.least_support)?;
        for set in &self.sets {
            writeln!(screen.out)?;
            write!(screen.out, "{}: {}", set.name, counted(set.pairs as u64, "pair"))?;
            if set.skipped > 0 {
                write!(screen.out, ", {} left out", counted(set.skipped as u64, "row"))?;
            }
            writeln!(screen.out)?;
            set.table(screen)?;
            for wrong in &set.wrong {
                writeln!(screen.out, "  verified, yet {}: {}", wrong.label, wrong.claim)?;
                writeln!(screen.out, "    by: {}", wrong.span)?;
            }
        }
        Ok(())
    }
}

impl SetView {
    /// Rows are verdicts, columns are labels.
    fn table(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let headings = ["verdict", "supports", "refutes", "not enough", "share"];
        let mut aligned = headings.map(|name| (name, Align::Right));
        aligned[0].1 = Align::Left;
        let mut table = Table::new(aligned, 24);
        for verdict in Verdict::ALL {
            let count = |label: ClaimLabel| {
                self.labels.get(label.as_str()).and_then(|codes| codes.get(verdict.code())).copied().unwrap_or(0)
            };
            let counts = ClaimLabel::ALL.map(count);
            let total: usize = counts.iter().sum();
            if total > 0 {
                let share = share(total, self.pairs);
                let cells = [verdict.code().to_owned()].into_iter().chain(counts.map(|count| count.to_string()));
                table.row(cells.chain([share]));
            }
        }
        table.write(screen, 2)
    }
}

/// A part as a percentage with one decimal, rounded. `whole` is not 0.
fn share(part: usize, whole: usize) -> String {
    let tenths = (part * 1000 + whole / 2) / whole;
    format!("{}.{} %", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(2, 3, "66.7 %")]
    #[case(1, 3, "33.3 %")]
    #[case(1999, 2000, "100.0 %")]
    #[case(1, 2001, "0.0 %")]
    #[case(7, 7, "100.0 %")]
    fn a_share_is_rounded(#[case] part: usize, #[case] whole: usize, #[case] said: &str) {
        assert_eq!(share(part, whole), said);
    }
}

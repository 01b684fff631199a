//! `ragdb check`: the store against itself, its sources and a rebuild.

use std::io;

use ragdb::{CheckReport, CheckRequest, Damage, Error};
use serde::Serialize;

use crate::args::CheckArgs;
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{Role, Screen, View, clean};

#[derive(Serialize)]
struct CheckView {
    ok: bool,
    checks: Vec<OneCheck>,
}

#[derive(Serialize)]
struct OneCheck {
    name: &'static str,
    ok: bool,
    count: u64,
    detail: String,
    problems: Vec<String>,
    damage: Vec<DamageView>,
}

/// A kind of damage.
#[derive(Serialize)]
struct DamageView {
    kind: &'static str,
    meaning: &'static str,
    mend: &'static str,
}

impl From<Damage> for DamageView {
    fn from(damage: Damage) -> Self {
        Self { kind: damage.name(), meaning: damage.meaning(), mend: damage.mend() }
    }
}

impl From<CheckReport> for CheckView {
    fn from(report: CheckReport) -> Self {
        let checks = report.checks.into_iter().map(|check| OneCheck {
            name: check.name,
            ok: check.ok,
            count: check.count,
            detail: check.detail,
            problems: check.problems,
            damage: check.damage.into_iter().map(DamageView::from).collect(),
        });
        Self { ok: report.ok, checks: checks.collect() }
    }
}

/// Runs the verb. A store that is too damaged to be checked is found damaged, not an error.
pub fn run(args: &CheckArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let request = CheckRequest { deep: args.deep, sources: !args.no_sources };
    let checked = context.open_read_only().and_then(|store| Ok(store.check(&request)?));
    let view = match checked {
        Ok(report) => report.into(),
        Err(Stop::Ragdb(Error::Damaged { detail })) => CheckView {
            ok: false,
            checks: vec![OneCheck {
                name: "open",
                ok: false,
                count: 1,
                detail,
                problems: vec![],
                damage: vec![Damage::File.into()],
            }],
        },
        Err(stop) => return Err(stop),
    };
    context.print(&view)?;
    Ok(Outcome::of(view.ok))
}

impl View for CheckView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let palette = screen.palette;
        let room = self.checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
        for check in &self.checks {
            let (role, word) = if check.ok { (Role::Good, "ok    ") } else { (Role::Bad, "DAMAGE") };
            let (mark, detail) = (palette.paint(role, word), clean::Clean(&check.detail));
            writeln!(screen.out, "{mark}  {:room$}  {detail}", check.name)?;
            for problem in &check.problems {
                writeln!(screen.out, "          {}", clean::one_line(problem))?;
            }
            for DamageView { meaning, mend, .. } in &check.damage {
                writeln!(screen.out, "        {meaning}\n        to mend it: {mend}")?;
            }
        }
        Ok(())
    }
}

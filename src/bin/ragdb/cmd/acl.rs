//! `ragdb acl`: who may read what, and why.

use std::io;

use ragdb::{AccessClass, AccessEpoch, AccessExplanation, AccessStep, AclChange, AclReport, Member};
use serde::Serialize;

use crate::args::{AclArgs, AclChangeArgs, AclCommand, AclExplainArgs, AclListArgs, AclLogArgs};
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{Align, Role, Screen, Table, View, clean, counted, optional};

/// Runs the verb.
pub fn run(args: &AclArgs, context: &mut Context) -> Result<Outcome, Stop> {
    match &args.command {
        AclCommand::Grant(args) => change(&args.change, true, context),
        AclCommand::Revoke(args) => change(&args.change, false, context),
        AclCommand::List(args) => list(args, context),
        AclCommand::Explain(args) => explain(args, context),
        AclCommand::Log(args) => log(args, context),
    }
}

#[derive(Serialize)]
struct MemberView {
    kind: &'static str,
    name: String,
    #[serde(skip)]
    words: String,
}

impl From<&Member> for MemberView {
    fn from(member: &Member) -> Self {
        let (kind, name) = member.columns();
        Self { kind, name: name.to_owned(), words: member.to_string() }
    }
}

fn views(members: &[Member]) -> Vec<MemberView> {
    members.iter().map(MemberView::from).collect()
}

/// The members in words.
fn listed(members: &[MemberView], none: &str) -> String {
    let words: Vec<&str> = members.iter().map(|member| member.words.as_str()).collect();
    if words.is_empty() { none.to_owned() } else { words.join(", ") }
}

fn change(args: &AclChangeArgs, grants: bool, context: &mut Context) -> Result<Outcome, Stop> {
    let AclChangeArgs { target, user, group, reason } = args;
    let change = match (user, group) {
        (Some(user), None) => AclChange::user(target, user)?,
        (None, Some(group)) => AclChange::group(target, group)?,
        _ => return Err(Stop::Usage("name one user or one group".into())),
    };
    let change = match reason {
        Some(reason) => change.with_reason(reason)?,
        None => change,
    };
    let store = context.open()?;
    let report = if grants { store.grant(&change)? } else { store.revoke(&change)? };
    if !context.json {
        report.notes.iter().for_each(|note| context.note(note));
    }
    context.print(&ChangeView::new(report, grants))?;
    Ok(Outcome::Done)
}

#[derive(Serialize)]
struct ChangeView {
    target: String,
    subject: MemberView,
    effect: &'static str,
    changed: bool,
    epoch: u64,
    documents: u64,
    gained: Vec<MemberView>,
    lost: Vec<MemberView>,
    notes: Vec<String>,
}

impl ChangeView {
    fn new(report: AclReport, grants: bool) -> Self {
        Self {
            target: report.target,
            subject: (&report.subject).into(),
            effect: if grants { "allow" } else { "deny" },
            changed: report.changed,
            epoch: report.epoch,
            documents: report.documents,
            gained: views(&report.gained),
            lost: views(&report.lost),
            notes: report.notes,
        }
    }
}

impl View for ChangeView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let (subject, target) = (clean::one_line(&self.subject.words), clean::one_line(&self.target));
        if !self.changed {
            return writeln!(screen.out, "unchanged at epoch {}: {subject} on {target}", self.epoch);
        }
        let done = if self.effect == "allow" { "granted" } else { "revoked" };
        let documents = counted(self.documents, "document");
        writeln!(screen.out, "epoch {}: {done} {subject} on {target}, {documents}", self.epoch)?;
        for (what, members) in [("may read more", &self.gained), ("may read less", &self.lost)] {
            if !members.is_empty() {
                writeln!(screen.out, "  {what}: {}", clean::one_line(&listed(members, "")))?;
            }
        }
        Ok(())
    }
}

fn list(args: &AclListArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let classes = context.open_read_only()?.access_rules(args.source.as_deref())?;
    if classes.is_empty() && !context.json {
        context.note("there are no rules yet: run `ragdb sync`");
    }
    context.print(&ListView { rules: classes.into_iter().map(RuleView::from).collect() })?;
    Ok(Outcome::Done)
}

#[derive(Serialize)]
struct ListView {
    rules: Vec<RuleView>,
}

#[derive(Serialize)]
struct RuleView {
    class_no: i64,
    source_id: String,
    document_id: Option<String>,
    path: Option<String>,
    tenant: String,
    visibility: &'static str,
    scope: Option<String>,
    valid_from: Option<String>,
    valid_until: Option<String>,
    allow: Vec<MemberView>,
    deny: Vec<MemberView>,
    documents: u64,
    notes: Vec<String>,
}

impl From<AccessClass> for RuleView {
    fn from(class: AccessClass) -> Self {
        Self {
            class_no: class.class_no,
            source_id: class.source_id,
            document_id: class.document_id,
            path: class.path,
            tenant: class.tenant,
            visibility: class.visibility.as_str(),
            scope: class.scope,
            valid_from: class.valid_from,
            valid_until: class.valid_until,
            allow: views(&class.allow),
            deny: views(&class.deny),
            documents: class.documents,
            notes: class.notes,
        }
    }
}

impl RuleView {
    fn validity(&self) -> String {
        match (&self.valid_from, &self.valid_until) {
            (None, None) => "-".into(),
            (Some(from), None) => format!("from {from}"),
            (None, Some(until)) => format!("until {until}"),
            (Some(from), Some(until)) => format!("{from} to {until}"),
        }
    }
}

impl View for ListView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        if self.rules.is_empty() {
            return Ok(());
        }
        let headings = [
            ("class", Align::Right),
            ("source", Align::Left),
            ("document", Align::Left),
            ("documents", Align::Right),
            ("tenant", Align::Left),
            ("lets in", Align::Left),
            ("keeps out", Align::Left),
            ("scope", Align::Left),
            ("valid", Align::Left),
        ];
        let mut table = Table::new(headings, 60);
        for rule in &self.rules {
            table.row([
                rule.class_no.to_string(),
                rule.source_id.clone(),
                optional(rule.path.as_ref().or(rule.document_id.as_ref())),
                rule.documents.to_string(),
                if rule.tenant.is_empty() { "-".into() } else { rule.tenant.clone() },
                listed(&rule.allow, "nobody"),
                listed(&rule.deny, "-"),
                optional(rule.scope.as_ref()),
                rule.validity(),
            ]);
        }
        table.write(screen, 0)?;
        let noted = self.rules.iter().flat_map(|rule| rule.notes.iter().map(move |note| (rule.class_no, note)));
        for (index, (class_no, note)) in noted.enumerate() {
            let gap = if index == 0 { "\n" } else { "" };
            writeln!(screen.out, "{gap}class {class_no}: {}", clean::one_line(note))?;
        }
        Ok(())
    }
}

fn explain(args: &AclExplainArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let principal = args.reader.principal()?;
    let explanation = context.open_read_only()?.explain_access(&args.document, &principal)?;
    let view = ExplainView::from(explanation);
    context.print(&view)?;
    Ok(Outcome::of(view.allowed))
}

#[derive(Serialize)]
struct ExplainView {
    source_id: String,
    path: String,
    document_id: String,
    class_no: i64,
    at: String,
    allowed: bool,
    steps: Vec<StepView>,
}

#[derive(Serialize)]
struct StepView {
    name: &'static str,
    passed: Option<bool>,
    detail: String,
}

impl From<AccessExplanation> for ExplainView {
    fn from(explanation: AccessExplanation) -> Self {
        let step = |AccessStep { name, passed, detail }| StepView { name, passed, detail };
        Self {
            source_id: explanation.source_id,
            path: explanation.path,
            document_id: explanation.document_id,
            class_no: explanation.class_no,
            at: explanation.at,
            allowed: explanation.allowed,
            steps: explanation.steps.into_iter().map(step).collect(),
        }
    }
}

impl View for ExplainView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let palette = screen.palette;
        let place = clean::one_line(&format!("{}:{}", self.source_id, self.path));
        let verdict =
            if self.allowed { palette.paint(Role::Good, "readable") } else { palette.paint(Role::Bad, "not readable") };
        writeln!(screen.out, "{}: {verdict} as of {}", palette.paint(Role::Place, &place), self.at)?;
        for step in &self.steps {
            let mark = match step.passed {
                None => "",
                Some(true) => "yes: ",
                Some(false) => "no: ",
            };
            let name = step.name.replace('_', " ");
            writeln!(screen.out, "  {name:12}  {mark}{}", clean::one_line(&step.detail))?;
        }
        Ok(())
    }
}

fn log(args: &AclLogArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let mut epochs = context.open_read_only()?.access_log()?;
    epochs.truncate(args.limit.unwrap_or(usize::MAX));
    if epochs.is_empty() && !context.json {
        context.note("no rule has changed since its documents were indexed");
    }
    context.print(&LogView { epochs: epochs.iter().map(EpochView::from).collect() })?;
    Ok(Outcome::Done)
}

#[derive(Serialize)]
struct LogView {
    epochs: Vec<EpochView>,
}

#[derive(Serialize)]
struct EpochView {
    epoch: u64,
    changed_at: String,
    reason: String,
    concerned: Vec<ConcernedView>,
}

#[derive(Serialize)]
struct ConcernedView {
    tenant: String,
    #[serde(flatten)]
    member: MemberView,
}

impl From<&AccessEpoch> for EpochView {
    fn from(epoch: &AccessEpoch) -> Self {
        let concerned = epoch.concerned.iter();
        Self {
            epoch: epoch.epoch,
            changed_at: epoch.changed_at.clone(),
            reason: epoch.reason.clone(),
            concerned: concerned
                .map(|(tenant, member)| ConcernedView { tenant: tenant.clone(), member: member.into() })
                .collect(),
        }
    }
}

impl View for LogView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        if self.epochs.is_empty() {
            return Ok(());
        }
        let headings =
            [("epoch", Align::Right), ("changed", Align::Left), ("reason", Align::Left), ("concerns", Align::Left)];
        let mut table = Table::new(headings, 60);
        for epoch in &self.epochs {
            let concerned: Vec<&str> = epoch.concerned.iter().map(|it| it.member.words.as_str()).collect();
            table.row([
                epoch.epoch.to_string(),
                epoch.changed_at.clone(),
                epoch.reason.clone(),
                if concerned.is_empty() { "-".to_owned() } else { concerned.join(", ") },
            ]);
        }
        table.write(screen, 0)
    }
}

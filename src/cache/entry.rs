//! The rows under the keys of a question: written with what they lead to, and believed in nothing when they are read.

use super::Kept;
use super::key::{Basis, Keys, Question};
use crate::access::{Scope, Seen};
use crate::context::Again;
use crate::error::{Error, Result};
use crate::model::{Digest, DigestBuilder, Manifest, Principal};
use crate::store::answers::{self, KeptAnswer};
use crate::store::cache::{self, CacheRow, CachedAnswer};
use crate::store::{Connection, runs, settings};
use crate::verify::Verification;

/// A row, and what it leads to.
pub(super) struct Entry {
    pub cache_key: String,
    pub row: CacheRow,
    /// None where it does not hold already by what the snapshot says.
    pub loaded: Option<Loaded>,
    shared: Digest,
}

/// A run and an answer that may be given again, if they still hold.
pub(super) struct Loaded {
    /// The run, with the events that it was kept with.
    pub run: Manifest,
    /// Whether it is the reader's own, asked for with the groups and scopes that they have now.
    pub is_own: bool,
    /// Its evidence as it is stored now.
    pub again: Again,
    pub answer: Option<KeptAnswer>,
}

/// What an entry has of an answer, beside the run.
pub(super) struct Judged<'a> {
    pub synthesiser: &'a str,
    pub stop_reason: &'a str,
    pub calls: u32,
    pub attempts: &'a str,
    pub verification: &'a Verification,
}

impl Entry {
    /// The entries under the keys of a question: the reader's own, then that of all who may read the same.
    pub(super) fn all(
        conn: &Connection,
        scope: &Scope,
        principal: &Principal,
        question: &Question,
    ) -> Result<Vec<Self>> {
        let Some(basis) = Basis::of(conn, scope, question)? else { return Ok(Vec::new()) };
        let Keys { shared, own } = question.keys(principal, &basis);
        let mut entries = Vec::new();
        for key in [own, shared] {
            let cache_key = key.to_string();
            if let Some(row) = cache::get(conn, &cache_key)? {
                let loaded = unless_damaged(Loaded::of(conn, scope, principal, &basis, &row))?.flatten();
                // What is kept under the reader's own key is the reader's own.
                let loaded = loaded.filter(|loaded| loaded.is_own || key == shared);
                entries.push(Self { cache_key, row, loaded, shared });
            }
        }
        Ok(entries)
    }

    /// Whether run and answer are those that were kept under this key.
    pub(super) fn holds(&self, run: &Manifest, judged: Option<&Judged<'_>>) -> bool {
        self.row.digest == digest(self.shared, run, judged).to_string()
    }
}

impl Loaded {
    /// What a row leads to; `None` where it is not what the reader would be given now.
    fn of(
        conn: &Connection,
        scope: &Scope,
        principal: &Principal,
        basis: &Basis,
        row: &CacheRow,
    ) -> Result<Option<Self>> {
        // The border lies ahead: see `Scope::border`.
        if row.valid_until != basis.border {
            return Ok(None);
        }
        let (Some(run), Some((asked_by, scope_digest))) =
            (runs::get(conn, &row.run_id)?, runs::reader(conn, &row.run_id)?)
        else {
            return Ok(None);
        };
        let run = with_events(run, row.events);
        if run.check().is_err() || !basis.made(&run) || scope_digest != basis.scope.to_string() {
            return Ok(None);
        }
        let answer = match &row.answer {
            None => None,
            Some(CachedAnswer { answer_id, .. }) => match answers::get(conn, answer_id)? {
                Some(answer) if answer.run_id == run.run_id => Some(answer),
                _ => return Ok(None),
            },
        };
        let Some(again) = Again::load(conn, scope, &run)? else { return Ok(None) };
        Ok(Some(Self { is_own: asked_by == principal.to_json(), run, again, answer }))
    }
}

/// Keeps a run, and an answer with its id, that were recorded in this transaction; not if they were made of another
/// state of the store than that of now.
pub(super) fn put(
    tx: &Connection,
    principal: &Principal,
    question: &Question,
    run: &Manifest,
    answer: Option<(&Kept<'_>, &str)>,
) -> Result<()> {
    let scope = Scope::of(tx, principal, Seen::Evidence)?;
    let Some(basis) = Basis::of(tx, &scope, question)? else { return Ok(()) };
    let as_of_now = runs::reader(tx, &run.run_id)?.is_some_and(|(_, scope)| scope == basis.scope.to_string());
    if !as_of_now || !basis.made(run) {
        return Ok(());
    }
    let Keys { shared, own } = question.keys(principal, &basis);
    // As it is read back: what a number loses on its way is lost for both sides.
    let Some(run) = runs::get(tx, &run.run_id)? else { return Ok(()) };
    let attempts = answer.map(|(kept, _)| kept.attempts.to_json()).unwrap_or_default();
    let judged = answer.map(|(Kept { record, .. }, _)| Judged {
        synthesiser: record.synthesiser,
        stop_reason: record.stop_reason.unwrap_or_default(),
        calls: record.calls.unwrap_or_default(),
        attempts: &attempts,
        verification: record.verification,
    });
    let row = CacheRow {
        digest: digest(shared, &run, judged.as_ref()).to_string(),
        events: run.events.len() as u64,
        run_id: run.run_id,
        answer: answer
            .map(|(_, answer_id)| CachedAnswer { answer_id: answer_id.to_owned(), attempts: attempts.clone() }),
        valid_until: basis.border,
        created_at: settings::now(),
    };
    [shared, own].iter().try_for_each(|key| cache::put(tx, &key.to_string(), &row))
}

/// The run as it was kept: what happened in it since is another story.
fn with_events(mut run: Manifest, events: u64) -> Manifest {
    run.events.truncate(usize::try_from(events).unwrap_or(usize::MAX));
    run
}

/// What ties a key, a run and an answer with its verdicts together.
fn digest(shared: Digest, run: &Manifest, judged: Option<&Judged<'_>>) -> Digest {
    let mut hash = DigestBuilder::new("ragdb cache entry 1");
    hash.field(shared.as_bytes()).field(run.to_json());
    hash.number(judged.is_some().into());
    if let Some(Judged { synthesiser, stop_reason, calls, attempts, verification }) = judged {
        hash.field(synthesiser).field(stop_reason).number(i64::from(*calls)).field(attempts);
        super::judged::digest(&mut hash, verification);
    }
    hash.finish()
}

/// What was read, or nothing where the rows can't be what was kept.
pub(super) fn unless_damaged<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(Error::Damaged { .. } | Error::Invalid { .. } | Error::NotFound { .. }) => Ok(None),
        other => other.map(Some),
    }
}

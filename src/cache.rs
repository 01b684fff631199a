//! The cache: evidence and answers that are given again while nothing changed.
//!
//! The data path, top to bottom: on one snapshot, the key of the question is made of who may read what, of what they see
//! of the store, and of the question itself ([`key`]), and the rows under it are looked up with the runs that they lead
//! to. Then everything is checked again as if it came from a stranger ([`entry`]): the evidence is made again of what is
//! stored and of the source files (`context/again.rs`), and the claims of an answer go through the gate once more
//! ([`judged`]). What fails is removed, and the question is asked anew; what is made then is recorded and kept in one
//! transaction.
//!
//! Nothing else than the search and the synthesiser is spared by a hit. A key that is too wide, or a row that was
//! changed by hand, can therefore cost a hit, and can't make a wrong one.

mod attempts;
mod entry;
mod judged;
mod key;

use crate::access::Seen;
use crate::answer::{Answer, AnswerRequest, StopReason};
use crate::context::{ContextRequest, Evidence, insert_run};
use crate::error::{Error, Result};
use crate::evidence::nonce;
use crate::ledger::{self, AnswerRecord};
use crate::model::{Manifest, Principal};
use crate::store::{Store, cache, settings};
use attempts::Attempts;
use entry::{Entry, Loaded};
use key::Question;

/// How many entries there are at most; the oldest go first.
const MOST_ENTRIES: u64 = 10_000;

/// Evidence, made now or kept from before.
#[derive(Clone, Debug, PartialEq)]
pub struct CachedEvidence {
    /// The evidence. Its run is the principal's own.
    pub evidence: Evidence,
    /// It was made before. All of it was checked again just now, and it is what would be made now.
    pub cached: bool,
    /// Its run is in the store: not where the store can only be read and the evidence was not the principal's already.
    pub recorded: bool,
}

/// An answer, made now or kept from before.
#[derive(Clone, Debug, PartialEq)]
pub struct CachedAnswer {
    /// The answer. Its run is the principal's own.
    pub answer: Answer,
    /// Its id in the store; none where the store can only be read and the answer was not the principal's already.
    pub answer_id: Option<String>,
    /// It was made before. Its evidence was made again and its claims were judged again just now, all with the same
    /// outcome; no synthesiser was asked.
    pub cached: bool,
}

/// What became of a run and an answer that were to be kept.
#[derive(Default)]
struct Recorded {
    run: bool,
    answer_id: Option<String>,
}

/// What is kept of an answer beside its run.
struct Kept<'a> {
    record: AnswerRecord<'a>,
    attempts: &'a Attempts,
}

impl Store {
    /// As [`Store::context`], and recorded as by [`Store::record_run`], but for what was asked before: by somebody who
    /// may read the same, while nothing changed that they may read. Such evidence is checked again, chunk by chunk and
    /// file by file, and is given with its labels, prompt and record as they were. A reader's own run is given again; of
    /// another's, a copy is recorded as the reader's own.
    ///
    /// # Errors
    /// As [`Store::context`] and [`Store::record_run`]; where the store can't be written, or the reader may read nothing, what would be recorded is
    /// not.
    pub fn cached_context(&self, principal: &Principal, request: &ContextRequest) -> Result<CachedEvidence> {
        let question = Question::of_evidence(request);
        let again = |entry: &Entry, loaded: &Loaded| {
            let prompt = loaded.again.prompt(self, principal, &loaded.run, request.allow_unverified_source)?;
            let holds = entry.row.answer.is_none() && entry.holds(&loaded.run, None);
            Ok(prompt.filter(|_| holds).map(|prompt| Evidence { manifest: loaded.run.clone(), prompt }))
        };
        let (mut evidence, cached) = match self.first_that_holds(principal, &question, again)? {
            Some((evidence, true)) => return Ok(CachedEvidence { evidence, cached: true, recorded: true }),
            Some((evidence, false)) => (evidence, true),
            None => (self.context(principal, request)?, false),
        };
        if cached {
            rename(&mut evidence.manifest)?;
        }
        let question = is_exact(&evidence.manifest, request.allow_unverified_source).then_some(&question);
        let recorded = self.keep(principal, question, &evidence.manifest, None)?.run;
        Ok(CachedEvidence { evidence, cached, recorded })
    }

    /// As [`Store::answer`], and recorded as by [`Store::record_run`] and [`Store::record_answer`], but for what was
    /// answered before: see [`Store::cached_context`]. The claims of such an answer are judged again, and the answer is
    /// given only if each citation has the verdict, and the span, that it had. What was rejected as a whole is not kept,
    /// nor what a synthesiser without an [identity](crate::Synthesiser::identity) made.
    ///
    /// # Errors
    /// As [`Store::answer`], [`Store::record_run`] and [`Store::record_answer`]; where the store can't be written, what
    /// would be recorded is not.
    pub fn cached_answer(&self, principal: &Principal, request: &AnswerRequest<'_>) -> Result<CachedAnswer> {
        let question = Question::of_answer(request);
        let found = match &question {
            Some(question) => {
                let again = |entry: &Entry, loaded: &Loaded| judged::again(self, principal, request, entry, loaded);
                self.first_that_holds(principal, question, again)?
            }
            None => None,
        };
        let (mut answer, cached) = match found {
            Some(((answer, answer_id), true)) => {
                return Ok(CachedAnswer { answer, answer_id: Some(answer_id), cached: true });
            }
            Some(((answer, _), false)) => (answer, true),
            None => (self.answer(principal, request)?, false),
        };
        if cached {
            rename(&mut answer.manifest)?;
            answer.run_id.clone_from(&answer.manifest.run_id);
            answer.verification.run_id.clone_from(&answer.manifest.run_id);
        }
        let may_be_better = matches!(answer.stop_reason, StopReason::Blocked | StopReason::AbstainedUnverified);
        let is_exact = is_exact(&answer.manifest, request.allow_unverified_source);
        let question = question.filter(|_| is_exact && !may_be_better);
        let kept = Kept {
            record: AnswerRecord {
                verification: &answer.verification,
                synthesiser: request.synthesiser.name(),
                stop_reason: Some(answer.stop_reason.as_str()),
                calls: Some(answer.calls),
            },
            attempts: &Attempts::of(&answer),
        };
        let recorded = self.keep(principal, question.as_ref(), &answer.manifest, Some(&kept))?;
        Ok(CachedAnswer { answer, answer_id: recorded.answer_id, cached })
    }

    /// The first entry for the question of which all holds, as `again` makes it, and whether its run is the principal's
    /// own. Those before it are removed.
    fn first_that_holds<T>(
        &self,
        principal: &Principal,
        question: &Question,
        again: impl Fn(&Entry, &Loaded) -> Result<Option<T>>,
    ) -> Result<Option<(T, bool)>> {
        let entries =
            self.read_as(principal, Seen::Evidence, |conn, scope| Entry::all(conn, scope, principal, question))?;
        let mut failed = Vec::new();
        let mut found = None;
        for entry in entries {
            // The reader's own entry and the shared one often lead to the same run: what failed once fails again.
            let is_new = failed.iter().all(|failed: &Entry| failed.row.run_id != entry.row.run_id);
            if let Some(loaded) = entry.loaded.as_ref().filter(|_| is_new)
                && let Some(again) = entry::unless_damaged(again(&entry, loaded))?.flatten()
            {
                found = Some((again, loaded.is_own));
                break;
            }
            failed.push(entry);
        }
        if !failed.is_empty() {
            unless_read_only(self.write(|tx| {
                failed.iter().try_for_each(|entry| cache::delete(tx, &entry.cache_key, &entry.row.run_id))
            }))?;
        }
        Ok(found)
    }

    /// Records a run and an answer, and keeps them under the keys of their question, where there is one: all of it or
    /// nothing.
    fn keep(
        &self,
        principal: &Principal,
        question: Option<&Question>,
        run: &Manifest,
        kept: Option<&Kept<'_>>,
    ) -> Result<Recorded> {
        // Of somebody who may read nothing there is no generation to record it with; whether the store has one is not theirs
        // to know.
        if run.generation == 0 {
            return Ok(Recorded::default());
        }
        let recorded = self.write(|tx| {
            insert_run(tx, principal, run)?;
            let answer_id = kept.map(|kept| ledger::insert(tx, principal, &kept.record)).transpose()?;
            if let Some(question) = question {
                let answer = kept.zip(answer_id.as_deref());
                entry::put(tx, principal, question, run, answer)?;
                cache::trim(tx, MOST_ENTRIES)?;
            }
            Ok(Recorded { run: true, answer_id })
        });
        Ok(unless_read_only(recorded)?.unwrap_or_default())
    }
}

/// Makes a run another one with the same content: a record of its own for somebody else.
fn rename(run: &mut Manifest) -> Result<()> {
    run.run_id = nonce::random_id()?;
    run.created_at = settings::now();
    Ok(())
}

/// Whether it can be told later that the same evidence would be made. What is longer for not being compared with its
/// source may fit once it is.
fn is_exact(run: &Manifest, allow_unverified_source: bool) -> bool {
    !(allow_unverified_source && run.refused.iter().any(|refused| refused.code == "over_budget"))
}

/// What was done, or nothing where the store can only be read.
fn unless_read_only<T>(done: Result<T>) -> Result<Option<T>> {
    match done {
        Err(Error::ReadOnly { .. }) => Ok(None),
        other => other.map(Some),
    }
}

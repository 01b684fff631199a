//! The parallel part of a sync: from a file to a document that is ready to be written, outside any transaction.

mod stored;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::SystemTime;

use super::failed::{FailedFile, Unparsed, unread_rule};
use super::keys::Keys;
use super::mark::{self, Found, Marks, Shown};
use super::matching::{Matcher, keeps};
use super::mend::{Doubted, Dying, doubted};
use super::restore::{Copied, Past, read_copied};
use super::spool::{Fate, Prepared, PreparedChunk, PreparedDocument};
use super::{PlannedFile, Source, Task};
use crate::access;
use crate::error::{Failure, Result};
use crate::index::{Run, RunBuilder};
use crate::ingest::chunk::{Chunked, chunk_markdown, chunk_text};
use crate::ingest::front_matter::{self, FrontMatter};
use crate::ingest::{InputError, code, language};
use crate::lexicon::{Lexer, TermCounts};
use crate::model::rule::{ClassKey, Narrowing};
use crate::model::{ChunkPolicy, Digest, DocumentId, SourceKind, Trust, UnsafeScope, line_ends};
use crate::store::Store;
use crate::store::chunks::ChunkRow;
use crate::store::documents::{DocumentRow, StoredDocument};
use crate::store::findings::FindingRow;
use crate::store::record;
use crate::store::tombstones::Reason;
use stored::Stored;

/// What every worker needs to know.
pub(super) struct Context<'a> {
    pub store: &'a Store,
    pub sources: &'a [Source],
    pub chunking: ChunkPolicy,
    pub unsafe_scope: UnsafeScope,
    /// The access classes that this sync meets.
    pub keys: &'a Keys,
    /// The keys of the classes that the store has.
    pub known_keys: &'a HashMap<i64, ClassKey>,
    /// Documents with a rule of their own.
    pub alone: &'a HashSet<DocumentId>,
    /// Documents that were purged, each with the content that it must not have again.
    pub purged: &'a HashSet<(DocumentId, Digest)>,
    pub past: &'a Past,
    /// The number of the generation that is being made.
    pub generation: u64,
    /// Everything is cut and indexed anew: the policy changed.
    pub rebuild: bool,
    /// What is stored is held to its hashes as well.
    pub checksum: bool,
    pub started: SystemTime,
}

/// What a worker made of one slice of tasks.
pub(super) struct Slice {
    pub entries: Vec<Prepared>,
    /// The postings of each access class that got chunks, and how many chunks were numbered.
    pub runs: Vec<(u32, Run, u32)>,
    /// Chunks that die.
    pub dying: Dying,
    /// Documents whose content did not change, with the stamps to remember where they differ from the stored ones.
    pub unchanged: Vec<(i64, Option<crate::model::Stamps>)>,
    /// Failed files.
    pub failed: Vec<FailedFile>,
    /// Files whose content was purged.
    pub left_out: Vec<PlannedFile>,
    pub bytes_read: u64,
}

/// What a worker keeps from one slice to the next: the lexer knows the stems of the words it met.
pub(super) struct Tools {
    lexer: Lexer,
    counts: TermCounts,
}

impl Tools {
    pub(super) fn new() -> Self {
        Self { lexer: Lexer::new(), counts: TermCounts::for_many() }
    }
}

/// Works on one slice.
pub(super) fn prepare(context: &Context<'_>, tools: &mut Tools, tasks: Vec<Task>) -> Result<Slice> {
    // Within a slice terms keep their numbers.
    tools.counts.forget_if_many();
    let mut worker = Worker {
        context,
        lexer: &mut tools.lexer,
        counts: &mut tools.counts,
        runs: BTreeMap::new(),
        dying: Dying::default(),
    };
    let mut output = Output::default();
    tasks.into_iter().try_for_each(|task| worker.work(task, &mut output))?;
    let Output { mut entries, unchanged, failed, left_out, bytes_read } = output;
    let Worker { counts, runs, dying, .. } = worker;
    let used = runs.into_iter().filter(|(_, (_, chunks))| *chunks > 0);
    let finish =
        |(class, (run, chunks)): (u32, (RunBuilder, u32))| (class, run.finish(chunks, |n| counts.term(n)), chunks);
    let runs: Vec<(u32, Run, u32)> = used.map(finish).collect();
    entries.push(Prepared::EndOfSlice { chunks: runs.iter().map(|&(class, _, chunks)| (class, chunks)).collect() });
    Ok(Slice { entries, runs, dying, unchanged, failed, left_out, bytes_read })
}

/// What the tasks of a slice led to.
#[derive(Default)]
struct Output {
    entries: Vec<Prepared>,
    unchanged: Vec<(i64, Option<crate::model::Stamps>)>,
    failed: Vec<FailedFile>,
    left_out: Vec<PlannedFile>,
    bytes_read: u64,
}

struct Worker<'a> {
    context: &'a Context<'a>,
    lexer: &'a mut Lexer,
    counts: &'a mut TermCounts,
    /// The postings of each access class so far, and how many chunks of the slice have a number in it.
    runs: BTreeMap<u32, (RunBuilder, u32)>,
    dying: Dying,
}

/// A file's content, parsed and cut, before it is compared with what is stored.
struct Parsed {
    text: String,
    hash: Digest,
    front_matter: Option<serde_json::Map<String, serde_json::Value>>,
    narrowing: Narrowing,
    chunked: Chunked,
    findings: Vec<FindingRow>,
    /// The language and the number of lines of a file that can't be looked at itself.
    of_file: Option<(String, u32)>,
}

impl Worker<'_> {
    fn work(&mut self, task: Task, slice: &mut Output) -> Result<()> {
        match task {
            Task::Delete { document_no, reason } => self.delete(document_no, reason, slice)?,
            Task::Restore { source, copied, stored } => self.restore(source, copied, stored, slice)?,
            Task::Read { source, path, stored, reparse } => {
                let source_id = &self.context.sources[source].config.id;
                let source_text = match self.context.sources[source].read(&path) {
                    Ok(text) => text,
                    Err(failure) => {
                        let failure = Failure { source_id: source_id.clone(), ..failure };
                        slice.failed.push(FailedFile { failure, stored: stored.is_some(), rule: None });
                        return Ok(());
                    }
                };
                slice.bytes_read += source_text.text.len() as u64;
                let stamps = source_text.stamps.settled(self.context.started);
                let noted = stored.as_ref().and_then(|stored| stored.stamps);
                let restamp = stamps.filter(|stamps| noted != Some(*stamps));
                let hash = Digest::of(&source_text.text);
                if self.context.purged.contains(&(DocumentId::new(source_id, &path), hash)) {
                    // What replaced it may be stored; the file does not say that any more.
                    if let Some(stored) = &stored {
                        self.delete(stored.document_no, Reason::Purged, slice)?;
                    }
                    slice.left_out.push(PlannedFile { source_id: source_id.clone(), path });
                    return Ok(());
                }
                let is_same = |stored: &StoredDocument| stored.content_hash == hash && stored.path == path && !reparse;
                let same_file = stored.as_ref().is_some_and(is_same);
                let held = stored.as_ref().filter(|_| self.context.checksum);
                let doubted = held.map_or(Ok(None), |stored| doubted(self.context.store, stored, same_file))?;
                if let Some(stored) = &stored
                    && same_file
                    && doubted.is_none()
                {
                    slice.unchanged.push((stored.document_no, restamp));
                    return Ok(());
                }
                let parsed = match self.parse(source, source_text.text, hash) {
                    Ok(parsed) => parsed,
                    Err(unparsed) => {
                        let class = stored.as_ref().and_then(|stored| self.context.known_keys.get(&stored.class_no));
                        let rule = unread_rule(&unparsed, class);
                        let InputError { code, message } = unparsed.error;
                        let failure = Failure { source_id: source_id.clone(), path, code, message };
                        slice.failed.push(FailedFile { failure, stored: stored.is_some(), rule });
                        return Ok(());
                    }
                };
                let stored = stored.map(|stored| self.stored(stored.document_no)).transpose()?;
                match self.compare(source, path, parsed, stored, doubted)? {
                    Compared::Same { document_no } => slice.unchanged.push((document_no, restamp)),
                    Compared::Changed(mut document) => {
                        document.stamps = stamps;
                        slice.entries.push(Prepared::Document(document));
                    }
                }
            }
        }
        Ok(())
    }

    /// A document of a copy, as if its file had been read.
    fn restore(&mut self, source: usize, copied: i64, stored: Option<i64>, slice: &mut Output) -> Result<()> {
        let Some(copy) = &self.context.past.copy else { return Ok(()) };
        let Copied { row, text, chunked, findings } = read_copied(copy, copied)?;
        let config = &self.context.sources[source].config;
        let fields = row.front_matter.as_deref().and_then(|json| serde_json::from_str(json).ok());
        let narrowing = match access::narrowing(fields.as_ref(), config.tenant.as_deref()) {
            Ok(narrowing) => narrowing,
            Err(message) => {
                let (source_id, path) = (config.id.clone(), row.path);
                let failure = Failure { source_id, path, code: code::ACCESS_INVALID, message };
                slice.failed.push(FailedFile { failure, stored: stored.is_some(), rule: None });
                return Ok(());
            }
        };
        let (hash, of_file) = (row.content_hash, Some((row.lang, row.lines)));
        let parsed = Parsed { text, hash, front_matter: fields, narrowing, chunked, findings, of_file };
        let stored = stored.map(|number| self.stored(number)).transpose()?;
        match self.compare(source, row.path, parsed, stored, None)? {
            Compared::Same { document_no } => slice.unchanged.push((document_no, None)),
            Compared::Changed(document) => slice.entries.push(Prepared::Document(document)),
        }
        Ok(())
    }

    fn parse(&self, source: usize, text: String, hash: Digest) -> std::result::Result<Parsed, Unparsed> {
        let source = &self.context.sources[source];
        let policy = &self.context.chunking;
        let (body_start, fields) = match source.config.kind {
            SourceKind::Markdown => {
                let FrontMatter { body_start, fields } = front_matter::parse(&text)?;
                (body_start, fields)
            }
            SourceKind::Text => {
                refuse_rule_in_text(&text)?;
                (0, None)
            }
        };
        // Before all else that can fail: what is stored stays then, as far as it is not more widely readable.
        let narrowing = access::narrowing(fields.as_ref(), source.config.tenant.as_deref())
            .map_err(|message| InputError { code: code::ACCESS_INVALID, message })?;
        let failed = |code, message| InputError { code, message };
        let missing = |name: &&String| {
            let value = fields.as_ref().and_then(|fields| fields.get(*name));
            value.is_none_or(|value| value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty()))
        };
        let error = if front_matter::is_blank(&text, body_start) {
            Some(failed(code::EMPTY, "it has no text; write some or exclude it".into()))
        } else {
            source.config.required_metadata.iter().find(missing).map(|name| {
                let source_id = &source.config.id;
                let message = format!("its front matter has no {name:?}, which source {source_id} requires");
                failed(code::MISSING_METADATA, message)
            })
        };
        if let Some(error) = error {
            return Err(Unparsed { error, narrowing: Some(narrowing) });
        }
        let chunked = match source.config.kind {
            SourceKind::Markdown => chunk_markdown(&text, body_start, policy),
            SourceKind::Text => chunk_text(&text, body_start, policy),
        };
        let findings = mark::findings(&text);
        Ok(Parsed { text, hash, front_matter: fields, narrowing, chunked, findings, of_file: None })
    }

    /// The access class that a document belongs to.
    fn class_key(
        &self,
        source: usize,
        id: DocumentId,
        narrowing: Narrowing,
        hash: Digest,
        stored: Option<&Stored>,
    ) -> ClassKey {
        let alone = self.context.alone.contains(&id).then_some(id);
        let said = ClassKey::new(&self.context.sources[source].config.id, narrowing, alone);
        let known = stored.filter(|stored| stored.row.content_hash == hash);
        let known = known.and_then(|stored| self.context.known_keys.get(&stored.row.class_no)).filter(|key| key.kept);
        match known {
            // A rollback kept it narrower than it says, and it says nothing else since.
            Some(known) => {
                ClassKey { narrowing: access::narrower(&said.narrowing, &known.narrowing), kept: true, ..said }
            }
            None => self.context.past.kept(id, said),
        }
    }

    #[expect(clippy::too_many_lines, reason = "one document, from its text to its rows, in order")]
    fn compare(
        &mut self,
        source: usize,
        path: String,
        parsed: Parsed,
        stored: Option<Stored>,
        doubted: Option<Doubted>,
    ) -> Result<Compared> {
        let Parsed { text, hash, front_matter, narrowing, chunked, findings: in_text, of_file } = parsed;
        let declared = &self.context.sources[source];
        let trust = if declared.reviewed.covers(&path) { Trust::Reviewed } else { Trust::None };
        let document_id = DocumentId::new(&declared.config.id, &path);
        let key = self.class_key(source, document_id, narrowing, hash, stored.as_ref());
        let class = self.context.keys.number(&key);
        let stays = stored.as_ref().is_some_and(|stored| {
            !self.context.rebuild && self.context.known_keys.get(&stored.row.class_no) == Some(&key)
        });
        let title = title(front_matter.as_ref(), chunked.title.as_deref(), &path);
        let body_start = chunked.chunks.first().map_or(0, |chunk| usize_of(chunk.span.start_byte));
        let (lang, lines) =
            of_file.unwrap_or_else(|| (language::of(front_matter.as_ref(), &text[body_start..]), count_lines(&text)));
        let headings = chunked.chunks.iter().map(|chunk| (chunk.span, chunk.heading_path.as_slice())).collect();
        let found = Found::new(in_text, &text, &Shown { path: &path, title: &title, headings });
        let marks = Marks::new(trust, self.context.unsafe_scope, &found);
        let (mut run, mut numbered) = self.runs.remove(&class).unwrap_or_else(|| (RunBuilder::new(), 0));
        let numbered_before = numbered;
        let mut matcher = Matcher::new(stored.as_ref().map_or(&[][..], |stored| &stored.chunks));
        let mut prepared = Vec::with_capacity(chunked.chunks.len());
        for (index, raw) in chunked.chunks.into_iter().enumerate() {
            let body = &text[usize_of(raw.span.start_byte)..usize_of(raw.span.end_byte)];
            let heading_path = serde_json::to_string(&raw.heading_path).expect("texts serialise");
            let content = Digest::of(body);
            let repeat = matcher.repeat(&content);
            let old = matcher.take(&content, repeat);
            let mut row = ChunkRow {
                chunk_no: 0,
                chunk_index: u32::try_from(index).unwrap_or(u32::MAX),
                span: raw.span,
                token_count: 0,
                heading_only: raw.heading_only,
                generation_added: old.map_or(self.context.generation, |old| old.generation_added),
                document_id,
                content,
                repeat,
                composition: record::composition(&title, &heading_path, body),
                unsafe_reason: marks.reason(raw.span, &raw.heading_path),
                heading_path,
            };
            let fate = match old {
                Some(old) if stays && doubted.is_some_and(|doubted| doubted.mends(old, keeps(old, &row))) => {
                    row.chunk_no = old.chunk_no;
                    if row.is_indexed() {
                        self.lexer.numbered_terms(&title, &raw.heading_path, body, self.counts);
                        row.token_count = self.counts.length();
                    }
                    Fate::Mended
                }
                Some(old) if stays && doubted.is_none() && keeps(old, &row) => {
                    row.chunk_no = old.chunk_no;
                    row.token_count = old.token_count;
                    let place = |row: &ChunkRow| (row.chunk_index, row.span, row.unsafe_reason.clone());
                    Fate::Kept { moved: place(old) != place(&row) }
                }
                old => {
                    row.chunk_no = numbered.into();
                    if row.is_indexed() {
                        self.lexer.numbered_terms(&title, &raw.heading_path, body, self.counts);
                        row.token_count = self.counts.length();
                        run.add(numbered, row.token_count, self.counts.numbered());
                    }
                    numbered += 1;
                    match old {
                        None => Fate::Added,
                        Some(old) if doubted.is_some() => Fate::Reindexed { old: old.chunk_no },
                        Some(old) => {
                            if let Some(stored) = &stored {
                                self.bury(old, &stored.row)?;
                            }
                            Fate::Reindexed { old: old.chunk_no }
                        }
                    }
                }
            };
            prepared.push(PreparedChunk { row, fate });
        }
        self.runs.insert(class, (run, numbered));
        let removed = matcher.rest();
        if let Some(doubted) = doubted {
            let fates = prepared.iter().map(|chunk| chunk.fate);
            self.dying.are_untold |= !removed.is_empty() || !doubted.leaves_postings(fates);
        }
        if let (Some(stored), None) = (&stored, doubted) {
            removed.iter().try_for_each(|chunk| self.bury(chunk, &stored.row))?;
        }
        let mut row = DocumentRow {
            document_id,
            source_no: 0,
            source_id: declared.config.id.clone(),
            class_no: 0,
            class_generation: self.context.generation,
            path,
            title,
            lang,
            revision: 1,
            content_hash: hash,
            size_bytes: text.len() as u64,
            lines,
            front_matter: front_matter.map(|fields| serde_json::Value::Object(fields).to_string()),
            trust: trust.as_str().into(),
            generation_added: self.context.generation,
            generation_updated: self.context.generation,
            record_hash: hash,
        };
        let replaces = stored.as_ref().map(|stored| (stored.document_no, stored.row.class_no));
        if let Some(Stored { document_no, row: old, .. }) = &stored {
            row.revision = old.revision;
            row.class_generation = old.class_generation;
            row.generation_added = old.generation_added;
            row.generation_updated = old.generation_updated;
            row.record_hash = record::document(&row, prepared.iter().map(|chunk| &chunk.row), &found.rows);
            let is_as_recorded = row.record_hash == old.record_hash && row.path == old.path;
            if is_as_recorded && numbered == numbered_before && doubted.is_none() {
                return Ok(Compared::Same { document_no: *document_no });
            }
            row.revision += u64::from(old.content_hash != hash);
            if doubted.is_some_and(|doubted| !doubted.record_holds && row.record_hash != old.record_hash) {
                row.revision = self.context.generation;
            }
            row.generation_updated = self.context.generation;
        }
        row.record_hash = record::document(&row, prepared.iter().map(|chunk| &chunk.row), &found.rows);
        let known = stored.map_or(Vec::new(), |stored| stored.findings);
        let gained = trust == Trust::Reviewed && !declared.changed && mark::gained(&known, &found.rows);
        let (chunks, findings) = (prepared, found.rows);
        let document =
            PreparedDocument { source, class, replaces, row, stamps: None, text, chunks, findings, gained, removed };
        Ok(Compared::Changed(Box::new(document)))
    }
}

enum Compared {
    Same { document_no: i64 },
    Changed(Box<PreparedDocument>),
}

/// A plain text has no front matter: one that begins like it, and says who may read it, would be read by others.
fn refuse_rule_in_text(text: &str) -> std::result::Result<(), InputError> {
    let Ok(FrontMatter { fields: Some(fields), .. }) = front_matter::parse(text) else { return Ok(()) };
    let Some(key) = access::key_about_readers(&fields) else { return Ok(()) };
    let message = format!(
        "it begins with {key:?} in what looks like front matter, which a source of kind text has not; declare the source \
         as markdown, or remove the line and say who may read it in ragdb.yaml"
    );
    Err(InputError { code: code::ACCESS_INVALID, message })
}

/// The front matter's title, else the first heading of level 1, else the file's name.
fn title(fields: Option<&serde_json::Map<String, serde_json::Value>>, heading: Option<&str>, path: &str) -> String {
    let declared = fields.and_then(|fields| fields.get("title")).and_then(serde_json::Value::as_str).map(str::trim);
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    [declared, heading].into_iter().flatten().find(|title| !title.is_empty()).unwrap_or(stem).to_owned()
}

/// Lines of a text: a last line without a terminator counts.
fn count_lines(text: &str) -> u32 {
    let open = !text.is_empty() && !text.ends_with(['\n', '\r']);
    line_ends(text.as_bytes(), 0..text.len()).saturating_add(open.into())
}

/// Files are limited to far less than the address space.
fn usize_of(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

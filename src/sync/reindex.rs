//! `optimize --rebuild`: all that is derived from stored chunks is made again from them.
//!
//! One transaction holds every document's rows to their hashes, lexes the chunks under the numbers that they have and
//! writes one segment for each access class. What searches see of a sound store stays the same to the last bit, and no
//! generation is published: documents, chunks, their numbers and the history are not touched.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use super::deletion::policy_of_postings;
use super::mend;
use super::spool::{ClassRuns, RunSpool, Section};
use crate::access;
use crate::error::{Error, Result};
use crate::index::{self, Deaths, NewChunks, RunBuilder, RunReader};
use crate::lexicon::{Lexer, TermCounts};
use crate::model::Bm25Policy;
use crate::search::check_policy;
use crate::store::postings::PostingWriter;
use crate::store::{Connection, chunks, classes, documents, generations, integrity};

/// A run ends where its chunks have so many bytes of text.
const RUN_BYTES: usize = 4 << 20;

/// Makes the SQL indexes, rows of access classes that are lost, the rules of access and the postings again; returns how many chunks have postings. Runs that
/// are too many for memory wait in an unnamed file in `folder`.
///
/// # Errors
/// [`Error::PolicyMismatch`] where this build would not search what is stored; [`Error::Refused`] with
/// `documents_damaged` where rows of a document do not have their hashes, so that nothing can be made of them.
pub(crate) fn reindex(tx: &Connection, folder: &Path) -> Result<u64> {
    integrity::reindex(tx)?;
    let Some(policy) = policy_of_postings(tx)? else { return Ok(0) };
    check_policy(&policy, None)?;
    access::restore_classes(tx)?;
    // Rules that are what they come from stay, and so does the epoch.
    access::Update::begin(tx, None)?.finish("the rules of access were made again")?;
    make_postings(tx, folder, &policy.bm25)
}

/// Makes the postings of every class again; returns how many chunks have some. Runs that are too many for memory wait in an
/// unnamed file in `folder`.
///
/// # Errors
/// [`Error::Refused`] with `documents_damaged` as for [`reindex`].
pub(super) fn make_postings(tx: &Connection, folder: &Path, policy: &Bm25Policy) -> Result<u64> {
    let mut writer = PostingWriter::new(tx)?;
    index::clear(&mut writer)?;
    let mut indexed = 0;
    for (class_no, chunk_numbers) in indexed_chunks(tx)? {
        let Some(&first_chunk) = chunk_numbers.first() else { continue };
        let end = classes::next_chunk(tx, class_no)?;
        let is_own = |chunk_no: &i64| classes::class_of(*chunk_no) == class_no && *chunk_no < end;
        if !chunk_numbers.iter().all(is_own) {
            return Err(Error::Damaged { detail: format!("access class {class_no} has chunks with foreign numbers") });
        }
        let generation = newest_generation(tx, class_no)?;
        let runs = runs(tx, folder, &chunk_numbers)?;
        let new = NewChunks { class_no, generation, first_chunk, chunks: runs.chunks };
        index::append_segment(&mut writer, new, runs.runs, &Deaths::default(), policy)?;
        indexed += chunk_numbers.len() as u64;
    }
    Ok(indexed)
}

/// The newest generation that changed a class. Classes from before their history was kept have none of their own.
fn newest_generation(tx: &Connection, class_no: i64) -> Result<i64> {
    let of_class = classes::newest_generation(tx, class_no)?;
    let newest = match of_class {
        Some(newest) => Some(newest),
        None => generations::head(tx)?.map(|head| head.number),
    };
    let nothing = || Error::Damaged { detail: "there are documents, and no generation".into() };
    Ok(newest.ok_or_else(nothing)?.cast_signed())
}

/// The numbers of the chunks with postings, ascending, by access class. Every document is held to its hashes.
fn indexed_chunks(tx: &Connection) -> Result<BTreeMap<i64, Vec<i64>>> {
    let mut by_class: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    documents::for_each(tx, |number, document| {
        if !mend::is_sound(tx, number)? {
            return Err(Error::Refused {
                code: "documents_damaged",
                message: format!(
                    "nothing can be made of {} ({}): its rows do not have their hashes; nothing was changed",
                    document.path, document.source_id
                ),
                hint: "run `ragdb sync --checksum` of all sources first, which makes the rows again from the files; a file \
                       that can't be read has to be mended or removed"
                    .into(),
            });
        }
        let rows = chunks::of_document(tx, number)?;
        let numbers = rows.iter().filter(|row| row.is_indexed()).map(|row| row.chunk_no);
        by_class.entry(document.class_no).or_default().extend(numbers);
        Ok(())
    })?;
    for numbers in by_class.values_mut() {
        numbers.sort_unstable();
    }
    Ok(by_class)
}

/// The postings of these chunks of one class, in runs that together reach from the first of them to the last: what
/// the class numbers next may be damaged, and takes no memory.
fn runs(tx: &Connection, folder: &Path, chunk_numbers: &[i64]) -> Result<ClassRuns<RunReader<Section>>> {
    let mut spool = RunSpool::new(folder);
    let (mut lexer, mut counts) = (Lexer::new(), TermCounts::for_many());
    let mut rest = chunk_numbers;
    while let Some(&first) = rest.first() {
        counts.forget_if_many();
        let (mut run, mut bytes, mut end) = (RunBuilder::new(), 0, first);
        while let Some((&chunk_no, others)) = rest.split_first()
            && bytes < RUN_BYTES
        {
            let (document_no, row, text) = chunks::by_number(tx, chunk_no)?;
            let title = documents::by_number(tx, document_no)?.title;
            lexer.numbered_terms(&title, &row.headings()?, &text, &mut counts);
            run.add(place(first..chunk_no)?, counts.length(), counts.numbered());
            (bytes, rest, end) = (bytes + text.len(), others, chunk_no + 1);
        }
        let chunks = place(first..rest.first().copied().unwrap_or(end))?;
        spool.push(0, &run.finish(chunks, |number| counts.term(number)), chunks)?;
    }
    let runs = spool.into_readers()?.remove(&0);
    Ok(runs.unwrap_or(ClassRuns { runs: Vec::new(), chunks: 0 }))
}

/// How many numbers lie in a range.
fn place(numbers: Range<i64>) -> Result<u32> {
    let wide = |_| Error::Damaged { detail: "the numbers of a class's chunks are too far apart".into() };
    u32::try_from(numbers.end - numbers.start).map_err(wide)
}

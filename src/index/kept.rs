//! What a long-lived store keeps in memory of its index, so that the next search need not read it again: the lists of terms
//! that were asked for, as far as they were read, and pages of chunk lengths.
//!
//! A segment never changes, and its row names it: number, generation, range and counts together are never used again for
//! something else. Lengths change only by a sync that writes a segment of their class. So all is kept by class under
//! the rows of its segments, as the snapshot of the search has them, and what other rows name is dropped. What one
//! class costs a search does not depend on the others.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::cursor::List;
use crate::error::Result;
use crate::store::postings::{LengthsPage, PostingReader, SegmentRow, TermRow};

/// How much is kept, in bytes, give or take what one search reads. Above it, what was not used since the last time is
/// dropped. In tests that is often.
const MOST: usize = if cfg!(test) { 8 << 10 } else { 64 << 20 };
/// What a term costs beside its list.
const TERM_BYTES: usize = 64;

/// What is kept of all classes that were searched. Shared by threads.
#[derive(Default)]
pub(crate) struct Kept {
    classes: Mutex<HashMap<i64, Arc<KeptClass>>>,
    bytes: Arc<AtomicUsize>,
}

/// What is kept of a class while its segments are these.
struct KeptClass {
    rows: Vec<SegmentRow>,
    segments: Vec<Arc<KeptSegment>>,
    lengths: Arc<KeptLengths>,
}

/// What is kept of a segment.
#[derive(Default)]
pub(super) struct KeptSegment {
    terms: Mutex<HashMap<Box<str>, KeptTerm>>,
    bytes: Arc<AtomicUsize>,
}

struct KeptTerm {
    /// Nothing where the segment does not have the term.
    list: Option<Arc<List>>,
    /// Whether a search asked for it since the last time that room was made.
    used: bool,
}

/// Pages of a class's lengths, by number; `None` is a page without a row.
#[derive(Default)]
pub(super) struct KeptLengths {
    pages: Mutex<HashMap<i64, Option<Arc<LengthsPage>>>>,
    bytes: Arc<AtomicUsize>,
}

/// What is kept for one segment of a search.
#[derive(Clone)]
pub(super) struct KeptPart {
    pub segment: Arc<KeptSegment>,
    pub lengths: Arc<KeptLengths>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kept {
    /// What is kept of each of these segments, which are those of `classes` on the snapshot that is searched, class by class.
    pub(super) fn parts(&self, classes: &[i64], segments: &[SegmentRow]) -> Vec<KeptPart> {
        let mut all = lock(&self.classes);
        if self.bytes.load(Ordering::Relaxed) > MOST {
            self.make_room(&mut all);
        }
        let mut parts = Vec::with_capacity(segments.len());
        let mut rest = segments;
        for &class_no in classes {
            let count = rest.iter().take_while(|row| row.class_no == class_no).count();
            let (rows, others) = rest.split_at(count);
            rest = others;
            if rows.is_empty() {
                all.remove(&class_no);
                continue;
            }
            let class = match all.get(&class_no) {
                Some(class) if class.rows == rows => Arc::clone(class),
                old => {
                    let class = Arc::new(self.class(rows, old.map(Arc::as_ref)));
                    all.insert(class_no, Arc::clone(&class));
                    class
                }
            };
            let part = |segment: &Arc<KeptSegment>| KeptPart {
                segment: Arc::clone(segment),
                lengths: Arc::clone(&class.lengths),
            };
            parts.extend(class.segments.iter().map(part));
        }
        parts
    }

    /// An entry for a class that has these segments now; `old` is the one that it had.
    fn class(&self, rows: &[SegmentRow], old: Option<&KeptClass>) -> KeptClass {
        let known = |row: &SegmentRow| {
            let old = old?;
            let place = old.rows.iter().position(|known| known == row)?;
            Some(Arc::clone(&old.segments[place]))
        };
        let segment = |row| {
            known(row).unwrap_or_else(|| Arc::new(KeptSegment { bytes: Arc::clone(&self.bytes), ..Default::default() }))
        };
        let lengths = Arc::new(KeptLengths { bytes: Arc::clone(&self.bytes), ..KeptLengths::default() });
        KeptClass { rows: rows.to_vec(), segments: rows.iter().map(segment).collect(), lengths }
    }

    /// Drops what was not used lately, and all of it where that is not enough.
    fn make_room(&self, classes: &mut HashMap<i64, Arc<KeptClass>>) {
        let mut bytes = 0;
        for class in classes.values() {
            bytes += lock(&class.lengths.pages).len() * size_of::<LengthsPage>();
            for segment in &class.segments {
                let mut terms = lock(&segment.terms);
                terms.retain(|_, term| std::mem::take(&mut term.used));
                bytes += terms.iter().map(|(term, kept)| kept.bytes(term)).sum::<usize>();
            }
        }
        if bytes > MOST / 2 {
            classes.clear();
            bytes = 0;
        }
        self.bytes.store(bytes, Ordering::Relaxed);
    }
}

impl KeptTerm {
    fn bytes(&self, term: &str) -> usize {
        TERM_BYTES + term.len() + self.list.as_ref().map_or(0, |list| list.kept_bytes())
    }
}

impl KeptSegment {
    /// Adds the list of a term to `lists`, or that the segment has none; `false` where neither is known.
    pub(super) fn knows(&self, term: &str, lists: &mut Vec<Option<Arc<List>>>) -> bool {
        let mut terms = lock(&self.terms);
        let Some(kept) = terms.get_mut(term) else { return false };
        kept.used = true;
        lists.push(kept.list.clone());
        true
    }

    /// Keeps what was read of a term, and its blocks as they are read. Where it is kept already, that stays, with the
    /// blocks that were read.
    ///
    /// # Errors
    /// As [`List::new`].
    pub(super) fn keep(&self, segment: &SegmentRow, term: &str, row: Option<TermRow>) -> Result<Option<Arc<List>>> {
        let mut terms = lock(&self.terms);
        if let Some(kept) = terms.get_mut(term) {
            kept.used = true;
            return Ok(kept.list.clone());
        }
        let list = row.map(|row| List::keeping(segment, row, Arc::clone(&self.bytes)).map(Arc::new)).transpose()?;
        let kept = KeptTerm { list: list.clone(), used: true };
        self.bytes.fetch_add(kept.bytes(term), Ordering::Relaxed);
        terms.insert(term.into(), kept);
        Ok(list)
    }
}

impl KeptLengths {
    /// Hands the pages from `first` to `last` to `each`; those that are not kept are read.
    pub(super) fn each_page(
        &self,
        reader: &mut PostingReader<'_>,
        first: i64,
        last: i64,
        mut each: impl FnMut(i64, Option<Arc<LengthsPage>>),
    ) -> Result<()> {
        let mut pages = lock(&self.pages);
        if (first..=last).any(|page| !pages.contains_key(&page)) {
            let mut new: HashMap<i64, Option<Arc<LengthsPage>>> = (first..=last).map(|page| (page, None)).collect();
            reader.each_lengths(first, last, |page, lengths| {
                new.insert(page, Some(Arc::new(*lengths)));
                true
            })?;
            self.bytes.fetch_add(new.len() * size_of::<LengthsPage>(), Ordering::Relaxed);
            pages.extend(new);
        }
        for page in first..=last {
            each(page, pages.get(&page).cloned().flatten());
        }
        Ok(())
    }
}

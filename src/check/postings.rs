//! The index against the chunks: every live chunk is lexed again and compared with its postings.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use super::{Damage, Findings};
use crate::error::Result;
use crate::index;
use crate::lexicon::{Lexer, TermCounts};
use crate::model::Bm25Policy;
use crate::store::postings::PostingReader;
use crate::store::{self, Connection, classes, record, settings};

/// What stands for all postings of a chunk, in whatever order they come: how many there are, and the sum of their
/// keyed hashes; with the length that the index keeps of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fingerprint {
    length: u16,
    postings: u32,
    sum: u64,
}

impl Fingerprint {
    fn add(&mut self, key: &RandomState, term: &str, tf: u32) {
        let mut hasher = key.build_hasher();
        hasher.write(term.as_bytes());
        hasher.write_u32(tf);
        self.postings += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

pub(super) fn index(conn: &Connection, findings: &mut Findings) -> Result<()> {
    let Ok(policy) = settings::policy(conn) else {
        findings.expect_as(Damage::Settings, false, || {
            "not compared: the policy that it was made under can't be read".into()
        });
        return Ok(());
    };
    if policy.as_ref().is_some_and(|policy| policy.lexer_version != crate::LEXER_VERSION) {
        findings
            .expect_as(Damage::Lexer, false, || "another version of the lexer made it, so it can't be compared".into());
        return Ok(());
    }
    let key = RandomState::new();
    let mut reader = PostingReader::new(conn)?;
    for segment in reader.all_segments()? {
        let last = segment.first_chunk + i64::from(segment.chunks) - 1;
        let own = [segment.first_chunk, last.max(segment.first_chunk)].map(classes::class_of);
        findings.expect(own == [segment.class_no; 2], || {
            format!("segment {}: its chunk numbers are not those of class {}", segment.segment, segment.class_no)
        });
    }
    let mut stored: HashMap<i64, Fingerprint> = HashMap::new();
    let mut problems = Vec::new();
    let bm25 = policy.map_or_else(Bm25Policy::default, |policy| policy.bm25);
    let each = |posting: index::Posting<'_>| {
        findings.count += 1;
        let fingerprint = stored.entry(posting.chunk_no).or_default();
        fingerprint.length = posting.length;
        fingerprint.add(&key, posting.term, posting.tf);
        Ok(())
    };
    index::for_each_posting(&mut reader, &bm25, each, |problem| problems.push(problem))?;
    problems.extend(store::postings::strays(conn)?);
    for problem in problems {
        findings.expect(false, || problem);
    }
    let (mut indexed, mut length) = (0, 0);
    // Where a text is not the one that was indexed, it is no fault of the index that it does not fit.
    let mut kind = Damage::Index;
    let (mut lexer, mut counts) = (Lexer::new(), TermCounts::new());
    store::documents::for_each(conn, |number, document| {
        let rows = store::chunks::of_document(conn, number)?;
        let marks = store::findings::of_document(conn, number)?;
        let is_recorded = record::document(&document, &rows, &marks) == document.record_hash;
        for chunk in rows {
            let found = stored.remove(&chunk.chunk_no).unwrap_or_default();
            let mut wanted = Fingerprint::default();
            let mut kind_here = if is_recorded { Damage::Index } else { Damage::Documents };
            let text = store::chunks::text_as_stored(conn, chunk.chunk_no)?;
            if chunk.is_indexed() && !record::fits(&chunk, &document.title, &text) {
                kind_here = Damage::Documents;
            }
            if kind_here == Damage::Documents {
                kind = Damage::Documents;
            }
            if chunk.is_indexed() {
                let headings = match chunk.headings() {
                    Ok(headings) => headings,
                    Err(error) => {
                        let place = chunk.span.cite(&document.path);
                        findings.expect_as(kind_here, false, || format!("{place}: {}", super::in_words(error)));
                        continue;
                    }
                };
                lexer.chunk_terms(&document.title, &headings, &text, &mut counts);
                counts.iter().for_each(|(term, tf)| wanted.add(&key, term, tf));
                findings.expect_as(Damage::Documents, counts.length() == chunk.token_count, || {
                    format!("chunk {}: it has {} terms, not {}", chunk.id(), counts.length(), chunk.token_count)
                });
                wanted.length = index::kept_length(counts.length());
                indexed += u64::from(counts.length() > 0);
                length += u64::from(index::kept_length(counts.length()));
            }
            findings.expect_as(kind_here, found == wanted, || {
                format!(
                    "chunk {} ({}): its {} of its text",
                    chunk.id(),
                    chunk.span.cite(&document.path),
                    if found.sum == wanted.sum { "length in the index is not that" } else { "postings are not those" }
                )
            });
        }
        Ok(())
    })?;
    for chunk_no in stored.keys() {
        findings.expect(false, || format!("chunk number {chunk_no} has postings and is not stored"));
    }
    let (chunks, total) = index::kept_lengths(&mut reader)?;
    findings.expect_as(kind, (chunks, total) == (indexed, length), || {
        format!("chunk_lengths: it has {chunks} chunks of {total} terms; there are {indexed} of {length}")
    });
    let statistics = index::statistics(&reader, &reader.classes()?)?;
    findings.expect_as(kind, (statistics.chunks, statistics.total_length) == (indexed, length), || {
        format!(
            "segments: they count {} chunks of {} terms; there are {indexed} of {length}",
            statistics.chunks, statistics.total_length
        )
    });
    Ok(())
}

//! Making a segment's lists on a thread of their own, while the transaction's thread inserts the rows.

use std::io::Read;
use std::sync::mpsc::{SyncSender, sync_channel};

use super::list::{ListWriter, Rows};
use super::merge::{Source, Written, write_lists};
use crate::error::{Error, Result};
use crate::store::postings::{PostingReader, PostingWriter, TermRow};

/// From so many chunks on a thread is worth its while.
pub(super) const MANY_CHUNKS: u32 = 4096;
/// Rows that are handed over at a time.
const BATCH: usize = 512;
/// Batches that may wait.
const WAITING: usize = 8;

enum Finished {
    Term { segment: i64, term: String, row: TermRow },
    Blocks { block_row: i64, data: Vec<u8> },
}

/// Rows on their way to the transaction's thread.
struct Outgoing {
    sender: SyncSender<Vec<Finished>>,
    batch: Vec<Finished>,
}

impl Outgoing {
    fn push(&mut self, row: Finished) -> Result<()> {
        self.batch.push(row);
        if self.batch.len() >= BATCH { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> Result<()> {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        // Only an insert that failed ends the other side early; its error is the one that is told.
        self.sender.send(batch).map_err(|_| Error::Invalid { message: "the rows of a segment are not wanted".into() })
    }
}

impl Rows for Outgoing {
    fn term(&mut self, segment: i64, term: &str, row: &mut TermRow) -> Result<()> {
        self.push(Finished::Term { segment, term: term.to_owned(), row: std::mem::take(row) })
    }

    fn blocks(&mut self, block_row: i64, data: &[u8]) -> Result<()> {
        self.push(Finished::Blocks { block_row, data: data.to_vec() })
    }
}

impl<'c> Written<'c> for Outgoing {
    fn reader(&mut self) -> Result<&mut PostingReader<'c>> {
        Err(Error::Invalid { message: "older segments are merged by the transaction's thread".into() })
    }
}

/// Writes the lists of `sources`, none of which is an older segment, and says how many rows of `posting_blocks` they take.
pub(super) fn write_apart<R: Read + Send>(
    writer: &mut PostingWriter<'_>,
    mut lists: ListWriter<'_>,
    sources: Vec<Source<'_, R>>,
    is_oldest: bool,
) -> Result<u32> {
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(WAITING);
        let making = scope.spawn(move || -> Result<u32> {
            let mut out = Outgoing { sender, batch: Vec::with_capacity(BATCH) };
            write_lists(&mut out, &mut lists, sources, is_oldest)?;
            let rows = lists.finish(&mut out)?;
            out.send()?;
            Ok(rows)
        });
        let inserted = receiver.into_iter().flatten().try_for_each(|row| match row {
            Finished::Term { segment, term, row } => writer.insert_term(segment, &term, &row),
            Finished::Blocks { block_row, data } => writer.insert_block_row(block_row, &data),
        });
        let rows = making.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        inserted.and(rows)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    use super::*;
    use crate::index::lengths::{self, Lengths};
    use crate::index::run::{RunBuilder, RunReader};
    use crate::index::score::Formula;
    use crate::model::Bm25Policy;
    use crate::store::postings::scratch;

    const TERMS: [&str; 6] = ["a", "ab", "b", "ba", "\u{e9}", "\u{4e2d}"];

    /// The rows that one segment of these chunks has.
    fn rows(chunks: &[BTreeMap<u32, u32>], apart: bool) -> (u32, Vec<(String, TermRow)>, String) {
        let connection = scratch(1);
        let mut writer = PostingWriter::new(&connection).unwrap();
        let length = |chunk: &BTreeMap<u32, u32>| chunk.values().sum::<u32>();
        let kept: Vec<u16> = chunks.iter().map(|chunk| u16::try_from(length(chunk)).unwrap()).collect();
        lengths::write_range(&mut writer, 0, &kept).unwrap();
        let count = u32::try_from(chunks.len()).unwrap();
        let lengths = Lengths::read(&mut writer.reader, 0, count).unwrap();
        let (mut base, mut runs) = (0, Vec::new());
        for slice in chunks.chunks(chunks.len() / 3 + 1) {
            let mut builder = RunBuilder::new();
            for (number, chunk) in (0..).zip(slice) {
                builder.add(number, length(chunk), chunk.iter().map(|(&term, &tf)| (term, tf)));
            }
            let count = u32::try_from(slice.len()).unwrap();
            runs.push((base, builder.finish(count, |term| TERMS[term as usize])));
            base += count;
        }
        let readers = runs.iter().map(|(base, run)| (base, RunReader::open(run.as_bytes()).unwrap()));
        let sources: Vec<_> = readers.map(|(&base, reader)| Source::Run { reader, base }).collect();
        let mut lists = ListWriter::new(1, 1, Formula::new(&Bm25Policy { k1: 1.2, b: 0.75 }, 9.0), &lengths);
        let count = if apart {
            write_apart(&mut writer, lists, sources, true).unwrap()
        } else {
            write_lists(&mut writer, &mut lists, sources, true).unwrap();
            lists.finish(&mut writer).unwrap()
        };
        let blocks = "SELECT coalesce(group_concat(block_row || ':' || hex(data)), '') FROM posting_blocks";
        let blocks = connection.query_row(blocks, [], |row| row.get(0)).unwrap();
        (count, writer.reader.terms_after(1, None, 100).unwrap(), blocks)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn the_rows_are_those_of_one_thread(chunks in vec(btree_map(0..6u32, 1..9u32, 0..6), 1..700)) {
            prop_assert_eq!(rows(&chunks, true), rows(&chunks, false));
        }
    }
}

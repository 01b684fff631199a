//! The rows of the BM25 index: `segments`, `terms`, `posting_blocks` and `chunk_lengths`.
//!
//! Owns every SQL statement on these tables and turns rows into plain values; what the blobs mean is the business
//! of `crate::index`. Values read here come from a file that may be damaged or hostile, so ranges are checked
//! and nothing is copied before its size is known to be plausible.

use rusqlite::types::{Value, ValueRef};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};

use crate::error::{Error, Result};

/// Chunk lengths in one row of `chunk_lengths`: two bytes each, so that a row fills one 4 KB page.
pub(crate) const LENGTHS_PER_PAGE: usize = 2000;
/// A row of `chunk_lengths`: big-endian u16.
pub(crate) type LengthsPage = [u8; 2 * LENGTHS_PER_PAGE];
/// The largest `posting_blocks.data`, in bytes: with its header it still fits one 4 KB page.
pub(crate) const BLOCK_ROW_BYTES: usize = 4040;
/// Bytes of one skip entry in `terms.data`, where a list stands in `posting_blocks`.
pub(crate) const SKIP_BYTES: usize = 11;
/// The largest inline list in `terms.data`, in bytes: a full block at the largest widths and its width byte.
const MAX_INLINE_BYTES: usize = 128 * 8 + 1;

/// Below so many segments a term is looked up in one after the other.
const FEW_SEGMENTS: usize = 12;

/// A row of `segments`: one immutable piece of the index, covering a range of the chunk numbers of one class.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SegmentRow {
    /// Its number; a younger segment has a larger one.
    pub segment: i64,
    /// The access class of its chunks.
    pub class_no: i64,
    /// The generation whose sync wrote it.
    pub generation: i64,
    /// The first chunk number it covers.
    pub first_chunk: i64,
    /// How many chunk numbers it covers.
    pub chunks: u32,
    /// How many chunks had postings (length above 0) when it was written.
    pub indexed: u64,
    /// The sum of their lengths, in terms.
    pub total_length: u64,
    /// Chunks with postings, of older segments of the class, that died when this one was written.
    pub dead_chunks: u64,
    /// The sum of the lengths of the dead.
    pub dead_length: u64,
    /// The average live length of its class when this segment was written: what its impacts assume.
    pub average_length: f64,
    /// Its first row in `posting_blocks`.
    pub first_row: i64,
    /// How many consecutive rows of `posting_blocks` it has.
    pub rows: u32,
}

/// A row of `terms` without its key: the postings of one term in one segment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TermRow {
    /// Postings in the list.
    pub df: u32,
    /// Postings in older segments that died when this segment was written.
    pub dead: u64,
    /// The largest impact of the list, rounded up: see `index::score`.
    pub max_impact: u16,
    /// The number of the list's first chunk, counted from the segment's first.
    pub base: u32,
    /// Skip entries in `data`; 0 where the list itself stands there.
    pub blocks: u32,
    /// The list or its skip entries: see `index::encode`.
    pub data: Vec<u8>,
}

/// An [`Error::Damaged`] about the index.
pub(crate) fn damaged(detail: impl std::fmt::Display) -> Error {
    Error::Damaged { detail: format!("index: {detail}") }
}

fn number<T: TryFrom<i64>>(row: &Row<'_>, column: usize, name: &str) -> Result<T> {
    let value: i64 = row.get(column)?;
    T::try_from(value).map_err(|_| damaged(format_args!("{name} is {value}")))
}

fn blob<'r>(row: &'r Row<'_>, column: usize, name: &str) -> Result<&'r [u8]> {
    match row.get_ref(column)? {
        ValueRef::Blob(bytes) => Ok(bytes),
        other => Err(damaged(format_args!("{name} is {}", other.data_type()))),
    }
}

fn term_row(row: &Row<'_>) -> Result<TermRow> {
    let df: u32 = number(row, 0, "terms.df")?;
    let blocks: u32 = number(row, 4, "terms.blocks")?;
    let data = blob(row, 5, "terms.data")?;
    let plausible = match blocks {
        0 => data.len() <= MAX_INLINE_BYTES,
        _ => u64::from(blocks) * SKIP_BYTES as u64 == data.len() as u64,
    };
    if !plausible {
        return Err(damaged(format_args!("terms.data has {} bytes for {blocks} blocks", data.len())));
    }
    Ok(TermRow {
        df,
        dead: number(row, 1, "terms.dead")?,
        max_impact: number(row, 2, "terms.max_impact")?,
        base: number(row, 3, "terms.base")?,
        blocks,
        data: data.to_vec(),
    })
}

fn segment_row(row: &Row<'_>) -> Result<SegmentRow> {
    let segment = SegmentRow {
        segment: row.get(0)?,
        generation: row.get(1)?,
        first_chunk: row.get(2)?,
        chunks: number(row, 3, "segments.chunks")?,
        indexed: number(row, 4, "segments.indexed")?,
        total_length: number(row, 5, "segments.total_length")?,
        dead_chunks: number(row, 6, "segments.dead_chunks")?,
        dead_length: number(row, 7, "segments.dead_length")?,
        average_length: row.get(8)?,
        first_row: row.get(9)?,
        rows: number(row, 10, "segments.rows")?,
        class_no: row.get(11)?,
    };
    let in_range = (0..i64::MAX >> 1).contains(&segment.first_chunk)
        && (0..i64::MAX >> 1).contains(&segment.first_row)
        && segment.segment < i64::MAX >> 1
        && segment.indexed <= u64::from(segment.chunks)
        && segment.average_length.is_finite()
        && segment.average_length > 0.0;
    if in_range {
        Ok(segment)
    } else {
        Err(damaged(format_args!("segment {} has impossible numbers", segment.segment)))
    }
}

pub(crate) const SELECT_SEGMENTS: &str = "SELECT segment, generation, first_chunk, chunks, indexed, total_length, \
     dead_chunks, dead_length, average_length, first_row, rows, class_no FROM segments WHERE class_no = ?1 \
     ORDER BY segment";
pub(crate) const SELECT_TERM: &str =
    "SELECT df, dead, max_impact, base, blocks, data FROM terms WHERE segment = ?1 AND term = ?2";
/// The same in several segments, in the order of the list.
pub(crate) const SELECT_TERM_IN: &str = "SELECT t.df, t.dead, t.max_impact, t.base, t.blocks, t.data, t.segment \
     FROM rarray(?1) s CROSS JOIN terms t ON t.segment = s.value AND t.term = ?2";
pub(crate) const SELECT_TERMS_AFTER: &str = "SELECT df, dead, max_impact, base, blocks, data, term FROM terms \
     WHERE segment = ?1 AND term > ?2 ORDER BY term LIMIT ?3";
pub(crate) const SELECT_BLOCK_ROW: &str = "SELECT data FROM posting_blocks WHERE block_row = ?1";
pub(crate) const SELECT_LENGTHS: &str =
    "SELECT page, lengths FROM chunk_lengths WHERE page BETWEEN ?1 AND ?2 ORDER BY page";

/// Reads the index of one connection; it holds its statements, so make one for each query. What it reads is one
/// snapshot only inside a transaction, which is the caller's to open.
pub(crate) struct PostingReader<'c> {
    connection: &'c Connection,
    term: CachedStatement<'c>,
    block_row: CachedStatement<'c>,
    lengths: CachedStatement<'c>,
}

impl<'c> PostingReader<'c> {
    /// A reader of this connection's index.
    pub(crate) fn new(connection: &'c Connection) -> Result<Self> {
        Ok(Self {
            connection,
            term: connection.prepare_cached(SELECT_TERM)?,
            block_row: connection.prepare_cached(SELECT_BLOCK_ROW)?,
            lengths: connection.prepare_cached(SELECT_LENGTHS)?,
        })
    }

    /// The classes that have segments, ascending.
    pub(crate) fn classes(&self) -> Result<Vec<i64>> {
        let mut statement =
            self.connection.prepare_cached("SELECT DISTINCT class_no FROM segments ORDER BY class_no")?;
        let classes = statement.query_map([], |row| row.get(0))?;
        Ok(classes.collect::<rusqlite::Result<_>>()?)
    }

    /// The segments of these classes: class by class, in each oldest first.
    pub(crate) fn segments(&self, classes: &[i64]) -> Result<Vec<SegmentRow>> {
        let mut statement = self.connection.prepare_cached(SELECT_SEGMENTS)?;
        let mut segments: Vec<SegmentRow> = Vec::new();
        for &class_no in classes {
            let mut rows = statement.query([class_no])?;
            while let Some(row) = rows.next()? {
                let segment = segment_row(row)?;
                if let Some(last) = segments.last()
                    && last.class_no == class_no
                    && segment.first_chunk < last.first_chunk + i64::from(last.chunks)
                {
                    return Err(damaged(format_args!("segments {} and {} overlap", last.segment, segment.segment)));
                }
                segments.push(segment);
            }
        }
        Ok(segments)
    }

    /// The segments of all classes.
    pub(crate) fn all_segments(&self) -> Result<Vec<SegmentRow>> {
        self.segments(&self.classes()?)
    }

    /// One term's row in one segment.
    pub(crate) fn term(&mut self, segment: i64, term: &str) -> Result<Option<TermRow>> {
        let mut rows = self.term.query(params![segment, term])?;
        rows.next()?.map(term_row).transpose()
    }

    /// The rows of a term in these segments, in their order.
    pub(crate) fn term_in(&mut self, segments: &[SegmentRow], term: &str) -> Result<Vec<Option<TermRow>>> {
        if segments.len() < FEW_SEGMENTS {
            return segments.iter().map(|segment| self.term(segment.segment, term)).collect();
        }
        // One statement: as many calls of SQLite as there are segments cost more than the lookups.
        let numbers = std::rc::Rc::new(segments.iter().map(|segment| segment.segment.into()).collect::<Vec<Value>>());
        let mut statement = self.connection.prepare_cached(SELECT_TERM_IN)?;
        let mut found = vec![None; segments.len()];
        let mut places = segments.iter().enumerate();
        let mut rows = statement.query(params![numbers, term])?;
        while let Some(row) = rows.next()? {
            let segment: i64 = row.get(6)?;
            let place = places.find(|(_, known)| known.segment == segment);
            let (place, _) = place.ok_or_else(|| damaged(format_args!("{term:?} is twice in {segment}")))?;
            found[place] = Some(term_row(row)?);
        }
        Ok(found)
    }

    /// The next `limit` terms of a segment after `after`, in byte order; all terms are after `None`.
    pub(crate) fn terms_after(&self, segment: i64, after: Option<&str>, limit: u32) -> Result<Vec<(String, TermRow)>> {
        // No term is empty (`RunBuilder::add` skips empty ones), so that "" is before them all.
        let mut statement = self.connection.prepare_cached(SELECT_TERMS_AFTER)?;
        let mut rows = statement.query(params![segment, after.unwrap_or_default(), limit])?;
        let mut terms: Vec<(String, TermRow)> = Vec::new();
        while let Some(row) = rows.next()? {
            let term: String = row.get(6)?;
            // Where bytes of the tree were changed, its order is not one: who goes on from the last term would never end.
            if term.as_str() <= terms.last().map_or(after.unwrap_or_default(), |(before, _)| before) {
                return Err(damaged(format_args!("the terms of segment {segment} are out of order at {term:?}")));
            }
            terms.push((term, term_row(row)?));
        }
        Ok(terms)
    }

    /// Puts the blocks of one row of `posting_blocks` into `into`.
    pub(crate) fn block_row(&mut self, block_row: i64, into: &mut Vec<u8>) -> Result<()> {
        let mut rows = self.block_row.query(params![block_row])?;
        let row = rows.next()?.ok_or_else(|| damaged(format_args!("posting_blocks row {block_row} is missing")))?;
        let data = blob(row, 0, "posting_blocks.data")?;
        if data.len() > BLOCK_ROW_BYTES {
            return Err(damaged(format_args!("posting_blocks row {block_row} has {} bytes", data.len())));
        }
        into.clear();
        into.extend_from_slice(data);
        Ok(())
    }

    /// Calls `each` with the pages of chunk lengths that there are from `first` to `last`, each a list of big-endian
    /// u16, until it says `false`.
    pub(crate) fn each_lengths(
        &mut self,
        first: i64,
        last: i64,
        mut each: impl FnMut(i64, &LengthsPage) -> bool,
    ) -> Result<()> {
        let mut rows = self.lengths.query(params![first, last])?;
        while let Some(row) = rows.next()? {
            let data = blob(row, 1, "chunk_lengths.lengths")?;
            let page = data
                .try_into()
                .map_err(|_| damaged(format_args!("a page of chunk_lengths has {} bytes", data.len())))?;
            if !each(row.get(0)?, page) {
                break;
            }
        }
        Ok(())
    }

    /// One page of chunk lengths: all zeros where there is no such row.
    pub(crate) fn lengths(&mut self, page: i64) -> Result<LengthsPage> {
        let mut lengths = [0; 2 * LENGTHS_PER_PAGE];
        self.each_lengths(page, page, |_, found| {
            lengths.copy_from_slice(found);
            true
        })?;
        Ok(lengths)
    }
}

/// How many segments there are, whatever stands in them.
pub(crate) fn segment_count(connection: &Connection) -> Result<u64> {
    Ok(connection.query_row("SELECT count(*) FROM segments", [], |row| row.get(0))?)
}

/// Terms and blocks that belong to no segment, in words.
pub(crate) fn strays(connection: &Connection) -> Result<Vec<String>> {
    let mut strays = Vec::new();
    for (what, sql) in [
        ("terms", "SELECT count(*) FROM terms WHERE segment NOT IN (SELECT segment FROM segments)"),
        (
            "posting_blocks",
            "SELECT count(*) FROM posting_blocks b WHERE NOT EXISTS (SELECT 1 FROM segments s \
             WHERE b.block_row >= s.first_row AND b.block_row < s.first_row + s.rows)",
        ),
    ] {
        let count: u64 = connection.query_row(sql, [], |row| row.get(0))?;
        if count > 0 {
            strays.push(format!("{what}: {count} rows belong to no segment"));
        }
    }
    Ok(strays)
}

/// Writes the index inside the caller's transaction.
pub(crate) struct PostingWriter<'c> {
    connection: &'c Connection,
    /// Reads what the same transaction sees.
    pub reader: PostingReader<'c>,
    insert_term: CachedStatement<'c>,
    insert_block_row: CachedStatement<'c>,
    /// The largest number that a segment had which is no more.
    last_cleared: i64,
}

impl<'c> PostingWriter<'c> {
    /// A writer for this connection, on which a write transaction is open.
    pub(crate) fn new(connection: &'c Connection) -> Result<Self> {
        Ok(Self {
            connection,
            reader: PostingReader::new(connection)?,
            insert_term: connection.prepare_cached(
                "INSERT INTO terms (segment, term, df, dead, max_impact, base, blocks, data) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?,
            insert_block_row: connection
                .prepare_cached("INSERT INTO posting_blocks (block_row, data) VALUES (?1, ?2)")?,
            last_cleared: 0,
        })
    }

    /// Adds a segment's row.
    pub(crate) fn insert_segment(&mut self, row: &SegmentRow) -> Result<()> {
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO segments (segment, generation, first_chunk, chunks, indexed, total_length, dead_chunks, \
             dead_length, average_length, first_row, rows, class_no) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?;
        statement.execute(params![
            row.segment,
            row.generation,
            row.first_chunk,
            row.chunks,
            row.indexed.cast_signed(),
            row.total_length.cast_signed(),
            row.dead_chunks.cast_signed(),
            row.dead_length.cast_signed(),
            row.average_length,
            row.first_row,
            row.rows,
            row.class_no,
        ])?;
        Ok(())
    }

    /// Removes a segment with its terms and blocks; the lengths of its chunks stay.
    pub(crate) fn delete_segment(&mut self, row: &SegmentRow) -> Result<()> {
        let last_row = row.first_row + i64::from(row.rows) - 1;
        self.connection.prepare_cached("DELETE FROM segments WHERE segment = ?1")?.execute([row.segment])?;
        self.connection.prepare_cached("DELETE FROM terms WHERE segment = ?1")?.execute([row.segment])?;
        self.connection
            .prepare_cached("DELETE FROM posting_blocks WHERE block_row BETWEEN ?1 AND ?2")?
            .execute([row.first_row, last_row])?;
        Ok(())
    }

    /// Adds a term's row. Terms come in byte order, so that the B-tree only grows at its end.
    pub(crate) fn insert_term(&mut self, segment: i64, term: &str, row: &TermRow) -> Result<()> {
        self.insert_term.execute(params![
            segment,
            term,
            row.df,
            row.dead.cast_signed(),
            row.max_impact,
            row.base,
            row.blocks,
            row.data
        ])?;
        Ok(())
    }

    /// Adds a row of blocks.
    pub(crate) fn insert_block_row(&mut self, block_row: i64, data: &[u8]) -> Result<()> {
        self.insert_block_row.execute(params![block_row, data])?;
        Ok(())
    }

    /// The smallest number above those of all segments, and of those that were cleared.
    pub(crate) fn next_segment(&self) -> Result<i64> {
        let last: Option<i64> = self.connection.query_row("SELECT max(segment) FROM segments", [], |row| row.get(0))?;
        last.unwrap_or(0).max(self.last_cleared).checked_add(1).ok_or_else(|| damaged("segments has no free numbers"))
    }

    /// The smallest number above all rows of `posting_blocks`.
    pub(crate) fn next_block_row(&self) -> Result<i64> {
        let last: Option<i64> = self
            .connection
            .query_row("SELECT max(block_row) FROM posting_blocks", [], |row| row.get(0))
            .optional()?
            .flatten();
        last.unwrap_or(0).checked_add(1).ok_or_else(|| damaged("posting_blocks has no free row numbers"))
    }

    /// Writes one page of chunk lengths; a page of zeros has no row.
    pub(crate) fn put_lengths(&mut self, page: i64, lengths: &LengthsPage) -> Result<()> {
        if lengths.iter().all(|&byte| byte == 0) {
            self.connection.prepare_cached("DELETE FROM chunk_lengths WHERE page = ?1")?.execute([page])?;
            return Ok(());
        }
        let sql = "INSERT INTO chunk_lengths (page, lengths) VALUES (?1, ?2) \
             ON CONFLICT (page) DO UPDATE SET lengths = excluded.lengths";
        self.connection.prepare_cached(sql)?.execute(params![page, lengths.as_slice()])?;
        Ok(())
    }

    /// Removes the pages of chunk lengths from the one with number `first` to `last`.
    pub(crate) fn delete_lengths(&mut self, first: i64, last: i64) -> Result<()> {
        let sql = "DELETE FROM chunk_lengths WHERE page BETWEEN ?1 AND ?2";
        self.connection.prepare_cached(sql)?.execute([first, last])?;
        Ok(())
    }

    /// Removes the whole index. What this writer puts in its place gets other numbers: where only the contents of a segment
    /// change, whoever keeps some of it in memory would take it for the same. Another writer may give the same numbers
    /// again, as in a sync that rebuilds: there the new generation's number makes each segment's row another one.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.last_cleared = self.next_segment()? - 1;
        for table in ["segments", "terms", "posting_blocks", "chunk_lengths"] {
            self.connection.execute(&format!("DELETE FROM {table}"), [])?;
        }
        Ok(())
    }
}

/// Named here so that the tests of the index need not name `rusqlite`.
#[cfg(test)]
pub(crate) type ScratchConnection = Connection;
/// The same for its statements.
#[cfg(test)]
pub(crate) type ScratchStatement<'c> = rusqlite::Statement<'c>;

/// An empty index in memory, with the whole schema and generations 1 to `generations`.
#[cfg(test)]
pub(crate) fn scratch(generations: i64) -> Connection {
    let connection = Connection::open_in_memory().expect("memory");
    rusqlite::vtab::array::load_module(&connection).expect("a module");
    for migration in [
        include_str!("../../migrations/0001_store.sql"),
        include_str!("../../migrations/0002_evidence.sql"),
        include_str!("../../migrations/0003_access.sql"),
    ] {
        connection.execute_batch(migration).expect("the schema");
    }
    let mut insert = connection
        .prepare("INSERT INTO generations VALUES (?1, NULL, '', 0, 0, 0, 0, 0, 0, 0, 0, ?2, ?2, NULL, '', ?2, 0)")
        .expect("a statement");
    for generation in 1..=generations {
        insert.execute(params![generation, "0".repeat(64)]).expect("a generation");
    }
    drop(insert);
    connection
}

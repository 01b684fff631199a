//! Where prepared documents wait between the parallel work and the transaction: in memory while they are few, in
//! a temporary file when they are not, so that a corpus larger than memory can sync.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Cursor, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::index::{Run, RunReader};
use crate::model::Stamps;
use crate::store::chunks::ChunkRow;
use crate::store::documents::DocumentRow;
use crate::store::findings::FindingRow;
use crate::store::tombstones::Reason;

/// Up to this many bytes stay in memory.
const IN_MEMORY: usize = 32 << 20;

/// What becomes of one chunk of a prepared document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Fate {
    /// A chunk id that was not there before.
    Added,
    /// The id stays, but what is indexed changed: the chunk with the number `old` is replaced.
    Reindexed { old: i64 },
    /// The row stays; its place, or that of what makes it unsafe, may be another one.
    Kept { moved: bool },
    /// The id and the number stay, and the row is written again: what was stored did not have its hashes.
    Mended,
}

/// A chunk of a prepared document. The number of an added or reindexed chunk counts from 0 among those of its slice and
/// access class until the transaction knows where numbers begin.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PreparedChunk {
    pub row: ChunkRow,
    pub fate: Fate,
}

/// A document that is ready to be written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PreparedDocument {
    /// Which of the sync's sources it belongs to.
    pub source: usize,
    /// Its access class: see [`super::keys::Keys`].
    pub class: u32,
    /// The number of the document that it replaces, and the class that it was in.
    pub replaces: Option<(i64, i64)>,
    /// The row to write. Its `source_no` and `class_no` are set in the transaction.
    pub row: DocumentRow,
    pub stamps: Option<Stamps>,
    /// The whole file.
    pub text: String,
    pub chunks: Vec<PreparedChunk>,
    /// Where the unsafe gate's rules matched.
    pub findings: Vec<FindingRow>,
    /// Whether it is reviewed and has a finding that was not there when its source was last declared so.
    pub gained: bool,
    /// Stored chunks whose ids are gone.
    pub removed: Vec<ChunkRow>,
}

/// A document whose file, or whose source, is gone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PreparedDeletion {
    pub document_no: i64,
    pub row: DocumentRow,
    pub chunks: Vec<ChunkRow>,
    pub reason: Reason,
}

/// One entry of the spool.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Prepared {
    /// New or changed.
    Document(Box<PreparedDocument>),
    /// Gone.
    Deletion(Box<PreparedDeletion>),
    /// The end of a slice, in which so many chunks of each of these access classes were numbered.
    EndOfSlice { chunks: Vec<(u32, u32)> },
}

impl Prepared {
    /// About how many bytes of memory it takes.
    fn weight(&self) -> usize {
        let row = |chunk: &ChunkRow| size_of::<PreparedChunk>() + chunk.heading_path.len();
        let rows = |chunks: &[ChunkRow]| chunks.iter().map(row).sum::<usize>();
        match self {
            Self::Document(document) => {
                let chunks = document.chunks.iter().map(|chunk| row(&chunk.row)).sum::<usize>();
                size_of::<PreparedDocument>() + document.text.len() + chunks + rows(&document.removed)
            }
            Self::Deletion(deletion) => size_of::<PreparedDeletion>() + rows(&deletion.chunks),
            Self::EndOfSlice { chunks } => size_of_val(chunks.as_slice()),
        }
    }
}

/// Takes entries: the first ones as they are, those that are too many into a file.
pub(super) struct Spool {
    folder: PathBuf,
    held: Vec<Prepared>,
    weight: usize,
    file: Option<BufWriter<File>>,
    buffer: Vec<u8>,
}

impl Spool {
    /// A spool that overflows into an unnamed file in `folder` (that of the store: the text is no more widely
    /// readable there than it will be in the store).
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), held: Vec::new(), weight: 0, file: None, buffer: Vec::new() }
    }

    pub(super) fn push(&mut self, entry: Prepared) -> Result<()> {
        self.weight = self.weight.saturating_add(entry.weight());
        if self.weight <= IN_MEMORY {
            self.held.push(entry);
            return Ok(());
        }
        self.append(&entry).map_err(|error| spool_failed(&self.folder, error))
    }

    fn append(&mut self, entry: &Prepared) -> std::io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(BufWriter::with_capacity(1 << 18, tempfile::tempfile_in(&self.folder)?)),
        };
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        self.buffer = postcard::to_extend(entry, buffer).map_err(std::io::Error::other)?;
        file.write_all(&(self.buffer.len() as u64).to_le_bytes())?;
        file.write_all(&self.buffer)
    }

    /// The entries again, in order; there are none in it then.
    pub(super) fn take_reader(&mut self) -> Result<SpoolReader> {
        let Self { folder, held, file, .. } = std::mem::replace(self, Self::new(&self.folder));
        let rewound = |file: BufWriter<File>| {
            let mut file = file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
            file.seek(SeekFrom::Start(0))?;
            Ok(BufReader::with_capacity(1 << 18, file))
        };
        let file = file.map(rewound).transpose().map_err(|error| spool_failed(&folder, error))?;
        Ok(SpoolReader { folder, held: held.into_iter(), file, buffer: Vec::new() })
    }
}

/// Gives entries back.
pub(super) struct SpoolReader {
    folder: PathBuf,
    held: std::vec::IntoIter<Prepared>,
    file: Option<BufReader<File>>,
    buffer: Vec<u8>,
}

impl SpoolReader {
    /// The next entry; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Prepared>> {
        if let Some(entry) = self.held.next() {
            return Ok(Some(entry));
        }
        match self.read() {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => return Err(spool_failed(&self.folder, error)),
        }
        let entry = postcard::from_bytes(&self.buffer);
        entry.map(Some).map_err(|error| spool_failed(&self.folder, std::io::Error::other(error)))
    }

    /// Fills the buffer with the bytes of the file's next entry; false at the end.
    fn read(&mut self) -> std::io::Result<bool> {
        let Some(file) = &mut self.file else { return Ok(false) };
        let mut length = [0; 8];
        match file.read_exact(&mut length) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(false),
            other => other?,
        }
        let length = usize::try_from(u64::from_le_bytes(length)).map_err(std::io::Error::other)?;
        self.buffer.resize(length, 0);
        file.read_exact(&mut self.buffer)?;
        Ok(true)
    }
}

fn spool_failed(folder: &Path, error: std::io::Error) -> Error {
    Error::io(folder, std::io::Error::new(error.kind(), format!("the temporary file for prepared documents: {error}")))
}

/// Where workers' runs wait for the transaction.
pub(super) struct RunSpool {
    folder: PathBuf,
    in_memory: usize,
    file: Option<Arc<File>>,
    written: u64,
    /// The runs of each access class, each with the place of its first chunk among the new ones of the class.
    classes: BTreeMap<u32, ClassRuns<Section>>,
}

/// The runs of one access class.
pub(super) struct ClassRuns<R> {
    pub runs: Vec<(u32, R)>,
    /// How many chunks they have.
    pub chunks: u32,
}

/// The bytes of one run.
pub(super) enum Section {
    Memory(Cursor<Vec<u8>>),
    File { file: Arc<File>, at: u64, end: u64 },
}

impl RunSpool {
    /// A spool that overflows into an unnamed file in `folder`.
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), in_memory: 0, file: None, written: 0, classes: BTreeMap::new() }
    }

    /// Where it overflows to.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// How many chunks the runs of each class have.
    pub(super) fn chunks(&self) -> impl Iterator<Item = (u32, u32)> {
        self.classes.iter().map(|(&class, runs)| (class, runs.chunks))
    }

    /// Adds the run of a class in the next slice, which has `chunks` new chunks of it.
    pub(super) fn push(&mut self, class: u32, run: &Run, chunks: u32) -> Result<()> {
        let bytes = run.as_bytes();
        let section = if self.in_memory + bytes.len() <= IN_MEMORY {
            self.in_memory += bytes.len();
            Section::Memory(Cursor::new(bytes.to_vec()))
        } else {
            self.append(bytes).map_err(|error| spool_failed(&self.folder, error))?
        };
        let of_class = self.classes.entry(class).or_insert(ClassRuns { runs: Vec::new(), chunks: 0 });
        of_class.runs.push((of_class.chunks, section));
        of_class.chunks = of_class.chunks.checked_add(chunks).ok_or_else(|| Error::Invalid {
            message: "one sync can't add more than 4,294,967,295 chunks; sync fewer files at a time".into(),
        })?;
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> std::io::Result<Section> {
        let file = match &self.file {
            Some(file) => file.clone(),
            None => self.file.insert(Arc::new(tempfile::tempfile_in(&self.folder)?)).clone(),
        };
        file.write_all_at(bytes, self.written)?;
        let at = self.written;
        self.written += bytes.len() as u64;
        Ok(Section::File { file, at, end: self.written })
    }

    /// The runs of each class.
    pub(super) fn into_readers(self) -> Result<BTreeMap<u32, ClassRuns<RunReader<Section>>>> {
        let open = |(class, ClassRuns { runs, chunks })| {
            let opened = runs.into_iter().map(|(base, section)| Ok((base, RunReader::open(section)?)));
            Ok((class, ClassRuns { runs: opened.collect::<Result<_>>()?, chunks }))
        };
        self.classes.into_iter().map(open).collect()
    }
}

impl Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Memory(bytes) => bytes.read(buffer),
            Self::File { file, at, end } => {
                let left = usize::try_from(*end - *at).unwrap_or(usize::MAX);
                let length = left.min(buffer.len());
                let read = file.read_at(&mut buffer[..length], *at)?;
                *at += read as u64;
                Ok(read)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry that says its number and takes about so many bytes.
    fn entry(number: u32, bytes: usize) -> Prepared {
        Prepared::EndOfSlice { chunks: vec![(number, 0); bytes / 8] }
    }

    #[test]
    fn entries_come_back_in_order_from_memory_and_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        for (bytes, overflows) in [(8, false), (IN_MEMORY / 4, true), (2 * IN_MEMORY, true)] {
            let mut spool = Spool::new(folder.path());
            (0..7).try_for_each(|number| spool.push(entry(number, bytes))).unwrap();
            assert_eq!(spool.file.is_some(), overflows, "{bytes}");
            let mut reader = spool.take_reader().unwrap();
            let mut numbers = Vec::new();
            while let Some(Prepared::EndOfSlice { chunks }) = reader.next().unwrap() {
                assert_eq!(chunks.len(), bytes / 8);
                numbers.push(chunks[0].0);
            }
            assert_eq!(numbers, (0..7).collect::<Vec<_>>(), "{bytes}");
        }
    }
}

//! What a search engine has to do to be measured beside ragdb.

use std::path::PathBuf;

use crate::Result;
use crate::chunk::FileChunks;

/// A search engine that indexes ready-made chunks: it neither walks, reads, hashes nor cuts.
pub trait Peer {
    /// Its name in the report.
    fn name(&self) -> &'static str;

    /// Makes a new index over all chunks, committed to disk; an older one is removed.
    fn build(&mut self, files: &[FileChunks]) -> Result<()>;

    /// Puts these files' chunks in place of those it has under the same paths, and commits.
    fn replace(&mut self, files: &[FileChunks]) -> Result<()>;

    /// Ranks the chunks that have any word of the query and reads the text of the best `k`; how many there are.
    fn search(&mut self, query: &str, k: usize) -> Result<usize>;

    /// The file or folder of the index.
    fn path(&self) -> PathBuf;

    /// Writes what is not in the index's own files yet, and lets go of what it keeps of them in memory. The next call
    /// opens it again.
    fn close(&mut self) -> Result<()>;

    /// The size of the index on disk, in bytes.
    fn bytes(&self) -> Result<u64>;
}

//! Ready-made chunks: what the peers are given.

/// A piece of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// The headings above it, outermost first, joined with ` > `.
    pub heading: String,
    /// Its text.
    pub text: String,
}

/// The chunks of one file, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileChunks {
    /// The file's path below the corpus.
    pub path: String,
    /// Its chunks.
    pub chunks: Vec<Chunk>,
}

/// How many chunks there are in all files.
#[must_use]
pub fn count(files: &[FileChunks]) -> usize {
    files.iter().map(|file| file.chunks.len()).sum()
}

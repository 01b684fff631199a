//! What a file system says of a file without reading it.

use serde::{Deserialize, Serialize};

/// What the file system says of a file's content without reading it. Equal stamps that were settled when they
/// were taken mean equal content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamps {
    /// Length in bytes.
    pub size: u64,
    /// Time of the last change of content, in nanoseconds since 1970 (UTC).
    pub mtime_ns: i64,
    /// Time of the last change of content or inode: unlike `mtime_ns`, no program can set it back.
    pub ctime_ns: i64,
    /// The inode number, its 64 bits taken as signed: SQLite has no unsigned integers.
    pub inode: i64,
}

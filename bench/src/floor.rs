//! What the machine needs for the parts of the work that can't be left out.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::chunk::FileChunks;
use crate::{Result, corpus, database};

/// The name of the floor under a sync that changes nothing.
pub const WALK: &str = "walk+stat";
/// The name of the floor under any sync that trusts no time stamp.
pub const READ: &str = "read+sha256";
/// The name of the floor under a first sync.
pub const INSERT: &str = "text insert";

/// Walks the folder, looks at each Markdown file, sorts the paths; how many there are.
pub fn walk_and_stat(root: &Path) -> Result<usize> {
    Ok(corpus::walk(root)?.len())
}

/// Walks the folder, reads and hashes each Markdown file, on one thread; how many bytes there are.
pub fn read_and_hash(root: &Path) -> Result<u64> {
    let mut bytes = 0;
    for file in corpus::walk(root)? {
        let text = fs::read(root.join(&file.path))?;
        std::hint::black_box(Sha256::digest(&text));
        bytes += text.len() as u64;
    }
    Ok(bytes)
}

/// Stores the text of each chunk in a new database, in one transaction, and nothing else.
pub fn insert_text(path: &Path, files: &[FileChunks]) -> Result<()> {
    let mut connection = database::create(path)?;
    connection.execute_batch("CREATE TABLE chunks (chunk_no INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT")?;
    let transaction = connection.transaction()?;
    {
        let mut insert = transaction.prepare("INSERT INTO chunks (text) VALUES (?1)")?;
        for chunk in files.iter().flat_map(|file| &file.chunks) {
            insert.execute([&chunk.text])?;
        }
    }
    transaction.commit()?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(())
}

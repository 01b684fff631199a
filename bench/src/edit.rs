//! Edits to the scratch copy: some files get another paragraph, and the ready-made chunks follow.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use crate::Result;
use crate::chunk::{Chunk, FileChunks};
use crate::random::Random;

/// Appends a paragraph to `count` files below `root`, chosen by `random`, and gives their chunks as they are now.
pub fn append(
    root: &Path,
    files: &mut [FileChunks],
    count: usize,
    round: usize,
    random: &mut Random,
) -> Result<Vec<FileChunks>> {
    let chosen = random.sample((0..files.len()).collect(), count);
    chosen
        .into_iter()
        .map(|index| {
            let file = &mut files[index];
            let paragraph = format!("\n\nEdit {round} of {} adds this paragraph.\n", file.path);
            OpenOptions::new().append(true).open(root.join(&file.path))?.write_all(paragraph.as_bytes())?;
            match file.chunks.last_mut() {
                Some(last) => last.text.push_str(&paragraph),
                None => file.chunks.push(Chunk { heading: String::new(), text: paragraph }),
            }
            Ok(file.clone())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::chunk::Chunk;

    #[test]
    fn files_and_chunks_change_alike() {
        let root = tempfile::tempdir().unwrap();
        let mut files = Vec::new();
        for name in ["a.md", "b.md", "c.md"] {
            let text = format!("# {name}\n\ntext");
            fs::write(root.path().join(name), &text).unwrap();
            files.push(FileChunks { path: name.into(), chunks: vec![Chunk { heading: name.into(), text }] });
        }
        let changed = append(root.path(), &mut files, 2, 7, &mut Random::new(1)).unwrap();
        assert_eq!(changed.len(), 2);
        for file in &changed {
            assert!(fs::read_to_string(root.path().join(&file.path)).unwrap().contains("Edit 7 of"));
            assert!(file.chunks[0].text.contains(&format!("Edit 7 of {} adds", file.path)));
            assert!(files.contains(file));
        }
    }
}

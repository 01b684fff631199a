//! Ready-made chunks: what the peers are given.

use std::fs;
use std::path::Path;

use crate::Result;
use crate::corpus;

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

const TARGET_CHARS: usize = 800;

/// Cuts the Markdown files below `root` at ATX headings, and longer sections at blank lines. It knows little of
/// Markdown: it stands in for ragdb's own chunks where there are none.
pub fn cut_folder(root: &Path) -> Result<Vec<FileChunks>> {
    corpus::walk(root)?
        .into_iter()
        .map(|file| {
            let bytes = fs::read(root.join(&file.path))?;
            Ok(FileChunks { path: file.path, chunks: cut(&String::from_utf8_lossy(&bytes)) })
        })
        .collect()
}

fn cut(source: &str) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut headings: Vec<(usize, &str)> = Vec::new();
    let mut chunk = Chunk::default();
    let mut fenced = false;
    for line in source.lines() {
        fenced ^= line.trim_start().starts_with("```");
        let heading = if fenced { None } else { heading(line) };
        if let Some((level, text)) = heading {
            let next = Chunk::default();
            chunks.push(std::mem::replace(&mut chunk, next));
            headings.retain(|(above, _)| *above < level);
            headings.push((level, text));
            chunk.heading = headings.iter().map(|(_, text)| *text).collect::<Vec<_>>().join(" > ");
        } else if line.trim().is_empty() && !fenced && chunk.text.len() >= TARGET_CHARS {
            let next = Chunk { heading: chunk.heading.clone(), text: String::new() };
            chunks.push(std::mem::replace(&mut chunk, next));
            continue;
        }
        chunk.text.push_str(line);
        chunk.text.push('\n');
    }
    chunks.push(chunk);
    chunks.retain(|chunk| !chunk.text.trim().is_empty());
    chunks
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let text = line.get(level..)?.strip_prefix(' ')?;
    (1..=6).contains(&level).then(|| (level, text.trim().trim_end_matches('#').trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_have_their_heading_path_and_long_ones_are_split() {
        let long = "word ".repeat(200);
        let source = format!("intro\n# A\na\n## B #\n{long}\n\nrest\n```\n# not a heading\n```\n# C\n");
        let chunks = cut(&source);
        let headings: Vec<_> = chunks.iter().map(|chunk| chunk.heading.as_str()).collect();
        assert_eq!(headings, ["", "A", "A > B", "A > B", "C"]);
        assert_eq!(chunks[3].text, "rest\n```\n# not a heading\n```\n");
    }
}

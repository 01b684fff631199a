//! A made-up corpus, the same on every machine: for what must not depend on data sets.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::Result;
use crate::random::Random;

const SEED: u64 = 1_729;
const FILES: usize = 150;
/// Different words; the lower a word's number is, the more often it occurs.
const WORDS: usize = 6_000;
const SYLLABLES: [&str; 24] = [
    "ta", "ren", "mo", "sil", "ka", "ver", "du", "lin", "po", "gra", "se", "mar", "ti", "ban", "lo", "fer", "na",
    "cor", "vi", "hul", "re", "dos", "pa", "zen",
];
const COMMON: [&str; 12] = ["the", "of", "to", "a", "and", "is", "in", "for", "that", "with", "can", "be"];
const HAN: &str = "数据库存储查询文档检索引擎事务日志索引结构系统用户配置安装";

/// Writes about 2 MB of Markdown below `root`, with front matter, headings, paragraphs, lists, tables and code. All
/// files look as if they had been changed long ago.
pub fn corpus(root: &Path) -> Result<()> {
    let mut random = Random::new(SEED);
    for number in 0..FILES {
        let folder = root.join(format!("part{}", number % 12));
        fs::create_dir_all(&folder)?;
        write(&folder.join(format!("page{number:03}.md")), &page(&mut random, number), 0)?;
    }
    Ok(())
}

/// Writes a file that looks as if it had been changed `hours` after those of the corpus.
pub fn write(path: &Path, text: &str, hours: u64) -> Result<()> {
    fs::write(path, text)?;
    let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + 3_600 * hours);
    Ok(File::options().write(true).open(path)?.set_modified(changed)?)
}

/// Queries of two to nine words that occur.
#[must_use]
pub fn queries(count: usize) -> Vec<String> {
    let mut random = Random::new(SEED + 1);
    (0..count)
        .map(|number| {
            let words: Vec<String> = (0..2 + number % 8).map(|_| word(&mut random)).collect();
            words.join(" ")
        })
        .collect()
}

fn page(random: &mut Random, number: usize) -> String {
    let front = format!("---\ntitle: {} {number}\nlang: en\ntags: [{}]\n---", word(random), word(random));
    let mut blocks = vec![front, format!("# {} {}", word(random), word(random))];
    for section in 0..8 + random.below(8) {
        blocks.push(format!("## {} {} {}", word(random), word(random), word(random)));
        for _ in 0..4 + random.below(5) {
            blocks.push(sentence(random, 12 + section * 7 % 20));
        }
        blocks.push(match section % 4 {
            0 => list(random),
            1 => format!("| name | meaning |\n|---|---|\n| {} | {} |", word(random), sentence(random, 6)),
            2 => format!("```rust\nlet {} = {}::new(\"{}\");\n```", word(random), word(random), word(random)),
            _ => han(random),
        });
    }
    blocks.join("\n\n") + "\n"
}

fn list(random: &mut Random) -> String {
    let lines: Vec<String> = (0..5).map(|_| format!("- `{}`: {}", word(random), sentence(random, 8))).collect();
    lines.join("\n")
}

/// Words that end with a full stop.
fn sentence(random: &mut Random, words: usize) -> String {
    let mut text: Vec<String> = (0..words).map(|_| word(random)).collect();
    if let Some(first) = text.first_mut() {
        first[..1].make_ascii_uppercase();
    }
    text.join(" ") + "."
}

/// One in three is a common word; among the others a few are frequent and most are rare.
fn word(random: &mut Random) -> String {
    if random.below(3) == 0 {
        return COMMON[random.below(COMMON.len())].to_owned();
    }
    let limit = 1 + random.below(WORDS);
    let mut number = random.below(limit) + SYLLABLES.len();
    let mut word = String::new();
    while number > 0 {
        word += SYLLABLES[number % SYLLABLES.len()];
        number /= SYLLABLES.len();
    }
    word
}

fn han(random: &mut Random) -> String {
    let characters: Vec<char> = HAN.chars().collect();
    (0..40).map(|_| characters[random.below(characters.len())]).chain(['。']).collect()
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::corpus;

    #[test]
    fn the_corpus_is_of_its_size_and_always_the_same() {
        let root = tempfile::tempdir().unwrap();
        corpus(root.path()).unwrap();
        let files = corpus::walk(root.path()).unwrap();
        let bytes: u64 = files.iter().map(|file| file.bytes).sum();
        assert!((1_500_000..2_500_000).contains(&bytes), "{bytes}");
        let first = fs::read(root.path().join("part0/page000.md")).unwrap();
        corpus(root.path()).unwrap();
        assert_eq!(Sha256::digest(fs::read(root.path().join("part0/page000.md")).unwrap()), Sha256::digest(first));
        assert_eq!(queries(10), queries(10));
    }
}

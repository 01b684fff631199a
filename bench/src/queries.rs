//! Queries made from a corpus, the same in every run: headings as people type them, and questions.

use std::collections::BTreeSet;

use crate::chunk::FileChunks;
use crate::random::Random;

const SEED: u64 = 20_240_607;
const FRAMES: [&str; 8] = [
    "how do i find",
    "what does it mean that",
    "why is",
    "when should i use",
    "where is",
    "what happens if",
    "is it true that",
    "how can",
];

/// Up to `count` different headings of 2 to 6 words.
#[must_use]
pub fn headings(files: &[FileChunks], count: usize) -> Vec<String> {
    let chunks = files.iter().flat_map(|file| &file.chunks);
    let last = chunks.filter_map(|chunk| chunk.heading.rsplit(" > ").next());
    let fitting: BTreeSet<String> = last
        .map(|heading| words(heading).collect::<Vec<_>>())
        .filter(|words| (2..=6).contains(&words.len()))
        .map(|words| words.join(" "))
        .collect();
    Random::new(SEED).sample(fitting.into_iter().collect(), count)
}

/// Up to `count` questions of 8 to 14 words: the frame of a question and running words of a line of prose.
#[must_use]
pub fn questions(files: &[FileChunks], count: usize) -> Vec<String> {
    let mut random = Random::new(SEED + 1);
    let chunks: Vec<_> = files.iter().flat_map(|file| &file.chunks).collect();
    let mut questions = BTreeSet::new();
    // Few lines of a chunk are prose; a corpus without any must not keep this looking for ever.
    for _ in 0..count * 200 {
        if questions.len() == count || chunks.is_empty() {
            break;
        }
        let text = &chunks[random.below(chunks.len())].text;
        let lines: Vec<Vec<&str>> =
            text.lines().filter(|line| is_prose(line)).map(|line| words(line).collect()).collect();
        let frame: Vec<&str> = FRAMES[random.below(FRAMES.len())].split(' ').collect();
        let wanted = 8 + random.below(7) - frame.len();
        let long: Vec<&Vec<&str>> = lines.iter().filter(|words| words.len() >= wanted).collect();
        if !long.is_empty() {
            let words = long[random.below(long.len())];
            let start = random.below(words.len() - wanted + 1);
            let asked = frame.iter().chain(&words[start..start + wanted]);
            questions.insert(asked.copied().collect::<Vec<_>>().join(" "));
        }
    }
    Random::new(SEED + 2).sample(questions.into_iter().collect(), count)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn is_prose(line: &str) -> bool {
    line.starts_with(char::is_alphabetic) && !line.contains(['|', '<', '{', '=', '`', '('])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Chunk;

    #[test]
    fn queries_have_the_lengths_they_should_and_repeat_themselves_in_no_run() {
        let chunk = |number: usize| Chunk {
            heading: format!("Guide > Set up part {number}"),
            text: format!(
                "# Set up\n\nThe store of part {number} keeps all the lines that it has ever read from you.\n"
            ),
        };
        let files = [FileChunks { path: "a.md".into(), chunks: (0..100).map(chunk).collect() }];
        let headings = headings(&files, 50);
        let questions = questions(&files, 50);
        for (queries, lengths) in [(&headings, 2..=6), (&questions, 8..=14)] {
            assert_eq!(queries.iter().collect::<BTreeSet<_>>().len(), 50);
            assert!(queries.iter().all(|query| lengths.contains(&query.split(' ').count())), "{queries:?}");
        }
        assert_eq!(headings, super::headings(&files, 50));
        assert_eq!(questions, super::questions(&files, 50));
        assert!(super::questions(&[], 5).is_empty());
    }
}

//! What fuzzers run: for each parser of bytes that nobody vouches for, a function that takes any bytes and panics where a
//! property does not hold. There with the feature `fuzzing` only: `fuzz/` gives them to libFuzzer, `tests/it/fuzz.rs`
//! runs them on a stable toolchain.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::config::Config;
use crate::error::Error;
use crate::gate::proposal::{AnswerFormat, MOST_CITATIONS, MOST_CLAIMS, ProposedAnswer};
use crate::index::{RunReader, fuzz_block};
use crate::ingest::chunk::{RawChunk, chunk_markdown, chunk_text};
use crate::ingest::front_matter::{self, FrontMatter};
use crate::ingest::{FAILURE_CODES, InputError};
use crate::model::ChunkPolicy;

/// Something to be fuzzed.
#[derive(Clone, Copy, Debug)]
pub struct FuzzTarget {
    /// Its name, also that of its folder of seeds in `fuzz/corpus`.
    pub name: &'static str,
    /// Runs it on one input; panics where a property does not hold.
    pub run: fn(&[u8]),
}

/// All targets.
pub const FUZZ_TARGETS: [FuzzTarget; 5] = [
    FuzzTarget { name: "chunker", run: chunker },
    FuzzTarget { name: "front_matter", run: front_matter },
    FuzzTarget { name: "answer", run: answer },
    FuzzTarget { name: "postings", run: postings },
    FuzzTarget { name: "config", run: config },
];

/// The first three bytes choose the sizes of chunks, the fourth the kind of text.
fn chunker(data: &[u8]) {
    let Some((&[max, target, overlap, kind], text)) = data.split_first_chunk() else { return };
    let max_chars = 1 + u32::from(max) * 5;
    let target_chars = 1 + u32::from(target) * 5 % max_chars;
    let policy = ChunkPolicy { target_chars, max_chars, overlap_chars: u32::from(overlap) % target_chars };
    let source = String::from_utf8_lossy(text);
    let is_markdown = kind % 4 > 0;
    let cut = if is_markdown { chunk_markdown } else { chunk_text };
    let chunked = cut(&source, 0, &policy);
    assert_eq!(chunked, cut(&source, 0, &policy), "the same text is cut in two ways");
    let mut lines = lines(&source);
    if source.starts_with('\u{feff}')
        && let Some(first) = lines.first_mut()
    {
        first.start = '\u{feff}'.len_utf8();
    }
    let mut is_covered = vec![false; lines.len()];
    for pair in chunked.chunks.windows(2) {
        assert!(pair[0].span.start_line < pair[1].span.start_line, "chunks are out of order: {pair:?}");
        assert!(pair[0].span.end_line < pair[1].span.end_line, "a chunk lies in another: {pair:?}");
    }
    for chunk in &chunked.chunks {
        let within = lines_of(chunk);
        let bytes = lines[within.start].start..lines[within.end - 1].end;
        let span = chunk.span.start_byte..chunk.span.end_byte;
        assert_eq!(span, bytes.start as u64..bytes.end as u64, "the bytes are not those of the lines");
        is_covered[within].fill(true);
    }
    let lost =
        lines.iter().zip(is_covered).find(|(line, is_covered)| !is_covered && !is_blank(&source[(*line).clone()]));
    assert!(lost.is_none(), "a line is in no chunk: {lost:?}");
    if is_markdown {
        for heading in headings(&source, &lines) {
            let crossed =
                chunked.chunks.iter().find(|chunk| (lines_of(chunk).start + 1..lines_of(chunk).end).contains(&heading));
            assert!(crossed.is_none(), "{crossed:?} crosses the heading on line {}", heading + 1);
        }
    }
}

/// The lines of a chunk, from 0.
fn lines_of(chunk: &RawChunk) -> Range<usize> {
    chunk.span.start_line as usize - 1..chunk.span.end_line as usize
}

/// The bytes of each line without its end, which is `\n`, `\r` or both.
fn lines(source: &str) -> Vec<Range<usize>> {
    let bytes = source.as_bytes();
    let (mut lines, mut start, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let end = at;
        at += 1;
        match bytes[end] {
            b'\r' if bytes.get(at) == Some(&b'\n') => at += 1,
            b'\r' | b'\n' => {}
            _ => continue,
        }
        lines.push(start..end);
        start = at;
    }
    if start < bytes.len() {
        lines.push(start..bytes.len());
    }
    lines
}

fn is_blank(line: &str) -> bool {
    line.chars().all(|c| c == ' ' || c == '\t')
}

/// The first lines, from 0, of the headings that stand in no other block.
fn headings(source: &str, lines: &[Range<usize>]) -> Vec<usize> {
    let body_start = if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let bytes = source.as_bytes();
    // Of the same length, with the line ends that the parser knows.
    let unified: String = source[body_start..]
        .char_indices()
        .map(|(at, c)| if c == '\r' && bytes.get(body_start + at + 1) != Some(&b'\n') { '\n' } else { c })
        .collect();
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_TASKLISTS;
    let (mut depth, mut found) = (0, Vec::new());
    for (event, range) in Parser::new_ext(&unified, options).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 && matches!(tag, Tag::Heading { .. }) {
                    let at = body_start + range.start;
                    found.extend(lines.iter().rposition(|line| line.start <= at));
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    found
}

fn front_matter(data: &[u8]) {
    let source = String::from_utf8_lossy(data);
    match front_matter::parse(&source) {
        Ok(read) => {
            let FrontMatter { body_start, fields } = &read;
            assert!(source.is_char_boundary(*body_start), "the body begins inside a character");
            assert_eq!(front_matter::parse(&source).ok().as_ref(), Some(&read), "the same text is read in two ways");
            let Some(fields) = fields else {
                assert!(source[..*body_start].trim_start_matches('\u{feff}').is_empty(), "something was left out");
                return;
            };
            let json = serde_json::to_string(fields).expect("values serialise");
            assert_eq!(serde_json::from_str(&json).ok().as_ref(), Some(fields), "not as it is stored: {json}");
            let block = &source[..*body_start];
            if block.ends_with('\n') {
                let other = front_matter::parse(&format!("{block}# Another body\n"));
                assert_eq!(other.ok().as_ref(), Some(&read), "it depends on the body");
            }
        }
        Err(InputError { code, message }) => {
            assert!(FAILURE_CODES.iter().any(|(known, _)| *known == code) && !message.is_empty(), "{code}: {message}");
        }
    }
}

/// The first byte chooses the format.
fn answer(data: &[u8]) {
    let Some((&format, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let format = AnswerFormat::ALL[usize::from(format) % AnswerFormat::ALL.len()];
    let labels = ["S1".to_owned(), "S2".to_owned(), "S3".to_owned()];
    match ProposedAnswer::parse(&text, format, &labels) {
        Ok(answer) => {
            assert!(answer.claims.len() <= MOST_CLAIMS, "{} claims", answer.claims.len());
            for claim in &answer.claims {
                assert!(claim.citations.len() <= MOST_CITATIONS, "{} citations", claim.citations.len());
            }
            let again = ProposedAnswer::parse(&text, format, &labels);
            assert_eq!(again.ok(), Some(answer), "the same text is read in two ways");
        }
        Err(Error::Invalid { message }) => assert!(!message.is_empty(), "an error without a message"),
        Err(other) => panic!("{other:?}"),
    }
}

/// A block of postings, and the run of a sync.
fn postings(data: &[u8]) {
    fuzz_block(data);
    let read = RunReader::open(data).and_then(|mut reader| {
        let mut postings = reader.lengths().len();
        while reader.next_term()? {
            while reader.next_posting()?.is_some() {
                postings += 1;
            }
        }
        Ok(postings)
    });
    match read {
        Ok(read) => assert!(read <= data.len(), "{read} postings and lengths in {} bytes", data.len()),
        Err(Error::Io { .. }) => {}
        Err(other) => panic!("{other:?}"),
    }
}

fn config(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let path = std::path::Path::new("/somewhere/ragdb.yaml");
    match Config::from_yaml(&text, path) {
        Ok(config) => {
            let again = Config::from_yaml(&text, path).map(|config| format!("{config:?}"));
            assert_eq!(again.ok(), Some(format!("{config:?}")), "the same text is read in two ways");
        }
        Err(Error::Config { path: named, message }) => assert!(named == path && !message.is_empty(), "{message}"),
        Err(other) => panic!("{other:?}"),
    }
}

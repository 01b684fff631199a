//! Documents of a BEIR corpus as files that a sync reads.
//!
//! Each document becomes one Markdown file, its title in TOML front matter: so the title is a title to the product,
//! and front matter of its own can't be seen in the text. (Files of kind `text` have no title but their name.) The
//! text is plain text and stands there as it is, but for a backslash before what Markdown would take for a heading:
//! a heading's words would count twice, or not at all where nothing follows it. No word is added or lost.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use super::beir::BeirDocument;
use crate::error::{Error, Result};

/// What stands for a missing title, lest the file's name be taken for one, and for a missing text: it has no word.
const NOTHING: &str = "-";

/// A folder holds this many files.
const FILES_A_FOLDER: usize = 1000;

/// Writes each document as a file below `folder`, in the order of the corpus; returns the document of each file, by
/// its path below the folder.
///
/// # Errors
/// [`Error::Invalid`] where an id comes twice, [`Error::Io`] where a file can't be written.
pub(super) fn write(
    folder: &Path,
    documents: impl Iterator<Item = Result<BeirDocument>>,
) -> Result<HashMap<String, String>> {
    let mut ids: HashMap<String, usize> = HashMap::new();
    for document in documents {
        let document = document?;
        let number = ids.len();
        let path = folder.join(path_of(number));
        if number.is_multiple_of(FILES_A_FOLDER)
            && let Some(parent) = path.parent()
        {
            fs::create_dir_all(parent).map_err(|error| Error::io(parent, error))?;
        }
        fs::write(&path, file(&document.title, &document.text)).map_err(|error| Error::io(&path, error))?;
        if ids.insert(document.id.clone(), number).is_some() {
            return Err(Error::Invalid { message: format!("the corpus has document {:?} twice", document.id) });
        }
    }
    Ok(ids.into_iter().map(|(id, number)| (path_of(number), id)).collect())
}

/// Paths sort as the corpus does, so that ties keep its order.
fn path_of(number: usize) -> String {
    format!("{:06}/{:03}.md", number / FILES_A_FOLDER, number % FILES_A_FOLDER)
}

fn file(title: &str, text: &str) -> String {
    let words: Vec<&str> = title.split_whitespace().collect();
    let title = if words.is_empty() { NOTHING.to_owned() } else { words.join(" ") };
    let mut file = format!("+++\ntitle = {}\n+++\n", toml::Value::String(title));
    for line in text.split_inclusive(['\n', '\r']) {
        let indented = line.trim_start_matches([' ', '\t']);
        file.push_str(&line[..line.len() - indented.len()]);
        file.push_str(if is_heading_mark(indented) { "\\" } else { "" });
        file.push_str(indented);
    }
    file.push_str(if text.trim().is_empty() { NOTHING } else { "" });
    file.push('\n');
    file
}

/// Whether a line without its indentation can open a heading, or make one of the line above.
fn is_heading_mark(line: &str) -> bool {
    let line = line.trim_end();
    line.starts_with('#') || (!line.is_empty() && ['-', '='].iter().any(|&mark| line.chars().all(|c| c == mark)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::ingest::chunk::chunk_markdown;
    use crate::ingest::front_matter;
    use crate::lexicon::Lexer;
    use crate::model::ChunkPolicy;

    /// Checks that the product sees the words of `text`, no heading, and no other title; returns the title.
    fn title_seen(title: &str, text: &str) -> String {
        let file = file(title, text);
        let matter = front_matter::parse(&file).unwrap();
        let body = &file[matter.body_start..];
        assert!(!front_matter::is_blank(&file, matter.body_start));
        let mut lexer = Lexer::new();
        let mut words =
            |text: &str| -> Vec<String> { lexer.surface_terms(text).into_iter().map(|(word, _)| word).collect() };
        assert_eq!(words(body), words(text), "{body:?}");
        let chunked = chunk_markdown(&file, matter.body_start, &ChunkPolicy::default());
        assert_eq!(chunked.title, None, "{body:?}");
        for chunk in chunked.chunks {
            assert!(chunk.heading_path.is_empty() && !chunk.heading_only, "{body:?}");
        }
        matter.fields.unwrap()["title"].as_str().unwrap().to_owned()
    }

    #[rstest]
    #[case::plain("A title", "One line.", "A title")]
    #[case::markup("T", "# not a heading\n\nTitle\n=====\r\n\r\n- item\r---\rmore\n - \n", "T")]
    #[case::front_matter("T", "---\ntitle: other\n---\nbody", "T")]
    #[case::fences("T", "```\n# a\n````\n# b\n<div>\n# c", "T")]
    #[case::quotes("A \"quoted\" \\ title\u{7f} 'x' \"\"\"", "x", "A \"quoted\" \\ title\u{7f} 'x' \"\"\"")]
    #[case::lines(" a\n+++\n b\t", "x", "a +++ b")]
    #[case::no_title("", "\n\ntext", NOTHING)]
    #[case::no_text("only a title", "", "only a title")]
    #[case::nothing(" ", " \n", NOTHING)]
    fn a_file_holds_title_and_text_as_they_are(#[case] title: &str, #[case] text: &str, #[case] expected: &str) {
        assert_eq!(title_seen(title, text), expected);
    }

    proptest! {
        #[test]
        fn no_text_has_headings(text in "([ \t]{0,5}([-=#>*`+]{1,4}|---|===|C#|C\\+\\+|word|\\.NET|1\\.)?[ \n\r\t]{1,2}){0,12}") {
            title_seen("T", &text);
        }
    }

    #[test]
    fn an_id_that_comes_twice_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let document = |id: &str| Ok(BeirDocument { id: id.into(), title: String::new(), text: "x".into() });
        let error = write(folder.path(), [document("a"), document("b"), document("a")].into_iter()).unwrap_err();
        assert_eq!(error.to_string(), "the corpus has document \"a\" twice");
        let written = write(folder.path(), (0..1001).map(|number| document(&number.to_string()))).unwrap();
        assert_eq!(written["000001/000.md"], "1000");
    }
}

//! What a label names: a document, lines of one, or a chunk. Pure.

use crate::model::{ChunkId, Citation};

/// A document, lines of one, or a chunk, as a case's labels name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A document, by its path or `source:path`.
    Document(String),
    /// Lines of a document. A hit that has one of them meets it.
    Lines(Citation),
    /// A chunk.
    Chunk(ChunkId),
}

/// Where a hit stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub chunk_id: &'a str,
    pub source_id: &'a str,
    pub path: &'a str,
    pub start_line: u32,
    pub end_line: u32,
}

impl Unit {
    /// Reads `path`, `path#L3-L6` or a chunk id; a source's id and a colon may stand before the path.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("a label is empty".into());
        }
        if let Some(id) = ChunkId::parse(text) {
            return Ok(Self::Chunk(id));
        }
        if let Some(citation) = Citation::parse(text) {
            return Ok(Self::Lines(citation));
        }
        match text.rsplit_once("#L") {
            Some((_, lines)) if lines.starts_with(|c: char| c.is_ascii_digit()) => {
                Err(format!("{text:?} is not of the form path#L3-L6"))
            }
            _ => Ok(Self::Document(text.to_owned())),
        }
    }

    /// Whether a hit is of this document, has one of these lines, or is this chunk.
    pub(crate) fn is_met_by(&self, place: &Place<'_>) -> bool {
        match self {
            Self::Document(path) => names(path, place),
            Self::Lines(lines) => {
                names(&lines.path, place) && lines.start_line <= place.end_line && place.start_line <= lines.end_line
            }
            Self::Chunk(id) => id.to_string() == place.chunk_id,
        }
    }
}

impl std::fmt::Display for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Document(path) => f.write_str(path),
            Self::Lines(lines) => lines.fmt(f),
            Self::Chunk(id) => id.fmt(f),
        }
    }
}

/// Whether a path, or `source:path`, is that of a hit.
fn names(path: &str, place: &Place<'_>) -> bool {
    let rest = path.strip_suffix(place.path);
    rest.is_some_and(|rest| rest.is_empty() || rest.strip_suffix(':') == Some(place.source_id))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const CHUNK: &str = "623388c82e186d3ad0a78ae6e4b4500f:26c3b84690c7acbc:0";

    #[rstest]
    #[case::document("guide/returns.md", true)]
    #[case::in_its_source("docs:guide/returns.md", true)]
    #[case::in_another_source("other:guide/returns.md", false)]
    #[case::longer_path("my/guide/returns.md", false)]
    #[case::shorter_path("returns.md", false)]
    #[case::other_case("guide/Returns.md", false)]
    #[case::its_first_line("guide/returns.md#L12", true)]
    #[case::its_last_line("docs:guide/returns.md#L25-L90", true)]
    #[case::the_line_before("guide/returns.md#L1-L11", false)]
    #[case::the_line_behind("guide/returns.md#L26", false)]
    #[case::lines_around_it("guide/returns.md#L1-L99", true)]
    #[case::lines_elsewhere("guide/shipping.md#L12-L25", false)]
    #[case::its_chunk(CHUNK, true)]
    #[case::another_chunk("623388c82e186d3ad0a78ae6e4b4500f:26c3b84690c7acbc:1", false)]
    fn a_unit_is_met_by_what_it_names(#[case] label: &str, #[case] met: bool) {
        let unit = Unit::parse(label).unwrap();
        let place =
            Place { chunk_id: CHUNK, source_id: "docs", path: "guide/returns.md", start_line: 12, end_line: 25 };
        assert_eq!(unit.is_met_by(&place), met);
        assert_eq!(Unit::parse(&unit.to_string()), Ok(unit));
    }

    #[rstest]
    #[case("", "a label is empty")]
    #[case(" ", "a label is empty")]
    #[case("a.md#L6-L3", "\"a.md#L6-L3\" is not of the form path#L3-L6")]
    #[case("a.md#L0", "\"a.md#L0\" is not of the form path#L3-L6")]
    #[case("a.md#L1-2", "\"a.md#L1-2\" is not of the form path#L3-L6")]
    fn a_label_that_names_nothing_is_refused(#[case] label: &str, #[case] message: &str) {
        assert_eq!(Unit::parse(label), Err(message.to_owned()));
    }
}

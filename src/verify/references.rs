//! What a reference means: a chunk that the run showed, by its label, its id or its lines, or something else that the
//! store knows.

use super::Failed;
use super::shown::Shown;
use crate::access::Scope;
use crate::error::Result;
use crate::gate::verdict::Verdict;
use crate::model::{ChunkId, Citation, DocumentId};
use crate::store::{Connection, chunks, documents, tombstones};

/// What the store says of a reference to nothing that was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Elsewhere {
    /// It is or was there.
    Known,
    /// Its path stands in several sources.
    Ambiguous,
    /// Nothing has this reference.
    Unknown,
}

/// The place among what was shown that a reference means; `None` where it means nothing of it.
pub(super) fn among(shown: &[Shown], reference: &str) -> Option<std::result::Result<usize, Failed>> {
    if let Some(place) = shown.iter().position(|shown| shown.label == reference || shown.chunk_id == reference) {
        return Some(Ok(place));
    }
    let cited = Citation::parse(reference)?;
    let within = |shown: &Shown| {
        let own_path = cited.path == shown.path
            || cited.path.strip_prefix(&shown.source_id).and_then(|rest| rest.strip_prefix(':')) == Some(&shown.path);
        let (first, last) = shown.lines;
        own_path && first <= cited.start_line && cited.end_line <= last
    };
    let mut places = shown.iter().enumerate().filter(|(_, shown)| within(shown)).map(|(place, _)| place);
    let place = places.next()?;
    Some(match places.next() {
        None => Ok(place),
        Some(other) => {
            let (one, other) = (&shown[place].label, &shown[other].label);
            let detail = format!("it is ambiguous: the lines stand in {one} and in {other}; cite the label");
            Err(Failed::new(Verdict::UnknownReference, detail))
        }
    })
}

impl Elsewhere {
    /// Looks a reference up in the store.
    pub(super) fn of(conn: &Connection, scope: &Scope, reference: &str) -> Result<Self> {
        let classes = scope.classes();
        if let Some(id) = ChunkId::parse(reference) {
            let is_known = match documents::visible(conn, classes, id.document)? {
                Some((number, _)) if chunks::by_id(conn, number, id)?.is_some() => true,
                _ => tombstones::latest(conn, classes, reference)?.is_some(),
            };
            return Ok(if is_known { Self::Known } else { Self::Unknown });
        }
        let Some(cited) = Citation::parse(reference) else { return Ok(Self::Unknown) };
        let mut found = 0;
        for source in scope.sources_of_paths(conn)? {
            let named = cited.path.strip_prefix(&source).and_then(|rest| rest.strip_prefix(':'));
            for path in [Some(cited.path.as_str()), named].into_iter().flatten() {
                let id = DocumentId::new(&source, path);
                let is_known = match documents::visible(conn, classes, id)? {
                    Some((_, document)) => cited.end_line <= document.lines,
                    None => tombstones::latest(conn, classes, &id.to_string())?.is_some(),
                };
                found += usize::from(is_known);
            }
        }
        Ok(match found {
            0 => Self::Unknown,
            1 => Self::Known,
            _ => Self::Ambiguous,
        })
    }

    /// The verdict on the reference.
    pub(super) fn failed(self) -> Failed {
        match self {
            Self::Known => Failed::new(Verdict::NotInContext, "it is in the store, but was not shown in this run"),
            Self::Ambiguous => {
                Failed::new(Verdict::UnknownReference, "it is ambiguous: several sources have this path")
            }
            Self::Unknown => unknown(),
        }
    }
}

/// What is said of a reference that the store does not have, or not for this reader.
pub(super) fn unknown() -> Failed {
    Failed::new(Verdict::UnknownReference, "nothing in the store has this reference")
}

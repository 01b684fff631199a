//! What an operator names: a source, or a document.

use std::fmt;

use crate::error::{Error, Result};
use crate::model::DocumentId;
use crate::store::documents::DocumentRow;
use crate::store::{Connection, documents, sources};

/// Something that is stored.
pub(super) enum Named {
    /// The source with this id.
    Source(String),
    /// A document.
    Document {
        /// The store's number for it.
        number: i64,
        row: Box<DocumentRow>,
    },
}

impl Named {
    /// The source, or that of the document.
    pub(super) fn source_id(&self) -> &str {
        match self {
            Self::Source(id) => id,
            Self::Document { row, .. } => &row.source_id,
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(id) => write!(f, "source {id}"),
            Self::Document { row, .. } => write!(f, "document {}:{}", row.source_id, row.path),
        }
    }
}

/// Whether there is a source with this id.
pub(super) fn is_source(conn: &Connection, id: &str) -> Result<bool> {
    Ok(sources::all(conn)?.iter().any(|(_, row)| row.source_id == id))
}

/// The source with this id, else the document with this id or path.
pub(super) fn find(conn: &Connection, name: &str) -> Result<Named> {
    if is_source(conn, name)? {
        return Ok(Named::Source(name.to_owned()));
    }
    match document(conn, name) {
        Err(Error::NotFound { .. }) => Err(Error::NotFound { what: format!("source and no document {name:?}") }),
        found => found.map(|(number, row)| Named::Document { number, row: Box::new(row) }),
    }
}

/// The document with this id, this path, or this `SOURCE:path`.
pub(super) fn document(conn: &Connection, name: &str) -> Result<(i64, DocumentRow)> {
    if let Some(id) = DocumentId::parse(name)
        && let Some(found) = documents::by_id(conn, id)?
    {
        return Ok(found);
    }
    let mut found = Vec::new();
    for (_, source) in sources::all(conn)? {
        let own = name.strip_prefix(source.source_id.as_str()).and_then(|rest| rest.strip_prefix(':'));
        for path in [Some(name), own].into_iter().flatten() {
            found.extend(documents::by_id(conn, DocumentId::new(&source.source_id, path))?);
        }
    }
    if found.len() > 1 {
        let names: Vec<&str> = found.iter().map(|(_, row)| row.source_id.as_str()).collect();
        let message = format!("{name} stands in the sources {}; write SOURCE:{name}", names.join(" and "));
        return Err(Error::Invalid { message });
    }
    found.pop().ok_or_else(|| Error::NotFound { what: format!("document {name:?}") })
}

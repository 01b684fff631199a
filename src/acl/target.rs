//! What an operator names: a source, or a document.

use std::fmt;

use crate::error::{Error, Result};
use crate::model::DocumentId;
use crate::model::rule::{ClassKey, Narrowing};
use crate::store::access::{self, Target};
use crate::store::documents::DocumentRow;
use crate::store::{Connection, documents, purges, sources, tombstones};

/// Something that is stored, or was.
pub(super) enum Named {
    /// The source with this id.
    Source(String),
    /// A source that is declared no longer.
    FormerSource(String),
    /// A document that was deleted: its path, and the key of the class that it would be in with acts of its own.
    FormerDocument { path: String, key: ClassKey },
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
            Self::Source(id) | Self::FormerSource(id) => id,
            Self::FormerDocument { key, .. } => &key.source_id,
            Self::Document { row, .. } => &row.source_id,
        }
    }

    /// Whether it is stored no longer: what is done to it holds when it comes back.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::FormerSource(_) | Self::FormerDocument { .. })
    }

    /// What an act on it is on.
    pub(super) fn target(&self) -> Target {
        match self {
            Self::Source(id) | Self::FormerSource(id) => Target::Source(id.clone()),
            Self::FormerDocument { path, key } => Target::Document(DocumentId::new(&key.source_id, path).to_string()),
            Self::Document { row, .. } => Target::Document(row.document_id.to_string()),
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(id) | Self::FormerSource(id) => write!(f, "source {id}"),
            Self::FormerDocument { path, key } => write!(f, "document {}:{path}", key.source_id),
            Self::Document { row, .. } => write!(f, "document {}:{}", row.source_id, row.path),
        }
    }
}

/// Whether there is a source with this id.
pub(super) fn is_source(conn: &Connection, id: &str) -> Result<bool> {
    Ok(sources::all(conn)?.iter().any(|(_, row)| row.source_id == id))
}

/// The source with this id, else the document with this id or path; where nothing that is stored is named so, and
/// `former` says that it will do, what was.
pub(super) fn find(conn: &Connection, name: &str, former: bool) -> Result<Named> {
    if is_source(conn, name)? {
        return Ok(Named::Source(name.to_owned()));
    }
    match document(conn, name) {
        Err(Error::NotFound { .. }) => {}
        found => return found.map(|(number, row)| Named::Document { number, row: Box::new(row) }),
    }
    let named = if former { self::former(conn, name)? } else { None };
    named.ok_or_else(|| Error::NotFound { what: format!("source and no document {name:?}") })
}

/// The source that was declared, or the document that was stored, under a name that is nothing's now.
fn former(conn: &Connection, name: &str) -> Result<Option<Named>> {
    let acts = access::acts(conn)?;
    let keys = access::keys(conn)?;
    if keys.values().any(|key| key.source_id == name)
        || acts.iter().any(|act| act.target == Target::Source(name.to_owned()))
    {
        return Ok(Some(Named::FormerSource(name.to_owned())));
    }
    let mut found = purges::named(conn, name)?;
    if found.len() > 1 {
        let names: Vec<&str> = found.iter().map(|it| it.source_id.as_str()).collect();
        let message = format!("{name} stood in the sources {}; write SOURCE:{name}", names.join(" and "));
        return Err(Error::Invalid { message });
    }
    let Some(purges::Named { document_id, source_id, path }) = found.pop() else { return Ok(None) };
    let class = tombstones::last_class(conn, &document_id)?;
    let narrowing =
        class.and_then(|class| keys.get(&class)).map_or_else(Narrowing::default, |key| key.narrowing.clone());
    let key = ClassKey { document: Some(document_id), ..ClassKey::new(&source_id, narrowing, None) };
    Ok(Some(Named::FormerDocument { path, key }))
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

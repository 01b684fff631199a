//! How a row's digests, ids and spans are written to a spool file, without making the public types serialisable
//! (a serialisable type is a frozen one); and how a row's texts are read.

use rusqlite::Row;
use rusqlite::types::{FromSql, FromSqlResult, ValueRef};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A text of which bytes that are not UTF-8 are replaced. No hash holds of it then, which says where the damage is.
struct Lossy(String);

impl FromSql for Lossy {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(Self(String::from_utf8_lossy(value.as_bytes()?).into_owned()))
    }
}

/// The text of a column whose row has a hash.
pub(super) fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    row.get(column).map(|Lossy(text)| text)
}

/// The same of a column that may be NULL.
pub(super) fn optional_text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(row.get::<_, Option<Lossy>>(column)?.map(|Lossy(text)| text))
}

/// For `#[serde(with)]` on a [`crate::Digest`].
pub(crate) mod digest {
    use super::{Deserialize, Deserializer, Serialize, Serializer};
    use crate::model::Digest;

    pub(crate) fn serialize<S: Serializer>(value: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
        value.as_bytes().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        <[u8; 32]>::deserialize(deserializer).map(Digest::from_bytes)
    }
}

/// For `#[serde(with)]` on a [`crate::DocumentId`].
pub(crate) mod document_id {
    use super::{Deserialize, Deserializer, Serialize, Serializer};
    use crate::model::DocumentId;

    pub(crate) fn serialize<S: Serializer>(value: &DocumentId, serializer: S) -> Result<S::Ok, S::Error> {
        value.as_bytes().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DocumentId, D::Error> {
        <[u8; 16]>::deserialize(deserializer).map(DocumentId::from_bytes)
    }
}

/// For `#[serde(with)]` on a [`crate::Span`].
pub(crate) mod span {
    use super::{Deserialize, Deserializer, Serialize, Serializer};
    use crate::model::Span;

    pub(crate) fn serialize<S: Serializer>(value: &Span, serializer: S) -> Result<S::Ok, S::Error> {
        (value.start_line, value.end_line, value.start_byte, value.end_byte).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        let (start_line, end_line, start_byte, end_byte) = Deserialize::deserialize(deserializer)?;
        Ok(Span { start_line, end_line, start_byte, end_byte })
    }
}

//! Stable identities, derived from what they name: no counter, no chance.

use std::fmt;

use unicode_normalization::UnicodeNormalization;

use super::digest::{Digest, parse_hex, write_hex};

/// The identity of a document: the first 128 bits of the SHA-256 over source id, a NUL byte and the document's
/// path below the source's root (`/` separators, normalised to NFC). Displays as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentId([u8; 16]);

impl DocumentId {
    /// The id of the document at `path` below the root of source `source_id`.
    #[must_use]
    pub fn new(source_id: &str, path: &str) -> Self {
        let path: String = path.nfc().collect();
        Self(Digest::of(format!("{source_id}\0{path}")).half())
    }

    /// Wraps the 16 bytes of an id.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The 16 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Reads 32 hexadecimal digits; `None` for anything else.
    #[must_use]
    pub fn parse(hex: &str) -> Option<Self> {
        parse_hex(hex).map(Self)
    }
}

impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

impl fmt::Debug for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The identity of a chunk: its document, the first 64 bits of its text's SHA-256, and a repeat number that
/// counts equal texts in one document from 0. Displays as `document:content:repeat`, for example
/// `8c1f…e2:0a1b2c3d4e5f6071:0`. Text that moves within its document keeps its id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkId {
    /// The document the chunk belongs to.
    pub document: DocumentId,
    /// The first eight bytes of the content hash.
    pub content: [u8; 8],
    /// How many chunks of equal text precede this one in its document.
    pub repeat: u32,
}

impl ChunkId {
    /// The id of the `repeat`-th chunk of `document` whose text has the digest `content`.
    #[must_use]
    pub fn new(document: DocumentId, content: &Digest, repeat: u32) -> Self {
        let mut prefix = [0; 8];
        prefix.copy_from_slice(&content.as_bytes()[..8]);
        Self { document, content: prefix, repeat }
    }

    /// Reads the displayed form; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let document = DocumentId::parse(parts.next()?)?;
        let content = parse_hex(parts.next()?)?;
        let digits = parts.next()?;
        let repeat = digits.parse().ok()?;
        let canonical = parts.next().is_none() && digits == format!("{repeat}");
        canonical.then_some(Self { document, content, repeat })
    }
}

impl fmt::Display for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.document)?;
        write_hex(f, &self.content)?;
        write!(f, ":{}", self.repeat)
    }
}

impl fmt::Debug for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composed_and_decomposed_paths_are_one_document() {
        assert_eq!(DocumentId::new("docs", "caf\u{e9}.md"), DocumentId::new("docs", "cafe\u{301}.md"));
        assert_ne!(DocumentId::new("docs", "a.md"), DocumentId::new("doc", "sa.md"));
    }

    #[test]
    fn ids_round_trip_and_nothing_else_parses() {
        let id = ChunkId::new(DocumentId::new("docs", "a.md"), &Digest::of("text"), 12);
        let shown = id.to_string();
        assert_eq!(shown.len(), 32 + 1 + 16 + 1 + 2);
        assert_eq!(ChunkId::parse(&shown), Some(id));
        for bad in
            [&shown[1..], &format!("{shown}:0"), &shown.replace(":12", ":012"), &shown.replace(":12", ":+12"), "", "::"]
        {
            assert_eq!(ChunkId::parse(bad), None, "{bad}");
        }
    }
}

//! What a declared source can be.

use serde::{Deserialize, Serialize};

/// Which files of a folder become documents, and how they are cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceKind {
    /// Markdown: `.md`, `.markdown` and `.mdx`, cut at headings. The default.
    #[default]
    Markdown,
    /// Plain text: `.txt`, cut at paragraphs.
    Text,
}

impl SourceKind {
    /// The name in `ragdb.yaml` and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Text => "text",
        }
    }

    /// The file name extensions of this kind, compared without regard to ASCII case.
    #[must_use]
    pub const fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Markdown => &["md", "markdown", "mdx"],
            Self::Text => &["txt"],
        }
    }
}

/// Whether somebody has looked at the documents of a source and vouches for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Nobody: what the unsafe gate finds keeps a document from being evidence. The default.
    #[default]
    None,
    /// The findings are noted and keep nothing back: for pages that write about injection.
    Reviewed,
}

impl Trust {
    /// The name in `ragdb.yaml` and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Reviewed => "reviewed",
        }
    }

    /// The trust with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::None, Self::Reviewed].into_iter().find(|trust| trust.as_str() == name)
    }
}

/// How widely the documents of a source may be read, before any rule on tenants and groups. Ordered from wide to narrow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Anyone.
    Public,
    /// Anyone inside the tenant. The default.
    #[default]
    Internal,
    /// Only those named by a rule.
    Private,
}

impl Visibility {
    /// The name in `ragdb.yaml` and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Internal => "internal",
            Self::Private => "private",
        }
    }

    /// The visibility with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Public, Self::Internal, Self::Private].into_iter().find(|visibility| visibility.as_str() == name)
    }
}

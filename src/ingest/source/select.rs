//! Which names below a root belong to a source: by kind, by patterns, by being hidden.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::model::SourceKind;

/// Patterns on paths below a source's root. `*` and `?` stay within one name, `**` crosses folders. A pattern
/// without `/` holds at any depth, one with `/` from the root; a pattern that matches a folder means all in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patterns(GlobSet);

/// Why a list of patterns was refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadPattern {
    /// Which pattern of the list, counted from 0.
    pub index: usize,
    /// What is wrong with it.
    pub message: String,
}

impl Patterns {
    pub fn compile(patterns: &[String]) -> Result<Self, BadPattern> {
        let mut set = GlobSetBuilder::new();
        for (index, pattern) in patterns.iter().enumerate() {
            let bad = |message: String| BadPattern { index, message };
            let trimmed = pattern.strip_suffix('/').unwrap_or(pattern);
            if trimmed.is_empty() || trimmed.split('/').any(|part| matches!(part, "" | "." | "..")) {
                return Err(bad(format!(
                    "`{}` is not a path below the source's folder (no leading `/`, no empty, `.` or `..` part)",
                    pattern.escape_debug()
                )));
            }
            let anywhere = if trimmed.contains('/') { "" } else { "**/" };
            for within in ["", "/**"] {
                let glob = GlobBuilder::new(&format!("{anywhere}{trimmed}{within}"))
                    .literal_separator(true)
                    .backslash_escape(true)
                    .build()
                    .map_err(|error| bad(format!("`{}`: {}", pattern.escape_debug(), error.kind())))?;
                set.add(glob);
            }
        }
        let set = set.build().map_err(|error| BadPattern { index: 0, message: error.kind().to_string() })?;
        Ok(Self(set))
    }

    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        !self.0.is_empty() && self.0.is_match(as_path(path))
    }
}

/// The rule that says which files below a root belong to a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    pub kind: SourceKind,
    /// Only files that match; all, where there is no pattern.
    pub include: Patterns,
    /// Never these.
    pub exclude: Patterns,
    /// Take names that begin with a dot as well.
    pub hidden: bool,
    /// Leave out what `.gitignore` files in the root and below it leave out.
    pub respect_gitignore: bool,
}

impl Selection {
    /// Whether a name, taken by itself, may lead to documents.
    pub(super) fn shows(&self, name: &[u8]) -> bool {
        self.hidden || !name.starts_with(b".")
    }

    /// Whether a file of this name is a document of this kind.
    pub(super) fn is_of_kind(&self, name: &[u8]) -> bool {
        let Some(dot) = name.iter().rposition(|&byte| byte == b'.').filter(|&dot| dot > 0) else { return false };
        self.kind.extensions().iter().any(|extension| name[dot + 1..].eq_ignore_ascii_case(extension.as_bytes()))
    }

    pub(super) fn takes_file(&self, path: &[u8]) -> bool {
        !self.exclude.matches(path) && (self.include.0.is_empty() || self.include.matches(path))
    }

    pub(super) fn takes_folder(&self, path: &[u8]) -> bool {
        !self.exclude.matches(path)
    }
}

pub(super) fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn patterns(list: &[&str]) -> Result<Patterns, BadPattern> {
        Patterns::compile(&list.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[rstest]
    #[case("*.md", "a.md", true)]
    #[case("*.md", "deep/down/a.md", true)]
    #[case("drafts", "drafts/a.md", true)]
    #[case("drafts", "guide/drafts/x/a.md", true)]
    #[case("drafts/", "drafts", true)]
    #[case("drafts", "drafts2/a.md", false)]
    #[case("guide/*.md", "guide/a.md", true)]
    #[case("guide/*.md", "guide/x/a.md", false)]
    #[case("guide/*.md", "other/guide/a.md", false)]
    #[case("guide/**/*.md", "guide/a.md", true)]
    #[case("guide/**/*.md", "guide/x/y/a.md", true)]
    #[case("guide/**", "guide/a.md", true)]
    #[case("{en,zh}/*.md", "zh/a.md", true)]
    #[case("a[0-9].md", "a7.md", true)]
    #[case("A.md", "a.md", false)]
    #[case("\\*.md", "*.md", true)]
    #[case("\\*.md", "a.md", false)]
    fn patterns_match_paths_below_the_root(#[case] pattern: &str, #[case] path: &str, #[case] expected: bool) {
        assert_eq!(patterns(&[pattern]).unwrap().matches(path.as_bytes()), expected);
    }

    #[rstest]
    #[case("")]
    #[case("/")]
    #[case("/etc/*.md")]
    #[case("../x")]
    #[case("a//b")]
    #[case("./a")]
    #[case("a[")]
    #[case("{a")]
    fn patterns_that_could_never_match_are_refused(#[case] pattern: &str) {
        assert_eq!(patterns(&["ok", pattern]).unwrap_err().index, 1);
    }

    #[rstest]
    #[case(SourceKind::Markdown, "a.md", true)]
    #[case(SourceKind::Markdown, "a.MarkDown", true)]
    #[case(SourceKind::Markdown, "a.tar.mdx", true)]
    #[case(SourceKind::Markdown, ".md", false)]
    #[case(SourceKind::Markdown, "md", false)]
    #[case(SourceKind::Markdown, "a.md~", false)]
    #[case(SourceKind::Markdown, "a.txt", false)]
    #[case(SourceKind::Text, "a.TXT", true)]
    #[case(SourceKind::Text, "a.md", false)]
    fn kinds_are_told_by_extension(#[case] kind: SourceKind, #[case] name: &str, #[case] expected: bool) {
        assert_eq!(Selection { kind, ..Selection::default() }.is_of_kind(name.as_bytes()), expected);
    }
}

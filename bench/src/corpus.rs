//! The corpora: where they come from, a scratch copy of one, and the walk over its Markdown files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;

/// A corpus by size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// medium-powershell: 3,088 files, 33 MB.
    S,
    /// large-cpp-docs: 9,746 files, 45 MB.
    L,
    /// win32, cpp, powershell and docs-cn together: 62,000 files, 330 MB.
    X,
}

impl Scale {
    /// Reads `S`, `L` or `X`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::S, Self::L, Self::X].into_iter().find(|scale| scale.name() == name)
    }

    /// The letter.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::L => "L",
            Self::X => "X",
        }
    }

    /// Archive and set below `C_docs` of each part; the newest version of a set is taken.
    fn parts(self) -> &'static [(&'static str, &'static str)] {
        const POWERSHELL: (&str, &str) = ("docs-medium", "medium-powershell");
        const CPP: (&str, &str) = ("docs-large", "large-cpp-docs");
        match self {
            Self::S => &[POWERSHELL],
            Self::L => &[CPP],
            Self::X => &[("docs-xl", "xl-win32"), CPP, POWERSHELL, ("docs-medium", "medium-docs-cn")],
        }
    }

    /// The folders of this corpus below `data`, unpacked with `unpack` where they are not there yet. The error says
    /// which set is missing and why.
    pub fn locate(self, data: &Path, unpack: &Path) -> Result<Vec<PathBuf>> {
        let locate = |&(archive, set): &(&str, &str)| {
            let folder = data.join("C_docs").join(set);
            if !folder.is_dir() {
                if !unpack.is_file() {
                    return Err(format!("{set}: neither {} nor {} exists", folder.display(), unpack.display()).into());
                }
                let status = Command::new("sh").arg(unpack).arg(data).arg(archive).stdout(Stdio::null()).status()?;
                if !status.success() || !folder.is_dir() {
                    return Err(format!("{set}: {} {} failed: {status}", unpack.display(), archive).into());
                }
            }
            newest_version(&folder)
        };
        self.parts().iter().map(locate).collect()
    }
}

/// The version folder that sorts last: versions are named `v0-…`, `v1-…`; a set without versions is its own.
fn newest_version(set: &Path) -> Result<PathBuf> {
    let mut versions: Vec<PathBuf> = fs::read_dir(set)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<Vec<_>>>()?
        .into_iter()
        .filter(|path| path.is_dir() && path.file_name().is_some_and(|name| is_version(&name.to_string_lossy())))
        .collect();
    versions.sort();
    Ok(versions.pop().unwrap_or_else(|| set.to_owned()))
}

fn is_version(name: &str) -> bool {
    name.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Copies the Markdown files of a folder into `into`, of several folders into `into/part0`, `into/part1` and so on.
pub fn copy(folders: &[PathBuf], into: &Path) -> Result<()> {
    for (number, folder) in folders.iter().enumerate() {
        let part = if folders.len() == 1 { into.to_owned() } else { into.join(format!("part{number}")) };
        for file in walk(folder)? {
            let target = part.join(&file.path);
            fs::create_dir_all(target.parent().ok_or("a file without a folder")?)?;
            fs::copy(folder.join(&file.path), target)?;
        }
    }
    Ok(())
}

/// A Markdown file as the walk found it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// The path below the root, with `/` separators.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// All Markdown files below `root`, each looked at once, sorted by path. Symlinks are not followed; names that are not
/// UTF-8 are left out.
pub fn walk(root: &Path) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    let mut folders = vec![(root.to_owned(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let kind = entry.file_type()?;
            let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
            if kind.is_dir() {
                folders.push((entry.path(), path));
            } else if kind.is_file() && is_markdown(&path) {
                found.push(Found { path, bytes: entry.metadata()?.len() });
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_markdown(path: &str) -> bool {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    extension
        .is_some_and(|extension| ["md", "markdown", "mdx"].iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_is_sorted_and_sees_markdown_only() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("a/b")).unwrap();
        for (path, text) in [("z.md", "z"), ("a/b/c.mdx", "cc"), ("a/x.png", "x"), ("a.MD", "a")] {
            fs::write(root.path().join(path), text).unwrap();
        }
        let found = walk(root.path()).unwrap();
        let shown: Vec<_> = found.iter().map(|file| (file.path.as_str(), file.bytes)).collect();
        assert_eq!(shown, [("a.MD", 1), ("a/b/c.mdx", 2), ("z.md", 1)]);
    }

    #[test]
    fn the_newest_version_is_taken_and_a_missing_set_is_named() {
        let data = tempfile::tempdir().unwrap();
        for version in ["v0-180d", "v1-30d", "v2-head", "other"] {
            fs::create_dir_all(data.path().join("C_docs/large-cpp-docs").join(version)).unwrap();
        }
        let none = Path::new("no/unpack.sh");
        assert!(Scale::L.locate(data.path(), none).unwrap()[0].ends_with("v2-head"));
        let error = Scale::S.locate(data.path(), none).unwrap_err().to_string();
        assert!(error.starts_with("medium-powershell: neither "), "{error}");
    }
}

//! What the citations of a document point to: which document of the store, and what its source file has there now.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Component, Path, PathBuf};

use super::lines::SourceFile;
use super::mentions::Mention;
use crate::access::Scope;
use crate::cite::{CiteStatus, Visible, why_unread};
use crate::error::{Error, Result};
use crate::ingest::source::SourceReader;
use crate::model::Principal;
use crate::store::documents::DocumentRow;
use crate::store::sources::SourceRow;
use crate::store::{Connection, Store, sources};
use crate::sync::stored_root;

/// What a citation points to.
pub(super) enum Target {
    /// This document.
    Document(Box<DocumentRow>),
    /// Nothing that the store has now; why, in words.
    None(CiteStatus, String),
}

/// The sources of a store and the files that were read.
pub(super) struct Places<'a> {
    store: &'a Store,
    principal: &'a Principal,
    seen: Visible<'a>,
    /// Each source with its folder, where that is there.
    sources: Vec<(String, Option<PathBuf>)>,
    rows: HashMap<String, SourceRow>,
    /// What reads the files of each source, or why its folder can't be opened.
    readers: HashMap<String, std::result::Result<SourceReader, String>>,
    files: HashMap<(String, String), std::result::Result<SourceFile, String>>,
    /// What lines came to that were cited before.
    cited: HashMap<(String, (u32, u32)), Standing>,
}

/// Whether cited lines stand: the status, the lines where they are found, and why, in words.
pub(super) type Standing = (CiteStatus, Option<(u32, u32)>, String);

impl<'a> Places<'a> {
    pub(super) fn new(
        store: &'a Store,
        principal: &'a Principal,
        conn: &'a Connection,
        scope: &'a Scope,
    ) -> Result<Self> {
        let folder = store.folder().to_owned();
        let seen = Visible::new(conn, scope)?;
        let mut rows = HashMap::new();
        let mut sources = Vec::new();
        for source in seen.sources() {
            let Some((_, row)) = sources::by_id(conn, source)? else { continue };
            let root = stored_root(&folder, &row).ok().and_then(|root| root.canonicalize().ok());
            sources.push((source.to_owned(), root));
            rows.insert(source.to_owned(), row);
        }
        let (readers, files, cited) = (HashMap::new(), HashMap::new(), HashMap::new());
        Ok(Self { store, principal, seen, sources, rows, readers, files, cited })
    }

    /// What a citation in a document of `folder` points to. A link is first read as the browser reads it, from its
    /// document on; everything else names a document as the store does.
    pub(super) fn resolve(&self, mention: &Mention, folder: &Path) -> Result<Target> {
        let mut gone = None;
        for path in &mention.paths {
            for candidates in [self.beside(mention, path, folder), self.named(path)] {
                let mut found = Vec::new();
                for (source, path) in &candidates {
                    if let Some((_, row)) = self.seen.document(source, path)? {
                        found.push(row);
                    } else if gone.is_none() {
                        gone = self.seen.deleted(source, path)?;
                    }
                }
                if found.len() > 1 {
                    let names: Vec<&str> = found.iter().map(|row| row.source_id.as_str()).collect();
                    let detail = format!("it stands in the sources {}; write SOURCE:{path}", names.join(" and "));
                    return Ok(Target::None(CiteStatus::Unknown, detail));
                }
                if let Some(row) = found.pop() {
                    return Ok(Target::Document(Box::new(row)));
                }
            }
        }
        Ok(match gone {
            Some(detail) => Target::None(CiteStatus::Deleted, detail),
            None => Target::None(CiteStatus::Unknown, "no document of the store has this path".to_owned()),
        })
    }

    /// What a link destination means as a path from its document's folder on: at most one document.
    fn beside(&self, mention: &Mention, path: &str, folder: &Path) -> Vec<(String, String)> {
        if !mention.is_link {
            return Vec::new();
        }
        let Some(path) = percent_decoded(path) else { return Vec::new() };
        let Some(target) = normal(&folder.join(path)) else { return Vec::new() };
        let below = self.sources.iter().filter_map(|(source, root)| {
            let path = target.strip_prefix(root.as_ref()?).ok()?.to_str()?;
            Some((source.clone(), path.to_owned()))
        });
        // Where one source lies in another, both have the same file.
        let known = |it: &(String, String)| self.seen.document(&it.0, &it.1).is_ok_and(|row| row.is_some());
        let below: Vec<_> = below.collect();
        below.iter().find(|it| known(it)).or(below.first()).cloned().into_iter().collect()
    }

    /// The documents that a path as the store has it may mean.
    fn named(&self, path: &str) -> Vec<(String, String)> {
        let path = path.strip_prefix("./").unwrap_or(path);
        let mut named: Vec<(String, String)> =
            self.sources.iter().map(|(source, _)| (source.clone(), path.to_owned())).collect();
        if let Some((source, path)) = path.split_once(':')
            && self.sources.iter().any(|it| it.0 == source)
        {
            named.push((source.to_owned(), path.to_owned()));
        }
        named
    }

    /// The source file of a document as it is now, or why it can't be read.
    pub(super) fn file(&mut self, row: &DocumentRow) -> Result<std::result::Result<&mut SourceFile, &str>> {
        let key = (row.source_id.clone(), row.path.clone());
        if !self.files.contains_key(&key) {
            let text = self.text(row)?;
            self.files.insert(key.clone(), text.map(|text| SourceFile::new(&text)));
        }
        let file = self.files.get_mut(&key);
        let file = file.ok_or_else(|| Error::Damaged { detail: format!("{} was not read", row.path) })?;
        Ok(file.as_mut().map_err(|why| why.as_str()))
    }

    fn text(&mut self, row: &DocumentRow) -> Result<std::result::Result<String, String>> {
        let reader = match self.readers.entry(row.source_id.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let source = self.rows.get(&row.source_id);
                let source = source
                    .ok_or_else(|| Error::Damaged { detail: format!("the source of {} is not stored", row.path) })?;
                new.insert(self.store.reader_of(source).map_err(|error| error.to_string()))
            }
        };
        let read = match reader {
            Ok(reader) => reader.read(&row.path).map(|read| read.text).map_err(|failure| failure.message),
            Err(why) => Err(why.clone()),
        };
        Ok(read.map_err(|why| why_unread(self.principal, why)))
    }

    /// Whether lines of a document stand in its source file as the store has them.
    pub(super) fn standing(&mut self, row: &DocumentRow, lines: (u32, u32)) -> Result<Standing> {
        if let Ok(file) = self.file(row)?
            && file.digest == row.content_hash
            && lines.1 <= row.lines
        {
            return Ok((CiteStatus::Current, Some(lines), String::new()));
        }
        let key = (format!("{}:{}", row.source_id, row.path), lines);
        if let Some(known) = self.cited.get(&key) {
            return Ok(known.clone());
        }
        let current = self.text(row)?;
        let reference = format!("{}#L{}-L{}", key.0, lines.0, lines.1);
        let cited = self.seen.cite(&reference, |_| Ok(current))?;
        let standing = (cited.status, cited.lines, cited.detail);
        self.cited.insert(key, standing.clone());
        Ok(standing)
    }
}

/// An absolute path without `.` and `..`; none where it leads above the root.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => normal.pop().then_some(())?,
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal.is_absolute().then_some(normal)
}

/// A link destination with its `%20` read.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let code = (byte == b'%').then(|| tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok())).flatten();
        let code = code.filter(|hex| hex.bytes().all(|it| it.is_ascii_hexdigit()));
        let code = code.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(code.unwrap_or(byte));
        rest = if code.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a%20b.md", Some("a b.md"))]
    #[case("%E5%AF%86.md", Some("密.md"))]
    #[case("100%.md", Some("100%.md"))]
    #[case("a%zz%+1.md", Some("a%zz%+1.md"))]
    #[case("%ff.md", None)]
    #[case("%00.md", None)]
    fn percent_codes_of_links(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(percent_decoded(text).as_deref(), expected);
    }

    #[rstest]
    #[case("/a/b/../c.md", Some("/a/c.md"))]
    #[case("/a/./c.md", Some("/a/c.md"))]
    #[case("/a/../../c.md", None)]
    #[case("a/c.md", None)]
    fn paths_without_dots(#[case] path: &str, #[case] expected: Option<&str>) {
        assert_eq!(normal(Path::new(path)), expected.map(PathBuf::from));
    }
}

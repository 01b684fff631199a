//! Changing the line numbers of citations in their documents, and nothing else.

use std::path::Path;

use super::file::{self, Change, Entry, Lock};
use super::types::{LinkStatus, LockedLink, Reanchored};
use super::{Document, Prose};
use crate::error::{Error, Result};

/// Changes the lines of the citations that moved. `links` are those of the documents, in their order.
///
/// A lock that fits both the old and the new documents is written first, so that whatever stops this loses nothing, and
/// the next run comes to the end of it.
pub(super) fn rewrite(
    folder: &Path,
    prose: &Prose,
    (lock, unfinished): (Lock, bool),
    links: &[LockedLink],
) -> Result<Vec<Reanchored>> {
    let own = |matches: &dyn Fn(&str) -> bool| -> Lock {
        let own = lock.iter().filter(|((path, _), _)| matches(path));
        own.map(|(key, entry)| (key.clone(), entry.clone())).collect()
    };
    let mut next = own(&|path| prose.is_unread(path));
    let mut changes = Vec::new();
    let mut was = Vec::new();
    let mut changed = Vec::new();
    let mut links = links.iter();
    for document in &prose.documents {
        let links: Vec<&LockedLink> = links.by_ref().take(document.mentions.len()).collect();
        let Some((text, entries, moved)) = reanchored(folder, document, &lock, &links) else {
            // Two citations would be written alike and mean different texts: a person must choose.
            next.extend(own(&|path| path == document.path));
            continue;
        };
        next.extend(entries.clone());
        if !moved.is_empty() {
            file::replaceable(&prose.root.join(&document.path))?;
            changes.push(Change { document: document.path.clone(), text, lock: entries });
            was.push(&document.text);
            changed.extend(moved);
        }
    }
    if changes.is_empty() {
        if unfinished {
            file::write(folder, &lock, &[])?;
        }
        return Ok(changed);
    }
    file::write(folder, &lock, &changes)?;
    for (change, was) in changes.iter().zip(was) {
        file::replace(&prose.root.join(&change.document), &change.text, || {
            let now = prose.reader.read(&change.document).map(|read| read.text);
            if now.is_ok_and(|now| now == *was) {
                return Ok(());
            }
            Err(Error::Refused {
                code: "document_changed",
                message: format!("{} changed while its citations were checked; it was left as it is", change.document),
                hint: "run it again when nothing writes to it".into(),
            })
        })?;
    }
    file::write(folder, &next, &[])?;
    Ok(changed)
}

/// A document with the lines of its moved citations changed, what is locked of it then, and what was changed. None where
/// two citations of different texts would be written alike.
fn reanchored(
    folder: &Path,
    document: &Document,
    lock: &Lock,
    links: &[&LockedLink],
) -> Option<(String, Lock, Vec<Reanchored>)> {
    let mut text = String::with_capacity(document.text.len());
    let mut copied = 0;
    let mut entries = Lock::new();
    let mut moved = Vec::new();
    for (mention, link) in document.mentions.iter().zip(links) {
        let Some(entry) = lock.get(&(document.path.clone(), mention.written.clone())) else { continue };
        let lines = link.lines.filter(|_| link.status == LinkStatus::Moved).unwrap_or(mention.lines);
        let to = mention.written_for(lines);
        if lines != mention.lines {
            let numbers = [(Some(&mention.digits.0), lines.0), (mention.digits.1.as_ref(), lines.1)];
            for (range, line) in numbers.into_iter().filter_map(|(range, line)| Some((range?, line))) {
                text.push_str(document.text.get(copied..range.start)?);
                text.push_str(&line.to_string());
                copied = range.end;
            }
            let (document, from) = (document.path.clone(), mention.written.clone());
            moved.push(Reanchored { folder: folder.to_owned(), document, from, to: to.clone() });
        }
        let entry = Entry { lines, ..entry.clone() };
        let hash = entry.hash;
        if entries.insert((document.path.clone(), to), entry).is_some_and(|other| other.hash != hash) {
            return None;
        }
    }
    text.push_str(document.text.get(copied..)?);
    Some((text, entries, moved))
}

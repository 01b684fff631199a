//! The walk: one `stat` for each file of the source's kind, none for others, and each folder opened by its path
//! below the root. What can't be listed or is refused becomes a failure; it never just goes missing.

use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, Dir, FileType, Stat, statat};
use rustix::io::Errno;
use unicode_normalization::UnicodeNormalization;

use super::select::as_path;
use super::{FileId, FoundFile, Listing, Selection, SourceReader, Stamps, read, reason, shown};
use crate::error::Failure;
use crate::ingest::code;

/// More threads than this wait for each other, or for the disk.
const MOST_THREADS: usize = 4;

pub(super) fn list(reader: &SourceReader, selection: &Selection) -> Listing {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    list_with(reader, selection, threads)
}

/// Lists with so many threads. What is found, and in which order, does not depend on them.
pub(super) fn list_with(reader: &SourceReader, selection: &Selection, threads: usize) -> Listing {
    let mut first = Walk::new(reader, selection);
    first.folder(&Folder::default());
    let pending = Pending::new(std::mem::take(&mut first.found));
    // A thread costs more than a source without folders.
    let threads = if pending.is_empty() { 1 } else { threads };
    let walks = std::thread::scope(|scope| {
        let others: Vec<_> =
            (1..threads).map(|_| scope.spawn(|| Walk::new(reader, selection).share(&pending))).collect();
        let mut walks = vec![first.share(&pending)];
        let joined = others.into_iter().map(std::thread::ScopedJoinHandle::join);
        walks.extend(joined.map(|walk| walk.unwrap_or_else(|panic| std::panic::resume_unwind(panic))));
        walks
    });
    let (mut listing, mut folded) = (Listing::default(), Vec::new());
    for Walk { listing: part, folded: hashes, .. } in walks {
        listing.files.extend(part.files);
        listing.failures.extend(part.failures);
        listing.empty_folders.extend(part.empty_folders);
        folded.extend(hashes);
    }
    // The parts are sorted, which a stable sort makes use of.
    listing.files.sort_by(|a, b| a.path.cmp(&b.path));
    folded.sort_unstable();
    if folded.windows(2).any(|pair| pair[0] == pair[1]) {
        part_collisions(&mut listing);
    }
    listing.failures.sort_by(|a, b| (&a.path, a.code, &a.message).cmp(&(&b.path, b.code, &b.message)));
    listing.empty_folders.sort_unstable();
    listing
}

/// Folders that no thread has taken yet, and how many threads may still find more.
struct Pending {
    state: Mutex<(Vec<Folder>, usize)>,
    changed: Condvar,
}

impl Pending {
    fn new(folders: Vec<Folder>) -> Self {
        Self { state: Mutex::new((folders, 0)), changed: Condvar::new() }
    }

    fn is_empty(&self) -> bool {
        self.lock().0.is_empty()
    }

    /// The next folder; `None` once there is none and none can come.
    fn take(&self) -> Option<Folder> {
        let mut state = self.lock();
        loop {
            if let Some(folder) = state.0.pop() {
                state.1 += 1;
                return Some(folder);
            }
            if state.1 == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives what was found in a folder that was taken.
    fn give(&self, found: &mut Vec<Folder>) {
        let mut state = self.lock();
        state.0.append(found);
        state.1 -= 1;
        drop(state);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, (Vec<Folder>, usize)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One thread's part of the walk.
struct Walk<'a> {
    reader: &'a SourceReader,
    selection: &'a Selection,
    listing: Listing,
    /// What [`fold_hash`] makes of the files' paths.
    folded: Vec<u64>,
    /// The folders in the one that was listed last.
    found: Vec<Folder>,
    scratch: Vec<u8>,
}

/// A folder yet to be listed: its path below the root (empty for the root) and the ignore rules that hold in it.
#[derive(Default)]
struct Folder {
    path: Vec<u8>,
    rules: Option<Arc<IgnoreRules>>,
}

/// One `.gitignore` file and those above it.
struct IgnoreRules {
    folder: Vec<u8>,
    rules: Gitignore,
    above: Option<Arc<IgnoreRules>>,
}

impl<'a> Walk<'a> {
    fn new(reader: &'a SourceReader, selection: &'a Selection) -> Self {
        let (listing, folded, found, scratch) = (Listing::default(), Vec::new(), Vec::new(), Vec::new());
        Self { reader, selection, listing, folded, found, scratch }
    }

    /// Lists folders until there are none left.
    fn share(mut self, pending: &Pending) -> Self {
        /// Gives also where the listing panics: the others would wait for ever.
        struct Taken<'a, 'w>(&'a Pending, &'a mut Walk<'w>);
        impl Drop for Taken<'_, '_> {
            fn drop(&mut self) {
                self.0.give(&mut self.1.found);
            }
        }
        while let Some(folder) = pending.take() {
            Taken(pending, &mut self).1.folder(&folder);
        }
        self.listing.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self
    }

    fn folder(&mut self, folder: &Folder) {
        let opened = self.reader.root.folder(&folder.path).and_then(Dir::new);
        let mut entries = match opened {
            Ok(entries) => entries,
            Err(error) => return self.folder_failed(&folder.path, error),
        };
        let rules = self.rules_in(folder);
        let mut path = folder.path.clone();
        if !path.is_empty() {
            path.push(b'/');
        }
        let prefix = path.len();
        let mut is_empty = true;
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                // The rest of the folder is unknown.
                Err(error) => return self.folder_failed(&folder.path, error),
            };
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            is_empty = false;
            if !self.selection.shows(name) {
                continue;
            }
            path.truncate(prefix);
            path.extend_from_slice(name);
            match entries.fd() {
                Ok(parent) => self.entry(parent, &path, prefix, entry.file_type(), rules.as_ref()),
                Err(error) => return self.folder_failed(&folder.path, error),
            }
        }
        if is_empty && let Ok(path) = String::from_utf8(folder.path.clone()) {
            self.listing.empty_folders.push(path);
        }
    }

    /// One entry of a folder; its name is what follows `prefix` bytes of `path`.
    fn entry(
        &mut self,
        parent: BorrowedFd<'_>,
        path: &[u8],
        prefix: usize,
        mut kind: FileType,
        rules: Option<&Arc<IgnoreRules>>,
    ) {
        let name = &path[prefix..];
        let is_of_kind = self.selection.is_of_kind(name);
        // Not every file system tells the kind of an entry.
        if kind == FileType::Unknown {
            match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => kind = FileType::from_raw_mode(stat.st_mode),
                Err(error) => return self.failed(path, read::fault_of(error)),
            }
        }
        match kind {
            FileType::Directory => self.subfolder(path, rules),
            FileType::Symlink if !(is_of_kind && self.selection.takes_file(path)) => {
                if !self.selection.takes_folder(path) || ignored(rules, path, true) {
                    return;
                }
                // Only its target's kind is asked for; a link to anything else would not have been read anyway.
                match statat(parent, name, AtFlags::empty()).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
                    Ok(FileType::Directory) => self.failed(path, symlink_folder()),
                    Ok(_) => {}
                    // A folder may have been here: its documents are not known to be gone.
                    Err(error) => self.failed(path, symlink_nowhere(error)),
                }
            }
            _ if is_of_kind && self.selection.takes_file(path) && !ignored(rules, path, false) => {
                match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => self.document(path, &stat),
                    Err(error) => self.failed(path, read::fault_of(error)),
                }
            }
            _ => {}
        }
    }

    fn subfolder(&mut self, path: &[u8], rules: Option<&Arc<IgnoreRules>>) {
        if self.selection.takes_folder(path) && !ignored(rules, path, true) {
            self.found.push(Folder { path: path.to_vec(), rules: rules.cloned() });
        }
    }

    /// An entry that is no folder and whose name makes it a document of this source.
    fn document(&mut self, path: &[u8], stat: &Stat) {
        if self.reader.store_files.contains(&FileId::of(stat)) {
            return;
        }
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Symlink => return self.failed(path, read::symlink()),
            other => return self.failed(path, read::not_regular(other)),
        }
        let Ok(text) = std::str::from_utf8(path) else {
            let message = "has a path that is not UTF-8; rename it or exclude it".to_owned();
            return self.failed(path, (code::NAME_NOT_UTF8, message));
        };
        if text.chars().any(char::is_control) {
            let message = "has a control character in its path; rename it or exclude it".to_owned();
            return self.failed(path, (code::NAME_CONTROL_CHARACTER, message));
        }
        let stamps = Stamps::of(stat);
        if stamps.size > self.reader.max_file_bytes {
            return self.failed(path, read::too_large(stamps.size, self.reader.max_file_bytes));
        }
        self.folded.push(fold_hash(text, &mut self.scratch));
        self.listing.files.push(FoundFile { path: text.to_owned(), stamps });
    }

    fn failed(&mut self, path: &[u8], (code, message): (&'static str, String)) {
        self.listing.failures.push(Failure { source_id: String::new(), path: shown(path), code, message });
    }

    fn folder_failed(&mut self, path: &[u8], error: Errno) {
        let fault = match error {
            Errno::LOOP => symlink_folder(),
            Errno::NOENT | Errno::NOTDIR => read::fault_of(error),
            error => (
                code::UNREADABLE_FOLDER,
                format!("can't be listed ({}); what it held is kept as it was", reason(error)),
            ),
        };
        self.failed(if path.is_empty() { b"." } else { path }, fault);
    }

    /// The ignore rules that hold inside `folder`.
    fn rules_in(&mut self, folder: &Folder) -> Option<Arc<IgnoreRules>> {
        let above = folder.rules.clone();
        let path = if folder.path.is_empty() { String::new() } else { format!("{}/", shown(&folder.path)) };
        if !self.selection.respect_gitignore {
            return None;
        }
        match self.reader.read(&format!("{path}.gitignore")) {
            Ok(file) => {
                let mut builder = GitignoreBuilder::new("");
                for line in file.text.lines() {
                    // As git does, a line that is no pattern is passed over.
                    let _ = builder.add_line(None, line);
                }
                match builder.build() {
                    Ok(rules) => Some(Arc::new(IgnoreRules { folder: folder.path.clone(), rules, above })),
                    Err(_) => above,
                }
            }
            Err(failure) => {
                if failure.code != code::VANISHED {
                    self.listing.failures.push(failure);
                }
                above
            }
        }
    }
}

/// Whether the rules leave `path` out; the nearest file that says anything about it decides.
fn ignored(rules: Option<&Arc<IgnoreRules>>, path: &[u8], is_folder: bool) -> bool {
    let mut level = rules;
    while let Some(IgnoreRules { folder, rules, above }) = level.map(Arc::as_ref) {
        let below = if folder.is_empty() { path } else { &path[folder.len() + 1..] };
        let verdict = rules.matched(as_path(below), is_folder);
        if !verdict.is_none() {
            return verdict.is_ignore();
        }
        level = above.as_ref();
    }
    false
}

fn symlink_folder() -> (&'static str, String) {
    let message =
        "is a symbolic link to a folder; put the folder here, declare it as a source, or exclude it".to_owned();
    (code::SYMLINK_FOLDER, message)
}

fn symlink_nowhere(error: Errno) -> (&'static str, String) {
    let message =
        format!("is a symbolic link whose target can't be looked at ({error}); mend it, remove it, or exclude it");
    (code::SYMLINK, message)
}

/// Moves files whose paths are the same but for letter case or Unicode composition to the failures: on another
/// file system they would be one file, and the composed and decomposed forms of a path are one document.
fn part_collisions(listing: &mut Listing) {
    let mut scratch = Vec::new();
    let mut keys: Vec<(u64, usize)> =
        listing.files.iter().enumerate().map(|(at, file)| (fold_hash(&file.path, &mut scratch), at)).collect();
    keys.sort_unstable();
    let mut collides = vec![None; listing.files.len()];
    for group in keys.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1) {
        for &(_, at) in group {
            let key = fold(&listing.files[at].path);
            let other = group.iter().find(|&&(_, other)| other != at && fold(&listing.files[other].path) == key);
            collides[at] = other.map(|&(_, other)| listing.files[other].path.clone());
        }
    }
    let mut others = collides.into_iter();
    listing.files.retain(|file| {
        let Some(other) = others.next().flatten() else { return true };
        listing.failures.push(Failure {
            source_id: String::new(),
            path: file.path.clone(),
            code: code::NAME_COLLISION,
            message: format!(
                "differs from `{other}` only in letter case or Unicode composition; rename or exclude one"
            ),
        });
        false
    });
}

/// A path with differences of letter case and composition removed.
fn fold(path: &str) -> String {
    // Upper case first: it joins letters that lower case keeps apart (ß and ss, ſ and s, final and medial sigma).
    path.nfc().flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfc().collect()
}

/// Equal for paths that [`fold`] makes equal. `scratch` saves an allocation for each path.
fn fold_hash(path: &str, scratch: &mut Vec<u8>) -> u64 {
    scratch.clear();
    if path.is_ascii() {
        scratch.extend_from_slice(path.as_bytes());
        scratch.make_ascii_lowercase();
    } else {
        scratch.extend_from_slice(fold(path).as_bytes());
    }
    let mut hasher = DefaultHasher::new();
    hasher.write(scratch);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_find_what_one_finds_alone() {
        let root = tempfile::tempdir().unwrap();
        for folder in 0..40 {
            let path = root.path().join(format!("{}/{}/{folder}", folder % 3, folder % 7));
            std::fs::create_dir_all(&path).unwrap();
            for file in 0..folder % 5 {
                std::fs::write(path.join(format!("{file}.md")), "text").unwrap();
            }
        }
        std::fs::write(root.path().join("0/A.md"), "text").unwrap();
        std::fs::write(root.path().join("0/a.md"), "text").unwrap();
        let reader = SourceReader::open(root.path(), ".", 1 << 20).unwrap();
        let alone = list_with(&reader, &Selection::default(), 1);
        assert_eq!((alone.files.len(), alone.failures.len()), (80, 2));
        assert!(alone.files.is_sorted_by(|a, b| a.path < b.path));
        for threads in [2, 3, 8] {
            assert_eq!(list_with(&reader, &Selection::default(), threads), alone, "{threads}");
        }
    }

    #[test]
    fn who_waits_for_folders_ends_when_none_can_come() {
        let pending = Pending::new(vec![Folder::default()]);
        std::thread::scope(|scope| {
            assert!(pending.take().is_some());
            let waits = scope.spawn(|| pending.take().is_none());
            pending.give(&mut Vec::new());
            assert!(waits.join().unwrap());
        });
    }
}

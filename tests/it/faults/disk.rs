//! A disk that loses its power: what was written and synced, and what may be left of it.
//!
//! A [`Recorder`] notes what SQLite does to the files of one folder; a [`Disk`] follows these notes up to a moment, and
//! makes images of what could then be found. Of a file, what was synced is there, and of what came after any part: each
//! write whole, torn at the borders of sectors, or not at all, each resize or none. Of the folder, the names as of its
//! last sync, and any of the later changes.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use super::syscalls::Call;
use crate::random::Random;

/// A disk writes so many bytes whole, or not at all.
const SECTOR: usize = 512;

/// A file, whatever its name: an inode may be used again.
type Object = usize;

/// Something that happened, in order.
#[derive(Clone, Debug)]
pub enum Event {
    /// A file was changed.
    Changed(Object, Change),
    /// What was written to a file is on the disk.
    Synced(Object),
    /// The folder was changed.
    Named(Naming),
    /// The folder's names are on the disk.
    FolderSynced,
    /// The caller was told that all up to here is done.
    Acknowledged(usize),
}

/// A change of a file.
#[derive(Clone)]
pub enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Resize(usize),
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write { offset, bytes } => write!(f, "write of {} bytes at {offset}", bytes.len()),
            Self::Resize(size) => write!(f, "resize to {size}"),
        }
    }
}

/// A change of the folder, which happens whole or not at all.
#[derive(Clone, Debug)]
pub enum Naming {
    /// A file has a name, and perhaps lost another one by it.
    Given { name: String, object: Object, instead_of: Option<String> },
    /// A file lost its name.
    Taken(String),
}

/// Notes what happens in a folder.
#[derive(Debug)]
pub struct Recorder {
    folder: PathBuf,
    /// The objects that have an inode now.
    inodes: BTreeMap<u64, Object>,
    /// The folder's names, as last seen.
    names: BTreeMap<String, Object>,
    objects: usize,
    events: Vec<Event>,
    calls: usize,
}

impl Recorder {
    /// Begins with what is in the folder, all of it on the disk.
    pub fn new(folder: &Path) -> (Self, Disk) {
        let folder = folder.canonicalize().expect("the folder");
        let mut recorder =
            Self { folder, inodes: BTreeMap::new(), names: BTreeMap::new(), objects: 0, events: Vec::new(), calls: 0 };
        recorder.look();
        let mut disk = Disk::default();
        for event in std::mem::take(&mut recorder.events) {
            disk.follow(&event);
            if let Event::Named(Naming::Given { name, object, .. }) = event {
                let bytes = fs::read(recorder.folder.join(name)).expect("a file");
                disk.files.entry(object).or_default().durable = bytes;
            }
        }
        disk.follow(&Event::FolderSynced);
        (recorder, disk)
    }

    /// Notes a call before it is made.
    pub fn note(&mut self, call: &Call<'_>) {
        self.look();
        self.calls += 1;
        match call {
            Call::Write { fd, offset, bytes } => {
                let offset = usize::try_from(*offset).expect("a small file");
                self.change(*fd, Change::Write { offset, bytes: bytes.to_vec() });
            }
            Call::Resize { fd, size } => {
                self.change(*fd, Change::Resize(usize::try_from(*size).expect("a small file")));
            }
            Call::Sync { fd } => {
                let metadata = fs::metadata(format!("/proc/self/fd/{fd}")).expect("an open file");
                if metadata.is_dir() {
                    if super::syscalls::path_of(*fd) == self.folder {
                        self.events.push(Event::FolderSynced);
                    }
                } else if let Some(object) = self.inodes.get(&metadata.ino()) {
                    self.events.push(Event::Synced(*object));
                }
            }
            Call::Remove { path } => {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
                if path.parent() == Some(&self.folder)
                    && let Some(name) = name
                    && let Some(object) = self.names.remove(&name)
                {
                    // Its inode may be that of the next file with the same name.
                    self.inodes.retain(|_, known| *known != object);
                    self.events.push(Event::Named(Naming::Taken(name)));
                }
            }
            Call::Create { .. } | Call::Map => {}
        }
    }

    /// Notes that the caller was told of its success, for the `number`th time.
    pub fn acknowledge(&mut self, number: usize) {
        self.look();
        self.events.push(Event::Acknowledged(number));
    }

    /// What was noted since the beginning, and how many calls were made.
    pub fn finish(&mut self) -> (Vec<Event>, usize) {
        (std::mem::take(&mut self.events), self.calls)
    }

    fn change(&mut self, fd: c_int, change: Change) {
        let inode = fs::metadata(format!("/proc/self/fd/{fd}")).expect("an open file").ino();
        if let Some(object) = self.inodes.get(&inode) {
            self.events.push(Event::Changed(*object, change));
        }
    }

    /// Compares the folder's names with those seen last.
    fn look(&mut self) {
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(&self.folder).expect("the folder").map(|entry| entry.expect("an entry")) {
            let name = entry.file_name().to_string_lossy().into_owned();
            // The index of the log is made anew from the log.
            if !name.ends_with("-shm") && entry.file_type().is_ok_and(|kind| kind.is_file()) {
                let inode = entry.metadata().expect("a file").ino();
                found.insert(
                    name,
                    *self.inodes.entry(inode).or_insert_with(|| {
                        self.objects += 1;
                        self.objects
                    }),
                );
            }
        }
        let mut gone: Vec<(String, Object)> =
            self.names.iter().filter(|(name, _)| !found.contains_key(*name)).map(|(n, o)| (n.clone(), *o)).collect();
        for (name, object) in &found {
            if self.names.get(name) != Some(object) {
                let renamed = gone.iter().position(|(_, known)| known == object).map(|at| gone.swap_remove(at).0);
                let naming = Naming::Given { name: name.clone(), object: *object, instead_of: renamed };
                self.events.push(Event::Named(naming));
            }
        }
        for (name, object) in gone {
            self.inodes.retain(|_, known| *known != object);
            self.events.push(Event::Named(Naming::Taken(name)));
        }
        self.names = found;
    }
}

/// A file of the disk.
#[derive(Clone, Debug, Default)]
struct File {
    durable: Vec<u8>,
    pending: Vec<Change>,
}

/// What is on the disk for good, and what is on its way.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    files: BTreeMap<Object, File>,
    names: BTreeMap<String, Object>,
    naming: Vec<Naming>,
}

/// Which of the changes that are on their way arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// None of them.
    All,
    /// All of them.
    Nothing,
    /// The names, and no bytes.
    Bytes,
    /// The bytes, and no names.
    Names,
    /// Of each file the last half.
    Early,
    /// Of each file and of the folder the first part, cut anywhere.
    Late,
    /// Any of them, torn at sectors.
    Any,
}

impl Disk {
    /// Lets one thing happen.
    pub fn follow(&mut self, event: &Event) {
        match event {
            Event::Changed(object, change) => self.files.entry(*object).or_default().pending.push(change.clone()),
            Event::Synced(object) => {
                let file = self.files.entry(*object).or_default();
                for change in std::mem::take(&mut file.pending) {
                    apply(&mut file.durable, &change, |_| true);
                }
            }
            Event::Named(naming) => self.naming.push(naming.clone()),
            Event::FolderSynced => {
                for naming in std::mem::take(&mut self.naming) {
                    rename(&mut self.names, &naming);
                }
            }
            Event::Acknowledged(_) => {}
        }
    }

    /// Whether anything is on its way: else all losses leave the same.
    pub fn is_settled(&self) -> bool {
        self.naming.is_empty() && self.files.values().all(|file| file.pending.is_empty())
    }

    /// What can be found after the power went: each file's name and bytes.
    pub fn image(&self, loss: Loss, random: &mut Random) -> BTreeMap<String, Vec<u8>> {
        let mut names = self.names.clone();
        let first = random.below(self.naming.len() + 1);
        for (number, naming) in self.naming.iter().enumerate() {
            let arrives = match loss {
                Loss::All | Loss::Names => false,
                Loss::Nothing | Loss::Bytes | Loss::Early => true,
                Loss::Late => number < first,
                Loss::Any => random.below(2) == 0,
            };
            if arrives {
                rename(&mut names, naming);
            }
        }
        let bytes = |object: &Object| self.files.get(object).map_or_else(Vec::new, |file| file.after(loss, random));
        let objects: Vec<Vec<u8>> = names.values().map(bytes).collect();
        names.into_keys().zip(objects).collect()
    }
}

impl File {
    fn after(&self, loss: Loss, random: &mut Random) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        let (half, first) = (self.pending.len() / 2, random.below(self.pending.len() + 1));
        // One file may have luck, and another none.
        let odds = [0, 1, 2, 3, 4][random.below(5)];
        for (number, change) in self.pending.iter().enumerate() {
            match loss {
                Loss::All | Loss::Bytes => {}
                Loss::Nothing | Loss::Names => apply(&mut bytes, change, |_| true),
                Loss::Early if number >= half => apply(&mut bytes, change, |_| true),
                Loss::Late if number < first => apply(&mut bytes, change, |_| true),
                Loss::Early | Loss::Late => {}
                Loss::Any => {
                    // Whole, torn, or not at all.
                    let whole = random.below(4) < odds;
                    let torn = random.below(4) == 0;
                    apply(&mut bytes, change, |_| if torn { random.below(2) == 0 } else { whole });
                }
            }
        }
        bytes
    }
}

/// Applies a change, of a write only the sectors that arrive.
fn apply(bytes: &mut Vec<u8>, change: &Change, mut arrives: impl FnMut(usize) -> bool) {
    match change {
        Change::Resize(size) => {
            if arrives(0) {
                bytes.resize(*size, 0);
            }
        }
        Change::Write { offset, bytes: written } => {
            let end = offset + written.len();
            for sector in offset / SECTOR..end.div_ceil(SECTOR) {
                let (from, to) = ((sector * SECTOR).max(*offset), ((sector + 1) * SECTOR).min(end));
                if arrives(sector) {
                    if bytes.len() < to {
                        bytes.resize(to, 0);
                    }
                    bytes[from..to].copy_from_slice(&written[from - offset..to - offset]);
                }
            }
        }
    }
}

fn rename(names: &mut BTreeMap<String, Object>, naming: &Naming) {
    match naming {
        Naming::Given { name, object, instead_of } => {
            names.insert(name.clone(), *object);
            if let Some(old) = instead_of {
                names.remove(old);
            }
        }
        Naming::Taken(name) => {
            names.remove(name);
        }
    }
}

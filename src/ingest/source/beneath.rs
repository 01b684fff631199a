//! Opening files and folders beneath a folder that is open already, without following a link at any component.
//! The only file of this crate that knows the system's calls for it.

use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
#[cfg(target_os = "linux")]
use rustix::fs::ResolveFlags;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

/// For files: never block on a pipe, never make a terminal the controlling one, never leak into a child.
const FILE: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// An open folder. Whatever happens to its path later, everything opened through it lies in this folder.
pub(super) struct Beneath {
    folder: OwnedFd,
    /// Whether the kernel resolves a whole path under our rules in one call (`openat2`, Linux 5.6). Else each
    /// component is opened by itself, which gives the same guarantee for more calls.
    whole_paths: bool,
}

impl Beneath {
    /// Opens the folder at `path`, which may itself be reached through links.
    pub fn open(path: &Path) -> rustix::io::Result<Self> {
        Ok(Self::new(rustix::fs::open(path, FOLDER, Mode::empty())?))
    }

    /// The folder `path` beneath this one.
    pub fn descend(&self, path: &[u8]) -> rustix::io::Result<Self> {
        Ok(Self::new(self.folder(path)?))
    }

    fn new(folder: OwnedFd) -> Self {
        // A sandbox may answer for an unknown call with another error than ENOSYS: so try it.
        let whole_paths = open_whole(folder.as_fd(), b".", FOLDER).is_ok();
        Self { folder, whole_paths }
    }

    #[cfg(test)]
    pub fn by_components(mut self) -> Self {
        self.whole_paths = false;
        self
    }

    /// Opens the folder at `path`; an empty path is this folder, opened anew.
    pub fn folder(&self, path: &[u8]) -> rustix::io::Result<OwnedFd> {
        self.resolve(if path.is_empty() { b"." } else { path }, FOLDER)
    }

    /// Opens the file at `path` for reading, whatever kind of file it is.
    pub fn file(&self, path: &[u8]) -> rustix::io::Result<OwnedFd> {
        self.resolve(path, FILE)
    }

    fn resolve(&self, path: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
        if !self.whole_paths {
            return open_by_components(self.folder.as_fd(), path, flags);
        }
        // EAGAIN: something was renamed meanwhile, so that the kernel could not tell whether the path held.
        let mut result = open_whole(self.folder.as_fd(), path, flags);
        for _ in 0..8 {
            if !matches!(result, Err(Errno::AGAIN | Errno::INTR)) {
                break;
            }
            result = open_whole(self.folder.as_fd(), path, flags);
        }
        result
    }
}

#[cfg(target_os = "linux")]
fn open_whole(folder: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat2(folder, path, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}

#[cfg(not(target_os = "linux"))]
fn open_whole(_: BorrowedFd<'_>, _: &[u8], _: OFlags) -> rustix::io::Result<OwnedFd> {
    Err(Errno::NOSYS)
}

fn open_by_components(folder: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
    // A folder that is only passed through needs no permission to be listed.
    #[cfg(target_os = "linux")]
    const PASS: OFlags = FOLDER.union(OFlags::PATH);
    #[cfg(not(target_os = "linux"))]
    const PASS: OFlags = FOLDER;

    let (parents, name) = match path.iter().rposition(|&byte| byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&path[..0], path),
    };
    let mut held: Option<OwnedFd> = None;
    for component in parents.split(|&byte| byte == b'/').filter(|component| !component.is_empty()) {
        let parent = held.as_ref().map_or(folder, AsFd::as_fd);
        held = Some(open_component(parent, component, PASS)?);
    }
    open_component(held.as_ref().map_or(folder, AsFd::as_fd), name, flags)
}

fn open_component(parent: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
    if name == b".." {
        return Err(Errno::XDEV);
    }
    let open = || rustix::fs::openat(parent, name, flags | OFlags::NOFOLLOW, Mode::empty());
    rustix::io::retry_on_intr(open).map_err(|error| {
        // Systems differ in how they refuse a link; as `openat2` does it, it is always LOOP.
        match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => Errno::LOOP,
            _ => error,
        }
    })
}

//! Reading one file: opened without following a link, known to be regular before its first byte is read, read
//! once, and known not to have changed meanwhile.

use std::mem;

use rustix::fd::AsFd;
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;

use super::{FileId, SourceReader, Stamps, reason};
use crate::error::Failure;
use crate::ingest::code;
use crate::model::line_ends;

/// The text of a file and the stamps it had when it was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SourceText {
    /// The whole file, a byte order mark included.
    pub text: String,
    /// The file's stamps, the same before and after reading.
    pub stamps: Stamps,
}

type Fault = (&'static str, String);

impl SourceReader {
    /// Reads the file at `path` below the root. The text is UTF-8, without NUL bytes, and may be blank. A failure does
    /// not name the source, which a reader does not know.
    pub fn read(&self, path: &str) -> Result<SourceText, Failure> {
        self.read_meeting(path, &mut || {})
    }

    /// As [`SourceReader::read`]; `while_reading` runs after the bytes are read and before they are trusted.
    pub(super) fn read_meeting(&self, path: &str, while_reading: &mut dyn FnMut()) -> Result<SourceText, Failure> {
        let fault = |(code, message): Fault| Failure { source_id: String::new(), path: path.to_owned(), code, message };
        if path.starts_with('/') || path.contains('\0') || path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(fault(outside_root()));
        }
        let mut read = self.read_once(path, while_reading).map_err(fault)?;
        if read.is_none() {
            read = self.read_once(path, while_reading).map_err(fault)?;
        }
        let Some((bytes, stamps)) = read else {
            let message = "changed twice while it was read; sync again when nothing writes to it".to_owned();
            return Err(fault((code::CHANGED_WHILE_READING, message)));
        };
        let text = into_text(bytes).map_err(fault)?;
        Ok(SourceText { text, stamps })
    }

    /// The file's bytes, or `None` if it changed while they were read.
    fn read_once(&self, path: &str, while_reading: &mut dyn FnMut()) -> Result<Option<(Vec<u8>, Stamps)>, Fault> {
        let unreadable = |error| fault_of(error);
        let file = self.root.file(path.as_bytes()).map_err(unreadable)?;
        let stat = fstat(&file).map_err(unreadable)?;
        if self.store_files.contains(&FileId::of(&stat)) {
            // Closing any descriptor of a SQLite database drops the locks that this process holds on it, and lets a
            // second writer in. The listing leaves these files out before they are opened; one that took the
            // place of a listed file since then stays open for good.
            mem::forget(file);
            return Err((code::STORE_FILE, "is the store itself; exclude it or move the store".to_owned()));
        }
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(not_regular(FileType::from_raw_mode(stat.st_mode)));
        }
        let before = Stamps::of(&stat);
        if before.size > self.max_file_bytes {
            return Err(too_large(before.size, self.max_file_bytes));
        }
        let bytes = read_to(&file, before.size).map_err(unreadable)?;
        while_reading();
        let after = Stamps::of(&fstat(&file).map_err(unreadable)?);
        Ok((before == after && bytes.len() as u64 == before.size).then_some((bytes, before)))
    }
}

/// Reads up to `size` bytes.
fn read_to(file: impl AsFd, size: u64) -> rustix::io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(size).map_err(|_| Errno::FBIG)?];
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::io::retry_on_intr(|| rustix::io::read(file.as_fd(), &mut bytes[filled..]))? {
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

fn into_text(bytes: Vec<u8>) -> Result<String, Fault> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let message = if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            "begins with a byte order mark of UTF-16; save it as UTF-8".to_owned()
        } else {
            format!("is not UTF-8 from byte {offset} on (line {}); save it as UTF-8", line_of(offset, bytes))
        };
        (code::NOT_UTF8, message)
    })?;
    if let Some(offset) = text.find('\0') {
        let line = line_of(offset, text.as_bytes());
        return Err((code::NUL_BYTE, format!("holds a NUL byte at byte {offset} (line {line}); it is not text")));
    }
    Ok(text)
}

/// The line that the byte at `offset` is in, counted from 1; a line ends with LF, CRLF or a lone CR.
fn line_of(offset: usize, bytes: &[u8]) -> u32 {
    line_ends(bytes, 0..offset).saturating_add(1)
}

pub(super) fn too_large(size: u64, limit: u64) -> Fault {
    let message = format!("has {size} bytes; the limit is {limit} (`sync.max_file_bytes`)");
    (code::TOO_LARGE, message)
}

pub(super) fn not_regular(found: FileType) -> Fault {
    let what = match found {
        FileType::Directory => "a folder",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "not a regular file",
    };
    (code::NOT_REGULAR, format!("is {what}; only regular files are read"))
}

pub(super) fn symlink() -> Fault {
    let message = "is, or lies behind, a symbolic link; put the file here or exclude it".to_owned();
    (code::SYMLINK, message)
}

fn outside_root() -> Fault {
    (code::OUTSIDE_ROOT, "does not lie below the source's folder".to_owned())
}

/// Why a file could not be opened or read.
pub(super) fn fault_of(error: Errno) -> Fault {
    match error {
        Errno::LOOP => symlink(),
        Errno::XDEV => outside_root(),
        Errno::NOENT | Errno::NOTDIR => {
            (code::VANISHED, "was there when its folder was listed, and is gone".to_owned())
        }
        // What opening a socket, or a device without a driver, gives.
        Errno::NXIO | Errno::NODEV => not_regular(FileType::Unknown),
        error => (code::UNREADABLE, format!("can't be read: {}", reason(error))),
    }
}

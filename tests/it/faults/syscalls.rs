//! The calls by which SQLite changes files and makes that last, seen and decided by a test.
//!
//! All but one go through SQLite's own table of system calls (`xSetSystemCall` of its Unix VFS). `fsync` is not in that
//! table: a function of this name in the test program takes the place of the C library's. The table belongs to the
//! process, so whoever calls [`watch`] works in a process of its own.
//!
//! All `unsafe` code of the tests is here.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rusqlite::ffi;

/// One call, before it is made.
#[derive(Clone, Copy, Debug)]
pub enum Call<'a> {
    /// Bytes go into a file.
    Write {
        /// The open file.
        fd: c_int,
        /// Where the first byte goes.
        offset: u64,
        /// What is written.
        bytes: &'a [u8],
    },
    /// A file gets another size.
    Resize {
        /// The open file.
        fd: c_int,
        /// Its size after.
        size: u64,
    },
    /// What was written to a file, or what changed in a folder, is to last.
    Sync {
        /// The open file or folder.
        fd: c_int,
    },
    /// A file is opened, and made where it is not there.
    Create {
        /// Its path.
        path: &'a Path,
    },
    /// A file loses its name.
    Remove {
        /// Its path.
        path: &'a Path,
    },
    /// The index of the log is mapped into memory.
    Map,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is made; but a sync is only said to be: no test takes the power away, and a disk takes its time.
    Proceed,
    /// It is not made, and gives this error number.
    Refuse(c_int),
    /// So many bytes of a write are written, and their number is given; other calls are made.
    Partly(usize),
    /// The process is killed before it.
    Die,
}

type Watcher = Box<dyn FnMut(&Call<'_>) -> Answer + Send>;

static WATCHER: Mutex<Option<Watcher>> = Mutex::new(None);

/// Whether this process is one of those whose calls are watched: there nothing waits for the disk.
static WATCHING: AtomicBool = AtomicBool::new(false);

/// A function in SQLite's table, whatever it takes and gives.
type Any = unsafe extern "C" fn();
type Open = unsafe extern "C" fn(*const c_char, c_int, c_int) -> c_int;
type Write = unsafe extern "C" fn(c_int, *const c_void, usize) -> isize;
type Pwrite = unsafe extern "C" fn(c_int, *const c_void, usize, libc::off_t) -> isize;
type Ftruncate = unsafe extern "C" fn(c_int, libc::off_t) -> c_int;
type Unlink = unsafe extern "C" fn(*const c_char) -> c_int;
type Mmap = unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, c_int, libc::off_t) -> *mut c_void;

/// What SQLite called before.
struct Originals {
    open: Open,
    write: Write,
    pwrite: Pwrite,
    ftruncate: Ftruncate,
    unlink: Unlink,
    mmap: Mmap,
}

static ORIGINALS: OnceLock<Originals> = OnceLock::new();

/// Does `work` while `watcher` decides on each call, from whichever thread. It must not use SQLite itself.
pub fn watch<T>(watcher: impl FnMut(&Call<'_>) -> Answer + Send + 'static, work: impl FnOnce() -> T) -> T {
    struct Ended;
    impl Drop for Ended {
        fn drop(&mut self) {
            *current() = None;
        }
    }
    take_over();
    *current() = Some(Box::new(watcher));
    let _ended = Ended;
    work()
}

/// Does `work` in a copy of this process, which has no other thread; gives whether it came to its end, and was not killed.
pub fn in_a_copy(work: impl FnOnce()) -> bool {
    // SAFETY: this thread is the only one, so that the copy has all of the process, no lock of it held by a thread that
    // is not there.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "the process can be copied");
    if child == 0 {
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_ok();
        // SAFETY: ends the copy at once; what the test program does at its end is for the original.
        unsafe { libc::_exit(if ended { 0 } else { 1 }) }
    }
    let mut status = 0;
    // SAFETY: `status` is a place for the one number that is written.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(waited, child, "the copy is waited for");
    assert!(libc::WIFSIGNALED(status) || libc::WEXITSTATUS(status) == 0, "the copy panicked");
    !libc::WIFSIGNALED(status)
}

/// The path that an open file has now.
pub fn path_of(fd: c_int) -> PathBuf {
    std::fs::read_link(format!("/proc/self/fd/{fd}")).unwrap_or_default()
}

fn current() -> MutexGuard<'static, Option<Watcher>> {
    WATCHER.lock().unwrap_or_else(PoisonError::into_inner)
}

fn decide(call: &Call<'_>) -> Answer {
    let answer = current().as_mut().map_or(Answer::Proceed, |watcher| watcher(call));
    if answer == Answer::Die {
        // SAFETY: asks for nothing but this process's end.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    answer
}

/// Gives an error to the caller, as the system does.
fn refused(number: c_int) -> c_int {
    // SAFETY: the C library's place for this thread's error number, which is always there.
    unsafe { *libc::__errno_location() = number };
    -1
}

/// Puts this module's functions into SQLite's table.
fn take_over() {
    WATCHING.store(true, Ordering::SeqCst);
    ORIGINALS.get_or_init(|| {
        // SAFETY: with no name, this gives SQLite's default VFS, which stays as long as the process.
        let vfs = unsafe { ffi::sqlite3_vfs_find(std::ptr::null()) };
        let replace = |name: &CStr, ours: Any| {
            // SAFETY: the VFS is the Unix one, whose table has these names; what stands under each is a function of the
            // C type that `Originals` says, and `ours` is one of the same type.
            unsafe {
                let original = (*vfs).xGetSystemCall.expect("a table")(vfs, name.as_ptr()).expect("a known call");
                let set = (*vfs).xSetSystemCall.expect("a table")(vfs, name.as_ptr(), Some(ours));
                assert_eq!(set, ffi::SQLITE_OK, "{name:?}");
                original
            }
        };
        // SAFETY: between pointers to functions, to the table's type and from it; each is called under its own type alone.
        unsafe {
            Originals {
                open: transmute::<Any, Open>(replace(c"open", transmute::<Open, Any>(open))),
                write: transmute::<Any, Write>(replace(c"write", transmute::<Write, Any>(write))),
                pwrite: transmute::<Any, Pwrite>(replace(c"pwrite", transmute::<Pwrite, Any>(pwrite))),
                ftruncate: transmute::<Any, Ftruncate>(replace(c"ftruncate", transmute::<Ftruncate, Any>(ftruncate))),
                unlink: transmute::<Any, Unlink>(replace(c"unlink", transmute::<Unlink, Any>(unlink))),
                mmap: transmute::<Any, Mmap>(replace(c"mmap", transmute::<Mmap, Any>(mmap))),
            }
        }
    });
}

fn originals() -> &'static Originals {
    ORIGINALS.get().expect("they were kept when these functions took their place")
}

/// # Safety
/// `path` is a C string.
unsafe fn as_path<'a>(path: *const c_char) -> &'a Path {
    // SAFETY: as the caller says.
    Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()))
}

unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_int) -> c_int {
    if flags & libc::O_CREAT != 0 {
        // SAFETY: SQLite gives a C string.
        let path = unsafe { as_path(path) };
        if let Answer::Refuse(number) = decide(&Call::Create { path }) {
            return refused(number);
        }
    }
    // SAFETY: SQLite's own call, with its own arguments.
    unsafe { (originals().open)(path, flags, mode) }
}

/// How much of a write is to be made, or what it gives instead.
///
/// # Safety
/// `from` has `count` bytes.
unsafe fn allowed(fd: c_int, from: *const c_void, count: usize, offset: u64) -> Result<usize, isize> {
    // SAFETY: as the caller says.
    let bytes = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), count) };
    match decide(&Call::Write { fd, offset, bytes }) {
        Answer::Refuse(number) => Err(refused(number) as isize),
        Answer::Partly(some) => Ok(some.min(count)),
        Answer::Proceed | Answer::Die => Ok(count),
    }
}

unsafe extern "C" fn write(fd: c_int, from: *const c_void, count: usize) -> isize {
    // SAFETY: asks for a number.
    let offset = u64::try_from(unsafe { libc::lseek(fd, 0, libc::SEEK_CUR) }).unwrap_or(0);
    // SAFETY: SQLite's own call, with its own arguments, perhaps shortened.
    unsafe { allowed(fd, from, count, offset).map_or_else(|it| it, |count| (originals().write)(fd, from, count)) }
}

unsafe extern "C" fn pwrite(fd: c_int, from: *const c_void, count: usize, at: libc::off_t) -> isize {
    let offset = u64::try_from(at).unwrap_or(0);
    // SAFETY: SQLite's own call, with its own arguments, perhaps shortened.
    unsafe { allowed(fd, from, count, offset).map_or_else(|it| it, |count| (originals().pwrite)(fd, from, count, at)) }
}

unsafe extern "C" fn ftruncate(fd: c_int, size: libc::off_t) -> c_int {
    match decide(&Call::Resize { fd, size: u64::try_from(size).unwrap_or(0) }) {
        Answer::Refuse(number) => refused(number),
        // SAFETY: SQLite's own call, with its own arguments.
        _ => unsafe { (originals().ftruncate)(fd, size) },
    }
}

unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: SQLite gives a C string.
    match decide(&Call::Remove { path: unsafe { as_path(path) } }) {
        Answer::Refuse(number) => refused(number),
        // SAFETY: SQLite's own call, with its own arguments.
        _ => unsafe { (originals().unlink)(path) },
    }
}

unsafe extern "C" fn mmap(
    at: *mut c_void,
    size: usize,
    access: c_int,
    flags: c_int,
    fd: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    if let Answer::Refuse(number) = decide(&Call::Map) {
        refused(number);
        return libc::MAP_FAILED;
    }
    // SAFETY: SQLite's own call, with its own arguments.
    unsafe { (originals().mmap)(at, size, access, flags, fd, offset) }
}

fn synced(fd: c_int, call: libc::c_long) -> c_int {
    if !WATCHING.load(Ordering::SeqCst) {
        // SAFETY: the system call that the C library's function of this name makes.
        return unsafe { libc::syscall(call, fd) } as c_int;
    }
    match decide(&Call::Sync { fd }) {
        Answer::Refuse(number) => refused(number),
        _ => 0,
    }
}

// SAFETY: it takes the place of the C library's function for the whole program, and does the same.
#[unsafe(no_mangle)]
extern "C" fn fsync(fd: c_int) -> c_int {
    synced(fd, libc::SYS_fsync)
}

// SAFETY: as `fsync`.
#[unsafe(no_mangle)]
extern "C" fn fdatasync(fd: c_int) -> c_int {
    synced(fd, libc::SYS_fdatasync)
}

//! What SQLite does for a call: the statements that it runs and the steps of its virtual machine.
//!
//! Every connection that this process opens is watched, also those that the library opens for itself.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::Once;

use rusqlite::ffi;

thread_local! {
    /// What ran on this thread since it was asked for.
    static RUN: RefCell<Option<Vec<Ran>>> = const { RefCell::new(None) };
}

/// A statement that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Its text, with its parameters unnamed.
    pub sql: String,
    /// How many instructions the virtual machine took.
    pub steps: i64,
}

/// Has every connection watched that is opened from here on.
pub fn begin() {
    static WATCHING: Once = Once::new();
    WATCHING.call_once(|| {
        // SAFETY: `on_open` lives as long as the process, and does nothing but ask for traces.
        let code = unsafe { ffi::sqlite3_auto_extension(Some(on_open)) };
        assert_eq!(code, ffi::SQLITE_OK, "SQLite watches new connections");
    });
}

/// Runs `work` and says which statements it ran on this thread, on connections that were opened after [`begin`].
pub fn watch<T>(work: impl FnOnce() -> T) -> (T, Vec<Ran>) {
    begin();
    RUN.set(Some(Vec::new()));
    let result = work();
    (result, RUN.take().unwrap_or_default())
}

unsafe extern "C" fn on_open(db: *mut ffi::sqlite3, _: *mut *mut c_char, _: *const ffi::sqlite3_api_routines) -> c_int {
    let kind = ffi::SQLITE_TRACE_PROFILE;
    // SAFETY: `db` is the connection that is being opened; `on_end` needs no context.
    unsafe { ffi::sqlite3_trace_v2(db, kind, Some(on_end), std::ptr::null_mut()) }
}

unsafe extern "C" fn on_end(_: c_uint, _: *mut c_void, statement: *mut c_void, _: *mut c_void) -> c_int {
    RUN.with_borrow_mut(|run| {
        let Some(run) = run else { return };
        let statement = statement.cast::<ffi::sqlite3_stmt>();
        // SAFETY: SQLite hands over the statement that has just ended; its text lives as long as it does.
        let (sql, steps) = unsafe {
            let sql = CStr::from_ptr(ffi::sqlite3_sql(statement)).to_string_lossy().into_owned();
            (sql, ffi::sqlite3_stmt_status(statement, ffi::SQLITE_STMTSTATUS_VM_STEP, 1))
        };
        run.push(Ran { sql, steps: steps.into() });
    });
    0
}

#[test]
fn steps_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let count = |rows: usize| {
        let (store, opened) = watch(|| ragdb::Store::open_or_create(folder.path().join("ragdb.db")).expect("a store"));
        assert!(rows > 0 && opened.len() < 1000);
        let sql = format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) SELECT i FROM n"
        );
        watch(|| store.sql(&ragdb::Principal::operator(), &sql).expect("rows")).1
    };
    let of = |run: &[Ran]| run.iter().filter(|ran| ran.sql.starts_with("WITH")).map(|ran| ran.steps).sum::<i64>();
    let (few, many) = (of(&count(10)), of(&count(1000)));
    assert!(few > 10 && many > 50 * few, "{few} {many}");
    assert_eq!(of(&count(10)), few);
}

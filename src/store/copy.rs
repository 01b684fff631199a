//! A copy of the whole file, for `backup`.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};

use super::connect::{self, Access};
use super::{Store, explain, fresh, identify, settings};
use crate::error::Result;

/// A path as a value: its bytes, whatever they are.
struct PathValue<'a>(&'a Path);

impl ToSql for PathValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0.as_os_str().as_bytes())))
    }
}

impl Store {
    /// Copies one snapshot into `new`, an absolute path of an empty file, and runs `check` on the copy. Neither readers
    /// nor a writer wait for it. Free pages are not copied. The copy is closed when this returns.
    pub(crate) fn copy_into<T>(&self, new: &Path, check: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.require_schema()?;
        self.copy(new, check).map_err(|error| explain::located(new, error))
    }

    fn copy<T>(&self, new: &Path, check: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let store = connect::open_to_copy(&self.path)?;
        self.recheck(&store)?;
        store.execute("VACUUM INTO ?1", [PathValue(new)]).map_err(|error| explain::error(&self.path, error))?;
        drop(store);
        identify(new)?;
        let copy = connect::open(new, Access::Write)?;
        fresh::begin_log(&copy)?;
        // It has no free pages and no log: nothing is left to do for a purge.
        if settings::unfinished_purge(&copy)?.is_some() {
            settings::write_unfinished_purge(&copy, None)?;
        }
        let result = check(&copy)?;
        copy.close().map_err(|(_, error)| error)?;
        Ok(result)
    }
}

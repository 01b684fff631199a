//! `settings`: what is true of the whole store.

use rusqlite::{Connection, OptionalExtension};

use super::generations;
use crate::error::{Error, Result};
use crate::model::{Digest, Policy};

const UNFINISHED_PURGE: &str = "unfinished_purge";

/// Written once, when the store is made.
pub(super) fn write_origin(conn: &Connection) -> Result<()> {
    let id: String = conn.query_row("SELECT lower(hex(randomblob(16)))", [], |row| row.get(0))?;
    put(conn, "store_id", &id)?;
    put(conn, "created_at", &now())?;
    put(conn, "created_by", concat!("ragdb ", env!("CARGO_PKG_VERSION")))
}

/// The random identity that the store got when it was made.
pub(crate) fn store_id(conn: &Connection) -> Result<String> {
    get(conn, "store_id")?.ok_or_else(|| Error::Damaged { detail: "settings.store_id is missing".into() })
}

/// The policy that the index was made under; `None` before the first sync.
///
/// # Errors
/// [`Error::Damaged`] where it is missing although something was published, or is not what it was.
pub(crate) fn policy(conn: &Connection) -> Result<Option<Policy>> {
    let Some(json) = get(conn, "policy")? else {
        return match generations::head(conn)? {
            Some(_) => Err(Error::Damaged { detail: "settings.policy is missing".into() }),
            None => Ok(None),
        };
    };
    let damaged = |detail: String| Error::Damaged { detail };
    let policy: Policy =
        serde_json::from_str(&json).map_err(|error| damaged(format!("settings.policy can't be read: {error}")))?;
    if get(conn, "policy_digest")?.as_deref() != Some(policy.digest().to_string().as_str()) {
        return Err(damaged("settings.policy_digest is not the digest of settings.policy".into()));
    }
    Ok(Some(policy))
}

/// Replaces the policy.
pub(crate) fn write_policy(conn: &Connection, policy: &Policy) -> Result<Digest> {
    let digest = policy.digest();
    put(conn, "policy", &policy.to_json())?;
    put(conn, "policy_digest", &digest.to_string())?;
    Ok(digest)
}

/// The rules of all classes, as JSON: see [`super::access::rules`].
pub(crate) fn acl(conn: &Connection) -> Result<Option<String>> {
    get(conn, "acl")
}

/// Sets what [`acl`] returns.
pub(crate) fn write_acl(conn: &Connection, json: &str) -> Result<()> {
    put(conn, "acl", json)
}

/// All settings, by key.
pub(crate) fn all(conn: &Connection) -> Result<Vec<(String, String)>> {
    let mut statement = conn.prepare_cached("SELECT key, value FROM settings ORDER BY key")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn get(conn: &Connection, key: &str) -> Result<Option<String>> {
    let mut statement = conn.prepare_cached("SELECT value FROM settings WHERE key = ?1")?;
    Ok(statement.query_row([key], |row| row.get(0)).optional()?)
}

fn put(conn: &Connection, key: &str, value: &str) -> Result<()> {
    let sql =
        "INSERT INTO settings (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    conn.prepare_cached(sql)?.execute([key, value])?;
    Ok(())
}

/// What a purge that was committed left to do; `None` where nothing is. See [`crate::purge`].
pub(crate) fn unfinished_purge(conn: &Connection) -> Result<Option<String>> {
    get(conn, UNFINISHED_PURGE)
}

/// Sets what [`unfinished_purge`] returns.
pub(crate) fn write_unfinished_purge(conn: &Connection, left: Option<&str>) -> Result<()> {
    if let Some(left) = left {
        return put(conn, UNFINISHED_PURGE, left);
    }
    conn.prepare_cached("DELETE FROM settings WHERE key = ?1")?.execute([UNFINISHED_PURGE])?;
    Ok(())
}

/// The present time in UTC, as RFC 3339 with milliseconds.
pub(crate) fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

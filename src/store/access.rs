//! `acl_classes`, `acl_members`, `acl_acts`, `acl_epochs` and `acl_class_epochs`: who may read what.
//!
//! What a read needs of them stands once more in one row of `settings` (`acl`): a reader's statements are the same
//! then, however many rules there are that do not concern them.

use std::collections::{BTreeSet, HashMap, HashSet};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use super::classes::{listed, remains};
use super::settings;
use crate::error::{Error, Result};
use crate::model::rule::{ClassKey, Member, Rule};
use crate::model::{Digest, DigestBuilder, DocumentId, Visibility};

/// Classes are numbered up to this.
const LAST_CLASS: i64 = (1 << 30) - 1;

/// A class and its rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClassRule {
    pub class_no: i64,
    pub source_id: String,
    pub rule: Rule,
}

impl ClassRule {
    /// The class of documents from before there were rules, until the next sync looks at them: for the operator alone.
    pub(crate) fn unruled() -> Self {
        let rule = Rule {
            tenant: String::new(),
            scope: None,
            valid_from: None,
            valid_until: None,
            allow: Vec::new(),
            deny: Vec::new(),
        };
        Self { class_no: 0, source_id: String::new(), rule }
    }
}

/// All classes with their rules, as reads use them. Where they name no class although there are some, nobody could read
/// anything, and nobody would know why: that is damage. It is looked for only then, so that a read costs the same
/// whatever classes there are.
pub(crate) fn rules(conn: &Connection) -> Result<Vec<ClassRule>> {
    let rules = written_rules(conn)?;
    if rules.iter().all(|class| class.class_no == 0) {
        let sql = "SELECT EXISTS (SELECT 1 FROM acl_classes WHERE class_no > 0) \
                   OR EXISTS (SELECT 1 FROM documents WHERE class_no > 0)";
        if conn.prepare_cached(sql)?.query_row([], |row| row.get(0))? {
            let detail = "settings.acl names no access class, and there are some".to_owned();
            return Err(Error::Damaged { detail });
        }
    }
    Ok(rules)
}

/// The same, held against nothing.
pub(crate) fn written_rules(conn: &Connection) -> Result<Vec<ClassRule>> {
    let Some(json) = settings::acl(conn)? else { return Ok(vec![ClassRule::unruled()]) };
    serde_json::from_str(&json)
        .map_err(|error| Error::Damaged { detail: format!("settings.acl can't be read: {error}") })
}

/// Writes what [`rules`] returns; says whether it was something else before.
pub(crate) fn write_rules(conn: &Connection, rules: &[ClassRule]) -> Result<bool> {
    let json = serde_json::to_string(rules)
        .map_err(|error| Error::Invalid { message: format!("the rules can't be written: {error}") })?;
    let changed = settings::acl(conn)?.as_deref() != Some(json.as_str());
    if changed {
        settings::write_acl(conn, &json)?;
    }
    Ok(changed)
}

/// A row of `acl_classes` with its members: the rule of a class and how it came to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassRow {
    pub class_no: i64,
    pub key: ClassKey,
    pub rule: Rule,
    pub visibility: Visibility,
    pub groups: Option<Vec<String>>,
    pub notes: Vec<String>,
}

const CLASS_COLUMNS: &str =
    "class_no, class_key, source_id, document_id, tenant, visibility, groups, scope, valid_from, valid_until, notes";

/// All classes but that of documents without a rule, by number.
pub(crate) fn classes(conn: &Connection) -> Result<Vec<ClassRow>> {
    let mut members = members(conn)?;
    let sql = format!("SELECT {CLASS_COLUMNS} FROM acl_classes WHERE class_no > 0 ORDER BY class_no");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    let mut classes = Vec::new();
    while let Some(row) = rows.next()? {
        let class_no: i64 = row.get(0)?;
        let (allow, deny) = members.remove(&class_no).unwrap_or_default();
        classes.push(class(row, class_no, allow, deny)?);
    }
    Ok(classes)
}

fn class(row: &Row<'_>, class_no: i64, allow: Vec<Member>, deny: Vec<Member>) -> Result<ClassRow> {
    let damaged =
        |column: &str| Error::Damaged { detail: format!("acl_classes.{column} of class {class_no} can't be read") };
    let key: String = row.get(1)?;
    let key = ClassKey::from_json(&key).ok_or_else(|| damaged("class_key"))?;
    let (source, document): (String, Option<String>) = (row.get(2)?, row.get(3)?);
    if source != key.source_id || document != key.document {
        return Err(damaged("source_id"));
    }
    let visibility: String = row.get(5)?;
    let groups: Option<String> = row.get(6)?;
    let groups = groups.map(|json| serde_json::from_str(&json)).transpose().map_err(|_| damaged("groups"))?;
    let notes: String = row.get(10)?;
    Ok(ClassRow {
        class_no,
        key,
        rule: Rule {
            tenant: row.get(4)?,
            scope: row.get(7)?,
            valid_from: row.get(8)?,
            valid_until: row.get(9)?,
            allow,
            deny,
        },
        visibility: Visibility::named(&visibility).ok_or_else(|| damaged("visibility"))?,
        groups,
        notes: serde_json::from_str(&notes).map_err(|_| damaged("notes"))?,
    })
}

/// Whom a class lets in, and whom it keeps out.
type Members = (Vec<Member>, Vec<Member>);

/// Those of all classes.
fn members(conn: &Connection) -> Result<HashMap<i64, Members>> {
    let mut statement = conn.prepare_cached("SELECT class_no, effect, kind, name FROM acl_members")?;
    let mut rows = statement.query([])?;
    let mut members: HashMap<i64, Members> = HashMap::new();
    while let Some(row) = rows.next()? {
        let (effect, member): (String, Member) = (row.get(1)?, member(row, 2)?);
        let (allow, deny) = members.entry(row.get(0)?).or_default();
        if effect == "allow" { allow } else { deny }.push(member);
    }
    for (allow, deny) in members.values_mut() {
        allow.sort_unstable();
        deny.sort_unstable();
    }
    Ok(members)
}

/// The member in two columns of a row.
fn member(row: &Row<'_>, column: usize) -> Result<Member> {
    named(&row.get::<_, String>(column)?, row.get(column + 1)?)
}

fn named(kind: &str, name: String) -> Result<Member> {
    Ok(match kind {
        "everyone" => Member::Everyone,
        "tenant" => Member::Tenant,
        "group" => Member::Group(name),
        "user" => Member::User(name),
        _ => return Err(Error::Damaged { detail: format!("{kind:?} is no kind of readers") }),
    })
}

/// Adds a class under the next free number, which is returned. That of `row` does not matter.
pub(crate) fn insert_class(conn: &Connection, row: &ClassRow) -> Result<i64> {
    // Rows of classes may be lost, and what others have of them is not for the readers of a new one.
    let sql = "SELECT max((SELECT coalesce(max(class_no), 0) FROM acl_classes), \
               (SELECT coalesce(max(class_no), 0) FROM class_generations))";
    let last: i64 = conn.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    if last >= LAST_CLASS {
        let message = format!("the store has had {LAST_CLASS} access rules, and can't have more; make a new one");
        return Err(Error::Invalid { message });
    }
    let class_no = last + 1;
    restore_class(conn, &ClassRow { class_no, ..row.clone() })?;
    Ok(class_no)
}

/// Adds a class under its number, with what stands of its chunks and its history.
pub(crate) fn restore_class(conn: &Connection, row: &ClassRow) -> Result<()> {
    let sql = format!(
        "INSERT INTO acl_classes ({CLASS_COLUMNS}, next_chunk, digest) \
         VALUES (?1, ?2, ?3, ?4, '', 'private', NULL, NULL, NULL, NULL, '[]', ?5, ?6)"
    );
    let (next_chunk, digest) = remains(conn, row.class_no)?;
    let (key, source, document) = (row.key.to_json(), &row.key.source_id, &row.key.document);
    conn.prepare_cached(&sql)?.execute(params![row.class_no, key, source, document, next_chunk, digest])?;
    update_class(conn, row)
}

/// Replaces the rule of a class.
pub(crate) fn update_class(conn: &Connection, row: &ClassRow) -> Result<()> {
    let json = |names: &[String]| serde_json::Value::from(names).to_string();
    let sql = "UPDATE acl_classes SET tenant = ?2, visibility = ?3, groups = ?4, scope = ?5, valid_from = ?6, \
               valid_until = ?7, notes = ?8 WHERE class_no = ?1";
    conn.prepare_cached(sql)?.execute(params![
        row.class_no,
        row.rule.tenant,
        row.visibility.as_str(),
        row.groups.as_deref().map(json),
        row.rule.scope,
        row.rule.valid_from,
        row.rule.valid_until,
        json(&row.notes),
    ])?;
    conn.prepare_cached("DELETE FROM acl_members WHERE class_no = ?1")?.execute([row.class_no])?;
    let sql = "INSERT INTO acl_members (class_no, effect, kind, name) VALUES (?1, ?2, ?3, ?4)";
    let mut insert = conn.prepare_cached(sql)?;
    for (effect, members) in [("allow", &row.rule.allow), ("deny", &row.rule.deny)] {
        for (kind, name) in members.iter().map(Member::columns) {
            insert.execute(params![row.class_no, effect, kind, name])?;
        }
    }
    Ok(())
}

/// Whether a class has documents, or had some in a generation that was published.
pub(crate) fn is_populated(conn: &Connection, class_no: i64) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM documents WHERE class_no = ?1) \
               OR EXISTS (SELECT 1 FROM class_generations WHERE class_no = ?1)";
    Ok(conn.prepare_cached(sql)?.query_row([class_no], |row| row.get(0))?)
}

/// The digest of all that rules rest on and no generation numbers: sources, acts, declared groups and purges.
pub(crate) fn grounds(conn: &Connection) -> Result<Digest> {
    let mut hash = DigestBuilder::new("ragdb grounds 1");
    for sql in [
        "SELECT * FROM sources ORDER BY source_no",
        "SELECT * FROM acl_acts ORDER BY target_kind, target, subject_kind, subject",
        "SELECT value FROM settings WHERE key = 'acl_groups'",
        "SELECT * FROM purges ORDER BY document_id, content_hash",
    ] {
        hash.field(sql);
        let mut statement = conn.prepare_cached(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for column in 0..columns {
                match row.get_ref(column)? {
                    ValueRef::Null => hash.field("null"),
                    ValueRef::Integer(value) => hash.field("integer").number(value),
                    ValueRef::Real(value) => hash.field("real").field(value.to_bits().to_le_bytes()),
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => hash.field("bytes").field(bytes),
                };
            }
        }
    }
    Ok(hash.finish())
}

/// The keys of all classes but 0, by number.
pub(crate) fn keys(conn: &Connection) -> Result<HashMap<i64, ClassKey>> {
    Ok(classes(conn)?.into_iter().map(|class| (class.class_no, class.key)).collect())
}

/// Rows that no rule can come from, in words. SQLite itself sees what belongs to classes that are not there.
pub(crate) fn strays(conn: &Connection) -> Result<Vec<String>> {
    let mut strays = Vec::new();
    for (table, sql) in [
        ("acl_members", "SELECT count(*) FROM acl_members WHERE class_no = 0"),
        (
            "acl_classes",
            "SELECT count(*) FROM acl_classes WHERE class_no = 0 AND (class_key <> '{}' OR source_id <> '' \
             OR document_id IS NOT NULL OR tenant <> '' OR visibility <> 'private' OR groups IS NOT NULL OR notes <> '[]')",
        ),
        (
            "class_generations",
            "SELECT count(*) FROM acl_classes a JOIN class_generations g ON g.class_no = a.class_no AND g.generation = \
             (SELECT max(generation) FROM class_generations WHERE class_no = a.class_no) WHERE g.digest <> a.digest",
        ),
        ("acl_epochs", "SELECT count(*) <> coalesce(max(epoch), 0) FROM acl_epochs"),
        (
            "acl_class_epochs",
            "SELECT count(*) FROM acl_class_epochs e WHERE NOT EXISTS (SELECT 1 FROM acl_epochs WHERE epoch = e.epoch)",
        ),
    ] {
        let found: i64 = conn.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        if found > 0 {
            let what = match table {
                "acl_epochs" => "a number is missing",
                "acl_class_epochs" => "an epoch is missing",
                "class_generations" => "the newest digest of a class is not that of its row",
                _ => "class 0 is not as it was made",
            };
            strays.push(format!("{table}: {what}"));
        }
    }
    Ok(strays)
}

/// How many documents each class has now.
pub(crate) fn document_counts(conn: &Connection) -> Result<HashMap<i64, u64>> {
    let sql = "SELECT class_no, count(*) FROM documents GROUP BY class_no";
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, Option<i64>>(0)?.unwrap_or(0), row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// What an act is on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Target {
    /// All documents of the source with this id.
    Source(String),
    /// The document with this id, in hex.
    Document(String),
}

impl Target {
    fn columns(&self) -> (&'static str, &str) {
        match self {
            Self::Source(id) => ("source", id),
            Self::Document(id) => ("document", id),
        }
    }
}

/// What was granted or revoked last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Act {
    pub target: Target,
    /// A group or a user.
    pub subject: Member,
    /// Whether it was granted.
    pub allow: bool,
    /// The tenant that the target belonged to: the subject is one of its users or groups.
    pub tenant: String,
}

/// All acts.
pub(crate) fn acts(conn: &Connection) -> Result<Vec<Act>> {
    let sql = "SELECT target_kind, target, subject_kind, subject, effect, tenant FROM acl_acts \
               ORDER BY target_kind, target, subject_kind, subject";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut acts = Vec::new();
    while let Some(row) = rows.next()? {
        let (kind, target, effect): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(4)?);
        let target = if kind == "source" { Target::Source(target) } else { Target::Document(target) };
        acts.push(Act { target, subject: member(row, 2)?, allow: effect == "allow", tenant: row.get(5)? });
    }
    Ok(acts)
}

/// Adds an act, in place of an earlier one of the same target on the same subject.
pub(crate) fn put_act(conn: &Connection, act: &Act, epoch: u64) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO acl_acts (target_kind, target, subject_kind, subject, effect, epoch, tenant) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let ((target_kind, target), (subject_kind, subject)) = (act.target.columns(), act.subject.columns());
    let effect = if act.allow { "allow" } else { "deny" };
    let values = params![target_kind, target, subject_kind, subject, effect, epoch, act.tenant];
    conn.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

/// The documents with acts of their own, stored or not: each is a class by itself.
pub(crate) fn documents_with_acts(conn: &Connection) -> Result<HashSet<DocumentId>> {
    let sql = "SELECT DISTINCT target FROM acl_acts WHERE target_kind = 'document'";
    let mut statement = conn.prepare_cached(sql)?;
    let ids = statement.query_map([], |row| row.get::<_, String>(0))?;
    let parse = |id: String| {
        DocumentId::parse(&id)
            .ok_or_else(|| Error::Damaged { detail: format!("acl_acts.target {id:?} is no document id") })
    };
    ids.map(|id| parse(id?)).collect()
}

/// The groups that there are, where `ragdb.yaml` declared them.
pub(crate) fn known_groups(conn: &Connection) -> Result<Option<Vec<String>>> {
    let sql = "SELECT value FROM settings WHERE key = 'acl_groups'";
    let json: Option<String> = conn.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?;
    let groups = json.map(|json| serde_json::from_str(&json)).transpose();
    groups.map_err(|error| Error::Damaged { detail: format!("settings.acl_groups can't be read: {error}") })
}

/// Sets what [`known_groups`] returns.
pub(crate) fn write_known_groups(conn: &Connection, groups: Option<&[String]>) -> Result<()> {
    let Some(groups) = groups else {
        conn.prepare_cached("DELETE FROM settings WHERE key = 'acl_groups'")?.execute([])?;
        return Ok(());
    };
    let sql = "INSERT OR REPLACE INTO settings (key, value) VALUES ('acl_groups', ?1)";
    conn.prepare_cached(sql)?.execute([serde_json::Value::from(groups).to_string()])?;
    Ok(())
}

/// Whom an epoch concerns: those whom one member of a rule of a tenant stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Concern {
    tenant: String,
    member: Member,
}

impl Concern {
    /// Anyone is of no tenant.
    pub(crate) fn new(tenant: &str, member: Member) -> Self {
        let tenant = if member == Member::Everyone { String::new() } else { tenant.to_owned() };
        Self { tenant, member }
    }
}

/// The newest epoch; 0 before the first one.
pub(crate) fn epoch(conn: &Connection) -> Result<u64> {
    let sql = "SELECT coalesce(max(epoch), 0) FROM acl_epochs";
    Ok(conn.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// Begins the next epoch: `classes` are those whose rule changed, and those that a document left or entered.
pub(crate) fn raise(
    conn: &Connection,
    reason: &str,
    concerned: &BTreeSet<Concern>,
    classes: &BTreeSet<i64>,
) -> Result<u64> {
    let epoch = epoch(conn)? + 1;
    let concerns = concerned.iter().map(|Concern { tenant, member }| {
        let (kind, name) = member.columns();
        serde_json::json!({"tenant": tenant, "kind": kind, "name": name})
    });
    let concerns = concerns.collect::<serde_json::Value>().to_string();
    let sql = "INSERT INTO acl_epochs (epoch, changed_at, reason, concerns) VALUES (?1, ?2, ?3, ?4)";
    conn.prepare_cached(sql)?.execute(params![epoch, settings::now(), reason, concerns])?;
    let mut insert = conn.prepare_cached("INSERT INTO acl_class_epochs (class_no, epoch) VALUES (?1, ?2)")?;
    for class_no in classes {
        insert.execute(params![class_no, epoch])?;
    }
    Ok(epoch)
}

/// The epochs of these classes, ascending. Those of others are not looked at.
pub(crate) fn epochs_of(conn: &Connection, classes: &[i64]) -> Result<Vec<u64>> {
    let sql = "SELECT DISTINCT e.epoch FROM json_each(?1) k \
               CROSS JOIN acl_class_epochs e ON e.class_no = k.value ORDER BY e.epoch";
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map([listed(classes)], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// A change of who may read what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessEpoch {
    /// Its number, counted from 1.
    pub epoch: u64,
    /// When it began: RFC 3339.
    pub changed_at: String,
    /// What changed, and why.
    pub reason: String,
    /// Whom it concerns: who may read more or less since, each with their tenant.
    pub concerned: Vec<(String, Member)>,
}

/// An object of `acl_epochs.concerns`.
#[derive(Deserialize)]
struct StoredConcern {
    tenant: String,
    kind: String,
    name: String,
}

/// All epochs, newest first.
pub(crate) fn epochs(conn: &Connection) -> Result<Vec<AccessEpoch>> {
    let sql = "SELECT epoch, changed_at, reason, concerns FROM acl_epochs ORDER BY epoch DESC";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut epochs = Vec::new();
    while let Some(row) = rows.next()? {
        let (epoch, concerns): (u64, String) = (row.get(0)?, row.get(3)?);
        let concerned: Vec<StoredConcern> = serde_json::from_str(&concerns)
            .map_err(|_| Error::Damaged { detail: format!("acl_epochs.concerns of {epoch} can't be read") })?;
        let concerned = concerned.into_iter().map(|it| Ok((it.tenant, named(&it.kind, it.name)?)));
        let concerned = concerned.collect::<Result<_>>()?;
        epochs.push(AccessEpoch { epoch, changed_at: row.get(1)?, reason: row.get(2)?, concerned });
    }
    Ok(epochs)
}

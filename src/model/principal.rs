//! Who reads.

use serde::{Deserialize, Serialize};
use unicode_normalization::is_nfc;

use super::{Digest, DigestBuilder};
use crate::error::{Error, Result};

/// Names of tenants, users, groups and scopes may have this many bytes.
const LONGEST_NAME: usize = 256;

/// Who reads, and as of when: a required argument of every read. There is no ambient one.
///
/// What a principal may not read changes nothing that they see: no rank, no score, no count, no error and no number.
///
/// ```rust
/// use ragdb::Principal;
///
/// # fn main() -> ragdb::Result<()> {
/// let alice = Principal::new("acme", "alice")?.with_group("hr")?.with_group("staff")?;
/// let anyone = Principal::public();
/// let owner = Principal::operator();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    who: Who,
    /// Sorted, without repeats.
    scopes: Vec<String>,
    /// RFC 3339; `None` for the time of the call.
    as_of: Option<String>,
}

/// The kinds of readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// Whoever holds the file.
    Operator,
    /// Anyone, of no tenant.
    Public,
    /// Somebody that the caller has identified. The groups are sorted, without repeats.
    Known { tenant: String, subject: String, groups: Vec<String> },
}

/// The JSON form, as `--as FILE` reads it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    tenant: String,
    subject: String,
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    scopes: Vec<String>,
}

impl Principal {
    /// Whoever holds the file, and so can read all of it: no rule applies. Evidence is still limited to what is valid
    /// at the time.
    #[must_use]
    pub const fn operator() -> Self {
        Self { who: Who::Operator, scopes: Vec::new(), as_of: None }
    }

    /// Anyone: reads what is public and nothing else.
    #[must_use]
    pub const fn public() -> Self {
        Self { who: Who::Public, scopes: Vec::new(), as_of: None }
    }

    /// Somebody whom the caller has identified. `tenant` is empty for stores whose sources name no tenant.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the subject is empty, or a name has more than 256 bytes or a control character.
    pub fn new(tenant: impl Into<String>, subject: impl Into<String>) -> Result<Self> {
        let (tenant, subject) = (tenant.into(), subject.into());
        if !tenant.is_empty() {
            check_name("tenant", &tenant)?;
        }
        check_name("user", &subject)?;
        Ok(Self { who: Who::Known { tenant, subject, groups: Vec::new() }, scopes: Vec::new(), as_of: None })
    }

    /// Reads `{"tenant": …, "subject": …, "groups": […], "scopes": […]}`; `subject` is required.
    ///
    /// # Errors
    /// [`Error::Invalid`] where it is not that, and as [`Principal::new`].
    pub fn from_json(json: &str) -> Result<Self> {
        let written: Written = serde_json::from_str(json)
            .map_err(|error| Error::Invalid { message: format!("the principal can't be read: {error}") })?;
        let mut principal = Self::new(written.tenant, written.subject)?;
        for group in written.groups {
            principal = principal.with_group(group)?;
        }
        for scope in written.scopes {
            principal = principal.with_scope(scope)?;
        }
        Ok(principal)
    }

    /// The same, as a member of one more group of the tenant.
    ///
    /// # Errors
    /// [`Error::Invalid`] for the operator and the public, who have no groups, and for a bad name.
    pub fn with_group(mut self, group: impl Into<String>) -> Result<Self> {
        let group = group.into();
        check_name("group", &group)?;
        let Who::Known { groups, .. } = &mut self.who else {
            return Err(Error::Invalid { message: format!("a group ({group:?}) needs a user that is in it") });
        };
        insert(groups, group);
        Ok(self)
    }

    /// The same, limited to sources with one of the scopes named so.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a bad name.
    pub fn with_scope(mut self, scope: impl Into<String>) -> Result<Self> {
        let scope = scope.into();
        check_name("scope", &scope)?;
        insert(&mut self.scopes, scope);
        Ok(self)
    }

    /// The same, reading as of a time: a date (its first moment, UTC) or an RFC 3339 time. Which documents are valid
    /// is judged by it; nothing that is no longer stored comes back. Only the operator may look ahead.
    ///
    /// # Errors
    /// [`Error::Invalid`] where it is neither.
    pub fn as_of(mut self, time: &str) -> Result<Self> {
        self.as_of = Some(super::rule::instant(time)?);
        Ok(self)
    }

    /// Whether no rule applies.
    #[must_use]
    pub const fn is_operator(&self) -> bool {
        matches!(self.who, Who::Operator)
    }

    /// Whether this is the operator without a limit to some scopes: to all others a store is what they may read of it.
    #[must_use]
    pub fn reads_everything(&self) -> bool {
        self.is_operator() && self.scopes.is_empty()
    }

    pub(crate) const fn who(&self) -> &Who {
        &self.who
    }

    pub(crate) fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// The time that was asked for, in the form of [`super::rule::instant`].
    pub(crate) fn time(&self) -> Option<&str> {
        self.as_of.as_deref()
    }

    /// Who it is, as JSON: what a run's record keeps.
    pub(crate) fn to_json(&self) -> String {
        let mut fields = serde_json::Map::new();
        match &self.who {
            Who::Operator => drop(fields.insert("kind".into(), "operator".into())),
            Who::Public => drop(fields.insert("kind".into(), "public".into())),
            Who::Known { tenant, subject, groups } => {
                fields.insert("tenant".into(), tenant.as_str().into());
                fields.insert("subject".into(), subject.as_str().into());
                fields.insert("groups".into(), groups.as_slice().into());
            }
        }
        fields.insert("scopes".into(), self.scopes.as_slice().into());
        serde_json::Value::Object(fields).to_string()
    }

    /// Reads that form.
    pub(crate) fn from_record(json: &str) -> Option<Self> {
        let mut value: serde_json::Value = serde_json::from_str(json).ok()?;
        let fields = value.as_object_mut()?;
        let kind = fields.remove("kind");
        let mut principal = match kind.as_ref().map(serde_json::Value::as_str) {
            None => return Self::from_json(&value.to_string()).ok(),
            Some(Some("operator")) => Self::operator(),
            Some(Some("public")) => Self::public(),
            Some(_) => return None,
        };
        for scope in fields.get("scopes")?.as_array()? {
            principal = principal.with_scope(scope.as_str()?).ok()?;
        }
        Some(principal)
    }

    /// Who it is, groups, scopes and time left out: whose runs are whose.
    pub(crate) fn identity(&self) -> Digest {
        let mut hash = DigestBuilder::new("ragdb principal 1");
        match &self.who {
            Who::Operator => hash.field("operator"),
            Who::Public => hash.field("public"),
            Who::Known { tenant, subject, .. } => hash.field("known").field(tenant).field(subject),
        };
        hash.finish()
    }
}

fn insert(names: &mut Vec<String>, name: String) {
    if let Err(place) = names.binary_search(&name) {
        names.insert(place, name);
    }
}

/// Refuses what can't be a name of a tenant, user, group or scope.
pub(crate) fn check_name(what: &str, name: &str) -> Result<()> {
    let message = if name.trim().is_empty() {
        format!("the {what} is empty")
    } else if name.trim() != name {
        format!("the {what} {name:?} begins or ends with a space")
    } else if !is_nfc(name) {
        format!("the {what} {name:?} has letters and accents apart; write it composed (Unicode NFC)")
    } else if name.len() > LONGEST_NAME {
        format!("the {what} has {} bytes; a name has {LONGEST_NAME} or fewer", name.len())
    } else if name.chars().any(char::is_control) {
        format!("the {what} {name:?} has a control character")
    } else {
        return Ok(());
    };
    Err(Error::Invalid { message })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn groups_and_scopes_are_sets() {
        let one = Principal::new("t", "u").unwrap().with_group("b").unwrap().with_group("a").unwrap();
        let other = Principal::from_json(r#"{"tenant": "t", "subject": "u", "groups": ["a", "b", "a"]}"#).unwrap();
        assert_eq!(one, other);
        assert_eq!(one.identity(), Principal::new("t", "u").unwrap().identity());
        assert_ne!(one.identity(), Principal::new("", "u").unwrap().identity());
    }

    #[rstest]
    #[case::no_subject(r#"{"tenant": "t"}"#)]
    #[case::empty_subject(r#"{"subject": " "}"#)]
    #[case::unknown_field(r#"{"subject": "u", "admin": true}"#)]
    #[case::not_an_object(r#"["u"]"#)]
    #[case::a_control_character(r#"{"subject": "u\n"}"#)]
    #[case::an_outer_space(r#"{"subject": "eve "}"#)]
    #[case::accents_apart("{\"subject\": \"jose\u{301}\"}")]
    #[case::an_empty_group(r#"{"subject": "u", "groups": [""]}"#)]
    fn a_principal_that_cant_be_read_is_refused(#[case] json: &str) {
        assert!(Principal::from_json(json).is_err());
    }

    #[test]
    fn what_a_record_keeps_comes_back() {
        let known = Principal::new("t", "u").unwrap().with_group("g").unwrap();
        for principal in [known, Principal::public(), Principal::operator()] {
            let principal = principal.with_scope("s").unwrap();
            assert_eq!(Principal::from_record(&principal.to_json()), Some(principal));
        }
        assert_eq!(Principal::from_record("{}"), None);
    }

    #[test]
    fn nobody_in_particular_has_no_groups() {
        assert!(Principal::public().with_group("g").is_err());
        assert!(Principal::operator().with_group("g").is_err());
    }
}

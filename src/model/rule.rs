//! Who may read a document: what its front matter narrows, and the rule that comes of it.

use serde::{Deserialize, Serialize};

use super::{DocumentId, Visibility};
use crate::error::{Error, Result};

/// What a document says of its own readers. It can only narrow what its source allows.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Narrowing {
    pub visibility: Option<Visibility>,
    /// Sorted, without repeats.
    pub groups: Option<Vec<String>>,
    /// The first moment at which it is valid: see [`instant`].
    pub valid_from: Option<String>,
    /// The first moment at which it is not valid any more.
    pub valid_until: Option<String>,
}

/// Which documents have one rule in common, however the rule of their source changes: those of one source that narrow
/// it alike; a document that somebody granted or revoked by itself is a class of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct ClassKey {
    pub source_id: String,
    pub narrowing: Narrowing,
    /// The document's id, in hex.
    pub document: Option<String>,
    /// Whether the narrowing is more than front matter says: a rollback brought the documents back, and they had said more
    /// since. Until they are read again.
    pub kept: bool,
}

impl ClassKey {
    /// The key of a document's class.
    pub(crate) fn new(source_id: &str, narrowing: Narrowing, alone: Option<DocumentId>) -> Self {
        Self { source_id: source_id.to_owned(), narrowing, document: alone.map(|id| id.to_string()), kept: false }
    }

    /// The form in `acl_classes.class_key`.
    pub(crate) fn to_json(&self) -> String {
        let mut key = serde_json::json!({
            "source": self.source_id,
            "visibility": self.narrowing.visibility,
            "groups": self.narrowing.groups,
            "valid_from": self.narrowing.valid_from,
            "valid_until": self.narrowing.valid_until,
            "document": self.document,
        });
        if self.kept {
            key["kept"] = true.into();
        }
        key.to_string()
    }

    /// Reads that form.
    pub(crate) fn from_json(json: &str) -> Option<Self> {
        let value: serde_json::Value = serde_json::from_str(json).ok()?;
        let text = |name: &str| match &value[name] {
            serde_json::Value::Null => Some(None),
            serde_json::Value::String(text) => Some(Some(text.clone())),
            _ => None,
        };
        let narrowing = Narrowing {
            visibility: serde_json::from_value(value["visibility"].clone()).ok()?,
            groups: serde_json::from_value(value["groups"].clone()).ok()?,
            valid_from: text("valid_from")?,
            valid_until: text("valid_until")?,
        };
        let kept = value.get("kept").map_or(Some(false), serde_json::Value::as_bool)?;
        Some(Self { source_id: text("source")??, narrowing, document: text("document")?, kept })
    }
}

/// Whom a rule lets in or keeps out. Groups and users are those of the rule's tenant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Member {
    /// Anyone at all.
    Everyone,
    /// Anyone identified of the tenant.
    Tenant,
    /// The members of a group.
    Group(String),
    /// One user.
    User(String),
}

impl std::fmt::Display for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Everyone => f.write_str("anyone"),
            Self::Tenant => f.write_str("anyone of the tenant"),
            Self::Group(name) => write!(f, "group {name:?}"),
            Self::User(name) => write!(f, "user {name:?}"),
        }
    }
}

impl Member {
    /// The kind (`everyone`, `tenant`, `group` or `user`) and the name, which is empty but for the last two.
    #[must_use]
    pub fn columns(&self) -> (&'static str, &str) {
        match self {
            Self::Everyone => ("everyone", ""),
            Self::Tenant => ("tenant", ""),
            Self::Group(name) => ("group", name),
            Self::User(name) => ("user", name),
        }
    }
}

/// The rule of a class: its source's, narrowed, with what was granted and revoked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rule {
    pub tenant: String,
    pub scope: Option<String>,
    pub valid_from: Option<String>,
    pub valid_until: Option<String>,
    /// Sorted, without repeats.
    pub allow: Vec<Member>,
    /// Stronger than `allow`. Sorted, without repeats.
    pub deny: Vec<Member>,
}

/// A date (its first moment, UTC) or an RFC 3339 time, in the one form whose order as text is the order in time:
/// `2026-11-30T00:00:00.000Z`.
pub(crate) fn instant(text: &str) -> Result<String> {
    let text = text.trim();
    let is_date = text.len() == "2026-11-30".len();
    let time: Option<jiff::Timestamp> = if is_date { format!("{text}T00:00:00Z").parse() } else { text.parse() }.ok();
    // Four digits of the year, so that texts compare as times do.
    match time.map(written).filter(|time| time.len() == "2026-11-30T00:00:00.000Z".len()) {
        Some(time) => Ok(time),
        None => Err(Error::Invalid {
            message: format!("{text:?} is no date such as 2026-11-30 and no time such as 2026-11-30T12:00:00Z"),
        }),
    }
}

/// The form of [`instant`].
pub(crate) fn written(time: jiff::Timestamp) -> String {
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("2026-11-30", "2026-11-30T00:00:00.000Z")]
    #[case("2026-11-30T12:00:00+02:00", "2026-11-30T10:00:00.000Z")]
    #[case(" 2026-11-30T12:00:00.1234Z ", "2026-11-30T12:00:00.123Z")]
    fn times_have_one_form(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(instant(text).unwrap(), expected);
    }

    #[rstest]
    #[case("")]
    #[case("tomorrow")]
    #[case("2026-13-01")]
    #[case("30.11.2026")]
    #[case("2026-11-30T12:00:00")]
    fn other_times_are_refused(#[case] text: &str) {
        assert!(instant(text).is_err(), "{text}");
    }

    #[test]
    fn a_class_key_comes_back() {
        let narrowing =
            Narrowing { visibility: Some(Visibility::Private), groups: Some(vec!["a".into()]), ..Narrowing::default() };
        let key = ClassKey::new("docs", narrowing, Some(DocumentId::new("docs", "a.md")));
        let kept = ClassKey { kept: true, ..key.clone() };
        assert_ne!(kept.to_json(), key.to_json());
        for key in [key, kept] {
            assert_eq!(ClassKey::from_json(&key.to_json()), Some(key));
        }
        assert_eq!(ClassKey::from_json("{}"), None);
    }
}

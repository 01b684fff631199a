use std::collections::HashMap;

use crate::error::Result;
use crate::model::rule::{ClassKey, Member, Narrowing, Rule};
use crate::store::Connection;
use crate::store::access::{self, ClassRule};

pub(crate) fn narrowing(
    _fields: Option<&serde_json::Map<String, serde_json::Value>>,
    _tenant: Option<&str>,
) -> std::result::Result<Narrowing, String> {
    Ok(Narrowing::default())
}

pub(crate) struct Update<'c> {
    conn: &'c Connection,
    known: HashMap<ClassKey, i64>,
}

pub(crate) struct AccessReport {
    pub epoch: u64,
    pub notes: Vec<(String, String)>,
}

impl<'c> Update<'c> {
    pub(crate) fn begin(conn: &'c Connection, _groups: Option<&[String]>) -> Result<Self> {
        Ok(Self { conn, known: HashMap::new() })
    }
    pub(crate) fn class_of(&mut self, key: &ClassKey) -> Result<i64> {
        if let Some(&n) = self.known.get(key) {
            return Ok(n);
        }
        let n = access::shim_class(self.conn, key)?;
        self.known.insert(key.clone(), n);
        Ok(n)
    }
    pub(crate) fn moved(&mut self, _old: i64, _new: i64) -> Result<()> {
        Ok(())
    }
    pub(crate) fn finish(self, _reason: &str) -> Result<AccessReport> {
        let mut rules = vec![ClassRule::unruled()];
        for (no, key) in access::keys(self.conn)? {
            if no > 0 {
                let rule = Rule {
                    tenant: String::new(),
                    scope: None,
                    valid_from: None,
                    valid_until: None,
                    allow: vec![Member::Tenant],
                    deny: vec![],
                };
                rules.push(ClassRule { class_no: no, source_id: key.source_id, rule });
            }
        }
        rules.sort_by_key(|r| r.class_no);
        crate::store::settings::write_acl(self.conn, &serde_json::to_string(&rules).unwrap())?;
        Ok(AccessReport { epoch: 0, notes: Vec::new() })
    }
}

//! The rules of access: what reads use against what auditors see, and both against what they come from.

use std::collections::HashMap;

use super::{Damage, Findings};
use crate::access::{Grounds, Lost, differs, key_of, lost, narrower, row};
use crate::error::Result;
use crate::model::rule::ClassKey;
use crate::store::access::{self, ClassRow, ClassRule};
use crate::store::{self, Connection, classes};

/// Every class has the rule that it comes from, in both places; every document is in its class, and so are its chunks.
pub(super) fn access(conn: &Connection, findings: &mut Findings) -> Result<()> {
    let rows = access::classes(conn)?;
    findings.count = rows.len() as u64;
    in_force(conn, &rows, findings)?;
    let grounds = Grounds::read(conn)?;
    let unruled = classes::has_unruled(conn)?;
    findings.expect(unruled, || "class 0, of documents without a rule, is missing".into());
    let lost = lost(conn, &grounds)?;
    for Lost { class_no, key } in &lost {
        findings.expect_as(if key.is_ok() { Damage::Access } else { Damage::File }, false, || match key {
            Ok(_) => format!("class {class_no}: it has documents, and its row is missing"),
            Err(why) => format!("class {class_no}: its row is missing and can't be made again: {why}"),
        });
    }
    for class in &rows {
        let expected = row(class.class_no, class.key.clone(), grounds.rule(&class.key));
        findings.expect(!differs(&class.rule, &expected.rule), || {
            format!("{}: its rule lets in others than source, front matter and acts do", named(class))
        });
        findings.expect(differs(&class.rule, &expected.rule) || *class == expected, || {
            format!("{}: its row is not what source, front matter and acts make of it", named(class))
        });
    }
    for stray in access::strays(conn)? {
        findings.expect_as(Damage::History, false, || stray);
    }
    documents(conn, &rows, &lost, &grounds, findings)?;
    let (epoch, head) = (access::epoch(conn)?, store::generations::head(conn)?);
    findings.expect_as(Damage::History, head.as_ref().is_none_or(|head| head.acl_epoch <= epoch), || {
        format!("acl_epochs ends with {epoch}, and the newest generation was published under a later one")
    });
    Ok(())
}

/// What reads use is what stands in `acl_classes` and `acl_members`.
fn in_force(conn: &Connection, rows: &[ClassRow], findings: &mut Findings) -> Result<()> {
    let rules = access::written_rules(conn)?;
    findings.expect(rules.first() == Some(&ClassRule::unruled()), || {
        "settings.acl does not begin with the class of documents without a rule".into()
    });
    let mut used: HashMap<i64, ClassRule> = rules.into_iter().skip(1).map(|rule| (rule.class_no, rule)).collect();
    for class in rows {
        let found = used.remove(&class.class_no);
        let same = found.is_some_and(|found| found.rule == class.rule && found.source_id == class.key.source_id);
        findings.expect(same, || format!("{}: settings.acl has another rule, or none", named(class)));
    }
    for class_no in used.keys() {
        findings.expect(false, || format!("class {class_no}: settings.acl has it, acl_classes has not"));
    }
    Ok(())
}

/// Each document is in the class that its source, its front matter and its acts put it in.
fn documents(
    conn: &Connection,
    rows: &[ClassRow],
    lost: &[Lost],
    grounds: &Grounds,
    findings: &mut Findings,
) -> Result<()> {
    let alone = access::documents_with_acts(conn)?;
    let by_number: HashMap<i64, &ClassRow> = rows.iter().map(|class| (class.class_no, class)).collect();
    let (mut behind, unruled) = (HashMap::new(), classes::has_unruled(conn)?);
    store::documents::for_each(conn, |number, document| {
        let place = || format!("document {} ({})", document.document_id, document.path);
        if document.class_no != 0 {
            match by_number.get(&document.class_no) {
                None if lost.iter().any(|lost| lost.class_no == document.class_no) => {}
                None => findings.expect_as(Damage::Documents, false, || format!("{}: its class is missing", place())),
                Some(class) => {
                    let own = alone.contains(&document.document_id).then_some(document.document_id);
                    let key = key_of(&document, own, grounds);
                    let is_own = key.as_ref().is_ok_and(|key| belongs(key, &class.key));
                    findings.expect_as(Damage::Documents, is_own, || match key {
                        Ok(_) => format!("{}: it is in {}, where it does not belong", place(), named(class)),
                        Err(message) => format!("{}: {message}", place()),
                    });
                }
            }
        }
        let behind = if let Some(&behind) = behind.get(&document.class_no) {
            behind
        } else {
            let has_row = if document.class_no == 0 { unruled } else { by_number.contains_key(&document.class_no) };
            // Of a class without a row nobody knows where its numbers end.
            let next = if has_row { classes::next_chunk(conn, document.class_no)? } else { i64::MAX };
            behind.insert(document.class_no, next);
            next
        };
        let own = classes::first_chunk(document.class_no)..behind;
        for chunk in store::chunks::of_document(conn, number)? {
            let is_of_class = classes::class_of(chunk.chunk_no) == document.class_no;
            let kind = if is_of_class { Damage::History } else { Damage::Documents };
            findings.expect_as(kind, own.contains(&chunk.chunk_no), || {
                format!("chunk {} ({}): its number is not one of its class", chunk.id(), document.path)
            });
        }
        Ok(())
    })
}

/// Whether a document whose source, front matter and acts say `said` may be in the class with this key. After a rollback
/// it may be in one that is narrower, and says so.
fn belongs(said: &ClassKey, class: &ClassKey) -> bool {
    let narrowing = if class.kept { narrower(&said.narrowing, &class.narrowing) } else { said.narrowing.clone() };
    ClassKey { narrowing, kept: class.kept, ..said.clone() } == *class
}

fn named(class: &ClassRow) -> String {
    format!("class {} of source {}", class.class_no, class.key.source_id)
}

use super::super::scope::{Scope, Seen};
use super::*;
use crate::model::rule::Narrowing;
use crate::model::{DocumentId, Principal, Visibility};
use crate::store::Store;
use crate::store::sources::SourceRow;

fn declare(tx: &Connection, source_id: &str, visibility: &str, groups: &[&str]) -> i64 {
    let list = || "[]".to_owned();
    let row = SourceRow {
        source_id: source_id.into(),
        kind: "markdown".into(),
        root: ".".into(),
        declared_by: "config".into(),
        scope: None,
        visibility: visibility.into(),
        tenant: Some("acme".into()),
        groups: serde_json::Value::from(groups.to_vec()).to_string(),
        include: list(),
        exclude: list(),
        required_metadata: list(),
        hidden: false,
        respect_gitignore: false,
        max_file_bytes: 1,
        trust: "none".into(),
        reviewed: list(),
    };
    sources::put(tx, &row).unwrap()
}

fn document(tx: &Connection, source_no: i64, path: &str, class_no: i64) {
    let zeros = "0".repeat(64);
    tx.execute_batch(&format!(
        "INSERT OR IGNORE INTO generations VALUES (1, NULL, '', 0, 0, 0, 0, 0, 0, 0, 0, '{zeros}', '{zeros}', NULL, '',
         '{zeros}', 0);"
    ))
    .unwrap();
    let sql = "INSERT INTO documents (document_digest, source_no, path, title, lang, revision, content_digest, size_bytes, \
               lines, generation_added, generation_updated, record_digest, class_no) \
               VALUES (?1, ?2, ?3, '', '', 1, ?4, 0, 0, 1, 1, ?4, ?5)";
    let id = DocumentId::new("docs", path);
    tx.execute(sql, (id.as_bytes(), source_no, path, [0; 32], class_no)).unwrap();
}

fn key(source_id: &str, groups: Option<&[&str]>) -> ClassKey {
    let groups = groups.map(|groups| groups.iter().map(|&group| group.to_owned()).collect());
    ClassKey::new(source_id, Narrowing { groups, ..Narrowing::default() }, None)
}

fn in_store(work: impl FnOnce(&Connection) -> Result<()>) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path().join("ragdb.db")).unwrap();
    store.write(|tx| work(tx)).unwrap();
}

fn hr() -> Principal {
    Principal::new("acme", "helen").unwrap().with_group("hr").unwrap()
}

/// The epoch as somebody sees it.
fn epoch(tx: &Connection, principal: &Principal) -> u64 {
    let scope = Scope::of(tx, principal, Seen::Stored).unwrap();
    crate::access::history::epoch(tx, &scope).unwrap()
}

fn sees(tx: &Connection, principal: &Principal) -> Vec<i64> {
    Scope::of(tx, principal, Seen::Stored).unwrap().classes().to_vec()
}

#[test]
fn new_classes_and_documents_raise_no_epoch() {
    in_store(|tx| {
        let docs = declare(tx, "docs", "internal", &[]);
        let mut update = Update::begin(tx, None)?;
        assert_eq!(update.class_of(&key("docs", None))?, 1);
        assert_eq!(update.class_of(&key("docs", Some(&["hr"])))?, 2);
        assert_eq!(update.class_of(&key("docs", None))?, 1);
        document(tx, docs, "a.md", 1);
        let report = update.finish("sync")?;
        assert_eq!(report, AccessReport { epoch: 0, raised: false, notes: Vec::new() });
        let staff = Principal::new("acme", "sam")?;
        assert_eq!(sees(tx, &staff), [1]);
        assert_eq!(sees(tx, &hr()), [1, 2]);
        assert!(sees(tx, &Principal::public()).is_empty());
        assert!(sees(tx, &Principal::new("umbrella", "sam")?).is_empty());
        assert_eq!(sees(tx, &Principal::operator()), [0, 1, 2]);
        // Once more: nothing changes.
        let mut update = Update::begin(tx, None)?;
        assert_eq!(update.class_of(&key("docs", Some(&["hr"])))?, 2);
        assert!(!update.finish("sync")?.raised);
        Ok(())
    });
}

#[test]
fn a_changed_source_concerns_those_who_read_more_or_less() {
    in_store(|tx| {
        let docs = declare(tx, "docs", "private", &["hr", "ops"]);
        let mut update = Update::begin(tx, None)?;
        let class = update.class_of(&key("docs", None))?;
        // Of no document: changes of its rule concern nobody.
        update.class_of(&key("docs", Some(&["ops"])))?;
        document(tx, docs, "a.md", class);
        update.finish("sync")?;

        declare(tx, "docs", "private", &["hr", "legal"]);
        let report = Update::begin(tx, None)?.finish("sync of docs")?;
        assert_eq!((report.epoch, report.raised), (1, true));
        let note = "group \"ops\" widens the source's rule: ignored";
        assert!(report.notes.contains(&("docs".into(), note.into())), "{:?}", report.notes);
        let member = |group: &str| Principal::new("acme", "someone").unwrap().with_group(group).unwrap();
        let seen = |principal: &Principal| epoch(tx, principal);
        // Whom it let in then and lets in now are told alike; whom it does not let in any more, nothing.
        assert_eq!([seen(&member("hr")), seen(&member("ops")), seen(&member("legal"))], [1, 0, 1]);
        assert_eq!([seen(&Principal::public()), seen(&Principal::operator())], [0, 1]);
        assert_eq!(seen(&Principal::new("umbrella", "u")?.with_group("ops")?), 0);
        assert_eq!(access::epochs(tx)?[0].reason, "sync of docs");

        declare(tx, "docs", "public", &[]);
        assert_eq!(Update::begin(tx, None)?.finish("sync")?.epoch, 2);
        assert_eq!([seen(&Principal::public()), seen(&member("hr")), seen(&member("legal"))], [2, 2, 2]);
        Ok(())
    });
}

#[test]
fn a_source_that_goes_takes_its_readers_along() {
    in_store(|tx| {
        let docs = declare(tx, "docs", "internal", &[]);
        let mut update = Update::begin(tx, None)?;
        let class = update.class_of(&key("docs", None))?;
        document(tx, docs, "a.md", class);
        update.finish("sync")?;

        let update = Update::begin(tx, None)?;
        let record = "INSERT INTO class_generations VALUES (1, 1, 0, 0, 1, 0, 0, 0, printf('%064d', 0))";
        tx.execute_batch(&format!("DELETE FROM documents; {record}"))?;
        sources::delete(tx, docs)?;
        let report = update.finish("sync")?;
        assert!(report.raised);
        assert_eq!(report.notes, [("docs".into(), "no members: its source is declared no longer".into())]);
        assert!(sees(tx, &Principal::new("acme", "sam")?).is_empty());
        Ok(())
    });
}

#[test]
fn a_document_that_moves_is_told_to_those_who_read_where_it_was_or_is() {
    in_store(|tx| {
        declare(tx, "docs", "internal", &[]);
        let mut update = Update::begin(tx, None)?;
        let wide = update.class_of(&key("docs", Some(&["hr", "ops"])))?;
        let narrow = update.class_of(&key("docs", Some(&["hr"])))?;
        let same = Narrowing { visibility: Some(Visibility::Internal), ..key("docs", Some(&["hr"])).narrowing };
        let same = update.class_of(&ClassKey::new("docs", same, None))?;
        update.moved(narrow, same)?;
        assert!(!update.finish("sync")?.raised);

        let mut update = Update::begin(tx, None)?;
        update.moved(wide, narrow)?;
        assert_eq!(update.finish("sync")?.epoch, 1);
        let ops = Principal::new("acme", "olga")?.with_group("ops")?;
        assert_eq!((epoch(tx, &hr()), epoch(tx, &ops)), (1, 1));
        assert_eq!(access::epochs(tx)?[0].concerned, [("acme".into(), Member::Group("ops".into()))]);
        // From before there were rules.
        let mut update = Update::begin(tx, None)?;
        update.moved(0, narrow)?;
        assert_eq!(update.finish("sync")?.epoch, 2);
        assert_eq!((epoch(tx, &hr()), epoch(tx, &ops)), (2, 1));
        let mut update = Update::begin(tx, None)?;
        assert!(update.moved(0, 77).is_err());
        Ok(())
    });
}

#[test]
fn acts_and_the_groups_that_there_are_change_rules_in_place() {
    in_store(|tx| {
        let docs = declare(tx, "docs", "private", &[]);
        let groups = ["hr".to_owned()];
        let mut update = Update::begin(tx, Some(&KnownGroups::Only(groups.to_vec())))?;
        let class = update.class_of(&key("docs", None))?;
        document(tx, docs, "a.md", class);
        update.finish("sync")?;
        assert_eq!(access::known_groups(tx)?.as_deref(), Some(&groups[..]));

        let act = |subject: Member, allow| Act {
            target: Target::Source("docs".into()),
            subject,
            allow,
            tenant: "acme".into(),
        };
        let grant = act(Member::Group("hr".into()), true);
        let mut update = Update::begin(tx, None)?;
        update.act(grant.clone())?;
        let report = update.finish("grant group hr on source docs")?;
        assert!(report.raised && report.notes.is_empty(), "{report:?}");
        assert_eq!(access::acts(tx)?, [grant]);
        assert_eq!(sees(tx, &hr()), [class]);

        let mut update = Update::begin(tx, None)?;
        update.act(act(Member::User("helen".into()), false))?;
        assert_eq!(update.finish("revoke user helen")?.epoch, 2);
        assert!(sees(tx, &hr()).is_empty());
        assert_eq!(epoch(tx, &hr()), 0, "she reads nothing of it any more");

        // Another list: the granted group is unknown now.
        let report = Update::begin(tx, Some(&KnownGroups::Only(vec!["ops".to_owned()])))?.finish("sync")?;
        assert!(report.raised, "{report:?}");
        assert_eq!(report.notes.len(), 2);
        // An empty list: no name is a group, and nobody is let in more than before.
        let before = sees(tx, &hr());
        Update::begin(tx, Some(&KnownGroups::Only(Vec::new())))?.finish("sync")?;
        assert_eq!((access::known_groups(tx)?, sees(tx, &hr())), (Some(Vec::new()), before));
        // No list: any name is a group.
        assert!(Update::begin(tx, Some(&KnownGroups::Any))?.finish("sync")?.raised);
        assert_eq!(access::known_groups(tx)?, None);

        assert!(access::documents_with_acts(tx)?.is_empty());
        let document = DocumentId::new("docs", "a.md");
        let mut update = Update::begin(tx, None)?;
        let target = Target::Document(document.to_string());
        update.act(Act { target, subject: Member::User("eve".into()), allow: true, tenant: "acme".into() })?;
        let alone = update.class_of(&ClassKey::new("docs", Narrowing::default(), Some(document)))?;
        update.moved(class, alone)?;
        assert!(update.finish("grant user eve on a.md")?.raised);
        assert_eq!(sees(tx, &Principal::new("acme", "eve")?), [alone]);
        assert_eq!(access::documents_with_acts(tx)?.into_iter().collect::<Vec<_>>(), [document]);
        Ok(())
    });
}

#[test]
fn what_happens_to_other_classes_costs_a_reader_nothing() {
    in_store(|tx| {
        let mut update = Update::begin(tx, None)?;
        let [own, other] = [Some(&["hr"][..]), None].map(|groups| update.class_of(&key("docs", groups)).unwrap());
        update.finish("sync")?;
        let steps = || {
            let sql = "SELECT DISTINCT e.epoch FROM json_each(?1) k \
                       CROSS JOIN acl_class_epochs e ON e.class_no = k.value ORDER BY e.epoch";
            access::epochs_of(tx, &[own]).unwrap();
            tx.prepare_cached(sql).unwrap().reset_status(rusqlite::StatementStatus::VmStep)
        };
        let before = steps();
        assert!(before > 0);
        for _ in 0..50 {
            let concerned = [Concern::new("acme", Member::Group("hr".into()))];
            access::raise(tx, "", &BTreeSet::from(concerned), &BTreeSet::from([0, other]))?;
        }
        assert_eq!(steps(), before);
        assert_eq!((access::epochs_of(tx, &[own])?.len(), access::epochs_of(tx, &[own, other])?.len()), (0, 50));
        Ok(())
    });
}

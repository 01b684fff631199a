//! Who may read what: declared, narrowed, granted and revoked, and explained.

mod gone;
mod groups;
mod unread;

use ragdb::{
    AccessClass, AclChange, AclReport, Config, DocumentId, Error, Member, Principal, SearchRequest, Store, SyncReport,
    SyncRequest, SyncSources,
};
use rstest::rstest;

use crate::world::{Content, World, assert_sound, rows, value, write};

const YAML: &str = "access: {groups: [hr, ops, legal]}
sources:
  - {id: docs, path: docs, visibility: internal, tenant: acme, scope: guides}
  - {id: staff, path: staff, visibility: private, tenant: acme, groups: [hr, legal]}
  - {id: open, path: open, visibility: public}
";

fn sync(world: &World, yaml: &str) -> SyncReport {
    let config = Config::from_yaml(yaml, world.path().join("ragdb.yaml")).expect("a good configuration");
    let request = SyncRequest { sources: SyncSources::Config(config), ..SyncRequest::default() };
    world.store().sync(&request).expect("the sync succeeds")
}

/// Three sources: documents for the tenant, for two groups (one document for one of them), and for anyone.
fn world() -> World {
    let world = World::new(&[
        ("keys.md", "# Keys\n\nRotate a key every 90 days.\n"),
        ("old.md", "---\nvalid_until: 2020-12-31\n---\n# Old\n\nIt was so.\n"),
    ]);
    write(&world.path().join("staff/pay.md"), b"# Pay\n\nSalaries are paid on day 25.\n");
    write(&world.path().join("staff/suit.md"), b"---\ngroups: legal\n---\n# Suit\n\nThe suit is settled.\n");
    write(&world.path().join("open/index.md"), b"# Open\n\nRead this.\n");
    let report = sync(&world, YAML);
    assert_eq!((report.documents.added, report.acl_epoch), (5, 0));
    world
}

fn known(user: &str, groups: &[&str]) -> Principal {
    let principal = Principal::new("acme", user).unwrap();
    groups.iter().fold(principal, |principal, group| principal.with_group(*group).unwrap())
}

/// Which of the documents somebody may read.
fn readable(store: &Store, principal: &Principal) -> Vec<&'static str> {
    let mut paths = vec!["keys.md", "old.md", "pay.md", "suit.md", "index.md"];
    paths.retain(|path| store.explain_access(path, principal).expect("an explanation").allowed);
    paths
}

fn group(name: &str) -> Member {
    Member::Group(name.into())
}

fn user(name: &str) -> Member {
    Member::User(name.into())
}

fn grant(store: &Store, change: AclChange) -> AclReport {
    store.grant(&change).expect("it is granted")
}

fn class<'a>(classes: &'a [AccessClass], source_id: &str, path: Option<&str>) -> &'a AccessClass {
    classes.iter().find(|class| class.source_id == source_id && class.path.as_deref() == path).expect("a class")
}

#[test]
fn readers_see_what_source_and_front_matter_let_them() {
    let world = world();
    let store = world.store();
    assert_eq!(readable(&store, &Principal::public()), ["index.md"]);
    assert_eq!(readable(&store, &known("sam", &[])), ["keys.md", "index.md"]);
    assert_eq!(readable(&store, &known("helen", &["hr"])), ["keys.md", "pay.md", "index.md"]);
    assert_eq!(readable(&store, &known("leo", &["legal"])), ["keys.md", "pay.md", "suit.md", "index.md"]);
    assert_eq!(
        readable(&store, &Principal::new("umbrella", "leo").unwrap().with_group("legal").unwrap()),
        ["index.md"]
    );
    assert_eq!(readable(&store, &Principal::operator()), ["keys.md", "pay.md", "suit.md", "index.md"]);
    let then = Principal::operator().as_of("2020-12-31T23:59:59Z").unwrap();
    assert_eq!(readable(&store, &then).len(), 5);
    let scoped = known("sam", &[]).with_scope("guides").unwrap();
    assert_eq!(readable(&store, &scoped), ["keys.md"]);
    assert_sound(&store);
}

#[test]
fn what_is_granted_on_a_source_stays_out_of_documents_that_narrow_it() {
    let world = world();
    let store = world.store();
    let before = Content::of(&store);
    let report = grant(&store, AclChange::group("staff", "ops").unwrap().with_reason("audit 7").unwrap());
    assert_eq!((report.target.as_str(), report.changed, report.epoch, report.documents), ("source staff", true, 1, 1));
    assert_eq!((report.gained, report.lost), (vec![group("ops")], vec![]));
    let note = "group \"ops\" was granted on the source, which the document narrows: not let in";
    assert_eq!(report.notes, [note]);
    assert_eq!(readable(&store, &known("olga", &["ops"])), ["keys.md", "pay.md", "index.md"]);
    let [epoch] = store.access_log().unwrap().try_into().unwrap();
    assert_eq!(epoch.reason, "grant group \"ops\" on source staff: audit 7");
    assert_eq!(epoch.concerned, [("acme".to_owned(), group("ops"))]);

    let report = store.revoke(&AclChange::user("staff", "leo").unwrap()).unwrap();
    assert_eq!((report.documents, report.lost), (2, vec![user("leo")]));
    assert!(report.notes[0].contains("also where a group of theirs is let in"), "{:?}", report.notes);
    assert_eq!(readable(&store, &known("leo", &["legal"])), ["keys.md", "index.md"]);
    let report = grant(&store, AclChange::user("staff", "leo").unwrap());
    assert_eq!((report.epoch, report.gained), (3, vec![user("leo")]));
    assert_eq!(readable(&store, &known("leo", &["legal"])), ["keys.md", "pay.md", "suit.md", "index.md"]);
    assert_eq!(readable(&store, &known("leo", &[])), ["keys.md", "pay.md", "index.md"]);
    // No document was touched, and a sync has nothing to do.
    Content::of(&store).assert_equals(&before, "content");
    assert!(!sync(&world, YAML).published);
    assert_sound(&store);
}

#[test]
fn a_document_with_acts_of_its_own_is_a_class_by_itself() {
    let world = world();
    let store = world.store();
    let before = Content::of(&store);
    let report = grant(&store, AclChange::user("suit.md", "eve").unwrap());
    assert_eq!((report.target.as_str(), report.documents, report.epoch), ("document staff:suit.md", 1, 1));
    let report = store.revoke(&AclChange::group("docs:keys.md", "ops").unwrap()).unwrap();
    assert_eq!((report.lost, report.epoch), (vec![group("ops")], 2));
    assert!(report.notes[0].starts_with("anyone of the tenant is let in: from now on all but"), "{:?}", report.notes);
    assert_eq!(readable(&store, &known("eve", &["ops"])), ["suit.md", "index.md"]);
    let classes = store.access_rules(None).unwrap();
    let own = class(&classes, "staff", Some("suit.md"));
    assert_eq!((&own.allow, own.documents), (&vec![group("legal"), user("eve")], 1));
    assert_eq!(class(&classes, "docs", Some("keys.md")).deny, [group("ops")]);
    Content::of(&store).assert_equals(&before, "content");
    assert_sound(&store);

    // The acts stay with the document: when it is edited, narrows itself otherwise, is deleted and comes back.
    write(&world.path().join("staff/suit.md"), b"# Suit\n\nThe suit is not settled.\n");
    assert!(sync(&world, YAML).published);
    assert_eq!(store.access_rules(Some("staff")).unwrap().iter().filter(|class| class.path.is_some()).count(), 2);
    assert_eq!(readable(&store, &known("helen", &["hr"])), ["keys.md", "pay.md", "suit.md", "index.md"]);
    assert_eq!(readable(&store, &known("eve", &[])), ["keys.md", "suit.md", "index.md"]);
    std::fs::remove_file(world.path().join("staff/suit.md")).unwrap();
    sync(&world, YAML);
    write(&world.path().join("staff/suit.md"), b"# Suit\n\nIt is open again.\n");
    sync(&world, YAML);
    assert_eq!(readable(&store, &known("eve", &[])), ["keys.md", "suit.md", "index.md"]);
    assert_sound(&store);
}

#[test]
fn a_change_that_changes_nothing_raises_no_epoch() {
    let world = world();
    let store = world.store();
    for change in [AclChange::group("staff", "hr"), AclChange::user("docs", "sam"), AclChange::group("open", "ops")] {
        let report = grant(&store, change.unwrap());
        assert!(!report.changed && report.epoch == 0, "{report:?}");
        assert!(report.notes[0].contains("is let in already"), "{report:?}");
    }
    assert!(store.revoke(&AclChange::user("staff", "eve").unwrap()).unwrap().changed);
    let report = store.revoke(&AclChange::user("staff", "eve").unwrap()).unwrap();
    assert!(!report.changed && report.epoch == 1, "{report:?}");
    assert_eq!(report.notes.first().unwrap(), "user \"eve\" was revoked already: nothing changed");
    assert_eq!(value(&store, "SELECT count(*) FROM acl_acts"), "1");
    assert_eq!(store.access_log().unwrap().len(), 1);
}

#[rstest]
#[case::a_public_source("open", group("ops"), "public_rule")]
#[case::a_public_document("index.md", group("ops"), "public_rule")]
#[case::an_unknown_group("staff", group("opps"), "unknown_group")]
#[case::an_unknown_target("nowhere.md", group("ops"), "not_found")]
#[case::a_path_in_two_sources("same.md", group("ops"), "invalid")]
fn what_cant_be_revoked_is_refused(#[case] target: &str, #[case] subject: Member, #[case] code: &str) {
    let world = world();
    for folder in ["docs", "staff"] {
        write(&world.path().join(folder).join("same.md"), b"# Same\n\nText.\n");
    }
    sync(&world, YAML);
    let store = world.store();
    let before = rows(&store, "SELECT * FROM acl_members");
    let change = match subject {
        Member::Group(name) => AclChange::group(target, name),
        _ => AclChange::user(target, "eve"),
    };
    let error = store.revoke(&change.unwrap()).unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert_eq!(rows(&store, "SELECT * FROM acl_members"), before);
    assert!(store.access_log().unwrap().is_empty());
}

#[test]
fn a_document_of_a_public_source_that_narrows_it_can_be_revoked() {
    let world = world();
    write(&world.path().join("open/inside.md"), b"---\nvisibility: internal\n---\n# Inside\n\nText.\n");
    sync(&world, YAML);
    assert!(world.store().revoke(&AclChange::user("inside.md", "eve").unwrap()).unwrap().changed);
}

#[test]
fn front_matter_that_is_no_rule_fails_its_file() {
    let world = world();
    write(&world.path().join("staff/bad.md"), b"---\nvisibility: 7\n---\n# Bad\n\nText.\n");
    write(&world.path().join("staff/other.md"), b"+++\ntenant = \"umbrella\"\n+++\n# Other\n\nText.\n");
    write(&world.path().join("staff/late.md"), b"+++\nvalid_from = 2030-01-01\n+++\n# Late\n\nText.\n");
    let config = Config::from_yaml(YAML, world.path().join("ragdb.yaml")).unwrap();
    let request = SyncRequest { sources: SyncSources::Config(config), ..SyncRequest::default() };
    let Err(Error::SyncFailed { failures }) = world.store().sync(&request) else { panic!("the sync fails") };
    let failed: Vec<_> = failures.iter().map(|failure| (failure.path.as_str(), failure.code)).collect();
    assert_eq!(failed, [("bad.md", "access_invalid"), ("other.md", "access_invalid")]);
    assert!(failures[0].message.contains("visibility is 7; it must be"), "{}", failures[0].message);
    let report = world.store().sync(&SyncRequest { keep_going: true, ..request }).unwrap();
    assert_eq!(report.documents.added, 1);
    let late = world.store().explain_access("late.md", &known("helen", &["hr"])).unwrap();
    assert!(!late.allowed);
    assert_eq!(late.steps.last().unwrap().passed, Some(false));
}

#[test]
fn what_was_said_in_vain_is_named() {
    let world = world();
    let text = b"---\nvisibility: public\ngroups: [hr, ops, hrr]\n---\n# Wide\n\nText.\n";
    write(&world.path().join("staff/wide.md"), text);
    let report = sync(&world, YAML);
    let notes = [
        "group \"hrr\" widens the source's rule: ignored",
        "group \"ops\" widens the source's rule: ignored",
        "visibility public widens that of the source, private: ignored",
    ];
    assert_eq!(report.access_notes, notes.map(|note| ("staff".to_owned(), note.to_owned())));
    let explained = world.store().explain_access("wide.md", &known("leo", &["legal"])).unwrap();
    assert!(!explained.allowed);
    let noted: Vec<_> = explained.steps.iter().filter(|step| step.name == "note").map(|step| &*step.detail).collect();
    assert_eq!(noted.len(), 3, "{noted:?}");
    assert!(notes.iter().all(|note| noted.contains(note)), "{noted:?}");
}

#[test]
fn an_explanation_says_each_step() {
    let world = world();
    let store = world.store();
    grant(&store, AclChange::group("staff", "ops").unwrap());
    store.revoke(&AclChange::user("pay.md", "leo").unwrap()).unwrap();
    let explained = store.explain_access("staff:pay.md", &known("leo", &["legal"])).unwrap();
    assert!(!explained.allowed);
    assert_eq!(explained.document_id, DocumentId::new("staff", "pay.md").to_string());
    assert_eq!(store.explain_access(&explained.document_id, &known("leo", &["legal"])).unwrap().steps, explained.steps);
    let steps: Vec<_> = explained.steps.iter().map(|step| (step.name, step.passed, step.detail.as_str())).collect();
    assert_eq!(
        steps,
        [
            ("source", None, "staff is private, of tenant \"acme\", for group \"hr\", group \"legal\""),
            ("front_matter", None, "says nothing of readers"),
            ("acts", None, "group \"ops\" was granted on its source; user \"leo\" was revoked on the document"),
            ("rule", None, "lets in group \"hr\", group \"legal\", group \"ops\"; keeps out user \"leo\""),
            ("reader", Some(false), "user \"leo\" is kept out"),
            ("validity", Some(true), "always valid"),
        ]
    );
    assert!(store.explain_access("nowhere.md", &Principal::operator()).is_err());
}

#[test]
fn a_document_from_before_there_were_rules_is_for_the_operator() {
    let world = world();
    rusqlite::Connection::open(world.db())
        .and_then(|conn| conn.execute("UPDATE documents SET class_no = 0 WHERE path = 'pay.md'", []))
        .unwrap();
    let store = world.store();
    assert_eq!(store.grant(&AclChange::user("pay.md", "eve").unwrap()).unwrap_err().code(), "unruled");
    assert!(store.explain_access("pay.md", &Principal::operator()).unwrap().allowed);
    let explained = store.explain_access("pay.md", &known("helen", &["hr"])).unwrap();
    assert!(!explained.allowed && explained.steps[0].detail.starts_with("indexed before there were rules"));
    assert_eq!(store.access_rules(None).unwrap()[0].class_no, 0);
}

#[test]
fn rules_are_listed_by_source() {
    let world = world();
    let store = world.store();
    let classes = store.access_rules(None).unwrap();
    let ids: Vec<_> = classes.iter().map(|class| (class.source_id.as_str(), class.documents)).collect();
    assert_eq!(ids, [("docs", 1), ("docs", 1), ("open", 1), ("staff", 1), ("staff", 1)]);
    assert_eq!(class(&classes, "open", None).allow, [Member::Everyone]);
    assert_eq!(store.access_rules(Some("staff")).unwrap().len(), 2);
    assert_eq!(store.access_rules(Some("nowhere")).unwrap_err().code(), "not_found");
    assert!(AclChange::user("docs", " ").is_err() && AclChange::group("docs", "a\n").is_err());
    assert!(AclChange::user("docs", "u").unwrap().with_reason(" ").is_err());
}

#[rstest]
#[case::a_member_for_auditors_alone(
    "INSERT INTO acl_members SELECT class_no, 'allow', 'user', 'eve' FROM acl_classes WHERE source_id = 'docs'",
    "class 1 of source docs: settings.acl has another rule, or none"
)]
#[case::a_member_less(
    "DELETE FROM acl_members WHERE name = 'hr'",
    "its rule lets in others than source, front matter and acts do"
)]
#[case::a_rule_for_reads_alone(
    "UPDATE settings SET value = replace(value, '\"hr\"', '\"eve\"') WHERE key = 'acl'",
    "of source staff: settings.acl has another rule"
)]
#[case::no_copy("DELETE FROM settings WHERE key = 'acl'", "of source docs: settings.acl has another rule, or none")]
#[case::a_copy_that_is_none(
    "UPDATE settings SET value = '[]' WHERE key = 'acl'",
    "settings.acl does not begin with the class of documents without a rule"
)]
#[case::a_class_that_only_reads_know(
    "UPDATE settings SET value = replace(value, '\"class_no\":3', '\"class_no\":33') WHERE key = 'acl'",
    "class 33: settings.acl has it, acl_classes has not"
)]
#[case::a_time("UPDATE acl_classes SET valid_until = NULL", "its rule lets in others")]
#[case::a_note("UPDATE acl_classes SET notes = '[\"all is well\"]'", "its row is not what source")]
#[case::a_visibility("UPDATE acl_classes SET visibility = 'public'", "its row is not what source")]
#[case::a_source("UPDATE sources SET visibility = 'public', groups = '[]'", "its rule lets in others")]
#[case::an_act("UPDATE acl_acts SET effect = 'allow'", "class 6 of source staff: its rule lets in others")]
#[case::a_forgotten_act("DELETE FROM acl_acts", "(pay.md): it is in class 6 of source staff, where it does not belong")]
#[case::a_document_in_another_class(
    "UPDATE documents SET class_no = 2 WHERE path = 'keys.md'",
    "(keys.md): it is in class 2 of source docs, where it does not belong"
)]
#[case::its_chunks_in_another_class(
    "UPDATE documents SET class_no = 2 WHERE path = 'keys.md'",
    "(keys.md): its number is not one of its class"
)]
#[case::other_front_matter(
    "UPDATE documents SET front_matter = '{\"groups\": 7}' WHERE path = 'suit.md'",
    "(suit.md): groups is 7; it must be a name or a list of names"
)]
#[case::numbers_that_will_be_used_again("UPDATE acl_classes SET next_chunk = 0", "its number is not one of its class")]
#[case::a_segment_of_another_class(
    "UPDATE segments SET class_no = 5 WHERE class_no = 1",
    "its chunk numbers are not those of class 5"
)]
#[case::a_member_of_no_rule("INSERT INTO acl_members VALUES (0, 'allow', 'everyone', '')", "acl_members: class 0")]
#[case::a_missing_epoch("UPDATE acl_epochs SET epoch = 7 WHERE epoch = 1", "acl_epochs: a number is missing")]
#[case::an_epoch_too_few("UPDATE generations SET acl_epoch = 9", "acl_epochs ends with 2")]
fn what_was_changed_by_hand_is_named(#[case] sql: &str, #[case] problem: &str) {
    let world = world();
    let store = world.store();
    grant(&store, AclChange::group("docs", "ops").unwrap());
    store.revoke(&AclChange::user("staff", "mallory").unwrap()).unwrap();
    store.revoke(&AclChange::user("pay.md", "eve").unwrap()).unwrap();
    assert_sound(&store);
    let conn = rusqlite::Connection::open(world.db()).unwrap();
    conn.pragma_update(None, "foreign_keys", false).unwrap();
    assert!(conn.execute(sql, []).unwrap() > 0, "{sql}");
    let report = store.check(&ragdb::CheckRequest { deep: false, sources: false }).unwrap();
    let mut problems = report.checks.iter().filter(|check| ["access", "index"].contains(&check.name));
    let found = problems.any(|check| check.problems.iter().any(|found| found.contains(problem)));
    assert!(found, "{sql}: {report:#?}");
}

#[test]
fn a_revocation_that_changes_nothing_yet_holds_against_a_later_grant() {
    let world = world();
    let store = world.store();
    let revoke = |target: &str| store.revoke(&AclChange::user(target, "eve").unwrap()).unwrap();
    assert!(revoke("docs").changed);
    let report = revoke("docs:keys.md");
    assert!(report.changed && report.lost.is_empty(), "{report:?}");
    assert!(!revoke("docs:keys.md").changed);
    grant(&store, AclChange::user("docs", "eve").unwrap());
    assert!(!readable(&store, &known("eve", &[])).contains(&"keys.md"));
    assert_sound(&store);
}

#[test]
fn a_grant_does_not_follow_a_source_to_another_tenant() {
    let world = world();
    grant(&world.store(), AclChange::user("staff", "eve").unwrap());
    assert!(readable(&world.store(), &known("eve", &[])).contains(&"pay.md"));
    sync(&world, &YAML.replace("visibility: private, tenant: acme", "visibility: private, tenant: globex"));
    let other = Principal::new("globex", "eve").unwrap();
    assert!(!readable(&world.store(), &other).contains(&"pay.md"));
    sync(&world, YAML);
    assert!(readable(&world.store(), &known("eve", &[])).contains(&"pay.md"));
    assert_sound(&world.store());
}

/// The tombstones that somebody sees.
fn tombstones(store: &Store, principal: &Principal) -> usize {
    store.sql(principal, "SELECT id FROM tombstones").expect("it runs").rows.len()
}

#[test]
fn what_was_deleted_before_a_document_moved_is_the_operators_to_know() {
    let world = world();
    world.write("keys.md", "# Keys\n\nRotate a key every 30 days.\n");
    sync(&world, YAML);
    let (store, bob) = (world.store(), known("bob", &[]));
    assert_eq!(tombstones(&store, &bob), 1);
    store.revoke(&AclChange::user("keys.md", "bob").unwrap()).unwrap();
    assert_eq!((tombstones(&store, &bob), tombstones(&store, &known("ann", &[]))), (0, 0));
    assert_eq!(tombstones(&store, &Principal::operator()), 1);
    assert_sound(&store);
}

#[test]
fn another_tenant_learns_nothing_of_what_a_source_had() {
    let world = world();
    world.remove("keys.md");
    sync(&world, YAML);
    assert_eq!(tombstones(&world.store(), &known("bob", &[])), 2);
    sync(&world, &YAML.replace("internal, tenant: acme", "internal, tenant: globex"));
    let (store, reader) = (world.store(), Principal::new("globex", "bob").unwrap());
    assert_eq!(tombstones(&store, &reader), 0);
    let log = store.log(&reader, None).unwrap();
    assert!(log.iter().all(|generation| generation.documents.deleted == 0), "{log:?}");
    assert_sound(&store);
}

#[rstest]
#[case::none("DELETE FROM settings WHERE key = 'acl'")]
#[case::of_no_class("UPDATE settings SET value = '[]' WHERE key = 'acl'")]
fn a_store_that_lost_its_rules_is_damaged_and_not_empty(#[case] sql: &str) {
    let world = world();
    rusqlite::Connection::open(world.db()).unwrap().execute(sql, []).unwrap();
    for reader in [Principal::operator(), known("sam", &[]), Principal::public()] {
        let error = world.store().search(&reader, &SearchRequest::new("key")).unwrap_err();
        assert_eq!(error.code(), "damaged", "{error}");
        assert!(error.to_string().contains("settings.acl names no access class"), "{error}");
    }
    let empty = tempfile::tempdir().unwrap();
    let store = Store::create(empty.path().join("ragdb.db")).unwrap();
    assert!(store.search(&known("sam", &[]), &SearchRequest::new("key")).unwrap().hits.is_empty());
}

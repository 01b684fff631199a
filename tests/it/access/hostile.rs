//! Names that look alike, and rules that somebody wrote into the file by hand: nothing of it lets anybody in.

use ragdb::{AclChange, CheckRequest, Config, Principal, SearchRequest, Store, SyncRequest, SyncSources};
use rstest::rstest;
use tempfile::TempDir;

use crate::world::write;

const SOURCES: &str = "sources:
  - {id: open, path: open, visibility: public}
  - {id: acme, path: acme, tenant: acme, groups: [staff, \"caf\\u00e9\"], scope: guides}
  - {id: globex, path: globex, tenant: globex, groups: [staff]}
  - {id: nobody, path: nobody, groups: [staff]}
  - {id: shut, path: shut, tenant: acme, visibility: private, scope: notes}
";

/// A store with one document about keys in each source; `ann` may read that of `shut`.
fn store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().expect("a folder");
    for source in ["open", "acme", "globex", "nobody", "shut"] {
        write(&folder.path().join(source).join("page.md"), b"# Page\n\nRotate the key.\n");
    }
    let config = Config::from_yaml(SOURCES, folder.path().join("ragdb.yaml")).expect("a configuration");
    let store = Store::open_or_create(folder.path().join("ragdb.db")).expect("a store");
    store.sync(&SyncRequest { sources: SyncSources::Config(config), ..SyncRequest::default() }).expect("it syncs");
    store.grant(&AclChange::user("shut", "ann").expect("a change")).expect("it is granted");
    (folder, store)
}

/// The sources whose documents a reader finds.
fn found(store: &Store, reader: &Principal) -> ragdb::Result<Vec<String>> {
    let request = SearchRequest { floor: Some(0.0), top_k: 20, ..SearchRequest::new("rotate key") };
    let mut found: Vec<String> = store.search(reader, &request)?.hits.into_iter().map(|hit| hit.source_id).collect();
    found.sort();
    Ok(found)
}

fn reader(tenant: &str, user: &str, groups: &[&str], scopes: &[&str]) -> ragdb::Result<Principal> {
    let principal = groups.iter().try_fold(Principal::new(tenant, user)?, |it, group| it.with_group(*group))?;
    scopes.iter().try_fold(principal, |it, scope| it.with_scope(*scope))
}

#[rstest]
#[case::ann("acme", "ann", &[], &["open", "shut"])]
#[case::staff("acme", "bob", &["staff"], &["acme", "open"])]
#[case::accented("acme", "bob", &["caf\u{e9}"], &["acme", "open"])]
#[case::of_the_other_tenant("globex", "ann", &["staff"], &["globex", "open"])]
#[case::of_no_tenant("", "ann", &["staff"], &["nobody", "open"])]
#[case::in_capitals("acme", "Ann", &["Staff"], &["open"])]
#[case::with_a_space("acme", "ann ", &["staff ", " staff"], &["open"])]
#[case::shorter("acme", "an", &["staf"], &["open"])]
#[case::longer("acme", "anna", &["staffs"], &["open"])]
#[case::decomposed("acme", "bob", &["cafe\u{301}"], &["open"])]
#[case::cyrillic("acme", "\u{430}nn", &["st\u{430}ff"], &["open"])]
#[case::with_nothing_in_it("acme", "a\u{200b}nn", &["sta\u{2060}ff"], &["open"])]
#[case::fullwidth("acme", "\u{ff41}nn", &["\u{ff53}taff"], &["open"])]
#[case::patterns("acme", "%", &["*", "%", "_____"], &["open"])]
#[case::quotes("acme", "ann' OR '1'='1", &["staff\" OR \"\"=\""], &["open"])]
#[case::kinds("acme", "everyone", &["everyone", "tenant", "operator"], &["open"])]
#[case::a_user_named_as_a_group("acme", "staff", &[], &["open"])]
#[case::a_group_named_as_a_user("acme", "bob", &["ann"], &["open"])]
#[case::a_tenant_in_capitals("ACME", "ann", &["staff"], &["open"])]
#[case::a_tenant_with_a_space("acme ", "ann", &["staff"], &["open"])]
#[case::a_longer_tenant("acmeglobex", "ann", &["staff"], &["open"])]
#[case::a_blank_tenant("\u{a0}", "ann", &["staff"], &["open"])]
fn names_are_compared_as_they_are(
    #[case] tenant: &str,
    #[case] user: &str,
    #[case] groups: &[&str],
    #[case] expected: &[&str],
) {
    let (_folder, store) = store();
    // A name may be refused; it never means somebody else.
    match reader(tenant, user, groups, &[]) {
        Ok(reader) => assert_eq!(found(&store, &reader).expect("an answer"), expected),
        Err(error) => assert_eq!((error.code(), expected), ("invalid", &["open"][..])),
    }
}

#[rstest]
#[case(&["guides"], &["acme"])]
#[case(&["notes"], &["shut"])]
#[case(&["guides", "notes"], &["acme", "shut"])]
#[case(&["Guides"], &[])]
#[case(&["guides\u{200b}"], &[])]
#[case(&["guide"], &[])]
#[case(&["%"], &[])]
fn a_scope_only_takes_away(#[case] scopes: &[&str], #[case] expected: &[&str]) {
    let (_folder, store) = store();
    let ann = reader("acme", "ann", &["staff"], scopes).expect("a principal");
    assert_eq!(found(&store, &ann).expect("an answer"), expected);
    let public = scopes.iter().try_fold(Principal::public(), |it, scope| it.with_scope(*scope)).expect("a principal");
    assert_eq!(found(&store, &public).expect("an answer"), [""; 0]);
}

/// What readers are told of a store whose rules were written over.
fn after(sql: &str) -> Vec<ragdb::Result<Vec<String>>> {
    let (folder, store) = store();
    drop(store);
    let conn = rusqlite::Connection::open(folder.path().join("ragdb.db")).expect("the file opens");
    conn.execute_batch(sql).expect("it is written");
    drop(conn);
    let store = Store::open(folder.path().join("ragdb.db")).expect("the store opens");
    let readers = [Principal::public(), reader("globex", "eve", &["staff"], &[]).expect("a principal")];
    let told = readers.iter().map(|reader| found(&store, reader)).collect();
    let report = store.check(&CheckRequest::default());
    assert!(report.is_err() || !report.expect("a report").ok, "check notices: {sql}");
    told
}

#[rstest]
#[case::no_json("not json")]
#[case::nothing("")]
#[case::an_object("{}")]
#[case::null("null")]
#[case::a_number("[7]")]
#[case::no_rule(r#"[{"class_no": 2, "source_id": "acme"}]"#)]
#[case::no_denials(r#"[{"class_no": 2, "source_id": "acme", "rule": {"tenant": "", "scope": null, "valid_from": null, "valid_until": null, "allow": ["Everyone"]}}]"#)]
#[case::an_unknown_member(r#"[{"class_no": 2, "source_id": "acme", "rule": {"tenant": "", "scope": null, "valid_from": null, "valid_until": null, "allow": ["Anybody"], "deny": []}}]"#)]
#[case::a_cut("[{\"class_no\": 2, \"source_id\": \"acme\", \"rule\": {\"tenant\": \"\",")]
#[case::a_class_that_is_no_number(r#"[{"class_no": "2", "source_id": "acme", "rule": {"tenant": "", "scope": null, "valid_from": null, "valid_until": null, "allow": ["Everyone"], "deny": []}}]"#)]
fn rules_that_cant_be_read_let_nobody_in(#[case] acl: &str) {
    for told in after(&format!("UPDATE settings SET value = '{acl}' WHERE key = 'acl'")) {
        assert_eq!(told.map_err(|error| error.code()), Err("damaged"));
    }
}

#[rstest]
#[case::no_rules("DELETE FROM settings WHERE key = 'acl'")]
#[case::an_empty_list("UPDATE settings SET value = '[]' WHERE key = 'acl'")]
fn without_rules_nobody_is_let_in(#[case] sql: &str) {
    for told in after(sql) {
        assert_eq!(told.map_err(|error| error.code()), Err("damaged"));
    }
}

/// What reads use is one row. Rows of the auditor's tables let nobody in by themselves, and `check` holds the two equal.
#[rstest]
#[case::a_member(
    "INSERT INTO acl_members SELECT class_no, 'allow', 'everyone', '' FROM acl_classes WHERE source_id = 'acme'"
)]
#[case::a_visibility("UPDATE acl_classes SET visibility = 'public' WHERE source_id = 'acme'")]
#[case::a_tenant("UPDATE acl_classes SET tenant = 'globex' WHERE source_id = 'acme'")]
#[case::an_act("INSERT INTO acl_acts VALUES ('source', 'acme', 'user', 'eve', 'allow', 1, 'acme')")]
#[case::a_source("UPDATE sources SET visibility = 'public', groups = '[]' WHERE source_id = 'acme'")]
fn rows_beside_the_rules_let_nobody_in(#[case] sql: &str) {
    let mut told = after(sql).into_iter().map(|told| told.expect("an answer"));
    assert_eq!(told.next(), Some(vec!["open".to_owned()]));
    assert_eq!(told.next(), Some(vec!["globex".to_owned(), "open".to_owned()]));
}

/// A document that was moved into an open class by hand: `check` says so.
#[test]
fn a_document_in_another_class_is_noticed() {
    let sql = "UPDATE documents SET class_no = (SELECT class_no FROM acl_classes WHERE source_id = 'open') \
               WHERE source_no = (SELECT source_no FROM sources WHERE source_id = 'acme')";
    let told = after(sql);
    assert!(told.iter().all(|told| told.as_ref().is_ok_and(|found| !found.contains(&"acme".to_owned()))), "{told:?}");
}

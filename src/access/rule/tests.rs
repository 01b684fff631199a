use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::super::scope::admits;
use super::*;
use crate::model::{Principal, Who};
use crate::store::access::Target;
use Visibility::{Internal, Private, Public};

fn source(visibility: Visibility, groups: &[&str]) -> SourceRule {
    SourceRule { visibility, tenant: "acme".into(), groups: owned(groups), scope: Some("support".into()) }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn own(visibility: Option<Visibility>, groups: Option<&[&str]>) -> Narrowing {
    Narrowing { visibility, groups: groups.map(owned), ..Narrowing::default() }
}

fn group(name: &str) -> Member {
    Member::Group(name.into())
}

fn user(name: &str) -> Member {
    Member::User(name.into())
}

fn act(subject: Member, allow: bool) -> Act {
    Act { target: Target::Source("docs".into()), subject, allow, tenant: "acme".into() }
}

const NOBODY: &str = "no members: nobody but the operator may read it";

#[rstest]
#[case::public(source(Public, &[]), own(None, None), &[Member::Everyone], &[])]
#[case::internal(source(Internal, &[]), own(None, None), &[Member::Tenant], &[])]
#[case::internal_with_groups(source(Internal, &["hr", "ops"]), own(None, None), &[group("hr"), group("ops")], &[])]
#[case::private(source(Private, &[]), own(None, None), &[], &[NOBODY])]
#[case::private_with_groups(source(Private, &["hr"]), own(None, None), &[group("hr")], &[])]
#[case::public_with_groups(source(Public, &["hr"]), own(None, None), &[group("hr")], &[])]
#[case::public_to_internal(source(Public, &[]), own(Some(Internal), None), &[Member::Tenant], &[])]
#[case::public_to_private(source(Public, &[]), own(Some(Private), None), &[], &[NOBODY])]
#[case::public_to_a_group(source(Public, &[]), own(None, Some(&["hr"])), &[group("hr")], &[])]
#[case::public_to_a_private_group(source(Public, &[]), own(Some(Private), Some(&["hr"])), &[group("hr")], &[])]
#[case::internal_to_private(source(Internal, &["hr"]), own(Some(Private), None), &[], &[NOBODY])]
#[case::internal_to_a_group(source(Internal, &[]), own(None, Some(&["hr"])), &[group("hr")], &[])]
#[case::fewer_groups(source(Private, &["hr", "ops"]), own(Some(Private), Some(&["ops"])), &[group("ops")], &[])]
#[case::no_group(source(Internal, &[]), own(None, Some(&[])), &[], &[NOBODY])]
#[case::equally_private(source(Private, &["hr"]), own(Some(Private), None), &[group("hr")], &[])]
#[case::a_wider_visibility(
    source(Internal, &[]), own(Some(Public), None), &[Member::Tenant],
    &["visibility public widens that of the source, internal: ignored"]
)]
#[case::a_wider_visibility_than_private(
    source(Private, &["hr"]), own(Some(Internal), None), &[group("hr")],
    &["visibility internal widens that of the source, private: ignored"]
)]
#[case::a_wider_group(
    source(Internal, &["hr"]), own(None, Some(&["hr", "ops"])), &[group("hr")],
    &["group \"ops\" widens the source's rule: ignored"]
)]
#[case::only_wider_groups(
    source(Internal, &["hr"]), own(None, Some(&["ops"])), &[],
    &["group \"ops\" widens the source's rule: ignored", NOBODY]
)]
#[case::a_group_where_nobody_is_let_in(
    source(Private, &[]), own(None, Some(&["hr"])), &[],
    &["group \"hr\" widens the source's rule: ignored", NOBODY]
)]
#[case::an_unknown_group(
    source(Internal, &[]), own(None, Some(&["hr", "hrr"])), &[group("hr")],
    &["group \"hrr\" is not declared in access.groups: ignored"]
)]
#[case::only_an_unknown_group(
    source(Internal, &[]), own(None, Some(&["hrr"])), &[],
    &["group \"hrr\" is not declared in access.groups: ignored", NOBODY]
)]
#[case::an_unknown_group_of_the_source(
    source(Internal, &["hrr"]), own(None, None), &[],
    &["group \"hrr\" is not declared in access.groups: ignored", NOBODY]
)]
fn a_document_narrows_its_source(
    #[case] source: SourceRule,
    #[case] own: Narrowing,
    #[case] allow: &[Member],
    #[case] notes: &[&str],
) {
    let known = owned(&["hr", "ops"]);
    let effective = effective(&source, &own, &[], &[], Some(&known));
    assert_eq!((effective.rule.allow.as_slice(), effective.notes), (allow, owned(notes)));
    assert_eq!((effective.rule.tenant.as_str(), effective.rule.scope.as_deref()), ("acme", Some("support")));
}

#[rstest]
#[case::a_grant(&[act(user("bob"), true)], &[], &[group("hr"), user("bob")], &[])]
#[case::a_revocation(&[act(group("hr"), false)], &[], &[group("hr")], &[group("hr")])]
#[case::of_somebody_else(&[act(user("bob"), false)], &[], &[group("hr")], &[user("bob")])]
#[case::the_document_wins_over_its_source(
    &[act(user("bob"), false), act(user("eve"), true)], &[act(user("bob"), true), act(user("eve"), false)],
    &[group("hr"), user("bob")], &[user("eve")]
)]
#[case::an_unknown_group(&[act(group("hrr"), true)], &[], &[group("hr")], &[])]
#[case::an_unknown_group_kept_out(&[act(group("hrr"), false)], &[], &[group("hr")], &[group("hrr")])]
fn acts_come_after_narrowing(
    #[case] on_source: &[Act],
    #[case] on_document: &[Act],
    #[case] allow: &[Member],
    #[case] deny: &[Member],
) {
    let known = owned(&["hr"]);
    let source = source(Internal, &["hr"]);
    let effective = effective(&source, &Narrowing::default(), on_source, on_document, Some(&known));
    assert_eq!((effective.rule.allow.as_slice(), effective.rule.deny.as_slice()), (allow, deny));
    let unknown = on_source.iter().any(|act| act.subject == group("hrr") && act.allow);
    let nobody = deny.contains(&group("hr"));
    assert_eq!(effective.notes.len(), usize::from(unknown) + usize::from(nobody), "{:?}", effective.notes);
}

#[rstest]
#[case::a_document_that_follows(own(None, None), &[group("ops"), user("eve")], &[])]
#[case::one_that_names_the_group(
    own(None, Some(&["ops"])), &[group("ops")],
    &["user \"eve\" was granted on the source, which the document narrows: not let in"]
)]
#[case::one_that_names_another_group(
    own(None, Some(&["hr"])), &[],
    &[
        "group \"hr\" widens the source's rule: ignored",
        "group \"ops\" was granted on the source, which the document narrows: not let in",
        "user \"eve\" was granted on the source, which the document narrows: not let in",
        NOBODY,
    ]
)]
fn a_document_narrows_what_is_granted_on_its_source(
    #[case] own: Narrowing,
    #[case] allow: &[Member],
    #[case] notes: &[&str],
) {
    let acts = [act(group("ops"), true), act(user("eve"), true)];
    let found = effective(&source(Private, &[]), &own, &acts, &[], None);
    assert_eq!((found.rule.allow.as_slice(), found.notes), (allow, owned(notes)));
    // Not what is granted on the document itself.
    let found = effective(&source(Private, &[]), &own, &[], &acts, None);
    assert_eq!(found.rule.allow, [group("ops"), user("eve")]);
}

#[test]
fn what_is_public_cant_be_revoked() {
    let effective = effective(&source(Public, &[]), &Narrowing::default(), &[act(user("bob"), false)], &[], None);
    assert_eq!(effective.notes, ["anyone may read it: what was revoked can be read without a name"]);
}

#[rstest]
#[case::nothing(json!({"title": "A"}), Narrowing::default())]
#[case::a_visibility(json!({"visibility": "private"}), own(Some(Private), None))]
#[case::a_group(json!({"groups": "hr"}), own(None, Some(&["hr"])))]
#[case::groups(json!({"groups": ["ops", "hr", "ops"]}), own(None, Some(&["hr", "ops"])))]
#[case::no_groups(json!({"groups": []}), own(None, Some(&[])))]
#[case::its_tenant(json!({"tenant": "acme"}), Narrowing::default())]
#[case::a_day(
    json!({"valid_from": "2026-12-31", "valid_until": "2026-12-31"}),
    Narrowing {
        valid_from: Some("2026-12-31T00:00:00.000Z".into()), valid_until: Some("2027-01-01T00:00:00.000Z".into()),
        ..Narrowing::default()
    }
)]
#[case::an_hour(
    json!({"valid_from": "2026-12-31T10:00:00+01:00", "valid_until": "2026-12-31T10:00:00Z"}),
    Narrowing {
        valid_from: Some("2026-12-31T09:00:00.000Z".into()), valid_until: Some("2026-12-31T10:00:00.000Z".into()),
        ..Narrowing::default()
    }
)]
fn front_matter_narrows(#[case] fields: Value, #[case] expected: Narrowing) {
    assert_eq!(narrowing(fields.as_object(), Some("acme")), Ok(expected));
}

#[rstest]
#[case::visibility(json!({"visibility": 7}), "visibility is 7; it must be public, internal or private")]
#[case::a_misspelt_visibility(json!({"visibility": "Private"}), "visibility is \"Private\"; it must be")]
#[case::no_visibility(json!({"visibility": null}), "visibility is null; it must be")]
#[case::a_table(json!({"groups": {"a": "b"}}), "groups is {\"a\":\"b\"}; it must be a name or a list of names")]
#[case::a_number(json!({"groups": ["hr", 7]}), "groups is [\"hr\",7]; it must be")]
#[case::no_name(json!({"groups": ""}), "groups: the group is empty")]
#[case::names_in_one(json!({"groups": "hr, ops"}), "groups is \"hr, ops\"; write several names as a list")]
#[case::nothing(json!({"groups": null}), "groups is null; it must be")]
#[case::another_tenant(json!({"tenant": "umbrella"}), "tenant is \"umbrella\"; it must be that of the source, which is \"acme\"")]
#[case::no_date(json!({"valid_from": "soon"}), "valid_from is \"soon\"; it must be a date such as 2026-11-30 or a time")]
#[case::no_text(json!({"valid_until": 20_261_231}), "valid_until is 20261231; it must be a date")]
#[case::no_offset(json!({"valid_until": "2026-12-31T10:00:00"}), "valid_until is \"2026-12-31T10:00:00\"; it must be")]
#[case::the_end_of_time(json!({"valid_until": "9999-12-31"}), "valid_until is \"9999-12-31\"; it must be")]
#[case::backwards(
    json!({"valid_from": "2026-12-31", "valid_until": "2026-12-30"}),
    "valid_from (2026-12-31T00:00:00.000Z) must lie before valid_until (2026-12-31T00:00:00.000Z, exclusive)"
)]
fn what_is_no_rule_is_refused(#[case] fields: Value, #[case] expected: &str) {
    let message = narrowing(fields.as_object(), Some("acme")).unwrap_err();
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn a_tenant_needs_one_of_the_source() {
    let message = narrowing(json!({"tenant": "acme"}).as_object(), None).unwrap_err();
    assert!(message.contains("which has none"), "{message}");
}

fn names() -> impl Strategy<Value = Vec<String>> {
    proptest::sample::subsequence(vec!["a", "b", "c"], 0..=3).prop_map(|names| owned(&names))
}

fn visibility() -> impl Strategy<Value = Visibility> {
    proptest::sample::select(vec![Public, Internal, Private])
}

fn source_rule() -> impl Strategy<Value = SourceRule> {
    let scope = proptest::option::of(Just("s".to_owned()));
    let fields = (visibility(), proptest::sample::select(vec!["", "t"]), names(), scope);
    fields.prop_map(|(visibility, tenant, groups, scope)| SourceRule {
        visibility,
        tenant: tenant.into(),
        groups,
        scope,
    })
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let subject = proptest::sample::select(vec![group("a"), group("b"), user("u"), user("v")]);
    proptest::collection::vec((subject, any::<bool>()).prop_map(|(subject, allow)| act(subject, allow)), 0..4)
}

fn principal() -> impl Strategy<Value = Principal> {
    let tenants = proptest::sample::select(vec!["", "t", "other"]);
    let users = proptest::sample::select(vec!["u", "v", "w"]);
    let known = (tenants, users, names()).prop_map(|(tenant, user, groups)| {
        let principal = Principal::new(tenant, user).unwrap();
        groups.into_iter().fold(principal, |principal, group| principal.with_group(group).unwrap())
    });
    let scopes = proptest::sample::subsequence(vec!["s", "x"], 0..=2);
    (prop_oneof![1 => Just(Principal::public()), 6 => known], scopes).prop_map(|(principal, scopes)| {
        scopes.into_iter().fold(principal, |principal, scope| principal.with_scope(scope).unwrap())
    })
}

proptest! {
    #[test]
    fn narrowing_lets_nobody_in(
        source in source_rule(),
        visibility in proptest::option::of(visibility()),
        groups in proptest::option::of(names()),
        known in proptest::option::of(names()),
        on_source in acts(),
        on_document in acts(),
        principal in principal(),
    ) {
        let own = Narrowing { visibility, groups, ..Narrowing::default() };
        let rule = |own: &Narrowing, on_source: &[Act], on_document: &[Act]| {
            effective(&source, own, on_source, on_document, known.as_deref()).rule
        };
        let (narrowed, wide) = (rule(&own, &[], &[]), rule(&Narrowing::default(), &[], &[]));
        prop_assert!(!admits(&narrowed, &principal) || admits(&wide, &principal), "{narrowed:?} {wide:?}");
        // Nor with what was granted and revoked.
        let (narrowed, wide) =
            (rule(&own, &on_source, &on_document), rule(&Narrowing::default(), &on_source, &on_document));
        prop_assert!(!admits(&narrowed, &principal) || admits(&wide, &principal), "{narrowed:?} {wide:?}");
        // Nor do acts let in anybody of another tenant.
        if let Who::Known { tenant, .. } = principal.who()
            && *tenant != source.tenant
        {
            prop_assert!(!admits(&narrowed, &principal) || narrowed.allow.contains(&Member::Everyone));
        }
        // A denial wins.
        if let Who::Known { tenant, subject, .. } = principal.who()
            && *tenant == source.tenant
            && narrowed.deny.contains(&user(subject))
        {
            prop_assert!(!admits(&narrowed, &principal));
        }
    }
}

#[test]
fn what_was_granted_under_another_tenant_lets_nobody_in() {
    let acts = [
        Act { tenant: "globex".into(), ..act(Member::User("eve".into()), true) },
        Act { tenant: "globex".into(), ..act(Member::User("bob".into()), false) },
    ];
    let source = source(Visibility::Private, &[]);
    let effective = effective(&source, &Narrowing::default(), &acts, &[], None);
    assert_eq!(effective.rule.allow, []);
    assert_eq!(effective.rule.deny, [Member::User("bob".into())]);
    assert!(effective.notes[0].contains("when the source belonged to tenant \"globex\": ignored"), "{effective:?}");
}

#[rstest]
#[case::capital("Visibility", "visibility")]
#[case::all_capitals("GROUPS", "groups")]
#[case::hyphen("valid-until", "valid_until")]
#[case::joined("validUntil", "valid_until")]
#[case::apart("Valid From", "valid_from")]
#[case::doubled("valid__from", "valid_from")]
#[case::tenant("TENANT", "tenant")]
fn a_key_that_is_nearly_one_is_no_rule(#[case] key: &str, #[case] meant: &str) {
    let fields = json!({ "title": "A", key: "private" });
    let error = narrowing(fields.as_object(), None).unwrap_err();
    assert_eq!(error, format!("{key:?} is no key of front matter; did you mean {meant}?"));
    assert_eq!(key_about_readers(fields.as_object().unwrap()), Some(key));
    let other = json!({ "visible": true, "group": "a", "tenants": [], "valid": "2020-01-01" });
    assert_eq!(narrowing(other.as_object(), None), Ok(Narrowing::default()));
    assert_eq!(key_about_readers(other.as_object().unwrap()), None);
}

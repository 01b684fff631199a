//! What two narrowings leave when both hold. Pure.

use crate::model::Visibility;
use crate::model::rule::Narrowing;

/// The narrowing that lets in nobody whom one of the two keeps out, whatever the source says: what a document said of
/// its readers then and what it said since.
pub(crate) fn narrower(a: &Narrowing, b: &Narrowing) -> Narrowing {
    if a == b {
        return a.clone();
    }
    let later = |a: &Option<String>, b: &Option<String>| a.clone().max(b.clone());
    let earlier = |a: &Option<String>, b: &Option<String>| match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b).clone()),
        (a, b) => a.clone().or(b.clone()),
    };
    // A document that is private and names no groups has those of a private source and nobody of another: what that
    // leaves of the other's groups depends on a source that may change. Nobody is right in any case.
    let unnamed = |it: &Narrowing| it.visibility == Some(Visibility::Private) && it.groups.is_none();
    let groups = match (&a.groups, &b.groups) {
        (Some(ours), Some(theirs)) => Some(ours.iter().filter(|group| theirs.contains(group)).cloned().collect()),
        (Some(_), None) if unnamed(b) => Some(Vec::new()),
        (None, Some(_)) if unnamed(a) => Some(Vec::new()),
        (ours, theirs) => ours.clone().or(theirs.clone()),
    };
    Narrowing {
        visibility: a.visibility.max(b.visibility),
        groups,
        valid_from: later(&a.valid_from, &b.valid_from),
        valid_until: earlier(&a.valid_until, &b.valid_until),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::rule::{SourceRule, effective};
    use super::*;
    use crate::model::rule::{Member, Rule};
    use crate::store::access::{Act, Target};

    fn said(visibility: Option<Visibility>, groups: Option<&[&str]>) -> Narrowing {
        let groups = groups.map(|groups| groups.iter().map(ToString::to_string).collect());
        Narrowing { visibility, groups, ..Narrowing::default() }
    }

    #[rstest]
    #[case::nothing_was_said(said(None, None), said(None, None), said(None, None))]
    #[case::one_said_something(
        said(None, None),
        said(Some(Visibility::Private), None),
        said(Some(Visibility::Private), None)
    )]
    #[case::the_narrower_visibility(
        said(Some(Visibility::Public), None),
        said(Some(Visibility::Internal), None),
        said(Some(Visibility::Internal), None)
    )]
    #[case::common_groups(said(None, Some(&["a", "b"])), said(None, Some(&["b", "c"])), said(None, Some(&["b"])))]
    #[case::no_common_group(said(None, Some(&["a"])), said(None, Some(&["b"])), said(None, Some(&[])))]
    #[case::groups_and_nobody(
        said(None, Some(&["a"])),
        said(Some(Visibility::Private), None),
        said(Some(Visibility::Private), Some(&[]))
    )]
    fn the_narrower_of_both(#[case] a: Narrowing, #[case] b: Narrowing, #[case] expected: Narrowing) {
        assert_eq!(narrower(&a, &b), expected);
        assert_eq!(narrower(&b, &a), expected);
    }

    #[rstest]
    #[case(None, None, None)]
    #[case(Some("1"), None, Some("1"))]
    #[case(Some("1"), Some("2"), Some("2"))]
    fn periods_overlap(#[case] a: Option<&str>, #[case] b: Option<&str>, #[case] from: Option<&str>) {
        let until = if a.is_some() && b.is_some() { a } else { from };
        let period = |time: Option<&str>| Narrowing {
            valid_from: time.map(str::to_owned),
            valid_until: time.map(str::to_owned),
            ..Narrowing::default()
        };
        let both = narrower(&period(a), &period(b));
        assert_eq!((both.valid_from.as_deref(), both.valid_until.as_deref()), (from, until));
    }

    /// Who a rule lets in, of: nobody known, somebody of the tenant in none, one, the other and both groups, a user.
    fn readers(rule: &Rule) -> Vec<bool> {
        let reads = |known: bool, groups: &[&str]| {
            rule.allow.iter().any(|member| match member {
                Member::Everyone => true,
                Member::Tenant => known,
                Member::Group(name) => groups.contains(&name.as_str()),
                Member::User(_) => known && groups == ["user"],
            })
        };
        [(false, &[][..]), (true, &[]), (true, &["a"]), (true, &["b"]), (true, &["a", "b"]), (true, &["user"])]
            .map(|(known, groups)| reads(known, groups))
            .to_vec()
    }

    #[test]
    fn nobody_is_let_in_whom_one_keeps_out_whatever_the_source_says() {
        let visibilities = [None, Some(Visibility::Public), Some(Visibility::Internal), Some(Visibility::Private)];
        let groups: [Option<&[&str]>; 5] = [None, Some(&[]), Some(&["a"]), Some(&["b"]), Some(&["a", "b"])];
        let all: Vec<Narrowing> =
            visibilities.iter().flat_map(|&it| groups.iter().map(move |&groups| said(it, groups))).collect();
        for (visibility, source_groups) in [
            (Visibility::Public, &[][..]),
            (Visibility::Internal, &[]),
            (Visibility::Internal, &["a"]),
            (Visibility::Private, &[]),
            (Visibility::Private, &["a", "b"]),
        ] {
            let groups = source_groups.iter().map(ToString::to_string).collect();
            let source = SourceRule { visibility, tenant: "t".into(), groups, scope: None };
            let granted =
                |subject| Act { target: Target::Source("s".into()), subject, allow: true, tenant: String::new() };
            for acts in [vec![], vec![granted(Member::Group("b".into()))], vec![granted(Member::User("u".into()))]] {
                let readers = |narrowing: &Narrowing| readers(&effective(&source, narrowing, &acts, &[], None).rule);
                for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
                    let both = readers(&narrower(a, b));
                    for (index, (ours, theirs)) in readers(a).into_iter().zip(readers(b)).enumerate() {
                        let within = !both[index] || (ours && theirs);
                        assert!(within, "{source:?} with {acts:?}: {a:?} and {b:?} let in reader {index}");
                    }
                }
            }
        }
    }
}

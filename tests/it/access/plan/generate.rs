//! Random plans.

use proptest::prelude::*;

use super::*;

fn some_of(names: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    (0..1u32 << names.len()).prop_map(|bits| {
        let is_in = |index: &usize| bits & (1 << index) != 0;
        (0..names.len()).filter(is_in).map(|index| names[index]).collect()
    })
}

fn visibility() -> impl Strategy<Value = Visibility> {
    prop_oneof![1 => Just(Visibility::Public), 3 => Just(Visibility::Internal), 1 => Just(Visibility::Private)]
}

fn source_rule() -> impl Strategy<Value = SourceRule> {
    let groups = prop_oneof![1 => Just(Vec::new()), 1 => some_of(&GROUPS)];
    let scope = prop::option::of(prop::sample::select(&SCOPES[..]));
    (visibility(), prop::sample::select(&TENANTS[..]), groups, scope).prop_map(|(visibility, tenant, groups, scope)| {
        let groups = if visibility == Visibility::Public { Vec::new() } else { groups };
        SourceRule { visibility, tenant, groups, scope }
    })
}

fn document() -> impl Strategy<Value = Document> {
    let validity = prop_oneof![
        6 => Just(Validity::Always),
        1 => Just(Validity::Now),
        1 => Just(Validity::Over),
        1 => Just(Validity::Ahead),
        1 => Just(Validity::FurtherAhead)
    ];
    (prop::option::weighted(0.3, visibility()), prop::option::weighted(0.3, some_of(&GROUPS)), validity, 0..1000u64)
        .prop_map(|(visibility, groups, validity, seed)| Document { visibility, groups, validity, broken: false, seed })
}

fn reader() -> impl Strategy<Value = Reader> {
    let known = (prop::sample::select(&["", "acme", "acme", "globex"][..]), some_of(&GROUPS[..3]));
    let who =
        prop_oneof![1 => Just((None, Vec::new())), 5 => known.prop_map(|(tenant, groups)| (Some(tenant), groups))];
    let scopes = prop_oneof![3 => Just(Vec::new()), 1 => some_of(&SCOPES)];
    (who, scopes).prop_map(|((tenant, groups), scopes)| Reader { tenant, groups, scopes })
}

fn place(extra: bool) -> impl Strategy<Value = Place> {
    let sources = if extra { [SHARED_SOURCES, EXTRA_SOURCES].concat() } else { SHARED_SOURCES.to_vec() };
    (prop::sample::select(sources), 0..10usize).prop_map(move |(source, file)| {
        let is_extra_source = EXTRA_SOURCES.contains(&source);
        let file = match (is_extra_source, extra) {
            (true, _) if file % 2 == 0 => SHARED_FILES[file / 2],
            (false, false) => SHARED_FILES[file % 5],
            _ => EXTRA_FILES[file % 5],
        };
        Place { extra, source, file: Some(file.to_owned()) }
    })
}

fn files(extra: bool, range: std::ops::Range<usize>) -> impl Strategy<Value = Vec<(Place, Option<Document>)>> {
    prop::collection::vec((place(extra), prop::option::weighted(0.8, document())), range)
}

fn act(extra: bool) -> impl Strategy<Value = Act> {
    let subject = prop_oneof![
        Just(Subject::User(READER)),
        Just(STRANGER),
        prop::sample::select(&GROUPS[..]).prop_map(Subject::Group)
    ];
    (place(extra), any::<bool>(), subject, any::<bool>()).prop_map(move |(mut target, on_source, subject, allow)| {
        let mut subject = subject;
        if on_source {
            target.file = None;
        }
        if extra && SHARED_SOURCES.contains(&target.source) && on_source {
            // What both worlds have stays as it is to the reader. Where they read some of it, both have the act.
            subject = if matches!(subject, Subject::User(_)) { STRANGER } else { Subject::Group(GROUPS[3]) };
        }
        Act { extra, target, subject, allow }
    })
}

fn rules(extra: bool) -> impl Strategy<Value = Vec<(Place, Option<SourceRule>)>> {
    let sources = if extra { &EXTRA_SOURCES } else { &SHARED_SOURCES };
    // In the world with what is hidden alone a source can go.
    let rule = prop::option::weighted(if extra { 0.8 } else { 0.999_999 }, source_rule());
    let change = (prop::sample::select(&sources[..]), rule);
    prop::collection::vec(change, 0..2).prop_map(move |changes| {
        changes.into_iter().map(|(source, rule)| (Place { extra, source, file: None }, rule)).collect()
    })
}

fn step(bulk: usize) -> impl Strategy<Value = Step> {
    let bulk = prop::option::weighted(0.7, (prop::sample::select([SHARED_SOURCES, EXTRA_SOURCES].concat()), 1..=bulk));
    let shared = (rules(false), files(false, 0..4), prop::collection::vec(act(false), 0..2));
    let extra = (rules(true), files(true, 0..6), prop::collection::vec(act(true), 0..2), 0..12u32);
    (prop::option::weighted(0.6, shared), prop::option::weighted(0.8, extra), bulk, 0..12u32).prop_map(
        |(shared, extra, bulk, optimises)| {
            let mut step = Step { optimises: optimises == 0, ..Step::default() };
            if let Some((rules, files, acts)) = shared {
                step.rules.extend(rules);
                step.files.extend(files);
                step.acts.extend(acts);
            }
            if let Some((rules, files, acts, broken)) = extra {
                step.rules.extend(rules);
                step.files.extend(files);
                step.acts.extend(acts);
                if broken == 0 {
                    let place = Place { extra: true, source: SHARED_SOURCES[0], file: Some("broken.md".into()) };
                    step.files.push((place, Some(Document { broken: true, ..hidden() })));
                }
                step.bulk = bulk.map(|(source, count)| (Place { extra: true, source, file: None }, count));
            }
            step
        },
    )
}

/// A world of up to `steps` syncs, in some of which up to `bulk` documents are added at once.
pub fn plan(steps: usize, bulk: usize) -> impl Strategy<Value = Plan> {
    let first = (
        prop::collection::vec(source_rule(), 1..=3),
        prop::collection::vec(prop::option::of(source_rule()), 3),
        files(false, 2..8),
    );
    (reader(), any::<bool>(), first, prop::collection::vec(step(bulk), 1..=steps)).prop_map(
        |(reader, looks_back, (shared, extra, files), mut steps)| {
            let declared = |extra: bool, source, rule| (Place { extra, source, file: None }, Some(rule));
            let mut first: Vec<_> =
                SHARED_SOURCES.into_iter().zip(shared).map(|(source, rule)| declared(false, source, rule)).collect();
            first.extend(
                EXTRA_SOURCES.into_iter().zip(extra).filter_map(|(source, rule)| Some(declared(true, source, rule?))),
            );
            // Those that are not declared at first come later or never.
            first.append(&mut steps[0].rules);
            steps[0].rules = first;
            steps[0].files.extend(files);
            // Something is published from the first step on, in both worlds.
            let open =
                SourceRule { visibility: Visibility::Public, tenant: None, groups: Vec::new(), scope: Some(SCOPES[0]) };
            let page = Document { visibility: None, groups: None, validity: Validity::Always, broken: false, seed: 7 };
            let place = |file: Option<&str>| Place { extra: false, source: "open", file: file.map(str::to_owned) };
            steps[0].rules.push((place(None), Some(open)));
            steps[0].files.push((place(Some("index.md")), Some(page)));
            Plan { reader, looks_back, steps }.without_readable().with_acts_on_readable()
        },
    )
}

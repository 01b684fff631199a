//! What hidden documents cost a reader: not one step.

use std::fmt::Write;

use ragdb::{Config, Principal, SearchRequest, Store, SyncRequest, SyncSources};
use rstest::rstest;

use super::trace::{Ran, watch};
use crate::world::write;

/// A store of one open source with many documents, published after `before` syncs of hidden classes.
fn steps(before: usize, documents: usize) -> (Vec<Ran>, String) {
    watch(|| ());
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open_or_create(folder.path().join("ragdb.db")).expect("a store");
    let mut yaml = String::from("sources:\n");
    let mut sync = |source: &str, groups: &str, documents: usize| {
        for number in 0..documents {
            let text = format!("# Page {number}\n\nRotate the key {number} of {}.\n", number % 9);
            write(&folder.path().join(source).join(format!("{number}.md")), text.as_bytes());
        }
        writeln!(yaml, "  - {{id: {source}, path: {source}, groups: [{groups}]}}").expect("text grows");
        let config = Config::from_yaml(&yaml, folder.path().join("ragdb.yaml")).expect("a configuration");
        store.sync(&SyncRequest { sources: SyncSources::Config(config), ..SyncRequest::default() }).expect("it syncs");
    };
    for number in 0..before {
        sync(&format!("h{number}"), "others", 2);
    }
    sync("open", "us", documents);
    let reader = Principal::new("", "ann").and_then(|ann| ann.with_group("us")).expect("a principal");
    let store = Store::open(folder.path().join("ragdb.db")).expect("the store opens");
    let request = SearchRequest { explain: true, floor: Some(0.0), top_k: 20, ..SearchRequest::new("rotate key 7") };
    let (found, ran) = watch(|| store.search(&reader, &request).expect("hits"));
    assert_eq!(found.hits.len(), 20);
    (ran, format!("{found:#?}"))
}

/// Where the chunks of a class stand in the pages of lengths must not depend on how many classes there were before.
#[rstest]
#[case(150)]
#[case(600)]
fn promise_02_the_number_of_a_class_costs_nothing(#[case] documents: usize) {
    let expected = steps(0, documents);
    for before in [1, 2, 4, 7] {
        assert!(steps(before, documents) == expected, "{before} hidden classes before");
    }
}

/// What the citations of a page cost in a store of `sources` sources with two rules each. None of them means anything.
fn citations(sources: usize, citations: usize, reader: &Principal) -> Vec<Ran> {
    watch(|| ());
    let folder = tempfile::tempdir().expect("a folder");
    let mut yaml = String::from("sources:\n");
    for source in 0..sources {
        writeln!(yaml, "  - {{id: s{source}, path: s{source}}}").expect("text grows");
        write(&folder.path().join(format!("s{source}/a.md")), b"# Keys\n\nRotate a key.\n");
        write(&folder.path().join(format!("s{source}/b.md")), b"---\ngroups: [us]\n---\n# Locks\n\nOil a lock.\n");
    }
    let prose: String = (0..citations).map(|number| format!("See nothing{number}.md#L3.\n\n")).collect();
    write(&folder.path().join("prose/page.md"), prose.as_bytes());
    let store = Store::open_or_create(folder.path().join("ragdb.db")).expect("a store");
    let config = Config::from_yaml(&yaml, folder.path().join("ragdb.yaml")).expect("a configuration");
    store.sync(&SyncRequest { sources: SyncSources::Config(config), ..SyncRequest::default() }).expect("it syncs");
    let folders = [folder.path().join("prose")];
    let (report, ran) = watch(|| store.lock_citations(reader, &folders).expect("it locks"));
    assert_eq!(report.links.len(), citations);
    ran
}

/// A path is looked for in each source, there in its own classes, and what is true of the whole store is read once.
#[rstest]
#[case::of_the_operator(Principal::operator())]
#[case::of_a_reader(Principal::new("", "ann").and_then(|ann| ann.with_group("us")).unwrap())]
fn a_citation_costs_each_class_once(#[case] reader: Principal) {
    let looked_up = |ran: &[Ran]| {
        let of_documents = |ran: &&Ran| ran.sql.contains("documents d") || ran.sql.contains("tombstones t");
        ran.iter().filter(of_documents).map(|ran| ran.steps).sum::<i64>()
    };
    let [few, many] = [4, 16].map(|sources| citations(sources, 20, &reader));
    assert!(looked_up(&few) > 0);
    assert!(looked_up(&many) < 6 * looked_up(&few), "{} {}", looked_up(&few), looked_up(&many));
    let once = |ran: &[Ran]| ran.iter().filter(|ran| looked_up(std::slice::from_ref(ran)) == 0).count();
    assert_eq!(once(&citations(4, 1, &reader)), once(&citations(4, 20, &reader)));
}

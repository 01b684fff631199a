//! A run is somebody's own, and what it showed is judged by what they may read now.

use ragdb::{
    AclChange, AnswerFormat, AnswerRecord, ContextRequest, Manifest, Principal, ProposedAnswer, Store, Verdict,
    Verification, VerifyRequest,
};

use super::{House, SOURCES, alice, bob};
use crate::world::rows;

const KEYS: &str = "# Keys\n\nRotate a key every 90 days.\n";

fn house() -> House {
    let house = House::new();
    house.write("staff/keys.md", KEYS);
    house.write("hr/rota.md", "# Rota\n\nThe key of the safe stays with Kim.\n");
    house.sync();
    house
}

/// Evidence, kept as the reader's run.
fn recorded(store: &Store, reader: &Principal) -> Manifest {
    let run = store.context(reader, &ContextRequest::new("rotate a key")).expect("evidence").manifest;
    store.record_run(reader, &run).expect("it is recorded");
    assert_eq!(store.run(reader, &run.run_id).as_ref().ok(), Some(&run), "it comes back as it was");
    run
}

fn verified(store: &Store, reader: &Principal, run: &Manifest) -> Verification {
    let claim = r#"{"claims": [{"text": "Rotate a key every 90 days.", "citations": [{"ref": "S1"}]}]}"#;
    let answer = ProposedAnswer::parse(claim, AnswerFormat::Json, &[]).expect("an answer");
    store.verify(reader, &VerifyRequest::new(run, &answer)).expect("it is judged")
}

#[test]
fn others_runs_do_not_exist() {
    let house = house();
    let store = house.store();
    let (hers, his) = (recorded(&store, &alice()), recorded(&store, &bob()));
    assert_eq!(store.run(&alice(), "last").unwrap().run_id, hers.run_id);
    assert_eq!(store.run(&bob(), "last").unwrap().run_id, his.run_id);
    for id in [&his.run_id, &his.run_id[..8]] {
        let (of_another, unknown) = (store.run(&alice(), id), store.run(&alice(), "0123456789abcdef"));
        let text = |error: ragdb::Error, id: &str| error.to_string().replace(id, "ID");
        assert_eq!(text(of_another.unwrap_err(), id), text(unknown.unwrap_err(), "0123456789abcdef"));
        assert_eq!(store.run(&Principal::operator(), id).unwrap().run_id, his.run_id);
    }
    let verification = verified(&store, &alice(), &hers);
    let record = AnswerRecord { verification: &verification, synthesiser: "external", stop_reason: None, calls: None };
    assert_eq!(store.record_answer(&bob(), &record).map_err(|error| error.code()), Err("not_found"));
    store.record_answer(&alice(), &record).expect("it is kept");
    let kept = |reader: &Principal| store.answers(reader, 10).unwrap().len();
    assert_eq!((kept(&alice()), kept(&bob()), kept(&Principal::operator())), (1, 0, 1));
    house.remove("staff/keys.md");
    house.write("staff/locks.md", "# Locks\n\nA lock has a key.\n");
    house.sync();
    let impact = |reader: &Principal| store.impact(reader).unwrap().len();
    assert_eq!((impact(&alice()), impact(&bob()), impact(&Principal::operator())), (1, 0, 1));
}

#[test]
fn what_may_not_be_read_any_more_is_unknown_to_the_reader_and_forbidden_to_the_operator() {
    let house = house();
    let store = house.store();
    let run = recorded(&store, &alice());
    let verdict = |reader: &Principal| verified(&store, reader, &run).claims.remove(0).citations.remove(0);
    assert_eq!(verdict(&alice()).verdict, Verdict::Verified);
    house.write("ragdb.yaml", &SOURCES.replace("groups: [staff]", "groups: [hr]"));
    house.sync();
    let hers = verdict(&alice());
    assert_eq!(hers.verdict, Verdict::UnknownReference);
    assert_eq!(hers.detail, "nothing in the store has this reference");
    assert_eq!(verdict(&Principal::operator()).verdict, Verdict::Forbidden);
    let verification = verified(&store, &Principal::operator(), &run);
    let record = AnswerRecord { verification: &verification, synthesiser: "external", stop_reason: None, calls: None };
    store.record_answer(&Principal::operator(), &record).expect("the code is one that the store knows");
    assert!(store.impact(&alice()).unwrap().is_empty(), "nothing was published");
}

#[test]
fn a_run_keeps_the_stored_epoch_and_the_one_that_was_seen() {
    let house = house();
    let store = house.store();
    store.grant(&AclChange::user("hr", "zoe").unwrap()).expect("it is granted");
    store.grant(&AclChange::user("staff", "zoe").unwrap()).expect("it is granted");
    let hers = recorded(&store, &alice());
    assert_eq!((hers.acl_epoch, recorded(&store, &Principal::operator()).acl_epoch), (1, 2));
    assert_eq!(rows(&store, "SELECT acl_epoch, seen_epoch FROM runs ORDER BY rowid"), [["2", "1"], ["2", "2"]]);
}

#[test]
fn a_run_of_anyone_is_found_by_its_whole_id_alone() {
    let house = house();
    house.write("site/open.md", KEYS);
    house.sync();
    let (store, anyone) = (house.store(), Principal::public());
    let run = recorded(&store, &anyone);
    let verification = verified(&store, &anyone, &run);
    let record = AnswerRecord { verification: &verification, synthesiser: "external", stop_reason: None, calls: None };
    store.record_answer(&anyone, &record).expect("it is kept");
    for id in ["last", &run.run_id[..8], &run.run_id[..31]] {
        assert_eq!(store.run(&anyone, id).map_err(|error| error.code()), Err("not_found"), "{id}");
        assert_eq!(store.run(&Principal::operator(), id).unwrap().run_id, run.run_id);
    }
    house.remove("site/open.md");
    house.sync();
    assert!(store.answers(&anyone, 10).unwrap().is_empty() && store.impact(&anyone).unwrap().is_empty());
    assert_eq!(store.answers(&Principal::operator(), 10).unwrap().len(), 1);
    assert_eq!(store.impact(&Principal::operator()).unwrap().len(), 1);
}

#[test]
fn an_answer_is_listed_to_whom_had_it_judged() {
    let house = house();
    let (store, operator) = (house.store(), Principal::operator());
    let run = recorded(&store, &alice());
    let verification = verified(&store, &operator, &run);
    let record = AnswerRecord { verification: &verification, synthesiser: "external", stop_reason: None, calls: None };
    store.record_answer(&operator, &record).expect("it is kept");
    house.remove("staff/keys.md");
    house.write("staff/locks.md", "# Locks\n\nA lock has a key.\n");
    house.sync();
    assert!(store.answers(&alice(), 10).unwrap().is_empty() && store.impact(&alice()).unwrap().is_empty());
    assert_eq!((store.answers(&operator, 10).unwrap().len(), store.impact(&operator).unwrap().len()), (1, 1));
}

#[test]
fn runs_are_found_by_an_index() {
    let house = house();
    let store = house.store();
    for (sql, index) in [
        ("WHERE principal_digest = 'd' AND run_id BETWEEN 'a' AND 'b' ORDER BY run_id", "runs_by_principal"),
        ("INDEXED BY runs_by_age WHERE principal_digest = 'd' ORDER BY rowid DESC", "runs_by_age"),
    ] {
        let plan = rows(&store, &format!("EXPLAIN QUERY PLAN SELECT run_id FROM runs {sql}")).concat().join(" ");
        assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{plan}");
    }
}

#[test]
fn where_a_source_lies_is_told_to_the_operator_alone() {
    let house = house();
    let store = house.store();
    let run = recorded(&store, &alice());
    let prose = [house.path().join("prose")];
    house.write("prose/page.md", "See keys.md#L3.\n");
    store.lock_citations(&alice(), &prose).expect("it locks");
    std::fs::rename(house.path().join("staff"), house.path().join("secret")).expect("it is moved");
    let details = |reader: &Principal| {
        let cited = store.cite(reader, "keys.md#L3").unwrap().detail;
        let judged = verified(&store, reader, &run).claims.remove(0).citations.remove(0).detail;
        let refused = store.context(reader, &ContextRequest::new("rotate a key")).unwrap().manifest.refused;
        let refused = refused.into_iter().find(|refused| refused.path == "keys.md").expect("it is refused");
        let links = store.check_citations(reader, &prose, false).unwrap().links;
        [cited, judged, refused.detail, links[0].detail.clone()]
    };
    for told in details(&alice()) {
        assert!(told.ends_with("its source file can't be read"), "{told}");
    }
    for told in details(&Principal::operator()) {
        assert!(told.contains("staff"), "{told}");
    }
}

#[test]
fn a_run_is_recorded_for_whom_it_was_made() {
    let house = house();
    let store = house.store();
    let run = store.context(&alice(), &ContextRequest::new("rotate a key")).expect("evidence").manifest;
    let refused = store.record_run(&bob(), &run).expect_err("he reads something else");
    assert!(refused.to_string().contains("what its reader may read has changed since"), "{refused}");
    // A sync meanwhile changes nothing of what it was made from.
    house.write("staff/more.md", "# More\n\nA key has teeth.\n");
    house.sync();
    store.record_run(&alice(), &run).expect("it is recorded");
    assert_eq!(store.run(&alice(), "last").unwrap(), run);
}

/// What a reader is told of their run and of the answers to it.
fn told(store: &Store, reader: &Principal, run: &Manifest) -> (Option<String>, usize, Vec<String>) {
    let kept = match (store.run(reader, &run.run_id), store.run(reader, "last")) {
        (Ok(kept), Ok(last)) if kept == last => Some(kept.shown[0].path.clone()),
        (Err(one), Err(last)) => {
            let unknown = store.run(reader, "0123456789abcdef").unwrap_err().to_string();
            assert_eq!(one.to_string().replace(&run.run_id, "ID"), unknown.replace("0123456789abcdef", "ID"));
            assert_eq!((one.code(), last.code()), ("not_found", "not_found"));
            None
        }
        other => panic!("{other:?}"),
    };
    let impact = store.impact(reader).expect("it is told").into_iter().map(|impact| impact.text).collect();
    (kept, store.answers(reader, 10).expect("it is told").len(), impact)
}

#[test]
fn what_was_shown_once_is_not_told_to_who_may_not_read_it_now() {
    let house = house();
    house.write("ragdb.yaml", &SOURCES.replace("groups: [staff]", "groups: [staff], scope: desk"));
    house.sync();
    let store = house.store();
    let hers = recorded(&store, &alice());
    let verification = verified(&store, &alice(), &hers);
    let record = AnswerRecord { verification: &verification, synthesiser: "external", stop_reason: None, calls: None };
    store.record_answer(&alice(), &record).expect("it is kept");
    let claim = || "Rotate a key every 90 days.".to_owned();
    let nothing = (None, 0, vec![]);
    let within = |scope: &str| alice().with_scope(scope).expect("a principal");
    let ungrouped = Principal::new("acme", "alice").expect("a principal");
    assert_eq!(told(&store, &alice(), &hers), (Some("keys.md".into()), 1, vec![]));
    house.write("staff/keys.md", &format!("{KEYS}\nA key has teeth.\n"));
    house.sync();
    for (reader, expected) in [
        (alice(), (Some("keys.md".into()), 1, vec![claim()])),
        (within("desk"), (Some("keys.md".into()), 1, vec![claim()])),
        (within("elsewhere"), nothing.clone()),
        (ungrouped.clone(), nothing.clone()),
    ] {
        assert_eq!(told(&store, &reader, &hers), expected, "{reader:?}");
    }
    let revoked = AclChange::group("staff", "staff").expect("a change");
    store.revoke(&revoked).expect("it is revoked");
    house.remove("staff/keys.md");
    house.write("staff/locks.md", "# Locks\n\nA lock has a key.\n");
    house.sync();
    for reader in [alice(), within("desk"), ungrouped] {
        assert_eq!(told(&store, &reader, &hers), nothing, "{reader:?}");
    }
    assert_eq!(told(&store, &Principal::operator(), &hers), (Some("keys.md".into()), 1, vec![claim()]));
    // What is judged is told citation by citation, as before.
    let run = store.run_to_verify(&alice(), "last").expect("it is hers");
    assert_eq!(verified(&store, &alice(), &run).claims[0].verdict, Verdict::UnknownReference);
    assert_eq!(store.run_to_verify(&bob(), &run.run_id).map_err(|error| error.code()), Err("not_found"));
}

#[test]
fn a_claim_is_told_where_all_that_it_cites_may_be() {
    let house = house();
    house.write("site/keys.md", &KEYS.replace("days.", "days. A key has teeth."));
    house.sync();
    let store = house.store();
    let run = recorded(&store, &alice());
    let claim = r#"{"claims": [
        {"text": "Rotate a key every 90 days.", "citations": [{"ref": "site:keys.md#L3"}, {"ref": "staff:keys.md#L3"}]},
        {"text": "Rotate a key every 90 days!", "citations": [{"ref": "site:keys.md#L3"}]}]}"#;
    let answer = ProposedAnswer::parse(claim, AnswerFormat::Json, &[]).expect("an answer");
    let verification = store.verify(&alice(), &VerifyRequest::new(&run, &answer)).expect("it is judged");
    assert_eq!(verification.published().len(), 3, "{verification:?}");
    let record = AnswerRecord { verification: &verification, synthesiser: "external", stop_reason: None, calls: None };
    store.record_answer(&alice(), &record).expect("it is kept");
    house.write("site/keys.md", &KEYS.replace("90", "60"));
    house.sync();
    let impact = || store.impact(&alice()).unwrap().into_iter().map(|impact| impact.claim).collect::<Vec<_>>();
    assert_eq!(impact(), [0, 1]);
    store.revoke(&AclChange::group("staff", "staff").unwrap()).expect("it is revoked");
    assert_eq!(impact(), [1]);
}

#[test]
fn an_answer_is_kept_with_the_generation_that_it_was_judged_against() {
    let house = house();
    house.write("site/keys.md", KEYS);
    house.sync();
    let store = house.store();
    let readers = [alice(), Principal::operator()];
    let judged: Vec<Verification> =
        readers.iter().map(|reader| verified(&store, reader, &recorded(&store, reader))).collect();
    let digests = [store.log(&alice(), None).unwrap(), store.log(&Principal::operator(), None).unwrap()]
        .map(|generations| generations[0].digest.to_string());
    assert_eq!(digests, [judged[0].generation_digest.clone(), judged[1].generation_digest.clone()]);
    // Later there is more, and she reads of it what came before as well.
    house.write("hr/rota.md", "# Rota\n\nNobody has the key.\n");
    house.sync();
    house.write("site/more.md", "# More\n\nA key has teeth.\n");
    house.sync();
    store.grant(&AclChange::group("hr", "staff").unwrap()).expect("it is granted");
    for (reader, verification) in readers.iter().zip(&judged) {
        let (synthesiser, stop_reason, calls) = ("external", None, None);
        store
            .record_answer(reader, &AnswerRecord { verification, synthesiser, stop_reason, calls })
            .expect("it is kept");
    }
    let kept = rows(&store, "SELECT generation FROM answers ORDER BY rowid");
    assert_eq!(kept, [["2"], ["2"]]);
}

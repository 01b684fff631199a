//! The cache: whoever is given something from before is given what they would be given now.

mod asking;
mod broken;
mod matrix;

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ragdb::{
    AclChange, AnswerRequest, Bm25Policy, CachedAnswer, ChunkSettings, Config, ContextRequest, Error, EvidenceBlock,
    ExpectedPolicy, Principal, Proposal, ProposedAnswer, ProposedCitation, ProposedClaim, RunEvent, SearchRequest,
    Store, StoredAnswer, SyncRequest, SyncSources, SynthesisTask, Synthesiser,
};
use rstest::rstest;

use crate::world::{World, value, write};

const YAML: &str = "access: {groups: [managers, ops]}
sources:
  - {id: docs, path: docs, visibility: internal, tenant: acme}
  - {id: boss, path: boss, visibility: private, tenant: acme, groups: [managers]}
  - {id: open, path: open, visibility: public}
";
const QUESTION: &str = "rotate a key";
const RULE: &str = "Rotate a key every 90 days.";
const EXCEPTION: &str = "Managers rotate a key every 365 days.";
const OPEN: &str = "Anyone may rotate a key every day.";

/// Claims the last line of every block, and counts how often it is asked.
#[derive(Default)]
struct Counting {
    asked: AtomicUsize,
}

impl Synthesiser for Counting {
    fn propose(&self, task: &SynthesisTask<'_>) -> ragdb::Result<Proposal> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let claim = |block: &EvidenceBlock| {
            let line = block.body.lines().last().unwrap_or_default().to_owned();
            let reference = block.label.clone();
            let citations = vec![ProposedCitation { reference, quote: Some(line.clone()), range: None }];
            ProposedClaim { text: line, citations }
        };
        Ok(Proposal::Answer(ProposedAnswer { claims: task.blocks.iter().map(claim).collect() }))
    }

    fn name(&self) -> &'static str {
        "counting"
    }

    fn identity(&self) -> Option<String> {
        Some("counting 1".into())
    }
}

/// How somebody is expected to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    /// From before: the synthesiser is not asked.
    Hit,
    /// Anew.
    Miss,
    /// Anew, and there is nothing that a synthesiser could be shown.
    Nothing,
}
use Expect::{Hit, Miss, Nothing};

/// A tenant's documents, a group's, and some for anyone.
struct Desk {
    world: World,
    store: Store,
    synthesiser: Counting,
}

impl Desk {
    fn new() -> Self {
        let world = World::new(&[("keys.md", &format!("# Keys\n\n{RULE}\n"))]);
        for folder in ["docs", "open"] {
            write(&world.path().join(folder).join("canteen.md"), b"# Canteen\n\nThe canteen opens at noon.\n");
            write(&world.path().join(folder).join("parking.md"), b"# Parking\n\nCars stand behind the house.\n");
        }
        write(&world.path().join("boss/keys.md"), format!("# Exceptions\n\n{EXCEPTION}\n").as_bytes());
        write(&world.path().join("open/keys.md"), format!("# Open\n\n{OPEN}\n").as_bytes());
        let desk = Self { store: world.store(), world, synthesiser: Counting::default() };
        desk.sync(YAML);
        desk
    }

    fn sync(&self, yaml: &str) {
        self.sync_with(yaml, |request| request);
    }

    fn sync_with(&self, yaml: &str, and: impl FnOnce(SyncRequest) -> SyncRequest) {
        let config = Config::from_yaml(yaml, self.world.path().join("ragdb.yaml")).expect("a good configuration");
        let request = SyncRequest { sources: SyncSources::Config(config), ..SyncRequest::default() };
        self.store.sync(&and(request)).expect("the sync succeeds");
    }

    /// Changes a file below the world's folder.
    fn write(&self, path: &str, text: &str) {
        write(&self.world.path().join(path), text.as_bytes());
    }

    fn request(&self) -> AnswerRequest<'_> {
        AnswerRequest { top_k: 5, ..AnswerRequest::new(QUESTION, &self.synthesiser) }
    }

    /// Asks for an answer and for evidence. Both must come as expected, be the reader's own runs, and be what is found
    /// without a cache.
    #[track_caller]
    fn ask(&self, who: &Principal, expect: Expect) -> CachedAnswer {
        let before = self.synthesiser.asked.load(Ordering::SeqCst);
        let given = self.store.cached_answer(who, &self.request()).expect("an answer or an abstention");
        let asked = self.synthesiser.asked.load(Ordering::SeqCst) - before;
        assert_eq!((given.cached, asked > 0), (expect == Hit, expect == Miss), "{expect:?}: {:?}", given.answer.text);
        let other = Counting::default();
        let fresh =
            self.store.answer(who, &AnswerRequest { synthesiser: &other, ..self.request() }).expect("an answer");
        let of = |answer: &ragdb::Answer| {
            let (shown, refused) = (answer.manifest.shown.clone(), answer.manifest.refused.clone());
            let verified = (answer.published.clone(), answer.verification.claims.clone());
            (answer.text.clone(), answer.stop_reason, answer.calls, answer.attempts, verified, shown, refused)
        };
        assert_eq!(of(&given.answer), of(&fresh), "a wrong hit");
        assert_eq!(given.answer.manifest.events, fresh.manifest.events, "a wrong hit");

        let request = ContextRequest::new(QUESTION);
        let evidence = self.store.cached_context(who, &request).expect("evidence or none");
        assert_eq!(evidence.cached, expect == Hit);
        let fresh = self.store.context(who, &request).expect("evidence or none");
        let anonymous = |evidence: &ragdb::Evidence| evidence.prompt.replace(&evidence.manifest.nonce, "NONCE");
        assert_eq!(anonymous(&evidence.evidence), anonymous(&fresh), "a wrong hit");
        assert_eq!(evidence.evidence.manifest.refused, fresh.manifest.refused, "a wrong hit");
        for run in [&given.answer.manifest, &evidence.evidence.manifest] {
            assert_eq!(&self.store.run(who, &run.run_id).expect("their own run"), run);
        }
        let answer_id = given.answer_id.as_ref().expect("it is kept");
        let answers = self.store.answers(who, 1000).expect("the answers");
        // What anyone asked is listed to nobody.
        let is_listed = |answer: &StoredAnswer| &answer.answer_id == answer_id && answer.run_id == given.answer.run_id;
        assert_eq!(answers.iter().any(is_listed), *who != Principal::public());
        given
    }

    /// Asks where nothing is known yet, and again.
    #[track_caller]
    fn ask_twice(&self, who: &Principal) -> CachedAnswer {
        let first = self.ask(who, Miss);
        let again = self.ask(who, Hit);
        assert_eq!((&first.answer, &first.answer_id), (&again.answer, &again.answer_id));
        again
    }
}

fn known(user: &str, groups: &[&str]) -> Principal {
    let principal = Principal::new("acme", user).unwrap();
    groups.iter().fold(principal, |principal, group| principal.with_group(*group).unwrap())
}

#[test]
fn two_readers_at_one_epoch_do_not_meet_in_the_cache() {
    // S1's first counter-example: no rule changes, but who asks does.
    let desk = Desk::new();
    let manager = desk.ask_twice(&known("max", &["managers"]));
    assert!(manager.answer.text.contains("365"), "{}", manager.answer.text);
    let employee = desk.ask_twice(&known("eve", &[]));
    assert!(employee.answer.text.contains(RULE) && !employee.answer.text.contains("365"), "{}", employee.answer.text);
    assert!(desk.store.access_log().unwrap().is_empty());
    let epochs = [&manager, &employee].map(|given| given.answer.manifest.acl_epoch);
    assert_eq!(epochs, [0, 0]);
    desk.ask(&known("max", &["managers"]), Hit);
    desk.ask(&known("eve", &[]), Hit);
}

#[test]
fn who_is_revoked_later_is_given_nothing_of_before() {
    // S1's second counter-example: who asks stays the same, but what they may read does not.
    let desk = Desk::new();
    let max = known("max", &["managers"]);
    assert!(desk.ask_twice(&max).answer.text.contains("365"));
    desk.store.revoke(&AclChange::user("boss", "max").unwrap()).unwrap();
    assert!(!desk.ask_twice(&max).answer.text.contains("365"));
    // Another manager is still given theirs.
    assert!(desk.ask_twice(&known("mia", &["managers"])).answer.text.contains("365"));
}

#[rstest]
#[case::of_a_group_on_a_source(known("olga", &["ops"]), AclChange::group("boss", "ops"))]
#[case::of_a_user_on_a_source(known("olga", &["ops"]), AclChange::user("boss", "olga"))]
#[case::of_a_user_on_a_document(known("olga", &["ops"]), AclChange::user("boss:keys.md", "olga"))]
fn grants_and_revocations_hold_at_once_however_often(#[case] who: Principal, #[case] change: ragdb::Result<AclChange>) {
    let desk = Desk::new();
    let (change, max) = (change.unwrap(), known("max", &["managers"]));
    desk.ask_twice(&who);
    assert!(desk.ask_twice(&max).answer.text.contains("365"));
    for granted in [true, false, true, false] {
        let act = if granted { Store::grant } else { Store::revoke };
        act(&desk.store, &change).expect("it is done");
        // Once they read again what they read at first, what was kept then may be given again: it is what they get anew.
        let text = desk.store.cached_answer(&who, &desk.request()).unwrap().answer.text;
        assert_eq!(text, desk.store.answer(&who, &desk.request()).unwrap().text);
        assert_eq!(text.contains("365"), granted, "{text}");
        // Whoever was let in before still is.
        assert!(desk.store.cached_answer(&max, &desk.request()).unwrap().answer.text.contains("365"));
    }
}

#[test]
fn who_joins_or_leaves_a_group_is_somebody_else_to_the_cache() {
    let desk = Desk::new();
    desk.ask_twice(&known("eve", &[]));
    let inside = desk.ask_twice(&known("eve", &["managers"]));
    let outside = desk.ask(&known("eve", &[]), Hit);
    assert_ne!(inside.answer.run_id, outside.answer.run_id);
    // A group that lets nobody in makes no difference, but for the record of who asked.
    let ops = desk.ask(&known("eve", &["ops"]), Hit);
    assert_ne!(ops.answer.run_id, outside.answer.run_id);
    let sql = format!("SELECT principal FROM runs WHERE run_id = '{}'", ops.answer.run_id);
    assert!(value(&desk.store, &sql).contains("ops"));
    // And if the groups of a source change, its readers do.
    desk.sync(&YAML.replace("groups: [managers]}", "groups: [ops]}"));
    assert!(!desk.ask(&known("eve", &["managers"]), Hit).answer.text.contains("365"));
    assert!(desk.ask_twice(&known("eve", &["ops"])).answer.text.contains("365"));
}

#[test]
fn a_file_that_is_edited_takes_its_evidence_back_at_once() {
    let desk = Desk::new();
    let eve = known("eve", &[]);
    desk.ask_twice(&eve);
    // Not synced: the store has the old text still, and the key is the same.
    for _ in 0..2 {
        desk.write("docs/keys.md", "# Keys\n\nRotate a key every 30 days.\n");
        assert!(!desk.ask_twice(&eve).answer.text.contains("90"));
        desk.write("docs/keys.md", &format!("# Keys\n\n{RULE}\n"));
        assert!(desk.ask_twice(&eve).answer.text.contains("90"));
    }
    fs::remove_file(desk.world.docs().join("keys.md")).unwrap();
    assert!(!desk.ask_twice(&eve).answer.text.contains("90"));
    fs::rename(desk.world.docs(), desk.world.path().join("elsewhere")).unwrap();
    desk.ask_twice(&eve);
    fs::rename(desk.world.path().join("elsewhere"), desk.world.docs()).unwrap();
    // A text that is the same at another place is another evidence.
    desk.write("docs/keys.md", &format!("# Keys\n\nMore.\n\n{RULE}\n"));
    desk.ask_twice(&eve);
    desk.sync(YAML);
    let moved = desk.ask_twice(&eve);
    assert!(moved.answer.published.iter().any(|published| published.span.start_line == 5));
}

#[test]
fn what_is_deleted_is_never_given_again() {
    let desk = Desk::new();
    let eve = known("eve", &[]);
    desk.ask_twice(&eve);
    fs::remove_file(desk.world.docs().join("keys.md")).unwrap();
    desk.sync(YAML);
    assert!(!desk.ask_twice(&eve).answer.text.contains("90"));
    // The same text, back again, is asked for anew.
    desk.write("docs/keys.md", &format!("# Keys\n\n{RULE}\n"));
    desk.sync(YAML);
    assert!(desk.ask_twice(&eve).answer.text.contains("90"));
    fs::remove_file(desk.world.path().join("open/keys.md")).unwrap();
    desk.sync(YAML);
    desk.ask(&Principal::public(), Nothing);
    desk.ask(&Principal::public(), Hit);
}

#[test]
fn another_policy_asks_anew() {
    let desk = Desk::new();
    let eve = known("eve", &[]);
    desk.ask_twice(&eve);
    let chunking = |target_chars| ChunkSettings { target_chars: Some(target_chars), ..ChunkSettings::default() };
    let bm25 = |k1| Some(Bm25Policy { k1, ..Bm25Policy::default() });
    for (bm25, chunking) in
        [(bm25(2.0), ChunkSettings::default()), (bm25(1.2), ChunkSettings::default()), (None, chunking(900))]
    {
        desk.sync_with(YAML, |request| SyncRequest { bm25, chunking, ..request });
        desk.ask_twice(&eve);
    }
    // Who relies on other settings is refused, as by a search.
    let expected_policy = Some(ExpectedPolicy { chunking: Some(chunking(700)), ..ExpectedPolicy::default() });
    let search = SearchRequest { expected_policy, ..ContextRequest::new(QUESTION).search };
    let request = ContextRequest { search, ..ContextRequest::new(QUESTION) };
    let error = desk.store.cached_context(&eve, &request).unwrap_err();
    assert!(matches!(error, Error::PolicyMismatch { .. }), "{error}");
}

#[test]
fn nothing_is_given_across_a_border_of_validity() {
    let desk = Desk::new();
    let border = after(Duration::from_secs(5));
    desk.write("docs/keys.md", &format!("---\nvalid_until: {border}\n---\n# Keys\n\n{RULE}\n"));
    desk.write("docs/next.md", &format!("---\nvalid_from: {border}\n---\n# Keys\n\nRotate a key every 60 days.\n"));
    desk.sync(YAML);
    let eve = known("eve", &[]);
    let before = desk.ask_twice(&eve).answer.text;
    assert!(before.contains("90") && !before.contains("60 days"), "{before}");
    let operator = desk.ask_twice(&Principal::operator()).answer.text;
    assert!(operator.contains("90") && !operator.contains("60 days"), "{operator}");
    // The operator may look ahead, and is not given what is for then now.
    let ahead = Principal::operator().as_of("2099-01-01").unwrap();
    assert!(desk.ask_twice(&ahead).answer.text.contains("60 days"));
    assert_eq!(desk.ask(&Principal::operator(), Hit).answer.text, operator);
    assert_ne!(value(&desk.store, "SELECT count(*) FROM cache WHERE valid_until IS NOT NULL"), "0");
    while after(Duration::ZERO) <= border {
        std::thread::sleep(Duration::from_millis(50));
    }
    for who in [eve, Principal::operator()] {
        let text = desk.ask_twice(&who).answer.text;
        assert!(!text.contains("90") && text.contains("60 days"), "{text}");
    }
}

/// The time so long from now, as front matter has it.
fn after(pause: Duration) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap() + pause;
    let (seconds, millis) = (now.as_secs(), now.subsec_millis());
    let conn = rusqlite::Connection::open_in_memory().unwrap();
    let text: String = conn
        .query_row("SELECT strftime('%Y-%m-%dT%H:%M:%S', ?1, 'unixepoch')", [seconds as i64], |row| row.get(0))
        .unwrap();
    format!("{text}.{millis:03}Z")
}

#[test]
fn who_may_read_the_same_is_given_the_same_as_a_run_of_their_own() {
    let desk = Desk::new();
    let (eve, tom) = (known("eve", &[]), known("tom", &[]));
    let hers = desk.ask_twice(&eve);
    let his = desk.ask(&tom, Hit);
    assert_ne!(hers.answer.run_id, his.answer.run_id);
    assert_ne!(hers.answer_id, his.answer_id);
    assert_eq!(hers.answer.published, his.answer.published);
    for (who, other) in [(&eve, &his), (&tom, &hers)] {
        assert!(desk.store.run(who, &other.answer.run_id).is_err());
        assert_eq!(desk.store.answers(who, 10).unwrap().len(), 1);
    }
    // From then on each has an entry of their own: nothing is recorded by a hit.
    let runs = value(&desk.store, "SELECT count(*) FROM runs");
    assert_eq!(desk.ask(&tom, Hit).answer_id, his.answer_id);
    assert_eq!(desk.ask(&eve, Hit).answer_id, hers.answer_id);
    assert_eq!(value(&desk.store, "SELECT count(*) FROM runs"), runs);
    // A grant to one of them parts them.
    desk.store.grant(&AclChange::user("boss", "tom").unwrap()).unwrap();
    desk.ask(&tom, Miss);
    desk.ask(&eve, Hit);
}

#[test]
fn what_happened_to_a_run_since_is_not_handed_on() {
    let desk = Desk::new();
    let (eve, tom) = (known("eve", &[]), known("tom", &[]));
    let hers = desk.ask_twice(&eve);
    let event = RunEvent { name: "citation_rejected".into(), detail: serde_json::Map::new() };
    desk.store.add_run_events(&eve, &hers.answer.run_id, &[event]).unwrap();
    let again = desk.store.cached_answer(&eve, &desk.request()).unwrap();
    assert!(again.cached);
    assert_eq!(again.answer, hers.answer);
    desk.ask(&tom, Hit);
}

#[test]
fn the_operator_within_a_scope_has_a_cache_too() {
    let desk = Desk::new();
    desk.sync(&YAML.replace("{id: docs,", "{id: docs, scope: guides,"));
    let within = Principal::operator().with_scope("guides").unwrap();
    assert_eq!(desk.ask_twice(&within).answer.text, RULE);
    // Another source changes: what they read does not.
    desk.write("open/more.md", "# More\n\nRotate another key every year.\n");
    desk.sync(&YAML.replace("{id: docs,", "{id: docs, scope: guides,"));
    desk.ask(&within, Hit);
}

#[test]
fn readers_of_other_tenants_share_nothing() {
    let desk = Desk::new();
    let foreign = Principal::new("umbrella", "eve").unwrap();
    let other = Principal::new("initech", "eve").unwrap();
    let open = desk.ask_twice(&foreign);
    assert_eq!(open.answer.text, OPEN);
    desk.ask_twice(&known("eve", &[]));
    // All three may read the open documents and nothing else.
    desk.ask_twice(&other);
    desk.ask_twice(&Principal::public());
    let limited = Principal::operator().with_scope("nowhere").unwrap();
    assert!(!desk.store.cached_answer(&limited, &desk.request()).unwrap().answer.answered());
    desk.ask(&foreign, Hit);
}

#[test]
fn what_a_reader_may_not_see_turns_no_hit_into_a_miss_and_no_miss_into_a_hit() {
    let (with, without) = (Desk::new(), Desk::new());
    let readers = [known("eve", &[]), Principal::public(), Principal::new("umbrella", "una").unwrap()];
    let visible: [&dyn Fn(&Desk); 4] = [
        &|_| {},
        &|desk| desk.write("docs/more.md", "# More\n\nRotate a key after each incident.\n"),
        &|desk| desk.write("open/keys.md", "# Open\n\nAnyone may rotate a key every hour.\n"),
        &|desk| fs::remove_file(desk.world.docs().join("more.md")).unwrap(),
    ];
    let hidden: [&dyn Fn(&Desk); 5] = [
        &|desk| desk.write("boss/more.md", "# More\n\nRotate a key every 7 days, always.\n"),
        &|desk| desk.write("boss/more.md", "---\ngroups: ops\n---\n# More\n\nRotate a key every 8 days.\n"),
        &|desk| desk.write("boss/more.md", "---\nvalid_until: 2099-01-01\n---\n# More\n\nRotate a key.\n"),
        &|desk| drop(desk.store.grant(&AclChange::user("boss:more.md", "max").unwrap()).unwrap()),
        &|desk| fs::remove_file(desk.world.path().join("boss/more.md")).unwrap(),
    ];
    for (round, change) in visible.iter().enumerate() {
        for desk in [&with, &without] {
            change(desk);
            desk.sync(YAML);
        }
        let mut first: Vec<Option<CachedAnswer>> = vec![None; readers.len()];
        for (step, hide) in hidden.iter().enumerate() {
            hide(&with);
            with.sync(YAML);
            for (who, first) in readers.iter().zip(&mut first) {
                let given = [&with, &without].map(|desk| desk.store.cached_answer(who, &desk.request()).unwrap());
                assert_eq!(given[0].cached, given[1].cached, "round {round}, step {step}: {who:?}");
                assert_eq!(given[0].answer.published, given[1].answer.published);
                assert_eq!(given[0].answer.manifest.acl_epoch, given[1].answer.manifest.acl_epoch);
                assert_eq!(given[0].answer.manifest.generation, given[1].answer.manifest.generation);
                assert!(step == 0 || given[0].cached, "round {round}, step {step}: {who:?}");
                let before = first.get_or_insert_with(|| given[0].clone());
                assert_eq!(format!("{:?}", given[0].answer), format!("{:?}", before.answer));
            }
        }
    }
}

//! Entries and rows that were changed by hand: each check of a hit is the one that notices. The key is as it was, so
//! nothing else could.

use ragdb::{AnswerRequest, CachedAnswer, Principal};
use rstest::rstest;
use rusqlite::Connection;

use super::{Desk, known};

/// What is changed, as SQL, with `{run}`, `{answer}` for the run and the answer that are kept.
#[rstest]
#[case::the_run_of_an_entry(
    "UPDATE cache SET run_id = (SELECT run_id FROM runs WHERE run_id <> '{run}' LIMIT 1) WHERE run_id = '{run}'"
)]
#[case::the_answer_of_an_entry(
    "UPDATE cache SET answer_id = (SELECT answer_id FROM answers WHERE answer_id <> '{answer}' LIMIT 1)
     WHERE answer_id = '{answer}'"
)]
#[case::run_and_answer_of_an_entry(
    "UPDATE cache SET (run_id, answer_id) = (SELECT run_id, answer_id FROM answers WHERE answer_id <> '{answer}'
     LIMIT 1) WHERE answer_id = '{answer}'"
)]
#[case::the_border_of_an_entry("UPDATE cache SET valid_until = '2099-01-01T00:00:00.000Z'")]
#[case::the_events_of_an_entry("UPDATE cache SET events = 0")]
#[case::the_attempts_of_an_entry("UPDATE cache SET attempts = json_set(attempts, '$.attempts', 7)")]
#[case::attempts_that_are_none("UPDATE cache SET attempts = '[]'")]
#[case::the_digest_of_an_entry("UPDATE cache SET digest = printf('%064d', 0)")]
#[case::a_claim("UPDATE claims SET text = 'Rotate a key every 11 days.'")]
#[case::a_claim_and_its_quote(
    "UPDATE claims SET text = 'Anyone may rotate a key.'; UPDATE citations SET quote = 'Anyone may rotate a key'"
)]
#[case::a_quote("UPDATE citations SET quote = 'Rotate a key every 11 days.'")]
#[case::a_reference("UPDATE citations SET ref = 'S2'")]
#[case::a_verdict("UPDATE citations SET verdict = 'stale'")]
#[case::a_verdict_of_a_claim("UPDATE claims SET verdict = 'verified_normalised'")]
#[case::a_span("UPDATE citations SET chunk_start_byte = chunk_start_byte + 1")]
#[case::a_citation_less("DELETE FROM citations")]
#[case::a_claim_less("DELETE FROM citations; DELETE FROM claim_values; DELETE FROM claims")]
#[case::the_text_of_an_answer("UPDATE answers SET text = 'Never rotate a key.'")]
#[case::who_answered("UPDATE answers SET synthesiser = 'external'")]
#[case::how_it_ended("UPDATE answers SET stop_reason = 'partly_verified'")]
#[case::the_calls("UPDATE answers SET calls = 2")]
#[case::the_question_of_a_run("UPDATE runs SET query = 'something else'")]
#[case::the_nonce_of_a_run("UPDATE runs SET nonce = '00112233445566778899aabbccddeeff'")]
#[case::the_prompt_of_a_run("UPDATE runs SET prompt_hash = printf('%064d', 0)")]
#[case::the_limits_of_a_run("UPDATE runs SET settings = json_set(settings, '$.top_k', 9)")]
#[case::the_epoch_of_a_run("UPDATE runs SET acl_epoch = 3, seen_epoch = 3")]
#[case::the_generation_of_a_run("UPDATE runs SET seen_generation = 9")]
#[case::what_its_reader_could_read("UPDATE runs SET scope_digest = printf('%064d', 0)")]
#[case::a_row_that_cant_be_read("UPDATE runs SET settings = '[]'")]
#[case::labels("UPDATE run_hits SET label = 'S9' WHERE label = 'S1'")]
#[case::a_shown_chunk_less("DELETE FROM run_hits WHERE label = 'S1'")]
#[case::a_refusal_more(
    "INSERT INTO run_hits SELECT run_id, 99, chunk_id, source_id, path, start_line, end_line, start_byte, end_byte,
     content_hash, document_hash, score, NULL, 'over_count', 'x' FROM run_hits WHERE label = 'S1'"
)]
#[case::an_event("UPDATE run_events SET name = 'no_evidence' WHERE event_no = 0")]
#[case::an_event_less("DELETE FROM run_events")]
fn a_hit_that_was_tampered_with_is_none(#[case] sql: &str) {
    let (desk, kept) = tampered(sql);
    let given = desk.store.cached_answer(&known("eve", &[]), &desk.request()).unwrap();
    assert!(!given.cached, "{sql}: {:?}", given.answer.text);
    assert_eq!(given.answer.text, kept.answer.text);
    assert_ne!(given.answer.run_id, kept.answer.run_id);
    // What failed is gone, and what was made anew is kept in its place.
    let again = desk.store.cached_answer(&known("eve", &[]), &desk.request()).unwrap();
    assert!(again.cached && again.answer == given.answer, "{sql}");
}

/// What the store itself says: the entry and its key are as they were, and a chunk may not be shown any more.
#[rstest]
#[case::a_chunk_of_another_class(
    "UPDATE documents SET class_no = (SELECT class_no FROM documents WHERE path = 'keys.md' AND source_no =
     (SELECT source_no FROM sources WHERE source_id = 'boss'))
     WHERE source_no = (SELECT source_no FROM sources WHERE source_id = 'docs')"
)]
#[case::a_chunk_that_is_unsafe("UPDATE chunk_rows SET unsafe_reason = '{}'")]
#[case::a_chunk_with_other_headings("UPDATE chunk_rows SET (under_title, headings) = (0, '[\"Nonsense\"]')")]
#[case::a_chunk_below_another_title("UPDATE documents SET title = 'Nonsense'")]
#[case::a_chunk_with_another_text("UPDATE chunk_rows SET text = replace(text, '90', '91')")]
#[case::a_document_with_another_hash("UPDATE documents SET content_digest = zeroblob(32)")]
fn a_chunk_that_is_not_what_was_shown_is_no_hit(#[case] sql: &str) {
    let (desk, _) = tampered(sql);
    // The store may also be found damaged.
    if let Ok(given) = desk.store.cached_answer(&known("eve", &[]), &desk.request()) {
        assert!(!given.cached && !given.answer.text.contains("91 days"), "{sql}: {:?}", given.answer.text);
    }
}

/// A store whose cache has an answer, and was changed then.
fn tampered(sql: &str) -> (Desk, CachedAnswer) {
    let desk = Desk::new();
    let who = known("eve", &[]);
    // Another run and another answer for entries to be led astray to: to the same question, of the same reader.
    let other = desk.store.cached_answer(&who, &AnswerRequest { top_k: 4, ..desk.request() }).unwrap();
    let kept = desk.store.cached_answer(&who, &desk.request()).unwrap();
    assert!(!other.cached && !kept.cached);
    let again = desk.store.cached_answer(&who, &desk.request()).unwrap();
    assert!(again.cached);
    assert_eq!(again.answer, kept.answer);

    let sql = sql.replace("{run}", &kept.answer.run_id).replace("{answer}", kept.answer_id.as_ref().unwrap());
    let conn = Connection::open(desk.world.db()).expect("it opens");
    conn.pragma_update(None, "foreign_keys", false).unwrap();
    conn.execute_batch(&sql).expect("it is changed");
    drop(conn);
    (desk, kept)
}

#[test]
fn an_entry_under_the_key_of_another_reader_is_none() {
    let desk = Desk::new();
    let (max, eve) = (known("max", &["managers"]), known("eve", &[]));
    desk.store.cached_answer(&eve, &desk.request()).unwrap();
    let hers = desk.store.cached_answer(&max, &desk.request()).unwrap();
    assert!(hers.answer.text.contains("365"));
    // All that the cache has leads to what the manager was given.
    let conn = Connection::open(desk.world.db()).expect("it opens");
    let sql = "UPDATE cache SET (run_id, answer_id, attempts, events, digest) = \
               (SELECT run_id, answer_id, attempts, events, digest FROM cache WHERE run_id = ?1)";
    conn.execute(sql, [&hers.answer.run_id]).unwrap();
    for who in [eve, Principal::public(), Principal::operator()] {
        let given = desk.store.cached_answer(&who, &desk.request()).unwrap();
        assert!(!given.cached);
        assert_eq!(given.answer.text.contains("365"), who.is_operator());
    }
    assert!(desk.store.cached_answer(&max, &desk.request()).unwrap().cached);
}

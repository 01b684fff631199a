use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::store::documents::{self, DocumentRow};
use crate::store::migrate;

/// A store with one document of this title, that refers to nothing.
fn store(title: &str) -> (Connection, i64, DocumentId) {
    let mut conn = Connection::open_in_memory().unwrap();
    migrate::apply(&mut conn).unwrap();
    conn.pragma_update(None, "foreign_keys", false).unwrap();
    let document = DocumentRow {
        document_id: DocumentId::new("docs", "a.md"),
        source_no: 1,
        source_id: "docs".into(),
        class_no: 1,
        class_generation: 1,
        path: "a.md".into(),
        title: title.into(),
        lang: "und".into(),
        revision: 1,
        content_hash: Digest::of("file"),
        size_bytes: 1,
        lines: 1,
        front_matter: None,
        trust: "none".into(),
        generation_added: 1,
        generation_updated: 1,
        record_hash: Digest::of("record"),
    };
    let number = documents::insert(&conn, &document, None).unwrap();
    (conn, number, document.document_id)
}

fn chunk(document_id: DocumentId, headings: &[&str], text: &str) -> ChunkRow {
    let span = Span { start_line: 3, end_line: 4, start_byte: 70, end_byte: 70 + text.len() as u64 };
    ChunkRow {
        chunk_no: 1 << 32,
        chunk_index: 0,
        span,
        token_count: 2,
        heading_only: false,
        generation_added: 1,
        document_id,
        content: Digest::of(text),
        repeat: 0,
        composition: Digest::of("composition").half(),
        heading_path: Value::from(headings).to_string(),
        unsafe_reason: None,
    }
}

/// A chunk comes back as it was put in, and the view says the same of it; returns what is stored of its headings.
fn round_trip(title: &str, headings: &[&str], text: &str) -> (bool, String) {
    let (conn, number, id) = store(title);
    let row = chunk(id, headings, text);
    insert(&conn, number, title, &row, text).unwrap();
    assert_eq!(by_number(&conn, row.chunk_no).unwrap(), (number, row.clone(), text.to_owned()));
    assert_eq!(row_by_number(&conn, row.chunk_no).unwrap(), (number, row.clone()));
    assert_eq!(of_document(&conn, number).unwrap(), std::slice::from_ref(&row));
    assert_eq!(by_id(&conn, number, row.id()).unwrap().as_ref(), Some(&row));
    assert_eq!(super::headings(&conn, row.chunk_no).unwrap(), headings);
    assert_eq!(composition(&conn, number, row.id()).unwrap(), row.composition);
    let sql =
        "SELECT heading_path, end_byte, chunk_id, document_digest, content_hash, composition_hash, text FROM chunks";
    let viewed = conn.query_row(sql, [], |it| {
        Ok((it.get(0)?, it.get(1)?, it.get(2)?, it.get(3)?, it.get(4)?, it.get(5)?, it.get(6)?))
    });
    let wanted: (String, u64, String, [u8; 16], String, String, String) = (
        row.heading_path.clone(),
        row.span.end_byte,
        row.id().to_string(),
        *id.as_bytes(),
        row.content.to_string(),
        Digest::of("composition").to_string()[..32].to_owned(),
        text.to_owned(),
    );
    assert_eq!(viewed.unwrap(), wanted);
    let sql = "SELECT under_title, headings FROM chunk_rows";
    conn.query_row(sql, [], |it| Ok((it.get(0)?, it.get(1)?))).unwrap()
}

#[rstest]
#[case::the_title_alone("Keys", &["Keys"], (true, "[]"))]
#[case::below_the_title("Keys", &["Keys", "Rotating", "When"], (true, r#"["Rotating","When"]"#))]
#[case::twice("Keys", &["Keys", "Keys"], (true, r#"["Keys"]"#))]
#[case::no_heading("Keys", &[], (false, "[]"))]
#[case::another_heading("Keys", &["Locks", "Keys"], (false, r#"["Locks","Keys"]"#))]
#[case::a_heading_that_begins_alike("Keys", &["Keys, and locks"], (false, r#"["Keys, and locks"]"#))]
#[case::quotes("a \"b\"", &["a \"b\"", "c"], (true, r#"["c"]"#))]
#[case::an_ending_that_looks_like_the_next_heading("a", &["a\",\"b"], (false, r#"["a\",\"b"]"#))]
#[case::an_empty_title("", &["", "a"], (true, r#"["a"]"#))]
fn the_title_is_left_out(#[case] title: &str, #[case] headings: &[&str], #[case] stored: (bool, &str)) {
    let (under_title, rest) = round_trip(title, headings, "Some text.");
    assert_eq!((under_title, rest.as_str()), stored);
}

/// SQLite writes JSON as `serde_json` does.
#[test]
fn every_character_that_json_escapes_comes_back() {
    for character in (0..0x30).chain([0x5c, 0x7f, 0x85, 0x2028, 0x2029, 0xfeff, 0x1_f511]).filter_map(char::from_u32) {
        let title = format!("a{character}b");
        assert!(round_trip(&title, &[&title, "below"], &title).0, "{character:?}");
    }
}

/// Text with everything that some part of the way could take for something else.
fn awkward() -> impl Strategy<Value = String> {
    const PIECES: [&str; 20] = [
        "a", "b c", "\"", "\\", "'", ",", "[", "]", "\0", "\r\n", "\r", "\n", "\t", "\u{1f}", "\u{7f}", "\u{200b}",
        "é", "鍵", "\u{2028}", "🔑",
    ];
    prop::collection::vec(prop::sample::select(PIECES.as_slice()), 0..5).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_stored_says_all_that_was(
        title in awkward(),
        below in prop::collection::vec(awkward(), 0..4),
        is_below in any::<bool>(),
        text in awkward(),
    ) {
        let first = is_below.then_some(&title);
        let headings: Vec<&str> = first.into_iter().chain(&below).map(String::as_str).collect();
        let (under_title, _) = round_trip(&title, &headings, &text);
        prop_assert_eq!(under_title, headings.first() == Some(&title.as_str()));
    }
}

proptest! {
    #[test]
    fn what_follows_a_title_is_what_its_json_leaves(
        title in "([a-c\"\\\\\n\u{7f}\u{e9}\u{4e2d},]|\\PC){0,6}", below in proptest::collection::vec("[a-c\"\\\\]{0,4}", 0..3),
        is_under in any::<bool>(),
    ) {
        let headings: Vec<String> = is_under.then(|| title.clone()).into_iter().chain(below).collect();
        let json = Value::from(headings).to_string();
        prop_assert_eq!(behind_title(&json, &title), json.strip_prefix(&format!("[{}", Value::from(title.as_str()))));
    }
}

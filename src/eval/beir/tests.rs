use rstest::rstest;

use super::*;

fn path() -> PathBuf {
    PathBuf::from("set/file")
}

#[test]
fn a_folder_is_read_file_by_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("qrels")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "corpus.jsonl",
        "\u{feff}{\"_id\": \"1\", \"title\": \"退款\", \"text\": \"45 天\", \"metadata\": {}}\n\n{\"_id\": \"2\", \"text\": \"\"}",
    );
    write("queries.jsonl", "{\"_id\": \"q\", \"text\": \"refund\"}\r\n");
    write("qrels/test.tsv", "query-id\tcorpus-id\tscore\r\nq\t1\t2\r\nq\t2\t-1\n\nother\t1\t0\n");

    let beir = BeirFolder::new(folder.path());
    let documents: Vec<_> = beir.documents().unwrap().map(Result::unwrap).collect();
    let document =
        |id: &str, title: &str, text: &str| BeirDocument { id: id.into(), title: title.into(), text: text.into() };
    assert_eq!(documents, [document("1", "退款", "45 天"), document("2", "", "")]);
    assert_eq!(beir.queries().unwrap(), [BeirQuery { id: "q".into(), text: "refund".into() }]);
    let judgements = beir.judgements().unwrap();
    assert_eq!(judgements.keys().collect::<Vec<_>>(), ["other", "q"]);
    assert_eq!(judgements["q"], [("1".to_owned(), 2), ("2".to_owned(), -1)].into_iter().collect());
}

#[test]
fn a_missing_file_is_named() {
    let error = BeirFolder::new("no/such/folder").queries().unwrap_err();
    assert_eq!(error.code(), "io");
    assert!(error.to_string().starts_with("no/such/folder/queries.jsonl: "), "{error}");
}

#[rstest]
#[case::not_json(b"{\"_id\": \"1\", \"text\": \"a\"}\n{oops\n", "set/file:2: key must be a string (column 2)")]
#[case::no_text(b"{\"_id\": \"1\"}", "set/file:1: missing field `text` (column 12)")]
#[case::number_for_id(
    b"\n{\"_id\": 1, \"text\": \"a\"}",
    "set/file:2: invalid type: integer `1`, expected a string (column 9)"
)]
#[case::not_utf8(b"{\"_id\": \"\xff\"}", "set/file:1: the line is not UTF-8")]
fn a_bad_record_is_found_by_line(#[case] text: &[u8], #[case] expected: &str) {
    let error = documents(text, &path()).find_map(Result::err).unwrap();
    assert_eq!(error.to_string(), expected);
    let error = queries(text, &path()).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn good_records_before_a_bad_one_are_given_and_reading_ends_at_undecodable_bytes() {
    let text: &[u8] = b"{\"_id\": \"1\", \"text\": \"a\"}\n\xff\n{\"_id\": \"2\", \"text\": \"b\"}\n";
    let given: Vec<bool> = documents(text, &path()).map(|document| document.is_ok()).collect();
    assert_eq!(given, [true, false]);
}

#[test]
fn a_query_that_comes_twice_is_refused() {
    let text = "{\"_id\": \"q\", \"text\": \"a\"}\n{\"_id\": \"q\", \"text\": \"b\"}\n";
    assert_eq!(queries(text.as_bytes(), &path()).unwrap_err().to_string(), "set/file:2: query \"q\" comes twice");
}

#[rstest]
#[case::empty("", "set/file:1: expected the header \"query-id\\tcorpus-id\\tscore\"")]
#[case::no_header("q\t1\t1\n", "set/file:1: expected the header \"query-id\\tcorpus-id\\tscore\"")]
#[case::trec_columns("query-id\tcorpus-id\tscore\nq 0 d 1\n", "set/file:2: expected 3 fields between tabs, found 1")]
#[case::no_number("query-id\tcorpus-id\tscore\nq\td\thigh\n", "set/file:2: the grade \"high\" is not a whole number")]
#[case::no_id("query-id\tcorpus-id\tscore\n\td\t1\n", "set/file:2: a query id or document id is empty")]
#[case::twice("query-id\tcorpus-id\tscore\nq\td\t1\nq\td\t2\n", "set/file:3: query \"q\" has two grades for \"d\"")]
fn bad_judgements_are_found_by_line(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(judgements(text.as_bytes(), &path()).unwrap_err().to_string(), expected);
}

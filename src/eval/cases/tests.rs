use rstest::rstest;

use super::*;
use crate::eval::threshold::EvalMetric;

#[test]
fn cases_and_thresholds_are_read() {
    let text = "\u{feff}{\"id\": \"one\", \"query\": \"How long?\", \"relevant\": [\"a.md\", \"b.md#L3-L6\"], \
                \"forbidden\": [\"c.md\"], \"expected_facts\": [\"It is 45 days.\"], \"top_k\": 3, \"max_chars\": 900}\n\n\
                {\"thresholds\": {\"mrr\": 0.5, \"stale_citation_rate\": 0}}\r\n\
                {\"case_id\": \"two\", \"query\": \"怎么退款？\", \"expected_sources\": [], \"forbidden_sources\": [], \
                \"prompt_budget_chars\": 1800}\n{\"id\": \"three\", \"query\": \"anything\"}\n";
    let set = EvalSet::parse(text, "cases.jsonl").unwrap();
    let request = |id: &str, query: &str, top_k, max_chars| CaseRequest {
        id: id.to_owned(),
        query: query.to_owned(),
        top_k,
        max_chars,
        principal: Principal::operator(),
    };
    let expected = [
        request("one", "How long?", Some(3), Some(900)),
        request("two", "怎么退款？", None, Some(1800)),
        request("three", "anything", None, None),
    ];
    assert_eq!(set.requests(), expected);
    let readers = "{\"id\": \"a\", \"query\": \"q\", \"principal\": \"public\"}\n\
                   {\"id\": \"b\", \"query\": \"q\", \"principal\": {\"tenant\": \"t\", \"subject\": \"u\"}}";
    let readers = EvalSet::parse(readers, "cases.jsonl").unwrap();
    let readers: Vec<_> = readers.requests().iter().map(|request| request.principal.clone()).collect();
    assert_eq!(readers, [Principal::public(), Principal::new("t", "u").unwrap()]);
    let unit = |label| Unit::parse(label).unwrap();
    let first = Labels {
        relevant: Some(vec![unit("a.md"), unit("b.md#L3-L6")]),
        forbidden: vec![unit("c.md")],
        expect_abstain: false,
        expected_facts: vec!["It is 45 days.".to_owned()],
    };
    let abstaining = Labels { relevant: Some(vec![]), expect_abstain: true, ..Labels::default() };
    assert_eq!(set.labels(), [first, abstaining, Labels::default()]);
    let limits: Vec<_> = set.thresholds().iter().map(|it| (it.metric, it.limit)).collect();
    assert_eq!(limits, [(EvalMetric::Mrr, 0.5), (EvalMetric::StaleCitationRate, 0.0)]);
}

#[rstest]
#[case::nothing("", "f has no case")]
#[case::thresholds_only("{\"thresholds\": {}}", "f has no case")]
#[case::not_json("{\"id\": \"a\", \"query\": \"b\"}\nno\n", "f:2: expected ident (column 2)")]
#[case::unknown_field("{\"id\": \"a\", \"query\": \"b\", \"gold\": 1}", "f:1: unknown field `gold`")]
#[case::field_twice("{\"id\": \"a\", \"case_id\": \"b\"}", "f:1: duplicate field `id`")]
#[case::no_id("{\"query\": \"b\"}", "f:1: the case has no id")]
#[case::no_query("{\"id\": \"a\"}", "f:1: case \"a\" has no query")]
#[case::empty_query("{\"id\": \"a\", \"query\": \" \"}", "f:1: a case's id or query is empty")]
#[case::same_id("{\"id\": \"a\", \"query\": \"b\"}\n{\"id\": \"a\", \"query\": \"c\"}", "f:2: case \"a\" comes twice")]
#[case::top_k("{\"id\": \"a\", \"query\": \"b\", \"top_k\": 0}", "f:1: top_k must be 1 to 1000")]
#[case::label("{\"id\": \"a\", \"query\": \"b\", \"relevant\": [\"a.md#L2-L1\"]}", "f:1: \"a.md#L2-L1\" is not of")]
#[case::fact("{\"id\": \"a\", \"query\": \"b\", \"expected_facts\": [\"\"]}", "f:1: an expected fact is empty")]
#[case::contradiction(
    "{\"id\": \"a\", \"query\": \"b\", \"relevant\": [\"a.md\"], \"expect_abstain\": true}",
    "f:1: the case is to abstain, and names something relevant or an expected fact"
)]
#[case::metric("{\"thresholds\": {\"recall\": 1}}", "f:1: there is no metric \"recall\"; the metrics are recall_at_k")]
#[case::nobody("{\"id\": \"a\", \"query\": \"b\", \"principal\": {}}", "f:1: the principal can't be read")]
#[case::limit("{\"thresholds\": {\"mrr\": 2}}", "f:1: the threshold of mrr is 2; it must be 0 to 1")]
#[case::limit_twice("{\"thresholds\": {\"mrr\": 1, \"mrr\": 0}}", "f:1: mrr has two thresholds")]
#[case::mixed("{\"id\": \"a\", \"thresholds\": {}}", "f:1: thresholds stand on a line of their own")]
fn what_is_not_a_case_is_refused_with_its_line(#[case] text: &str, #[case] message: &str) {
    let error = EvalSet::parse(text, "f").unwrap_err().to_string();
    assert!(error.starts_with(message), "{error}");
}

#[test]
fn a_missing_file_is_named() {
    let error = EvalSet::load("no/such.jsonl").unwrap_err();
    assert_eq!((error.code(), error.to_string().starts_with("no/such.jsonl: ")), ("io", true), "{error}");
}

use rstest::rstest;
use serde_json::Value;

use super::*;

fn ranking(ids: &str) -> Ranking {
    let scores = (0..100).rev().map(f64::from);
    Ranking::new(ids.split_whitespace().map(str::to_owned).zip(scores))
}

fn judged(text: &str) -> Judgements {
    let pairs = text.split_whitespace().map(|pair| pair.split_once(':').unwrap());
    pairs.map(|(id, grade)| (id.to_owned(), grade.parse().unwrap())).collect()
}

fn near(actual: f64, expected: f64, what: &str) {
    assert!((actual - expected).abs() < 1e-6, "{what}: {actual} is not {expected}");
}

#[rstest]
#[case::all_found("a b", "a:1 b:1", 2, [1.0, 1.0, 1.0, 1.0, 1.0])]
#[case::second_rank("x a", "a:1", 2, [1.0, 0.5, 1.0, 0.5, 0.630_930])]
#[case::below_the_cut("x y a", "a:1", 2, [0.0, 0.0, 0.0, 0.0, 0.0])]
#[case::fewer_hits_than_k("a", "a:1 b:1", 5, [0.5, 0.2, 1.0, 1.0, 0.613_147])]
#[case::grades_order_matters("a b", "a:1 b:3", 2, [1.0, 1.0, 1.0, 1.0, 0.796_708])]
#[case::negative_and_zero_gain_nothing("n z a", "n:-2 z:0 a:2", 3, [1.0, 1.0 / 3.0, 1.0, 1.0 / 3.0, 0.5])]
#[case::nothing_relevant("a b", "a:0 b:-1", 2, [0.0; 5])]
#[case::nothing_judged("a b", "", 2, [0.0; 5])]
#[case::no_hits("", "a:1", 2, [0.0; 5])]
#[case::k_of_zero("a", "a:1", 0, [0.0; 5])]
#[case::a_repeated_document_counts_once("a a b", "a:1 b:1", 2, [1.0, 1.0, 1.0, 1.0, 1.0])]
fn one_query(#[case] hits: &str, #[case] grades: &str, #[case] k: usize, #[case] expected: [f64; 5]) {
    let metrics = Metrics::at(&ranking(hits), &judged(grades), k);
    let Metrics { recall, precision, hit, reciprocal_rank, ndcg } = metrics;
    let names = ["recall", "precision", "hit", "reciprocal rank", "ndcg"];
    let actual = [recall, precision, hit, reciprocal_rank, ndcg];
    for ((actual, expected), name) in actual.into_iter().zip(expected).zip(names) {
        near(actual, expected, name);
        assert!(actual.is_sign_positive(), "{name} is {actual}");
    }
}

#[test]
fn reciprocal_rank_has_its_own_cut() {
    let (ranking, judged) = (ranking("x y a"), judged("a:1"));
    near(reciprocal_rank(&ranking, &judged, None), 1.0 / 3.0, "uncut");
    near(reciprocal_rank(&ranking, &judged, Some(3)), 1.0 / 3.0, "cut at its rank");
    near(reciprocal_rank(&ranking, &judged, Some(2)), 0.0, "cut above it");
}

#[test]
fn ties_keep_the_order_they_came_in() {
    let hits = |ids: [&str; 2]| Ranking::new(ids.map(|id| (id.to_owned(), 1.0)));
    near(reciprocal_rank(&hits(["a", "b"]), &judged("a:1"), None), 1.0, "a first");
    near(reciprocal_rank(&hits(["b", "a"]), &judged("a:1"), None), 0.5, "b first");
}

#[test]
fn a_document_is_ranked_by_its_best_chunk() {
    let chunks = [("a", 3.0), ("b", 2.0), ("a", 1.0), ("c", 0.5)];
    let ranking = Ranking::new(chunks.map(|(id, score)| (id.to_owned(), score)));
    assert_eq!(ranking.hits(), [("a".into(), 3.0), ("b".into(), 2.0), ("c".into(), 0.5)]);
}

#[test]
fn the_mean_is_over_judged_queries_found_or_not() {
    let run = [("q1", "a"), ("not-judged", "a")].map(|(id, hits)| (id.to_owned(), ranking(hits)));
    let judgements =
        [("q1", "a:1"), ("not-run", "a:1"), ("none-relevant", "a:0")].map(|(id, text)| (id.to_owned(), judged(text)));
    let (mean, queries) = Metrics::mean(&run.into(), &judgements.into(), 1).unwrap();
    assert_eq!(queries, 3);
    for actual in [mean.recall, mean.precision, mean.hit, mean.reciprocal_rank, mean.ndcg] {
        near(actual, 1.0 / 3.0, "mean");
    }
    assert_eq!(Metrics::mean(&BTreeMap::new(), &BTreeMap::new(), 1), None);
}

/// What `pytrec_eval` says of forty random queries and the edge cases; made by `fixtures/eval/pytrec_eval.py`.
#[test]
fn figures_are_those_of_pytrec_eval() {
    let fixture: Value = serde_json::from_str(include_str!("../../../fixtures/eval/pytrec_eval.json")).unwrap();
    let table = |name: &str| fixture[name].as_object().unwrap();
    let run: BTreeMap<String, Ranking> = table("runs")
        .iter()
        .map(|(query, hits)| {
            let hits = hits.as_object().unwrap().iter();
            let mut hits: Vec<_> = hits.map(|(id, score)| (id.clone(), score.as_f64().unwrap())).collect();
            hits.sort_by(|a, b| b.1.total_cmp(&a.1));
            (query.clone(), Ranking::new(hits))
        })
        .collect();
    let judgements: BTreeMap<String, Judgements> = table("qrels")
        .iter()
        .map(|(query, grades)| {
            let grades = grades.as_object().unwrap().iter();
            (query.clone(), grades.map(|(id, grade)| (id.clone(), grade.as_i64().unwrap())).collect())
        })
        .collect();
    let expected = table("expected");
    assert_eq!(expected.len(), 43);

    let figure = |row: &Value, name: &str, k: usize| row[format!("{name}_{k}")].as_f64().unwrap();
    let compare = |actual: Metrics, row: &Value, k: usize, query: &str| {
        let pairs = [
            ("recall", actual.recall),
            ("P", actual.precision),
            ("success", actual.hit),
            ("recip_rank", actual.reciprocal_rank),
            ("ndcg_cut", actual.ndcg),
        ];
        for (name, actual) in pairs {
            near(actual, figure(row, name, k), &format!("{name}_{k} of {query}"));
        }
    };
    for k in fixture["cuts"].as_array().unwrap() {
        let k = usize::try_from(k.as_u64().unwrap()).unwrap();
        for (query, row) in expected {
            compare(Metrics::at(&run[query], &judgements[query], k), row, k, query);
        }
        let (mean, queries) = Metrics::mean(&run, &judgements, k).unwrap();
        assert_eq!(queries, expected.len());
        compare(mean, &fixture["mean"], k, "the mean");
    }
    for (query, row) in expected {
        let uncut = reciprocal_rank(&run[query], &judgements[query], None);
        near(uncut, row["recip_rank"].as_f64().unwrap(), query);
    }
}

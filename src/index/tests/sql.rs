//! The plain-SQL views against the Rust reader, and the plans of the statements that queries repeat.

use super::*;
use crate::store::postings::{SELECT_BLOCK_ROW, SELECT_LENGTHS, SELECT_TERM, SELECT_TERMS_AFTER};

impl World {
    fn viewed_postings(&self, condition: &str) -> Vec<(String, i64, u32)> {
        let sql = format!(
            "SELECT term, chunk_no, tf FROM audit_postings \
             WHERE {condition} AND chunk_no IN (SELECT chunk_no FROM audit_lengths) ORDER BY 1, 2"
        );
        let mut statement = self.connection.prepare(&sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        rows.map(std::result::Result::unwrap).collect()
    }

    fn plan_of(&self, sql: &str) -> String {
        let mut statement = self.connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let rows = statement.raw_query_plan();
        rows.join("; ")
    }
}

trait RawQueryPlan {
    fn raw_query_plan(&mut self) -> Vec<String>;
}

impl RawQueryPlan for crate::store::postings::ScratchStatement<'_> {
    fn raw_query_plan(&mut self) -> Vec<String> {
        let mut rows = self.raw_query();
        let mut lines = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            lines.push(row.get(3).unwrap());
        }
        lines
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_views_say_what_the_reader_says(syncs in syncs()) {
        let mut world = World::new();
        for sync in &syncs {
            world.sync(sync);
        }
        prop_assert_eq!(world.viewed_postings("1"), world.postings());
        let lengths: BTreeMap<i64, u32> = {
            let mut statement = world.connection.prepare("SELECT chunk_no, length FROM audit_lengths").unwrap();
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            rows.map(std::result::Result::unwrap).collect()
        };
        let expected: BTreeMap<i64, u32> =
            world.live.iter().filter(|(_, chunk)| chunk.0 > 0).map(|(&number, chunk)| (number, chunk.0.min(65_535))).collect();
        prop_assert_eq!(lengths, expected);
        let mut dfs: BTreeMap<String, i64> = BTreeMap::new();
        for (term, ..) in world.expected_postings() {
            *dfs.entry(term).or_default() += 1;
        }
        let viewed: BTreeMap<String, i64> = {
            let mut statement = world.connection.prepare("SELECT term, df FROM audit_terms").unwrap();
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            rows.map(std::result::Result::unwrap).collect()
        };
        prop_assert_eq!(viewed, dfs);
        let without_impact = "SELECT count(*) FROM terms WHERE (df > 0) <> (max_impact > 0)";
        prop_assert_eq!(world.connection.query_row(without_impact, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    }
}

#[test]
fn wide_gaps_and_frequencies_are_viewed_as_they_are_read() {
    let mut world = World::new();
    let with = |tf| (9, BTreeMap::from([("common".to_owned(), 1), ("wide".to_owned(), tf)]));
    let without = (9, BTreeMap::from([("common".to_owned(), 1)]));
    let mut add = vec![without; 70_000];
    for (index, tf) in [(0, 1), (3, 255), (300, 256), (301, 65_535), (69_999, 70_000)] {
        add[index] = with(tf);
    }
    world.sync(&Sync { add, die: Vec::new(), runs: 3 });
    assert_eq!(world.viewed_postings("term = 'wide'").len(), 5);
    assert_eq!(world.viewed_postings("1"), world.expected_postings());
    // 547 blocks of 128 gaps fill several rows.
    let rows: i64 = world.connection.query_row("SELECT count(*) FROM posting_blocks", [], |row| row.get(0)).unwrap();
    assert!(rows > 10, "{rows}");
    let segment = &world.reader().all_segments().unwrap()[0];
    assert_eq!((segment.indexed, i64::from(segment.rows)), (70_000, rows));
}

#[test]
fn hot_statements_look_up_and_never_scan() {
    let world = World::new();
    for sql in [SELECT_TERM, SELECT_TERMS_AFTER, SELECT_BLOCK_ROW, SELECT_LENGTHS] {
        let plan = world.plan_of(&sql.replace("?1", "1").replace("?2", "'x'").replace("?3", "1"));
        assert!(plan.starts_with("SEARCH") && !plan.contains("SCAN") && !plan.contains("TEMP"), "{sql}: {plan}");
    }
    let plan = world.plan_of("SELECT * FROM audit_postings WHERE term = 'x'");
    assert!(plan.contains("SEARCH terms USING PRIMARY KEY (segment=? AND term=?)"), "{plan}");
}

//! What must be equal: pruned and exhaustive, incremental and fresh, optimised and not.

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn pruning_changes_no_hit_no_order_and_no_bit(policy in policy(), syncs in syncs(), queries in proptest::collection::vec(query(), 1..12)) {
        let mut world = World::under(policy);
        for sync in &syncs {
            world.sync(sync);
        }
        for query in &queries {
            prop_assert_eq!(world.search(query).unwrap(), world.search_exhaustively(query).unwrap(), "{:?}", query);
        }
    }

    #[test]
    fn what_is_kept_is_what_is_stored(policy in policy(), syncs in syncs(), queries in proptest::collection::vec(query(), 1..6)) {
        let mut world = World::under(policy);
        for sync in &syncs {
            world.sync(sync);
            for query in queries.iter().chain(&queries) {
                prop_assert_eq!(world.search(query).unwrap(), world.search_exhaustively(query).unwrap(), "{:?}", query);
            }
        }
    }

    #[test]
    fn an_incremental_index_equals_a_fresh_one(policy in policy(), syncs in syncs(), queries in proptest::collection::vec(query(), 1..6)) {
        let mut world = World::under(policy);
        for sync in &syncs {
            world.sync(sync);
            prop_assert!(world.reader().all_segments().unwrap().len() <= merge::MAX_SEGMENTS);
        }
        let fresh = world.rebuilt();
        prop_assert_eq!(statistics(&world.reader(), &[0]).unwrap(), statistics(&fresh.reader(), &[0]).unwrap());
        prop_assert_eq!(world.postings(), world.expected_postings());
        for query in &queries {
            prop_assert_eq!(world.search(query).unwrap(), fresh.search(query).unwrap(), "{:?}", query);
            for &chunk_no in world.live.keys().take(3) {
                let there = explain(&mut world.reader(), query, &world.policy, chunk_no).unwrap();
                prop_assert_eq!(&there, &explain(&mut fresh.reader(), query, &world.policy, chunk_no).unwrap());
            }
        }
        let before: Vec<_> = queries.iter().map(|query| world.search(query).unwrap()).collect();
        optimize(&mut PostingWriter::new(&world.connection).unwrap(), &world.policy).unwrap();
        prop_assert!(world.reader().all_segments().unwrap().len() <= 1);
        prop_assert_eq!(world.postings(), world.expected_postings());
        for (query, before) in queries.iter().zip(before) {
            prop_assert_eq!(world.search(query).unwrap(), before);
        }
    }
}

//! A hostile database gives `Error::Damaged`, never a panic, an endless loop or a huge allocation.

use super::*;
use crate::error::Error;

/// What may come of a read of spoiled bytes: a wrong answer or an honest error.
fn answers_or_refuses<T>(result: Result<T>) {
    match result {
        Ok(_) | Err(Error::Damaged { .. } | Error::Invalid { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

fn flip(data: &mut Vec<u8>, changes: &[(usize, u8)], cut: usize) {
    for &(at, byte) in changes {
        if !data.is_empty() {
            let at = at % data.len();
            data[at] ^= byte;
        }
    }
    data.truncate(data.len() - cut.min(data.len()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn spoiled_rows_are_refused(
        syncs in syncs(),
        target in 0..9usize,
        row in any::<usize>(),
        changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..6),
        cut in prop_oneof![4 => Just(0usize), 1 => 1..40usize],
        number in prop_oneof![0..300i64, Just(-1), Just(65_535), Just(i64::from(u32::MAX)), Just(i64::MAX), Just(i64::MIN)],
        queries in proptest::collection::vec(query(), 1..6),
    ) {
        let mut world = World::new();
        for sync in &syncs {
            world.sync(sync);
        }
        let (table, key, column) = [
            ("terms", "segment || term", "data"),
            ("posting_blocks", "block_row", "data"),
            ("chunk_lengths", "page", "lengths"),
            ("terms", "segment || term", "df"),
            ("terms", "segment || term", "dead"),
            ("terms", "segment || term", "base"),
            ("terms", "segment || term", "blocks"),
            ("segments", "segment", ["first_chunk", "chunks", "indexed", "total_length"][row % 4]),
            ("segments", "segment", ["first_row", "rows", "dead_chunks", "dead_length"][row % 4]),
        ][target];
        world.connection.execute_batch("PRAGMA ignore_check_constraints = ON").unwrap();
        let count: i64 = world.connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        prop_assume!(count > 0);
        let chosen = i64::try_from(row % usize::try_from(count).unwrap()).unwrap();
        let place = format!("WHERE {key} = (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {chosen})");
        if column == "data" || column == "lengths" {
            let sql = format!("SELECT {column} FROM {table} {place}");
            let mut data: Vec<u8> = world.connection.query_row(&sql, [], |row| row.get(0)).unwrap();
            flip(&mut data, &changes, cut);
            world.connection.execute(&format!("UPDATE {table} SET {column} = ?1 {place}"), [data]).unwrap();
        } else {
            world.connection.execute(&format!("UPDATE {table} SET {column} = ?1 {place}"), [number]).unwrap();
        }
        for query in &queries {
            answers_or_refuses(world.search(query));
            answers_or_refuses(world.search_exhaustively(query));
            answers_or_refuses(explain(&mut world.reader(), query, &world.policy, 20));
        }
        answers_or_refuses(for_each_posting(&mut world.reader(), &world.policy, |_| Ok(()), |_| ()));
        if let Ok(mut writer) = PostingWriter::new(&world.connection) {
            answers_or_refuses(optimize(&mut writer, &world.policy));
        }
    }
}

#[test]
fn deaths_that_contradict_the_index_are_refused() {
    let mut world = World::new();
    let chunk = (5, BTreeMap::from([("alpha".to_owned(), 2)]));
    world.sync(&Sync { add: vec![chunk; 3], die: Vec::new(), runs: 1 });
    let kill = |length: u32, term: &str| {
        let mut deaths = Deaths::default();
        deaths.add(8, length, [(term, 2)].into_iter());
        let new = NewChunks { class_no: 0, generation: 2, first_chunk: 10, chunks: 0 };
        let savepoint = "SAVEPOINT s";
        world.connection.execute_batch(savepoint).unwrap();
        let mut writer = PostingWriter::new(&world.connection).unwrap();
        let result = append_segment::<std::io::Empty>(&mut writer, new, Vec::new(), &deaths, &world.policy);
        let result = result.and_then(|()| optimize(&mut writer, &world.policy));
        drop(writer);
        world.connection.execute_batch("ROLLBACK TO s").unwrap();
        result.map_err(|error| error.code())
    };
    assert_eq!(kill(5, "alpha"), Ok(()));
    assert_eq!(kill(6, "alpha"), Err("damaged"), "another length");
    assert_eq!(kill(5, "beta"), Err("damaged"), "another term");
}

//! The parts on their own: codec, runs, formula, merge choice, floor and what the callbacks are asked.

use std::cell::RefCell;
use std::io::Read;

use rstest::rstest;

use super::*;
use crate::index::encode::{BLOCK, SKIP_BYTES, Skip, Widths, decode_block, encode_block};
use crate::index::merge::{MAX_SEGMENTS, is_mostly_dead, merge_from};
use crate::index::score::{Formula, Statistics, impact, impact_unit, saturation};

/// Gives at most so many bytes at a time.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = self.1.min(buffer.len());
        self.0.read(&mut buffer[..most])
    }
}

/// The lengths, terms and postings (term, chunk, frequency) of a run.
type WholeRun = (Vec<u16>, Vec<String>, Vec<(String, u32, u32)>);

fn read_run(input: impl Read) -> WholeRun {
    let mut reader = RunReader::open(input).unwrap();
    let (mut terms, mut postings) = (Vec::new(), Vec::new());
    while reader.next_term().unwrap() {
        terms.push(reader.term().to_owned());
        while let Some((chunk, tf)) = reader.next_posting().unwrap() {
            postings.push((reader.term().to_owned(), chunk, tf));
        }
    }
    (reader.lengths().to_vec(), terms, postings)
}

proptest! {
    #[test]
    fn a_block_is_read_as_it_was_written(
        base in 0..1_000u32,
        postings in proptest::collection::vec((prop_oneof![0..3u32, 0..300u32, 0..70_000u32, 0..20_000_000u32], prop_oneof![Just(1u32), 1..300u32, 1..u32::MAX]), 1..=BLOCK),
    ) {
        let mut next = base;
        let mut chunks = Vec::new();
        for &(gap, _) in &postings {
            chunks.push(next + gap);
            next += gap + 1;
        }
        let tfs: Vec<u32> = postings.iter().map(|&(_, tf)| tf).collect();
        let mut bytes = Vec::new();
        let widths = encode_block(base, &chunks, &tfs, &mut bytes);
        prop_assert_eq!(bytes.len(), widths.block_bytes(chunks.len()));
        let (mut read, mut read_tfs) = (vec![0; chunks.len()], vec![0; chunks.len()]);
        decode_block(&bytes, widths, base, next, &mut read, &mut read_tfs).unwrap();
        prop_assert_eq!(&read, &chunks);
        prop_assert_eq!(&read_tfs, &tfs);
        let below = decode_block(&bytes, widths, base, next - 1, &mut read, &mut read_tfs);
        prop_assert!(below.is_err(), "the limit holds");
    }

    #[test]
    fn any_bytes_of_a_block_ascend_or_are_refused(
        bits in 0..16u8, base in any::<u32>(), bytes in proptest::collection::vec(any::<u8>(), 8 * BLOCK), count in 1..=BLOCK,
    ) {
        let widths = Widths::from_bits(bits);
        let (mut chunks, mut tfs) = (vec![0; count], vec![0; count]);
        let block = &bytes[..widths.block_bytes(count)];
        if decode_block(block, widths, base, u32::MAX, &mut chunks, &mut tfs).is_ok() {
            prop_assert!(chunks.is_sorted_by(|a, b| a < b) && chunks[0] >= base);
            prop_assert!(!tfs.contains(&0));
        }
    }

    #[test]
    fn a_skip_entry_is_read_as_it_was_written(
        last in any::<u32>(), row in 0..1u32 << 24, offset in 0..1u16 << 12, bits in 0..16u8, impact in any::<u16>(),
    ) {
        let skip = Skip { last, row, offset, widths: Widths::from_bits(bits), impact };
        let mut bytes = Vec::new();
        skip.write(&mut bytes);
        let bytes: [u8; SKIP_BYTES] = bytes.try_into().unwrap();
        prop_assert_eq!(Skip::read(&bytes), skip);
    }

    #[test]
    fn an_impact_bounds_the_saturation_under_any_average(
        tf in 1..70_000u32, length in 1..=u16::MAX, then in 1.0..60_000.0f64, now in 1.0..60_000.0f64, k1 in 0.0..10.0f64, b in 0.0..=1.0f64,
    ) {
        let policy = Bm25Policy { k1, b };
        let stored = impact(saturation(tf, Formula::new(&policy, then).norm(length)));
        let bound = f64::from(stored) * impact_unit(now, then);
        prop_assert!(saturation(tf, Formula::new(&policy, now).norm(length)) <= bound);
    }

    #[test]
    fn a_run_is_read_as_it_was_built(chunks in proptest::collection::vec(chunk(), 0..40)) {
        let run = run_of(&chunks);
        let (lengths, terms, found) = read_run(run.as_bytes());
        prop_assert_eq!(&read_run(Trickle(run.as_bytes(), 1)), &(lengths.clone(), terms.clone(), found.clone()));
        prop_assert_eq!(lengths.len(), chunks.len());
        prop_assert!(terms.is_sorted_by(|a, b| a < b));
        let mut expected = Vec::new();
        for (number, (length, terms)) in (0u32..).zip(&chunks).filter(|(_, chunk)| chunk.0 > 0) {
            prop_assert_eq!(u32::from(lengths[number as usize]), (*length).min(65_535));
            expected.extend(terms.iter().map(|(term, tf)| (term.clone(), number, *tf)));
        }
        expected.sort();
        prop_assert_eq!(found, expected);
        for cut in 0..run.as_bytes().len().min(60) {
            let cut = &run.as_bytes()[..cut];
            let read = RunReader::open(cut).and_then(|mut reader| {
                while reader.next_term()? {
                    while reader.next_posting()?.is_some() {}
                }
                Ok(())
            });
            prop_assert_eq!(read.map_err(|error| error.code()), Err("io"), "a run that ends early is noticed");
        }
    }

    #[test]
    fn segments_stay_few_and_a_large_one_stays_alone(syncs in proptest::collection::vec(1..30u64, 1..400)) {
        let mut sizes = vec![700_000u64];
        let (mut written, mut added) = (0, 0);
        for new in syncs {
            let from = merge_from(&sizes, new);
            let merged: u64 = sizes.drain(from..).sum();
            prop_assert!(from > 0);
            sizes.push(merged + new);
            written += merged + new;
            added += new;
            prop_assert!(sizes.len() <= MAX_SEGMENTS);
        }
        prop_assert!(written <= 8 * added, "{written} chunks written for {added}");
    }
}

#[test]
fn the_formula_gives_what_lucene_gives() {
    // Three chunks of lengths 2, 4 and 6; the term is in the first (once) and the second (twice).
    let statistics = Statistics { chunks: 3, total_length: 12 };
    let idf = statistics.idf(2);
    assert!((idf - 0.470_003_629_245_735_5).abs() < 1e-15, "ln(1.6) is {idf}");
    let formula = Formula::new(&Bm25Policy::default(), statistics.average_length());
    // 1 / (1 + 1.2 · (0.25 + 0.75 · 2 / 4)) = 1 / 1.75, and 2 / (2 + 1.2).
    assert!((saturation(1, formula.norm(2)) - 1.0 / 1.75).abs() < 1e-15);
    assert!((saturation(2, formula.norm(4)) - 0.625).abs() < 1e-15);
}

#[rstest]
#[case(0, 0, false)]
#[case(10, 3, false)]
#[case(10, 4, true)]
fn more_than_three_in_ten_dead_is_mostly_dead(#[case] indexed: u64, #[case] dead: u64, #[case] expected: bool) {
    assert_eq!(is_mostly_dead(indexed, dead), expected);
}

fn asked_for(term: &str, k: usize) -> Query {
    let terms = vec![QueryTerm { term: term.into(), weight: 1.0 }];
    let units = vec![QueryUnit { primary: vec![0], ..QueryUnit::default() }];
    Query { classes: vec![0], asked: LexedQuery { terms, units }, k, ..Query::default() }
}

#[test]
fn callbacks_are_asked_only_about_what_would_enter() {
    let mut world = World::new();
    let chunk = |tf| (10, BTreeMap::from([("alpha".to_owned(), tf)]));
    // The best come first; ties at the second place.
    world.sync(&Sync { add: [9, 5, 5, 1, 1, 1].map(chunk).to_vec(), die: Vec::new(), runs: 1 });
    let (accepted, keyed) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let mut accept = |chunk_no: i64| {
        accepted.borrow_mut().push(chunk_no);
        Ok(true)
    };
    let mut tie_key = |chunk_no: i64| {
        keyed.borrow_mut().push(chunk_no);
        Ok((String::new(), -chunk_no))
    };
    let hits =
        top_k(&mut world.reader(), &world.kept, &asked_for("alpha", 2), &world.policy, &mut accept, &mut tie_key)
            .unwrap();
    assert_eq!(hits.iter().map(|hit| hit.chunk_no).collect::<Vec<_>>(), [7, 9], "the key decides the tie");
    assert_eq!(*accepted.borrow(), [7, 8, 9]);
    assert_eq!(*keyed.borrow(), [8, 9]);
}

#[rstest]
#[case::no_hits_wanted(Query { k: 0, ..asked_for("alpha", 1) })]
#[case::unknown_required_unit(Query { required: vec![1], ..asked_for("alpha", 1) })]
#[case::no_number(Query { floor: f64::NAN, ..asked_for("alpha", 1) })]
fn a_query_out_of_range_is_refused(#[case] query: Query) {
    assert_eq!(World::new().search(&query).map_err(|error| error.code()), Err("invalid"));
}

#[test]
fn an_index_whose_chunks_all_died_is_empty() {
    let mut world = World::new();
    let chunk = (10, BTreeMap::from([("alpha".to_owned(), 1)]));
    world.sync(&Sync { add: vec![chunk; 300], die: Vec::new(), runs: 2 });
    world.sync(&Sync { add: Vec::new(), die: vec![0; 300], runs: 1 });
    for table in ["segments", "terms", "posting_blocks", "chunk_lengths"] {
        let sql = format!("SELECT count(*) FROM {table}");
        assert_eq!(world.connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap(), 0, "{table}");
    }
    assert_eq!(world.search(&asked_for("alpha", 3)).unwrap(), []);
}

#[test]
fn a_tiny_sync_leaves_the_large_segment_alone() {
    let mut world = World::new();
    let chunk = (10, BTreeMap::from([("alpha".to_owned(), 1)]));
    world.sync(&Sync { add: vec![chunk.clone(); 2000], die: Vec::new(), runs: 1 });
    let large = world.reader().all_segments().unwrap()[0].clone();
    for _ in 0..40 {
        world.sync(&Sync { add: vec![chunk.clone(); 3], die: vec![5], runs: 1 });
    }
    let segments = world.reader().all_segments().unwrap();
    assert_eq!(segments[0], large);
    assert!(segments.len() <= MAX_SEGMENTS);
    assert_eq!(world.postings(), world.expected_postings());
}

#[test]
fn a_run_longer_than_its_readers_buffer_is_read_whole() {
    let chunk =
        |n: u32| (1 + n % 70_000, BTreeMap::from([("alpha".to_owned(), 1 + n % 9), (format!("w{n}"), n % 300)]));
    let run = run_of(&(0..20_000).map(chunk).collect::<Vec<_>>());
    assert!(run.as_bytes().len() > 100_000);
    let whole = read_run(run.as_bytes());
    assert_eq!(whole.2.iter().filter(|(term, ..)| term == "alpha").count(), 20_000);
    for most in [1, 7, 16_384, 16_385] {
        assert!(read_run(Trickle(run.as_bytes(), most)) == whole);
    }
}

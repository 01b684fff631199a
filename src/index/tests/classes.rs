//! Several access classes in one index: a query over some of them finds what an index of these alone would, to the last
//! bit, whatever happened to the others meanwhile.

use std::cell::Cell;
use std::collections::HashMap;

use proptest::test_runner::TestRunner;

use super::*;
use crate::store::classes::first_chunk;

/// What a sync does to one class.
#[derive(Clone, Debug)]
struct ClassSync {
    class: usize,
    sync: Sync,
    /// Chunks that move to another class: which one, and where to.
    moves: Vec<(usize, usize)>,
}

/// The numbers of the classes. The first ones are neighbours, the others are far apart.
const NUMBERS: [i64; 5] = [0, 1, 2, 77, (1 << 30) - 1];

/// An index next to a plain copy of it.
struct Classes {
    connection: Connection,
    kept: Kept,
    policy: Bm25Policy,
    /// The live chunks by number, each with what stays its own when it moves.
    live: BTreeMap<i64, (usize, Chunk)>,
    next: HashMap<i64, i64>,
    known: usize,
    syncs: i64,
}

/// A hit as what can be compared: its own number and the bits of its score.
type Found = Vec<(usize, u64)>;

impl Classes {
    fn under(policy: Bm25Policy) -> Self {
        let connection = crate::store::postings::scratch(100);
        Self {
            connection,
            kept: Kept::default(),
            policy,
            live: BTreeMap::new(),
            next: HashMap::new(),
            known: 0,
            syncs: 0,
        }
    }

    fn of(&self, class_no: i64) -> Vec<i64> {
        self.live.range(first_chunk(class_no)..first_chunk(class_no + 1)).map(|(&number, _)| number).collect()
    }

    fn sync(&mut self, changes: &[ClassSync]) {
        let mut dead: BTreeMap<i64, Deaths> = BTreeMap::new();
        let mut add: BTreeMap<i64, Vec<(usize, Chunk)>> = BTreeMap::new();
        for change in changes {
            let class_no = NUMBERS[change.class];
            let stays = change.sync.die.iter().map(|&die| (die, None));
            let moves = change.moves.iter().map(|&(die, to)| (die, Some(NUMBERS[to])));
            for (die, to) in stays.chain(moves) {
                let there = self.of(class_no);
                if there.is_empty() {
                    break;
                }
                let chunk_no = there[die % there.len()];
                let (known, (length, terms)) = self.live.remove(&chunk_no).unwrap();
                let terms_of_dead = terms.iter().map(|(term, tf)| (term.as_str(), *tf));
                dead.entry(class_no).or_default().add(chunk_no, length, terms_of_dead);
                if let Some(to) = to {
                    add.entry(to).or_default().push((known, (length, terms)));
                }
            }
            for chunk in &change.sync.add {
                add.entry(class_no).or_default().push((self.known, chunk.clone()));
                self.known += 1;
            }
        }
        self.syncs += 1;
        for class_no in NUMBERS {
            let (deaths, add) = (dead.remove(&class_no).unwrap_or_default(), add.remove(&class_no).unwrap_or_default());
            self.append(class_no, add, &deaths);
        }
    }

    fn append(&mut self, class_no: i64, add: Vec<(usize, Chunk)>, deaths: &Deaths) {
        let next = self.next.entry(class_no).or_insert_with(|| first_chunk(class_no));
        let chunks: Vec<Chunk> = add.iter().map(|(_, chunk)| chunk.clone()).collect();
        let run = run_of(&chunks);
        let runs = vec![(0, RunReader::open(run.as_bytes()).unwrap())];
        let chunks = u32::try_from(chunks.len()).unwrap();
        let new = NewChunks { class_no, generation: self.syncs, first_chunk: *next, chunks };
        let mut writer = PostingWriter::new(&self.connection).unwrap();
        append_segment(&mut writer, new, runs, deaths, &self.policy).unwrap();
        for chunk in add {
            self.live.insert(*next, chunk);
            *next += 1;
        }
    }

    /// An index of some of the classes alone, under other numbers, written at once.
    fn alone(&self, classes: &[i64]) -> Self {
        let mut alone = Self::under(self.policy);
        alone.syncs = 1;
        for (number, &class_no) in (0..).zip(classes) {
            let chunks = self.of(class_no).into_iter().map(|chunk_no| self.live[&chunk_no].clone()).collect();
            alone.append(5 * number, chunks, &Deaths::default());
        }
        alone
    }

    fn search(&self, query: &Query, pruned: bool) -> Found {
        let known = |chunk_no: i64| self.live[&chunk_no].0;
        let mut accept = |chunk_no: i64| Ok(known(chunk_no) % 11 != 3);
        let mut tie_key = |chunk_no: i64| Ok((format!("{}", known(chunk_no) * 7919 % 101), -(known(chunk_no) as i64)));
        let mut reader = PostingReader::new(&self.connection).unwrap();
        let search = if pruned { top_k } else { exhaustive };
        let hits = search(&mut reader, &self.kept, query, &self.policy, &mut accept, &mut tie_key).unwrap();
        hits.into_iter().map(|hit| (known(hit.chunk_no), hit.score.to_bits())).collect()
    }

    fn explain(&self, query: &Query, known: usize) -> Explanation {
        let chunk_no = self.live.iter().find(|(_, chunk)| chunk.0 == known).map_or(-1, |(&number, _)| number);
        explain(&mut PostingReader::new(&self.connection).unwrap(), query, &self.policy, chunk_no).unwrap()
    }

    fn statistics(&self, classes: &[i64]) -> score::Statistics {
        statistics(&PostingReader::new(&self.connection).unwrap(), classes).unwrap()
    }

    /// What the whole index holds is what lives.
    fn audit(&self) {
        let mut all = Vec::new();
        let mut problems = Vec::new();
        let mut reader = PostingReader::new(&self.connection).unwrap();
        let each = |posting: Posting<'_>| {
            all.push((posting.chunk_no, posting.term.to_owned(), posting.tf));
            Ok(())
        };
        for_each_posting(&mut reader, &self.policy, each, |problem| problems.push(problem)).unwrap();
        assert_eq!(problems, Vec::<String>::new());
        let of_chunk = |(&chunk_no, (_, (length, terms))): (&i64, &(usize, Chunk))| {
            let terms = if *length > 0 { terms.clone() } else { BTreeMap::new() };
            terms.into_iter().map(move |(term, tf)| (chunk_no, term, tf)).collect::<Vec<_>>()
        };
        let mut expected: Vec<_> = self.live.iter().flat_map(of_chunk).collect();
        all.sort();
        expected.sort();
        assert_eq!(all, expected);
    }
}

fn class_sync() -> impl Strategy<Value = ClassSync> {
    let moves = proptest::collection::vec((any::<usize>(), 0..NUMBERS.len()), 0..4);
    let sync = prop_oneof![12 => sync(0..25), 1 => sync(100..700)];
    (0..NUMBERS.len(), sync, moves).prop_map(|(class, sync, moves)| ClassSync { class, sync, moves })
}

/// Some of the classes, ascending, by the bits of a number.
fn some(bits: usize) -> Vec<i64> {
    (0..NUMBERS.len()).filter(|index| bits & (1 << index) != 0).map(|index| NUMBERS[index]).collect()
}

/// Compares random indexes; says of how many queries, and how many the other classes would have changed.
fn compare(cases: u32) -> (u64, u64) {
    let syncs = proptest::collection::vec(proptest::collection::vec(class_sync(), 1..4), 1..16);
    let asked = proptest::collection::vec((query(), 0..1usize << NUMBERS.len()), 1..16);
    let counted = Cell::new((0, 0));
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) };
    let outcome =
        TestRunner::new(config).run(&(policy(), syncs, asked, any::<bool>()), |(policy, syncs, asked, optimises)| {
            let mut index = Classes::under(policy);
            for sync in &syncs {
                index.sync(sync);
            }
            if optimises {
                optimize(&mut PostingWriter::new(&index.connection).unwrap(), &policy).unwrap();
            }
            index.audit();
            for (query, bits) in &asked {
                let query = Query { classes: some(*bits), ..query.clone() };
                let alone = index.alone(&query.classes);
                let classes = (0..query.classes.len() as i64).map(|number| 5 * number).collect();
                let query_alone = Query { classes, ..query.clone() };
                let found = index.search(&query, true);
                prop_assert_eq!(&found, &index.search(&query, false), "pruned and exhaustive: {:?}", query);
                prop_assert_eq!(&found, &alone.search(&query_alone, true), "among others and alone: {:?}", query);
                prop_assert_eq!(index.statistics(&query.classes), alone.statistics(&query_alone.classes));
                for &(known, score) in found.iter().take(3) {
                    let explained = index.explain(&query, known);
                    prop_assert_eq!(&explained, &alone.explain(&query_alone, known));
                    prop_assert_eq!(explained.score.to_bits(), score);
                }
                prop_assert_eq!(index.explain(&query, usize::MAX), alone.explain(&query_alone, usize::MAX));
                let of_all = index.search(&Query { classes: NUMBERS.to_vec(), ..query }, true);
                let (queries, told_apart) = counted.get();
                counted.set((queries + 1, told_apart + u64::from(of_all != found)));
            }
            Ok(())
        });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    counted.get()
}

#[test]
fn a_query_over_some_classes_equals_an_index_of_them_alone() {
    let (queries, told_apart) = compare(24);
    // Statistics over all classes, or hits from them, would have been noticed.
    assert!(told_apart > queries / 5, "{told_apart} of {queries}");
}

#[test]
#[ignore = "long form: minutes"]
fn a_query_over_some_classes_equals_an_index_of_them_alone_many_times() {
    let cases = std::env::var("RAGDB_ACCESS_CASES").ok().and_then(|cases| cases.parse().ok());
    let (queries, told_apart) = compare(cases.unwrap_or(2000));
    println!("{queries} queries, of which {told_apart} would have been changed by the other classes");
    assert!(told_apart > queries / 5, "{told_apart} of {queries}");
}

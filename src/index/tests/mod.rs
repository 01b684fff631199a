//! Random worlds: a few syncs of chunks over a small vocabulary, and what the index must say about them.

mod classes;
mod damage;
mod equal;
mod pieces;
mod sql;

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::error::Result;
use crate::lexicon::{LexedQuery, QueryTerm, QueryUnit};
use crate::model::Bm25Policy;
use crate::store::postings::{PostingReader, PostingWriter};

/// A chunk: its length and its terms.
type Chunk = (u32, BTreeMap<String, u32>);

/// One sync: chunks to add, and which of the live ones die (each number modulo what lives).
#[derive(Clone, Debug)]
struct Sync {
    add: Vec<Chunk>,
    die: Vec<usize>,
    /// Into how many runs the new chunks are cut.
    runs: usize,
}

/// The index next to a plain copy of what must be in it.
struct World {
    connection: Connection,
    /// From the first search to the last, whatever is synced in between.
    kept: Kept,
    policy: Bm25Policy,
    live: BTreeMap<i64, Chunk>,
    next: i64,
    syncs: i64,
}

type Connection = crate::store::postings::ScratchConnection;

fn vocabulary(index: usize) -> String {
    ["alpha", "beta", "gamma", "delta", "ärger", "文档", "zeta", "rare1", "rare2", "rare3"][index % 10].into()
}

impl World {
    fn new() -> Self {
        Self::under(Bm25Policy::default())
    }

    fn under(policy: Bm25Policy) -> Self {
        let connection = crate::store::postings::scratch(100);
        Self { connection, kept: Kept::default(), policy, live: BTreeMap::new(), next: 7, syncs: 0 }
    }

    fn sync(&mut self, sync: &Sync) {
        let mut deaths = Deaths::default();
        for die in &sync.die {
            if self.live.is_empty() {
                break;
            }
            let chunk_no = *self.live.keys().nth(die % self.live.len()).unwrap();
            let (length, terms) = self.live.remove(&chunk_no).unwrap();
            deaths.add(chunk_no, length, terms.iter().map(|(term, tf)| (term.as_str(), *tf)));
        }
        let size = sync.add.len().div_ceil(sync.runs.max(1)).max(1);
        let runs: Vec<Run> = sync.add.chunks(size).map(run_of).collect();
        let runs = runs
            .iter()
            .enumerate()
            .map(|(index, run)| (u32::try_from(index * size).unwrap(), RunReader::open(run.as_bytes()).unwrap()));
        self.syncs += 1;
        let chunks = u32::try_from(sync.add.len()).unwrap();
        let new = NewChunks { class_no: 0, generation: self.syncs, first_chunk: self.next, chunks };
        let mut writer = PostingWriter::new(&self.connection).unwrap();
        append_segment(&mut writer, new, runs.collect(), &deaths, &self.policy).unwrap();
        for chunk in &sync.add {
            self.live.insert(self.next, chunk.clone());
            self.next += 1;
        }
    }

    /// A single segment of the same live chunks under the same numbers.
    fn rebuilt(&self) -> Self {
        let mut fresh = Self::under(self.policy);
        let first = self.live.keys().next().copied().unwrap_or(0);
        fresh.next = first;
        let empty = (0, BTreeMap::new());
        let add = (first..self.next).map(|number| self.live.get(&number).unwrap_or(&empty).clone()).collect();
        fresh.sync(&Sync { add, die: Vec::new(), runs: 1 });
        fresh.live.retain(|_, chunk| chunk.0 > 0);
        fresh
    }

    fn reader(&self) -> PostingReader<'_> {
        PostingReader::new(&self.connection).unwrap()
    }

    fn search(&self, query: &Query) -> Result<Vec<Scored>> {
        top_k(&mut self.reader(), &self.kept, query, &self.policy, &mut accept, &mut tie_key)
    }

    fn search_exhaustively(&self, query: &Query) -> Result<Vec<Scored>> {
        exhaustive(&mut self.reader(), &self.kept, query, &self.policy, &mut accept, &mut tie_key)
    }

    fn postings(&self) -> Vec<(String, i64, u32)> {
        let mut all = Vec::new();
        let mut problems = Vec::new();
        let each = |posting: Posting<'_>| {
            all.push((posting.term.to_owned(), posting.chunk_no, posting.tf));
            Ok(())
        };
        for_each_posting(&mut self.reader(), &self.policy, each, |problem| problems.push(problem)).unwrap();
        assert_eq!(problems, Vec::<String>::new());
        all.sort();
        all
    }

    fn expected_postings(&self) -> Vec<(String, i64, u32)> {
        let of_chunk = |(chunk_no, (length, terms)): (&i64, &Chunk)| {
            let chunk_no = *chunk_no;
            let terms = if *length > 0 { terms.clone() } else { BTreeMap::new() };
            terms.into_iter().map(move |(term, tf)| (term, chunk_no, tf)).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = self.live.iter().flat_map(of_chunk).collect();
        all.sort();
        all
    }
}

fn run_of(chunks: &[Chunk]) -> Run {
    let (mut builder, mut numbers) = (RunBuilder::new(), Interner::default());
    for (number, (length, terms)) in (0..).zip(chunks) {
        builder.add(number, *length, terms.iter().map(|(term, tf)| (numbers.id(term), *tf)));
    }
    builder.finish(u32::try_from(chunks.len()).unwrap(), |id| numbers.term(id))
}

#[expect(clippy::unnecessary_wraps)]
fn accept(chunk_no: i64) -> Result<bool> {
    Ok(chunk_no % 11 != 3)
}

/// An order that is not that of the numbers.
#[expect(clippy::unnecessary_wraps)]
fn tie_key(chunk_no: i64) -> Result<(String, i64)> {
    Ok((format!("{}", chunk_no * 7919 % 101), -chunk_no))
}

fn chunk() -> impl Strategy<Value = Chunk> {
    let tf = prop_oneof![6 => Just(1u32), 3 => 2..6u32, 1 => 250..260u32, 1 => 65_530..70_000u32];
    // Squaring makes the first terms common and the last ones rare.
    let term = (0..100usize).prop_map(|number| vocabulary(number * number / 1000));
    let length = prop_oneof![1 => Just(0u32), 12 => 1..5u32, 6 => 5..400u32, 1 => 65_000..70_000u32];
    (length, proptest::collection::btree_map(term, tf, 0..5))
}

fn sync(chunks: std::ops::Range<usize>) -> impl Strategy<Value = Sync> {
    let add = proptest::collection::vec(chunk(), chunks);
    (add, proptest::collection::vec(any::<usize>(), 0..12), 1..4usize, any::<bool>()).prop_map(
        |(mut add, die, runs, drifting)| {
            // Impacts that rise from block to block, so that a bound from the wrong block is too low.
            for (index, (length, terms)) in (0..).zip(&mut add).filter(|_| drifting) {
                *length = 2000 - 2 * index;
                for tf in terms.values_mut() {
                    *tf = 1;
                }
            }
            Sync { add, die, runs }
        },
    )
}

/// The usual constants, and such as make many scores equal.
fn policy() -> impl Strategy<Value = Bm25Policy> {
    prop_oneof![2 => Just((1.2, 0.75)), 1 => Just((0.0, 0.75)), 1 => Just((2.0, 0.0)), 1 => (0.0..10.0f64, 0.0..=1.0f64)]
        .prop_map(|(k1, b)| Bm25Policy { k1, b })
}

fn syncs() -> impl Strategy<Value = Vec<Sync>> {
    let first = sync(0..900);
    let others = proptest::collection::vec(sync(0..20), 0..14);
    (first, others).prop_map(|(first, mut others)| {
        others.insert(0, first);
        others
    })
}

fn query() -> impl Strategy<Value = Query> {
    let term = (0..11usize, prop_oneof![Just(1.0), Just(0.5), 0.1..3.0f64], proptest::option::of(0..4u32));
    let excluded = proptest::collection::vec(proptest::collection::vec((0..11usize).prop_map(any_term), 0..3), 0..2);
    (
        proptest::collection::vec(term, 0..7),
        proptest::collection::vec(any::<usize>(), 0..3),
        any::<bool>(),
        excluded,
        prop_oneof![Just(1usize), Just(3), Just(10), Just(2000)],
        prop_oneof![2 => Just(0.0), 1 => 0.0..1.0f64],
        prop_oneof![3 => Just(0.0), 1 => 0.0..4.0f64],
    )
        .prop_map(|(mut terms, required, with_required, excluded, k, floor, min_score)| {
            let mut seen = [false; 11];
            terms.retain(|(term, ..)| !std::mem::replace(&mut seen[*term], true));
            let asked = asked(&terms);
            let required = if with_required && !asked.units.is_empty() {
                required.into_iter().map(|index| index % asked.units.len()).collect()
            } else {
                Vec::new()
            };
            Query { classes: vec![0], asked, required, excluded, k, floor, min_score }
        })
}

/// Terms with the number of their unit, if they have one. In a unit of three terms or more the last stands for all
/// and the one before it for a part.
fn asked(terms: &[(usize, f64, Option<u32>)]) -> LexedQuery {
    let mut units: Vec<QueryUnit> = Vec::new();
    for number in 0..4 {
        let members = terms.iter().enumerate().filter(|(_, term)| term.2 == Some(number));
        let mut primary: Vec<usize> = members.map(|(index, _)| index).collect();
        let (mut wholes, mut partial) = (Vec::new(), Vec::new());
        if primary.len() > 2 {
            wholes.extend(primary.pop());
            partial.extend(primary.pop());
        }
        if !primary.is_empty() {
            units.push(QueryUnit { primary, wholes, partial, ..QueryUnit::default() });
        }
    }
    let terms = terms.iter().map(|&(term, weight, _)| QueryTerm { term: any_term(term), weight });
    LexedQuery { terms: terms.collect(), units }
}

fn any_term(index: usize) -> String {
    if index == 10 { "absent".into() } else { vocabulary(index) }
}

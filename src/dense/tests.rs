//! Vectors in a store, however they are read: what is near, and what may be shown of it.

use proptest::prelude::*;

use super::{Callbacks, Kept, ProfileRow, Query, Result, Scored, kernel, near, top_k, vectors};
use crate::model::rule::{ClassKey, Narrowing};
use crate::model::{EmbeddingProfile, Visibility};
use crate::store::Store;
use crate::store::access::{self, ClassRow, ClassRule};
use crate::store::classes::first_chunk;

/// The classes of the store.
const CLASSES: [i64; 2] = [0, 1];

struct World {
    _folder: tempfile::TempDir,
    store: Store,
    profile: ProfileRow,
    kept: Kept,
}

/// Numbers without a pattern, always the same.
#[expect(clippy::cast_possible_truncation, reason = "a number of a vector has single precision")]
fn vector(seed: usize, dimensions: usize, normalised: bool) -> Vec<f32> {
    let mut state = u32::try_from(seed).unwrap().wrapping_mul(2_654_435_769) | 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(i16::try_from(state >> 17).unwrap()) / 16384.0 - 1.0
    };
    let numbers: Vec<f32> = (0..dimensions).map(|_| next()).collect();
    let length = if normalised { kernel::length(&numbers) } else { 1.0 };
    numbers.iter().map(|number| (f64::from(*number) / length) as f32).collect()
}

impl World {
    fn new(dimensions: usize, normalised: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path().join("dense.db")).unwrap();
        let profile = EmbeddingProfile { model: "test".into(), version: "1".into(), dimensions, normalised };
        let class = ClassRow {
            class_no: 1,
            key: ClassKey::new("docs", Narrowing::default(), None),
            rule: ClassRule::unruled().rule,
            visibility: Visibility::Private,
            groups: None,
            notes: Vec::new(),
        };
        let profile = store.write(|tx| {
            access::insert_class(tx, &class)?;
            vectors::add(tx, &profile)
        });
        let profile = profile.unwrap();
        Self { _folder: folder, store, profile, kept: Kept::default() }
    }

    /// Gives a chunk of a class a vector.
    fn put(&self, class_no: i64, number: usize, vector: &[f32]) {
        let chunk_no = first_chunk(class_no) + i64::try_from(number).unwrap();
        self.store.write(|tx| vectors::put(tx, self.profile.profile_no, chunk_no, &[7; 16], vector)).unwrap();
    }

    fn near(&self, kept: &Kept, classes: &[i64], vector: &[f32], floor: f64) -> Result<Vec<(i64, f64)>> {
        let profile = &self.profile;
        let found = self.store.read(|conn| near(conn, &Query { kept, profile, classes, vector, floor }))?;
        let mut found: Vec<(i64, f64)> = found.iter().map(|hit| (hit.chunk_no, hit.score)).collect();
        found.sort_by_key(|(chunk_no, _)| *chunk_no);
        Ok(found)
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    product(a, b) / (product(a, a) * product(b, b)).sqrt()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Small sets are kept in memory, larger ones are not, and some drop others: nobody can tell.
    #[test]
    fn what_is_near_does_not_depend_on_what_is_kept(
        dimensions in 1_usize..200,
        normalised: bool,
        steps in proptest::collection::vec((0_usize..2, 0_usize..40), 1..60),
        question in 1000_usize..2000,
        floor in -1.0_f64..0.5,
    ) {
        let world = World::new(dimensions, normalised);
        let question = vector(question, dimensions, normalised);
        let mut stored = std::collections::BTreeMap::new();
        for (step, &(class, number)) in steps.iter().enumerate() {
            let one = vector(step, dimensions, normalised);
            world.put(CLASSES[class], number, &one);
            stored.insert(first_chunk(CLASSES[class]) + i64::try_from(number).unwrap(), one);
            if step % 8 != 0 && step + 1 != steps.len() {
                continue;
            }
            for classes in [&CLASSES[..], &CLASSES[..1], &CLASSES[1..]] {
                let kept = world.near(&world.kept, classes, &question, floor).unwrap();
                prop_assert_eq!(&world.near(&Kept::default(), classes, &question, floor).unwrap(), &kept);
                let scores: std::collections::BTreeMap<i64, f64> = kept.into_iter().collect();
                for (chunk_no, one) in &stored {
                    let is_searched = classes.contains(&(chunk_no >> 32));
                    let expected = cosine(&question, one);
                    let found = scores.get(chunk_no);
                    prop_assert!(is_searched || found.is_none());
                    if is_searched && (expected - floor).abs() > 1e-4 {
                        prop_assert_eq!(found.is_some(), expected > floor, "{}", expected);
                    }
                    prop_assert!(found.is_none_or(|score| (score - expected).abs() < 1e-5));
                }
            }
        }
    }
}

#[test]
fn no_more_is_kept_than_there_is_room_for() {
    let world = World::new(100, true);
    for class_no in CLASSES {
        (0..25).for_each(|number| world.put(class_no, number, &vector(number, 100, true)));
    }
    let question = vector(99, 100, true);
    // One class fits, both do not.
    for class_no in [0, 1, 0] {
        assert_eq!(world.near(&world.kept, &[class_no], &question, -1.0).unwrap().len(), 25);
        assert_eq!(world.kept.classes(), [class_no]);
    }
    (25..60).for_each(|number| world.put(0, number, &vector(number, 100, true)));
    assert_eq!(world.near(&world.kept, &[0], &question, -1.0).unwrap().len(), 60);
    assert_eq!(world.kept.classes(), [0], "what is too large replaces nothing");
    assert_eq!(world.near(&world.kept, &[1], &question, -1.0).unwrap().len(), 25);
    assert_eq!(world.kept.classes(), [1]);
}

#[test]
fn a_vector_that_is_not_what_its_profile_says_is_no_hit() {
    let world = World::new(4, true);
    world.put(0, 1, &[2.0, 0.0, 0.0, 0.0]);
    world.put(0, 2, &[f32::NAN, 0.0, 0.0, 0.0]);
    world.put(0, 3, &[f32::INFINITY, 0.0, 0.0, 0.0]);
    world.put(0, 4, &[1.0, 0.0, 0.0, 0.0]);
    let found = world.near(&world.kept, &[0], &[1.0, 0.0, 0.0, 0.0], -1.0).unwrap();
    assert_eq!(found, [(4, 1.0)]);
}

#[test]
fn a_set_that_lies_is_damage() {
    for (dimensions, vectors) in [(4, 9), (4, 1), (3, 2)] {
        let world = World::new(4, true);
        (0..2).for_each(|number| world.put(0, number, &vector(number, 4, true)));
        let mut profile = world.profile.clone();
        profile.profile.dimensions = dimensions;
        let read = world.store.read(|conn| {
            let mut set = vectors::set(conn, profile.profile_no, 0)?;
            set.vectors = vectors;
            world.kept.matrix(conn, &profile, 0, set).map(drop)
        });
        assert!(matches!(read, Err(crate::Error::Damaged { .. })), "{dimensions} {vectors}: {read:?}");
    }
}

#[test]
fn a_chunk_that_is_not_stored_is_not_shown_for_its_vector() {
    let world = World::new(4, true);
    world.put(0, 1, &vector(1, 4, true));
    let near = vec![Scored { chunk_no: 1, score: 0.5 }];
    let shown = world.store.read(|conn| {
        let mut callbacks =
            Callbacks { accept: &mut |_| Ok(true), tie_key: &mut |chunk_no| panic!("{chunk_no} is asked about") };
        top_k(conn, &world.profile, near, 3, &mut callbacks)
    });
    assert_eq!(shown.unwrap(), []);
}

//! Two rankings become one, by their ranks. Pure.

use std::collections::HashMap;

use super::{FoundBy, ListPlace};
use crate::index::Scored;
use crate::model::Fusion;

/// A hit, and where the lists have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ranked {
    pub hit: Scored,
    pub found_by: FoundBy,
}

/// The places of a list's chunks, with their scores.
fn places(list: &[Scored]) -> impl Iterator<Item = (i64, ListPlace)> {
    (1..).zip(list).map(|(rank, hit)| (hit.chunk_no, ListPlace { rank, score: hit.score }))
}

/// A list by BM25, as it is.
pub(super) fn by_bm25(list: &[Scored]) -> Vec<Ranked> {
    let ranked =
        |(hit, (_, place)): (&Scored, _)| Ranked { hit: *hit, found_by: FoundBy { bm25: Some(place), dense: None } };
    list.iter().zip(places(list)).map(ranked).collect()
}

/// A list by cosine, as it is.
pub(super) fn by_cosine(list: &[Scored]) -> Vec<Ranked> {
    let ranked =
        |(hit, (_, place)): (&Scored, _)| Ranked { hit: *hit, found_by: FoundBy { bm25: None, dense: Some(place) } };
    list.iter().zip(places(list)).map(ranked).collect()
}

/// The chunks of both lists, each with the sum of weight / (k + rank) over the lists that have it, BM25's first; in no
/// order.
pub(super) fn fused(bm25: &[Scored], dense: &[Scored], fusion: &Fusion) -> HashMap<i64, Ranked> {
    let mut all: HashMap<i64, Ranked> = HashMap::with_capacity(bm25.len() + dense.len());
    let mut add = |chunk_no: i64, weight: f64, place: ListPlace, of: fn(&mut FoundBy) -> &mut Option<ListPlace>| {
        let new = Ranked { hit: Scored { chunk_no, score: 0.0 }, found_by: FoundBy::default() };
        let ranked = all.entry(chunk_no).or_insert(new);
        #[expect(clippy::cast_precision_loss, reason = "a rank is far below 2^52")]
        let rank = place.rank as f64;
        ranked.hit.score += weight / (f64::from(fusion.k) + rank);
        *of(&mut ranked.found_by) = Some(place);
    };
    for (chunk_no, place) in places(bm25) {
        add(chunk_no, fusion.bm25, place, |found_by| &mut found_by.bm25);
    }
    for (chunk_no, place) in places(dense) {
        add(chunk_no, fusion.dense, place, |found_by| &mut found_by.dense);
    }
    all
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn list(chunks: &[i64]) -> Vec<Scored> {
        let score = |at: usize| 9.0 - f64::from(u8::try_from(at).unwrap());
        chunks.iter().enumerate().map(|(at, &chunk_no)| Scored { chunk_no, score: score(at) }).collect()
    }

    #[rstest]
    #[case::first_and_third(7, 0.032_266_46, Some(1), Some(3))]
    #[case::second_and_first(8, 0.032_522_47, Some(2), Some(1))]
    #[case::in_one_list(9, 1.0 / 63.0, Some(3), None)]
    #[case::in_the_other(5, 1.0 / 62.0, None, Some(2))]
    fn ranks_from_1_are_summed_over_60(
        #[case] chunk_no: i64,
        #[case] score: f64,
        #[case] bm25: Option<usize>,
        #[case] dense: Option<usize>,
    ) {
        let all = fused(&list(&[7, 8, 9]), &list(&[8, 5, 7]), &Fusion::default());
        let Ranked { hit, found_by } = all[&chunk_no];
        assert!((hit.score - score).abs() < 5e-9, "{}", hit.score);
        assert_eq!((found_by.bm25.map(|it| it.rank), found_by.dense.map(|it| it.rank)), (bm25, dense));
        assert_eq!(all.len(), 4);
    }

    #[rstest]
    #[case(Fusion { bm25: 2.0, ..Fusion::default() }, 7, 2.0 / 61.0 + 1.0 / 63.0)]
    #[case(Fusion { dense: 0.5, ..Fusion::default() }, 7, 1.0 / 61.0 + 0.5 / 63.0)]
    #[case(Fusion { k: 0, ..Fusion::default() }, 7, 1.0 + 1.0 / 3.0)]
    #[case(Fusion { k: 0, bm25: 3.0, dense: 0.25, ..Fusion::default() }, 8, 1.5 + 0.25)]
    fn weights_and_k_are_those_of_the_settings(#[case] fusion: Fusion, #[case] chunk_no: i64, #[case] score: f64) {
        let all = fused(&list(&[7, 8, 9]), &list(&[8, 5, 7]), &fusion);
        assert!((all[&chunk_no].hit.score - score).abs() < 1e-15);
    }

    #[test]
    fn a_hit_says_where_the_lists_have_it() {
        let all = fused(&list(&[7, 8]), &list(&[8]), &Fusion::default());
        let place = |rank, score| Some(ListPlace { rank, score });
        assert_eq!(all[&8].found_by, FoundBy { bm25: place(2, 8.0), dense: place(1, 9.0) });
        assert_eq!(by_bm25(&list(&[4, 3]))[1].found_by, FoundBy { bm25: place(2, 8.0), dense: None });
        assert_eq!(by_cosine(&list(&[4]))[0].found_by, FoundBy { bm25: None, dense: place(1, 9.0) });
    }
}

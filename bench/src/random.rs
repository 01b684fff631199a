//! A fixed stream of numbers, the same in every run and with every toolchain.

/// `SplitMix64`.
pub struct Random(u64);

impl Random {
    /// Starts the stream of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % end as u64).unwrap_or_default()
    }

    /// `count` different items of `items` (all of them where there are fewer), in random order.
    pub fn sample<T>(&mut self, mut items: Vec<T>, count: usize) -> Vec<T> {
        let count = count.min(items.len());
        for place in 0..count {
            let other = place + self.below(items.len() - place);
            items.swap(place, other);
        }
        items.truncate(count);
        items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_the_same_each_time_and_repeats_nothing() {
        let sample = || Random::new(7).sample((0..100).collect(), 20);
        let mut items: Vec<i32> = sample();
        assert_eq!(items, sample());
        items.sort_unstable();
        items.dedup();
        assert_eq!(items.len(), 20);
        assert_eq!(Random::new(7).sample(vec![1, 2], 5).len(), 2);
    }
}

//! The sum of products, with the same result on every machine.

/// How many sums are kept side by side: enough for the widest registers, and for several of the narrow ones at once.
const LANES: usize = 16;

/// The scalar product of two vectors, of which the shorter one's length counts.
///
/// Lane i sums the products at i, i + 16, i + 32, …; then the upper half of the lanes is added to the lower one until one is
/// left. Multiplications and additions are rounded each by itself, as Rust does: so the order of all of them is fixed,
/// whatever registers a compiler uses.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let length = a.len().min(b.len());
    let ((a, a_rest), (b, b_rest)) = (a[..length].as_chunks::<LANES>(), b[..length].as_chunks::<LANES>());
    let mut sums = [0.0_f32; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    for ((sum, a), b) in sums.iter_mut().zip(a_rest).zip(b_rest) {
        *sum += a * b;
    }
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}

/// The length of a vector.
pub(super) fn length(vector: &[f32]) -> f64 {
    f64::from(dot(vector, vector)).sqrt()
}

/// Writes the numbers of a stored vector into `numbers`, in place of what is there.
pub(super) fn decode(bytes: &[u8], numbers: &mut Vec<f32>) {
    numbers.clear();
    append(bytes, numbers);
}

/// Adds the numbers of a stored vector to `numbers`.
pub(super) fn append(bytes: &[u8], numbers: &mut Vec<f32>) {
    numbers.extend(bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without a pattern, always the same.
    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from(i16::try_from(state >> 17).unwrap_or_default()) / 16384.0 - 1.0
        };
        std::iter::repeat_with(next).take(count).collect()
    }

    /// The definition, lane by lane.
    fn expected(a: &[f32], b: &[f32]) -> f32 {
        let mut sums: Vec<f32> = vec![0.0; 16];
        for (at, (a, b)) in a.iter().zip(b).enumerate() {
            sums[at % 16] += a * b;
        }
        while sums.len() > 1 {
            let upper = sums.split_off(sums.len() / 2);
            sums.iter_mut().zip(upper).for_each(|(sum, other)| *sum += other);
        }
        sums[0]
    }

    #[test]
    fn sums_are_taken_in_the_order_that_is_told() {
        for count in [0, 1, 2, 15, 16, 17, 31, 33, 256, 384, 1000] {
            let (a, b) = (numbers(count, 7), numbers(count, 11));
            assert_eq!(dot(&a, &b).to_bits(), expected(&a, &b).to_bits(), "{count}");
        }
    }

    /// The bits that every machine must give: the order of the sums shows in them.
    #[test]
    fn the_bits_are_the_same_on_every_machine() {
        let (a, b) = (numbers(384, 1), numbers(384, 2));
        let plain: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
        assert_eq!(dot(&a, &b).to_bits(), 3_221_721_610);
        assert_ne!(dot(&a, &b).to_bits(), plain.to_bits());
    }

    #[test]
    fn a_vector_is_read_as_it_is_stored() {
        let vector = numbers(9, 3);
        let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
        let mut read = vec![1.0];
        decode(&bytes, &mut read);
        assert_eq!(read, vector);
        assert!((length(&[3.0, 4.0]) - 5.0).abs() < 1e-12);
    }
}

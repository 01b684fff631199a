//! ASCII letters and digits, eight bytes a step: most of most texts.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x80 * ONES;
/// What a lower-case letter has and an upper-case one has not.
const CASE: u64 = 0x20 * ONES;

/// The ASCII letters and digits that a text begins with.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AsciiRun {
    pub(super) len: usize,
    /// Whether the first is an upper-case letter.
    pub(super) starts_upper: bool,
    /// Whether another one is.
    pub(super) upper_behind: bool,
    /// Whether one is a lower-case letter.
    pub(super) has_lower: bool,
}

impl AsciiRun {
    #[inline]
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut run = Self::default();
        let (mut upper, mut lower, mut first) = (0, 0, 0x80);
        loop {
            let eight = eight(&bytes[run.len..]);
            let letters = in_range(eight | CASE, b'a', b'z');
            let stop = !(letters | in_range(eight, b'0', b'9')) & HIGH;
            // The bytes before the first one that ends the run.
            let inside = (stop & stop.wrapping_neg()).wrapping_sub(1);
            let small = eight << 2;
            lower |= letters & small & inside;
            run.starts_upper |= letters & !small & inside & first != 0;
            upper |= letters & !small & inside & !first;
            run.len += stop.trailing_zeros() as usize / 8;
            if stop != 0 {
                (run.upper_behind, run.has_lower) = (upper != 0, lower != 0);
                return run;
            }
            first = 0;
        }
    }

    /// Whether lower-case letters stand beside upper-case ones that are not the first: such a word may have parts.
    pub(super) fn is_mixed(&self) -> bool {
        self.upper_behind && self.has_lower
    }

    /// Whether it has an upper-case letter.
    pub(super) fn has_upper(&self) -> bool {
        self.starts_upper || self.upper_behind
    }
}

/// The first eight bytes; NUL, which is in no run, stands for those behind the end.
#[inline]
fn eight(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.first_chunk().copied().unwrap_or_else(|| {
        let mut last = [0; 8];
        last[..bytes.len()].copy_from_slice(bytes);
        last
    }))
}

/// The high bit of each of eight bytes that is in the range, whose ends are ASCII.
#[inline]
fn in_range(eight: u64, from: u8, to: u8) -> u64 {
    // Seven bits and seven bits carry into the eighth, never beyond.
    let low = eight & !HIGH;
    let reaches = |limit: u8| low + u64::from(0x80 - limit) * ONES;
    reaches(from) & !reaches(to + 1) & !eight & HIGH
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one_by_one(bytes: &[u8]) -> AsciiRun {
        let run = || bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric());
        AsciiRun {
            len: run().count(),
            starts_upper: run().take(1).any(u8::is_ascii_uppercase),
            upper_behind: run().skip(1).any(u8::is_ascii_uppercase),
            has_lower: run().any(u8::is_ascii_lowercase),
        }
    }

    proptest! {
        #[test]
        fn eight_at_a_time_sees_what_one_at_a_time_sees(
            bytes in prop_oneof![
                "[a-zA-Z0-9]{0,40}[ -~é]{0,3}".prop_map(String::into_bytes),
                proptest::collection::vec(any::<u8>(), 0..20),
            ],
        ) {
            prop_assert_eq!(AsciiRun::of(&bytes), one_by_one(&bytes));
        }

        #[test]
        fn every_byte_ends_a_run_or_does_not(byte in any::<u8>(), place in 0..9usize) {
            let mut bytes = *b"aB3aB3aB3";
            bytes[place] = byte;
            prop_assert_eq!(AsciiRun::of(&bytes), one_by_one(&bytes));
        }
    }
}

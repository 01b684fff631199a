//! Numbers as words of a sentence.

/// `1 file`, `2 files`: regular plurals only.
pub fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A size in bytes with three significant digits and a decimal unit.
pub fn bytes(size: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if size < 1000 {
        return format!("{size} B");
    }
    #[allow(clippy::cast_precision_loss, reason = "three digits are shown")]
    let mut value = size as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let decimals = usize::from(value < 9.995) + usize::from(value < 99.95);
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// The first twelve digits of a digest.
pub fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

/// The value, or a dash.
pub fn optional(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(0, "0 B")]
    #[case(999, "999 B")]
    #[case(1000, "1.00 kB")]
    #[case(12_345, "12.3 kB")]
    #[case(999_600, "1.00 MB")]
    #[case(47_100_000, "47.1 MB")]
    #[case(330_000_000_000, "330 GB")]
    #[case(u64::MAX, "18446744 TB")]
    fn sizes_have_three_digits(#[case] size: u64, #[case] shown: &str) {
        assert_eq!(bytes(size), shown);
    }

    #[test]
    fn one_is_singular() {
        assert_eq!((counted(1, "file"), counted(0, "file")), ("1 file".to_owned(), "0 files".to_owned()));
    }
}

//! SHA-256 digests, written as lower-case hexadecimal.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A SHA-256 digest. Displays as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(bytes.as_ref()).into())
    }

    /// Wraps 32 bytes that are a digest already.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first 16 bytes: what ids and composition hashes keep of a digest.
    #[must_use]
    pub fn half(&self) -> [u8; 16] {
        let mut half = [0; 16];
        half.copy_from_slice(&self.0[..16]);
        half
    }

    /// Reads 64 hexadecimal digits of either case; `None` for anything else.
    #[must_use]
    pub fn parse(hex: &str) -> Option<Self> {
        parse_hex(hex).map(Self)
    }
}

/// Reads exactly `2 * N` hexadecimal digits of either case.
pub(crate) fn parse_hex<const N: usize>(hex: &str) -> Option<[u8; N]> {
    if hex.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
        let digit = |b: u8| (b as char).to_digit(16);
        *byte = u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok()?;
    }
    Some(bytes)
}

/// Writes bytes as lower-case hexadecimal digits.
pub(crate) fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for bytes in bytes.chunks(32) {
        let mut hex = [0; 64];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(bytes) {
            pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
        f.write_str(std::str::from_utf8(&hex[..2 * bytes.len()]).map_err(|_| fmt::Error)?)?;
    }
    Ok(())
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A digest over several fields. Each field is preceded by its length (64 bits, little-endian), so that no two
/// different sequences of fields feed the hash the same bytes.
#[derive(Clone, Default)]
pub struct DigestBuilder(Sha256);

impl DigestBuilder {
    /// Starts a digest over a kind of record; `domain` keeps digests of different kinds apart.
    #[must_use]
    pub fn new(domain: &str) -> Self {
        let mut builder = Self::default();
        builder.field(domain);
        builder
    }

    /// Adds a field of bytes or text.
    pub fn field(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let bytes = bytes.as_ref();
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// Adds an integer as a field of eight little-endian bytes.
    pub fn number(&mut self, value: i64) -> &mut Self {
        self.field(value.to_le_bytes())
    }

    /// The digest of all fields so far.
    #[must_use]
    pub fn finish(&self) -> Digest {
        Digest(self.0.clone().finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_the_published_test_vector() {
        // FIPS 180-2, appendix B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of("abc").to_string(), expected);
        assert_eq!(Digest::parse(expected), Some(Digest::of("abc")));
        assert_eq!(Digest::parse(&expected[1..]), None);
        assert_eq!(Digest::parse(&expected.replace('b', "g")), None);
    }

    #[test]
    fn fields_do_not_run_together() {
        let digest = |fields: &[&str]| {
            let mut builder = DigestBuilder::new("test");
            for field in fields {
                builder.field(field);
            }
            builder.finish()
        };
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        assert_ne!(digest(&["a"]), digest(&["a", ""]));
    }
}

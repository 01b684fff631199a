//! What can't be guessed: the nonce of a prompt's delimiters, and the ids of runs.

use std::fmt::Write as _;

use crate::error::{Error, Result};

/// 128 bits from the operating system, as 32 hex digits.
pub(crate) fn random_id() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::io("the operating system's randomness", std::io::Error::other(error.to_string())))?;
    Ok(bytes.iter().fold(String::with_capacity(32), |mut hex, byte| {
        // Writing to a string can't fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    }))
}

/// A nonce that stands in none of `texts`, whoever wrote them.
pub(crate) fn foreign_to<'a>(
    texts: impl Iterator<Item = &'a str> + Clone,
    mut draw: impl FnMut() -> Result<String>,
) -> Result<String> {
    loop {
        let nonce = draw()?;
        if !texts.clone().any(|text| text.contains(&nonce)) {
            return Ok(nonce);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_hex_and_differ() {
        let (one, other) = (random_id().unwrap(), random_id().unwrap());
        assert!(one.len() == 32 && one.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase()));
        assert_ne!(one, other);
    }

    #[test]
    fn a_nonce_that_a_text_holds_is_drawn_again() {
        let mut drawn = ["aa", "bb", "cc"].into_iter();
        let texts = ["xaax", "b", "..bb"];
        let nonce = foreign_to(texts.into_iter(), || Ok(drawn.next().unwrap().to_owned())).unwrap();
        assert_eq!(nonce, "cc");
    }
}

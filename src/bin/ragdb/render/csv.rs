//! Comma-separated values as RFC 4180 has them, with LF line ends.

use std::io::{self, Write};

/// Writes one record; `None` is NULL and becomes an empty field, an empty text becomes `""`.
pub fn write_record(out: &mut dyn Write, fields: impl IntoIterator<Item = Option<String>>) -> io::Result<()> {
    for (position, field) in fields.into_iter().enumerate() {
        if position > 0 {
            out.write_all(b",")?;
        }
        let Some(field) = field else { continue };
        let plain = !field.is_empty()
            && !field.contains([',', '"', '\n', '\r'])
            && !field.starts_with(char::is_whitespace)
            && !field.ends_with(char::is_whitespace);
        if plain {
            out.write_all(field.as_bytes())?;
        } else {
            write!(out, "\"{}\"", field.replace('"', "\"\""))?;
        }
    }
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(&[Some("a"), None, Some("")], "a,,\"\"\n")]
    #[case(&[Some("a,b"), Some("say \"x\""), Some("two\nlines")], "\"a,b\",\"say \"\"x\"\"\",\"two\nlines\"\n")]
    #[case(&[Some(" padded"), Some("中文")], "\" padded\",中文\n")]
    fn a_record_reads_back_as_it_was(#[case] fields: &[Option<&str>], #[case] expected: &str) {
        let mut out = Vec::new();
        let written = write_record(&mut out, fields.iter().map(|field| field.map(str::to_owned)));
        assert!(written.is_ok());
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}

//! Front matter: the metadata block at the very start of a file, in YAML (`---`) or TOML (`+++`). Pure: from text to
//! JSON values and the place where the body starts.
//!
//! A thematic break looks the same as the start of YAML front matter. A file that starts with `---` has front matter
//! where a later line closes it or its first line is a `key:`. A blank line behind the `---` makes it a break, unless
//! there is an end and the first words are a `key:`. What is front matter and broken is an error: a document must
//! not lose its metadata in silence.

mod yaml;

use memchr::memchr2;
use serde_json::{Map, Value};

use super::{InputError, code};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// What stands before a file's body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FrontMatter {
    /// The offset of the body in the file: behind a byte-order mark and behind the front matter.
    pub(crate) body_start: usize,
    /// The front matter's values; `None` where the file has no front matter.
    pub(crate) fields: Option<Map<String, Value>>,
}

/// Reads the front matter of the file `source`.
///
/// # Errors
/// `front_matter_unclosed` where its end is missing, `front_matter_invalid` where it is no valid YAML or TOML, has a
/// key twice, or is not made of keys and values. The message names the line of the file.
pub(crate) fn parse(source: &str) -> Result<FrontMatter, InputError> {
    let start = if source.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
    let (first, block_start) = line_at(source, start);
    let Some(format) = Format::opened_by(first) else {
        return Ok(FrontMatter { body_start: start, fields: None });
    };
    let block = find_end(source, block_start, format);
    let text = &source[block_start..block.as_ref().map_or(source.len(), |block| block.end)];
    if !format.is_meant(text, block.is_some()) {
        return Ok(FrontMatter { body_start: start, fields: None });
    }
    let Some(block) = block else { return Err(format.unclosed()) };
    let text = super::chunk::unify_line_ends(text);
    let fields = match format {
        Format::Yaml => yaml::parse(&text)?,
        Format::Toml => parse_toml(&text)?,
    };
    Ok(FrontMatter { body_start: block.body_start, fields: Some(fields) })
}

/// Whether `source[body_start..]` holds nothing but white space.
pub(crate) fn is_blank(source: &str, body_start: usize) -> bool {
    source[body_start..].chars().all(|c| c.is_whitespace() || c == BYTE_ORDER_MARK)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Yaml,
    Toml,
}

impl Format {
    fn opened_by(line: &str) -> Option<Self> {
        match line.trim_end_matches([' ', '\t']) {
            "---" => Some(Self::Yaml),
            "+++" => Some(Self::Toml),
            _ => None,
        }
    }

    fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim_end_matches([' ', '\t']);
        match self {
            Self::Yaml => line == "---" || line == "...",
            Self::Toml => line == "+++",
        }
    }

    fn fence(self) -> &'static str {
        match self {
            Self::Yaml => "---",
            Self::Toml => "+++",
        }
    }

    /// Whether the lines behind the opening are meant as metadata.
    fn is_meant(self, block: &str, closed: bool) -> bool {
        let starts_blank = lines(block).next().is_none_or(is_blank_line);
        match (closed, starts_blank) {
            (true, false) => true,
            (false, true) => false,
            _ => {
                let mut words = lines(block).filter(|line| !is_blank_line(line));
                match words.clone().find(|line| !line.trim_start().starts_with('#')) {
                    Some(line) => self.is_entry(line),
                    None => closed && words.next().is_none(),
                }
            }
        }
    }

    /// Whether `line` starts with a key, or with a table's name.
    fn is_entry(self, line: &str) -> bool {
        let key = match self {
            Self::Yaml => line.split_once(':').filter(|(_, value)| value.is_empty() || value.starts_with([' ', '\t'])),
            Self::Toml if line.trim_start().starts_with('[') => return true,
            Self::Toml => line.split_once(['=', ':']),
        };
        key.is_some_and(|(key, _)| {
            let key = key.trim().trim_matches(['"', '\'']);
            !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-./@$".contains(c))
        })
    }

    fn unclosed(self) -> InputError {
        let fence = self.fence();
        InputError {
            code: code::FRONT_MATTER_UNCLOSED,
            message: format!("front matter opens on line 1 and never ends; close it with a line `{fence}`"),
        }
    }
}

struct Block {
    end: usize,
    body_start: usize,
}

fn find_end(source: &str, block_start: usize, format: Format) -> Option<Block> {
    let mut at = block_start;
    while at < source.len() {
        let (line, next) = line_at(source, at);
        if format.is_closed_by(line) {
            return Some(Block { end: at, body_start: next });
        }
        at = next;
    }
    None
}

/// The line at `start` without its terminator (LF, CRLF or a lone CR), and where the next one starts.
fn line_at(source: &str, start: usize) -> (&str, usize) {
    let bytes = source.as_bytes();
    let end = memchr2(b'\n', b'\r', &bytes[start..]).map_or(bytes.len(), |end| start + end);
    let terminator = match bytes[end..] {
        [b'\r', b'\n', ..] => 2,
        [] => 0,
        _ => 1,
    };
    (&source[start..end], end + terminator)
}

fn lines(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split(['\n', '\r'])
}

fn is_blank_line(line: &str) -> bool {
    line.trim_matches([' ', '\t']).is_empty()
}

fn invalid(message: String) -> InputError {
    InputError { code: code::FRONT_MATTER_INVALID, message }
}

fn parse_toml(text: &str) -> Result<Map<String, Value>, InputError> {
    match text.parse::<toml::Table>() {
        Ok(table) => Ok(table.into_iter().map(|(key, value)| (key, json(value))).collect()),
        Err(error) => {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 2;
            let reason = error.message().replace('\n', ", ");
            Err(invalid(format!("front matter is not valid TOML: {reason} at line {line}")))
        }
    }
}

/// Dates become strings, and so do the numbers that JSON does not have.
fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) if number.is_finite() => number.into(),
        toml::Value::Float(number) => Value::String(number.to_string()),
        toml::Value::Boolean(truth) => truth.into(),
        toml::Value::Datetime(date) => Value::String(date.to_string()),
        toml::Value::Array(values) => values.into_iter().map(json).collect(),
        toml::Value::Table(table) => table.into_iter().map(|(key, value)| (key, json(value))).collect(),
    }
}

#[cfg(test)]
mod tests;

//! YAML front matter to JSON values.

mod simple;

use serde_json::{Map, Value};
use serde_saphyr::options::NonFiniteFloatPolicy;
use serde_saphyr::{DuplicateKeyPolicy, Error, Options, SnippetMode, UserMessageFormatter};

use super::{InputError, invalid};

/// How many values of one front matter may be read as if quoted; see [`quote_reserved`].
const MAX_REPAIRS: usize = 16;

/// The mapping in `text`, whose lines end with LF or CRLF; nothing but comments is an empty one.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, InputError> {
    if let Some(fields) = simple::parse(text) {
        return Ok(fields);
    }
    let error = match read(text) {
        Ok(value) => return mapping(value),
        Err(error) => error,
    };
    let mut repaired = quote_reserved(text, &error);
    for _ in 0..MAX_REPAIRS {
        let Some(text) = repaired else { break };
        match read(&text) {
            Ok(value) => return mapping(value),
            Err(error) => repaired = quote_reserved(&text, &error),
        }
    }
    let options = serde_saphyr::render_options! {
        formatter: &UserMessageFormatter,
        snippets: SnippetMode::Off,
        line_offset: 1,
    };
    Err(invalid(format!("front matter is not valid YAML: {}", error.render_with_options(options))))
}

fn mapping(value: Value) -> Result<Map<String, Value>, InputError> {
    match value {
        Value::Object(fields) => Ok(fields),
        Value::Null => Ok(Map::new()),
        _ => Err(invalid(
            "front matter on line 1 must hold `key: value` lines; for a rule, leave a blank line behind `---`".into(),
        )),
    }
}

fn read(text: &str) -> Result<Value, Error> {
    serde_saphyr::from_str_with_options(text, options())
}

fn options() -> Options {
    serde_saphyr::options! {
        // Metadata is small. The bounds also hold for what aliases repeat.
        budget: serde_saphyr::budget! {
            max_nodes: 100_000,
            max_events: 400_000,
            max_aliases: 10_000,
            max_total_scalar_bytes: 16 << 20,
            max_recorded_anchor_bytes: 16 << 20,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        // The booleans and numbers of YAML 1.2: `no` is a word, `007` and `1_000` keep their spelling.
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        null_as_string: true,
        emit_comments: false,
        with_snippet: false,
    }
}

/// `text` with the value at the error's place in quotes, if that value starts with `%`, `@` or a backtick. YAML
/// reserves them but gives them no meaning there, other readers take the value as it stands, and real documents
/// rely on that (`- %` in the list of a command's aliases).
fn quote_reserved(text: &str, error: &Error) -> Option<String> {
    let place = error.location()?;
    let line_index = usize::try_from(place.line()).ok()?.checked_sub(1)?;
    let column = usize::try_from(place.column()).ok()?.checked_sub(1)?;
    let line_start: usize = text.split_inclusive('\n').take(line_index).map(str::len).sum();
    let line = text[line_start..].lines().next()?;
    let (at, first) = line.char_indices().nth(column)?;
    let opens_value = matches!(line[..at].trim_end(), before if before.ends_with(['-', ':']) && before.len() < at);
    if !opens_value || !matches!(first, '%' | '@' | '`') {
        return None;
    }
    let value = line[at..].split(" #").next()?.trim_end();
    let (before, after) = (&text[..line_start + at], &text[line_start + at + value.len()..]);
    Some(format!("{before}'{}'{after}", value.replace('\'', "''")))
}

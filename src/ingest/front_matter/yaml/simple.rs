//! The short way for the front matter that nearly all files have: lines of `key: text`, where the text stands plain, in
//! double quotes without an escape, or as a list of such quotes on its line. It allocates little else than what it returns.

use serde_json::{Map, Value};

/// A longer block is read the long way, which has limits.
const MOST_BYTES: usize = 16 << 10;

/// Words that are no text, or that other readers take for none.
const WORDS: [&str; 11] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"];

/// The mapping in `text`; `None` where anything in it could mean more than it says.
pub(super) fn parse(text: &str) -> Option<Map<String, Value>> {
    let lines = text.strip_suffix('\n')?;
    if text.len() > MOST_BYTES {
        return None;
    }
    let mut fields = Map::new();
    for line in lines.split('\n') {
        let (key, value) = line.split_once(": ").filter(|(key, _)| is_key(key))?;
        if fields.insert(key.to_owned(), read(value)?).is_some() {
            return None;
        }
    }
    Some(fields)
}

fn is_key(key: &str) -> bool {
    let rest = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.bytes().all(rest) && !is_word(key)
}

fn is_word(text: &str) -> bool {
    text.len() <= 5 && WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn read(value: &str) -> Option<Value> {
    match value.as_bytes() {
        [b'"', ..] => quoted(value).filter(|(_, rest)| rest.is_empty()).map(|(text, _)| Value::from(text)),
        [b'[', .., b']'] => list(&value[1..value.len() - 1]),
        _ => is_plain(value).then(|| Value::from(value)),
    }
}

/// The text in quotes at the start, and what follows it.
fn quoted(value: &str) -> Option<(&str, &str)> {
    let (text, rest) = value.strip_prefix('"')?.split_once('"')?;
    let allowed = |c: char| matches!(c, ' '..='~') && c != '\\' || !c.is_ascii() && c.is_alphanumeric();
    text.chars().all(allowed).then_some((text, rest))
}

fn list(mut items: &str) -> Option<Value> {
    let mut texts = Vec::new();
    loop {
        let (text, rest) = quoted(items)?;
        texts.push(Value::from(text));
        if rest.is_empty() {
            return Some(texts.into());
        }
        let rest = rest.strip_prefix(',')?;
        items = rest.strip_prefix(' ').unwrap_or(rest);
    }
}

/// Whether it is text without quotes. One that begins with a digit may be a number, unless it has a slash.
fn is_plain(value: &str) -> bool {
    let allowed = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | ' ' | '_' | '-' | '.' | '/' | '(' | ')' | ',' | ';' | '+' | '=' | '\'' => {
            true
        }
        _ => !c.is_ascii() && c.is_alphanumeric(),
    };
    let starts = value.starts_with(|c: char| c.is_ascii_alphabetic())
        || value.starts_with(|c: char| c.is_ascii_digit()) && value.contains('/');
    starts && !value.ends_with(' ') && value.chars().all(allowed) && !is_word(value)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn usual_front_matter_takes_the_short_way() {
        let text = "title: \"Users: [C++]\"\nms.date: 11/04/2016\nkeys: [\"a, b\", \"c\"]\nid: e48a03ec-d345\nzh: \"\u{4e2d}\"\n";
        let fields = json!({
            "title": "Users: [C++]", "ms.date": "11/04/2016", "keys": ["a, b", "c"], "id": "e48a03ec-d345", "zh": "\u{4e2d}"
        });
        assert_eq!(parse(text).map(Value::Object), Some(fields));
    }

    /// Values near the border of what is taken.
    fn value() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-zA-Z0-9/._+-]{1,12}",
            "[a-zA-Z0-9 ,;:#'\"()\\[\\]{}&*!|>%@`~?=<$^\\\\\u{e9}\u{4e2d}\u{a0}\u{85}\u{feff}\u{301}-]{0,16}",
            "(true|false|null|yes|no|on|off|y|n|nan|inf|\\.inf|0x1f|0o17|1e5|1_0|2024-01-02|12:30:45|--|---|\\.\\.\\.|<<|~)[a-z /]{0,2}",
            "\"[a-z0-9 ,:#'\\[\\]{}&*!|>%@`~?\\\\\t\u{e9}\u{4e2d}\u{a0}\u{85}\u{2028}\u{feff}\u{301}-]{0,16}\"[ #a]{0,2}",
            "\\[(\"[a-z,:\\[\\]# \u{4e2d}]{0,6}\"[, ]{0,3}){0,4}\\]?",
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn the_short_way_reads_what_the_long_one_reads(
            lines in vec(("([a-zA-Z][a-zA-Z0-9._-]{0,6}|true|null|y|No|<<|1a|k)", "(: |: |: |:|:  | : )", value()), 1..4),
            end in "(\n|\n|\n|\r\n|\n\n| \n|\n# x\n|\n---\n|)",
        ) {
            let lines: Vec<String> = lines.into_iter().map(|(key, colon, value)| key + &colon + &value).collect();
            for text in lines.iter().map(|line| line.clone() + "\n").chain([lines.join("\n") + &end]) {
                if let Some(fields) = parse(&text) {
                    let long = super::super::read(&text);
                    prop_assert_eq!(long.ok(), Some(Value::Object(fields)), "{:?}", text);
                }
            }
        }
    }
}

//! Which language a document is in, for the `lang:` filter: what its front matter says, else a guess.

use serde_json::{Map, Value};
use whichlang::Lang;

/// How much text the guess looks at, in bytes.
const SAMPLE_BYTES: usize = 400;

/// Fewer letters than this say nothing about a language.
const FEWEST_LETTERS: usize = 12;

/// The document's language as a lower-case ISO 639 code, `und` where it can't be told. Front matter `lang` or
/// `language` decides (`zh-Hans` gives `zh`); without it the beginning of `body` is looked at.
pub(crate) fn of(fields: Option<&Map<String, Value>>, body: &str) -> String {
    let declared = fields.and_then(|fields| fields.get("lang").or_else(|| fields.get("language")));
    if let Some(tag) = declared.and_then(Value::as_str).and_then(primary_subtag) {
        return tag;
    }
    let sample = &body[..body.floor_char_boundary(SAMPLE_BYTES)];
    if sample.chars().filter(|c| c.is_alphabetic()).count() < FEWEST_LETTERS {
        return "und".into();
    }
    code(whichlang::detect_language(sample)).into()
}

fn primary_subtag(tag: &str) -> Option<String> {
    let primary = tag.trim().split(['-', '_']).next()?;
    let is_code = matches!(primary.len(), 2 | 3) && primary.bytes().all(|b| b.is_ascii_alphabetic());
    is_code.then(|| primary.to_ascii_lowercase())
}

const fn code(language: Lang) -> &'static str {
    match language {
        Lang::Ara => "ar",
        Lang::Cmn => "zh",
        Lang::Deu => "de",
        Lang::Eng => "en",
        Lang::Fra => "fr",
        Lang::Hin => "hi",
        Lang::Ita => "it",
        Lang::Jpn => "ja",
        Lang::Kor => "ko",
        Lang::Nld => "nl",
        Lang::Por => "pt",
        Lang::Rus => "ru",
        Lang::Spa => "es",
        Lang::Swe => "sv",
        Lang::Tur => "tr",
        Lang::Vie => "vi",
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!({}), "Every tool call passes through a hook before it is executed.", "en")]
    #[case(json!({}), "检索命中不能自动写回长期记忆，必须经过验证。", "zh")]
    #[case(json!({}), "この関数は引数を一つ取り、結果を返します。", "ja")]
    #[case(json!({}), "이 함수는 하나의 인수를 받아 결과를 반환합니다.", "ko")]
    #[case(json!({}), "42 + 17 = 59", "und")]
    #[case(json!({"lang": "zh-Hans"}), "plain English text that goes on for a while", "zh")]
    #[case(json!({"language": "DE"}), "plain English text that goes on for a while", "de")]
    #[case(json!({"lang": 7}), "plain English text that goes on for a while", "en")]
    fn front_matter_decides_and_the_text_is_guessed(#[case] fields: Value, #[case] body: &str, #[case] lang: &str) {
        assert_eq!(of(fields.as_object(), body), lang);
    }
}

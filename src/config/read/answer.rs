//! The section `answer` of a `ragdb.yaml`.

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::{Fault, Text};
use crate::config::AnswerSettings;

// What breaks a rule may hold a secret by mistake: it is not repeated.
pub(super) const URL_RULE: &str = "it must begin with http:// or https:// and name neither user nor password";
pub(super) const MODEL_RULE: &str = "it must be 1 to 256 bytes, without control characters";
pub(super) const KEY_RULE: &str = "it must be the name of an environment variable: capitals, digits and `_`, with `API_KEY` at \
                                   its end; the key itself never stands in a file";

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Raw {
    base_url: Option<Text>,
    model: Option<Text>,
    api_key_env: Option<Text>,
    timeout_seconds: Option<Spanned<u32>>,
    retries: Option<Spanned<u32>>,
}

impl Raw {
    pub(super) fn check(self) -> Result<AnswerSettings, Fault> {
        let default = AnswerSettings::default();
        let text = |name: &str, text: Option<Text>, holds: fn(&str) -> bool, rule: &str| match text {
            Some(text) if !holds(&text.value) => Err((text.referenced.line(), format!("answer.{name}: {rule}"))),
            text => Ok(text.map(|text| text.value)),
        };
        let within = |name: &str, number: Option<Spanned<u32>>, default: u32, least: u32, most: u32| match number {
            Some(number) if !(least..=most).contains(&number.value) => {
                let what = format!("answer.{name} is {}; it must be {least} to {most}", number.value);
                Err((number.referenced.line(), what))
            }
            number => Ok(number.map_or(default, |number| number.value)),
        };
        let (line, has_url) = (self.model.as_ref().map(|model| model.referenced.line()), self.base_url.is_some());
        if let (Some(line), false) = (line, has_url) {
            return Err((line, "answer.model without answer.base_url".to_owned()));
        }
        Ok(AnswerSettings {
            base_url: text("base_url", self.base_url, is_url, URL_RULE)?,
            model: text("model", self.model, super::is_name, MODEL_RULE)?,
            api_key_env: text("api_key_env", self.api_key_env, is_key_variable, KEY_RULE)?
                .unwrap_or(default.api_key_env),
            timeout_seconds: within("timeout_seconds", self.timeout_seconds, default.timeout_seconds, 1, 3600)?,
            retries: within("retries", self.retries, default.retries, 0, 10)?,
        })
    }
}

pub(super) fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.split(['/', '?', '#']).next().unwrap_or("").contains('@'))
}

pub(super) fn is_key_variable(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    text.is_empty() || (text.ends_with("API_KEY") && text.len() <= 64 && text.bytes().all(plain))
}

//! Models behind an HTTP interface as OpenAI has it: where one is, its key, and the one client that asks it. Knows nothing
//! of what is asked.

mod client;
mod url;

use std::fmt;
use std::time::Duration;

use crate::error::{Error, Result};
pub(crate) use client::Client;
use url::Url;

/// The longest a key may be.
const LONGEST_KEY: usize = 4096;

/// A secret key. It is shown by nothing: not by `Debug`, not in an error, not in the store.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Takes a key.
    ///
    /// # Errors
    /// [`Error::Invalid`] where it is empty or can't stand in a header; the message does not repeat it.
    pub fn new(key: impl Into<String>) -> Result<Self> {
        let key = key.into();
        if key.is_empty() || key.len() > LONGEST_KEY || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = "the API key is empty, longer than 4096 bytes, or has something other than plain characters";
            return Err(Error::Invalid { message: message.to_owned() });
        }
        Ok(Self(key))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// Where a model is, and how patiently it is asked.
#[derive(Clone)]
pub struct EndpointSettings {
    /// The API's base URL, such as `https://api.openai.com/v1`; `/chat/completions` or `/embeddings` is put behind it.
    pub base_url: String,
    /// The model's name.
    pub model: String,
    /// Sent as `Authorization: Bearer`; never over plain HTTP to another machine.
    pub api_key: Option<ApiKey>,
    /// How long one request may take in all.
    pub timeout: Duration,
    /// How long it may take to connect.
    pub connect_timeout: Duration,
    /// How often a request is sent again that failed with a time-out, no connection, status 429 or 5xx; at most 10.
    pub retries: u32,
    /// The pause before the first of these, doubled for each next; a `Retry-After` of up to 30 seconds goes first.
    pub backoff: Duration,
}

impl fmt::Debug for EndpointSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { base_url, model, api_key, timeout, connect_timeout, retries, backoff } = self;
        let shown = Url::parse(base_url, "").map(|url| url.shown());
        f.debug_struct("EndpointSettings")
            .field("url", &shown.as_deref().unwrap_or("…"))
            .field("model", model)
            .field("api_key", api_key)
            .field("timeout", timeout)
            .field("connect_timeout", connect_timeout)
            .field("retries", retries)
            .field("backoff", backoff)
            .finish()
    }
}

impl EndpointSettings {
    /// Without a key; 60 seconds for a request, 10 to connect, two retries from half a second on.
    #[must_use]
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            model: model.into(),
            api_key: None,
            timeout: Duration::from_mins(1),
            connect_timeout: Duration::from_secs(10),
            retries: 2,
            backoff: Duration::from_millis(500),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const KEY: &str = "sk-s3cret-0123456789";

    fn settings(base_url: &str) -> EndpointSettings {
        let api_key = Some(ApiKey::new(KEY).expect("a plain key"));
        EndpointSettings { api_key, ..EndpointSettings::new(base_url, "m") }
    }

    fn client(settings: &EndpointSettings) -> Result<Client> {
        Client::new(settings, "/x", 1)
    }

    #[test]
    fn a_key_is_shown_by_nothing() {
        let settings = settings("http://localhost:1/v1?key=sk-s3cret");
        let client = client(&settings).expect("good settings");
        let shown = format!("{settings:?} {client:?} {:?} {}", settings.api_key, client.shown());
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(
            shown.contains("url: \"http://localhost:1/v1\"") && shown.contains("http://localhost:1/v1/x"),
            "{shown}"
        );
    }

    #[rstest]
    #[case("")]
    #[case("sk-s3cret\nX-Evil: 1")]
    #[case("sk-s3cret ")]
    #[case("sk-s3crét")]
    fn a_key_that_is_no_header_is_refused_without_repeating_it(#[case] key: &str) {
        let error = ApiKey::new(key).expect_err("refused");
        assert!(!format!("{error} {error:?}").contains("s3cr"));
    }

    #[rstest]
    #[case::plain_to_another_machine(EndpointSettings { ..settings("http://example.com/v1") })]
    #[case::no_model(EndpointSettings { model: " ".into(), ..settings("http://localhost") })]
    #[case::retries(EndpointSettings { retries: 11, ..settings("http://localhost") })]
    #[case::no_time(EndpointSettings { timeout: Duration::ZERO, ..settings("http://localhost") })]
    #[case::no_address(settings("localhost"))]
    fn settings_that_can_t_be_meant_are_refused(#[case] settings: EndpointSettings) {
        let error = client(&settings).expect_err("refused");
        assert_eq!(error.code(), "invalid");
        assert!(!format!("{error} {error:?}").contains("s3cret"));
    }

    #[test]
    fn https_needs_a_build_with_tls() {
        assert_eq!(client(&settings("https://example.com/v1")).is_ok(), cfg!(feature = "tls"));
    }
}

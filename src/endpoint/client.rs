//! One request to an endpoint: limits, and when it is tried again.

use std::fmt;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use ureq::http::{HeaderMap, StatusCode, header};
use ureq::{Agent, Timeout};

use super::EndpointSettings;
use super::url::Url;
use crate::error::{Error, Result};

/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The most tries after the first.
const MOST_RETRIES: u32 = 10;

const BEARER: &str = "Bearer ";

/// Posts JSON to one address.
pub(crate) struct Client {
    agent: Agent,
    url: Url,
    shown: String,
    authorization: Option<String>,
    retries: u32,
    backoff: Duration,
    largest: u64,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("url", &self.shown).finish_non_exhaustive()
    }
}

/// Why a try failed.
struct Failed {
    /// The status of the response, where it is not 200.
    status: Option<u16>,
    message: String,
    /// Whether another try may help.
    again: bool,
    /// How long the server asks to wait.
    after: Option<Duration>,
}

impl Failed {
    fn for_good(message: impl Into<String>) -> Self {
        Self { status: None, message: message.into(), again: false, after: None }
    }
}

impl Client {
    /// Asks `below` the base URL, such as `/embeddings`, and takes a response of at most `largest` bytes. Nothing is sent
    /// yet.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the URL is none, the model has no name or a limit is out of range; where the URL is
    /// https and this build has no TLS (feature `tls`); where a key would go over plain HTTP to another machine.
    pub fn new(settings: &EndpointSettings, below: &str, largest: u64) -> Result<Self> {
        let wrong = |message: &str| Err(Error::Invalid { message: message.to_owned() });
        let url = Url::parse(&settings.base_url, below)?;
        if url.is_secure() && !cfg!(feature = "tls") {
            return wrong("this ragdb was built without TLS (cargo feature `tls`); the endpoint must be http://");
        }
        if settings.api_key.is_some() && !url.is_secure() && !url.is_local() {
            return wrong("the API key would be sent unencrypted to another machine; use https://, or no key");
        }
        if settings.model.trim().is_empty() || settings.model.len() > 256 {
            return wrong("the endpoint's model must have a name of at most 256 bytes");
        }
        if settings.retries > MOST_RETRIES {
            return wrong("the endpoint's retries must be 0 to 10");
        }
        if settings.timeout.is_zero() || settings.connect_timeout.is_zero() {
            return wrong("the endpoint's time-outs must be more than 0");
        }
        let config = Agent::config_builder()
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .timeout_global(Some(settings.timeout))
            .timeout_connect(Some(settings.connect_timeout.min(settings.timeout)))
            .user_agent(concat!("ragdb/", env!("CARGO_PKG_VERSION")))
            .build();
        let authorization = settings.api_key.as_ref().map(|key| format!("{BEARER}{}", key.expose()));
        let (shown, retries, backoff) = (url.shown(), settings.retries, settings.backoff);
        Ok(Self { agent: config.new_agent(), url, shown, authorization, retries, backoff, largest })
    }

    /// The address that is asked, without anything secret.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// The host that is asked, with its port where it names one.
    pub fn host(&self) -> &str {
        self.url.authority()
    }

    /// What is wrong with what is there.
    pub fn error(&self, message: impl Into<String>) -> Error {
        self.failed(None, message)
    }

    fn failed(&self, status: Option<u16>, message: impl Into<String>) -> Error {
        Error::Endpoint { url: self.shown.clone(), status, message: message.into() }
    }

    /// Posts `body`, and returns the body of the response.
    pub fn post(&self, body: &[u8]) -> Result<Vec<u8>> {
        let mut tries = 0;
        loop {
            let failed = match self.once(body) {
                Ok(response) => return Ok(response),
                Err(failed) => failed,
            };
            let pause = failed.after.unwrap_or_else(|| self.backoff.saturating_mul(1 << tries.min(16)));
            let too_long = failed.after.is_some_and(|after| after > LONGEST_PAUSE);
            if !failed.again || too_long || tries >= self.retries {
                let message = match (too_long, tries) {
                    (true, _) => format!("{}, and asks to wait {} s", failed.message, pause.as_secs()),
                    (_, 0) => failed.message,
                    (_, tries) => format!("{} ({} tries)", failed.message, tries + 1),
                };
                return Err(self.failed(failed.status, message));
            }
            thread::sleep(pause.min(LONGEST_PAUSE));
            tries += 1;
        }
    }

    fn key(&self) -> Option<&str> {
        self.authorization.as_deref().and_then(|it| it.strip_prefix(BEARER))
    }

    fn once(&self, body: &[u8]) -> std::result::Result<Vec<u8>, Failed> {
        let mut request = self.agent.post(self.url.request()).header(header::CONTENT_TYPE, "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let mut response = request.send(body).map_err(|error| self.transport(&error))?;
        let status = response.status();
        if status.is_redirection() {
            return Err(Failed::for_good(format!(
                "answers with status {} and sends elsewhere; redirects are not followed",
                status.as_u16()
            )));
        }
        let after = retry_after(response.headers());
        let read = response.body_mut().with_config().limit(self.largest).read_to_vec();
        if status == StatusCode::OK {
            return read.map_err(|error| self.transport(&error));
        }
        Err(Failed {
            status: Some(status.as_u16()),
            message: refusal(status, &read.unwrap_or_default(), self.key()),
            again: status.is_server_error()
                || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT),
            after,
        })
    }

    /// What went wrong below HTTP. The words are fixed: an error of the client could repeat what was sent.
    fn transport(&self, error: &ureq::Error) -> Failed {
        let (message, again) = match error {
            ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
                ("can't be connected in time".to_owned(), true)
            }
            ureq::Error::Timeout(_) => ("did not answer in time".to_owned(), true),
            // Below https, where the certificate or the protocol is refused.
            ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => (UNTRUSTED.to_owned(), false),
            ureq::Error::Io(error) => (format!("can't be reached: {}", error.kind()), true),
            ureq::Error::HostNotFound => ("has a host that is not known".to_owned(), false),
            ureq::Error::BodyExceedsLimit(_) => (format!("sent more than {} bytes", self.largest), false),
            ureq::Error::LargeResponseHeader(..) => ("sent a header that is too large".to_owned(), false),
            ureq::Error::ConnectionFailed => ("can't be connected".to_owned(), true),
            ureq::Error::Protocol(_) | ureq::Error::BodyStalled => {
                ("does not speak HTTP/1.1 as expected".to_owned(), false)
            }
            ureq::Error::Tls(_) | ureq::Error::TlsRequired => (UNTRUSTED.to_owned(), false),
            #[cfg(feature = "tls")]
            ureq::Error::Rustls(_) => (UNTRUSTED.to_owned(), false),
            _ => ("could not be asked".to_owned(), false),
        };
        Failed { status: None, message, again, after: None }
    }
}

const UNTRUSTED: &str = "can't be connected securely: its certificate or its TLS is not accepted";

/// A status that is not 200, with the code that the common APIs give. Nothing else of the response is repeated: it may
/// hold part of the key, and so may the code.
fn refusal(status: StatusCode, body: &[u8], key: Option<&str>) -> String {
    let body: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let code = ["code", "type"].iter().find_map(|name| body["error"][name].as_str());
    let plain = |code: &&str| {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        let tells = key.is_some_and(|key| code.contains(key) || key.contains(code));
        (1..=40).contains(&code.len()) && code.bytes().all(is_plain) && !tells
    };
    let code = code.filter(plain).map(|code| format!(" ({code})")).unwrap_or_default();
    format!("answers with status {}{code}", status.as_u16())
}

/// `Retry-After`: seconds or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let date = rfc2822::DateTimeParser::new().parse_timestamp(value).ok()?;
    let seconds = date.duration_since(Timestamp::now()).as_secs();
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("rate_limited", Some("sk-s3cret"), "answers with status 401 (rate_limited)")]
    #[case("rate_limited", None, "answers with status 401 (rate_limited)")]
    #[case("letmein", Some("letmein"), "answers with status 401")]
    #[case("bad_key_letmein", Some("letmein"), "answers with status 401")]
    #[case("letme", Some("letmein"), "answers with status 401")]
    #[case("Bad Code", None, "answers with status 401")]
    fn a_code_that_tells_the_key_is_not_repeated(#[case] code: &str, #[case] key: Option<&str>, #[case] said: &str) {
        let body = serde_json::json!({ "error": { "code": code } }).to_string();
        assert_eq!(refusal(StatusCode::UNAUTHORIZED, body.as_bytes(), key), said);
    }
}

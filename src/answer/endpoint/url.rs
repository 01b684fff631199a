//! The address of an endpoint, taken apart as far as its use needs, and never shown with what may be secret in it.

use crate::error::{Error, Result};

/// A base URL that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Url {
    /// `http` or `https`.
    secure: bool,
    /// Host and port.
    authority: String,
    /// Without a slash at its end.
    path: String,
    /// With its question mark; may be secret.
    query: Hidden,
}

#[derive(Clone, PartialEq, Eq)]
struct Hidden(String);

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "…" })
    }
}

impl Url {
    /// Reads the base URL of an API, such as `https://api.example.com/v1`.
    pub fn parse(base: &str) -> Result<Self> {
        let wrong = |why: &str| Err(Error::Invalid { message: format!("the endpoint's base URL {why}") });
        let (secure, rest) = match base.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            _ => return wrong("must begin with http:// or https://"),
        };
        if !base.bytes().all(|byte| byte.is_ascii_graphic()) {
            return wrong("has a space, a control character or a letter that is not ASCII");
        }
        if rest.contains('#') {
            return wrong("has a fragment (#)");
        }
        let (place, query) = rest.find('?').map_or((rest, ""), |at| rest.split_at(at));
        let (authority, path) = place.find('/').map_or((place, ""), |at| place.split_at(at));
        if authority.contains('@') {
            return wrong("has a user or password; give a key instead");
        }
        if authority.is_empty() || authority.starts_with(':') {
            return wrong("has no host");
        }
        let path = path.trim_end_matches('/').to_owned();
        Ok(Self { secure, authority: authority.to_owned(), path, query: Hidden(query.to_owned()) })
    }

    /// Whether it is https.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// Whether it is this machine.
    pub fn is_local(&self) -> bool {
        let host = self.host();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
        host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
    }

    fn host(&self) -> &str {
        match self.authority.rfind(']') {
            Some(end) => &self.authority[..=end],
            None => self.authority.split(':').next().unwrap_or(&self.authority),
        }
    }

    /// The address of chat completions, as it is asked.
    pub fn request(&self) -> String {
        format!("{}{}", self.shown(), self.query.0)
    }

    /// The same without its query: for messages.
    pub fn shown(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://{}{}/chat/completions", self.authority, self.path)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("http://localhost:11434/v1", "http://localhost:11434/v1/chat/completions", true)]
    #[case("HTTPS://api.example.com/v1/", "https://api.example.com/v1/chat/completions", false)]
    #[case("http://[::1]:8080", "http://[::1]:8080/chat/completions", true)]
    #[case("http://127.8.0.1", "http://127.8.0.1/chat/completions", true)]
    #[case("http://localhost.example.com", "http://localhost.example.com/chat/completions", false)]
    fn a_base_url_is_read(#[case] base: &str, #[case] request: &str, #[case] local: bool) {
        let url = Url::parse(base).expect("a good address");
        assert_eq!((url.request().as_str(), url.shown().as_str(), url.is_local()), (request, request, local));
    }

    #[test]
    fn a_query_is_asked_and_never_shown() {
        let url = Url::parse("https://example.com/v1?api-version=1&key=s3cret").expect("a good address");
        assert_eq!(url.request(), "https://example.com/v1/chat/completions?api-version=1&key=s3cret");
        assert!(!url.shown().contains("s3cret") && !format!("{url:?}").contains("s3cret"));
    }

    #[rstest]
    #[case("example.com/v1")]
    #[case("ftp://example.com")]
    #[case("https://")]
    #[case("https://:80/")]
    #[case("https://me:s3cret@example.com")]
    #[case("https://example.com/#s3cret")]
    #[case("https://example.com/ s3cret")]
    fn another_address_is_refused_without_repeating_it(#[case] base: &str) {
        let message = Url::parse(base).expect_err("refused").to_string();
        assert!(!message.contains("s3cret") && !message.contains("example"), "{message}");
    }
}

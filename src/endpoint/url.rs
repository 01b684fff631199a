//! The address of an endpoint, taken apart as far as its use needs, and never shown with what may be secret in it.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::error::{Error, Result};

/// A base URL that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Url {
    /// `http` or `https`.
    secure: bool,
    /// Host and port.
    authority: String,
    /// The base's, without a slash at its end, and what is asked for below it.
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
    /// Reads the base URL of an API, such as `https://api.example.com/v1`; `below` is put behind it, such as `/embeddings`.
    pub fn parse(base: &str, below: &str) -> Result<Self> {
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
        if host_of(authority).is_none() {
            return wrong("has a host or port that can't be read");
        }
        let path = format!("{}{below}", path.trim_end_matches('/'));
        Ok(Self { secure, authority: authority.to_owned(), path, query: Hidden(query.to_owned()) })
    }

    /// Whether it is https.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// Whether it is this machine.
    pub fn is_local(&self) -> bool {
        match host_of(&self.authority) {
            Some(Host::Name(name)) => {
                let address = name.parse::<Ipv4Addr>();
                name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
            }
            Some(Host::V6(address)) => address.is_loopback(),
            None => false,
        }
    }

    /// Host and port.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The address, as it is asked.
    pub fn request(&self) -> String {
        format!("{}{}", self.shown(), self.query.0)
    }

    /// The same without its query: for messages.
    pub fn shown(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority, self.path)
    }
}

enum Host<'a> {
    /// A name or an address of four numbers.
    Name(&'a str),
    V6(Ipv6Addr),
}

/// The host of `host`, `host:port`, `[address]` or `[address]:port`; `None` for anything else.
fn host_of(authority: &str) -> Option<Host<'_>> {
    let (host, behind) = if let Some(rest) = authority.strip_prefix('[') {
        let (address, behind) = rest.split_once(']')?;
        (Host::V6(address.parse().ok()?), behind)
    } else {
        let (name, behind) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        (Host::Name(Some(name).filter(|name| !name.is_empty() && name.bytes().all(is_plain))?), behind)
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    (behind.is_empty() || behind.strip_prefix(':').is_some_and(is_port)).then_some(host)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("http://localhost:11434/v1", "http://localhost:11434/v1/x", true)]
    #[case("HTTPS://api.example.com/v1/", "https://api.example.com/v1/x", false)]
    #[case("http://[::1]:8080", "http://[::1]:8080/x", true)]
    #[case("http://127.8.0.1", "http://127.8.0.1/x", true)]
    #[case("http://LocalHost/v1", "http://LocalHost/v1/x", true)]
    #[case("http://[::2]", "http://[::2]/x", false)]
    #[case("http://127.0.0.1.example.com", "http://127.0.0.1.example.com/x", false)]
    #[case("http://localhost.example.com", "http://localhost.example.com/x", false)]
    fn a_base_url_is_read(#[case] base: &str, #[case] request: &str, #[case] local: bool) {
        let url = Url::parse(base, "/x").expect("a good address");
        assert_eq!((url.request().as_str(), url.shown().as_str(), url.is_local()), (request, request, local));
    }

    #[test]
    fn a_query_is_asked_and_never_shown() {
        let url = Url::parse("https://example.com/v1?api-version=1&key=s3cret", "/x").expect("a good address");
        assert_eq!(url.request(), "https://example.com/v1/x?api-version=1&key=s3cret");
        assert!(!url.shown().contains("s3cret") && !format!("{url:?}").contains("s3cret"));
    }

    #[rstest]
    #[case("example.com/v1")]
    #[case("ftp://example.com")]
    #[case("https://")]
    #[case("https://:80/")]
    #[case("http://[::1]example.com")]
    #[case("http://[::1].example.com/v1")]
    #[case("http://[example]")]
    #[case("http://[::1")]
    #[case("http://::1/v1")]
    #[case("http://localhost:example.com")]
    #[case("http://localhost:80:80")]
    #[case("http://localhost:")]
    #[case("http://localhost:99999")]
    #[case("http://localhost\\.example.com")]
    #[case("https://me:s3cret@example.com")]
    #[case("https://example.com/#s3cret")]
    #[case("https://example.com/ s3cret")]
    fn another_address_is_refused_without_repeating_it(#[case] base: &str) {
        let message = Url::parse(base, "/x").expect_err("refused").to_string();
        assert!(!message.contains("s3cret") && !message.contains("example"), "{message}");
    }
}

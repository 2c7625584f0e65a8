//! What the adapter has to be told: where the order system is, and what it is shown.

use hyper::header::HeaderValue;
use std::fmt;
use std::time::Duration;

/// How long a connection may take to stand unless the owner says otherwise.
pub const CONNECT_TIME: Duration = Duration::from_secs(5);

/// The token that an order system is shown: never printed, never compared, only sent.
#[derive(Clone)]
pub struct Bearer(HeaderValue);

impl Bearer {
    /// The token in `text`, if it can stand in a header: visible ASCII only, and not empty.
    pub fn new(text: &str) -> Option<Bearer> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let mut header = HeaderValue::from_str(&format!("Bearer {text}")).ok()?;
        // Keeps it out of what HTTP/2 remembers of a connection, and out of `Debug`.
        header.set_sensitive(true);
        Some(Bearer(header))
    }

    pub(super) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Bearer")
    }
}

/// What the adapter has to be told.
#[derive(Clone)]
pub struct Settings {
    /// Where the order system is; `/v1/…` comes behind it.
    pub base_url: String,
    /// What to show; nothing asks anonymously.
    pub bearer: Option<Bearer>,
    /// Who asks.
    pub user_agent: String,
    /// Whether an address without encryption may be on another machine.
    pub allow_insecure: bool,
    /// How long a connection may take to stand; a call's own deadline holds beside it.
    pub connect_time: Duration,
}

impl Settings {
    /// The usual settings for an order system at this address.
    pub fn new(base_url: impl Into<String>) -> Settings {
        Settings {
            base_url: base_url.into(),
            bearer: None,
            user_agent: format!("candor/{}", env!("CARGO_PKG_VERSION")),
            allow_insecure: false,
            connect_time: CONNECT_TIME,
        }
    }
}

// Without the address: somebody may have written a password into it.
impl fmt::Debug for Settings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Settings")
            .field("bearer", &self.bearer)
            .field("user_agent", &self.user_agent)
            .field("allow_insecure", &self.allow_insecure)
            .field("connect_time", &self.connect_time)
            .finish_non_exhaustive()
    }
}

/// Why the adapter cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupError {
    /// The address is not one that routes can stand behind.
    Address,
    /// The address is not encrypted, and not on this machine.
    Unencrypted,
    /// The user agent cannot stand in a header.
    UserAgent,
    /// The system has no certificates to trust.
    Certificates,
    /// The TLS library refuses what it was given.
    Tls,
    /// A schema of ours does not compile.
    Schema,
}

impl fmt::Display for SetupError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            SetupError::Address => {
                "the order system's address must look like https://HOST or https://HOST/PATH, without a name, a query or dots as a segment"
            }
            SetupError::Unencrypted => {
                "the order system's address must begin with https:// unless it is on this machine"
            }
            SetupError::UserAgent => "the user agent must be visible ASCII",
            SetupError::Certificates => {
                "the system has no certificates to trust; install its ca-certificates"
            }
            SetupError::Tls => "TLS could not be set up",
            SetupError::Schema => "the schemas of answers could not be set up",
        })
    }
}

impl std::error::Error for SetupError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_visible_ascii_and_shows_nothing_of_itself() {
        for bad in ["", " ", "a b", "a\n", "ä", "a\u{7f}"] {
            assert!(Bearer::new(bad).is_none(), "{bad:?}");
        }
        let bearer = Bearer::new("canary").unwrap();
        let mut settings = Settings::new("https://u:canary@example.com");
        settings.bearer = Some(bearer.clone());
        let shown = format!("{bearer:?} {:?} {settings:?}", bearer.header());
        assert!(!shown.contains("canary"), "{shown}");
    }
}

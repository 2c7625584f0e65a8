//! What the adapter has to be told: where the order system is, and what it is shown.

use candor_http_client::{BearerToken, HttpSetupError};
use std::fmt;
use std::time::Duration;

/// How long a connection may take to stand unless the owner says otherwise.
pub const CONNECT_TIME: Duration = Duration::from_secs(5);

/// What the adapter has to be told.
#[derive(Clone)]
pub struct HttpSettings {
    /// Where the order system is; `/v1/…` comes behind it.
    pub base_url: String,
    /// What to show; nothing asks anonymously.
    pub bearer: Option<BearerToken>,
    /// Who asks.
    pub user_agent: String,
    /// Whether an address without encryption may be on another machine.
    pub allow_insecure: bool,
    /// How long a connection may take to stand; a call's own deadline holds beside it.
    pub connect_time: Duration,
}

impl HttpSettings {
    /// The usual settings for an order system at this address.
    pub fn new(base_url: impl Into<String>) -> HttpSettings {
        HttpSettings {
            base_url: base_url.into(),
            bearer: None,
            user_agent: format!("candor/{}", env!("CARGO_PKG_VERSION")),
            allow_insecure: false,
            connect_time: CONNECT_TIME,
        }
    }
}

// Without the address: somebody may have written a password into it.
impl fmt::Debug for HttpSettings {
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
pub enum AdapterSetupError {
    /// The HTTP client cannot be created.
    Http(HttpSetupError),
    /// The user agent cannot stand in a header.
    UserAgent,
    /// A schema of ours does not compile.
    Schema,
}

impl fmt::Display for AdapterSetupError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            AdapterSetupError::Http(HttpSetupError::InvalidUrl) => {
                "the order system's address must look like https://HOST or https://HOST/PATH, without a name, a query or dots as a segment"
            }
            AdapterSetupError::Http(HttpSetupError::Unencrypted) => {
                "the order system's address must begin with https:// unless it is on this machine"
            }
            AdapterSetupError::UserAgent => "the user agent must be visible ASCII",
            AdapterSetupError::Http(HttpSetupError::NoCertificates) => {
                "the system has no certificates to trust; install its ca-certificates"
            }
            AdapterSetupError::Http(HttpSetupError::Tls) => "TLS could not be set up",
            AdapterSetupError::Schema => "the schemas of answers could not be set up",
        })
    }
}

impl std::error::Error for AdapterSetupError {}

impl From<HttpSetupError> for AdapterSetupError {
    fn from(error: HttpSetupError) -> AdapterSetupError {
        AdapterSetupError::Http(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_show_no_secret() {
        let mut settings = HttpSettings::new("https://u:canary@example.com");
        settings.bearer = BearerToken::new("canary");
        let shown = format!("{settings:?}");
        assert!(!shown.contains("canary"), "{shown}");
    }
}

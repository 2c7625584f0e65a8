//! The settings of the HTTP adapter.

use candor_http_client::{BearerToken, HttpSetupError};
use std::fmt;
use std::time::Duration;

/// The time to connect, unless the owner configures another.
pub const CONNECT_TIME: Duration = Duration::from_secs(5);

/// The settings of the HTTP adapter.
#[derive(Clone)]
pub struct HttpSettings {
    /// The address of the order system; `/v1/…` is appended.
    pub base_url: String,
    /// The token. If absent, requests are anonymous.
    pub bearer: Option<BearerToken>,
    /// The certificates to trust, in PEM. If absent, those of the system.
    pub ca: Option<Vec<u8>>,
    pub user_agent: String,
    /// Allows an address without encryption on another machine.
    pub allow_insecure: bool,
    /// The time to connect. The call's deadline applies as well.
    pub connect_time: Duration,
    /// False only to measure the cost of comparing answers with their requests.
    pub compares: bool,
}

impl HttpSettings {
    /// Returns the default settings for an order system at this address.
    pub fn new(base_url: impl Into<String>) -> HttpSettings {
        HttpSettings {
            base_url: base_url.into(),
            bearer: None,
            ca: None,
            user_agent: format!("candor/{}", env!("CARGO_PKG_VERSION")),
            allow_insecure: false,
            connect_time: CONNECT_TIME,
            compares: true,
        }
    }
}

// Without the address, which may contain a password.
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

/// The reason why the adapter cannot be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdapterSetupError {
    /// The HTTP client cannot be created.
    Http(HttpSetupError),
    /// The user agent is not a valid header value.
    UserAgent,
    /// A schema does not compile.
    Schema,
    /// The owner's certificates to trust are not valid.
    Ca,
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
            AdapterSetupError::Ca => "the file of certificates contains none in PEM",
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

//! Settings of the backend `github`.

use super::authentication::GithubAuthentication;
use crate::RepoName;
use candor_http_client::HttpSetupError;
use candor_street::{Clock, Random};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub const PUBLIC_API: &str = "https://api.github.com";

/// Timeouts of one exchange. The deadline of the call applies too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GithubTimeouts {
    pub connect: Duration,
    /// From the first byte of the request to the last byte of its response.
    pub attempt: Duration,
}

impl Default for GithubTimeouts {
    /// Returns five seconds to connect and fifteen for a response: GitHub itself gives up after
    /// ten.
    fn default() -> GithubTimeouts {
        GithubTimeouts {
            connect: Duration::from_secs(5),
            attempt: Duration::from_secs(15),
        }
    }
}

/// Returns true if tools may use the repository.
pub type RepoFilter = Arc<dyn Fn(&RepoName) -> bool + Send + Sync>;

/// Settings of the backend.
pub struct GithubSettings {
    /// The public REST API, or `https://HOST/api/v3` of an Enterprise server.
    pub api_url: String,
    pub authentication: GithubAuthentication,
    /// Required by GitHub.
    pub user_agent: String,
    /// The allow-list, checked again for every redirect to another repository.
    pub allows_repo: RepoFilter,
    /// For the waits between attempts.
    pub random: Random,
    /// The time of day, for the reset of a limit.
    pub clock: Arc<dyn Clock>,
    pub timeouts: GithubTimeouts,
}

// Without the URL, because it may contain a password.
impl fmt::Debug for GithubSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Settings")
            .field("authentication", &self.authentication)
            .field("user_agent", &self.user_agent)
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

/// The reason why the backend cannot be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GithubSetupError {
    /// The HTTP client cannot be created.
    Http(HttpSetupError),
    /// The user agent is empty or not valid in a header.
    UserAgent,
}

impl fmt::Display for GithubSetupError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            GithubSetupError::Http(HttpSetupError::InvalidUrl) => {
                "the API's address must look like https://HOST or https://HOST/api/v3"
            }
            GithubSetupError::Http(HttpSetupError::Unencrypted) => {
                "the API's address must begin with https:// unless it is on this machine"
            }
            GithubSetupError::UserAgent => "the user agent must be visible ASCII",
            GithubSetupError::Http(HttpSetupError::NoCertificates) => {
                "the system has no certificates to trust; install its ca-certificates"
            }
            GithubSetupError::Http(HttpSetupError::Tls) => "TLS could not be set up",
        })
    }
}

impl std::error::Error for GithubSetupError {}

impl From<HttpSetupError> for GithubSetupError {
    fn from(error: HttpSetupError) -> GithubSetupError {
        GithubSetupError::Http(error)
    }
}

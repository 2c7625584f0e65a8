//! What the backend has to be told: where GitHub is, who asks, what it may touch.

use crate::RepoName;
use candor_http_client::{BearerToken, HttpSetupError};
use candor_street::{Clock, Random};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The public GitHub.
pub const PUBLIC_API: &str = "https://api.github.com";

/// How long single steps may take; a call's own deadline holds beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GithubTimeouts {
    /// Until a connection stands.
    pub connect: Duration,
    /// From the first byte of a request to the last of its answer.
    pub attempt: Duration,
}

impl Default for GithubTimeouts {
    /// Five seconds to connect, fifteen for an answer: GitHub itself gives up after ten.
    fn default() -> GithubTimeouts {
        GithubTimeouts {
            connect: Duration::from_secs(5),
            attempt: Duration::from_secs(15),
        }
    }
}

/// Whether a repository may be touched.
pub type RepoFilter = Arc<dyn Fn(&RepoName) -> bool + Send + Sync>;

/// What the backend has to be told.
pub struct GithubSettings {
    /// Where the REST API is: the public one, or `https://HOST/api/v3` of an Enterprise server.
    pub api_url: String,
    /// What to show; nothing asks anonymously.
    pub token: Option<BearerToken>,
    /// Who asks; GitHub refuses those who do not say.
    pub user_agent: String,
    /// The allow-list, asked again wherever a redirect leads to another repository.
    pub allows_repo: RepoFilter,
    /// 64 evenly distributed bits, for the waits between attempts.
    pub random: Random,
    /// The time of day, against which GitHub says when a limit ends.
    pub clock: Arc<dyn Clock>,
    /// How long single steps may take.
    pub timeouts: GithubTimeouts,
}

// Without the address: somebody may have written a password into it.
impl fmt::Debug for GithubSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Settings")
            .field("token", &self.token)
            .field("user_agent", &self.user_agent)
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

/// Why the backend cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GithubSetupError {
    /// The HTTP client cannot be created.
    Http(HttpSetupError),
    /// The user agent cannot stand in a header.
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

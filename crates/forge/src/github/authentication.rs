//! The sources of authentication to GitHub, and the identity with which each request is sent.

use super::api::Api;
use super::app_key::AppKey;
use super::installation_tokens::InstallationTokens;
use super::recent_map::RecentMap;
use crate::token_digest::token_digest;
use crate::{BackendContext, DenialReason, Failure};
use candor_guard::Retrier;
use candor_guard::retry::{RetryBudget, RetryPolicy};
use candor_http_client::BearerToken;
use candor_street::Random;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

/// The retry budget of all calls with one token.
const RETRY_PERCENT: u32 = 20;
const RETRY_FLOOR: NonZeroU32 = NonZeroU32::MIN.saturating_add(19);

/// The maximum number of callers whose retries are counted at a time.
pub const MAX_CALLERS: usize = 1024;

/// Returns the token to send now. It may change while the server runs, for example in a file.
pub type TokenSource = Arc<dyn Fn() -> BearerToken + Send + Sync>;

/// A GitHub app.
#[derive(Debug)]
pub struct GithubApp {
    /// Its id, or its client id.
    pub id: String,
    pub key: AppKey,
    /// The installation that is used for every repository. `None` finds that of each repository's owner.
    pub installation: Option<u64>,
}

/// The source of authentication.
pub enum GithubAuthentication {
    Anonymous,
    Token(TokenSource),
    App(Box<GithubApp>),
    /// Each call has a token of its own.
    Caller,
}

impl GithubAuthentication {
    /// Returns the source of a token that never changes.
    pub fn token(token: BearerToken) -> GithubAuthentication {
        GithubAuthentication::Token(Arc::new(move || token.clone()))
    }
}

impl fmt::Debug for GithubAuthentication {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            GithubAuthentication::Anonymous => "Anonymous",
            GithubAuthentication::Token(_) => "Token",
            GithubAuthentication::App(_) => "App",
            GithubAuthentication::Caller => "Caller",
        })
    }
}

/// The state that all requests with one token share.
pub(super) struct TokenScope {
    /// The digest of a caller's token; empty if all calls have the same identity.
    pub(super) key: String,
    pub(super) retry: Retrier,
}

impl TokenScope {
    fn new(key: &str, random: Random) -> Arc<TokenScope> {
        let budget = RetryBudget::new(RETRY_PERCENT, RETRY_FLOOR);
        Arc::new(TokenScope {
            key: key.to_owned(),
            retry: Retrier::new(RetryPolicy::default(), budget, move || random()),
        })
    }
}

/// The token of a request, and what requests with it share.
pub(super) struct RequestIdentity {
    pub(super) token: Option<BearerToken>,
    pub(super) scope: Arc<TokenScope>,
}

enum Source {
    Anonymous,
    Token(TokenSource),
    App(Box<InstallationTokens>),
    Caller(Mutex<RecentMap<Arc<TokenScope>>>),
}

/// Finds the identity of each call.
pub(super) struct Identities {
    source: Source,
    /// The scope of everything that is not sent with a caller's token.
    shared: Arc<TokenScope>,
    random: Random,
}

impl Identities {
    pub(super) fn new(authentication: GithubAuthentication, random: Random) -> Identities {
        Identities {
            source: match authentication {
                GithubAuthentication::Anonymous => Source::Anonymous,
                GithubAuthentication::Token(source) => Source::Token(source),
                GithubAuthentication::App(app) => {
                    Source::App(Box::new(InstallationTokens::new(*app)))
                }
                GithubAuthentication::Caller => {
                    Source::Caller(Mutex::new(RecentMap::new(MAX_CALLERS)))
                }
            },
            shared: TokenScope::new("", Arc::clone(&random)),
            random,
        }
    }

    pub(super) fn shared(&self) -> &TokenScope {
        &self.shared
    }

    fn scope_of(
        &self,
        callers: &Mutex<RecentMap<Arc<TokenScope>>>,
        secret: &str,
    ) -> Arc<TokenScope> {
        let key = token_digest(secret);
        let mut callers = callers.lock().unwrap_or_else(PoisonError::into_inner);
        callers.get_or_insert(&key, || TokenScope::new(&key, Arc::clone(&self.random)))
    }
}

impl Api {
    /// Returns the identity for the requests of a call. An app may buy a token for it.
    pub(super) async fn identity(
        &self,
        context: &BackendContext,
    ) -> Result<RequestIdentity, Failure> {
        let shared = |token: Option<BearerToken>| RequestIdentity {
            token,
            scope: Arc::clone(&self.identities.shared),
        };
        let identity = match &self.identities.source {
            Source::Anonymous => shared(None),
            Source::Token(source) => shared(Some(source())),
            Source::App(tokens) => shared(Some(tokens.token(self, context).await?)),
            Source::Caller(callers) => {
                let missing = || Failure::Denied(DenialReason::CallerToken);
                let caller = context.caller.as_ref().ok_or_else(missing)?;
                RequestIdentity {
                    token: Some(BearerToken::new(caller.secret()).ok_or_else(missing)?),
                    scope: self.identities.scope_of(callers, caller.secret()),
                }
            }
        };
        if let Some(token) = &identity.token {
            self.redactor.remember(token);
        }
        Ok(identity)
    }

    /// Forgets the token of an app that GitHub has refused. Returns true if another one can be bought.
    pub(super) async fn forget_refused(
        &self,
        context: &BackendContext,
        identity: &RequestIdentity,
        failure: &Failure,
    ) -> bool {
        let Failure::GithubErrorResponse(response) = failure else {
            return false;
        };
        match (&self.identities.source, &identity.token) {
            (Source::App(tokens), Some(token)) if response.status == 401 => {
                tokens.forget(context, token).await;
                true
            }
            _ => false,
        }
    }
}

//! Buys the tokens of a GitHub app's installations, and keeps each until shortly before its end.

use super::api::Api;
use super::authentication::GithubApp;
use super::error_response::RequestFacts;
use super::exchange_failure::ExchangeFailure;
use super::limits::MAX_REFUSAL_BYTES;
use super::read::ReadFailure;
use super::recent_map::RecentMap;
use super::requests::JSON;
use super::route::Route;
use crate::{BackendContext, DenialReason, Failure, MissingItem, RepoName, RequestKind};
use candor_fault::{Cause, Timestamp};
use candor_guard::Deadline;
use candor_http_client::header::{AUTHORIZATION, DATE, HeaderMap};
use candor_http_client::{BearerToken, BodyLimit, Bytes, Method};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Mutex as AsyncMutex;

/// The time before its end at which a token is no longer used.
pub const TOKEN_MARGIN: Duration = Duration::from_secs(5 * 60);

/// The maximum number of owners whose tokens are kept.
pub const MAX_INSTALLATIONS: usize = 1024;

/// The difference of the clocks from which a refused JSON web token is signed again by GitHub's clock.
const MIN_SKEW_SECONDS: i64 = 30;

/// The key of the only installation, which the owner of the server has named. No account has this name.
const NAMED: &str = "";

/// The tokens of an app.
pub(super) struct InstallationTokens {
    app: GithubApp,
    /// By the owner of the repositories.
    purchases: Mutex<RecentMap<Arc<Purchase>>>,
    /// The seconds by which GitHub's clock is ahead of this machine's.
    skew: AtomicI64,
}

/// The token of one installation. Whoever holds the lock may buy it.
#[derive(Default)]
struct Purchase {
    state: AsyncMutex<PurchaseState>,
    /// The number of purchases that have failed.
    failures: AtomicU64,
}

#[derive(Default)]
struct PurchaseState {
    bought: Option<BoughtToken>,
    last_failure: Option<Failure>,
}

struct BoughtToken {
    token: BearerToken,
    /// In seconds since 1970, by GitHub's clock.
    expires: i64,
}

/// GitHub's description of an installation.
#[derive(Deserialize)]
struct RawInstallation {
    id: u64,
}

/// GitHub's answer to a purchase.
#[derive(Deserialize)]
struct RawToken {
    token: String,
    expires_at: String,
}

impl InstallationTokens {
    pub(super) fn new(app: GithubApp) -> InstallationTokens {
        InstallationTokens {
            app,
            purchases: Mutex::new(RecentMap::new(MAX_INSTALLATIONS)),
            skew: AtomicI64::new(0),
        }
    }

    /// Returns the token for the repository of a call. Calls that need the same token at the same time wait
    /// for one purchase, and share its failure.
    pub(super) async fn token(
        &self,
        api: &Api,
        context: &BackendContext,
    ) -> Result<BearerToken, Failure> {
        let key = self.key(context)?;
        let purchase = self.purchase(&key);
        let failures = purchase.failures.load(Ordering::Acquire);
        let mut state = match context.deadline.run(purchase.state.lock()).await {
            Ok(state) => state,
            Err(_) => return Err(ExchangeFailure::late().into()),
        };
        if let Some(failure) = &state.last_failure
            && purchase.failures.load(Ordering::Acquire) != failures
        {
            return Err(failure.clone());
        }
        let last = self.now(api) + TOKEN_MARGIN.as_secs() as i64;
        if let Some(bought) = state.bought.as_ref().filter(|bought| last < bought.expires) {
            return Ok(bought.token.clone());
        }
        state.bought = None;
        match self.buy(api, context).await {
            Ok(bought) => {
                let token = bought.token.clone();
                *state = PurchaseState {
                    bought: Some(bought),
                    last_failure: None,
                };
                Ok(token)
            }
            Err(failure) => {
                state.last_failure = Some(failure.clone());
                purchase.failures.fetch_add(1, Ordering::AcqRel);
                Err(failure)
            }
        }
    }

    /// Forgets a token that GitHub has refused, unless another one was bought meanwhile.
    pub(super) async fn forget(&self, context: &BackendContext, token: &BearerToken) {
        let Ok(key) = self.key(context) else {
            return;
        };
        let purchase = self.purchase(&key);
        let mut state = purchase.state.lock().await;
        let bought = state.bought.take();
        state.bought = bought.filter(|bought| bought.token.header() != token.header());
    }

    fn key(&self, context: &BackendContext) -> Result<String, Failure> {
        match (self.app.installation, &context.repo) {
            (Some(_), _) => Ok(NAMED.to_owned()),
            (None, Some(repo)) => Ok(repo.owner().to_ascii_lowercase()),
            (None, None) => Err(Failure::Denied(DenialReason::InstallationNeeded)),
        }
    }

    fn purchase(&self, key: &str) -> Arc<Purchase> {
        let purchases = self.purchases.lock();
        let mut purchases = purchases.unwrap_or_else(PoisonError::into_inner);
        purchases.get_or_insert(key, Arc::default)
    }

    /// Returns the time by GitHub's clock, in seconds since 1970.
    fn now(&self, api: &Api) -> i64 {
        api.clock.now().as_second() + self.skew.load(Ordering::Relaxed)
    }

    async fn buy(&self, api: &Api, context: &BackendContext) -> Result<BoughtToken, Failure> {
        let installation = match (self.app.installation, &context.repo) {
            (Some(id), _) => id,
            (None, Some(repo)) => self.find_installation(api, context, repo).await?,
            (None, None) => return Err(Failure::Denied(DenialReason::InstallationNeeded)),
        };
        let route = Route::root("app/installations")
            .number(installation)
            .then("access_tokens");
        let bought: Option<RawToken> = self.ask(api, context, Method::POST, &route).await?;
        let gone = || match (self.app.installation, &context.repo) {
            (None, Some(repo)) => DenialReason::NotInstalled(repo.owner().to_owned()),
            _ => DenialReason::InstallationGone(installation),
        };
        let bought = bought.ok_or_else(|| Failure::Denied(gone()))?;
        let unusable = || ExchangeFailure::nonsense("a token that cannot be used");
        let expires: Timestamp = bought.expires_at.parse().map_err(|_| unusable())?;
        Ok(BoughtToken {
            token: BearerToken::new(&bought.token).ok_or_else(unusable)?,
            expires: expires.as_second(),
        })
    }

    /// Finds the installation of a repository's owner. The repository may not exist or not be among those
    /// of the installation, so the account itself is asked about too.
    async fn find_installation(
        &self,
        api: &Api,
        context: &BackendContext,
        repo: &RepoName,
    ) -> Result<u64, Failure> {
        let account = |kind| Route::root(kind).name(repo.owner()).then("installation");
        let routes = [
            Route::of(repo).then("installation"),
            account("orgs"),
            account("users"),
        ];
        for route in routes {
            let found: Option<RawInstallation> =
                self.ask(api, context, Method::GET, &route).await?;
            if let Some(found) = found {
                return Ok(found.id);
            }
        }
        let owner = repo.owner().to_owned();
        Err(Failure::Denied(DenialReason::NotInstalled(owner)))
    }

    /// Sends a request as the app. Returns `None` for a 404. A token that is refused because the clocks
    /// differ is signed once more by GitHub's clock.
    async fn ask<T: DeserializeOwned>(
        &self,
        api: &Api,
        context: &BackendContext,
        method: Method,
        route: &Route,
    ) -> Result<Option<T>, Failure> {
        let before = self.skew.load(Ordering::Relaxed);
        let asked = self.ask_once(api, context, &method, route).await;
        let asked = match asked {
            Err(Failure::GithubErrorResponse(response))
                if response.status == 401 && self.skew.load(Ordering::Relaxed) != before =>
            {
                self.ask_once(api, context, &method, route).await
            }
            other => other,
        };
        match asked {
            Ok(bytes) => {
                let read = serde_json::from_slice(&bytes);
                let read = read.map_err(|error| ExchangeFailure::unreadable(&error))?;
                Ok(Some(read))
            }
            Err(Failure::GithubErrorResponse(response)) if response.status == 404 => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Sends a request, retried as a read: a token that was bought twice does no harm.
    async fn ask_once(
        &self,
        api: &Api,
        context: &BackendContext,
        method: &Method,
        route: &Route,
    ) -> Result<Bytes, Failure> {
        let jwt = self.app.key.sign(&self.app.id, self.now(api));
        let jwt = jwt.and_then(|jwt| BearerToken::new(&jwt)).ok_or_else(|| {
            let cause = Cause::from("the system has no random bytes");
            Failure::Broken("the key of the GitHub app could not sign", cause)
        })?;
        api.redactor.remember(&jwt);
        let route = route.text()?;
        let tried = api
            .identities
            .shared()
            .retry
            .run(context.deadline, |_| async {
                let until = context.deadline.min(Deadline::after(api.attempt));
                let done = until.run(self.exchange(api, method, route, &jwt)).await;
                done.unwrap_or_else(|_| Err(ExchangeFailure::late().into()))
            });
        tried.await.map_err(|ReadFailure(failure)| failure)
    }

    async fn exchange(
        &self,
        api: &Api,
        method: &Method,
        route: &str,
        jwt: &BearerToken,
    ) -> Result<Bytes, ReadFailure> {
        let mut headers = api.headers(JSON, None);
        headers.insert(AUTHORIZATION, jwt.header());
        let url = api.base.join(route);
        let sent = api.client.send(method.clone(), &url, headers, Bytes::new());
        let response = sent.await?;
        match response.status().as_u16() {
            200..=299 => {
                let body = response.into_body();
                let body = body.read(BodyLimit::Whole(MAX_REFUSAL_BYTES)).await?;
                Ok(body.bytes)
            }
            300..=399 => Err(ExchangeFailure::redirect("an app was redirected").into()),
            status => {
                if status == 401 {
                    self.note_skew(api, response.headers());
                }
                let facts = RequestFacts {
                    step: RequestKind::Read,
                    missing: &MissingItem::Repository,
                    site: &api.site,
                };
                let response = api.read_error_response(&facts, response).await;
                Err(ReadFailure(Failure::GithubErrorResponse(response)))
            }
        }
    }

    /// Notes by how much GitHub's clock differs from the one that a refused token was signed by.
    fn note_skew(&self, api: &Api, headers: &HeaderMap) {
        let Some(theirs) = date(headers) else {
            return;
        };
        if (theirs - self.now(api)).abs() >= MIN_SKEW_SECONDS {
            let skew = theirs - api.clock.now().as_second();
            self.skew.store(skew, Ordering::Relaxed);
        }
    }
}

/// Returns the header `Date` in seconds since 1970.
fn date(headers: &HeaderMap) -> Option<i64> {
    let text = headers.get(DATE)?.to_str().ok()?.strip_suffix(" GMT")?;
    let at = Timestamp::strptime("%a, %d %b %Y %H:%M:%S %z", format!("{text} +0000"));
    at.ok().map(|at| at.as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_of_a_response_is_read() {
        let read = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(DATE, text.parse().unwrap());
            date(&headers)
        };
        assert_eq!(read("Tue, 14 Nov 2023 22:13:20 GMT"), Some(1_700_000_000));
        for other in ["", "Tue, 14 Nov 2023 22:13:20", "yesterday GMT"] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}

//! One API: where it is, who asks, what is remembered of it, and what every request carries.

use super::address::Address;
use super::ask::Ask;
use super::broken::Broken;
use super::limits::REFUSAL_MAX_BYTES;
use super::refusal::{Asked, refusal};
use super::remembered::Remembered;
use super::route::Route;
use super::settings::{Admits, Settings, SetupError};
use super::token::Token;
use super::transport::{Transport, Wanted, body};
use crate::{Answered, Failure, Missing, RepoName, Turn};
use bytes::Bytes;
use candor_guard::Retry;
use candor_guard::retry::{Budget, Policy};
use candor_street::Clock;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, USER_AGENT,
};
use hyper::{Method, Request, Response};
use serde_json::Value;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

const VERSION_HEADER: &str = "x-github-api-version";
const VERSION: HeaderValue = HeaderValue::from_static("2022-11-28");

/// Retries of all calls together: a fifth of the calls, and these at once.
const RETRY_PERCENT: u32 = 20;
const RETRY_FLOOR: NonZeroU32 = NonZeroU32::MIN.saturating_add(19);

/// One API, and everything that asking it needs.
pub(super) struct Api {
    pub(super) address: Address,
    pub(super) transport: Transport,
    token: Option<Token>,
    user_agent: HeaderValue,
    pub(super) may: Admits,
    pub(super) clock: Arc<dyn Clock>,
    /// How long one exchange may take.
    pub(super) attempt: Duration,
    pub(super) retry: Retry,
    pub(super) remembered: Remembered,
}

impl fmt::Debug for Api {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Api")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Api {
    pub(super) fn new(settings: Settings) -> Result<Api, SetupError> {
        let address = Address::read(&settings.api_url)?;
        let transport = Transport::new(&address, settings.timeouts)?;
        let user_agent = HeaderValue::from_str(&settings.user_agent)
            .ok()
            .filter(|value| !value.is_empty())
            .ok_or(SetupError::UserAgent)?;
        let budget = Budget::new(RETRY_PERCENT, RETRY_FLOOR);
        Ok(Api {
            address,
            transport,
            token: settings.token,
            user_agent,
            may: settings.may,
            clock: settings.clock,
            attempt: settings.timeouts.attempt,
            retry: Retry::new(Policy::default(), budget, settings.random),
            remembered: Remembered::default(),
        })
    }

    /// A request. Its address is always one of this API: whoever makes one has it from
    /// [`Address`], and so the token goes nowhere else.
    pub(super) fn request(
        &self,
        method: &Method,
        url: &str,
        accept: &'static str,
        body: Option<&Value>,
    ) -> Result<Request<Full<Bytes>>, Broken> {
        let mut request = Request::builder()
            .method(method)
            .uri(url)
            .header(USER_AGENT, &self.user_agent)
            .header(ACCEPT, accept)
            .header(VERSION_HEADER, VERSION);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token.header());
        }
        let bytes = match body {
            Some(value) => {
                request = request.header(CONTENT_TYPE, "application/json");
                Bytes::from(value.to_string())
            }
            None => Bytes::new(),
        };
        request
            .body(Full::new(bytes))
            .map_err(|error| Broken::garbled("RequestError", &error))
    }

    /// What an unsuccessful answer says. Its status is known; a body that breaks off takes nothing
    /// of that away.
    pub(super) async fn refused(
        &self,
        asked: &Asked<'_>,
        response: Response<Incoming>,
    ) -> Answered {
        let (head, incoming) = response.into_parts();
        let said = body(incoming, Wanted::First(REFUSAL_MAX_BYTES)).await;
        let said = said.map(|body| body.bytes).unwrap_or_default();
        let (status, now) = (head.status.as_u16(), self.clock.now());
        refusal(asked, status, &head.headers, &said, now)
    }

    /// A 404 below a repository that cannot be seen at all is about the repository.
    pub(super) async fn placed(&self, turn: &Turn, route: &Route, failure: Failure) -> Failure {
        let mut answered = match failure {
            Failure::Answered(answered) if answered.status == 404 => answered,
            other => return other,
        };
        if let Some(repo) = route.repo()
            && answered.missing != Missing::Repository
            && self.unseen(turn, repo).await
        {
            answered.missing = Missing::Repository;
        }
        Failure::Answered(answered)
    }

    async fn unseen(&self, turn: &Turn, repo: &RepoName) -> bool {
        let ask = Ask::new(Route::of(repo), Missing::Repository);
        let found = self.fetch(turn, &ask).await;
        matches!(found, Err(Failure::Answered(Answered { status: 404, .. })))
    }
}

/// Where a redirect leads.
pub(super) fn location(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(LOCATION)?.to_str().ok()?;
    Some(value.to_owned())
}

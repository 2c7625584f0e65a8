//! Asking the REST API: reads with retries, redirects and remembered answers; changes once.

use super::address::Address;
use super::broken::Broken;
use super::limits::{ANSWER_MAX_BYTES, REDIRECTS_MAX, REFUSAL_MAX_BYTES};
use super::refusal::{Asked, refusal};
use super::remembered::{Known, Remembered};
use super::route::Route;
use super::settings::{Admits, Settings, SetupError};
use super::token::Token;
use super::transport::{Body, Transport, Wanted, body};
use crate::{Answered, Failure, Missing, Step, Turn, Unreachable};
use bytes::Bytes;
use candor_guard::retry::{Again, Budget, Policy, Retryable};
use candor_guard::{Deadline, Retry};
use candor_street::Clock;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH, LINK,
    LOCATION, USER_AGENT,
};
use hyper::{Method, Request, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// What is asked for unless something else is said.
pub(super) const JSON: &str = "application/vnd.github+json";
/// A file's own bytes.
pub(super) const RAW: &str = "application/vnd.github.raw+json";
/// One object whatever stands at a path, a directory too.
pub(super) const OBJECT: &str = "application/vnd.github.object+json";

const VERSION_HEADER: &str = "x-github-api-version";
const VERSION: HeaderValue = HeaderValue::from_static("2022-11-28");

/// Retries of all calls together: a fifth of the calls, and these at once.
const RETRY_PERCENT: u32 = 20;
const RETRY_FLOOR: NonZeroU32 = NonZeroU32::MIN.saturating_add(19);

/// One API, and everything that asking it needs.
pub(super) struct Api {
    address: Address,
    transport: Transport,
    token: Option<Token>,
    user_agent: HeaderValue,
    may: Admits,
    clock: Arc<dyn Clock>,
    attempt: Duration,
    retry: Retry,
    remembered: Remembered,
}

impl fmt::Debug for Api {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Api")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Something to be read.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) route: Route,
    accept: &'static str,
    wanted: Wanted,
    missing: Missing,
}

impl Ask {
    /// Asks for JSON; `missing` is what a 404 would be about.
    pub(super) fn new(route: Route, missing: Missing) -> Ask {
        Ask {
            route,
            accept: JSON,
            wanted: Wanted::Whole(ANSWER_MAX_BYTES),
            missing,
        }
    }

    pub(super) fn accepting(mut self, accept: &'static str) -> Ask {
        self.accept = accept;
        self
    }

    pub(super) fn wanting(mut self, wanted: Wanted) -> Ask {
        self.wanted = wanted;
        self
    }
}

/// Something to be changed.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) method: Method,
    pub(super) route: Route,
    pub(super) body: Option<Value>,
    pub(super) step: Step,
    pub(super) missing: Missing,
}

/// A change that brought no answer of success.
#[derive(Debug)]
pub(super) struct Lost {
    pub(super) failure: Failure,
    pub(super) outcome: Outcome,
}

/// What became of a change that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was not made.
    NotMade,
    /// Nobody knows.
    Unknown,
    /// It was made; only the answer was lost.
    Made,
}

impl Lost {
    fn certain(failure: impl Into<Failure>) -> Lost {
        Lost {
            failure: failure.into(),
            outcome: Outcome::NotMade,
        }
    }

    /// With the mark set as the outcome demands, where this change was the only one.
    pub(super) fn settled(self, turn: &Turn) -> Failure {
        match self.outcome {
            Outcome::NotMade => turn.mark.undone(),
            Outcome::Made => turn.mark.done(),
            Outcome::Unknown => {}
        }
        self.failure
    }
}

/// An answer of success.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) bytes: Bytes,
    /// Whether there were more bytes.
    pub(super) cut: bool,
    /// Whether there is another page.
    pub(super) more: bool,
}

impl Reply {
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.bytes)
            .map_err(|error| Broken::garbled("JsonError", &error).into())
    }
}

/// What one attempt to read brought.
enum Got {
    Reply(Reply),
    Moved(Option<String>),
}

/// A failed attempt to read.
struct Tried(Failure);

impl Retryable for Tried {
    fn again(&self) -> Again {
        match &self.0 {
            Failure::Unreachable(why, _) => match why {
                Unreachable::Connect | Unreachable::Reset | Unreachable::Timeout => Again::Soon,
                Unreachable::Tls
                | Unreachable::Garbled
                | Unreachable::TooLarge
                | Unreachable::Redirect => Again::Never,
            },
            Failure::Answered(answered) => match (answered.retry_after, answered.status) {
                (Some(wait), 500..) => Again::NotBefore(wait),
                (None, 500..) => Again::Soon,
                (Some(wait), _) if answered.limited => Again::NotBefore(wait),
                _ => Again::Never,
            },
            _ => Again::Never,
        }
    }
}

impl From<Broken> for Tried {
    fn from(broken: Broken) -> Tried {
        Tried(broken.into())
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

    pub(super) fn may(&self, repo: &crate::RepoName) -> bool {
        (self.may)(repo)
    }

    /// The route that a `Location` leads to, where that is in this API.
    pub(super) fn route_of(&self, location: &str) -> Option<String> {
        self.address.route_of(location)
    }

    /// Reads, and says of a 404 whether it is about the whole repository.
    pub(super) async fn read(&self, turn: &Turn, ask: Ask) -> Result<Reply, Failure> {
        let failure = match self.fetch(turn, &ask).await {
            Ok(reply) => return Ok(reply),
            Err(failure) => failure,
        };
        Err(self.placed(turn, &ask.route, failure).await)
    }

    /// Reads JSON.
    pub(super) async fn read_json<T: DeserializeOwned>(
        &self,
        turn: &Turn,
        ask: Ask,
    ) -> Result<T, Failure> {
        self.read(turn, ask).await?.json()
    }

    /// A 404 below a repository that cannot be seen at all is about the repository.
    async fn placed(&self, turn: &Turn, route: &Route, failure: Failure) -> Failure {
        let (Failure::Answered(mut answered), Some(repo)) = (failure.clone(), route.repo()) else {
            return failure;
        };
        if answered.status != 404 || answered.missing == Missing::Repository {
            return failure;
        }
        let ask = Ask::new(Route::of(repo), Missing::Repository);
        if let Err(Failure::Answered(Answered { status: 404, .. })) = self.fetch(turn, &ask).await {
            answered.missing = Missing::Repository;
        }
        Failure::Answered(answered)
    }

    /// Reads, wherever redirects lead within this API and the allow-list.
    async fn fetch(&self, turn: &Turn, ask: &Ask) -> Result<Reply, Failure> {
        let mut route = ask.route.text()?.to_owned();
        for _ in 0..=REDIRECTS_MAX {
            match self.fetch_one(turn, &route, ask).await? {
                Got::Reply(reply) => return Ok(reply),
                Got::Moved(location) => {
                    route = self.admitted(turn, location, ask.route.repo()).await?;
                }
            }
        }
        Err(Broken::redirect("more redirects than are followed").into())
    }

    /// Reads without following: what a repository's number stands for.
    pub(super) async fn fetch_here(&self, turn: &Turn, ask: &Ask) -> Result<Reply, Failure> {
        match self.fetch_one(turn, ask.route.text()?, ask).await? {
            Got::Reply(reply) => Ok(reply),
            Got::Moved(_) => Err(Broken::redirect("a repository's number was redirected").into()),
        }
    }

    async fn fetch_one(&self, turn: &Turn, route: &str, ask: &Ask) -> Result<Got, Failure> {
        let tried = self
            .retry
            .run(turn.deadline, |_| self.attempt_read(turn, route, ask));
        tried.await.map_err(|Tried(failure)| failure)
    }

    async fn attempt_read(&self, turn: &Turn, route: &str, ask: &Ask) -> Result<Got, Tried> {
        let until = turn.deadline.min(Deadline::after(self.attempt));
        let work = self.exchange_read(route, ask);
        let done = until.run(work).await;
        done.unwrap_or_else(|_| Err(Broken::late().into()))
    }

    async fn exchange_read(&self, route: &str, ask: &Ask) -> Result<Got, Tried> {
        let key = format!("{} {route}", ask.accept);
        let known = self.remembered.find(&key);
        let mut request = self.request(&Method::GET, route, ask.accept, None)?;
        if let Some(known) = &known {
            let etag = known.etag.clone();
            request.headers_mut().insert(IF_NONE_MATCH, etag);
        }
        let response = self.transport.send(request).await?;
        match (response.status().as_u16(), known) {
            (304, Some(known)) => Ok(Got::Reply(Reply {
                bytes: known.body,
                cut: false,
                more: known.more,
            })),
            (200..=299, _) => self
                .success(key, response, ask.wanted)
                .await
                .map(Got::Reply),
            (301 | 302 | 307 | 308, _) => Ok(Got::Moved(location(response.headers()))),
            _ => {
                let asked = Asked {
                    step: Step::Read,
                    missing: &ask.missing,
                };
                Err(Tried(Failure::Answered(
                    self.refused(&asked, response).await?,
                )))
            }
        }
    }

    async fn success(
        &self,
        key: String,
        response: Response<Incoming>,
        wanted: Wanted,
    ) -> Result<Reply, Tried> {
        let (head, incoming) = response.into_parts();
        let more = has_next(&head.headers);
        let Body { bytes, cut } = body(incoming, wanted).await?;
        if let Some(etag) = head.headers.get(ETAG).filter(|_| !cut) {
            let known = Known {
                etag: etag.clone(),
                body: bytes.clone(),
                more,
            };
            self.remembered.keep(key, known);
        }
        Ok(Reply { bytes, cut, more })
    }

    /// What an unsuccessful answer says; its body is looked at as far as it comes.
    async fn refused(
        &self,
        asked: &Asked<'_>,
        response: Response<Incoming>,
    ) -> Result<Answered, Broken> {
        let (head, incoming) = response.into_parts();
        // The status is known; a body that breaks off takes nothing of it away.
        let said = body(incoming, Wanted::First(REFUSAL_MAX_BYTES)).await;
        let said = said.map(|body| body.bytes).unwrap_or_default();
        let status = head.status.as_u16();
        Ok(refusal(
            asked,
            status,
            &head.headers,
            &said,
            self.clock.now(),
        ))
    }

    /// Makes a change that is the only one of its call: the mark is set around it.
    pub(super) async fn change(&self, turn: &Turn, change: Change) -> Result<Reply, Failure> {
        turn.mark.begins()?;
        match self.send(turn, change).await {
            Ok(reply) => {
                turn.mark.done();
                Ok(reply)
            }
            Err(lost) => Err(lost.settled(turn)),
        }
    }

    /// Makes a change, once; the mark is the caller's. What has been sent is waited for even past the
    /// call's deadline: whoever waits has been answered by then, but the outcome is still recorded.
    pub(super) async fn send(&self, turn: &Turn, change: Change) -> Result<Reply, Lost> {
        match self.send_once(turn, &change).await {
            Ok(reply) => Ok(reply),
            Err(Lost { failure, outcome }) => Err(Lost {
                failure: self.placed(turn, &change.route, failure).await,
                outcome,
            }),
        }
    }

    async fn send_once(&self, turn: &Turn, change: &Change) -> Result<Reply, Lost> {
        let mut route = change.route.text().map_err(Lost::certain)?.to_owned();
        for _ in 0..=REDIRECTS_MAX {
            if turn.deadline.passed() {
                return Err(Lost::certain(Broken::late()));
            }
            let url = self.address.below(&route);
            match self.post(&url, change).await? {
                Got::Reply(reply) => return Ok(reply),
                // Nothing was changed yet, so looking where it leads changes nothing either.
                Got::Moved(location) => {
                    let admitted = self.admitted(turn, location, change.route.repo());
                    route = admitted.await.map_err(Lost::certain)?;
                }
            }
        }
        Err(Lost::certain(Broken::redirect(
            "more redirects than are followed",
        )))
    }

    /// Asks the GraphQL API, once.
    pub(super) async fn graphql(&self, turn: &Turn, change: Change) -> Result<Reply, Lost> {
        if turn.deadline.passed() {
            return Err(Lost::certain(Broken::late()));
        }
        match self.post(&self.address.graphql(), &change).await? {
            Got::Reply(reply) => Ok(reply),
            Got::Moved(_) => Err(Lost::certain(Broken::redirect("GraphQL was redirected"))),
        }
    }

    /// Sends a change to an address and says what became of it.
    async fn post(&self, url: &str, change: &Change) -> Result<Got, Lost> {
        let until = Deadline::after(self.attempt);
        let unknown = |broken: Broken| Lost {
            outcome: match broken.unsent() {
                true => Outcome::NotMade,
                false => Outcome::Unknown,
            },
            failure: broken.into(),
        };
        let request = self.request_to(&change.method, url, JSON, change.body.as_ref());
        let sent = self.transport.send(request.map_err(Lost::certain)?);
        let response = match until.run(sent).await {
            Ok(sent) => sent.map_err(unknown)?,
            Err(_) => return Err(unknown(Broken::late())),
        };
        let status = response.status().as_u16();
        let asked = Asked {
            step: change.step,
            missing: &change.missing,
        };
        match status {
            200..=299 => {
                let read = until.run(body(response.into_body(), Wanted::Whole(ANSWER_MAX_BYTES)));
                let read = read.await.unwrap_or_else(|_| Err(Broken::late()));
                let Body { bytes, cut } = read.map_err(|broken| Lost {
                    failure: broken.into(),
                    outcome: Outcome::Made,
                })?;
                let more = false;
                Ok(Got::Reply(Reply { bytes, cut, more }))
            }
            307 | 308 => Ok(Got::Moved(location(response.headers()))),
            300..=399 => Err(Lost::certain(Broken::redirect(
                "a change is not sent elsewhere on this status",
            ))),
            _ => {
                let (head, incoming) = response.into_parts();
                let said = until.run(body(incoming, Wanted::First(REFUSAL_MAX_BYTES)));
                let said = said.await.ok().and_then(Result::ok);
                let said = said.map(|body| body.bytes).unwrap_or_default();
                let answered = refusal(&asked, status, &head.headers, &said, self.clock.now());
                Err(Lost {
                    failure: Failure::Answered(answered),
                    outcome: match status {
                        400..=499 => Outcome::NotMade,
                        _ => Outcome::Unknown,
                    },
                })
            }
        }
    }

    fn request(
        &self,
        method: &Method,
        route: &str,
        accept: &'static str,
        body: Option<&Value>,
    ) -> Result<Request<Full<Bytes>>, Broken> {
        self.request_to(method, &self.address.below(route), accept, body)
    }

    fn request_to(
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
}

fn location(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(LOCATION)?.to_str().ok()?;
    Some(value.to_owned())
}

/// Whether a `Link` header names a next page.
fn has_next(headers: &HeaderMap) -> bool {
    let links = headers.get_all(LINK).iter();
    let mut links = links.filter_map(|value| value.to_str().ok());
    links.any(|value| {
        // A comma or semicolon inside of an address stands between `<` and `>`.
        value.split('>').skip(1).any(|after| {
            let parameters = after.split('<').next().unwrap_or_default();
            let mut parameters = parameters.split([';', ',']).map(str::trim);
            parameters.any(|one| one == r#"rel="next""# || one == "rel=next")
        })
    })
}

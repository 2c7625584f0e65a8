//! Reading: bounded retries, redirects within the API, and answers that GitHub calls unchanged.

use super::api::{Api, location};
use super::ask::{Ask, Got, Reply};
use super::broken::Broken;
use super::limits::REDIRECTS_MAX;
use super::refusal::Asked;
use super::remembered::Known;
use crate::{Failure, Step, Turn, Unreachable};
use candor_guard::Deadline;
use candor_guard::retry::{Again, Retryable};
use candor_http_client::header::{ETAG, HeaderMap, IF_NONE_MATCH, LINK};
use candor_http_client::{
    BodyLimit, BoundedBody, Bytes, ExchangeError, Method, Response, ResponseBody,
};
use serde::de::DeserializeOwned;

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
                // A limit without an end lasts a minute at least, longer than anybody waits here.
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

impl From<ExchangeError> for Tried {
    fn from(error: ExchangeError) -> Tried {
        Tried(Broken::from(error).into())
    }
}

impl Api {
    /// Reads, and says of a 404 whether it is about the whole repository.
    pub(super) async fn read(&self, turn: &Turn, ask: Ask) -> Result<Reply, Failure> {
        match self.fetch(turn, &ask).await {
            Ok(reply) => Ok(reply),
            Err(failure) => Err(self.placed(turn, &ask.route, failure).await),
        }
    }

    /// Reads JSON.
    pub(super) async fn read_json<T: DeserializeOwned>(
        &self,
        turn: &Turn,
        ask: Ask,
    ) -> Result<T, Failure> {
        self.read(turn, ask).await?.json()
    }

    /// Reads, wherever redirects lead within this API and the allow-list.
    pub(super) async fn fetch(&self, turn: &Turn, ask: &Ask) -> Result<Reply, Failure> {
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

    /// Reads without following.
    pub(super) async fn fetch_here(&self, turn: &Turn, ask: &Ask) -> Result<Reply, Failure> {
        match self.fetch_one(turn, ask.route.text()?, ask).await? {
            Got::Reply(reply) => Ok(reply),
            Got::Moved(_) => Err(Broken::redirect("a redirect that leads to another").into()),
        }
    }

    async fn fetch_one(&self, turn: &Turn, route: &str, ask: &Ask) -> Result<Got, Failure> {
        let tried = self.retry.run(turn.deadline, |_| async {
            let until = turn.deadline.min(Deadline::after(self.attempt));
            let done = until.run(self.exchange(route, ask)).await;
            done.unwrap_or_else(|_| Err(Broken::late().into()))
        });
        tried.await.map_err(|Tried(failure)| failure)
    }

    async fn exchange(&self, route: &str, ask: &Ask) -> Result<Got, Tried> {
        let key = format!("{} {route}", ask.accept);
        let known = self.remembered.find(&key);
        let mut headers = self.headers(ask.accept);
        if let Some(known) = &known {
            headers.insert(IF_NONE_MATCH, known.etag.clone());
        }
        let url = self.base.join(route);
        let sent = self.client.send(Method::GET, &url, headers, Bytes::new());
        let response = sent.await?;
        match (response.status().as_u16(), known) {
            (304, Some(known)) => Ok(Got::Reply(unchanged(known, ask.limit)?)),
            (200..=299, _) => {
                let reply = self.success(key, response, ask.limit).await?;
                Ok(Got::Reply(reply))
            }
            (301 | 302 | 307 | 308, _) => Ok(Got::Moved(location(response.headers()))),
            _ => {
                let asked = Asked {
                    step: Step::Read,
                    missing: &ask.missing,
                };
                let answered = self.refused(&asked, response).await;
                Err(Tried(Failure::Answered(answered)))
            }
        }
    }

    async fn success(
        &self,
        key: String,
        response: Response<ResponseBody>,
        limit: BodyLimit,
    ) -> Result<Reply, ExchangeError> {
        let (head, body) = response.into_parts();
        let more = has_next(&head.headers);
        let BoundedBody { bytes, truncated } = body.read(limit).await?;
        if let Some(etag) = head.headers.get(ETAG).filter(|_| !truncated) {
            let known = Known {
                etag: etag.clone(),
                body: bytes.clone(),
                more,
            };
            self.remembered.keep(key, known);
        }
        Ok(Reply {
            bytes,
            truncated,
            more,
            wait: None,
        })
    }
}

/// Applies the limit of this request to the remembered answer.
fn unchanged(known: Known, limit: BodyLimit) -> Result<Reply, ExchangeError> {
    let BoundedBody { bytes, truncated } = limit.apply(&known.body)?;
    Ok(Reply {
        bytes,
        truncated,
        more: known.more,
        wait: None,
    })
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

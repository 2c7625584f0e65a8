//! Reads: bounded retries, redirects within the API, and cached responses.

use super::api::{Api, location};
use super::authentication::RequestIdentity;
use super::error_response::RequestFacts;
use super::exchange_failure::ExchangeFailure;
use super::limits::MAX_REDIRECTS;
use super::requests::{GithubRead, GithubResponse, ResponseOrRedirect};
use super::response_cache::CachedResponse;
use crate::{BackendContext, Failure, RequestKind, UnreachableReason};
use candor_guard::Deadline;
use candor_guard::retry::{RetryAdvice, Retryable};
use candor_http_client::header::{ETAG, HeaderMap, IF_NONE_MATCH, LINK};
use candor_http_client::{
    BodyLimit, BoundedBody, Bytes, ExchangeError, Method, Response, ResponseBody,
};
use serde::de::DeserializeOwned;

/// A failed attempt to read.
pub(super) struct ReadFailure(pub(super) Failure);

impl Retryable for ReadFailure {
    fn retry_advice(&self) -> RetryAdvice {
        match &self.0 {
            Failure::Unreachable(why, _) => match why {
                UnreachableReason::Connect
                | UnreachableReason::Reset
                | UnreachableReason::Timeout => RetryAdvice::Soon,
                UnreachableReason::Tls
                | UnreachableReason::Garbled
                | UnreachableReason::TooLarge
                | UnreachableReason::Redirect => RetryAdvice::Never,
            },
            Failure::GithubErrorResponse(response) => match (response.retry_after, response.status)
            {
                (Some(wait), 500..) => RetryAdvice::NotBefore(wait),
                (None, 500..) => RetryAdvice::Soon,
                (Some(wait), _) if response.limited => RetryAdvice::NotBefore(wait),
                // A limit without an end lasts at least a minute, which is longer than a call waits.
                _ => RetryAdvice::Never,
            },
            _ => RetryAdvice::Never,
        }
    }
}

impl From<ExchangeFailure> for ReadFailure {
    fn from(broken: ExchangeFailure) -> ReadFailure {
        ReadFailure(broken.into())
    }
}

impl From<ExchangeError> for ReadFailure {
    fn from(error: ExchangeError) -> ReadFailure {
        ReadFailure(ExchangeFailure::from(error).into())
    }
}

impl Api {
    /// Reads, and finds out whether a 404 refers to the whole repository.
    pub(super) async fn read(
        &self,
        context: &BackendContext,
        request: GithubRead,
    ) -> Result<GithubResponse, Failure> {
        match self.fetch(context, &request).await {
            Ok(reply) => Ok(reply),
            Err(failure) => Err(self
                .explain_not_found(context, &request.route, failure)
                .await),
        }
    }

    /// Reads JSON.
    pub(super) async fn read_json<T: DeserializeOwned>(
        &self,
        context: &BackendContext,
        request: GithubRead,
    ) -> Result<T, Failure> {
        self.read(context, request).await?.json()
    }

    /// Reads, and follows redirects within this API and the allow-list.
    pub(super) async fn fetch(
        &self,
        context: &BackendContext,
        request: &GithubRead,
    ) -> Result<GithubResponse, Failure> {
        let mut route = request.route.text()?.to_owned();
        for _ in 0..=MAX_REDIRECTS {
            match self.fetch_one(context, &route, request).await? {
                ResponseOrRedirect::Response(reply) => return Ok(reply),
                ResponseOrRedirect::Redirect(location) => {
                    route = self
                        .resolve_redirect(context, location, request.route.repo())
                        .await?;
                }
            }
        }
        Err(ExchangeFailure::redirect("more redirects than are followed").into())
    }

    /// Reads without following redirects.
    pub(super) async fn fetch_without_redirects(
        &self,
        context: &BackendContext,
        request: &GithubRead,
    ) -> Result<GithubResponse, Failure> {
        match self
            .fetch_one(context, request.route.text()?, request)
            .await?
        {
            ResponseOrRedirect::Response(reply) => Ok(reply),
            ResponseOrRedirect::Redirect(_) => {
                Err(ExchangeFailure::redirect("a redirect that leads to another").into())
            }
        }
    }

    async fn fetch_one(
        &self,
        context: &BackendContext,
        route: &str,
        request: &GithubRead,
    ) -> Result<ResponseOrRedirect, Failure> {
        let identity = self.identity(context).await?;
        let tried = self.fetch_as(context, &identity, route, request).await;
        match tried {
            Err(failure) if self.forget_refused(context, &identity, &failure).await => {
                let identity = self.identity(context).await?;
                self.fetch_as(context, &identity, route, request).await
            }
            other => other,
        }
    }

    async fn fetch_as(
        &self,
        context: &BackendContext,
        identity: &RequestIdentity,
        route: &str,
        request: &GithubRead,
    ) -> Result<ResponseOrRedirect, Failure> {
        let tried = identity.scope.retry.run(context.deadline, |_| async {
            let until = context.deadline.min(Deadline::after(self.attempt));
            let done = until.run(self.exchange(identity, route, request)).await;
            done.unwrap_or_else(|_| Err(ExchangeFailure::late().into()))
        });
        tried.await.map_err(|ReadFailure(failure)| failure)
    }

    async fn exchange(
        &self,
        identity: &RequestIdentity,
        route: &str,
        request: &GithubRead,
    ) -> Result<ResponseOrRedirect, ReadFailure> {
        // A response that one caller's token could read is not cached for another's.
        let key = format!("{} {} {route}", identity.scope.key, request.accept);
        let cached = self.response_cache.find(&key);
        let mut headers = self.headers(request.accept, identity.token.as_ref());
        if let Some(cached) = &cached {
            headers.insert(IF_NONE_MATCH, cached.etag.clone());
        }
        let url = self.base.join(route);
        let sent = self.client.send(Method::GET, &url, headers, Bytes::new());
        let response = sent.await?;
        match (response.status().as_u16(), cached) {
            (304, Some(cached)) => Ok(ResponseOrRedirect::Response(unchanged(
                cached,
                request.limit,
            )?)),
            (200..=299, _) => {
                let reply = self.success(key, response, request.limit).await?;
                Ok(ResponseOrRedirect::Response(reply))
            }
            (301 | 302 | 307 | 308, _) => {
                Ok(ResponseOrRedirect::Redirect(location(response.headers())))
            }
            _ => {
                let facts = RequestFacts {
                    step: RequestKind::Read,
                    missing: &request.missing,
                    site: &self.site,
                };
                let response = self.read_error_response(&facts, response).await;
                Err(ReadFailure(Failure::GithubErrorResponse(response)))
            }
        }
    }

    async fn success(
        &self,
        key: String,
        response: Response<ResponseBody>,
        limit: BodyLimit,
    ) -> Result<GithubResponse, ExchangeError> {
        let (head, body) = response.into_parts();
        let more = has_next(&head.headers);
        let BoundedBody { bytes, truncated } = body.read(limit).await?;
        let bytes = self.redactor.body(bytes);
        if let Some(etag) = head.headers.get(ETAG).filter(|_| !truncated) {
            let cached = CachedResponse {
                etag: etag.clone(),
                body: bytes.clone(),
                more,
            };
            self.response_cache.keep(key, cached);
        }
        Ok(GithubResponse {
            bytes,
            truncated,
            more,
            wait: None,
        })
    }
}

/// Applies the limit of this request to the cached response.
fn unchanged(cached: CachedResponse, limit: BodyLimit) -> Result<GithubResponse, ExchangeError> {
    let BoundedBody { bytes, truncated } = limit.apply(&cached.body)?;
    Ok(GithubResponse {
        bytes,
        truncated,
        more: cached.more,
        wait: None,
    })
}

/// Returns true if a `Link` header names a next page.
fn has_next(headers: &HeaderMap) -> bool {
    let links = headers.get_all(LINK).iter();
    let mut links = links.filter_map(|value| value.to_str().ok());
    links.any(|value| {
        // A comma or semicolon inside a URL is between `<` and `>`.
        value.split('>').skip(1).any(|after| {
            let parameters = after.split('<').next().unwrap_or_default();
            let mut parameters = parameters.split([';', ',']).map(str::trim);
            parameters.any(|one| one == r#"rel="next""# || one == "rel=next")
        })
    })
}

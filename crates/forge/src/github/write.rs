//! Sends changes. Every change is sent once, and its effect is typed.

use super::api::{Api, graphql_url, json_body, location};
use super::authentication::RequestIdentity;
use super::error_response::{RequestFacts, wait};
use super::exchange_failure::ExchangeFailure;
use super::limits::{MAX_ANSWER_BYTES, MAX_REDIRECTS};
use super::requests::{FailedWrite, GithubResponse, GithubWrite, JSON, ResponseOrRedirect};
use crate::{BackendContext, Failure};
use candor_guard::Deadline;
use candor_http_client::{BodyLimit, BoundedBody, Response, ResponseBody};

impl Api {
    /// Makes the only change of a call and sets the mark around it.
    pub(super) async fn change(
        &self,
        context: &BackendContext,
        change: GithubWrite,
    ) -> Result<GithubResponse, Failure> {
        context.mark.begins()?;
        match self.send(context, change).await {
            Ok(reply) => {
                context.mark.done();
                Ok(reply)
            }
            Err(failed) => Err(failed.into_failure(context)),
        }
    }

    /// Makes a change. The caller sets the mark.
    pub(super) async fn send(
        &self,
        context: &BackendContext,
        change: GithubWrite,
    ) -> Result<GithubResponse, FailedWrite> {
        match self.send_following_redirects(context, &change).await {
            Ok(reply) => Ok(reply),
            Err(FailedWrite { failure, effect }) => Err(FailedWrite {
                failure: self
                    .explain_not_found(context, &change.route, failure)
                    .await,
                effect,
            }),
        }
    }

    /// Sends a change and follows redirects that keep its method.
    async fn send_following_redirects(
        &self,
        context: &BackendContext,
        change: &GithubWrite,
    ) -> Result<GithubResponse, FailedWrite> {
        let mut route = change
            .route
            .text()
            .map_err(FailedWrite::without_effect)?
            .to_owned();
        for _ in 0..=MAX_REDIRECTS {
            let url = self.base.join(&route);
            match self.send_to(context, &url, change).await? {
                ResponseOrRedirect::Response(reply) => return Ok(reply),
                // Nothing was changed yet, so the redirect can be resolved.
                ResponseOrRedirect::Redirect(location) => {
                    let resolve_redirect =
                        self.resolve_redirect(context, location, change.route.repo());
                    route = resolve_redirect
                        .await
                        .map_err(FailedWrite::without_effect)?;
                }
            }
        }
        let circles = ExchangeFailure::redirect("more redirects than are followed");
        Err(FailedWrite::without_effect(circles))
    }

    /// Sends a request to the GraphQL API.
    pub(super) async fn graphql(
        &self,
        context: &BackendContext,
        change: GithubWrite,
    ) -> Result<GithubResponse, FailedWrite> {
        match self
            .send_to(context, &graphql_url(&self.base), &change)
            .await?
        {
            ResponseOrRedirect::Response(reply) => Ok(reply),
            ResponseOrRedirect::Redirect(_) => Err(FailedWrite::without_effect(
                ExchangeFailure::redirect("GraphQL was redirected"),
            )),
        }
    }

    /// Makes one exchange. An app whose token is refused buys another one and sends the change again, because
    /// a refused change was not made.
    async fn send_to(
        &self,
        context: &BackendContext,
        url: &str,
        change: &GithubWrite,
    ) -> Result<ResponseOrRedirect, FailedWrite> {
        let identity = self.identity(context).await;
        let identity = identity.map_err(FailedWrite::without_effect)?;
        match self.send_as(context, &identity, url, change).await {
            Err(failed)
                if self
                    .forget_refused(context, &identity, &failed.failure)
                    .await =>
            {
                let identity = self.identity(context).await;
                let identity = identity.map_err(FailedWrite::without_effect)?;
                self.send_as(context, &identity, url, change).await
            }
            other => other,
        }
    }

    /// Sends a change once. Nothing is sent after the call's deadline. A response is awaited beyond it: the
    /// caller has its answer by then, but the record needs the outcome.
    async fn send_as(
        &self,
        context: &BackendContext,
        identity: &RequestIdentity,
        url: &str,
        change: &GithubWrite,
    ) -> Result<ResponseOrRedirect, FailedWrite> {
        if context.deadline.passed() {
            return Err(FailedWrite::without_effect(ExchangeFailure::late()));
        }
        let until = Deadline::after(self.attempt);
        let mut headers = self.headers(JSON, identity.token.as_ref());
        let body = json_body(&mut headers, change.body.as_ref());
        let sent = self.client.send(change.method.clone(), url, headers, body);
        let response = match until.run(sent).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.is_unsent() => {
                return Err(FailedWrite::without_effect(ExchangeFailure::from(error)));
            }
            Ok(Err(error)) => {
                return Err(FailedWrite::with_unknown_effect(ExchangeFailure::from(
                    error,
                )));
            }
            Err(_) => return Err(FailedWrite::with_unknown_effect(ExchangeFailure::late())),
        };
        match response.status().as_u16() {
            200..=299 => self
                .read_success(until, response)
                .await
                .map(ResponseOrRedirect::Response),
            307 | 308 => Ok(ResponseOrRedirect::Redirect(location(response.headers()))),
            300..=399 => Err(FailedWrite::without_effect(ExchangeFailure::redirect(
                "a redirect that would make another request of a change",
            ))),
            status => {
                let response = self.read_error(until, change, response).await;
                Err(match status {
                    400..=499 => FailedWrite::without_effect(response),
                    _ => FailedWrite::with_unknown_effect(response),
                })
            }
        }
    }

    /// Reads the response to a change that was made.
    async fn read_success(
        &self,
        until: Deadline,
        response: Response<ResponseBody>,
    ) -> Result<GithubResponse, FailedWrite> {
        let (head, body) = response.into_parts();
        let read = until.run(body.read(BodyLimit::Whole(MAX_ANSWER_BYTES)));
        let body = match read.await {
            Ok(read) => {
                read.map_err(|error| FailedWrite::after_effect(ExchangeFailure::from(error)))?
            }
            Err(_) => return Err(FailedWrite::after_effect(ExchangeFailure::late())),
        };
        let BoundedBody { bytes, truncated } = body;
        Ok(GithubResponse {
            bytes: self.redactor.body(bytes),
            truncated,
            more: false,
            wait: wait(&head.headers, self.clock.now()),
        })
    }

    async fn read_error(
        &self,
        until: Deadline,
        change: &GithubWrite,
        response: Response<ResponseBody>,
    ) -> Failure {
        let facts = RequestFacts {
            step: change.step,
            missing: &change.missing,
            site: &self.site,
        };
        let (status, headers) = (response.status(), response.headers().clone());
        match until.run(self.read_error_response(&facts, response)).await {
            Ok(response) => Failure::GithubErrorResponse(response),
            // Only its body is missing; its status and headers arrived.
            Err(_) => {
                let now = self.clock.now();
                let bare = super::error_response::error_response(
                    &facts,
                    status.as_u16(),
                    &headers,
                    b"",
                    now,
                    &self.redactor,
                );
                Failure::GithubErrorResponse(bare)
            }
        }
    }
}
